"""A sample of weight zero is a removed sample, whatever it holds."""

import inspect

import numpy as np
import pytest
from sklearn.base import clone, is_regressor
from sklearn.datasets import load_diabetes, load_wine
from sklearn.preprocessing import StandardScaler

from pliant import (
    AsymmetricKernelRidge,
    DANKClassifier,
    DANKRegressor,
    KNPLClassifier,
    KNPLRegressor,
    LABRBFAlgorithm,
    LABRBFClassifier,
    LABRBFPaperRegressor,
    LABRBFRegressor,
    LearnedKernelClassifier,
    SCGLogDetLearner,
    SketchedKernelRidge,
    SketchedKernelRidgeClassifier,
)
from tests.contracts.discovery import ESTIMATORS

WEIGHTED = [
    kind for kind in ESTIMATORS if "sample_weight" in inspect.signature(kind.fit).parameters
]
BALANCED = [kind for kind in WEIGHTED if "class_weight" in kind().get_params()]

FIXED = {  # choices on held-out samples amplify rounding errors
    "alpha": 1.0,
    "validation_fraction": 0.0,
    "max_iter": 3,
    "algorithm": LABRBFAlgorithm(objective="ridge", shrinkage=0.1),
}

PRECISE = {"tol": 1e-6}

SKETCH = {"n_centers": 20}

SETTINGS = {
    LABRBFClassifier: FIXED,
    LABRBFPaperRegressor: {"max_iter": 20},
    LABRBFRegressor: FIXED,
    DANKClassifier: PRECISE,
    DANKRegressor: PRECISE,
    KNPLClassifier: PRECISE,
    KNPLRegressor: PRECISE,
    LearnedKernelClassifier: {"learner": SCGLogDetLearner(strength=10.0)},
    SketchedKernelRidge: SKETCH,
    SketchedKernelRidgeClassifier: SKETCH,
}


def made(kind, **settings):
    """Return an estimator with a seed and the settings above."""
    given = {"random_state": 0, **SETTINGS.get(kind, {}), **settings}
    names = kind().get_params()
    return kind(**{name: value for name, value in given.items() if name in names})


def data(kind):
    """Return points, targets, and weights of which about a third are zero."""
    X, y = (load_diabetes if is_regressor(kind()) else load_wine)(return_X_y=True)
    X, y, rng = StandardScaler().fit_transform(X)[::3], y[::3], np.random.default_rng(0)
    return X, y, np.where(rng.random(len(y)) < 0.3, 0.0, rng.uniform(0.5, 2.0, len(y)))


def with_rubbish(kind, X, y, weight):
    """Return points far outside and wrong targets in the rows of weight zero."""
    unused, rng = weight == 0, np.random.default_rng(1)
    X, y = X.copy(), y.copy()
    X[unused] = 1e6 * rng.choice([-1.0, 1.0], (unused.sum(), X.shape[1]))
    y[unused] = 1e6 if is_regressor(kind()) else y[0]
    return X, y


def outputs(model, X):
    """Return predicted targets or decision values."""
    return model.predict(X) if is_regressor(model) else model.decision_function(X)


def check_removal(model, X, y, weight, kind):
    """Compare a fit with rubbish in the rows of weight zero with a fit without these rows."""
    used = weight > 0
    removed = clone(model).fit(X[used], y[used], sample_weight=weight[used])
    weighted = clone(model).fit(*with_rubbish(kind, X, y, weight), sample_weight=weight)
    expected = outputs(removed, X)
    limit = 1e-3 * np.abs(expected).max()
    np.testing.assert_allclose(outputs(weighted, X), expected, rtol=0, atol=limit)
    pairs = zip(
        *(getattr(each, "estimators_", [each]) for each in (weighted, removed)), strict=True
    )
    for one, other in pairs:  # numbers of the caller's rows
        if hasattr(one, "support_"):
            np.testing.assert_array_equal(one.support_, np.flatnonzero(used)[other.support_])


@pytest.mark.parametrize("kind", WEIGHTED, ids=lambda kind: kind.__name__)
def test_weight_zero_is_the_removal_of_a_sample(kind):
    check_removal(made(kind), *data(kind), kind)


@pytest.mark.parametrize(
    "kind", [kind for kind in WEIGHTED if not is_regressor(kind())], ids=lambda kind: kind.__name__
)
def test_a_class_whose_samples_have_weight_zero_is_unknown(kind):
    X, y, weight = data(kind)
    names = np.array(["a", "b", "c"])[y]
    names[5], weight[5] = "z", 0.0
    used = weight > 0
    model = made(kind).fit(X, names, sample_weight=weight)
    assert model.classes_.tolist() == ["a", "b", "c"]
    removed = made(kind).fit(X[used], names[used], sample_weight=weight[used])
    np.testing.assert_array_equal(model.predict(X), removed.predict(X))


@pytest.mark.parametrize("kind", BALANCED, ids=lambda kind: kind.__name__)
def test_balanced_classes_do_not_count_weight_zero(kind):
    check_removal(made(kind, class_weight="balanced"), *data(kind), kind)


@pytest.mark.parametrize(
    "model",
    [
        DANKClassifier("precomputed", tol=1e-6),
        KNPLRegressor("precomputed", tol=1e-6),
        AsymmetricKernelRidge("precomputed"),
        LearnedKernelClassifier(SCGLogDetLearner("precomputed", strength=10.0)),
    ],
    ids=lambda model: type(model).__name__,
)
def test_rows_of_weight_zero_of_a_gram_matrix(model):
    """New points have kernel values with all training samples."""
    kind = type(model)
    X, y, weight = data(kind)
    used = weight > 0
    gram = np.exp(-0.1 * ((X[:, None] - X) ** 2).sum(axis=2))
    removed = clone(model).fit(gram[np.ix_(used, used)], y[used], weight[used])
    rubbish, wrong = gram.copy(), with_rubbish(kind, X, y, weight)[1]
    rubbish[~used], rubbish[:, ~used] = -1e6, 2e6
    weighted = clone(model).fit(rubbish, wrong, weight)
    expected, got = outputs(removed, gram[:, used]), outputs(weighted, gram)
    np.testing.assert_allclose(got, expected, rtol=0, atol=1e-3 * np.abs(expected).max())


@pytest.mark.parametrize("kind", [LABRBFClassifier, LABRBFRegressor])
@pytest.mark.parametrize("weight", [0.01, 1.0000001])
def test_equal_weights_are_no_weights_where_only_ratios_matter(kind, weight):
    """The choices on held-out samples would amplify the rounding errors of the weights."""
    X, y, _ = data(kind)
    model = kind(10, n_members=2, max_iter=5, random_state=0)
    expected = outputs(clone(model).fit(X, y), X)
    weights = np.full(len(y), weight)
    np.testing.assert_array_equal(outputs(clone(model).fit(X, y, weights), X), expected)
    # The log loss of a dense member is flat around its minimum, which amplifies rounding errors.
    model.set_params(dense=kind is LABRBFRegressor)
    fitted = clone(model).fit(X, y)
    expected = outputs(fitted, X)
    fitted.refit_coefficients(X, y, weights)  # the fitted penalties are absolute
    changed = np.abs(outputs(fitted, X) - expected).max() > 1e-4 * np.abs(expected).max()
    assert changed == (abs(weight - 1.0) > 1e-3)
    absolute = model.set_params(alpha=1.0)
    one, other = (outputs(clone(absolute).fit(X, y, w), X) for w in (None, weights))
    changed = np.abs(one - other).max() > 1e-4 * np.abs(one).max()
    assert changed or abs(weight - 1.0) < 1e-3
