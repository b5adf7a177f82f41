"""Fits of LAB-RBF by rows, features and classes, on a million rows and hundreds of classes."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import RidgeCV
from sklearn.metrics import log_loss
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks.harness.calls import fitting, whole_process
from benchmarks.harness.spec import Params, Prepared
from benchmarks.local_sets import NOISE, Part, generated, r_squared
from pliant import LABRBFClassifier, LABRBFRegressor

N_TEST = 20_000

SPREAD = 0.5
"""Standard deviation of a class around its centre; the centres have 1."""


def large_fit(params: Params) -> Prepared:
    """Prepare a fit with default settings."""
    return _large(LABRBFRegressor(random_state=0, n_jobs=1), _in_memory(params), params)


def large_fit_from_disk(params: Params) -> Prepared:
    """Prepare the same fit on a float32 memory map."""
    folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
    shape = params["rows"], params["features"]
    out = np.memmap(Path(folder.name) / "points", np.float32, "w+", shape=shape)
    training = generated(*shape, seed=0, out=out)
    call, describe = _large(LABRBFRegressor(random_state=0, n_jobs=1), training, params)

    def describe_and_remove(model: Any) -> dict[str, Any]:
        with folder:
            return describe(model)

    return call, describe_and_remove


def boosting(params: Params) -> Prepared:
    """Prepare gradient boosting with default settings, as a measure of the problem's difficulty."""
    return _large(HistGradientBoostingRegressor(random_state=0), _in_memory(params), params)


def many_classes(params: Params) -> Prepared:
    """Prepare a fit to three rows of each of many classes, with default settings."""
    count, features = params["classes"], params["features"]
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(count, features))
    y, truth = np.repeat(np.arange(count), 3), np.repeat(np.arange(count), 2)
    X, new = (
        centres[labels] + SPREAD * rng.normal(size=(len(labels), features)) for labels in (y, truth)
    )

    def describe(fitted: LABRBFClassifier) -> dict[str, Any]:
        chances = fitted.predict_proba(new)
        return {
            "test error (%)": 100.0 * float(np.mean(chances.argmax(axis=1) != truth)),
            "test log-loss": float(log_loss(truth, chances, labels=fitted.classes_)),
        }

    return fitting(LABRBFClassifier(random_state=0, n_jobs=1), X, y, describe=describe)


def growing(params: Params) -> Prepared:
    """Prepare a fit with default settings to `rows`, `features` and perhaps `classes`."""
    kind = LABRBFClassifier if "classes" in params else LABRBFRegressor
    return _grown(kind(random_state=0, n_jobs=1), params)


def ridge(params: Params) -> Prepared:
    """Prepare linear ridge regression, whose penalty is chosen by leave-one-out errors."""
    return _grown(make_pipeline(StandardScaler(), RidgeCV(np.logspace(-3, 5, 17))), params)


def _grown(model: Any, params: Params) -> Prepared:
    X, y = generated(params["rows"], params["features"], seed=0)
    test = generated(N_TEST, params["features"], seed=1)
    if "classes" not in params:
        return fitting(model, X, y, describe=lambda fitted: {"test R2": r_squared(fitted, test)})
    edges = np.quantile(test.y, np.arange(1, params["classes"]) / params["classes"])
    labels, truth = np.searchsorted(edges, y), np.searchsorted(edges, test.y)

    def describe(fitted: LABRBFClassifier) -> dict[str, Any]:
        chances = fitted.predict_proba(test.X)
        return {"test log-loss": float(log_loss(truth, chances, labels=fitted.classes_))}

    return fitting(model, X, labels, describe=describe)


def _in_memory(params: Params) -> Part:
    return generated(params["rows"], params["features"], seed=0)


def _large(model: Any, training: Part, params: Params) -> Prepared:
    test = generated(N_TEST, params["features"], seed=1)
    return fitting(
        model,
        *training,
        describe=lambda fitted: {
            **whole_process("GiB"),  # before the predictions below
            "test R2": r_squared(fitted, test),
            "R2 of the function": 1.0 - NOISE**2 / float(np.var(test.y)),
        },
    )
