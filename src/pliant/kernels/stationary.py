"""Kernels of the difference of two points.

All widths are given by one number, gamma; a Gaussian of standard deviation sigma has
gamma = 1/(2 sigma^2).
"""

from __future__ import annotations

import numpy as np
from scipy.spatial.distance import cdist

from pliant._typing import Array
from pliant.kernels.base import Kernel, positive

__all__ = ["TL1", "Gaussian", "Laplacian", "Matern"]


class _Stationary(Kernel):
    """k(x, x) = 1."""

    def _diagonal(self, X: Array) -> Array:
        return np.ones(len(X))


class Gaussian(_Stationary):
    """k(x, y) = exp(-gamma |x - y|^2).

    Parameters
    ----------
    gamma : float
        > 0; 1/(2 sigma^2).
    """

    def __init__(self, gamma: float = 1.0) -> None:
        self.gamma = gamma

    def _gram(self, X: Array, Y: Array) -> Array:
        gamma = positive(self, "gamma")
        gram = _squared_distances(X, Y, 1e-10 / gamma)
        gram *= -gamma
        return np.exp(gram, out=gram)


class Laplacian(_Stationary):
    """k(x, y) = exp(-gamma |x - y|_1).

    Parameters
    ----------
    gamma : float
        > 0.
    """

    def __init__(self, gamma: float = 1.0) -> None:
        self.gamma = gamma

    def _gram(self, X: Array, Y: Array) -> Array:
        gram = cdist(X, Y, "cityblock")
        gram *= -positive(self, "gamma")
        return np.exp(gram, out=gram)


class Matern(_Stationary):
    """The Matern kernel of smoothness nu, with r = sqrt(4 nu gamma) |x - y|.

    k = exp(-r) for nu = 1/2, (1 + r) exp(-r) for 3/2, (1 + r + r^2/3) exp(-r) for 5/2. For
    growing nu it tends to the Gaussian of the same gamma.

    Parameters
    ----------
    nu : {0.5, 1.5, 2.5}
        Smoothness: the functions of its space are nu - 1/2 times differentiable.
    gamma : float
        > 0.
    """

    def __init__(self, nu: float = 2.5, gamma: float = 1.0) -> None:
        self.nu = nu
        self.gamma = gamma

    def _gram(self, X: Array, Y: Array) -> Array:
        if self.nu not in (0.5, 1.5, 2.5):
            raise ValueError(f"expected Matern(nu=...) in [0.5, 1.5, 2.5], got {self.nu!r}")
        r = cdist(X, Y, "euclidean")
        r *= np.sqrt(4.0 * self.nu * positive(self, "gamma"))
        factor = self._factor(r)
        gram = np.exp(np.negative(r, out=r), out=r)
        gram *= factor
        return gram

    def _factor(self, r: Array) -> Array | float:
        """Return the polynomial in r that smooths exp(-r)."""
        if self.nu == 0.5:
            return 1.0
        return 1.0 + r if self.nu == 1.5 else 1.0 + r * (1.0 + r / 3.0)


class TL1(Kernel):
    """The truncated 1-norm kernel k(x, y) = max(rho - |x - y|_1, 0). Not PSD.

    Parameters
    ----------
    rho : float
        > 0; in the literature, 0.7 times the number of features on [0, 1].
    """

    psd = False

    def __init__(self, rho: float = 1.0) -> None:
        self.rho = rho

    def _gram(self, X: Array, Y: Array) -> Array:
        return np.maximum(positive(self, "rho") - cdist(X, Y, "cityblock"), 0.0)

    def _diagonal(self, X: Array) -> Array:
        return np.full(len(X), positive(self, "rho"))


def _squared_distances(X: Array, Y: Array, tol: float) -> Array:
    """Return |x - y|^2, shape (m, k), to an error of about `tol` or of rounding.

    That is |x|^2 - 2 x'y + |y|^2, unless points are so far out that too many digits cancel.
    """
    centre = Y.mean(axis=0)  # differences do not change; their rounding error shrinks
    left = X - centre
    right = left if X is Y else Y - centre
    sizes = [np.einsum("ij,ij->i", points, points) for points in (left, right)]
    largest = max(size.max(initial=0.0) for size in sizes)
    if not largest * np.finfo(np.float64).eps <= tol:
        return cdist(X, Y, "sqeuclidean")
    squares = left @ right.T
    squares *= -2.0
    squares += sizes[0][:, None]
    squares += sizes[1]
    np.maximum(squares, 0.0, out=squares)
    if X is Y:
        np.fill_diagonal(squares, 0.0)
    return squares
