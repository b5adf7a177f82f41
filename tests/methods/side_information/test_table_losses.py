"""The losses of Table 1 of Pan et al.: one interface, each against its definition."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from pliant import SideInformation, scg_loss
from pliant.metrics import (
    LOSSES,
    centered_polarization,
    fisher_score,
    hsic,
    kernel_alignment,
    kernel_loss,
)
from tests.reference import naive_supervision as naive

Y = np.array([0, 2, 2, 1, 1, 0, 1, 2])
REAL = np.array([0.5, -1.0, 2.0, 0.25, 1.5, 3.0, -2.0, 0.0])
PARTIAL = SideInformation.from_labels([0, 2, 2, -1, 1, 0, 1, -1])
PAIRS = SideInformation.from_pairs(8, [(0, 1)], [(2, 3)])
seeds = st.integers(0, 10**6)
every_loss = pytest.mark.parametrize("loss", LOSSES)


def psd(seed, n=8, rank=5):
    factor = np.random.default_rng(seed).standard_normal((n, rank))
    return factor @ factor.T


def target(labels, different):
    return np.where(np.equal.outer(labels, labels), 1.0, different)


@given(seed=seeds)
@settings(max_examples=20, deadline=None)
def test_scores_are_their_definitions(seed):
    K = psd(seed)
    assert fisher_score(K, Y) == pytest.approx(naive.fisher_score(K, Y), rel=1e-9)
    assert hsic(K, Y) == pytest.approx(naive.hsic(K, target(Y, 0.0)), abs=1e-12)
    assert hsic(K, REAL) == pytest.approx(naive.hsic(K, np.outer(REAL, REAL)), abs=1e-11)
    expected = naive.centered_polarization(K, target(Y, -1.0))
    assert centered_polarization(K, Y) == pytest.approx(expected, abs=1e-11)
    assert centered_polarization(K, Y) == pytest.approx(2 * 7**2 * hsic(K, Y), abs=1e-11)


def test_the_loss_is_minus_the_score():
    K = psd(0)
    known = SideInformation.from_labels(Y)
    expected = {
        "scg": scg_loss(K, known),
        "alignment": -kernel_alignment(K, known),
        "fisher": -fisher_score(K, Y),
        "hsic": -hsic(K, Y),
        "polarization": -centered_polarization(K, Y),
    }
    assert {name: kernel_loss(K, known, name) for name in LOSSES} == expected
    assert kernel_loss(K, Y) == expected["scg"]


@every_loss
def test_a_kernel_of_the_classes_has_a_smaller_loss(loss):
    known, mixed = [0, 0, 0, 1, 1, 1], [0, 1, 0, 1, 0, 1]
    K = target(np.array(known), 0.0) + 0.1 * np.eye(6)
    assert kernel_loss(K, known, loss) < kernel_loss(K, mixed, loss) - 0.1


@every_loss
def test_linear_losses_are_linear_and_the_others_are_not(loss):
    K, M = psd(1), psd(2)
    parts = 2 * kernel_loss(K, Y, loss) + 3 * kernel_loss(M, Y, loss)
    linear = kernel_loss(2 * K + 3 * M, Y, loss) == pytest.approx(parts, abs=1e-10)
    assert linear is LOSSES[loss].linear


@every_loss
def test_points_of_unknown_class_are_left_out(loss):
    K, rows = psd(3), PARTIAL.known
    if loss == "scg":  # its graph has them, as in the paper
        assert kernel_loss(K, PARTIAL) == scg_loss(K, PARTIAL)
        return
    known = SideInformation.from_labels(PARTIAL.labels[rows])
    inside = kernel_loss(K[np.ix_(rows, rows)], known, loss)
    assert kernel_loss(K, PARTIAL, loss) == pytest.approx(inside, rel=1e-12)


@every_loss
def test_losses_that_cannot_use_pairs_refuse_them(loss):
    if LOSSES[loss].pairs:
        assert np.isfinite(kernel_loss(psd(4), PAIRS, loss))
        return
    with pytest.raises(ValueError, match=r"expected labels for .*, got pairs, which it cannot"):
        kernel_loss(psd(4), PAIRS, loss)


@pytest.mark.parametrize("loss", ["scg", "fisher"])
@pytest.mark.parametrize("wrong", [REAL, np.eye(8)], ids=["real", "matrix"])
def test_losses_of_classes_refuse_other_targets(loss, wrong):
    message = "got real numbers such as 0.5" if wrong.ndim == 1 else "got a target of shape (8, 8)"
    with pytest.raises(ValueError, match=re.escape(message)):
        kernel_loss(psd(5), wrong, loss)


@pytest.mark.parametrize("loss", ["alignment", "hsic", "polarization"])
def test_others_take_real_targets_and_matrices(loss):
    K = psd(6)
    matrix = kernel_loss(K, np.outer(REAL, REAL), loss)
    assert kernel_loss(K, REAL, loss) == pytest.approx(matrix, rel=1e-12)


def test_the_fisher_score_is_that_of_discriminant_analysis_on_a_line():
    x = np.random.default_rng(0).standard_normal(8)
    lda = LinearDiscriminantAnalysis(solver="eigen", store_covariance=True).fit(x[:, None], Y)
    within = 8 * lda.covariance_[0, 0]
    score = fisher_score(np.outer(x, x), Y)
    assert score == pytest.approx((8 * x.var() - within) / within, rel=1e-9)


def test_coinciding_classes_have_an_infinite_score():
    assert fisher_score(target(Y, 0.0), Y) == np.inf
    assert kernel_loss(target(Y, 0.0), Y, "fisher") == -np.inf


@pytest.mark.parametrize("scale", [1e-150, 1e150])
def test_numbers_of_any_size(scale):
    K = psd(7)
    assert fisher_score(scale * K, Y) == pytest.approx(fisher_score(K, Y), rel=1e-10)
    assert hsic(scale * K, Y) == pytest.approx(scale * hsic(K, Y), rel=1e-10)
    with pytest.raises(ValueError, match="whose products are infinite"):
        hsic(1e200 * K, 1e200 * K)


@pytest.mark.parametrize(
    ("gram", "labels", "loss", "message"),
    [
        (np.eye(3), [0, 1, 2], "fisher", "expected a class with two labelled points or more"),
        (np.ones((3, 3)), [0, 1, 1], "fisher", "expected points that differ in feature space"),
        (-np.eye(3), [0, 1, 1], "fisher", "expected a positive semi-definite Gram matrix"),
        (np.eye(3), [0, 0, 0], "hsic", "expected labels of at least two classes, got 1"),
        (np.eye(3), [0, 0, 1, 1], "hsic", "expected kernel values of 4 points"),
        (np.eye(3), np.eye(4), "hsic", "expected a target of shape (3, 3), as gram, got (4, 4)"),
        (np.eye(1), np.eye(1), "hsic", "expected kernel values of at least two points, got 1"),
        (np.eye(3), [0, 0, 1], "hinge", "expected loss in ['alignment', 'fisher', 'hsic'"),
        (np.triu(np.ones((3, 3))), [0, 0, 1], "polarization", "expected a symmetric Gram matrix"),
    ],
)
def test_bad_input_is_refused(gram, labels, loss, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        kernel_loss(gram, labels, loss)
