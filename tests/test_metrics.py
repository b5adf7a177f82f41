"""Measures of kernel matrices, against definitions, a conic solver and reference values."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.preprocessing import KernelCenterer

from pliant import SideInformation
from pliant.kernels import Gaussian
from pliant.metrics import effective_rank, kernel_alignment

RNG = np.random.default_rng
GAMMAS = (0.1, 0.5, 2.0, 8.0, 32.0)
seeds = st.integers(0, 10**6)


def svc_data(seed):
    r = RNG(seed)
    X = r.uniform(size=(24, 3))
    y = np.sign(np.sin(6 * X[:, 0]) + X[:, 1] - X[:, 2] + 0.3 * r.standard_normal(24) - 0.3)
    return X, y


def psd(seed, n=12, rank=12):
    factor = RNG(seed).standard_normal((n, rank))
    return factor @ factor.T


# alignment


def test_centred_alignment_has_its_reference_values():
    X, y = svc_data(0)
    grams = [Gaussian(gamma)(X) for gamma in GAMMAS]
    weights = [0.0, 0.0, 0.88316616, 0.0, 0.11683384]
    total = sum(w * K for w, K in zip(weights, grams, strict=True))
    assert kernel_alignment(total, y, centered=True) == pytest.approx(0.3605533296, abs=1e-9)
    each = np.array([kernel_alignment(K, y, centered=True) for K in grams])
    expected = [0.20670397, 0.21429909, 0.22576294, 0.20332375, 0.14991025]
    np.testing.assert_allclose(each / each.sum(), expected, atol=1e-8)


@pytest.mark.parametrize("centered", [False, True])
def test_targets_of_every_kind(centered):
    K, r = psd(0), RNG(1)
    centred = KernelCenterer().fit_transform if centered else np.asarray

    def expected(Y):
        A, B = centred(K), centred(Y)
        return (A * B).sum() / np.sqrt((A * A).sum() * (B * B).sum())

    signs = np.array([1.0, -1.0] * 6)
    names = np.where(signs > 0, "yes", "no")
    classes = np.arange(12) % 3
    real = r.standard_normal(12)
    one_hot = np.eye(3)[classes]
    for target, Y in [
        (signs, np.outer(signs, signs)),
        (names, np.outer(signs, signs)),
        (list(names), np.outer(signs, signs)),
        (signs > 0, np.outer(signs, signs)),
        (classes, one_hot @ one_hot.T),
        (real, np.outer(real, real)),
        (np.outer(real, real), np.outer(real, real)),
    ]:
        got = kernel_alignment(K, target, centered=centered)
        assert got == pytest.approx(expected(Y), rel=1e-12)


@pytest.mark.parametrize("kind", [int, float])
def test_whole_numbers_are_labels_unless_the_task_is_regression(kind):
    K, y = psd(0), (np.arange(12) % 4).astype(kind)
    labels = kernel_alignment(K, (y[:, None] == y).astype(float))
    assert kernel_alignment(K, y) == pytest.approx(labels, rel=1e-12)
    assert kernel_alignment(K, y, task="classification") == kernel_alignment(K, y)
    for centered in (False, True):
        numbers = kernel_alignment(K, np.outer(y, y), centered=centered)
        found = kernel_alignment(K, y, centered=centered, task="regression")
        assert found == pytest.approx(numbers, rel=1e-12)
    unit = np.eye(12)
    assert kernel_alignment(unit, y) == pytest.approx(np.sqrt(1 / 3), rel=1e-12)
    assert kernel_alignment(unit, y, task="regression") == pytest.approx(np.sqrt(1 / 12), rel=1e-12)


@pytest.mark.parametrize(
    ("target", "task", "message"),
    [
        ([0.5, 1.0, 2.0], "classification", "expected class labels, got 0.5 in target at row 0"),
        (["a", "b", "a"], "regression", "expected target to hold numbers"),
        ([0, 0, 0], "regression", "expected target to have a nonzero entry, got only zeros"),
        ([0, 1, 2], "ranking", "expected task in ['classification', 'regression'], got 'ranking'"),
        (np.eye(3), "regression", "expected task=None, as target is no vector, got 'regression'"),
        (SideInformation.from_labels([0, 1, 1]), "classification", "expected task=None, as target"),
    ],
)
def test_a_task_that_does_not_fit_the_target_is_refused(target, task, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        kernel_alignment(np.eye(3), target, task=task)


def test_side_information_is_centred_on_the_known_points():
    K, labels = psd(2), np.array([0, 1, -1] * 4)
    known = labels >= 0
    information = SideInformation.from_labels(labels, unlabeled=-1)
    block = K[np.ix_(known, known)]
    expected = kernel_alignment(block, labels[known], centered=True)
    assert kernel_alignment(K, information, centered=True) == pytest.approx(expected, rel=1e-12)


@settings(max_examples=25, deadline=None)
@given(seeds, st.floats(1e-3, 1e3), st.floats(-100, 100))
def test_centred_alignment_ignores_scale_and_constants(seed, scale, shift):
    K, y = psd(seed), RNG(seed).standard_normal(12)
    expected = kernel_alignment(K, y, centered=True)
    assert kernel_alignment(scale * K + shift, y + 3.5, centered=True) == pytest.approx(
        expected, abs=1e-8
    )


@pytest.mark.parametrize(
    ("gram", "target", "message"),
    [
        (np.ones((3, 3)), [0, 1, 1], "expected gram to have a nonzero entry after centring"),
        (np.eye(3), [1, 1, 1], "expected target to have a nonzero entry after centring"),
        (np.eye(3), [0.0, np.nan, 1.0], "expected class labels, got nan in target at row 1"),
        (np.eye(3), [0, 1], "expected target to have the shape of gram, (3, 3), got (2, 2)"),
        (np.eye(3), ["a", 1, "b"], "expected labels of one type, got text and 1"),
    ],
)
def test_bad_targets_are_refused(gram, target, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        kernel_alignment(gram, target, centered=True)


# spectrum


@settings(max_examples=25, deadline=None)
@given(seeds, st.integers(1, 12))
def test_effective_rank_is_the_exponential_of_the_entropy(seed, rank):
    K = psd(seed, rank=rank)
    singular = np.linalg.svd(K, compute_uv=False)
    p = singular[:rank] / singular[:rank].sum()
    entropy = -sum(x * np.log(x) for x in p)
    assert effective_rank(K) == pytest.approx(np.exp(entropy), rel=1e-10)
    assert singular.sum() / singular[0] <= effective_rank(K) * (1 + 1e-9)
    assert effective_rank(K) <= rank * (1 + 1e-9)


def test_large_and_small_numbers_do_not_overflow():
    K = psd(0)
    for scale in (1e-90, 1e90):
        assert effective_rank(scale * K) == pytest.approx(effective_rank(K), rel=1e-9)


def test_a_matrix_in_single_precision():
    K = psd(0)
    single = K.astype(np.float32)
    single[0, 1] = np.nextafter(single[1, 0], np.float32(np.inf))
    y = np.arange(12) % 2
    assert kernel_alignment(single, y) == pytest.approx(kernel_alignment(K, y), rel=1e-4)


# errors

BAD = [
    (np.ones((2, 3)), "expected a square Gram matrix of shape (n, n), got (2, 3)"),
    ([[1.0, 2.0], [0.0, 1.0]], "expected a symmetric Gram matrix"),
    ([[1.0, np.nan], [np.nan, 1.0]], "expected finite numbers, got nan in gram"),
    ([[1.0, 2.0], [2.0, 1.0]], "expected a positive semi-definite Gram matrix, got the eigenvalue"),
    ([["a", "b"], ["b", "a"]], "expected gram to hold numbers"),
    (np.zeros((3, 3)), "expected gram to have a nonzero entry"),
    (np.empty((0, 0)), "expected a Gram matrix of at least one sample, got shape (0, 0)"),
]


@pytest.mark.parametrize(("gram", "message"), BAD, ids=[message for _, message in BAD])
def test_bad_matrices_are_refused(gram, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        effective_rank(gram)
