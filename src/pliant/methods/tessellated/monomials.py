"""Bases of monomials, and their means over boxes.

A basis is a list of functions x^delta z^gamma, in graded order: by total degree, then as
`itertools.combinations_with_replacement` has them for the variables x_1, ..., x_n, z_1, ..., z_n.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations_with_replacement, pairwise
from math import comb

import numpy as np

from pliant.core.typing import Array, Indices

__all__ = ["MonomialBasis", "exponents", "monomial_basis", "raw_moments"]


def exponents(n_variables: int, degree: int) -> Indices:
    """Return the exponents of all monomials up to a degree, shape (count, n_variables)."""
    rows = np.zeros((comb(n_variables + degree, degree), n_variables), dtype=np.intp)
    chosen = (
        combination
        for total in range(degree + 1)
        for combination in combinations_with_replacement(range(n_variables), total)
    )
    for row, combination in zip(rows, chosen, strict=True):
        np.add.at(row, list(combination), 1)
    return rows


def raw_moments(low: Array, high: Array, order: int) -> Array:
    """Return E z^p for z uniform on [low, high] and p = 0..order, shape (order + 1, ...).

    That is (high^p + high^(p-1) low + ... + low^p)/(p + 1), which needs no division by
    high - low.
    """
    moments = np.ones((order + 1, *np.broadcast(low, high).shape))
    power = moments[0].copy()
    total = moments[0].copy()
    for p in range(1, order + 1):
        power = power * low
        total = total * high + power
        moments[p] = total / (p + 1)
    return moments


@dataclass(frozen=True, eq=False)
class MonomialBasis:
    """The monomials x^delta_i z^gamma_i, i = 1..q, of total degree `degree` or less.

    Attributes
    ----------
    n_features, degree : int
        Of x (and z), and of the monomials.
    in_x : array of shape (q_x, n)
        The exponents of the monomials of x alone.
    x_part : array of shape (q,)
        Which of them is x^delta_i.
    z_part : array of shape (q, n)
        gamma_i; zero where the basis has no z.
    z_sums : array of shape (s, n)
        The exponents that gamma_i + gamma_j can be.
    sum_of : array of shape (q, q)
        Which of them it is.
    """

    n_features: int
    degree: int
    in_x: Indices
    x_part: Indices
    z_part: Indices
    z_sums: Indices
    sum_of: Indices

    @property
    def size(self) -> int:
        """q, the number of functions."""
        return len(self.x_part)

    def monomials(self, X: Array) -> Array:
        """Return the monomials of x alone at each point, shape (m, q_x)."""
        n = self.n_features
        columns = np.ones((len(self.in_x), len(X)))
        columns[1 : n + 1] = X.T[: len(self.in_x) - 1]
        for column, exponent in zip(columns[n + 1 :], self.in_x[n + 1 :], strict=True):
            for f in np.flatnonzero(exponent):
                column *= X[:, f] ** exponent[f]
        return columns.T.copy()

    def means(self, low: Array, high: Array) -> Array:
        """Return E z^g for each g in `z_sums`, z uniform on the boxes [low, high], (m, s).

        Parameters
        ----------
        low, high : arrays of shape (m, n) or (n,)
        """
        low, high = np.broadcast_arrays(np.atleast_2d(low), high)
        if not self.z_sums.any():
            return np.ones((len(low), 1))
        moments = raw_moments(low.T, high.T, int(self.z_sums.max(initial=0)))
        means = np.empty((len(self.z_sums), len(low)))
        for g, mean in self.products(moments):
            means[g] = mean
        return means.T.copy()

    def pairs(self) -> Iterator[tuple[int, Indices, Indices, slice]]:
        """Yield, for each g in `z_sums`, the pairs (i, j) with gamma_i + gamma_j = g.

        And a slice of `in_x` that holds delta_i and delta_j of all of them.
        """
        order = np.argsort(self.sum_of, axis=None, kind="stable")
        starts = np.searchsorted(self.sum_of.ravel()[order], np.arange(len(self.z_sums) + 1))
        for g, (low, high) in enumerate(pairwise(starts)):
            i, j = np.unravel_index(order[low:high], self.sum_of.shape)
            yield g, i, j, self.share(g)

    def share(self, g: int) -> slice:
        """Return the x^delta that can stand beside z^g: its degree and theirs are 2d at most."""
        room = min(self.degree, 2 * self.degree - int(self.z_sums[g].sum()))
        return slice(0, comb(self.n_features + room, room))

    def products(self, moments: Array) -> Iterator[tuple[int, Array]]:
        """Yield (g, prod_f moments[g_f, f]) for each g in `z_sums`; moments has (order, n, ...)."""
        for g, exponent in enumerate(self.z_sums):
            product = np.ones(moments.shape[2:])
            for f in np.flatnonzero(exponent):
                product = product * moments[exponent[f], f]
            yield g, product


@lru_cache(maxsize=64)
def monomial_basis(n_features: int, degree: int, with_z: bool) -> MonomialBasis:
    """Return the monomials of x, or of x and z, up to a degree.

    There are C(n + d, d) of x alone and C(2n + d, d) of both.
    """
    in_x = exponents(n_features, degree)
    if not with_z:
        q = len(in_x)
        nothing = np.zeros((1, n_features), dtype=np.intp)
        return MonomialBasis(
            n_features, degree, in_x, np.arange(q), np.repeat(nothing, q, axis=0), nothing,
            np.zeros((q, q), dtype=np.intp),
        )  # fmt: skip
    both = exponents(2 * n_features, degree)
    delta, gamma = both[:, :n_features], both[:, n_features:]
    z_sums = exponents(n_features, 2 * degree)
    distinct, which = np.unique(gamma, axis=0, return_inverse=True)
    sums = _places((distinct[:, None] + distinct).reshape(-1, n_features), z_sums)
    which = which.ravel()
    return MonomialBasis(
        n_features, degree, in_x, _places(delta, in_x), gamma, z_sums,
        sums.reshape(len(distinct), -1)[np.ix_(which, which)],
    )  # fmt: skip


def _places(rows: Indices, listed: Indices) -> Indices:
    """Return where each row of exponents stands in a list that holds it."""
    numbers = np.random.default_rng(0).integers(1, 2**63, rows.shape[1], dtype=np.uint64)
    codes, wanted = (part.astype(np.uint64) @ numbers for part in (listed, rows))
    order = np.argsort(codes)
    assert (np.diff(codes[order]) != 0).all()  # no two have the same code
    return order[np.searchsorted(codes[order], wanted)]
