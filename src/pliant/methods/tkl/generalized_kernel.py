"""Generalised kernels: kernels that are linear in a positive semi-definite matrix.

    k_P(x, y) = Int N(z, x)' P N(z, y) dz,    P = F F' positive semi-definite

(Lemma 5 of Talitckii, Colbert and Peet). The basis N defines a family of kernels, and P selects a
member. With G_ij(x, y) = Int N_i(z, x) N_j(z, y) dz, k_P = sum_ij P_ij G_ij. Learning P requires

    D(w)_ij = sum_kl w_k w_l G_ij(x_k, x_l),    so that    w' K_P w = <D(w), P>.

There are families for any basis given on quadrature nodes, for polynomials, and for the tessellated
kernels of TKL. In a tessellated kernel, each point divides a box in two along every feature.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations_with_replacement
from math import comb
from operator import itemgetter
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np
import numpy.typing as npt

from pliant.core import process
from pliant.core.blocks import slices
from pliant.core.estimators import clone
from pliant.core.form import Part, SavedForm, numbers
from pliant.core.loops import compiled
from pliant.core.parameters import check_integer
from pliant.core.text import printable
from pliant.core.typing import Array, Between, Columns, Indices
from pliant.core.validation import check_kernel_values, check_points, check_vector
from pliant.kernels.base import Kernel, Rescaled

TILE = 512
"""Number of rows and columns of a tile of a Gram matrix."""

LARGEST_SHAPE = 10_000
"""Largest n_P, for which P and D(w) take 0.8 GB each."""

Side: TypeAlias = tuple[Array, ...]
"""Terms of the kernel that depend on one argument only, as arrays with one row per point."""


class GeneralizedKernel(Kernel):
    """The kernel k_P in the module docstring; a subclass defines the basis N.

    Attributes
    ----------
    factor : array of shape (n_P, r) or None
        F, with P = F F'. None means P = I.
    """

    _form: ClassVar[SavedForm] = {
        "factor": Part("number", ("n_P", "rank"), optional=True),
        "lower, upper": numbers("features", scalar=True, optional=True),
    }

    factor: npt.ArrayLike | None

    finite_rank: ClassVar[bool] = False
    """True if the rank of the Gram matrices does not grow with the number of points."""

    @abstractmethod
    def shape_size(self, n_features: int) -> int:
        """Return n_P, the order of P, for `n_features` features."""

    @abstractmethod
    def _side(self, X: Array) -> Side:
        """Compute the arguments of `_tile` for the points X."""

    @abstractmethod
    def _tile(self, left: Side, right: Side) -> Array:
        """Compute k between two sets of points, float64."""

    @abstractmethod
    def _quadratic(self, X: Array, weights: Array) -> Array:
        """Compute D(w) for checked points."""

    @abstractmethod
    def _integrals(self, X: Array, basis: Array) -> Array:
        """Compute U'G(x_k, x_l)U for checked points and U = `basis`, shape (m, m, r, r)."""

    def with_factor(self, factor: Array | None) -> Self:
        """Return the kernel of the same family with P = factor factor'."""
        kernel: Self = clone(self).set_params(factor=factor)
        return kernel

    def shape_factor(self, n_features: int) -> Array:
        """Return F, shape (n_P, r), after checking its shape; it is I if `factor` is None."""
        size = self.shape_size(n_features)
        if self.factor is None:
            return np.eye(size)
        factor = check_points(self.factor, "factor")
        if len(factor) != size:
            raise ValueError(
                f"expected a factor of shape ({size}, r) for {n_features} features, "
                f"got {factor.shape}"
            )
        return factor

    def shape_matrix(self, n_features: int) -> Array:
        """Return P, shape (n_P, n_P)."""
        factor = self.shape_factor(n_features)
        return factor @ factor.T

    def gram(self, X: npt.ArrayLike) -> Array:
        """Compute k between all rows of X, shape (n_samples, n_samples), exactly symmetric.

        The tiles of the upper triangle are copied from the lower one, to avoid a second array.
        """
        X = check_points(X, "X")
        side = self._side(X)
        gram = np.empty((len(X), len(X)))
        for rows in slices(len(X), TILE):
            for columns in slices(rows.stop, TILE):
                tile = self._tile(_select(side, rows), _select(side, columns))
                if rows == columns:
                    tile = 0.5 * (tile + tile.T)  # symmetric except for rounding
                else:
                    gram[columns, rows] = tile.T
                gram[rows, columns] = tile
        return gram

    def quadratic(self, X: npt.ArrayLike, weights: npt.ArrayLike) -> Array:
        """Compute D(w), shape (n_P, n_P), symmetric PSD, for weights w of any sign."""
        X = check_points(X, "X")
        w = check_vector("weights", weights, len(X))
        support = np.flatnonzero(w)
        if support.size == 0:
            return np.zeros((self.shape_size(X.shape[1]),) * 2)
        matrix = self._quadratic(X[support], w[support])
        return 0.5 * (matrix + matrix.T)

    def integrals(self, X: npt.ArrayLike, basis: Array) -> Array:
        """Compute U'(G(x_k, x_l) + G(x_l, x_k))U/2 for few points and U = `basis`.

        With m points and U of shape (n_P, r), the result has the shape (m, m, r, r), and U'D(w)U is
        its sum over k and l with the weights w_k w_l.
        """
        X = check_points(X, "X")
        G = self._integrals(X, basis)
        return np.asarray(0.5 * (G + G.swapaxes(2, 3)))  # G(x_l, x_k) is the transpose

    def prepared(self, points: Array) -> Between:
        """Return a function of row and column indices that computes k between `points`."""
        side = self._side(points)
        return lambda rows, columns: self._between(_select(side, rows), _select(side, columns))

    def _gram(self, X: Array, Y: Array) -> Array:
        return self.gram(X) if Y is X else self._between(self._side(X), self._side(Y))

    def _between(self, left: Side, right: Side) -> Array:
        """Compute k between two sets of points, tile by tile."""
        gram = np.empty((len(left[0]), len(right[0])))
        for rows in slices(len(gram), TILE):
            for columns in slices(gram.shape[1], TILE):
                gram[rows, columns] = self._tile(_select(left, rows), _select(right, columns))
        return gram

    def _diagonal(self, X: Array) -> Array:
        side = self._side(X)
        # tiles are small because only their diagonals are used
        tiles = [_select(side, rows) for rows in slices(len(X), 16)]
        return np.concatenate([self._tile(tile, tile).diagonal() for tile in tiles])

    def _check_loaded(self) -> None:
        size = self.shape_size(max(np.size(getattr(self, name, 0)) for name in ("lower", "upper")))
        if size > LARGEST_SHAPE:
            raise ValueError(f"expected a kernel with n_P <= {LARGEST_SHAPE}, got n_P = {size}")


def inner_kernel(kernel: Kernel) -> GeneralizedKernel:
    """Return the generalised kernel without the scaling of features."""
    inner = kernel.kernel if isinstance(kernel, Rescaled) else kernel
    if not isinstance(inner, GeneralizedKernel):
        raise ValueError(f"expected a generalised kernel, got {type(inner).__name__}")
    return inner


def check_shape_size(size: int, n_features: int) -> None:
    """Raise ValueError if the order n_P exceeds `LARGEST_SHAPE`."""
    if size > LARGEST_SHAPE:
        order = min(size, 10**100)  # larger integers overflow as floats
        raise ValueError(
            f"expected n_P <= {LARGEST_SHAPE}, got n_P = {printable(size, 40)} for {n_features} "
            f"features: P would take {8e-9 * order**2:.3g} GB; lower the degree, or select features"
        )


def blend_identity(factor: Array, share: float) -> Array:
    """Return a factor of (1 - share) F F' + share I, which preserves the trace n_P of F F'."""
    return np.hstack([np.sqrt(1.0 - share) * factor, np.sqrt(share) * np.eye(len(factor))])


def _select(side: Side, rows: Columns) -> Side:
    """Select rows of each array of a side."""
    return tuple(map(itemgetter(rows), side))


class Box:
    """The box [a, b] of the integral, a < b, with a uniform measure of total mass 1.

    `lower` and `upper` are numbers, or have one number for each feature; `density` is 1/(b - a)
    along each feature. The total mass 1 prevents over- and underflow with many features.
    """

    lower: Array
    upper: Array
    density: Array

    def __init__(self, lower: npt.ArrayLike, upper: npt.ArrayLike, n_features: int) -> None:
        self.lower = check_vector("lower", lower, n_features)
        self.upper = check_vector("upper", upper, n_features)
        invalid = np.flatnonzero(self.lower >= self.upper)
        if invalid.size:
            f = invalid[0]
            raise ValueError(
                f"expected lower < upper, got {self.lower[f]:g} and {self.upper[f]:g} for "
                f"feature {f}"
            )
        self.density = 1.0 / (self.upper - self.lower)

    def above(self, X: Array) -> Array:
        """Compute the measure of [x, b] for each point x in the box, shape (n_samples,)."""
        return np.asarray(np.prod((self.upper - X) * self.density, axis=1))


@lru_cache(maxsize=64)
def exponents(n_variables: int, degree: int) -> Indices:
    """List the exponents of all monomials up to a total degree, shape (count, n_variables).

    There are C(n_variables + degree, degree) monomials. They are sorted by total degree, then as in
    `itertools.combinations_with_replacement`.
    """
    return np.array([
        np.bincount(np.array(variables, dtype=np.intp), minlength=n_variables)
        for total in range(degree + 1)
        for variables in combinations_with_replacement(range(n_variables), total)
    ])  # fmt: skip


def monomials(X: Array, degree: int) -> Array:
    """Evaluate the monomials up to a total degree at each point, shape (n_samples, q)."""
    n = X.shape[1]
    powers = exponents(n, degree)
    columns = np.ones((len(powers), len(X)))
    columns[1 : n + 1] = X.T[: len(powers) - 1]  # the linear monomials, absent for degree 0
    for column, exponent in zip(columns[n + 1 :], powers[n + 1 :], strict=True):
        for f in np.flatnonzero(exponent):
            column *= X[:, f] ** exponent[f]
    return columns.T.copy()


class _FiniteRank(GeneralizedKernel):
    """A kernel k(x, y) = phi(x)'phi(y) with features phi that are linear in F."""

    finite_rank = True

    def _tile(self, left: Side, right: Side) -> Array:
        return np.asarray(left[0] @ right[0].T)


@dataclass(eq=False, repr=False)
class QuadratureKernel(_FiniteRank):
    """k_P(x, y) = sum_q weights_q N(z_q, x)' P N(z_q, y), for any basis N given on nodes.

    This is Lemma 5 of Talitckii, Colbert and Peet with a quadrature rule instead of the integral.
    The kernel is exact if the rule is exact, as for Gauss-Legendre nodes and a polynomial N.

    Parameters
    ----------
    function : callable
        N: (nodes of shape (n_nodes, p), points of shape (n_samples, n_features)) -> values of
        shape (n_nodes, n_samples, n_P).
    nodes : array-like of shape (n_nodes, p)
        The nodes z_q.
    weights : array-like of shape (n_nodes,)
        Weights of the quadrature rule, >= 0.
    factor : array-like of shape (n_P, r), optional
        F, with P = F F'; None means P = I.

    Notes
    -----
    The cost is O(n_nodes n_P) per point and O(n_samples^2 n_nodes r) for a Gram matrix. A kernel
    with a user-defined function cannot be saved to a file.
    """

    function: Callable[[Array, Array], npt.ArrayLike]
    nodes: npt.ArrayLike
    weights: npt.ArrayLike
    factor: npt.ArrayLike | None = None

    def shape_size(self, n_features: int) -> int:
        """Return n_P, the number of function values for one node and one point."""
        nodes = check_points(self.nodes, "nodes")
        with np.errstate(all="ignore"):  # the function can be infinite at zero
            return self._evaluate(nodes, np.zeros((1, n_features))).shape[2]

    def _evaluate(self, nodes: Array, X: Array) -> Array:
        """Evaluate N(z_q, x), shape (n_nodes, n_samples, n_P)."""
        values = np.asarray(self.function(nodes, X))
        fits = values.ndim == 3 and values.shape[:2] == (len(nodes), len(X)) and values.shape[2] > 0
        if not fits or values.dtype.kind not in "biuf":
            raise ValueError(
                f"expected the function to return numbers of shape ({len(nodes)}, {len(X)}, n_P), "
                f"n_P >= 1, got {values.dtype} of shape {values.shape}"
            )
        return values.astype(np.float64, copy=False)

    def _values(self, X: Array) -> Array:
        """Compute sqrt(weights_q) N(z_q, x), shape (n_nodes, n_samples, n_P)."""
        nodes = check_points(self.nodes, "nodes")
        weights = check_vector("weights", self.weights, len(nodes))
        if (weights < 0).any():
            raise ValueError(f"expected weights >= 0, got {weights.min():g}")
        values = self._evaluate(nodes, X)
        if not np.isfinite(values).all():
            raise ValueError("expected the function to return finite numbers, got NaN or inf")
        return values * np.sqrt(weights)[:, None, None]

    def _side(self, X: Array) -> Side:
        features = self._values(X)
        if self.factor is not None:
            features = features @ self.shape_factor(X.shape[1])
        # phi(x) has n_nodes r entries: its inner product sums over the nodes and the columns of F
        return (np.moveaxis(features, 1, 0).reshape(len(X), -1),)

    def _quadratic(self, X: Array, weights: Array) -> Array:
        # D(w) = sum_q s_q s_q' with s_q = sqrt(weights_q) sum_k w_k N(z_q, x_k)
        summed = np.einsum("k,qki->qi", weights, self._values(X))
        return np.asarray(summed.T @ summed)

    def _integrals(self, X: Array, basis: Array) -> Array:
        values = self._values(X) @ basis
        return np.einsum("qki,qlj->klij", values, values, optimize=True)


@dataclass(eq=False, repr=False)
class GeneralizedPolynomial(_FiniteRank):
    """k_P(x, y) = Int_[a, b] Z(x, z)' P Z(y, z) dz, Z the monomials of x and z up to a degree.

    This is a polynomial kernel with learned coefficients, of at most twice the degree of Z. The
    measure of the box is 1. With monomials of x only, P = n_P I gives the same f as the learned P.

    Parameters
    ----------
    lower : float or array-like of shape (n_features,), default=0.0
    upper : float or array-like of shape (n_features,), default=1.0
        The box [a, b] of z; x is unrestricted.
    degree : int, default=1
        Degree of the monomials, >= 0.
    factor : array-like of shape (n_P, r), optional
        F, with P = F F' and n_P = C(2 n_features + degree, degree); None means P = I.
    """

    lower: npt.ArrayLike = 0.0
    upper: npt.ArrayLike = 1.0
    degree: int = 1
    factor: npt.ArrayLike | None = None

    def shape_size(self, n_features: int) -> int:
        """Return n_P = C(2 n_features + degree, degree)."""
        degree = check_integer("degree", self.degree, least=0)
        return comb(2 * n_features + degree, degree)

    def _exponents(self, n_features: int) -> tuple[Indices, Indices]:
        """Split the monomials x^delta z^gamma of the basis.

        Returns the index of each x^delta among the monomials of x, shape (n_P,), and the exponents
        gamma, shape (n_P, n_features).
        """
        check_shape_size(self.shape_size(n_features), n_features)
        delta, gamma = np.hsplit(exponents(2 * n_features, self.degree), 2)
        index = {e.tobytes(): k for k, e in enumerate(exponents(n_features, self.degree))}
        return np.array([index[e.tobytes()] for e in delta]), gamma

    def _means(self, gamma: Indices) -> Array:
        """Compute the means of z^(gamma_i + gamma_j) over the box, shape (n_P, n_P).

        The mean of z^p on [a, b] is (b^p + b^(p-1) a + ... + a^p)/(p + 1), by Horner's scheme.
        """
        box = Box(self.lower, self.upper, gamma.shape[1])
        moments = np.ones((2 * self.degree + 1, len(box.lower)))
        total, power = moments[0].copy(), moments[0].copy()
        for p in range(1, len(moments)):
            power = power * box.lower
            total = total * box.upper + power
            moments[p] = total / (p + 1)
        means = np.ones((len(gamma), len(gamma)))
        for f, exponent in enumerate(gamma.T):
            means *= moments[exponent[:, None] + exponent, f]
        return means

    def _side(self, X: Array) -> Side:
        index, gamma = self._exponents(X.shape[1])
        Z = monomials(X, self.degree)
        # k(x, y) = Z(x)'M Z(y), monomials Z of x; M_ab = sum P_ij mean_ij, index_i = a, index_j = b
        M = np.zeros((Z.shape[1], Z.shape[1]))
        entries = self.shape_matrix(X.shape[1]) * self._means(gamma)
        np.add.at(M, (index[:, None], index), entries)
        check_kernel_values(M, self)
        # phi(x) = Z(x) U sqrt(L) from M = U L U'; eigenvalues below 0 are rounding errors
        values, vectors = np.linalg.eigh(M)
        return (Z @ (vectors * np.sqrt(np.maximum(values, 0.0))),)

    def _quadratic(self, X: Array, weights: Array) -> Array:
        index, gamma = self._exponents(X.shape[1])
        total = (weights @ monomials(X, self.degree))[index]  # sum_k w_k x_k^delta_i
        return np.outer(total, total) * self._means(gamma)

    def _integrals(self, X: Array, basis: Array) -> Array:
        index, gamma = self._exponents(X.shape[1])
        # G(x, y)_ij = x^delta_i mean_ij y^delta_j
        products = monomials(X, self.degree)[:, index, None] * basis
        return np.einsum("kai,ab,lbj->klij", products, self._means(gamma), products, optimize=True)


def check_degree(name: str, value: Any) -> int:
    """Return the degree of the monomials as an int; raise ValueError unless it is from 0 to 12.

    Up to degree 12, sums of integrals of monomials lose at most three digits.
    """
    degree = check_integer(name, value, least=0)
    if degree > 12:
        raise ValueError(f"expected {name} <= 12, got {value}")
    return degree


@dataclass(eq=False, repr=False)
class TessellatedKernel(GeneralizedKernel):
    r"""k_P(x, y) = Int_[a, b] N(z, x)' P N(z, y) dz, N = [Z I(z >= x); Z (1 - I(z >= x))].

    Z contains the q = C(n + d, d) monomials of the n features of x up to degree d. I(z >= x) is 1
    if z_f >= x_f for every feature f, else 0. So n_P = 2 q, and k_P is piecewise polynomial on a
    tessellation of the box by the points. These are eq. 13 and 14 with the block (2, 1) of
    Corollary 12 corrected and, as in the authors' code, monomials of x only.

    The measure of the box is 1. Let F' = [F1' F2'], u(x) = (F1 - F2)'Z(x), h(x) = F2'Z(x), p_x the
    measure of [x, b] and B_xy the measure of [max(x, y), b]. Then

    k(x, y) = B_xy u(x)'u(y) + p_x u(x)'h(y) + p_y h(x)'u(y) + h(x)'h(y).

    Parameters
    ----------
    lower : float or array-like of shape (n_features,), default=0.0
    upper : float or array-like of shape (n_features,), default=1.0
        The box [a, b]. Points outside are moved to the nearest point of the box, because the
        formula defines a kernel only inside.
    degree : int, default=1
        Degree of the monomials, 0 to 12.
    factor : array-like of shape (n_P, r), optional
        F, with P = F F'; None means P = I.

    Notes
    -----
    A Gram matrix of m points costs O(m^2 (n + r)) and needs one m x m array.
    """

    lower: npt.ArrayLike = 0.0
    upper: npt.ArrayLike = 1.0
    degree: int = 1
    factor: npt.ArrayLike | None = None

    def shape_size(self, n_features: int) -> int:
        """Return n_P = 2 C(n_features + degree, degree)."""
        degree = check_degree("degree", self.degree)
        return 2 * comb(n_features + degree, degree)

    def _monomials(self, X: Array) -> tuple[Box, Array, Array]:
        """Return the box, the points clipped to it, and Z, shape (n_samples, q)."""
        check_shape_size(self.shape_size(X.shape[1]), X.shape[1])
        box = Box(self.lower, self.upper, X.shape[1])
        X = np.clip(X, box.lower, box.upper)
        return box, X, monomials(X, self.degree)

    def _side(self, X: Array) -> Side:
        """Compute the clipped points, H, L and u(x), each with one row per point.

        L(x)'H(y) + H(x)'L(y) = p_x u(x)'h(y) + p_y h(x)'u(y) + h(x)'h(y). The rows of H are h(x),
        or the monomials Z(x) if there are fewer of them.
        """
        box, X, Z = self._monomials(X)
        F1, h = np.split(self.shape_factor(X.shape[1]), 2)
        u, above = F1 - h, box.above(X)[:, None]
        if u.shape[1] < Z.shape[1]:
            H: Array = Z @ h
            L = above * (Z @ u) + 0.5 * H
        else:
            H = Z
            L = above * (Z @ (u @ h.T)) + 0.5 * (Z @ (h @ h.T))
        if u.shape[1] > len(u):
            # as u' = Q R, u u' = R'R: R' has fewer columns and the same u(x)'u(y)
            u = np.linalg.qr(u.T)[1].T
        return (X, H, L, np.asfortranarray(Z) @ np.ascontiguousarray(u))

    def _tile(self, left: Side, right: Side) -> Array:
        (X, H, L, u), (Y, H_y, L_y, u_y) = left, right
        box = Box(self.lower, self.upper, X.shape[1])
        # k = B * (u u_y') + L H_y' + H L_y', with B_xy the measure of [max(x, y), b]
        added = np.hstack([L, H]) @ np.hstack([H_y, L_y]).T
        tile: Array = u @ u_y.T
        multiply_overlap(tile, X, np.ascontiguousarray(Y.T), box.upper, box.density, added)
        return tile

    def _quadratic(self, X: Array, weights: Array) -> Array:
        box, X, Z = self._monomials(X)
        weighted = Z * weights[:, None]
        total = weighted.sum(axis=0)
        above = (weighted * box.above(X)[:, None]).T @ np.ones((len(X), 1))
        # With A = Z I(z >= x), N = [A; Z - A]. The four blocks of D consist of sums of integrals
        # over pairs (k, l): S of A(x_k)'A(x_l), T of A(x_k)'Z(x_l) and V of Z(x_k)'Z(x_l).
        S = _sum_over_pairs(X, weighted, box)
        T, V = above * total, np.outer(total, total)
        return np.block([[S, T - S], [T.T - S, V - T - T.T + S]])

    def _integrals(self, X: Array, basis: Array) -> Array:
        box, X, Z = self._monomials(X)
        F1, F2 = np.split(basis, 2)
        # as in _side, with outer products: B_kl u_k u_l' + L_k h_l' + h_k L_l'
        u, h = Z @ (F1 - F2), Z @ F2
        L = box.above(X)[:, None] * u + 0.5 * h
        B = _overlap(X, X, box)
        return _outer(B[:, :, None] * u[:, None], u) + _outer(L[:, None], h) + _outer(h[:, None], L)


def build_tessellated(
    X: Array,
    degree: int,
    delta: npt.ArrayLike | tuple[npt.ArrayLike, npt.ArrayLike],
    scale: bool,
) -> TessellatedKernel | Rescaled:
    """Build the tessellated kernel on a box around X, with the scaling of features."""
    pair = delta if isinstance(delta, tuple) else (delta, delta)
    if len(pair) != 2:
        raise ValueError(
            f"expected a tuple delta to be a pair (below, above), got {delta!r}; pass one "
            "number per feature as a list or an array"
        )
    if isinstance(delta, bool | np.bool_ | complex | None):
        raise ValueError(f"expected delta to be a number, a pair or a list, got {delta!r}")
    # the box around features in [0, 1]
    below = check_vector("delta", pair[0], X.shape[1])
    above = check_vector("delta", pair[1], X.shape[1])
    if min(below.min(), above.min()) < 0:
        raise ValueError(f"expected delta >= 0, got {delta!r}")
    lower, upper = -below, 1.0 + above
    kernel = TessellatedKernel(lower, upper, degree)
    check_shape_size(kernel.shape_size(X.shape[1]), X.shape[1])
    if scale:
        widths = X.max(axis=0) - X.min(axis=0)
        return Rescaled(kernel, X.min(axis=0), np.where(widths > 0.0, widths, 1.0))
    outside = (lower > X) | (upper < X)
    if outside.any():
        row, column = np.argwhere(outside)[0]
        raise ValueError(
            f"expected features in the box [0 - delta, 1 + delta], got {X[row, column]:g} in "
            f"column {column}; scale=True scales the features to [0, 1]"
        )
    return kernel


def _outer(left: Array, right: Array) -> Array:
    """Compute the outer products of vectors left_kl and right_l, shape (m, m, r, r)."""
    return np.asarray(left[..., None] * right[:, None, :])


def _overlap(X: Array, Y: Array, box: Box) -> Array:
    """Compute the measure of [max(x, y), b] for all rows x of X and y of Y."""
    B = np.ones((len(X), len(Y)))
    columns = np.ascontiguousarray(Y.T)
    multiply_overlap(B, X, columns, box.upper, box.density, np.zeros_like(B))
    return B


def _sum_over_pairs(X: Array, weighted: Array, box: Box) -> Array:
    """Compute weighted' B weighted, shape (q, q); B_kl is the measure of [max(x_k, x_l), b]."""
    total = np.zeros((weighted.shape[1],) * 2)
    blocks = list(slices(len(X), 128))  # tiles of B fit into the processor cache
    for i, rows in enumerate(blocks):
        for columns in blocks[: i + 1]:
            tile = _overlap(X[rows], X[columns], box)
            if rows == columns:
                tile *= 0.5  # a tile on the diagonal equals its transpose, which is added below
            product = weighted[rows].T @ tile @ weighted[columns]
            total += product + product.T
    return total


def multiply_overlap(
    tile: Array, left: Array, right: Array, upper: Array, density: Array, added: Array
) -> None:
    """Replace `tile` with tile * B + added, entrywise.

    B_ij = prod_f (upper_f - max(left_if, right_fj)) density_f is the measure of [max(x, y), b].
    `left` holds points as rows, shape (m, n); `right` holds points as columns, shape (n, k).
    """
    if not process.BARE:
        _multiply_overlap(tile, left, right, upper, density, added)
        return
    for x, y, b, scale in zip(left.T, right, upper, density, strict=True):
        tile *= (b - np.maximum.outer(x, y)) * scale
    tile += added


@compiled
def _multiply_overlap(
    tile: Array, left: Array, right: Array, upper: Array, density: Array, added: Array
) -> None:
    """Do the same in one pass, with the same bits."""
    # the inner loops run along rows of `tile`, which are contiguous in memory
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
