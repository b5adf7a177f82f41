"""The kernel on eigenvectors of a neighbour graph: a spectral transform, with new points."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from pliant.core.kernels.base import Kernel
from pliant.core.kernels.extension import CoordinateNeighbors
from pliant.core.typing import Array, Indices
from pliant.core.validation import check_integer, check_points, check_vector
from pliant.methods.side_information.information.neighbors import links

__all__ = ["SpectralKernel"]

SMALLEST_GAIN = 0.1
"""Eigenvectors with 1 - lambda below it are zero at new points."""

BLOCK = 1_000_000
"""Distances that are held at once."""


class SpectralKernel(Kernel):
    r"""k(x, y) = sum_i mu_i v_i(x) v_i(y), for eigenvectors v_i of a neighbour graph's Laplacian.

    At a point of the graph, recognised bit for bit, v_i(x) is its entry. At a new point it is
    what the Laplacian's eigenvalue equation says (the Nystroem extension),

    .. math::

        v_i(x) = \frac{1}{1 - \lambda_i} \sum_j \frac{a(x, x_j)}{\sqrt{d(x) d_j}} v_i(x_j),
        \qquad d(x) = \sum_j a(x, x_j),

    where a(x, x_j) is 1 if x_j is one of the k nearest points of x, or x is nearer to x_j than
    the k-th neighbour of x_j, and 0 otherwise: so the graph itself is made. One new point does
    not change the value at another. As 1 - lambda_i nears zero, v_i changes sign from neighbour
    to neighbour and means nothing beyond its points; from 1 - lambda_i < 0.1 on, v_i(x) is zero
    at new points.

    Parameters
    ----------
    points : array of shape (m, d)
        The points of the graph, distinct.
    vectors : array of shape (m, r)
        v_i, one per column.
    eigenvalues : array of shape (r,)
        lambda_i.
    spectrum : array of shape (r,)
        mu_i >= 0.
    n_neighbors : int
        k, 1 <= k <= m.
    radii, degrees : arrays of shape (m,)
        Of each point of the graph: the distance of its k-th neighbour, and d_j > 0.
    """

    def __init__(
        self,
        points: npt.ArrayLike,
        vectors: npt.ArrayLike,
        eigenvalues: npt.ArrayLike,
        spectrum: npt.ArrayLike,
        n_neighbors: int,
        radii: npt.ArrayLike,
        degrees: npt.ArrayLike,
    ) -> None:
        self.points = points
        self.vectors = vectors
        self.eigenvalues = eigenvalues
        self.spectrum = spectrum
        self.n_neighbors = n_neighbors
        self.radii = radii
        self.degrees = degrees

    def eigenfunctions(self, X: npt.ArrayLike) -> Array:
        """Return v_i(x) for each row x of X, shape (n, r)."""
        points = check_points(self.points, "points")
        X = check_points(X, "X", n_features=points.shape[1])
        twins = CoordinateNeighbors(points).twins(X)
        values = check_points(self.vectors, "vectors")[twins]
        new = np.flatnonzero(twins < 0)
        for part in _parts(new, len(points)):
            values[part] = self._extended(X[part])
        return values

    def _extended(self, X: Array) -> Array:
        """Return v_i at new points."""
        points, degrees = check_points(self.points, "points"), np.asarray(self.degrees)
        linked = links(X, points, np.asarray(self.radii), self.n_neighbors)
        means = (linked / np.sqrt(degrees)) @ np.asarray(self.vectors)
        return np.asarray(means * self._gains() / np.sqrt(linked.sum(axis=1))[:, None])

    def _gains(self) -> Array:
        """Return 1/(1 - lambda_i), zero where it is left out."""
        similarity = 1.0 - np.asarray(self.eigenvalues, dtype=np.float64)
        kept = similarity >= SMALLEST_GAIN
        return np.divide(1.0, similarity, out=np.zeros_like(similarity), where=kept)

    def _features(self, X: Array) -> Array:
        return self.eigenfunctions(X) * np.sqrt(np.asarray(self.spectrum, dtype=np.float64))

    def _check_pair(self, X: Array, Y: Array) -> None:
        super()._check_pair(X, Y)
        check_points(X, "X", n_features=np.shape(self.points)[1])

    def _gram(self, X: Array, Y: Array) -> Array:
        left = self._features(X)
        return left @ (left if Y is X else self._features(Y)).T

    def _diagonal(self, X: Array) -> Array:
        features = self._features(X)
        return np.einsum("ij,ij->i", features, features)

    def _check_loaded(self) -> None:
        """Raise ValueError if the parameters, read from a file, do not belong together."""
        super()._check_loaded()
        m, vectors = len(check_points(self.points)), check_points(self.vectors, "vectors")
        if len(vectors) != m:
            raise ValueError(f"expected vectors for {m} points, got {len(vectors)} rows")
        check_vector("eigenvalues", self.eigenvalues, vectors.shape[1])
        if (check_vector("spectrum", self.spectrum, vectors.shape[1]) < 0).any():
            raise ValueError("expected spectrum >= 0, got a negative weight")
        check_vector("radii", self.radii, m)
        if not (check_vector("degrees", self.degrees, m) > 0).all():
            raise ValueError("expected degrees > 0")
        if check_integer("n_neighbors", self.n_neighbors, least=1) > m:
            raise ValueError(f"expected n_neighbors <= {m}, the points, got {self.n_neighbors}")


def _parts(rows: Indices, m: int) -> list[Indices]:
    step = max(1, BLOCK // m)
    return [rows[low : low + step] for low in range(0, len(rows), step)]
