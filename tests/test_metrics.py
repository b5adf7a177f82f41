"""Measures of kernel matrices, against definitions, a conic solver and reference values."""

import re

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import KernelCenterer

import pliant
from pliant import SideInformation, metrics
from pliant.kernels import Gaussian, Linear
from pliant.methods.svm.hulls import Hulls
from pliant.metrics import (
    effective_rank,
    enclosing_radius,
    kernel_alignment,
    kernel_margin,
    spectral_ratio,
)
from tests.reference import conic

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


def test_the_old_name_is_the_same_function():
    assert pliant.kernel_alignment is kernel_alignment


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
        (np.ones((3, 3)), [0, 1, 1], "expected gram with some value other than 0 once it is"),
        (np.eye(3), [1, 1, 1], "expected target with some value other than 0 once it is centred"),
        (np.eye(3), [0.5, np.nan, 1.0], "expected finite labels, got nan in y at 1"),
        (np.eye(3), [0, 1], "expected a target of shape (3, 3), as gram, got (2, 2)"),
        (np.eye(3), ["a", 1, "b"], "expected labels of one type, got text and 1"),
    ],
)
def test_bad_targets_are_refused(gram, target, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        kernel_alignment(gram, target, centered=True)


# margin and radius


def root_of(gram):
    values, vectors = np.linalg.eigh(gram)
    return (vectors * np.sqrt(np.maximum(values, 0.0))).T


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("gamma", [0.5, 8.0])
def test_margin_and_radius_are_those_of_a_conic_solver(seed, gamma):
    X, y = svc_data(seed)
    gram = Gaussian(gamma)(X)
    A = root_of(gram)
    g = cp.Variable(24, nonneg=True)
    sums = [cp.sum(g[y > 0]) == 1, cp.sum(g[y < 0]) == 1]
    problem = cp.Problem(cp.Minimize(1e3 * cp.norm((A * y) @ g)), sums)
    conic.solve(problem, (1e-11, 1e-10, 1e-9, 1e-8))
    assert kernel_margin(gram, y) == pytest.approx(problem.value / 1e3, rel=1e-6)
    centre = cp.Variable(24)
    distances = [cp.norm(A[:, i] - centre) for i in range(24)]
    problem = cp.Problem(cp.Minimize(cp.maximum(*distances)))
    conic.solve(problem, (1e-11, 1e-10, 1e-9, 1e-8))
    assert enclosing_radius(gram) == pytest.approx(problem.value, rel=1e-6)


@settings(max_examples=25, deadline=None)
@given(seeds, st.floats(1e-8, 1e8))
def test_order_scale_and_bounds(seed, scale):
    X, y = svc_data(seed)
    gram, order = Gaussian(2.0)(X), RNG(seed).permutation(24)
    moved = scale * gram[np.ix_(order, order)]
    if len(set(y)) == 2:
        margin = kernel_margin(gram, y)
        assert kernel_margin(moved, y[order]) == pytest.approx(np.sqrt(scale) * margin, rel=1e-6)
        apart = gram.diagonal()[:, None] + gram.diagonal() - 2 * gram
        assert 0.0 < margin <= np.sqrt(apart[y > 0][:, y < 0].min())
        assert margin <= 2 * enclosing_radius(gram)
    radius = enclosing_radius(gram)
    assert enclosing_radius(moved) == pytest.approx(np.sqrt(scale) * radius, rel=1e-8)
    distances = np.sqrt(np.maximum(gram.diagonal()[:, None] + gram.diagonal() - 2 * gram, 0.0))
    # Jung: half the diameter <= radius <= diameter sqrt((n - 1)/(2 n))
    assert distances.max() / 2 <= radius * (1 + 1e-8)
    assert radius <= distances.max() * np.sqrt(23 / 48) * (1 + 1e-8)
    for measure in (spectral_ratio, effective_rank):
        assert measure(moved) == pytest.approx(measure(gram), rel=1e-8)


def test_more_points_make_a_larger_ball_and_a_smaller_margin():
    X, y = svc_data(0)
    above, below = np.flatnonzero(y > 0), np.flatnonzero(y < 0)
    order = np.concatenate([above[:2], below, above[2:]])
    X, y = X[order], y[order]
    K = Gaussian(2.0)(X)
    radii = [enclosing_radius(K[:m, :m]) for m in range(4, 25, 4)]
    margins = [kernel_margin(K[:m, :m], y[:m]) for m in range(4, 25, 4)]
    assert (np.diff(radii) >= -1e-9).all()
    assert (np.diff(margins) <= 1e-9).all()


def test_known_margins_and_radii():
    assert kernel_margin(np.eye(2), [0, 1]) == pytest.approx(np.sqrt(2), rel=1e-12)
    assert enclosing_radius(np.eye(5)) == pytest.approx(np.sqrt(1 - 1 / 5), rel=1e-9)
    assert enclosing_radius([[3.0]]) == 0.0
    assert enclosing_radius(np.full((6, 6), 0.1)) == 0.0
    assert enclosing_radius(np.zeros((2, 2))) == 0.0


def test_classes_that_no_plane_separates_have_no_margin():
    X = np.array([[-1.0, 0.0], [1.0, 0.0], [0.0, -1.0], [0.0, 1.0]])
    assert kernel_margin(Linear()(X), [0, 0, 1, 1]) == 0.0
    X = RNG(0).standard_normal((100, 2))
    assert kernel_margin(Linear()(X), RNG(1).integers(0, 2, 100)) == 0.0
    assert kernel_margin(np.zeros((2, 2)), [0, 1]) == 0.0


def test_a_margin_that_rounding_hides_is_reported(monkeypatch):
    monkeypatch.setattr(metrics, "closest_hulls", lambda K, y: Hulls(0.25, y, 0.01))
    bounds = "leave the distance between the hulls between 0.489898 and 0.5; the latter"
    with pytest.warns(ConvergenceWarning, match=bounds):
        assert kernel_margin(np.eye(2), [0, 1]) == 0.5


# spectrum


@settings(max_examples=25, deadline=None)
@given(seeds, st.integers(1, 12))
def test_ratio_and_rank_follow_their_definitions(seed, rank):
    K = psd(seed, rank=rank)
    singular = np.linalg.svd(K, compute_uv=False)
    ratio = singular.sum() / np.linalg.norm(K)
    assert spectral_ratio(K) == pytest.approx(ratio, rel=1e-10)
    p = singular[:rank] / singular[:rank].sum()
    entropy = -sum(x * np.log(x) for x in p)
    assert effective_rank(K) == pytest.approx(np.exp(entropy), rel=1e-10)
    assert 1.0 - 1e-9 <= spectral_ratio(K) <= np.sqrt(rank) * (1 + 1e-9)
    assert singular.sum() / singular[0] <= effective_rank(K) * (1 + 1e-9)
    assert effective_rank(K) <= rank * (1 + 1e-9)


def test_large_and_small_numbers_do_not_overflow():
    K = psd(0)
    for scale in (1e-200, 1e98):
        assert spectral_ratio(scale * K) == pytest.approx(spectral_ratio(K), rel=1e-12)
        assert effective_rank(scale * K) == pytest.approx(effective_rank(K), rel=1e-9)
        assert enclosing_radius(scale * K) == pytest.approx(
            np.sqrt(scale) * enclosing_radius(K), rel=1e-8
        )


def test_distances_at_the_ends_of_the_range_of_floats():
    points = np.array([[0.0, 0.0], [0.0, 2.0], [3.0, 1.0]])
    K, y = points @ points.T, ["a", "a", "b"]
    for power in (-1070, -600, 320):
        unit = np.ldexp(1.0, power // 2)
        gram = np.ldexp(K, power)
        assert enclosing_radius(gram) == pytest.approx(unit * enclosing_radius(K), rel=1e-9)
        assert kernel_margin(gram, y) == pytest.approx(unit * 3.0, rel=1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_points_that_differ_by_rounding_errors_only_have_no_distance(seed):
    noise = np.random.default_rng(seed).normal(size=(30, 30))
    K = 1.9 + 1e-13 * (noise + noise.T)
    assert enclosing_radius(K) < 2e-6
    assert kernel_margin(K, np.arange(30) % 2) < 2e-6


# what is refused

ALONE = [enclosing_radius, spectral_ratio, effective_rank, lambda K: kernel_margin(K, [0, 1])]
BAD = [
    (np.ones((2, 3)), "expected a square Gram matrix of shape (n, n), got (2, 3)"),
    (np.ones(2), "expected gram of shape (n_samples, n_features), got (2,)"),
    ([[1.0, 2.0], [0.0, 1.0]], "expected a symmetric Gram matrix"),
    ([[1.0, np.nan], [np.nan, 1.0]], "expected finite numbers, got nan in gram"),
    ([[1.0, np.inf], [np.inf, 1.0]], "expected finite numbers, got inf in gram"),
    ([[1.0, 2.0], [2.0, 1.0]], "expected a positive semi-definite Gram matrix, got the eigenvalue"),
    ([["a", "b"], ["b", "a"]], "expected gram to hold numbers"),
    (np.empty((0, 0)), "expected kernel values of at least one sample, got shape (0, 0)"),
]


@pytest.mark.parametrize("measure", ALONE, ids=["radius", "ratio", "rank", "margin"])
@pytest.mark.parametrize(("gram", "message"), BAD, ids=[message for _, message in BAD])
def test_bad_matrices_are_refused(measure, gram, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        measure(gram)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([0, 0, 0], "expected two classes in y, got 1"),
        ([0, 1, 2], "expected two classes in y, got 3"),
        ([0, 1], "expected y of shape (3,), as gram, got (2,)"),
        ([0.5, 1, 1], "expected class labels, got the real number 0.5 in y at 0"),
    ],
)
def test_bad_labels_are_refused(y, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        kernel_margin(np.eye(3), y)


@pytest.mark.parametrize("measure", [spectral_ratio, effective_rank])
def test_zero_has_no_spectrum(measure):
    with pytest.raises(ValueError, match="expected gram with some value other than 0"):
        measure(np.zeros((3, 3)))
