"""Kernels that are linear in a positive semi-definite matrix: the generalised kernels.

    k_P(x, y) = Int N(z, x)' P N(z, y) dz,    P = F F' positive semi-definite

(Lemma 5 of Talitckii, Colbert and Peet). The basis N tells the family, P the member. With
G_ij(x, y) = Int N_i(z, x) N_j(z, y) dz, k_P = sum_ij P_ij G_ij, and what a learner of P needs is

    D(w)_ij = sum_kl w_k w_l G_ij(x_k, x_l),    so that    w' K_P w = <D(w), P>.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import Any, Self, TypeAlias

import numpy as np
import numpy.typing as npt
from sklearn.base import clone

from pliant.core.kernels.base import Kernel
from pliant.core.typing import Array
from pliant.core.validation import check_points, check_vector

__all__ = ["GeneralizedKernel"]

TILE = 512
"""Points on each side of the pieces in which a Gram matrix is made."""

FEW = 16
"""Points in a piece of which only the diagonal is wanted."""

Side: TypeAlias = tuple[Array, ...]
"""What a kernel needs to know of some points: arrays with one entry per point."""


class GeneralizedKernel(Kernel):
    """k_P of the module's first lines; a subclass says which N.

    Attributes
    ----------
    factor : array of shape (n_P, r) or None
        F, with P = F F'. None is P = I.
    """

    factor: Any

    @abstractmethod
    def shape_size(self, n_features: int) -> int:
        """Return n_P, the order of P, for points of this many features."""

    def shape_size_on(self, X: Array) -> int:
        """Return n_P for points like the rows of X."""
        return self.shape_size(X.shape[1])

    @abstractmethod
    def _side(self, X: Array) -> Side:
        """Return what `_tile` reads of the points X."""

    @abstractmethod
    def _tile(self, left: Side, right: Side) -> Array:
        """Return k between two sets of points, float64."""

    @abstractmethod
    def _quadratic(self, X: Array, weights: Array) -> Array:
        """Return D(w) on checked points."""

    def with_factor(self, factor: Array | None) -> Self:
        """Return the member of the same family with P = factor factor'."""
        member: Self = clone(self).set_params(factor=factor)
        return member

    def shape_factor(self, n_features: int) -> Array:
        """Return F, shape (n_P, r); the identity if it was not given.

        Raises
        ------
        ValueError
            If its shape does not fit the family.
        """
        size = self.shape_size(n_features)
        if self.factor is None:
            return np.eye(size)
        factor = check_points(self.factor, "factor")
        if len(factor) != size:
            raise ValueError(
                f"expected a factor of shape ({size}, r) for {n_features} features, "
                f"got {factor.shape}"
            )
        return factor

    def shape_matrix(self, n_features: int) -> Array:
        """Return P, shape (n_P, n_P)."""
        factor = self.shape_factor(n_features)
        return factor @ factor.T

    def gram(self, X: npt.ArrayLike, dtype: npt.DTypeLike = np.float64) -> Array:
        """Return k between all rows of X, exactly symmetric, in a chosen precision.

        Made in tiles, in float64, of which one half is computed; no other array of its size
        is needed.

        Parameters
        ----------
        X : array-like of shape (m, d)
        dtype : dtype
            float32 halves the memory, with an error of about 1e-7.
        """
        X = check_points(X, "X")
        side = self._side(X)
        gram = np.empty((len(X), len(X)), dtype=dtype)
        for rows in _slices(len(X)):
            for columns in _slices(rows.stop):
                tile = self._tile(_part(side, rows), _part(side, columns))
                if rows == columns:
                    tile = 0.5 * (tile + tile.T)  # exactly symmetric
                else:
                    gram[columns, rows] = tile.T
                gram[rows, columns] = tile
        return gram

    def quadratic(self, X: npt.ArrayLike, weights: npt.ArrayLike) -> Array:
        """Return D(w), shape (n_P, n_P), symmetric PSD; points of zero weight are not read.

        Parameters
        ----------
        X : array-like of shape (m, d)
        weights : array-like of shape (m,)
            w, of any sign.
        """
        X = check_points(X, "X")
        w = check_vector("weights", weights, len(X))
        used = np.flatnonzero(w)
        if used.size == 0:
            return np.zeros((self.shape_size_on(X),) * 2)
        matrix = self._quadratic(X[used], w[used])
        return 0.5 * (matrix + matrix.T)

    def _gram(self, X: Array, Y: Array) -> Array:
        return self.gram(X) if Y is X else self._between(self._side(X), self._side(Y))

    def _between(self, left: Side, right: Side) -> Array:
        gram = np.empty((len(left[0]), len(right[0])))
        for rows in _slices(len(gram)):
            for columns in _slices(gram.shape[1]):
                gram[rows, columns] = self._tile(_part(left, rows), _part(right, columns))
        return gram

    def _diagonal(self, X: Array) -> Array:
        side = self._side(X)
        pieces = [_part(side, rows) for rows in _slices(len(X), FEW)]
        return np.concatenate([self._tile(piece, piece).diagonal() for piece in pieces])

    def on(self, X: Array) -> KernelOnPoints:
        """Return this kernel, prepared for many calls with the same points X (checked ones)."""
        return KernelOnPoints(self, X)

    def _check_loaded(self) -> None:
        super()._check_loaded()
        if self.factor is not None:
            check_points(self.factor, "factor")


class Translated(GeneralizedKernel):
    """k(x, y) - k(x, c) - k(c, y) + k(c, c): the kernel with its origin moved to a point.

    Weights that sum to zero see no difference, but numbers are smaller, and rounding them costs
    less.

    Parameters
    ----------
    kernel : GeneralizedKernel
    centre : array of shape (1, d)
        c.
    """

    def __init__(self, kernel: GeneralizedKernel, centre: Array) -> None:
        self.kernel = kernel
        self.centre = centre

    def shape_size(self, n_features: int) -> int:
        """Return n_P of the kernel."""
        return self.kernel.shape_size(n_features)

    def _side(self, X: Array) -> Side:
        side, at_centre = self.kernel._side(X), self.kernel._side(self.centre)
        own = self.kernel._tile(at_centre, at_centre)[0, 0]
        return (self.kernel._between(side, at_centre)[:, 0] - 0.5 * own, *side)

    def _tile(self, left: Side, right: Side) -> Array:
        tile = self.kernel._tile(left[1:], right[1:])
        tile -= left[0][:, None]
        tile -= right[0]
        return tile

    def _quadratic(self, X: Array, weights: Array) -> Array:
        return self.kernel._quadratic(X, weights)


class KernelOnPoints:
    """A generalised kernel that knows what it needs of some points.

    Parameters
    ----------
    kernel : GeneralizedKernel
    X : array of shape (m, d)
        The points; recognised by their identity when they come as second argument.
    """

    symmetric = True

    def __init__(self, kernel: GeneralizedKernel, X: Array) -> None:
        self.kernel = kernel
        self.X = X
        self._side = kernel._side(X)

    def __repr__(self) -> str:
        return repr(self.kernel)

    def __call__(self, X: Array, Y: Array, /) -> Array:
        """Return k between each row of X and each row of Y."""
        right = self._side if Y is self.X else self.kernel._side(Y)
        return self.kernel._between(self.kernel._side(X), right)

    def diag(self, X: Array, /) -> Array:
        """Return k(x, x) for each row of X."""
        return self.kernel.diag(X)


def _slices(count: int, step: int = TILE) -> Iterator[slice]:
    """Cut range(count) into slices."""
    for low in range(0, count, step):
        yield slice(low, min(low + step, count))


def _part(side: Side, rows: slice) -> Side:
    return tuple(array[rows] for array in side)
