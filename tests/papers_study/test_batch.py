"""The batch rule of the DANK paper against its equation (11)."""

from itertools import combinations

import numpy as np
import pytest

from papers.batch import batch_decision_function, batch_reciprocal_neighbors
from pliant import DANKClassifier, DANKRegressor, KNPLClassifier
from pliant.kernels import Polynomial
from tests.papers.hadamard_cases import classification_data, regression_data
from tests.reference import naive_kernels
from tests.reference.naive_hadamard import batch_decisions, classification


def crowded(X, seed=0):
    """Return new points, shape (60, d), most of them close to a few training points."""
    r = np.random.default_rng(seed)
    close = X[r.integers(3, size=40)] + 0.1 * r.standard_normal((40, X.shape[1]))
    return np.concatenate([close, r.uniform(size=(20, X.shape[1]))])


def by_the_paper(model, X_new, rule="dank"):
    """Compute the values of one fitted function with the closed form of the twin."""
    kernel = model.kernel_
    K, K_new = kernel.base(kernel.points), kernel.base(kernel.points, X_new)
    problem = classification(K, np.ones(len(K)), 1.0, kernel.eta, kernel.tau, rule)
    coefficients = np.zeros(len(K))
    coefficients[kernel.support] = model.dual_coef_
    F = problem.adaptation(kernel.beta)
    return batch_decisions(F, K_new, kernel.points, X_new, coefficients, model.intercept_)


@pytest.mark.parametrize(
    ("model", "rule"),
    [
        (DANKClassifier(C=4, tau=0.0, eta=2.0), "dank"),
        (DANKClassifier(Polynomial(2), C=4, tau=0.1, eta=2.0, extension="none"), "dank"),
        (KNPLClassifier(C=4, eta=2.0), "knpl"),
    ],
)
def test_two_classes_agree_with_equation_11(model, rule):
    X, y = classification_data()
    batch = crowded(model.fit(X, y).kernel_.points)
    values = batch_decision_function(model, batch)
    expected = by_the_paper(model, batch, rule=rule)
    np.testing.assert_allclose(values, expected, rtol=0, atol=1e-10)
    assert np.abs(values - model.decision_function(batch)).max() > 1e-3


@pytest.mark.parametrize("tau", [0.0, 0.1])
def test_regression_agrees_with_equation_11_in_units_of_y(tau):
    X, y = regression_data()
    model = DANKRegressor(C=4, tau=tau, eta=2.0).fit(X, 100.0 + 10.0 * y)
    batch = crowded(X)
    expected = by_the_paper(model, batch)
    np.testing.assert_allclose(batch_decision_function(model, batch), expected, rtol=1e-12)


def test_three_classes_vote_as_in_the_decision_function():
    X, y = regression_data()
    labels = np.digitize(y, np.quantile(y, [0.3, 0.7]))
    weights = np.ones(len(y))
    weights[3] = 0.0
    model = DANKClassifier(C=4, tau=0.0, eta=2.0).fit(X, labels, sample_weight=weights)
    batch = crowded(X)
    values = batch_decision_function(model, batch)
    pairs = [by_the_paper(each, batch) for each in model.estimators_]
    votes = np.zeros((len(batch), 3))
    for (low, high), f in zip(combinations(range(3), 2), pairs, strict=True):
        votes[np.arange(len(f)), np.where(f > 0, high, low)] += 1
    np.testing.assert_array_equal(np.round(values), votes)
    assert len(model.estimators_[0].kernel_.points) < (labels != 2).sum()


def test_a_prediction_depends_on_its_batch_but_not_on_the_order():
    X, y = classification_data()
    model = DANKClassifier(C=4, tau=0.0, eta=0.5).fit(X, y)
    batch = crowded(X)
    together = batch_decision_function(model, batch)
    alone = np.concatenate([batch_decision_function(model, x[None]) for x in batch])
    assert np.abs(together - alone).max() > 1e-3
    backwards = batch_decision_function(model, batch[::-1])
    np.testing.assert_allclose(backwards[::-1], together, rtol=0, atol=1e-13)
    nearest = DANKClassifier(C=4, tau=0.0, eta=0.5, extension="nearest").fit(X, y)
    np.testing.assert_allclose(alone, nearest.decision_function(batch), rtol=0, atol=1e-12)


def test_the_batch_rule_agrees_with_equation_11_where_distances_tie():
    rng = np.random.default_rng(0)
    for _ in range(20):
        points, new = rng.integers(0, 4, (12, 2)).astype(float), rng.integers(-1, 4, (6, 2)) / 2
        M = naive_kernels.reciprocal_matrix_of_a_batch(new, points)
        np.testing.assert_array_equal(batch_reciprocal_neighbors(new, points), M.argmax(axis=0))
