"""The graph of nearest neighbours, and the smoothest functions on it.

    A_ij = 1 if x_i is one of the k nearest neighbours of x_j, or x_j one of those of x_i, else 0
    D = diag(A 1),   L = I - D^{-1/2} A D^{-1/2},   L v_i = lambda_i v_i,   0 <= lambda_i <= 2

L is the normalised Laplacian. Its null space is known: for each connected component c the vector
D^{1/2} 1_c. The other eigenvectors are those of I - L with the null vectors moved from 1 to -2,
out of the way, so that none of them is mixed into the others.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

import numpy as np
import scipy.linalg
import scipy.sparse
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import ArpackError, LinearOperator, eigsh
from scipy.spatial.distance import cdist

from pliant.core.typing import Array, Indices, Mask

__all__ = ["NeighborGraph", "SmoothVectors", "links"]

SMALL = 500
"""Components of up to so many points are decomposed by LAPACK at once."""

FEW = 0.1
"""Lanczos iterations are left where more than this share of the eigenvectors is wanted."""

BLOCK = 1_000_000
"""Distances that are held at once."""


class SmoothVectors(NamedTuple):
    """Eigenvalues of L, rising, (r,), their orthonormal vectors, (m, r); the null ones come first.

    `n_null`: how many of them span the null space of L, or a part of it.
    """

    values: Array
    vectors: Array
    n_null: int


class NeighborGraph:
    """The graph of the module's first lines, with every component of at least k + 1 points.

    Of equally near points the first ones are taken. Time O(m^2 d), memory O(m k).

    Parameters
    ----------
    points : array of shape (m, d)
        Distinct, m > k.
    n_neighbors : int
        k >= 1.

    Attributes
    ----------
    weights : sparse array of shape (m, m)
        A.
    degrees : array of shape (m,)
        D_ii, at least k.
    radii : array of shape (m,)
        The distance of each point to its k-th neighbour.
    components : array of shape (m,)
        The number of the connected component of each point.

    Raises
    ------
    ValueError
        If a distance is not a finite number.
    """

    def __init__(self, points: Array, n_neighbors: int) -> None:
        self.points = points
        self.weights, self.radii = _connect(points, n_neighbors)
        self.degrees: Array = np.asarray(self.weights.sum(axis=1), dtype=np.float64)
        labels = connected_components(self.weights, directed=False)[1]
        self.components: Indices = labels.astype(np.intp)

    @property
    def n_components(self) -> int:
        """The number of connected components, which is the dimension of the null space of L."""
        return int(self.components.max()) + 1

    @cached_property
    def similarity(self) -> scipy.sparse.csr_array:
        """I - L = D^{-1/2} A D^{-1/2}, sparse, shape (m, m)."""
        scale = scipy.sparse.diags_array(1.0 / np.sqrt(self.degrees))
        return scipy.sparse.csr_array(scale @ self.weights @ scale)

    def null_vectors(self, count: int) -> Array:
        """Return D^{1/2} 1_c / |D^{1/2} 1_c| for `count` components c, most edges first."""
        volumes = np.bincount(self.components, weights=self.degrees)
        largest = np.argsort(-volumes, kind="stable")[:count]
        mine = self.components[:, None] == largest
        return np.sqrt(mine * self.degrees[:, None] / volumes[largest])

    def smoothest(self, n_vectors: int, *, drop_null: bool) -> SmoothVectors:
        """Return at most `n_vectors` of the smallest eigenvalues of L and their vectors.

        Parameters
        ----------
        n_vectors : int
            >= 1.
        drop_null : bool
            Whether the null space is left out.
        """
        n_null = 0 if drop_null else min(n_vectors, self.n_components)
        r = min(n_vectors - n_null, len(self.degrees) - self.n_components)
        values, vectors = self._above_null(r)
        all_values = np.concatenate([np.zeros(n_null), values])
        return SmoothVectors(all_values, np.hstack([self.null_vectors(n_null), vectors]), n_null)

    def _above_null(self, r: int) -> tuple[Array, Array]:
        """Return the r smallest eigenvalues of L outside its null space, rising, and vectors.

        They are found in each component by itself: components that look alike have equal
        eigenvalues, of which Lanczos iterations over all of them would miss some.
        """
        rows = [np.flatnonzero(self.components == c) for c in range(self.n_components)]
        parts = [self._of_component(each, min(r, len(each) - 1)) for each in rows]
        every = np.concatenate([values for values, _ in parts])
        chosen = np.argsort(every, kind="stable")[:r]
        vectors, first = np.zeros((len(self.degrees), r)), 0
        for each, (values, own) in zip(rows, parts, strict=True):
            here = np.flatnonzero((chosen >= first) & (chosen < first + len(values)))
            vectors[np.ix_(each, here)] = own[:, chosen[here] - first]
            first += len(values)
        return every[chosen], vectors

    def _of_component(self, rows: Indices, r: int) -> tuple[Array, Array]:
        """Return the same within one component, its null vector left out."""
        if r == 0:
            return np.empty(0), np.empty((len(rows), 0))
        null = np.sqrt(self.degrees[rows] / self.degrees[rows].sum())
        similarity = self.similarity[rows][:, rows]
        few = len(rows) > SMALL and r <= FEW * len(rows)
        found = _by_lanczos(similarity, null, r) if few else None
        values, vectors = _by_lapack(similarity, null, r) if found is None else found
        order = np.argsort(-values, kind="stable")
        return np.clip(1.0 - values[order], 0.0, 2.0), vectors[:, order]


def _by_lapack(similarity: scipy.sparse.csr_array, null: Array, r: int) -> tuple[Array, Array]:
    """Return the r largest eigenvalues of a matrix >= -1 but for its null vector, and vectors."""
    m = len(null)
    matrix = similarity.toarray() - 3.0 * np.outer(null, null)
    return scipy.linalg.eigh(matrix, subset_by_index=(m - r, m - 1), overwrite_a=True)


def _by_lanczos(
    similarity: scipy.sparse.csr_array, null: Array, r: int
) -> tuple[Array, Array] | None:
    """Return the same by Lanczos iterations, or None if they do not settle."""
    m = len(null)

    def times(b: Array) -> Array:
        return np.asarray(similarity @ b - 3.0 * (null @ b) * null)

    operator = LinearOperator((m, m), matvec=times, dtype=np.float64)
    start = np.random.RandomState(0).standard_normal(m)
    try:
        return eigsh(operator, r, which="LA", v0=start)
    except ArpackError:
        return None


def _connect(points: Array, k: int) -> tuple[scipy.sparse.csr_array, Array]:
    """Return A and the distance of each point to its k-th neighbour."""
    m = len(points)
    columns, radii = [], []
    for rows in _parts(m, m):
        distances = cdist(points[rows], points)
        distances[np.arange(len(rows)), rows] = np.inf
        near, radius = _nearest(distances, k)
        columns.append(np.nonzero(near)[1])
        radii.append(radius)
    radius = np.concatenate(radii)
    if not np.isfinite(radius).all():
        raise ValueError("expected finite distances between points, got inf; scale the features")
    places = (np.repeat(np.arange(m), k), np.concatenate(columns))
    directed = scipy.sparse.csr_array((np.ones(m * k), places), shape=(m, m))
    return directed.maximum(directed.T), radius


def _nearest(distances: Array, k: int) -> tuple[Mask, Array]:
    """Return where the k smallest entries of each row are, first ones of equals, and the k-th."""
    radius = np.partition(distances, k - 1, axis=1)[:, k - 1]
    near, level = distances < radius[:, None], distances == radius[:, None]
    room = k - near.sum(axis=1)
    return near | (level & (level.cumsum(axis=1) <= room[:, None])), radius


def links(X: Array, points: Array, radii: Array, n_neighbors: int) -> Mask:
    """Return to which points of the graph each new point would be linked, shape (n, m).

    To its k nearest, and to those that it is nearer to than their k-th neighbour: what the graph
    itself does. The graph stays as it is, and the new points do not see each other.

    Parameters
    ----------
    X : array of shape (n, d)
        New points.
    points, radii : arrays of shape (m, d) and (m,)
        Of a `NeighborGraph`.
    n_neighbors : int
        k.
    """
    distances = cdist(X, points)
    return np.asarray(_nearest(distances, n_neighbors)[0] | (distances < radii))


def _parts(n: int, m: int) -> Iterator[Indices]:
    """Yield the numbers of n rows in parts whose distances to m points fit into memory."""
    step = max(1, BLOCK // m)
    return (np.arange(low, min(low + step, n)) for low in range(0, n, step))
