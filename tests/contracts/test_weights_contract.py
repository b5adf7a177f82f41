"""A sample of weight zero counts as little as a sample that is left out."""

import inspect

import numpy as np
import pytest
from sklearn.base import clone, is_regressor
from sklearn.datasets import load_diabetes, load_wine
from sklearn.preprocessing import StandardScaler

from pliant import (
    DANKClassifier,
    DANKRegressor,
    KNPLClassifier,
    KNPLRegressor,
    LABRBFClassifier,
    LABRBFRegressor,
    LearnedKernelClassifier,
)
from pliant.methods import LABRBFAlgorithm
from tests.contracts.discovery import ESTIMATORS

EXEMPT = {LearnedKernelClassifier}
"""Its kernel is learned from all samples, without their weights."""

WEIGHTED = [
    kind
    for kind in ESTIMATORS
    if "sample_weight" in inspect.signature(kind.fit).parameters and kind not in EXEMPT
]

GIVEN = {"gamma": 0.1, "random_state": 0}
"""Parameters of all estimators that have them: gamma="scale" would look at all samples."""

FIXED = {  # choices on held-out samples amplify rounding errors
    "alpha": 1.0,
    "validation_fraction": 0.0,
    "max_iter": 3,
    "algorithm": LABRBFAlgorithm(objective="ridge", shrinkage=0.1),
}

PRECISE = {"tol": 1e-6}

SETTINGS = {
    LABRBFClassifier: FIXED,
    LABRBFRegressor: FIXED,
    DANKClassifier: PRECISE,
    DANKRegressor: PRECISE,
    KNPLClassifier: PRECISE,
    KNPLRegressor: PRECISE,
}


def data(kind):
    """Return points, targets, and weights of which about a third are zero."""
    X, y = (load_diabetes if is_regressor(kind()) else load_wine)(return_X_y=True)
    X, y, rng = StandardScaler().fit_transform(X)[::3], y[::3], np.random.default_rng(0)
    return X, y, np.where(rng.random(len(y)) < 0.3, 0.0, rng.uniform(0.5, 2.0, len(y)))


def outputs(model, X):
    """Return predicted targets or decision values."""
    return model.predict(X) if is_regressor(model) else model.decision_function(X)


@pytest.mark.parametrize("kind", WEIGHTED, ids=lambda kind: kind.__name__)
def test_weight_zero_is_the_removal_of_a_sample(kind):
    X, y, weight = data(kind)
    used, names = weight > 0, kind().get_params()
    model = kind(**{name: value for name, value in GIVEN.items() if name in names})
    model.set_params(**SETTINGS.get(kind, {}))
    removed = outputs(clone(model).fit(X[used], y[used], sample_weight=weight[used]), X)
    limit = 1e-3 * np.abs(removed).max()
    weighted = outputs(clone(model).fit(X, y, sample_weight=weight), X)
    np.testing.assert_allclose(weighted, removed, rtol=0, atol=limit)
    others = outputs(clone(model).fit(X, y, sample_weight=weight + (weight == 0)), X)
    assert np.abs(others - removed).max() > 10 * limit  # the removed samples matter


@pytest.mark.parametrize("kind", [LABRBFClassifier, LABRBFRegressor])
@pytest.mark.parametrize("weight", [0.01, 1.0000001, 2.0])
def test_equal_weights_are_no_weights_where_only_ratios_matter(kind, weight):
    """The choices on held-out samples would amplify the rounding errors of the weights."""
    X, y, _ = data(kind)
    model = kind(10, n_members=2, max_iter=5, random_state=0)
    expected = outputs(clone(model).fit(X, y), X)
    weights = np.full(len(y), weight)
    np.testing.assert_array_equal(outputs(clone(model).fit(X, y, weights), X), expected)
    fitted = clone(model).fit(X, y)
    fitted.refit_coefficients(X, y, weights)  # the fitted penalties are absolute
    changed = np.abs(outputs(fitted, X) - expected).max() > 1e-4 * np.abs(expected).max()
    assert changed == (abs(weight - 1.0) > 1e-3)
    absolute = model.set_params(alpha=1.0)
    one, other = (outputs(clone(absolute).fit(X, y, w), X) for w in (None, weights))
    changed = np.abs(one - other).max() > 1e-4 * np.abs(one).max()
    assert changed or abs(weight - 1.0) < 1e-3
