"""Tessellated kernels: each point bisects the box in every direction."""

from __future__ import annotations

from math import comb
from typing import Any

import numpy as np

from pliant.core.typing import Array, Indices
from pliant.core.validation import check_choice, check_integer, check_vector
from pliant.methods.tessellated.generalized_kernel import GeneralizedKernel, Side
from pliant.methods.tessellated.loops import overlap, times_overlap, times_overlap_of_polynomials
from pliant.methods.tessellated.monomials import MonomialBasis, monomial_basis, raw_moments

__all__ = ["BASES", "Box", "TessellatedKernel"]

BASES = ("x", "xz")
"""Monomials of x alone, as in the authors' code, or of x and z, as in the paper."""

MOMENT_TILE = 128
"""Points on each side of the pieces in which D(w) is summed."""


class Box:
    """The box Y = [a, b] of the integral, and its measure.

    Parameters
    ----------
    lower, upper : float or array-like of shape (n,)
        a and b, a < b.
    n_features : int
        n.
    normalized : bool
        Whether its measure is 1 instead of its volume.
    """

    def __init__(self, lower: Any, upper: Any, n_features: int, normalized: bool) -> None:
        self.lower = check_vector("lower", lower, n_features)
        self.upper = check_vector("upper", upper, n_features)
        wrong = np.flatnonzero(self.lower >= self.upper)
        if wrong.size:
            f = wrong[0]
            raise ValueError(
                f"expected lower < upper, got {self.lower[f]:g} and {self.upper[f]:g} for "
                f"feature {f}"
            )
        with np.errstate(over="ignore"):
            width = self.upper - self.lower
            volume = float(np.prod(width))
        if not (np.isfinite(width).all() and (normalized or 0.0 < volume < np.inf)):
            advice = "a smaller box" if normalized else "normalize_measure=True, or a smaller box"
            raise ValueError(
                f"expected a box of finite volume, got {volume:g} with {n_features} features; use "
                f"{advice}"
            )
        self.inverse = 1.0 / width if normalized else np.ones(n_features)
        self.measure = float(np.prod(width * self.inverse))

    def clip(self, X: Array) -> Array:
        """Return the nearest points of the box."""
        return np.clip(X, self.lower, self.upper)

    def above(self, X: Array) -> Array:
        """Return the measure of [x, b] for each point of the box, shape (m,)."""
        return np.asarray(np.prod((self.upper - X) * self.inverse, axis=1))


class TessellatedKernel(GeneralizedKernel):
    r"""k_P(x, y) = Int_[a, b] N(z, x)' P N(z, y) dz, N = [Z I(z >= x); Z (1 - I(z >= x))].

    Z holds the monomials of x, or of x and z, up to a degree, and I(z >= x) is one where every
    coordinate of z is at least that of x. So n_P = 2 C(n + d, d), or 2 C(2n + d, d), and k_P is
    piecewise polynomial, on the tessellation that the points make (eq. 13 and 14, with the block
    (2, 1) of Corollary 12 corrected).

    With u(z, x) the part of F'N above x less the part below, h the latter, and B_xy the measure
    of [max(x, y), b],

    k = B E_[max(x, y), b] u(x)'u(y) + Int_[x, b] u(x)'h(y) + Int_[y, b] h(x)'u(y) + Int h(x)'h(y).

    Parameters
    ----------
    lower, upper : float or array-like of shape (n,)
        The box [a, b]. Points outside are moved to the nearest point of it: beyond, the formula
        would be no kernel.
    degree : {0, 1, 2}
        Of the monomials.
    basis : {"x", "xz"}
        Which monomials.
    normalize_measure : bool
        Divide by the volume of the box, which under- and overflows for many features.
    factor : array-like of shape (n_P, r), optional
        F, P = F F'; None is P = I.

    Notes
    -----
    A Gram matrix of m points costs O(m^2 (n + r)) for basis "x", with one m x m array, and
    O(m^2 n r) for "xz" (n^2 r for degree 2).
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
        variables = n_features * (1 + (self.basis == "xz"))
        return 2 * comb(variables + degree, degree)

    def _checked_degree(self) -> int:
        degree = check_integer("degree", self.degree, least=0)
        if degree > 2:
            raise ValueError(f"expected degree in [0, 1, 2], got {degree}")
        check_choice("basis", self.basis, BASES)
        return degree

    def _basis(self, n_features: int) -> MonomialBasis:
        return monomial_basis(n_features, self._checked_degree(), self.basis == "xz")

    def _box(self, n_features: int) -> Box:
        return Box(self.lower, self.upper, n_features, bool(self.normalize_measure))

    def _side(self, X: Array) -> Side:
        """Return the points, H and L with the integrals of h equal to L H' + H L', and u.

        L takes the integral over [x, b] of u'h, and half of that over the box of h'h. H holds
        the functions h where they have no z and are few, else the monomials of x.
        """
        n = X.shape[1]
        (u, h), box, basis = self._above_and_below(n), self._box(n), self._basis(n)
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
        """Return the coefficients of u and of h, each of shape (q, r)."""
        above, below = np.split(self.shape_factor(n_features), 2)
        return above - below, below

    def _tile(self, left: Side, right: Side) -> Array:
        (X, H, below, *of_x), (Y, H_y, below_y, *of_y) = left, right
        box = self._box(X.shape[1])
        columns = np.ascontiguousarray(Y.T)
        added = np.hstack([below, H]) @ np.hstack([H_y, below_y]).T
        if len(of_x) == 1:
            tile = of_x[0] @ of_y[0].T
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
        """Return the coefficients of z'Qz in u, shape (r, n, n), (r, 0, 0) if there is none."""
        basis, (u, _) = self._basis(n_features), self._above_and_below(n_features)
        u = _narrow(u)
        if basis.degree < 2:
            return np.zeros((u.shape[1], 0, 0))
        square = np.zeros((u.shape[1], n_features, n_features))
        for i in np.flatnonzero(basis.z_part.sum(axis=1) == 2):
            f, g = np.repeat(np.arange(n_features), basis.z_part[i])
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
        S = _sum_over_pairs(basis, X, weighted, box)
        T = above[basis.x_part[:, None], basis.sum_of] * total[basis.x_part]
        V = np.outer(total[basis.x_part], total[basis.x_part]) * everywhere[basis.sum_of]
        return np.block([[S, T - S], [T.T - S, V - T - T.T + S]])


def _narrow(u: Array) -> Array:
    """Return coefficients with the same u(x)'u(y) and not more functions than monomials."""
    if u.shape[1] <= len(u):
        return u
    triangle: Array = np.linalg.qr(u.T)[1]
    return triangle.T


def _by_monomial_of_x(basis: MonomialBasis, P: Array, means: Array, Z: Array) -> Array:
    """Return L with E u(z, x)'h(z, y) = sum_j L_j(x) y^delta_j, z uniform on [x, b], (m, q_x).

    P holds the coefficients of u'h, `means` E z^g at each x.
    """
    result = np.zeros_like(Z)
    for g, i, j, used in basis.pairs():
        form = np.zeros((used.stop, used.stop))
        np.add.at(form, (basis.x_part[i], basis.x_part[j]), P[i, j])
        result[:, used] += means[:, g, None] * (Z[:, used] @ form)
    return result


def _constant_form(basis: MonomialBasis, h: Array, box: Box) -> Array:
    """Return M with E h(z, x)'h(z, y) = Z(x)' M Z(y), z uniform on the box."""
    form = np.zeros((len(basis.in_x),) * 2)
    means = basis.means(box.lower, box.upper)[0]
    np.add.at(form, (basis.x_part[:, None], basis.x_part), (h @ h.T) * means[basis.sum_of])
    return form


def _coefficients(basis: MonomialBasis, u: Array, Z: Array) -> Side:
    """Return the coefficients of u(z, x) = sum_i u_i x^delta_i z^gamma_i as a polynomial of z.

    The constant ones, shape (m, r); where the basis has z, the linear ones too, (m, r, n).
    """
    order = basis.z_part.sum(axis=1)
    constant = _combined(basis, u, Z, np.flatnonzero(order == 0))
    if not order.any():
        return (constant,)
    linear = [
        _combined(basis, u, Z, np.flatnonzero((order == 1) & (basis.z_part[:, f] == 1)))
        for f in range(basis.n_features)
    ]
    return constant, np.stack(linear, axis=-1)


def _combined(basis: MonomialBasis, u: Array, Z: Array, functions: Indices) -> Array:
    return np.asarray(Z[:, basis.x_part[functions]] @ u[functions])


def _sum_over_pairs(basis: MonomialBasis, X: Array, weighted: Array, box: Box) -> Array:
    """Return S_ij = sum_kl w_k w_l x_k^delta_i x_l^delta_j Int_[max(x_k, x_l), b] z^(gamma_i+j).

    `weighted` holds w_k x_k^delta, shape (m, q_x).
    """
    order = int(basis.z_sums.max(initial=0))
    sums = [np.zeros((basis.share(g).stop,) * 2) for g in range(len(basis.z_sums))]
    for rows, columns in _pieces(len(X)):
        tile = overlap(X[rows], np.ascontiguousarray(X[columns].T), box.upper, box.inverse)
        if rows == columns:
            tile *= 0.5
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


def _pieces(count: int) -> list[tuple[slice, slice]]:
    """Return the lower half of the square of range(count), cut into tiles."""
    cuts = [slice(low, min(low + MOMENT_TILE, count)) for low in range(0, count, MOMENT_TILE)]
    return [(rows, columns) for i, rows in enumerate(cuts) for columns in cuts[: i + 1]]
