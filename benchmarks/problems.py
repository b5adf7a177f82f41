"""Two-class problems for benchmarks of speed, with their duals."""

from __future__ import annotations

import numpy as np
from sklearn.datasets import make_classification
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.preprocessing import minmax_scale

from benchmarks.datasets import load_local
from benchmarks.harness.spec import Params
from pliant.core.typing import Array
from pliant.methods.svm.dual import MarginDual, svc_dual
from pliant.methods.svm.rows import DenseRows

SPEED = "speed problem"

ABSENT = (
    "Without the data folder (--data, or PLIANT_DATA) problems of the same shape are generated, "
    "marked 'made up'; they give no information about the real sets."
)


def make_speed_problem(n: int, random_state: int = 0) -> tuple[Array, Array]:
    """Generate the two-class problem used for speed measurements.

    The points form twelve Gaussian clusters at the vertices of a hypercube in 8 dimensions. Of the
    14 features, 8 are informative; 5 % of the labels are redrawn at random. Many points become
    support vectors.

    Parameters
    ----------
    n : int
        Number of points, >= 2.
    random_state : int
        Random seed.

    Returns
    -------
    X : ndarray of shape (n, 14)
        Points, with each feature scaled to [0, 1].
    y : ndarray of shape (n,)
        Labels -1 and +1.
    """
    X, y = make_classification(
        n, 14, n_informative=8, n_clusters_per_class=6, flip_y=0.05, random_state=random_state
    )
    return minmax_scale(X), np.where(y == 1, 1.0, -1.0)


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
