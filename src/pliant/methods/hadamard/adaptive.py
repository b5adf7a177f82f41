"""Adaptive matrices in closed form: what a kernel is multiplied with, entry by entry.

Each rule minimises -1/2 beta'(F o K) beta + eta penalty(F) over PSD matrices F, with K the Gram
matrix of n training points, c = 1/(4 eta), A_ij = beta_i K_ij beta_j and P = I - 11'/n:

    quartic      |F - 11'|^2                  F = 11' + c A                        DANK, tau = 0
    threshold    |F - 11'|^2 + tau trace F    F = (11' + c A - (tau/2) I)_+        DANK, tau > 0
    centred      |F|^2,  F1 = n1              F = 11' + c P A P                    KNPL

(Liu et al. 2020, problem (4) and equation (9); Liu et al. 2018, problem (4)). Each extends to
any two points x, y through a function b with b(x_i) = beta_i, and stays PSD: with
a(x, y) = b(x) k(x, y) b(y), S = 11' + c A = U diag(l) U' above tau/2, and s = l - tau/2,

    quartic      F(x, y) = 1 + c a(x, y)
    threshold    F(x, y) = p(x)'p(y),  p(x) = (1' + c a(x, X)) U diag(sqrt(s)/l)
    centred      F(x, y) = 1 + c (a(x, y) - m(x) - m(y) + mean_i m(x_i)),  m(x) = mean_i a(x, x_i)

A point enters through its profile: nothing, p(x) or m(x), which need a(x, x_i) for the support
points only (where beta is not zero). F is never formed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from pliant.core.linalg import eigenpairs_above, none_above
from pliant.core.typing import Array, Indices

__all__ = ["Between", "CentredForm", "Form", "QuarticForm", "Spectrum", "ThresholdForm", "blocks"]

LEEWAY = 1e-6
"""An eigenvalue that is missed is at most this share above tau/2.

The objective is then too high by at most eta (LEEWAY tau/2)^2 each, which is below rounding.
"""

BLOCK_ENTRIES = 500_000
"""Entries of a matrix that are held at once where a sum over them is all that is needed."""


class Between(Protocol):
    """Kernel values between points that are known by their numbers."""

    def __call__(self, rows: Indices, columns: Indices) -> Array:
        """Return k between points, shape (len(rows), len(columns))."""


class Form(Protocol):
    """One of the closed forms, for given beta, c and tau."""

    def profile(self, learned: Array) -> Array:
        """Return the profiles of m points, shape (m, q), from a(x, x_i) at the support points."""

    def change(self, learned: Array, left: Array, right: Array) -> Array:
        """Return F - 1 between points, shape (m, k), from a(x, y) and their profiles."""

    def change_of_each(self, learned: Array, profile: Array) -> Array:
        """Return F(x, x) - 1 of each point, shape (m,), from a(x, x) and the profiles."""


@dataclass(frozen=True)
class QuarticForm:
    """F = 11' + c A."""

    c: float

    def profile(self, learned: Array) -> Array:
        """Return nothing: the points need no profile."""
        return np.empty((len(learned), 0))

    def change(self, learned: Array, _left: Array, _right: Array) -> Array:
        """Return c a(x, y)."""
        return self.c * learned

    def change_of_each(self, learned: Array, _profile: Array) -> Array:
        """Return c a(x, x)."""
        return self.c * learned


@dataclass(frozen=True)
class CentredForm:
    """F = 11' + c P A P, with `n` training points and `mean` the mean entry of A."""

    c: float
    n: int
    mean: float = 0.0

    def profile(self, learned: Array) -> Array:
        """Return m(x), the mean of a(x, x_i) over the training points."""
        return np.asarray(learned.sum(axis=1, keepdims=True) / self.n)

    def change(self, learned: Array, left: Array, right: Array) -> Array:
        """Return c (a(x, y) - m(x) - m(y) + mean)."""
        return self.c * (learned - left - right.T + self.mean)

    def change_of_each(self, learned: Array, profile: Array) -> Array:
        """Return the same for y = x."""
        return self.c * (learned - 2.0 * profile[:, 0] + self.mean)


class Spectrum(NamedTuple):
    """The eigenpairs above tau/2 of S = 11' + c A, for n points of which some are support points.

    Attributes
    ----------
    values : array of shape (r,)
        Falling.
    support : array of shape (s, r)
        The rows of the eigenvectors at the support points.
    others : array of shape (r,)
        The row that all other points share.
    n : int
        The number of points.
    complete : bool
        Whether it is certain that none above (1 + LEEWAY) tau/2 is missing.
    """

    values: Array
    support: Array
    others: Array
    n: int
    complete: bool

    @property
    def sums(self) -> Array:
        """The sum of each eigenvector, 1'U."""
        total: Array = self.support.sum(axis=0) + (self.n - len(self.support)) * self.others
        return total

    @classmethod
    def of(
        cls,
        between: Between,
        support: Indices,
        beta: Array,
        c: float,
        tau: float,
        n: int,
        *,
        guess: int = 8,
        certain: bool = True,
    ) -> Spectrum:
        """Return the spectrum of S, for n points.

        Parameters
        ----------
        between : callable
            between(rows, columns) returns k between points given by their numbers.
        support : array of shape (s,)
            The numbers of the support points.
        beta : array of shape (s,)
            Their coefficients.
        c, tau : float
        n : int
        guess : int
            About how many eigenvalues there are.
        certain : bool
            Whether to make sure that none above (1 + LEEWAY) tau/2 is missing.
        """

        def core() -> Array:
            return _core(between, support, beta, c, n)

        found = eigenpairs_above(core(), 0.5 * tau, guess)
        limit, known = (1.0 + LEEWAY) * 0.5 * tau, found.complete or not certain
        if not known and not none_above(core(), limit, found.values, found.vectors):
            found = eigenpairs_above(core(), 0.5 * tau, guess=n)
        others = found.vectors[-1] / np.sqrt(max(n - len(support), 1))
        return cls(found.values, found.vectors[:-1], others, n, found.complete or certain)

    def excess(self, image: Array) -> float:
        """Return the largest eigenvalue less n, without cancellation.

        With e = 1/sqrt(n), w the eigenvector of the largest eigenvalue l of S = n ee' + cA, and
        `image` = cAw at the support points (zero elsewhere), the part of w across e is
        p = P cAw/l, and l - n = c w'Aw - n |p|^2.
        """
        n, mean = self.n, image.sum() / self.n
        top = self.values[0]
        across = (((image - mean) / top) ** 2).sum() + (n - len(image)) * (mean / top) ** 2
        return float(self.support[:, 0] @ image - n * across)


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

    def profile(self, learned: Array) -> Array:
        """Return p(x), with F(x, y) = p(x)'p(y)."""
        values = self.spectrum.values
        rows = self.spectrum.sums + self.c * learned @ self.spectrum.support
        return np.asarray(rows * (np.sqrt(values - 0.5 * self.tau) / values))

    def change(self, _learned: Array, left: Array, right: Array) -> Array:
        """Return p(x)'p(y) - 1."""
        return left @ right.T - 1.0

    def change_of_each(self, _learned: Array, profile: Array) -> Array:
        """Return p(x)'p(x) - 1."""
        return np.asarray((profile**2).sum(axis=1) - 1.0)


def _core(between: Between, support: Indices, beta: Array, c: float, n: int) -> Array:
    """Return S = 11' + c A on the span of its rows, shape (s + 1, s + 1).

    The basis is the s support points, with coefficients `beta`, and the unit vector of ones over
    the other n - s points, whose rows of S are ones: the other eigenvalues of S are zero.
    """
    s = len(support)
    core = np.empty((s + 1, s + 1))
    for rows in blocks(s, s):
        inner = core[rows, :s]
        inner[:] = between(support[rows], support)
        inner *= (c * beta[rows])[:, None]
        inner *= beta
        inner += 1.0
    core[s, :s] = core[:s, s] = np.sqrt(n - s)
    core[s, s] = n - s
    return core


def blocks(rows: int, columns: int) -> Iterator[slice]:
    """Yield parts of a matrix's rows that may be held at once."""
    step = max(1, BLOCK_ENTRIES // max(1, columns))
    return (slice(low, min(low + step, rows)) for low in range(0, rows, step))
