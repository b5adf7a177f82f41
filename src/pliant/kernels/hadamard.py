"""A base kernel times an adaptive matrix, entry by entry, with a rule for new points.

DANK with tau = 0 (Liu et al. 2020, problem (4)) learns F = 11' + A/(4 eta) with
A_ij = beta_i K_ij beta_j, for the pairs of training points. For any points,

    k_new(x, y) = k(x, y) F(x, y),    F(x, y) = 1 + b(x) k(x~, y~) b(y) / (4 eta),

where the rule (see `pliant.kernels.extension`) chooses b and x~: "smooth" has x~ = x and b an
interpolation of beta; "nearest" and "reciprocal" have x~ = x_i and b = beta_i for one training
point i; "none" has F = 1. Each F is PSD, and so is k_new if k is.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from pliant._typing import Array, Indices
from pliant._validation import check_choice, check_integer, check_points, check_real
from pliant.kernels.base import Kernel
from pliant.kernels.extension import (
    CoordinateNeighbors,
    GramNeighbors,
    Neighbors,
    nearest,
    reciprocal,
    smooth,
)
from pliant.kernels.precomputed import Precomputed

__all__ = ["EXTENSIONS", "AdaptiveMatrix", "HadamardKernel"]

EXTENSIONS = ("none", "nearest", "reciprocal", "smooth")
"""The rules for new points."""


class HadamardKernel(Kernel):
    """The kernel that DANK learns: k(x, y) F(x, y).

    Parameters
    ----------
    base : Kernel
        k, positive semi-definite.
    points : array of shape (n, d)
        The training points, float64.
    beta : array of shape (n,)
        Their signed dual coefficients.
    eta : float
        > 0, may be inf: the weight of |F - 11'|^2.
    extension : {"smooth", "nearest", "reciprocal", "none"}
        The rule for new points.
    n_neighbors : int
        >= 1, for "smooth".
    """

    def __init__(
        self,
        base: Kernel,
        points: Array,
        beta: Array,
        eta: float = np.inf,
        extension: str = "smooth",
        n_neighbors: int = 5,
    ) -> None:
        self.base = base
        self.points = points
        self.beta = beta
        self.eta = eta
        self.extension = extension
        self.n_neighbors = n_neighbors

    @property
    def psd(self) -> bool:  # type: ignore[override]
        """Whether the base kernel is positive semi-definite."""
        return self.base.psd

    @property
    def quartic(self) -> float:
        """The factor c = 1/(4 eta) of the learned part."""
        return 1.0 / (4.0 * check_real("eta", self.eta, above=0, infinite=True))

    @property
    def _rule(self) -> str:
        """The rule for new points; "none" where nothing was learned."""
        rule = check_choice("extension", self.extension, EXTENSIONS)
        return "none" if self.quartic == 0.0 else rule

    def _check_pair(self, X: Array, Y: Array) -> None:
        self.base._check_pair(X, Y)

    def _gram(self, X: Array, Y: Array) -> Array:
        gram = self.base._gram(X, Y)
        if self._rule == "none":
            return gram
        learned: Array
        if self._rule == "smooth":
            left = self._smooth(X)
            learned = left[:, None] * gram * (left if Y is X else self._smooth(Y))
        else:
            place = self._place(X)
            learned = self._between(place, place if Y is X else self._place(Y))
        return gram * (1.0 + self.quartic * learned)

    def _diagonal(self, X: Array) -> Array:
        diagonal = self.base._diagonal(X)
        if self._rule == "none":
            return diagonal
        if self._rule == "smooth":
            return diagonal * (1.0 + self.quartic * self._smooth(X) ** 2 * diagonal)
        place = self._place(X)
        learned = self.beta[place] ** 2 * self.base._diagonal(self.points[place])
        return diagonal * (1.0 + self.quartic * learned)

    def adaptation(self) -> AdaptiveMatrix:
        """Return F on the training points."""
        return AdaptiveMatrix(self.base, self.points, self.beta, self.quartic)

    def _smooth(self, X: Array) -> Array:
        """Return b at each row of X, shape (m,)."""
        k = check_integer("n_neighbors", self.n_neighbors, least=1)
        return smooth(self._neighbors, X, self._pooled, k)

    def _place(self, X: Array) -> Indices:
        """Return the training point whose place each row of X takes, shape (m,)."""
        rule = nearest if self._rule == "nearest" else reciprocal
        return rule(self._neighbors, X)

    def _between(self, rows: Indices, columns: Indices) -> Array:
        """Return A_ij between training points that may occur many times."""
        left, row_of = np.unique(rows, return_inverse=True)
        right, column_of = np.unique(columns, return_inverse=True)
        gram = self.base._gram(self.points[left], self.points[right])
        learned = self.beta[left, None] * gram * self.beta[right]
        return learned[row_of[:, None], column_of]

    @cached_property
    def _neighbors(self) -> Neighbors:
        if isinstance(self.base, Precomputed):
            return GramNeighbors(self.base, self.points)
        return CoordinateNeighbors(self.points)

    def _check_loaded(self) -> None:
        """Raise ValueError if attributes, read from a file, do not belong together."""
        super()._check_loaded()
        points, beta = check_points(self.points, "points"), np.asarray(self.beta)
        if beta.shape != (len(points),) or beta.dtype != np.float64 or not np.isfinite(beta).all():
            raise ValueError(f"expected {len(points)} finite coefficients, got shape {beta.shape}")
        check_integer("n_neighbors", self.n_neighbors, least=1)
        check_choice("extension", self.extension, EXTENSIONS)
        self._forget(self.__dict__)

    @cached_property
    def _pooled(self) -> Array:
        return self._neighbors.pool(self.beta)

    def __setattr__(self, name: str, value: Any) -> None:
        """Forget what was made of the old value."""
        self._forget(self.__dict__)
        super().__setattr__(name, value)

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what can be made again."""
        state = dict(super().__getstate__())
        self._forget(state)
        return state

    @staticmethod
    def _forget(attributes: dict[str, Any]) -> None:
        attributes.pop("_neighbors", None)
        attributes.pop("_pooled", None)


class AdaptiveMatrix:
    """F = 11' + c A, with A_ij = beta_i K_ij beta_j, without forming it.

    Parameters
    ----------
    base : Kernel
        The base kernel.
    points : array of shape (n, d)
        The training points.
    beta : array of shape (n,)
        Their signed dual coefficients. Rows of zero beta are rows of ones.
    quartic : float
        c = 1/(4 eta).
    """

    def __init__(self, base: Kernel, points: Array, beta: Array, quartic: float) -> None:
        self._base = base
        self._points = points
        self._beta = beta
        self._quartic = quartic

    def __len__(self) -> int:
        """Return n."""
        return len(self._points)

    @property
    def shape(self) -> tuple[int, int]:
        """Return (n, n)."""
        return len(self), len(self)

    @cached_property
    def radius(self) -> float:
        """|F - 11'| in the Frobenius norm: how far the kernel was adapted."""
        return float(np.linalg.norm(self._learned(self._support, self._support)))

    @cached_property
    def rank(self) -> int:
        """The number of eigenvalues above 1e-12 times the largest; O(n_support^3)."""
        support = self._support
        others = len(self) - support.size
        core = np.empty((support.size + 1, support.size + 1))
        core[:-1, :-1] = 1.0 + self._learned(support, support)
        core[-1, :] = core[:, -1] = np.sqrt(others)  # the unit vector of ones over the others
        core[-1, -1] = others
        values = np.linalg.eigvalsh(core)
        return int((values > 1e-12 * values[-1]).sum())

    def columns(self, indices: Any) -> Array:
        """Return the columns `indices` (a number, a slice or an array), shape (n, m)."""
        chosen = np.atleast_1d(np.arange(len(self))[indices])
        return 1.0 + self._learned(np.arange(len(self)), chosen)

    def toarray(self) -> Array:
        """Return F, shape (n, n)."""
        return self.columns(slice(None))

    def _learned(self, rows: Indices, columns: Indices) -> Array:
        if not rows.size or not columns.size:
            return np.empty((rows.size, columns.size))
        gram = self._base._gram(self._points[rows], self._points[columns])
        return self._quartic * self._beta[rows, None] * gram * self._beta[columns]

    @property
    def _support(self) -> Indices:
        return np.flatnonzero(self._beta)
