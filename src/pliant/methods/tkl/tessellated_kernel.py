"""Tessellated kernels: each point cuts the box in two along every feature.

For points x, y of a box [a, b], [max(x, y), b] is the part of the box where the indicator functions
of both are one. The compiled loops run along the rows of a tile of a Gram matrix, which are
contiguous in memory.
"""

from __future__ import annotations

from math import comb
from typing import Any

import numpy as np

from pliant.core.jit import compiled
from pliant.core.typing import Array
from pliant.core.validation import check_integer
from pliant.methods.tkl.generalized_kernel import (
    Box,
    GeneralizedKernel,
    Side,
    check_shape_size,
    monomials,
    slices,
)

TILE_OF_PAIRS = 128
"""Number of points on each side of the tiles over which D(w) is summed."""

LARGEST_DEGREE = 12
"""Largest degree of the monomials: up to it, sums of their integrals lose three digits at most."""


def check_degree(name: str, value: Any) -> int:
    """Return the degree of the monomials as an int; raise ValueError unless it is 0 to 12."""
    degree = check_integer(name, value, least=0)
    if degree > LARGEST_DEGREE:
        raise ValueError(f"expected {name} <= {LARGEST_DEGREE}, got {value}")
    return degree


class TessellatedKernel(GeneralizedKernel):
    r"""k_P(x, y) = Int_[a, b] N(z, x)' P N(z, y) dz, N = [Z I(z >= x); Z (1 - I(z >= x))].

    Z holds the q = C(n + d, d) monomials of the n features of x up to degree d, and I(z >= x) is
    one where every coordinate of z is at least that of x. So n_P = 2 q, and k_P is piecewise
    polynomial, on the tessellation that the points form (eq. 13 and 14, with the block (2, 1) of
    Corollary 12 corrected, and monomials of x alone as in the authors' code).

    With the measure of the box 1, and F' = [F1' F2'], let u(x) = (F1 - F2)'Z(x), h(x) = F2'Z(x),
    p_x be the measure of [x, b] and B_xy that of [max(x, y), b]. Then

    k(x, y) = B_xy u(x)'u(y) + p_x u(x)'h(y) + p_y h(x)'u(y) + h(x)'h(y).

    Parameters
    ----------
    lower, upper : float or array-like of shape (n_features,)
        The box [a, b]. Points outside are moved to its nearest point: outside of the box the
        formula does not define a kernel.
    degree : int
        Degree of the monomials, 0 to 12.
    factor : array-like of shape (n_P, r), optional
        F, with P = F F'; None is P = I.

    Notes
    -----
    A Gram matrix of m points costs O(m^2 (n + r)), with one m x m array.
    """

    def __init__(
        self, lower: Any = 0.0, upper: Any = 1.0, degree: int = 1, factor: Any = None
    ) -> None:
        self.lower = lower
        self.upper = upper
        self.degree = degree
        self.factor = factor

    def shape_size(self, n_features: int) -> int:
        """Return n_P = 2 C(n_features + degree, degree)."""
        degree = check_degree("degree", self.degree)
        return 2 * comb(n_features + degree, degree)

    def _monomials(self, X: Array) -> tuple[Box, Array, Array]:
        """Return the box, the points moved into it, and Z, shape (n_samples, q)."""
        check_shape_size(self.shape_size(X.shape[1]), X.shape[1])
        box = Box(self.lower, self.upper, X.shape[1])
        X = box.clip(X)
        return box, X, monomials(X, self.degree)

    def _side(self, X: Array) -> Side:
        """Return the points, H, L and u(x), each with one row per point.

        L(x)'H(y) + H(x)'L(y) is the part of k that has h in it. H holds the values of h where they
        are fewer than the monomials of x, else these monomials.
        """
        box, X, Z = self._monomials(X)
        first, h = np.split(self.shape_factor(X.shape[1]), 2)
        u, above = first - h, box.above(X)[:, None]
        if u.shape[1] < Z.shape[1]:
            H: Array = Z @ h
            L = above * (Z @ u) + 0.5 * H
        else:
            H = Z
            L = above * (Z @ (u @ h.T)) + 0.5 * (Z @ (h @ h.T))
        return (X, H, L, np.asfortranarray(Z) @ _narrow(u))

    def _tile(self, left: Side, right: Side) -> Array:
        (X, H, L, u), (Y, H_y, L_y, u_y) = left, right
        box = Box(self.lower, self.upper, X.shape[1])
        added = np.hstack([L, H]) @ np.hstack([H_y, L_y]).T
        tile: Array = u @ u_y.T
        times_overlap(tile, X, np.ascontiguousarray(Y.T), box.upper, box.density, added)
        return tile

    def _quadratic(self, X: Array, weights: Array) -> Array:
        box, X, Z = self._monomials(X)
        weighted = Z * weights[:, None]
        total = weighted.sum(axis=0)
        above = (weighted * box.above(X)[:, None]).T @ np.ones((len(X), 1))
        # With A = Z I(z >= x), each (q, q): S sums over pairs the integral of A(x_k)'A(x_l), T that
        # of A(x_k)'Z(x_l), V that of Z(x_k)'Z(x_l). N = [A; Z - A] gives the four blocks.
        S = _sum_over_pairs(X, weighted, box)
        T, V = above * total, np.outer(total, total)
        return np.block([[S, T - S], [T.T - S, V - T - T.T + S]])


def _narrow(u: Array) -> Array:
    """Return coefficients with the same u(x)'u(y), of at most as many functions as monomials.

    u' = Q R gives u u' = R' R, with R' square.
    """
    if u.shape[1] <= len(u):
        return np.ascontiguousarray(u)
    triangle: Array = np.linalg.qr(u.T)[1]
    return np.ascontiguousarray(triangle.T)


def _sum_over_pairs(X: Array, weighted: Array, box: Box) -> Array:
    """Return weighted' B weighted, shape (q, q), B_kl the measure of [max(x_k, x_l), b]."""
    total = np.zeros((weighted.shape[1],) * 2)
    cuts = list(slices(len(X), TILE_OF_PAIRS))
    for i, rows in enumerate(cuts):
        for columns in cuts[: i + 1]:
            tile = np.ones((rows.stop - rows.start, columns.stop - columns.start))
            transposed = np.ascontiguousarray(X[columns].T)
            times_overlap(tile, X[rows], transposed, box.upper, box.density, np.zeros_like(tile))
            if rows == columns:
                tile *= 0.5  # its transpose is added below, as for the tiles of one half
            piece = weighted[rows].T @ tile @ weighted[columns]
            total += piece + piece.T
    return total


@compiled
def times_overlap(
    tile: Array, left: Array, right: Array, upper: Array, density: Array, added: Array
) -> None:
    """Replace `tile` by tile * B + added, entrywise.

    B_ij = prod_f (upper_f - max(left_if, right_fj)) density_f is the measure of [max(x, y), b].
    `left` holds points, shape (m, n), `right` points as columns, shape (n, k), in C order.
    """
    for i in range(tile.shape[0]):
        row = tile[i]
        for f in range(left.shape[1]):
            x, b, scale = left[i, f], upper[f], density[f]
            column = right[f]
            for j in range(row.size):
                y = column[j]
                row[j] *= (b - (x if x > y else y)) * scale
        for j in range(row.size):
            row[j] += added[i, j]
