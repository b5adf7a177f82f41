"""The kernel that a LogDet problem learns: the base kernel, corrected on some of the points."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from pliant.core.kernels.base import Kernel, check_width
from pliant.core.linalg import negative_eigenvalue
from pliant.core.typing import Array
from pliant.core.validation import check_gram, check_points

__all__ = ["LogDetKernel"]


class LogDetKernel(Kernel):
    """k(x, y) = k0(x, y) + k0(x, P) Q k0(P, y) for the points P.

    A kernel matrix K that minimises a LogDet divergence from K0 = k0(P, P) extends to new points
    in this way with Q = K0^{-1} (K - K0) K0^{-1}, which has closed forms without inverses.

    Parameters
    ----------
    base : Kernel
        k0.
    points : array of shape (a, d)
        P.
    matrix : array of shape (a, a)
        Q, symmetric.

    References
    ----------
    Pan, Chen, Chen, Xu: Efficient learning of supervised kernels with a graph-based loss
    function, Eqs. 6 and 32.
    """

    def __init__(self, base: Kernel, points: npt.ArrayLike, matrix: npt.ArrayLike) -> None:
        self.base = base
        self.points = points
        self.matrix = matrix

    @property
    def symmetric(self) -> bool:  # type: ignore[override]
        """Whether the base kernel is symmetric."""
        return self.base.symmetric

    @property
    def psd(self) -> bool:  # type: ignore[override]
        """Whether the base kernel is PSD and stays so on the points: one factorisation."""
        if not self.base.psd:
            return False
        gram = self(np.asarray(self.points))
        return negative_eigenvalue(0.5 * (gram + gram.T)) is None

    def _check_loaded(self) -> None:
        """Raise ValueError if the parameters, read from a file, do not belong together."""
        super()._check_loaded()
        points = check_points(self.points, "points")
        matrix = check_gram(check_points(self.matrix, "matrix"))
        if len(matrix) != len(points):
            raise ValueError(f"expected a matrix for {len(points)} points, got {len(matrix)} rows")

    def _check_pair(self, X: Array, Y: Array) -> None:
        self.base._check_pair(X, Y)

    def _sides(self, X: Array) -> tuple[Array, Array]:
        """Return P and Q; say if points have other features than P."""
        points = check_points(self.points, "points")
        check_width(self.base, points, X)
        return points, check_points(self.matrix, "matrix")

    def _gram(self, X: Array, Y: Array) -> Array:
        points, matrix = self._sides(X)
        left = self.base._gram(X, points)
        right = left if Y is X else self.base._gram(Y, points)
        return self.base._gram(X, Y) + (left @ matrix) @ right.T

    def _diagonal(self, X: Array) -> Array:
        points, matrix = self._sides(X)
        cross = self.base._gram(X, points)
        return self.base._diagonal(X) + np.einsum("ij,ij->i", cross @ matrix, cross)
