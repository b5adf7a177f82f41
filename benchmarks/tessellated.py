"""Fits of TKL: beside the paper's Algorithm 2, the gaps that defaults certify, and large sets."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from sklearn.ensemble import RandomForestRegressor

from benchmarks.algorithm2 import GRIDS, Algorithm2, classifier, regressor, tessellated_blocks
from benchmarks.harness.calls import fitting
from benchmarks.harness.measuring import PEER_LIMIT
from benchmarks.harness.spec import Params, Prepared
from benchmarks.tessellated_sets import learner, machine_numbers, points_and_target, scaled
from pliant.core.typing import Array

DELTA = 0.5
"""How far the box reaches beyond [0, 1]: the default."""


def tkl(params: Params) -> Prepared:
    """Prepare a fit with all defaults but C."""
    X, y, task = points_and_target(params)
    return fitting(learner(task, C=params["C"], delta=DELTA), X, y, describe=machine_numbers)


def algorithm_2(params: Params) -> Prepared:
    """Prepare the paper's algorithm on the same problem, from its scaled points on."""
    X, y = scaled(*(given := points_and_target(params)))
    machine = (regressor if given[2] == "regression" else classifier)(y, params["C"])
    limit = float(os.environ.get(PEER_LIMIT, "600"))

    def call() -> Algorithm2:
        Z, blocks = tessellated_blocks(X, -DELTA, 1.0 + DELTA)
        return Algorithm2(Z, blocks, machine, GRIDS[params["grid"]], seconds=limit).run()

    return call, lambda run: {
        "limit (s)": run.seconds,
        "objective": run.upper,
        "relative gap": f"{run.gap:.1e}",
        "machines": run.n_machines,
        "iterations": run.n_iter,
        "seconds in D": run.seconds_in_D,
        "stopped by": run.stopped,
    }


def tkl_gap(params: Params) -> Prepared:
    """Prepare the same fit; the table shows whether the gap that is asked for was reached."""
    X, y, task = points_and_target(params)

    def describe(model: Any) -> dict[str, Any]:
        reached = model.dual_gap_ / model.objective_
        return {
            "rows": len(y),
            "features": X.shape[1],
            **machine_numbers(model),
            "asked": f"{params['asked']:g}",
            "reached": "yes" if reached <= params["asked"] else "no",
        }

    return fitting(learner(task, C=params["C"]), X, y, describe=describe)


def tkl_large(params: Params) -> Prepared:
    """Prepare a fit on the training rows."""
    training, test, task = split(params)

    def describe(model: Any) -> dict[str, Any]:
        numbers = {**machine_numbers(model), "support": len(model.support_)}
        return {**numbers, **_errors(model, test, params)}

    model = learner(task, random_state=0, **params["options"])
    return fitting(model, *training, describe=describe)


def forest(params: Params) -> Prepared:
    """Prepare a random forest of 100 trees, which shows how hard the set is in this form."""
    training, test, _ = split(params)
    model = RandomForestRegressor(random_state=0)
    return fitting(model, *training, describe=lambda fitted: _errors(fitted, test, params))


def split(params: Params) -> tuple[tuple[Array, Array], tuple[Array, Array], str]:
    """Return training rows and test rows, drawn at random from ``seed``, and the task."""
    X, y, task = points_and_target({**params, "rows": None})
    order = np.random.default_rng(params["seed"]).permutation(len(y))
    training, test = order[: params["training"]], order[params["largest"] :]
    return (X[training], y[training]), (X[test], y[test]), task


def _errors(model: Any, test: tuple[Array, Array], params: Params) -> dict[str, Any]:
    X, y = test
    squares = float(np.mean((model.predict(X) - y) ** 2))
    return {
        "test MSE": f"{squares / params['unit'] ** 2:.4g}",
        "R^2": 1.0 - squares / float(np.var(y)),
        "printed MSE": f"{params['printed']:g}",
    }
