"""Kernels of the inner product of two points."""

from __future__ import annotations

import numpy as np

from pliant.core.kernels.base import Kernel, positive
from pliant.core.typing import Array
from pliant.core.validation import check_integer, check_real

__all__ = ["Linear", "Polynomial"]


class Linear(Kernel):
    """k(x, y) = x'y."""

    def _gram(self, X: Array, Y: Array) -> Array:
        return X @ Y.T

    def _diagonal(self, X: Array) -> Array:
        return np.einsum("ij,ij->i", X, X)


class Polynomial(Kernel):
    """k(x, y) = (gamma x'y + coef0)^degree.

    Parameters
    ----------
    degree : int
        >= 1.
    gamma : float
        > 0.
    coef0 : float
        >= 0, so that the kernel is PSD.
    """

    def __init__(self, degree: int = 3, gamma: float = 1.0, coef0: float = 1.0) -> None:
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0

    def _gram(self, X: Array, Y: Array) -> Array:
        return self._power(X @ Y.T)

    def _diagonal(self, X: Array) -> Array:
        return self._power(np.einsum("ij,ij->i", X, X))

    def _power(self, inner: Array) -> Array:
        """Turn inner products into kernel values, in place."""
        degree = check_integer("Polynomial(degree=...)", self.degree, least=1)
        coef0 = check_real("Polynomial(coef0=...)", self.coef0, least=0)
        inner *= positive(self, "gamma")
        inner += coef0
        inner **= degree
        return inner
