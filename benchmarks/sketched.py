"""Sketched kernel ridge regression, compared with scikit-learn's Nystroem features and Ridge."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import Ridge
from sklearn.pipeline import Pipeline, make_pipeline

from benchmarks.harness.calls import fitting, whole_process
from benchmarks.harness.spec import Params, Prepared
from benchmarks.local_sets import NOISE, generated, r_squared
from pliant import SketchedKernelRidge

N_TEST = 20_000


def sketched(params: Params) -> Prepared:
    """Prepare a fit of pliant on the peer's centres."""
    training = generated(params["rows"], params["features"], seed=0)
    model = SketchedKernelRidge(
        alpha=params["alpha"], centers=training.X[_centres(params)], **params["options"]
    )

    def facts(fitted: Any) -> dict[str, Any]:
        return {
            "iterations": fitted.n_iter_,
            "passes": fitted.n_passes_,
            "certified error": f"{fitted.certified_error_:.1e}",
        }

    return _described(model, training, params, facts)


def nystroem(params: Params) -> Prepared:
    """Prepare a fit of scikit-learn."""
    training = generated(params["rows"], params["features"], seed=0)
    model = _peer(params, float(training.X.var()))
    return _described(model, training, params, lambda fitted: {})


def _peer(params: Params, variance: float) -> Pipeline:
    features = Nystroem(
        gamma=1.0 / (params["features"] * variance),
        n_components=params["centres"],
        random_state=0,
    )
    return make_pipeline(features, Ridge(params["alpha"]))


def _centres(params: Params) -> Any:
    """Return the rows drawn by Nystroem."""
    return np.random.RandomState(0).permutation(params["rows"])[: params["centres"]]


def _described(model: Any, training: Any, params: Params, facts: Any) -> Prepared:
    test = generated(N_TEST, params["features"], seed=1)
    return fitting(
        model,
        *training,
        describe=lambda fitted: {
            **whole_process("GiB"),  # before the predictions below
            **facts(fitted),
            "test R2": r_squared(fitted, test),
            "R2 of the function": 1.0 - NOISE**2 / float(np.var(test.y)),
        },
    )
