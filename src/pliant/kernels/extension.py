"""Rules that extend values from the training points to each new point independently.

DANK learns its adaptive matrix only for pairs of training points. One of three rules extends it to
a new point x (Liu et al. 2020, section 2.3, and its smooth counterpart):

    nearest      replace x by its nearest training point
    reciprocal   replace x by the training point x_i that maximises 1/(r s), where x_i is the s-th
                 nearest training point to x, and r - 1 training points are nearer to x_i than x
    smooth       b(x) is the mean of beta over the k nearest training points, weighted by
                 inverse distance

Each rule is exact at the training points. For duplicate points, the smooth rule averages their
values, and the other rules use the first point. Ties in distance go to the first point.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from pliant.core import process
from pliant.core.blocks import row_blocks
from pliant.core.distances import cdist
from pliant.core.sparse import euclidean_distances, in_form_of, is_sparse, row_keys
from pliant.core.typing import Array, Indices, Mask
from pliant.core.validation import check_points
from pliant.kernels.standard import Precomputed

MANY = 2000
"""Number of training points above which shortlists of neighbours save time."""

DIRECT = 20_000_000
"""Number of distances that take less time than importing scikit-learn, which finds shortlists."""


class CoordinateNeighbors:
    """Neighbours among training points, shape (n, d), by Euclidean distance.

    A new point bitwise equal to training points has only the first of them as its neighbour. The
    points may be a CSR array.
    """

    def __init__(self, points: npt.ArrayLike) -> None:
        self._points = check_points(points, "points", sparse=True)
        self._first = {key: i for i, key in reversed(list(enumerate(row_keys(self._points))))}

    def __len__(self) -> int:
        return self._points.shape[0]

    def pool(self, values: Array) -> Array:
        """Average the values of equal training points."""
        groups = self.duplicates(self._points)
        totals = np.bincount(groups, weights=values, minlength=len(values))
        sizes = np.bincount(groups, minlength=len(values))
        return np.asarray((totals / np.maximum(sizes, 1))[groups])

    def duplicates(self, X: Array) -> Indices:
        """Return the first training point equal to each row of X, or -1."""
        keys = row_keys(in_form_of(X, self._points))
        return np.array([self._first.get(key, -1) for key in keys], dtype=np.intp)

    def query(self, X: Array, k: int) -> tuple[Array, Indices]:
        """Return distances and indices of the k nearest points, nearest first, shape (m, k)."""
        X = check_points(X, "X", n_features=self._points.shape[1], sparse=True)
        duplicates = self.duplicates(X)
        distances, indices = np.zeros((len(duplicates), k)), np.tile(duplicates[:, None], k)
        rest = np.flatnonzero(duplicates < 0)
        direct = is_sparse(self._points) or (process.BARE and rest.size * len(self) <= DIRECT)
        if rest.size and len(self) > max(MANY, 10 * k) and not direct:
            distances[rest], indices[rest], certain = self._query_shortlists(X[rest], k)
            rest = rest[~certain]
        for part in row_parts(rest, len(self)):
            to_all = self.distances(X[part])
            indices[part] = _smallest(to_all, k)
            distances[part] = np.take_along_axis(to_all, indices[part], axis=1)
        return distances, indices

    def _query_shortlists(self, X: Array, k: int) -> tuple[Array, Indices, Mask]:
        """Return the results of `query` from shortlists, and a mask of the certain ones.

        A shortlist holds the k + 5 nearest points by |x|^2 - 2 x'y + |y|^2. A result is certain
        if the shortlist's last point is farther than the k-th one by more than the rounding error.
        """
        distances, indices = np.empty((len(X), k)), np.empty((len(X), k), dtype=np.intp)
        certain = np.zeros(len(X), dtype=bool)
        centre, reach, index = self._index
        centred = X - centre
        approximate, candidates = index.kneighbors(centred, k + 5)
        error = 1e-14 * ((centred**2).sum(axis=1) + reach)
        for i, some in enumerate(np.sort(candidates, axis=1)):
            exact = cdist(X[i : i + 1], self._points[some])
            order = _smallest(exact, k)[0]
            distances[i], indices[i] = exact[0, order], some[order]
            certain[i] = approximate[i, -1] ** 2 > distances[i, -1] ** 2 + error[i]
        return distances, indices, certain

    @cached_property
    def _index(self) -> tuple[Array, float, Any]:
        """Mean of the points, largest squared distance from it, and index of the centred points."""
        from sklearn.neighbors import NearestNeighbors

        centre = np.asarray(self._points.mean(axis=0))
        centred = self._points - centre
        reach = float((centred**2).sum(axis=1).max())
        return centre, reach, NearestNeighbors(algorithm="brute").fit(centred)

    def distances(self, X: Array) -> Array:
        """Return the distances from each row of X to all training points, shape (m, n)."""
        return euclidean_distances(in_form_of(X, self._points), self._points)

    def between(self, indices: Indices) -> Array:
        """Return the distances from the given training points to all, shape (len(indices), n)."""
        return self.distances(self._points[indices])


class GramNeighbors:
    """Neighbours by feature space distance, sqrt(2 (k(x, x) - k(x, x_i))) if all k(x, x) are equal.

    `points` holds the row numbers of the training points, shape (n, 1).
    """

    def __init__(self, kernel: Precomputed, points: Array) -> None:
        self._kernel = kernel
        self._points = points
        diagonal = kernel._diagonal(points)
        self._level = float(diagonal.mean())
        if not np.allclose(diagonal, self._level, rtol=1e-6, atol=0.0):  # of float32 values
            raise ValueError(
                "expected a precomputed Gram matrix with equal diagonal entries, got entries from "
                f"{diagonal.min():.9g} to {diagonal.max():.9g}: neighbours are undefined; use "
                "extension='none', or normalise the Gram matrix"
            )

    def __len__(self) -> int:
        return len(self._points)

    def pool(self, values: Array) -> Array:
        """Return `values` unchanged, as duplicates are unknown."""
        return values

    def query(self, X: Array, k: int) -> tuple[Array, Indices]:
        """Return distances and indices of the k nearest points, nearest first, shape (m, k)."""
        to_all = self.distances(X)
        indices = _smallest(to_all, k)
        return np.maximum(np.take_along_axis(to_all, indices, axis=1), 0.0), indices

    def distances(self, X: Array) -> Array:
        """Return the distances from each row of X to all training points, shape (m, n).

        A training point has distance -1 to itself, so it precedes its duplicates.
        """
        squared = 2.0 * (self._level - self._kernel._gram(X, self._points))
        squared[squared < 1e-12 * self._level] = 0.0
        distances = np.sqrt(squared)
        if X.shape[1] == 1:
            distances[X == self._points.T] = -1.0
        return distances

    def between(self, indices: Indices) -> Array:
        """Return the distances from the given training points to all, shape (len(indices), n)."""
        return self.distances(self._points[indices])


Neighbors: TypeAlias = CoordinateNeighbors | GramNeighbors
"""Nearest neighbour search among training points."""


def nearest(neighbors: Neighbors, X: Array) -> Indices:
    """Return the nearest training point to each row of X, shape (m,)."""
    return neighbors.query(X, 1)[1][:, 0]


def reciprocal(neighbors: Neighbors, X: Array) -> Indices:
    """Return the reciprocal nearest training point to each row of X, shape (m,).

    It minimises the product r s; ties go to the nearer point. As the s-th neighbour has r s >= s,
    an inlier needs only a few neighbours, which are queried in growing batches. An outlier needs
    the ranks of all training points.
    """
    best = np.full(X.shape[0], -1, dtype=np.intp)
    product = np.full(len(best), np.inf)
    pending = np.arange(len(best))
    seen, k = 0, 1
    while pending.size and seen < len(neighbors):
        distances, indices = neighbors.query(X[pending], min(k, len(neighbors)))
        for s in range(seen, indices.shape[1]):
            products = (s + 1) * _rank(neighbors, indices[:, s], distances[:, s])
            better = products < product[pending]
            product[pending[better]] = products[better]
            best[pending[better]] = indices[better, s]
        seen, k = indices.shape[1], 4 * k
        pending = pending[product[pending] > seen + 1]
        if (product[pending] - seen).sum() > len(neighbors):  # computing all ranks is cheaper
            best[pending] = _reciprocal_from_ranks(neighbors, X[pending])
            break
    return best


def _rank(neighbors: Neighbors, indices: Indices, radii: Array) -> Indices:
    """Return 1 + the number of other training points within the radius of each x_i."""
    ranks = np.ones(len(indices), dtype=np.intp)
    for part in row_parts(np.flatnonzero(radii), len(neighbors)):
        nearer = neighbors.between(indices[part]) < radii[part, None]
        nearer[np.arange(part.size), indices[part]] = False
        ranks[part] += nearer.sum(axis=1)
    return ranks


def _reciprocal_from_ranks(neighbors: Neighbors, X: Array) -> Indices:
    """Compute `reciprocal` from all ranks in O(n^2 log n + m n log n)."""
    best = np.empty(X.shape[0], dtype=np.intp)
    for part in row_parts(np.arange(len(best)), len(neighbors)):
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
        place = product.argmin(axis=1)
        best[part] = np.take_along_axis(order, place[:, None], axis=1)[:, 0]
    return best


def smooth(neighbors: Neighbors, X: Array, pooled: Array, k: int) -> Array:
    """Return the inverse-distance-weighted mean of `pooled` (see `pool`) over k neighbours."""
    distances, indices = neighbors.query(X, min(k, len(neighbors)))
    coincident = distances == 0.0
    weights = np.where(coincident.any(axis=1, keepdims=True), coincident, 1.0 / distances)
    weights = weights / weights.sum(axis=1, keepdims=True)
    return np.asarray((weights * pooled[indices]).sum(axis=1))


def _smallest(distances: Array, k: int) -> Indices:
    """Return the columns of each row's k smallest entries, ties in column order, shape (m, k)."""
    bound = np.partition(distances, k - 1, axis=1)[:, k - 1, None]
    rows, columns = np.nonzero(distances <= bound)
    order = np.lexsort((distances[rows, columns], rows))  # stable
    first = np.searchsorted(rows, np.arange(len(distances)))
    return np.asarray(columns[order[first[:, None] + np.arange(k)]])


def row_parts(rows: Indices, n: int, entries: int = 10_000_000) -> Iterator[Indices]:
    """Yield `rows` in parts with at most `entries` distances to n points each."""
    return (rows[block] for block in row_blocks(rows.size, n, entries))
