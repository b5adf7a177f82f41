"""Rules that extend values of the training points to a new point, one point at a time.

DANK learns its adaptive matrix for pairs of training points only. One of three rules extends it to
a new point x (Liu et al. 2020, section 2.3, and its smooth counterpart):

    nearest      x takes the place of its nearest training point
    reciprocal   x takes the place of the training point that maximises 1/(r s), where x_i is the
                 s-th nearest training point to x, and r - 1 training points are nearer to x_i
                 than x is
    smooth       b(x) is the mean of beta over the k nearest training points, weighted by
                 inverse distance

Each rule is exact at the training points; of equal points, the smooth rule takes the mean of their
values, the others the first point. Of equally near training points the first is the nearer. The
paper ranks a new point among the other new points, so that a prediction depends on its batch:
`batch_reciprocal_neighbors`.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.spatial.distance import cdist
from scipy.stats import rankdata
from sklearn.neighbors import NearestNeighbors

from pliant.core.typing import Array, Indices, Mask
from pliant.core.validation import check_points
from pliant.kernels.standard import Precomputed

MANY = 2000
"""Number of training points that makes a shortlist of neighbours faster."""


class CoordinateNeighbors:
    """Training points by their coordinates, shape (n, d); Euclidean distance.

    A new point that equals training points bit for bit has distance zero to the first of them.
    """

    def __init__(self, points: npt.ArrayLike) -> None:
        self._points = check_points(points, "points")
        rows = self._points + 0.0  # -0.0 becomes 0.0
        self._first = {row.tobytes(): i for i, row in reversed(list(enumerate(rows)))}

    def __len__(self) -> int:
        """Return the number of training points."""
        return len(self._points)

    def pool(self, values: Array) -> Array:
        """Replace the values of equal training points by their mean."""
        groups = self.twins(self._points)
        totals = np.bincount(groups, weights=values, minlength=len(values))
        sizes = np.bincount(groups, minlength=len(values))
        return np.asarray((totals / np.maximum(sizes, 1))[groups])

    def twins(self, X: Array) -> Indices:
        """Return the training point equal to each row of X, -1 for none."""
        return np.array([self._first.get(row.tobytes(), -1) for row in X + 0.0], dtype=np.intp)

    def query(self, X: Array, k: int) -> tuple[Array, Indices]:
        """Return distances and indices of the k nearest, nearest first, each (m, k)."""
        X = check_points(X, "X", n_features=self._points.shape[1])
        twins = self.twins(X)
        distances, indices = np.zeros((len(X), k)), np.tile(twins[:, None], k)
        rest = np.flatnonzero(twins < 0)
        if len(self) > max(MANY, 10 * k):
            distances[rest], indices[rest], sure = self._shortlisted(X[rest], k)
            rest = rest[~sure]
        for part in row_parts(rest, len(self)):
            every = self.distances(X[part])
            indices[part] = _smallest(every, k)
            distances[part] = np.take_along_axis(every, indices[part], axis=1)
        return distances, indices

    def _shortlisted(self, X: Array, k: int) -> tuple[Array, Indices, Mask]:
        """Find the k nearest by rough distances first; return a mask of the certain results, too.

        A result is certain if the last of the shortlist, which has five more, is farther than the
        k-th by more than the rounding of |x|^2 - 2 x'y + |y|^2.
        """
        distances, indices = np.empty((len(X), k)), np.empty((len(X), k), dtype=np.intp)
        sure = np.zeros(len(X), dtype=bool)
        if not len(X):
            return distances, indices, sure
        centre, reach, index = self._rough
        moved = X - centre
        rough, candidates = index.kneighbors(moved, k + 5)
        error = 1e-14 * ((moved**2).sum(axis=1) + reach)
        for i, some in enumerate(np.sort(candidates, axis=1)):
            exact = cdist(X[i : i + 1], self._points[some])
            order = _smallest(exact, k)[0]
            distances[i], indices[i] = exact[0, order], some[order]
            sure[i] = rough[i, -1] ** 2 > distances[i, -1] ** 2 + error[i]
        return distances, indices, sure

    @cached_property
    def _rough(self) -> tuple[Array, float, NearestNeighbors]:
        """Centre of the points, largest squared distance from it, and index of the moved points."""
        centre = np.asarray(self._points.mean(axis=0))
        moved = self._points - centre
        reach = float((moved**2).sum(axis=1).max())
        return centre, reach, NearestNeighbors(algorithm="brute").fit(moved)

    def distances(self, X: Array) -> Array:
        """Return the distances of each row of X to all training points, (m, n)."""
        return cdist(X, self._points)

    def between(self, indices: Indices) -> Array:
        """Return the distances of some training points to all, (len(indices), n)."""
        return cdist(self._points[indices], self._points)


class GramNeighbors:
    """Training points by their kernel values, all of the same k(x, x).

    The distance in the feature space is sqrt(2 (k(x, x) - k(x, x_i))). `points` are the row numbers
    of the training points, shape (n, 1).
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
        """Return `values` unchanged: a matrix does not show equal points."""
        return values

    def query(self, X: Array, k: int) -> tuple[Array, Indices]:
        """Return distances and indices of the k nearest, nearest first, each (m, k)."""
        every = self.distances(X)
        indices = _smallest(every, k)
        return np.maximum(np.take_along_axis(every, indices, axis=1), 0.0), indices

    def distances(self, X: Array) -> Array:
        """Return the distances of each row of X to all training points, (m, n).

        A training point has distance -1 to itself, so that it precedes its twins.
        """
        squared = 2.0 * (self._level - self._kernel._gram(X, self._points))
        squared[squared < 1e-12 * self._level] = 0.0
        distances = np.sqrt(squared)
        if X.shape[1] == 1:
            distances[X == self._points.T] = -1.0
        return distances

    def between(self, indices: Indices) -> Array:
        """Return the distances of some training points to all, (len(indices), n)."""
        return self.distances(self._points[indices])


Neighbors: TypeAlias = CoordinateNeighbors | GramNeighbors
"""Training points with distances to new points."""


def nearest(neighbors: Neighbors, X: Array) -> Indices:
    """Return the nearest training point to each row of X, shape (m,)."""
    return neighbors.query(X, 1)[1][:, 0]


def reciprocal(neighbors: Neighbors, X: Array) -> Indices:
    """Return the reciprocal nearest training point to each row of X, shape (m,).

    It has the smallest product r s; of equal products, the nearer point wins. The s-th neighbour
    has r s >= s, so that only the first few can win for a point among the training points; they are
    fetched in growing numbers. Points far outside need the ranks of all.
    """
    best = np.full(len(X), -1, dtype=np.intp)
    product = np.full(len(X), np.inf)
    open_rows = np.arange(len(X))
    seen, k = 0, 1
    while open_rows.size and seen < len(neighbors):
        distances, indices = neighbors.query(X[open_rows], min(k, len(neighbors)))
        for s in range(seen, indices.shape[1]):
            products = (s + 1) * _rank(neighbors, indices[:, s], distances[:, s])
            better = products < product[open_rows]
            product[open_rows[better]] = products[better]
            best[open_rows[better]] = indices[better, s]
        seen, k = indices.shape[1], 4 * k
        open_rows = open_rows[product[open_rows] > seen + 1]
        if (product[open_rows] - seen).sum() > len(neighbors):  # ranking all costs less
            best[open_rows] = _reciprocal_of_all(neighbors, X[open_rows])
            break
    return best


def _rank(neighbors: Neighbors, indices: Indices, radii: Array) -> Indices:
    """Return 1 + the number of other training points nearer to each x_i than its radius."""
    ranks = np.ones(len(indices), dtype=np.intp)
    for part in row_parts(np.flatnonzero(radii), len(neighbors)):
        nearer = neighbors.between(indices[part]) < radii[part, None]
        nearer[np.arange(part.size), indices[part]] = False
        ranks[part] += nearer.sum(axis=1)
    return ranks


def _reciprocal_of_all(neighbors: Neighbors, X: Array) -> Indices:
    """Return the result of `reciprocal` from all ranks: O(n^2 log n + m n log n)."""
    best = np.empty(len(X), dtype=np.intp)
    for part in row_parts(np.arange(len(X)), len(neighbors)):
        distances = neighbors.distances(X[part])
        order = distances.argsort(axis=1, kind="stable")
        product = np.empty(distances.shape, dtype=np.intp)
        for block in row_parts(np.arange(len(neighbors)), len(neighbors)):
            own = neighbors.between(block)
            own[np.arange(block.size), block] = np.inf
            own.sort(axis=1)
            for row, i in zip(own, block, strict=True):
                product[:, i] = 1 + np.searchsorted(row, distances[:, i])
        product = np.take_along_axis(product, order, axis=1) * np.arange(1, len(neighbors) + 1)
        winner = product.argmin(axis=1)
        best[part] = np.take_along_axis(order, winner[:, None], axis=1)[:, 0]
    return best


def smooth(neighbors: Neighbors, X: Array, pooled: Array, k: int) -> Array:
    """Return the inverse-distance mean of values over the k nearest training points, (m,).

    `pooled` are the values at the training points, as `neighbors.pool` returns them.
    """
    distances, indices = neighbors.query(X, min(k, len(neighbors)))
    here = distances == 0.0
    with np.errstate(divide="ignore"):
        weights = np.where(here.any(axis=1, keepdims=True), here, 1.0 / distances)
    weights = weights / weights.sum(axis=1, keepdims=True)
    return np.asarray((weights * pooled[indices]).sum(axis=1))


def _smallest(distances: Array, k: int) -> Indices:
    """Return the columns of each row's k smallest entries, ties in column order, (m, k)."""
    bound = np.partition(distances, k - 1, axis=1)[:, k - 1, None]
    rows, columns = np.nonzero(distances <= bound)
    order = np.lexsort((distances[rows, columns], rows))  # stable
    first = np.searchsorted(rows, np.arange(len(distances)))
    return np.asarray(columns[order[first[:, None] + np.arange(k)]])


def row_parts(rows: Indices, n: int, entries: int = 10_000_000) -> Iterator[Indices]:
    """Yield `rows` in parts whose distances to n points are at most `entries` numbers."""
    step = max(1, entries // n)
    return (rows[low : low + step] for low in range(0, rows.size, step))


def batch_reciprocal_neighbors(X_new: npt.ArrayLike, X_train: npt.ArrayLike) -> Indices:
    """Return the paper's reciprocal nearest training point to each new point of a batch.

    The point maximises 1/(r s), where X_new[j] is the r-th nearest *new* point to X_train[i], and
    X_train[i] the s-th nearest training point to X_new[j] (Liu et al. 2020, equation (11)). The
    result for one point depends on its batch. Only `pliant.batch_decision_function` predicts by it,
    to repeat the paper's experiments.

    Parameters
    ----------
    X_new : array-like of shape (m, d)
    X_train : array-like of shape (n, d)

    Returns
    -------
    array of shape (m,)
        Row numbers of X_train. The first of equally near points is the nearer, and the first
        training point wins among equal products.
    """
    train = check_points(X_train, "X_train")
    new = check_points(X_new, "X_new", n_features=train.shape[1])
    distances = cdist(train, new)
    r = rankdata(distances, "ordinal", axis=1)
    s = rankdata(distances.T, "ordinal", axis=1)
    return np.asarray((r.T * s).argmin(axis=1))
