"""What the estimators pass to the rules: classes by pairs, weights of samples, row numbers."""

import numpy as np
import pytest
from sklearn.datasets import load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import StandardScaler

from pliant import MKLClassifier, MKLRegressor
from pliant.kernels import Gaussian, Linear
from pliant.methods.mkl import rules
from pliant.methods.mkl.alignment import align, alignf
from pliant.methods.mkl.easy import easy
from pliant.methods.mkl.grams import Grams
from pliant.methods.mkl.performance import (
    chance,
    classifier_scores,
    performance,
    regressor_scores,
)
from pliant.methods.mkl.radius_margin import radius_margin
from pliant.methods.mkl.weighting import shared
from tests.reference import naive_kernel_weights as naive

GAMMAS = (0.01, 0.1, 1.0)
KERNELS = [Gaussian(gamma) for gamma in GAMMAS]


def wine():
    X, y = load_wine(return_X_y=True)
    X, y = StandardScaler().fit_transform(X)[::3, :4], y[::3]
    return X, y, np.random.default_rng(0).uniform(0.5, 2.0, len(y))


def grams(X):
    return Grams.of_arrays([kernel(X) for kernel in KERNELS])


def directly(rule, K, labels, s, C=1.0):
    """The weights from the functions, called with what a fit should pass on."""
    n_classes = labels.max() + 1
    pairs = [(i, j) for i in range(n_classes) for j in range(i + 1, n_classes)]
    signs = [1.0 * (labels == j) - 1.0 * (labels == i) for i, j in pairs]
    if rule == "performance":
        scores = classifier_scores(K, labels, C * s, s, random_state=0)
        return performance(scores, chance(labels, s)).weights
    if rule in ("align", "alignf"):
        target = naive.one_hot(labels) if n_classes > 2 else signs[0]
        return (align if rule == "align" else alignf)(K, target, s).weights
    if rule == "easy":
        return shared(easy(K, signs, 0.1)).weights
    return shared([radius_margin(K, y, tol=1e-3) for y in signs]).weights


EVERY = pytest.mark.parametrize("rule", ["performance", "align", "alignf", "easy", "radius-margin"])


@EVERY
def test_classes_share_weights(rule):
    X, y, s = wine()
    model = MKLClassifier(KERNELS, weights=rule, random_state=0).fit(X, y, s)
    np.testing.assert_allclose(model.weights_, directly(rule, grams(X), y, s), rtol=0, atol=1e-7)
    assert model.weights_.sum() == pytest.approx(1.0)
    assert model.score(X, y) > 0.8


@EVERY
def test_pairs_have_weights_of_their_own(rule):
    X, y, s = wine()
    model = MKLClassifier(KERNELS, weights=rule, shared_weights=False, random_state=0)
    model.fit(X, y, s)
    pairs = [(0, 1), (0, 2), (1, 2)]
    for (i, j), each in zip(pairs, model.estimators_, strict=True):
        rows = np.flatnonzero((y == i) | (y == j))
        wanted = directly(rule, grams(X[rows]), (y[rows] == j) * 1, s[rows])
        np.testing.assert_allclose(each.weights_, wanted, rtol=0, atol=1e-7)


@EVERY
def test_samples_of_weight_zero_do_not_count(rule):
    X, y, s = wine()
    s[::5] = 0.0
    used = np.flatnonzero(s)
    model = MKLClassifier(KERNELS, weights=rule, random_state=0).fit(X, y, s)
    same = MKLClassifier(KERNELS, weights=rule, random_state=0).fit(X[used], y[used], s[used])
    np.testing.assert_allclose(model.weights_, same.weights_, rtol=0, atol=1e-9)


@pytest.mark.parametrize("rule", ["performance", "align", "alignf"])
def test_regression(rule):
    X, _, s = wine()
    y = 100.0 + 5.0 * (np.sin(X[:, 0]) + X[:, 1])
    model = MKLRegressor(KERNELS, weights=rule, C=3.0, epsilon=0.2, random_state=0).fit(X, y, s)
    target = (y - y.mean()) / y.std()
    if rule == "performance":
        scores = regressor_scores(grams(X), target, 3.0 * s, 0.2, s, random_state=0)
        wanted = performance(scores, 0.0)
    else:
        wanted = (align if rule == "align" else alignf)(grams(X), target, s)
    np.testing.assert_allclose(model.weights_, wanted.weights, rtol=0, atol=1e-7)


def test_centring_can_be_turned_off():
    X, y, s = wine()
    model = MKLClassifier(KERNELS, weights="align", center=False).fit(X, y, s)
    wanted = align(grams(X), naive.one_hot(y), s, center=False)
    np.testing.assert_allclose(model.weights_, wanted.weights, rtol=0, atol=1e-9)


def test_the_message_about_equal_samples_has_the_rows_of_the_user():
    X, y, _ = wine()
    s = np.ones(len(y))
    s[:3] = 0.0
    X[40], y[10], y[40] = X[10], 0, 2
    with pytest.raises(ValueError, match="samples 10 and 40 are equal for all kernels"):
        MKLClassifier(KERNELS, weights="radius-margin").fit(X, y, s)


def test_a_ratio_that_is_not_certified_warns(monkeypatch):
    X, y, _ = wine()
    monkeypatch.setattr(
        rules, "radius_margin", lambda *a, **k: radius_margin(*a, **{**k, "tol": 1e-9}, max_iter=2)
    )
    with pytest.warns(
        ConvergenceWarning, match="the ratio of radius and margin has a relative gap"
    ):
        MKLClassifier(KERNELS, weights="radius-margin", tol=1e-9).fit(X, y)


def test_inseparable_classes_are_refused_with_a_remedy():
    X, y, _ = wine()
    with pytest.raises(ValueError, match="hulls of the classes meet; choose weights that allow"):
        MKLClassifier([Linear()], weights="radius-margin").fit(X[:, 1:3], y)
