"""Rules for kernel weights, called by the estimators: classes, sample weights, and samples."""

import numpy as np
import pytest
from sklearn.datasets import load_wine
from sklearn.preprocessing import StandardScaler

from pliant import MKLClassifier, MKLRegressor
from pliant.kernels import Gaussian
from pliant.methods.mkl.alignment import align, alignf
from pliant.methods.mkl.rules import easy
from pliant.metrics import kernel_alignment
from tests.methods.mkl.gram_matrices import grams_of
from tests.reference import naive_kernel_weights as naive

GAMMAS = (0.01, 0.1, 1.0)
KERNELS = [Gaussian(gamma) for gamma in GAMMAS]


def wine():
    X, y = load_wine(return_X_y=True)
    X, y = StandardScaler().fit_transform(X)[::3, :4], y[::3]
    return X, y, np.random.default_rng(0).uniform(0.5, 2.0, len(y))


def grams(X):
    return grams_of([kernel(X) for kernel in KERNELS])


def call_rule(rule, K, labels, s):
    """Compute the weights from the functions of its own rule."""
    n_classes = labels.max() + 1
    pairs = [(i, j) for i in range(n_classes) for j in range(i + 1, n_classes)]
    signs = [1.0 * (labels == j) - 1.0 * (labels == i) for i, j in pairs]
    if rule in ("align", "alignf"):
        target = naive.one_hot(labels) if n_classes > 2 else signs[0]
        return (align if rule == "align" else alignf)(K, target, s).weights
    return np.mean([each.weights for each in easy(K, signs, 0.1)], axis=0)


every_rule = pytest.mark.parametrize("rule", ["align", "alignf", "easy"])


@every_rule
def test_weights_of_classifiers(rule):
    X, y, s = wine()
    model = MKLClassifier(KERNELS, weights=rule).fit(X, y, s)
    np.testing.assert_allclose(model.weights_, call_rule(rule, grams(X), y, s), rtol=0, atol=1e-7)
    assert model.weights_.sum() == pytest.approx(1.0)
    assert model.score(X, y) > 0.8


def test_align_of_a_regressor_takes_whole_targets_as_numbers():
    X, _, _ = wine()
    y = np.round(5.0 * (np.sin(X[:, 0]) + X[:, 1]))
    grams = [kernel(X) for kernel in KERNELS]
    found = [kernel_alignment(K, y, centered=True, task="regression") for K in grams]
    model = MKLRegressor(KERNELS, weights="align", C=3.0, epsilon=0.2).fit(X, y)
    np.testing.assert_allclose(model.weights_, found / np.sum(found), rtol=0, atol=1e-7)


@pytest.mark.parametrize("rule", ["align", "alignf"])
def test_weights_of_regressors(rule):
    X, _, s = wine()
    y = 100.0 + 5.0 * (np.sin(X[:, 0]) + X[:, 1])
    model = MKLRegressor(KERNELS, weights=rule, C=3.0, epsilon=0.2).fit(X, y, s)
    target = (y - y.mean()) / y.std()
    expected = (align if rule == "align" else alignf)(grams(X), target, s)
    np.testing.assert_allclose(model.weights_, expected.weights, rtol=0, atol=1e-7)
