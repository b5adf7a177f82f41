"""Two-class problems for benchmarks of speed, with their duals."""

from __future__ import annotations

import numpy as np
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.preprocessing import minmax_scale

from benchmarks.datasets import load_local
from benchmarks.harness.spec import Params
from pliant.core.typing import Array
from pliant.datasets import make_speed_problem
from pliant.methods.svm.dual import DenseRows, MarginDual, svc_dual

SPEED = "speed problem"

ABSENT = (
    "Without the data folder (--data, or PLIANT_DATA) problems of the same shape are generated, "
    "marked 'made up'; they give no information about the real sets."
)


def two_classes(params: Params) -> tuple[Array, Array]:
    """Return features in [0, 1] and labels -1.0 or +1.0.

    ``problem`` is `SPEED` or the name of a set in the data folder; the first ``rows`` of a
    random order drawn from ``seed`` are used.
    """
    if params["problem"] == SPEED:
        return make_speed_problem(params["rows"], params["seed"])
    data = load_local(params["problem"])
    chosen = np.random.default_rng(params["seed"]).permutation(len(data.y))[: params["rows"]]
    return minmax_scale(data.X[chosen]), data.y[chosen].astype(np.float64)


def gaussian_gram(X: Array, gamma: float) -> Array:
    """Return exp(-gamma |x_i - x_j|^2), shape (n, n), float64, exactly symmetric."""
    gram: Array = rbf_kernel(X, gamma=gamma)
    return 0.5 * (gram + gram.T)


def gaussian_dual(params: Params) -> MarginDual:
    """Return the dual of the plain SVM with ``C`` and the Gaussian kernel of ``gamma``."""
    X, y = two_classes(params)
    return svc_dual(DenseRows(gaussian_gram(X, params["gamma"])), y, params["C"])
