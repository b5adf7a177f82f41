"""Certified gaps of TKL with default settings."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.datasets import load_local
from benchmarks.harness.calls import fitting
from benchmarks.harness.spec import Params, Prepared
from pliant import TKLClassifier, TKLRegressor
from pliant.core.typing import Array

SHAPES = {
    "airfoil": (1503, 5, "regression"),
    "boston_housing": (506, 13, "regression"),
    "breast_cancer_original_complete": (683, 9, "binary"),
    "fourclass": (862, 2, "binary"),
    "german_numeric": (1000, 24, "binary"),
    "heart_statlog": (270, 13, "binary"),
    "hill_valley": (1212, 100, "binary"),
    "ionosphere": (351, 34, "binary"),
    "pima_diabetes": (768, 8, "binary"),
    "shill_bidding": (6321, 9, "binary"),
    "transfusion": (748, 4, "binary"),
}
"""Rows, features and task of each set, to generate a substitute without data."""


def points_and_target(params: Params) -> tuple[Array, Array, str]:
    """Return features, target and task of the set ``problem``, with ``rows`` rows or all.

    A subset is drawn at random from ``seed``. Labels of two classes are -1.0 and 1.0. Without
    ``data``, the set is generated: uniform features, and a target with jumps along two of them.
    """
    if params["data"]:
        table = load_local(params["problem"])
        X, y, task = table.X, table.y.astype(np.float64), table.task
    else:
        X, y, task = _made_up(params["problem"])
    if (rows := params.get("rows")) is None:
        return X, y, task
    chosen = np.random.default_rng(params["seed"]).permutation(len(y))[:rows]
    return X[chosen], y[chosen], task


def _made_up(name: str) -> tuple[Array, Array, str]:
    rows, features, task = SHAPES[name]
    random = np.random.default_rng(0)
    X = random.random((rows, features))
    y = np.sin(4.0 * X[:, 0]) + (X[:, 1] > 0.5) * X[:, 0] + 0.1 * random.standard_normal(rows)
    return X, np.where(y > np.median(y), 1.0, -1.0) if task == "binary" else y, task


def tkl_gap(params: Params) -> Prepared:
    """Prepare a fit with all defaults except C; show whether it reaches the requested gap."""
    X, y, task = points_and_target(params)

    def describe(model: Any) -> dict[str, Any]:
        reached = model.dual_gap_ / model.objective_
        return {
            "rows": len(y),
            "features": X.shape[1],
            "objective": model.objective_,
            "relative gap": f"{reached:.1e}",
            "machines": model.n_iter_,
            "rank of P": model.rank_,
            "asked": f"{params['asked']:g}",
            "reached": "yes" if reached <= params["asked"] else "no",
        }

    learner = TKLRegressor if task == "regression" else TKLClassifier
    return fitting(learner(C=params["C"]), X, y, describe=describe)
