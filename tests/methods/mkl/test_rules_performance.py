"""Kernel weights by cross-validation: scikit-learn as the twin, folds, degenerate data."""

import numpy as np
import pytest
from sklearn.svm import SVC, SVR

from pliant.core.exceptions import UniformWeightsWarning
from pliant.methods.mkl import performance as module
from pliant.methods.mkl.grams import Grams
from pliant.methods.mkl.performance import (
    chance,
    classifier_scores,
    performance,
    regressor_scores,
    stratified_folds,
)
from tests.reference import naive_kernel_weights as naive


@pytest.fixture
def accurate(monkeypatch):
    """SVMs solved to many digits, so that their predictions are those of the twin."""
    monkeypatch.setattr(module, "TOL", 1e-10)
    monkeypatch.setattr(module, "STEPS", 100_000)


def data(n_classes, n=60):
    r = np.random.default_rng(n_classes)
    X = r.uniform(size=(n, 3))
    labels = np.digitize(X[:, 0] + 0.3 * X[:, 1] ** 2, np.linspace(0.3, 1.0, n_classes + 1)[1:-1])
    return X, labels, r.uniform(0.5, 2.0, n)


@pytest.mark.usefixtures("accurate")
@pytest.mark.parametrize("n_classes", [2, 3, 4])
def test_accuracies_are_those_of_scikit_learn(n_classes):
    X, labels, s = data(n_classes)
    kernels = naive.gaussians(X)
    C = 4.0 * s
    found = classifier_scores(Grams.of_arrays(kernels), labels, C, s, n_folds=4, random_state=1)
    folds = stratified_folds(labels, 4, 1)
    for score, K in zip(found, kernels, strict=True):
        right = np.zeros(len(X))
        for fold in range(4):
            train, test = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
            svm = SVC(C=4.0, kernel="precomputed", tol=1e-9, decision_function_shape="ovo")
            svm.fit(K[np.ix_(train, train)], labels[train], s[train])
            # as SVC breaks equal votes by the order of classes, its own rule of "ovr" is taken
            svm.decision_function_shape = "ovr"
            decision = svm.decision_function(K[np.ix_(test, train)])
            own = decision > 0 if n_classes == 2 else decision.argmax(axis=1)
            right[test] = own == labels[test]
        assert score == pytest.approx(np.average(right, weights=s), rel=1e-12)


@pytest.mark.usefixtures("accurate")
def test_the_r2_is_that_of_scikit_learn():
    r = np.random.default_rng(0)
    X = r.uniform(size=(50, 2))
    y = np.sin(5 * X[:, 0]) + X[:, 1] ** 2 + 0.1 * r.standard_normal(50)
    s = r.uniform(0.5, 2.0, 50)
    kernels = naive.gaussians(X)
    found = regressor_scores(
        Grams.of_arrays(kernels), y, 4.0 * s, 0.05, s, n_folds=3, random_state=1
    )
    folds = stratified_folds(np.zeros(50, dtype=int), 3, 1)
    for score, K in zip(found, kernels, strict=True):
        errors = baseline = 0.0
        for fold in range(3):
            train, test = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
            svm = SVR(C=4.0, epsilon=0.05, kernel="precomputed", tol=1e-10)
            svm.fit(K[np.ix_(train, train)], y[train], s[train])
            errors += s[test] @ (y[test] - svm.predict(K[np.ix_(test, train)])) ** 2
            baseline += s[test] @ (y[test] - np.average(y[train], weights=s[train])) ** 2
        assert score == pytest.approx(1 - errors / baseline, rel=1e-5)


def test_weights_are_what_scores_have_above_the_threshold():
    found = performance(np.array([0.9, 0.7, 0.5, 0.4]), 0.5)
    np.testing.assert_allclose(found.weights, [2 / 3, 1 / 3, 0, 0], rtol=1e-12)
    assert found.value == 0.9
    assert found.gap == 0.0


def test_no_score_above_the_threshold_gives_uniform_weights_and_a_warning():
    with pytest.warns(UniformWeightsWarning, match="no kernel alone scores above 0.5"):
        found = performance(np.array([0.5, 0.2]), 0.5)
    assert found.weights.tolist() == [0.5, 0.5]


def test_chance_is_the_share_of_the_largest_class():
    labels = np.array([0, 0, 0, 1, 2])
    assert chance(labels) == 0.6
    assert chance(labels, np.array([1.0, 1.0, 1.0, 3.0, 3.0])) == pytest.approx(1 / 3)


@pytest.mark.parametrize("n_folds", [2, 3, 5])
def test_folds_hold_as_many_of_each_class(n_folds):
    labels = np.repeat([0, 1, 2], [31, 10, 4])
    folds = stratified_folds(labels, n_folds, 0)
    counts = np.array([np.bincount(folds[labels == k], minlength=n_folds) for k in range(3)])
    assert (np.ptp(counts, axis=1) <= 1).all()
    assert np.ptp(counts.sum(axis=0)) <= 1
    assert (folds == stratified_folds(labels, n_folds, 0)).all()
    assert (folds != stratified_folds(labels, n_folds, 1)).any()


def test_fewer_samples_than_folds_are_left_out_one_by_one():
    assert sorted(stratified_folds(np.zeros(3, dtype=int), 10, 0)) == [0, 1, 2]


def test_permuted_and_equal_kernels():
    X, labels, s = data(3)
    kernels = naive.gaussians(X)
    scores = classifier_scores(Grams.of_arrays(kernels), labels, s, random_state=0)
    order = [3, 1, 4, 0, 2, 1]
    permuted = [kernels[m] for m in order]
    again = classifier_scores(Grams.of_arrays(permuted), labels, s, random_state=0)
    assert (again == scores[order]).all()


def test_constant_and_zero_kernels_score_as_a_constant_prediction():
    labels = np.repeat([0, 1], [12, 8])
    ones, zeros = np.ones((20, 20)), np.zeros((20, 20))
    grams = Grams.of_arrays([ones, zeros])
    scores = classifier_scores(grams, labels, np.ones(20), n_folds=4, random_state=0)
    assert (scores == chance(labels)).all()
    scores = regressor_scores(grams, labels * 1.0, np.ones(20), 0.1, n_folds=4, random_state=0)
    assert (scores <= 0.0).all()


def test_a_class_of_one_sample_is_absent_from_a_fold():
    labels = np.array([0] * 6 + [1] * 6 + [2])
    K = np.equal.outer(labels, labels) * 1.0
    scores = classifier_scores(Grams.of_arrays([K]), labels, np.full(13, 10.0), random_state=0)
    assert scores.tolist() == [12 / 13]


def test_two_samples_of_two_classes():
    grams = Grams.of_arrays([np.eye(2)])
    scores = classifier_scores(grams, np.array([0, 1]), np.ones(2), random_state=0)
    assert scores.tolist() == [0.0]  # each is predicted by the other


def test_a_constant_target_has_a_score_of_zero():
    grams = Grams.of_arrays([np.eye(6)])
    assert regressor_scores(grams, np.full(6, 3.0), np.ones(6), 0.1).tolist() == [0.0]
