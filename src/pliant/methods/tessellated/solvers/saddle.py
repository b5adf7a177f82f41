"""A kernel-learning saddle point as its solvers see it, and the proof that they return."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from pliant.core.typing import Array

__all__ = ["Bound", "Dual", "Oracle", "Saddle", "SaddleProblem", "blended", "factor_of"]


class Bound(Protocol):
    """What a machine certifies of w: its value, its gap, b, and K_P w + b."""

    @property
    def value(self) -> float:
        """The objective at w."""

    @property
    def gap(self) -> float:
        """Upper bound minus lower bound."""

    @property
    def intercept(self) -> float:
        """The intercept b."""

    @property
    def decision(self) -> Array:
        """K_P w + b, shape (n,)."""


class Oracle(Protocol):
    """What w tells of P: D(w), its largest eigenvalues and their vectors, and a lower bound."""

    @property
    def matrix(self) -> Array:
        """D(w), shape (n_P, n_P)."""

    @property
    def vectors(self) -> Array:
        """Eigenvectors of D(w), in columns."""

    @property
    def values(self) -> Array:
        """Their eigenvalues."""

    @property
    def lower(self) -> float:
        """Lower bound of the saddle value."""


class Dual(Protocol):
    """A support vector machine at some P."""

    @property
    def linear(self) -> Array:
        """The linear part of the gain, shape (n,)."""

    def gain(self, w: Array, /) -> float:
        """Return the part of the dual objective that does not depend on the kernel."""

    def bound(self, w: Array, value: float, f: Array, /) -> Bound:
        """Return what is certified at w."""


class SaddleProblem(Protocol):
    """What a problem must offer; `pliant.methods.tessellated.problem` tells the letters."""

    @property
    def size(self) -> int:
        """n_P."""

    def scaled(self, factor: Array) -> Array:
        """Return the multiple of a factor of P for which tr P = n_P."""

    def gram(self, factor: Array) -> Array:
        """Return K_P."""

    def dual(self, gram: Array) -> Dual:
        """Return the machine with this Gram matrix."""

    def machine(self, factor: Array) -> Dual:
        """Return the machine at P = factor factor', in bounded memory."""

    def smoothed(self, gram: Array, rho: float, centre: Array) -> Dual:
        """Return it with a proximal term; `gram` is overwritten."""

    def oracle(self, w: Array, gain: float, count: int = 1) -> Oracle:
        """Return D(w) and the best P for w."""

    def quadratic(self, w: Array) -> Array:
        """Return D(w)."""

    def lower_bound(self, matrix: Array, gain: float) -> float:
        """Return the bound that D(w) and kappa(w) give."""


@dataclass(frozen=True, eq=False)
class Saddle:
    """Proof of a gap, and the solution that reaches the upper bound.

    Attributes
    ----------
    upper, lower : float
        Bounds of the optimum: of the primal at (P, w, b), and of the dual at some other w.
    w : array of shape (m,)
        The coefficients.
    intercept : float
        b.
    """

    upper: float
    lower: float
    w: Array
    intercept: float

    @property
    def value(self) -> float:
        """The objective, from above."""
        return self.upper

    @property
    def gap(self) -> float:
        """What it may be too large by."""
        return max(0.0, self.upper - self.lower)


def factor_of(P: Array) -> Array:
    """Return F with F F' = P, without columns that rounding made."""
    values, vectors = np.linalg.eigh(P)
    kept = values > 1e-14 * values[-1]
    return np.asarray(vectors[:, kept] * np.sqrt(values[kept]))


def blended(factor: Array, share: float) -> Array:
    """Return a factor of (1 - share) P + share I, for tr P = n_P."""
    return np.hstack([np.sqrt(1.0 - share) * factor, np.sqrt(share) * np.eye(len(factor))])
