"""The closed forms of the adaptive matrix F; see `pliant.methods.dank.kernel`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, TypeAlias

import numpy as np

from pliant.core.typing import Array
from pliant.methods.dank.problem import Spectrum


@dataclass(frozen=True)
class QuarticForm:
    """F = 11' + c A."""

    c: float
    rank: ClassVar[None] = None

    def weights(self, beta: Array) -> Array:
        """Return nothing, shape (s, 0)."""
        return np.empty((len(beta), 0))

    def profile(self, _b: Array, products: Array) -> Array:
        """Return nothing: the points need no profile."""
        return products

    def change(self, learned: Array, _left: Array, _right: Array) -> Array:
        """Return c a(x, y)."""
        learned *= self.c
        return learned

    def change_of_each(self, learned: Array, _profile: Array) -> Array:
        """Return c a(x, x)."""
        return self.c * learned


@dataclass(frozen=True)
class CentredForm:
    """F = 11' + c P A P, with `n` training points and `mean` the mean entry of A."""

    c: float
    n: int
    mean: float
    rank: ClassVar[None] = None

    def weights(self, beta: Array) -> Array:
        """Return beta."""
        return beta[:, None]

    def profile(self, b: Array, products: Array) -> Array:
        """Return m(x), the mean of a(x, x_i) over the training points."""
        return b[:, None] * products / self.n

    def change(self, learned: Array, left: Array, right: Array) -> Array:
        """Return c (a(x, y) - m(x) - m(y) + mean)."""
        learned -= left - self.mean
        learned -= right.T
        learned *= self.c
        return learned

    def change_of_each(self, learned: Array, profile: Array) -> Array:
        """Return the same for y = x."""
        return self.c * (learned - 2.0 * profile[:, 0] + self.mean)


@dataclass(frozen=True, eq=False)
class ThresholdForm:
    """F = (11' + c A - (tau/2) I)_+, from the spectrum of 11' + c A."""

    c: float
    tau: float
    spectrum: Spectrum

    @property
    def rank(self) -> int:
        """The rank of F."""
        return len(self.spectrum.values)

    def weights(self, beta: Array) -> Array:
        """Return diag(beta) U, shape (s, r)."""
        return np.asarray(beta[:, None] * self.spectrum.support)

    def profile(self, b: Array, products: Array) -> Array:
        """Return p(x), with F(x, y) = p(x)'p(y)."""
        values = self.spectrum.values
        rows = (self.c * b)[:, None] * products
        rows += self.spectrum.sums  # in place: where r is large, this is the largest array
        rows *= np.sqrt(values - 0.5 * self.tau) / values
        return np.asarray(rows)

    def change(self, _learned: Array, left: Array, right: Array) -> Array:
        """Return p(x)'p(y) - 1."""
        return left @ right.T - 1.0

    def change_of_each(self, _learned: Array, profile: Array) -> Array:
        """Return p(x)'p(x) - 1."""
        return np.asarray((profile**2).sum(axis=1) - 1.0)


Form: TypeAlias = QuarticForm | CentredForm | ThresholdForm
"""One of the closed forms, for given beta, c and tau.

`weights` returns W, shape (s, q), from beta at the s support points. `profile` returns the profiles
of m points, shape (m, q), from b(x), shape (m,), and the products k(x, X) W, shape (m, q).
`change` returns F - 1 between points, shape (m, k), from their profiles and a(x, y), which it
overwrites; `change_of_each` F(x, x) - 1, shape (m,), from a(x, x). `rank` is the rank of F, where
it is known.
"""
