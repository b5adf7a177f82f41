"""Floating-point flags, which depend on the processor, change no fit and no prediction."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone, is_regressor

from pliant import (
    AsymmetricKernelRidge,
    DANKClassifier,
    KNPLRegressor,
    LABRBFClassifier,
    LABRBFPaperRegressor,
    LABRBFRegressor,
    SketchedKernelRidge,
    SketchedKernelRidgeClassifier,
    TableFeatures,
    TKLClassifier,
)
from tests.contracts.discovery import ESTIMATORS
from tests.contracts.test_estimator_contract import QUICK

X = np.random.default_rng(0).normal(size=(24, 3))
LABELS, TARGET = (X[:, 0] * X[:, 1] > 0).astype(int), np.sin(X[:, 0]) + X[:, 1]

SETTINGS = [
    LABRBFRegressor(4, n_members=2, max_iter=2, random_state=0, n_jobs=2),
    LABRBFPaperRegressor(4, max_iter=2, random_state=0),
    LABRBFRegressor(4, n_members=1, max_iter=2, calibration=0.2, random_state=0),
    LABRBFClassifier(4, n_members=2, max_iter=2, random_state=0, n_jobs=2),
    *(
        SketchedKernelRidge(n_centers=8, dtype="float32", solver=solver, random_state=0)
        for solver in ("cg", "direct")
    ),
    SketchedKernelRidgeClassifier(n_centers=8, dtype="float32", random_state=0),
    DANKClassifier(partition={"n_parts": 2}, cache_mb=1e-4),
    KNPLRegressor(cache_mb=1e-4, extension="reciprocal"),
    TKLClassifier(partition={"n_parts": 2}, random_state=0),
    AsymmetricKernelRidge("polynomial", gamma=0.1),
]
"""Products in float32, threads, kernel values on demand and parts."""

METHODS = (
    "predict",
    "decision_function",
    "predict_proba",
    "predict_log_proba",
    "predict_interval",
    "predict_second",
    "transform",
    "distance_to_support",
)


def results(estimator):
    """Fit a copy, and return the outputs of all methods, and of an explanation."""
    y = TARGET if is_regressor(estimator) else LABELS
    model = clone(estimator).fit(X, y)
    outputs = {}
    for name in METHODS:
        if hasattr(model, name):
            outputs[name] = getattr(model, name)(X)
    if hasattr(model, "score"):
        outputs["score"] = model.score(X, y)
    if hasattr(model, "explain"):
        explained = model.explain(X[:2])
        outputs |= {name: value for name, value in vars(explained).items() if name != "names"}
    if hasattr(model, "fit_gram"):
        outputs["fit_gram"] = clone(model).fit_gram(X, y)
    if hasattr(model, "support_vectors_"):
        outputs["kernel"] = model.kernel_(X, model.support_vectors_)
    return outputs


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    "estimator",
    [
        *(kind(**QUICK.get(kind.__name__, {})) for kind in ESTIMATORS if kind is not TableFeatures),
        *SETTINGS,
    ],
    ids=repr,
)
def test_flags_raised_as_errors_change_no_number(estimator):
    if "random_state" in estimator.get_params():
        estimator = clone(estimator).set_params(random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the fit; the block below has errors in their place
        expected = results(estimator)
    with np.errstate(all="raise"):
        actual = results(estimator)
    assert actual.keys() == expected.keys()
    for name, values in expected.items():
        np.testing.assert_array_equal(actual[name], values)
