"""LAB-RBF as its paper sets it and by default, and how far off either is on a sample."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from papers.figures.samples import Sample
from pliant import LABRBFRegressor

__all__ = ["PRINTED", "algorithm_1", "by_default", "mean_and_deviation", "rsse"]

PRINTED: dict[str, Any] = {
    "n_members": 1,
    "objective": "interpolation",
    "solver": "adam",
    "support": "residual",
    "transforms": None,
    "linear": False,
    "alpha": 1e-3,
    "shrinkage": 0.0,
    "validation_fraction": 0.0,
    "learning_rate": 0.05,
}
"""The paper's Algorithm 1 as a setting of the class."""


def algorithm_1(n_support: int, start: float, seed: int, **options: Any) -> LABRBFRegressor:
    """Return the paper's algorithm, with theta = `start` for all points and features at first."""
    given = {**PRINTED, "initial_bandwidth": start, "random_state": seed, **options}
    return LABRBFRegressor(n_support, **given)


def by_default(n_support: int, seed: int, **options: Any) -> LABRBFRegressor:
    """Return the machine with all defaults but the number of support points and the options."""
    return LABRBFRegressor(n_support, random_state=seed, **options)


def rsse(model: Any, sample: Sample) -> float:
    """Fit to the training points; return 1 - R2 on the test points."""
    return 1.0 - float(model.fit(sample.X, sample.y).score(sample.X_test, sample.y_test))


def mean_and_deviation(values: Iterable[float]) -> dict[str, float]:
    """Return the mean of some numbers, and their standard deviation."""
    found = np.fromiter(values, dtype=np.float64)
    return {"mean": float(found.mean()), "deviation": float(found.std(ddof=1))}
