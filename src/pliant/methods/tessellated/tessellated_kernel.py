"""Tessellated kernels: each point cuts the box in two along every feature.

The inner loops are compiled and work on tiles of a Gram matrix. For points x, y of a box [a, b] and
M = max(x, y) entrywise, [M, b] is the part of the box where the indicator functions of x and y are
both one. The loops run along the rows of a tile, where neighbouring entries are neighbours in
memory.
"""

from __future__ import annotations

from math import comb
from typing import Any

import numpy as np

from pliant.core.jit import compiled
from pliant.core.typing import Array, Indices, Mask
from pliant.core.validation import check_choice, check_integer
from pliant.methods.tessellated.generalized_kernel import (
    Box,
    GeneralizedKernel,
    MonomialBasis,
    Side,
    check_shape_size,
    monomial_basis,
    raw_moments,
    slices,
)

BASES = ("x", "xz")
"""Monomials of x alone, as in the authors' code, or of x and z, as in the paper."""

MOMENT_TILE = 128
"""Number of points on each side of the tiles over which D(w) is summed."""


LARGEST_DEGREE = 12
"""Largest degree of the monomials: up to it, sums of their integrals lose three digits at most."""

COMPILED = 2
"""Largest degree in z of the compiled loops; above it, sums over the monomials of z."""

MOST_INTEGRALS = 10_000
"""Most monomials of z whose integrals are computed, for degrees above `COMPILED`."""


def check_degree(name: str, value: Any) -> int:
    """Return the degree of the monomials as an int; raise ValueError unless it is 0 to 12."""
    degree = check_integer(name, value, least=0)
    if degree > LARGEST_DEGREE:
        raise ValueError(f"expected {name} <= {LARGEST_DEGREE}, got {value}")
    return degree


class TessellatedKernel(GeneralizedKernel):
    r"""k_P(x, y) = Int_[a, b] N(z, x)' P N(z, y) dz, N = [Z I(z >= x); Z (1 - I(z >= x))].

    Z holds the monomials of x, or of x and z, up to degree d, and I(z >= x) is one where every
    coordinate of z is at least that of x. So n_P = 2 C(n + d, d), or 2 C(2n + d, d), for n
    features, and k_P is piecewise polynomial, on the tessellation that the points form (eq. 13
    and 14, with the block (2, 1) of Corollary 12 corrected).

    Let u(z, x) be the part of F'N above x minus the part below, h the part below, and B_xy the
    measure of [max(x, y), b]. Then

    k = B E_[max(x, y), b] u(x)'u(y) + Int_[x, b] u(x)'h(y) + Int_[y, b] h(x)'u(y) + Int h(x)'h(y).

    Parameters
    ----------
    lower, upper : float or array-like of shape (n_features,)
        The box [a, b]. Points outside are moved to its nearest point: outside of the box the
        formula does not define a kernel.
    degree : int
        Degree of the monomials, 0 to 12.
    basis : {"x", "xz"}
        Variables of the monomials: x alone, or x and z.
    normalize_measure : bool
        Divide by the volume of the box, which under- or overflows for many features.
    factor : array-like of shape (n_P, r), optional
        F, with P = F F'; None is P = I.

    Notes
    -----
    A Gram matrix of m points costs O(m^2 (n + r)) for basis "x", with one m x m array, and
    O(m^2 n r) for "xz" (n^2 r for degree 2). For "xz" and d >= 3 it is O(m^2 s), where s sums, over
    the C(n + 2d, n) monomials z^g of degree 2d or less, the monomials of x that occur beside each:
    155 for n = 2 and d = 3, 5572 for n = 5.
    """

    def __init__(
        self,
        lower: Any = 0.0,
        upper: Any = 1.0,
        degree: int = 1,
        basis: str = "x",
        normalize_measure: bool = True,
        factor: Any = None,
    ) -> None:
        self.lower = lower
        self.upper = upper
        self.degree = degree
        self.basis = basis
        self.normalize_measure = normalize_measure
        self.factor = factor

    def shape_size(self, n_features: int) -> int:
        """Return n_P = 2 C(n + d, d) for basis "x", 2 C(2n + d, d) for "xz"."""
        degree = self._checked_degree()
        if degree > COMPILED and self.basis == "xz":
            _check_integrals(n_features, degree)
        variables = n_features * (1 + (self.basis == "xz"))
        return 2 * comb(variables + degree, degree)

    def _checked_degree(self) -> int:
        degree = check_degree("degree", self.degree)
        check_choice("basis", self.basis, BASES)
        return degree

    def _basis(self, n_features: int) -> MonomialBasis:
        degree = self._checked_degree()
        if degree > COMPILED:
            check_shape_size(self.shape_size(n_features), n_features)
        return monomial_basis(n_features, degree, self.basis == "xz")

    def _box(self, n_features: int) -> Box:
        return Box(self.lower, self.upper, n_features, bool(self.normalize_measure))

    def _side(self, X: Array) -> Side:
        """Return the points, H, L and the coefficients of u, each with one row per point.

        L(x) H(y)' + H(x) L(y)' is the part of k that has h in it, the last three terms of the class
        docstring: L(x) H(y)' is the integral over [x, b] of u(x)'h(y) and half of that over the
        box of h(x)'h(y). H holds the values of h where they do not depend on z and are fewer than
        the monomials of x, else these monomials.
        """
        n = X.shape[1]
        box, basis = self._box(n), self._basis(n)
        u, h = self._above_and_below(n)
        X = box.clip(X)
        Z: Array = basis.monomials(X)
        coefficients = _coefficients(basis, _narrow(u), Z)
        if self.basis == "x" and u.shape[1] < Z.shape[1]:
            H = Z @ h
            L = box.above(X)[:, None] * (Z @ u) + 0.5 * box.measure * H
            return (X, H, L, *coefficients)
        below = _by_monomial_of_x(basis, u @ h.T, basis.means(X, box.upper), Z)
        below *= box.above(X)[:, None]
        below += 0.5 * box.measure * (Z @ _constant_form(basis, h, box))
        return (X, Z, below, *coefficients)

    def _above_and_below(self, n_features: int) -> tuple[Array, Array]:
        """Return the coefficients of u and of h, each of shape (q, r), q = n_P / 2."""
        above, below = np.split(self.shape_factor(n_features), 2)
        return above - below, below

    def _tile(self, left: Side, right: Side) -> Array:
        (X, H, below, *of_x), (Y, H_y, below_y, *of_y) = left, right
        box, basis = self._box(X.shape[1]), self._basis(X.shape[1])
        columns = np.ascontiguousarray(Y.T)
        # L(x) H(y)' + H(x) L(y)' as one product of matrices
        added = np.hstack([below, H]) @ np.hstack([H_y, below_y]).T
        if basis.degree_in_z == 0:
            tile: Array = of_x[0] @ of_y[0].T
        elif basis.degree_in_z > COMPILED:
            u, _ = self._above_and_below(X.shape[1])
            tile = _means_of_products(basis, u @ u.T, X, Y, box.upper)
        else:
            tile = np.ones_like(added)
            constant, linear = (np.ascontiguousarray(a) for a in of_x)
            constants, slopes = (np.ascontiguousarray(np.moveaxis(a, 0, -1)) for a in of_y)
            times_overlap_of_polynomials(
                tile, X, columns, box.upper, constant, constants, linear, slopes,
                self._square(X.shape[1]),
            )  # fmt: skip
        times_overlap(tile, X, columns, box.upper, box.inverse, added)
        return tile

    def _square(self, n_features: int) -> Array:
        """Return Q, the part z'Q z of u, shape (r, n, n); (r, 0, 0) if u has no such part."""
        basis, (u, _) = self._basis(n_features), self._above_and_below(n_features)
        u = _narrow(u)
        if basis.degree_in_z < 2:
            return np.zeros((u.shape[1], 0, 0))
        square = np.zeros((u.shape[1], n_features, n_features))
        for i in np.flatnonzero(basis.z_part.sum(axis=1) == 2):
            f, g = np.repeat(np.arange(n_features), basis.z_part[i])  # this monomial is z_f z_g
            square[:, f, g] += 0.5 * u[i]
            square[:, g, f] += 0.5 * u[i]
        return square

    def _quadratic(self, X: Array, weights: Array) -> Array:
        n = X.shape[1]
        box, basis = self._box(n), self._basis(n)
        X = box.clip(X)
        weighted = basis.monomials(X) * weights[:, None]
        total = weighted.sum(axis=0)
        above = (weighted * box.above(X)[:, None]).T @ basis.means(X, box.upper)
        everywhere = box.measure * basis.means(box.lower, box.upper)[0]
        # With A = Z I(z >= x), each (q, q): S sums over pairs the integral of A(x_k)'A(x_l), T that
        # of A(x_k)'Z(x_l), V that of Z(x_k)'Z(x_l). N = [A; Z - A] gives the four blocks.
        S = _sum_over_pairs(basis, X, weighted, box)
        T = above[basis.x_part[:, None], basis.sum_of] * total[basis.x_part]
        V = np.outer(total[basis.x_part], total[basis.x_part]) * everywhere[basis.sum_of]
        return np.block([[S, T - S], [T.T - S, V - T - T.T + S]])


def _narrow(u: Array) -> Array:
    """Return coefficients with the same u(x)'u(y), of at most as many functions as monomials.

    u' = Q R gives u u' = R' R, with R' square.
    """
    if u.shape[1] <= len(u):
        return u
    triangle: Array = np.linalg.qr(u.T)[1]
    return triangle.T


def _by_monomial_of_x(basis: MonomialBasis, P: Array, means: Array, Z: Array) -> Array:
    """Return L with E u(z, x)'h(z, y) = sum_j L_j(x) y^delta_j, z uniform on [x, b].

    L has shape (m, q_x), P holds the coefficients of u(x)'h(y), shape (q, q), and `means` the
    E z^g at each x, shape (m, s).
    """
    result = np.zeros_like(Z)
    for g, i, j, used in basis.pairs():
        form = _form(basis, P, i, j, used.stop)
        result[:, used] += means[:, g, None] * (Z[:, used] @ form)
    return result


def _constant_form(basis: MonomialBasis, h: Array, box: Box) -> Array:
    """Return M, shape (q_x, q_x), with E h(z, x)'h(z, y) = Z(x)' M Z(y), z uniform on the box."""
    form = np.zeros((len(basis.in_x),) * 2)
    means = basis.means(box.lower, box.upper)[0]
    np.add.at(form, (basis.x_part[:, None], basis.x_part), (h @ h.T) * means[basis.sum_of])
    return form


def _coefficients(basis: MonomialBasis, u: Array, Z: Array) -> Side:
    """Return the coefficients of u(z, x) = sum_i u_i x^delta_i z^gamma_i as a polynomial in z.

    The constant ones have shape (m, r); where the basis has z, the linear ones follow, (m, r, n).
    There are none where the degree in z is too high for the compiled loops.
    """
    if basis.degree_in_z > COMPILED:
        return ()

    def combined(chosen: Mask) -> Array:
        functions = np.flatnonzero(chosen)
        return np.asarray(Z[:, basis.x_part[functions]] @ u[functions])

    order = basis.z_part.sum(axis=1)
    constant = combined(order == 0)
    if not order.any():
        return (constant,)
    linear = [combined((order == 1) & (basis.z_part[:, f] == 1)) for f in range(basis.n_features)]
    return constant, np.stack(linear, axis=-1)


def _means_of_products(basis: MonomialBasis, P: Array, X: Array, Y: Array, upper: Array) -> Array:
    """Return E u(z, x)'u(z, y), z uniform on [max(x, y), b], for all points x of X and y of Y.

    P holds the coefficients of u(x)'u(y), shape (q, q). With the monomials Z of x alone, the mean
    is sum_g (Z(x)' M_g Z(y)) E z^g, where M_g collects the P_ij with gamma_i + gamma_j = g.
    """
    forms = [(g, used, _form(basis, P, i, j, used.stop)) for g, i, j, used in basis.pairs()]
    left, right = basis.monomials(X), basis.monomials(Y)
    result = np.zeros((len(X), len(Y)))
    for rows in slices(len(X), MOMENT_TILE):
        for columns in slices(len(Y), MOMENT_TILE):
            highest = np.maximum(X[rows].T[:, :, None], Y[columns].T[:, None, :])
            moments = raw_moments(highest, upper[:, None, None], 2 * basis.degree_in_z)
            for (_, used, form), (_, mean) in zip(forms, basis.products(moments), strict=True):
                values = left[rows, used] @ form @ right[columns, used].T
                result[rows, columns] += values * mean
    return result


def _form(basis: MonomialBasis, P: Array, i: Indices, j: Indices, size: int) -> Array:
    """Return M, shape (size, size), with x'M y = sum over the pairs (i, j) of P_ij x_(i) y_(j).

    x and y are vectors of monomials of x alone, and x_(i) is that of the position `x_part`.
    """
    form = np.zeros((size, size))
    np.add.at(form, (basis.x_part[i], basis.x_part[j]), P[i, j])
    return form


def _check_integrals(n_features: int, degree: int) -> None:
    """Raise ValueError if the monomials of z up to twice the degree are too many."""
    count = comb(n_features + 2 * degree, n_features)
    if count > MOST_INTEGRALS:
        raise ValueError(
            f"expected at most {MOST_INTEGRALS} monomials of z of degree {2 * degree} or less, "
            f"got {count} for {n_features} features, basis = 'xz' and degree = {degree}; use "
            "basis = 'x', lower the degree, or choose features"
        )


def _sum_over_pairs(basis: MonomialBasis, X: Array, weighted: Array, box: Box) -> Array:
    """Return S_ij = sum_kl w_k w_l x_k^delta_i x_l^delta_j Int_[max(x_k, x_l), b] z^(gamma_i+j).

    `weighted` holds w_k x_k^delta, shape (m, q_x). For a fixed g = gamma_i + gamma_j the sum is a
    product of matrices, weighted' (B o E z^g) weighted, so one is computed for each g.
    """
    order = int(basis.z_sums.max(initial=0))
    sums = [np.zeros((basis.share(g).stop,) * 2) for g in range(len(basis.z_sums))]
    for rows, columns in _tiles(len(X)):
        tile = overlap(X[rows], np.ascontiguousarray(X[columns].T), box.upper, box.inverse)
        if rows == columns:
            tile *= 0.5  # its transpose is added below, as for the tiles of one half
        moments: Array = np.ones((1, 1, 1, 1))
        if order:
            highest = np.maximum(X[rows].T[:, :, None], X[columns].T[:, None, :])
            moments = raw_moments(highest, box.upper[:, None, None], order)
        for g, mean in basis.products(moments):
            used = basis.share(g)
            piece = weighted[rows, used].T @ (tile * mean) @ weighted[columns, used]
            sums[g] += piece + piece.T
    result = np.empty((basis.size,) * 2)
    for g, i, j, _ in basis.pairs():
        result[i, j] = sums[g][basis.x_part[i], basis.x_part[j]]
    return result


def _tiles(count: int) -> list[tuple[slice, slice]]:
    """Return the rows and columns of the tiles in the lower half of a (count, count) matrix."""
    cuts = list(slices(count, MOMENT_TILE))
    return [(rows, columns) for i, rows in enumerate(cuts) for columns in cuts[: i + 1]]


@compiled
def overlap(left: Array, right: Array, upper: Array, inverse: Array) -> Array:
    """Return B_ij = prod_f (upper_f - max(left_if, right_fj)) inverse_f, the measure of [M_ij, b].

    `left` holds points, shape (m, n), and `right` points as columns, shape (n, k), in C order.
    `upper` is b, and `inverse` the density of the measure along each feature.
    """
    tile = np.ones((left.shape[0], right.shape[1]))
    _times_overlap(tile, left, right, upper, inverse)
    return tile


@compiled
def times_overlap(
    tile: Array, left: Array, right: Array, upper: Array, inverse: Array, added: Array
) -> None:
    """Replace `tile` by tile * B + added, entrywise; parameters as in `overlap`."""
    _times_overlap(tile, left, right, upper, inverse)
    for i in range(tile.shape[0]):
        for j in range(tile.shape[1]):
            tile[i, j] += added[i, j]


@compiled
def _times_overlap(tile: Array, left: Array, right: Array, upper: Array, inverse: Array) -> None:
    for i in range(tile.shape[0]):
        row = tile[i]
        for f in range(left.shape[1]):
            x, b, scale = left[i, f], upper[f], inverse[f]
            column = right[f]
            for j in range(row.size):
                y = column[j]
                row[j] *= (b - (x if x > y else y)) * scale


@compiled
def times_overlap_of_polynomials(
    tile: Array,
    left: Array,
    right: Array,
    upper: Array,
    constant_left: Array,
    constant_right: Array,
    linear_left: Array,
    linear_right: Array,
    square: Array,
) -> None:
    """Replace tile_ij by tile_ij sum_k E u_k(z, x_i) u_k(z, y_j), z uniform on [M_ij, b].

    u_k(z, x) = constant_k(x) + linear_k(x)'z + z'square_k z. With z = mu + s t, mu and s the
    centre and the half widths of the box and t uniform on [-1, 1]^n, the functions 1, t_f,
    t_f^2 - 1/3 and t_f t_g are orthogonal, of variance 1, 1/3, 4/45 and 1/9.

    Parameters
    ----------
    tile : array of shape (m, k)
    left, right : arrays of shape (m, n) and (n, k)
        Points, and points as columns.
    upper : array of shape (n,)
        b.
    constant_left, constant_right : arrays of shape (m, r) and (r, k)
    linear_left, linear_right : arrays of shape (m, r, n) and (r, n, k)
    square : array of shape (r, n, n) or (r, 0, 0)
        Symmetric; empty where no function is quadratic in z.
    """
    n, rank, width = left.shape[1], constant_left.shape[1], tile.shape[1]
    quadratic = square.shape[1] > 0
    mu, variance, bent = np.empty((n, width)), np.empty((n, width)), np.zeros((n, width))
    total, mean_left, mean_right = np.empty(width), np.empty(width), np.empty(width)
    for i in range(tile.shape[0]):
        for f in range(n):
            for j in range(width):
                y = right[f, j]
                top = left[i, f] if left[i, f] > y else y
                mu[f, j] = 0.5 * (upper[f] + top)
                variance[f, j] = (upper[f] - top) ** 2 / 12.0
        total[:] = 0.0
        for k in range(rank):
            mean_left[:] = constant_left[i, k]
            mean_right[:] = constant_right[k]
            if quadratic:
                _bend(square[k], mu, variance, bent, mean_left, mean_right, total)
            for f in range(n):
                slope = linear_left[i, k, f]
                slopes = linear_right[k, f]
                for j in range(width):
                    mean_left[j] += slope * mu[f, j]
                    mean_right[j] += slopes[j] * mu[f, j]
                    total[j] += (slope + bent[f, j]) * (slopes[j] + bent[f, j]) * variance[f, j]
            for j in range(width):
                total[j] += mean_left[j] * mean_right[j]
        for j in range(width):
            tile[i, j] *= total[j]


@compiled
def _bend(
    square: Array,
    mu: Array,
    variance: Array,
    bent: Array,
    mean_left: Array,
    mean_right: Array,
    total: Array,
) -> None:
    """Add the contribution of z'Q z to both means, to the slopes (bent = 2 Q mu) and to the total.

    With z = mu + s t, z'Q z = mu'Q mu + 2 (Q mu)'(s t) + (s t)'Q (s t): the mean of the last term
    is sum_f Q_ff variance_f, and the variances of t_f^2 - 1/3 and t_f t_g give its part of the
    total, (4/45) s_f^4 Q_ff^2 = .8 (Q_ff variance_f)^2 and (1/9) s_f^2 s_g^2 (2 Q_fg)^2.
    """
    n, width = mu.shape
    for f in range(n):
        bent[f, :] = 0.0
        for g in range(n):
            for j in range(width):
                bent[f, j] += 2.0 * square[f, g] * mu[g, j]
        for j in range(width):
            mean = 0.5 * mu[f, j] * bent[f, j] + square[f, f] * variance[f, j]
            mean_left[j] += mean
            mean_right[j] += mean
            total[j] += 0.8 * (square[f, f] * variance[f, j]) ** 2
        for g in range(f):
            for j in range(width):
                total[j] += 4.0 * square[f, g] ** 2 * variance[f, j] * variance[g, j]
