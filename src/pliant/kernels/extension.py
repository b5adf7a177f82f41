"""What a new point inherits from the training points: rules for one new point at a time.

The adaptive matrix of DANK is learned for pairs of training points only. A new point x gets its
share by one of three rules (Liu et al. 2020, section 2.3, and its smooth counterpart):

    nearest      x takes the place of its nearest training point
    reciprocal   x takes the place of the training point that maximises 1/(r s), where x_i is the
                 s-th nearest training point to x, and r - 1 training points are nearer to x_i
                 than x is
    smooth       b(x) is the mean of beta over the k nearest training points, weighted by
                 inverse distance

Each one is exact at the training points (where several are equal, the smooth rule takes the mean
of their values, the others the first of them). Of equally near training points the first one is
the nearer. The paper ranks a new point among the other new
points, so that a prediction depends on its batch: `batch_reciprocal_neighbors` is that rule,
as a function of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

import numpy as np
import numpy.typing as npt
from scipy.spatial.distance import cdist

from pliant._typing import Array, Indices
from pliant._validation import check_points
from pliant.kernels.precomputed import Precomputed

__all__ = [
    "CoordinateNeighbors",
    "GramNeighbors",
    "Neighbors",
    "batch_reciprocal_neighbors",
    "nearest",
    "reciprocal",
    "smooth",
]


class Neighbors(Protocol):
    """Training points that can be asked for the nearest ones to a new point.

    Of equally near points the first one comes first, whatever k and the other rows of X are.
    """

    def __len__(self) -> int:
        """Return the number of training points."""

    def query(self, X: Array, k: int) -> tuple[Array, Indices]:
        """Return distances and indices of the k nearest, nearest first, each (m, k)."""

    def count_nearer(self, indices: Indices, radii: Array) -> Indices:
        """Return how many other training points are nearer to each x_i than its radius."""

    def pool(self, values: Array) -> Array:
        """Return `values` with their mean wherever training points are equal."""


class CoordinateNeighbors:
    """Training points by their coordinates; Euclidean distance.

    A point that equals a training point bit for bit is recognised as it, at distance zero,
    without a search. Of equal training points the first one is taken.

    Parameters
    ----------
    points : array of shape (n, d)
    """

    def __init__(self, points: npt.ArrayLike) -> None:
        self._points = check_points(points, "points")
        rows = self._points + 0.0  # -0.0 becomes 0.0
        self._first = {row.tobytes(): i for i, row in reversed(list(enumerate(rows)))}

    def __len__(self) -> int:
        """Return the number of training points."""
        return len(self._points)

    def pool(self, values: Array) -> Array:
        """Return `values` with their mean wherever training points are equal."""
        groups = self.twins(self._points)
        totals = np.bincount(groups, weights=values, minlength=len(values))
        return np.asarray(
            (totals / np.maximum(np.bincount(groups, minlength=len(values)), 1))[groups]
        )

    def twins(self, X: Array) -> Indices:
        """Return for each row of X the training point that it equals, -1 for none."""
        return np.array([self._first.get(row.tobytes(), -1) for row in X + 0.0], dtype=np.intp)

    def query(self, X: Array, k: int) -> tuple[Array, Indices]:
        """Return distances and indices of the k nearest, nearest first, each (m, k)."""
        X = check_points(X, "X", n_features=self._points.shape[1])
        twins = self.twins(X)
        distances, indices = np.zeros((len(X), k)), np.tile(twins[:, None], k)
        for part in self._parts(np.flatnonzero(twins < 0)):
            every = cdist(X[part], self._points)
            indices[part] = _smallest(every, k)
            distances[part] = np.take_along_axis(every, indices[part], axis=1)
        return distances, indices

    def count_nearer(self, indices: Indices, radii: Array) -> Indices:
        """Return how many other training points are nearer to each x_i than its radius."""
        counts = np.zeros(len(indices), dtype=np.intp)
        for part in self._parts(np.flatnonzero(radii)):
            nearer = cdist(self._points[indices[part]], self._points) < radii[part, None]
            nearer[np.arange(part.size), indices[part]] = False
            counts[part] = nearer.sum(axis=1)
        return counts

    def _parts(self, rows: Indices) -> Iterator[Indices]:
        """Yield `rows` in parts whose distances to all training points fit into memory."""
        step = max(1, int(1e7 / len(self)))
        return (rows[low : low + step] for low in range(0, rows.size, step))


class GramNeighbors:
    """Training points by their kernel values, all of the same k(x, x).

    The distance is that of the feature space, sqrt(2 (k(x, x) - k(x, x_i))).

    Parameters
    ----------
    kernel : Precomputed
        With its training Gram matrix.
    points : array of shape (n, 1)
        The row numbers of the training points.
    """

    def __init__(self, kernel: Precomputed, points: Array) -> None:
        self._kernel = kernel
        self._points = points
        diagonal = kernel._diagonal(points)
        self._level = float(diagonal.mean())
        if not np.allclose(diagonal, self._level, rtol=1e-8, atol=0.0):
            raise ValueError(
                "expected a precomputed Gram matrix with equal diagonal entries, got entries from "
                f"{diagonal.min():g} to {diagonal.max():g}: there are no neighbours without "
                "coordinates; use extension='none', or normalise the Gram"
            )

    def __len__(self) -> int:
        """Return the number of training points."""
        return len(self._points)

    def pool(self, values: Array) -> Array:
        """Return `values` as they are: equal points cannot be told by a matrix alone."""
        return values

    def query(self, X: Array, k: int) -> tuple[Array, Indices]:
        """Return distances and indices of the k nearest, nearest first, each (m, k)."""
        distances = self._distances(X)
        if X.shape[1] == 1:  # a training point is nearest to itself, before its twins
            distances[X == self._points.T] = -1.0
        indices = _smallest(distances, k)
        return np.maximum(np.take_along_axis(distances, indices, axis=1), 0.0), indices

    def count_nearer(self, indices: Indices, radii: Array) -> Indices:
        """Return how many other training points are nearer to each x_i than its radius."""
        nearer = self._distances(self._points[indices]) < radii[:, None]
        nearer[np.arange(len(indices)), indices] = False
        return nearer.sum(axis=1)

    def _distances(self, X: Array) -> Array:
        squared = 2.0 * (self._level - self._kernel._gram(X, self._points))
        squared[squared < 1e-12 * self._level] = 0.0
        return np.sqrt(squared)


def _smallest(distances: Array, k: int) -> Indices:
    """Return the columns of the k smallest entries of each row, ties in column order, (m, k)."""
    bound = np.partition(distances, k - 1, axis=1)[:, k - 1, None]
    rows, columns = np.nonzero(distances <= bound)
    order = np.lexsort((distances[rows, columns], rows))  # stable
    first = np.searchsorted(rows, np.arange(len(distances)))
    return np.asarray(columns[order[first[:, None] + np.arange(k)]])


def nearest(neighbors: Neighbors, X: Array) -> Indices:
    """Return the nearest training point to each row of X, shape (m,)."""
    return neighbors.query(X, 1)[1][:, 0]


def reciprocal(neighbors: Neighbors, X: Array) -> Indices:
    """Return the reciprocal nearest training point to each row of X, shape (m,).

    The s-th neighbour scores at most 1/s, so only the neighbours up to s = r_1, the rank that
    the nearest one scores with, can win; they are fetched in growing numbers.
    """
    best = np.full(len(X), -1, dtype=np.intp)
    score = np.full(len(X), np.inf)  # r s, to be minimised; ties go to the nearer point
    open_rows = np.arange(len(X))
    seen, k = 0, 1
    while open_rows.size and seen < len(neighbors):
        distances, indices = neighbors.query(X[open_rows], min(k, len(neighbors)))
        for s in range(seen, indices.shape[1]):
            r = 1 + neighbors.count_nearer(indices[:, s], distances[:, s])
            better = r * (s + 1) < score[open_rows]
            score[open_rows[better]] = (r * (s + 1))[better]
            best[open_rows[better]] = indices[better, s]
        seen, k = indices.shape[1], 4 * k
        open_rows = open_rows[score[open_rows] > seen + 1]
    return best


def smooth(neighbors: Neighbors, X: Array, values: Array, k: int) -> Array:
    """Return the inverse-distance mean of `values` over the k nearest training points, (m,)."""
    values = neighbors.pool(values)
    distances, indices = neighbors.query(X, min(k, len(neighbors)))
    here = distances == 0.0
    with np.errstate(divide="ignore"):
        weights = np.where(here.any(axis=1, keepdims=True), here, 1.0 / distances)
    weights = weights / weights.sum(axis=1, keepdims=True)
    return np.asarray((weights * values[indices]).sum(axis=1))


def batch_reciprocal_neighbors(X_new: npt.ArrayLike, X_train: npt.ArrayLike) -> Indices:
    """Return the paper's reciprocal nearest training point to each new point of a batch.

    Maximises 1/(r s), where X_new[j] is the r-th nearest *new* point to X_train[i], and
    X_train[i] the s-th nearest training point to X_new[j] (Liu et al. 2020, equation (11)). The
    answer for one point depends on the others in the batch, so that no estimator predicts by
    it; it is here to repeat the paper's experiments.

    Parameters
    ----------
    X_new : array-like of shape (m, d)
    X_train : array-like of shape (n, d)

    Returns
    -------
    array of shape (m,)
        Row numbers of X_train.
    """
    train = check_points(X_train, "X_train")
    new = check_points(X_new, "X_new", n_features=train.shape[1])
    distances = cdist(train, new)
    r = 1 + distances.argsort(axis=1, kind="stable").argsort(axis=1, kind="stable")
    s = 1 + distances.argsort(axis=0, kind="stable").argsort(axis=0, kind="stable")
    return np.asarray((r * s).argmin(axis=0))
