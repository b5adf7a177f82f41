"""Kernels that are linear in a positive semi-definite matrix: the generalised kernels.

    k_P(x, y) = Int N(z, x)' P N(z, y) dz,    P = F F' positive semi-definite

(Lemma 5 of Talitckii, Colbert and Peet). The basis N defines the family, P the member. With
G_ij(x, y) = Int N_i(z, x) N_j(z, y) dz, k_P = sum_ij P_ij G_ij, and learning P requires

    D(w)_ij = sum_kl w_k w_l G_ij(x_k, x_l),    so that    w' K_P w = <D(w), P>.

Families of finite rank are here: any basis by its values on quadrature nodes, and polynomials.
`tessellated_kernel` has the family of TKL. Both use the box and the monomials of this file.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from functools import lru_cache
from itertools import combinations_with_replacement
from math import comb
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np
import numpy.typing as npt
from sklearn.base import clone

from pliant.core.text import printable
from pliant.core.typing import Array, Between, Columns, Indices
from pliant.core.validation import check_integer, check_points, check_vector
from pliant.kernels.base import Kernel

TILE = 512
"""Number of points on each side of the tiles in which a Gram matrix is computed."""

DIAGONAL_TILE = 16
"""The same where only the diagonal is needed: the rest of each tile is wasted."""

Side: TypeAlias = tuple[Array, ...]
"""What depends on one argument of the kernel only: arrays with one entry per point."""

LARGEST_SHAPE = 10_000
"""Largest n_P: P and D(w) then take .8 GB each."""


class GeneralizedKernel(Kernel):
    """The kernel k_P of the module docstring; a subclass defines the basis N.

    Attributes
    ----------
    factor : array of shape (n_P, r) or None
        F, with P = F F'. None is P = I.
    """

    factor: Any

    finite_rank: ClassVar[bool] = False
    """Whether the Gram matrices of every member have a rank that does not grow with the points."""

    @abstractmethod
    def shape_size(self, n_features: int) -> int:
        """Return n_P, the order of P, for points with this number of features."""

    @abstractmethod
    def _side(self, X: Array) -> Side:
        """Return what `_tile` needs of the points X."""

    @abstractmethod
    def _tile(self, left: Side, right: Side) -> Array:
        """Return k between two sets of points, float64."""

    @abstractmethod
    def _quadratic(self, X: Array, weights: Array) -> Array:
        """Return D(w) for checked points."""

    def with_factor(self, factor: Array | None) -> Self:
        """Return the member of the same family with P = factor factor'."""
        member: Self = clone(self).set_params(factor=factor)
        return member

    def shape_factor(self, n_features: int) -> Array:
        """Return F, shape (n_P, r), the identity if no factor was given; check its shape."""
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
        """Return k between all rows of X, shape (n_samples, n_samples), exactly symmetric.

        Half of the matrix is computed, in tiles, so that no other array of its size is needed.
        """
        X = check_points(X, "X")
        side = self._side(X)
        gram = np.empty((len(X), len(X)))
        for rows in slices(len(X), TILE):
            for columns in slices(rows.stop, TILE):
                tile = self._tile(_part(side, rows), _part(side, columns))
                if rows == columns:
                    tile = 0.5 * (tile + tile.T)  # exactly symmetric
                else:
                    gram[columns, rows] = tile.T
                gram[rows, columns] = tile
        return gram

    def quadratic(self, X: npt.ArrayLike, weights: npt.ArrayLike) -> Array:
        """Return D(w), shape (n_P, n_P), symmetric PSD, for weights w of any sign."""
        X = check_points(X, "X")
        w = check_vector("weights", weights, len(X))
        used = np.flatnonzero(w)
        if used.size == 0:
            return np.zeros((self.shape_size(X.shape[1]),) * 2)
        matrix = self._quadratic(X[used], w[used])
        return 0.5 * (matrix + matrix.T)

    def prepared(self, points: Array) -> Between:
        """Return k between points of a set; what depends on one point only is computed once."""
        side = self._side(points)
        return lambda rows, columns: self._between(_part(side, rows), _part(side, columns))

    def _gram(self, X: Array, Y: Array) -> Array:
        return self.gram(X) if Y is X else self._between(self._side(X), self._side(Y))

    def _between(self, left: Side, right: Side) -> Array:
        """Return k between two sets of points, computed in tiles."""
        gram = np.empty((len(left[0]), len(right[0])))
        for rows in slices(len(gram), TILE):
            for columns in slices(gram.shape[1], TILE):
                gram[rows, columns] = self._tile(_part(left, rows), _part(right, columns))
        return gram

    def _diagonal(self, X: Array) -> Array:
        side = self._side(X)
        tiles = [_part(side, rows) for rows in slices(len(X), DIAGONAL_TILE)]
        return np.concatenate([self._tile(tile, tile).diagonal() for tile in tiles])

    def _check_loaded(self) -> None:
        super()._check_loaded()
        if self.factor is not None:
            check_points(self.factor, "factor")
        box = (getattr(self, name, 0.0) for name in ("lower", "upper"))
        size = self.shape_size(max(map(np.size, box)))
        if size > LARGEST_SHAPE:
            raise ValueError(f"expected n_P <= {LARGEST_SHAPE} of a kernel in a file, got {size}")


def check_shape_size(size: int, n_features: int) -> None:
    """Raise ValueError if P of this order is too large to learn."""
    if size > LARGEST_SHAPE:
        most = min(size, 10**100)  # a larger number is no float
        raise ValueError(
            f"expected n_P <= {LARGEST_SHAPE}, got n_P = {printable(size, 40)} for {n_features} "
            f"features: P would take {8e-9 * most**2:.3g} GB; lower the degree, or choose features"
        )


def blended(factor: Array, share: float) -> Array:
    """Return a factor of (1 - share) P + share I, for tr P = n_P."""
    return np.hstack([np.sqrt(1.0 - share) * factor, np.sqrt(share) * np.eye(len(factor))])


def slices(count: int, step: int) -> Iterator[slice]:
    """Cut range(count) into slices."""
    for low in range(0, count, step):
        yield slice(low, min(low + step, count))


def _part(side: Side, rows: Columns) -> Side:
    return tuple(array[rows] for array in side)


class Box:
    """The box [a, b] of the integral, a < b, with a uniform measure of 1.

    `lower` and `upper` are numbers, or have one number for each feature; `density` is that of the
    measure along each feature. A measure of 1 keeps many features from over- or underflowing.
    """

    def __init__(self, lower: Any, upper: Any, n_features: int) -> None:
        self.lower = check_vector("lower", lower, n_features)
        self.upper = check_vector("upper", upper, n_features)
        wrong = np.flatnonzero(self.lower >= self.upper)
        if wrong.size:
            f = wrong[0]
            raise ValueError(
                f"expected lower < upper, got {self.lower[f]:g} and {self.upper[f]:g} for "
                f"feature {f}"
            )
        self.density = 1.0 / (self.upper - self.lower)

    def clip(self, X: Array) -> Array:
        """Return the nearest points of the box."""
        return np.clip(X, self.lower, self.upper)

    def above(self, X: Array) -> Array:
        """Return the measure of [x, b] for each point of the box, shape (n_samples,)."""
        return np.asarray(np.prod((self.upper - X) * self.density, axis=1))


@lru_cache(maxsize=64)
def exponents(n_variables: int, degree: int) -> Indices:
    """Return the exponents of all monomials up to a total degree, shape (count, n_variables).

    They are in graded order: by total degree, then as `itertools.combinations_with_replacement`
    lists the variables. Their number is C(n_variables + degree, degree).
    """
    return np.array([
        np.bincount(np.array(variables, dtype=np.intp), minlength=n_variables)
        for total in range(degree + 1)
        for variables in combinations_with_replacement(range(n_variables), total)
    ])  # fmt: skip


def monomials(X: Array, degree: int) -> Array:
    """Return the monomials up to a total degree at each point, shape (n_samples, q)."""
    n = X.shape[1]
    powers = exponents(n, degree)
    columns = np.ones((len(powers), len(X)))
    columns[1 : n + 1] = X.T[: len(powers) - 1]  # none of them for degree 0
    for column, exponent in zip(columns[n + 1 :], powers[n + 1 :], strict=True):
        for f in np.flatnonzero(exponent):
            column *= X[:, f] ** exponent[f]
    return columns.T.copy()


class _FiniteRank(GeneralizedKernel):
    """k(x, y) = phi(x)'phi(y), where the features phi are linear in F."""

    finite_rank = True

    def _tile(self, left: Side, right: Side) -> Array:
        return np.asarray(left[0] @ right[0].T)


class QuadratureKernel(_FiniteRank):
    """k_P(x, y) = sum_q weights_q N(z_q, x)' P N(z_q, y): any basis N, by its values on nodes.

    This is Lemma 5 of Talitckii, Colbert and Peet with a quadrature rule in place of the integral.
    Where the rule is exact (Gauss-Legendre nodes and a polynomial N), so is the kernel.

    Parameters
    ----------
    function : callable
        N: (nodes of shape (n_nodes, p), points of shape (n_samples, n_features)) -> values of
        shape (n_nodes, n_samples, n_P).
    nodes : array-like of shape (n_nodes, p)
        The nodes z_q.
    weights : array-like of shape (n_nodes,)
        Weights of the rule, >= 0.
    factor : array-like of shape (n_P, r), optional
        F, with P = F F'; None is P = I.

    Notes
    -----
    The cost is O(n_nodes n_P) for a point and O(n_samples^2 n_nodes r) for a Gram matrix. A kernel
    with a user-defined function cannot be saved to a file.
    """

    def __init__(self, function: Any, nodes: Any, weights: Any, factor: Any = None) -> None:
        self.function = function
        self.nodes = nodes
        self.weights = weights
        self.factor = factor

    def shape_size(self, n_features: int) -> int:
        """Return n_P: the number of values of the function for one node and one point."""
        with np.errstate(all="ignore"):  # the function need not be finite at zero
            return self._called(check_points(self.nodes, "nodes"), np.zeros((1, n_features))).shape[
                2
            ]

    def _called(self, nodes: Array, X: Array) -> Array:
        """Return N(z_q, x), shape (n_nodes, n_samples, n_P)."""
        values = np.asarray(self.function(nodes, X))
        fits = values.ndim == 3 and values.shape[:2] == (len(nodes), len(X)) and values.shape[2] > 0
        if not fits or values.dtype.kind not in "biuf":
            raise ValueError(
                f"expected the function to return numbers of shape ({len(nodes)}, {len(X)}, n_P), "
                f"n_P >= 1, got {values.dtype} of shape {values.shape}"
            )
        return values.astype(np.float64, copy=False)

    def _values(self, X: Array) -> Array:
        """Return sqrt(weights_q) N(z_q, x), shape (n_nodes, n_samples, n_P)."""
        nodes = check_points(self.nodes, "nodes")
        weights = check_vector("weights", self.weights, len(nodes))
        if (weights < 0).any():
            raise ValueError(f"expected weights >= 0, got {weights.min():g}")
        values = self._called(nodes, X)
        if not np.isfinite(values).all():
            raise ValueError("expected the function to return finite numbers, got NaN or inf")
        return values * np.sqrt(weights)[:, None, None]

    def _side(self, X: Array) -> Side:
        features = self._values(X)
        if self.factor is not None:
            features = features @ self.shape_factor(X.shape[1])
        # one row of n_nodes r features per point: their inner product sums over nodes and columns
        return (np.moveaxis(features, 1, 0).reshape(len(X), -1),)

    def _quadratic(self, X: Array, weights: Array) -> Array:
        # D(w) = sum_q s_q s_q' with s_q = sqrt(weights_q) sum_k w_k N(z_q, x_k)
        summed = np.einsum("k,qki->qi", weights, self._values(X))
        return np.asarray(summed.T @ summed)


class GeneralizedPolynomial(_FiniteRank):
    """k_P(x, y) = Int_[a, b] Z(x, z)' P Z(y, z) dz, Z the monomials of x and z up to a degree.

    A polynomial kernel whose coefficients are learned, of at most twice that degree; the measure of
    the box is 1. (With monomials of x alone there would be nothing to learn: the optimum is that of
    P = n_P I.)

    Parameters
    ----------
    lower, upper : float or array-like of shape (n_features,)
        The box [a, b] of z; x may lie anywhere.
    degree : int
        Degree of the monomials, >= 0.
    factor : array-like of shape (n_P, r), optional
        F, with P = F F' and n_P = C(2 n_features + degree, degree); None is P = I.
    """

    def __init__(
        self,
        lower: Any = 0.0,
        upper: Any = 1.0,
        degree: int = 1,
        factor: Any = None,
    ) -> None:
        self.lower = lower
        self.upper = upper
        self.degree = degree
        self.factor = factor

    def shape_size(self, n_features: int) -> int:
        """Return n_P = C(2 n_features + degree, degree)."""
        degree = check_integer("degree", self.degree, least=0)
        return comb(2 * n_features + degree, degree)

    def _exponents(self, n_features: int) -> tuple[Indices, Indices]:
        """Return delta and gamma of the monomials x^delta z^gamma, each (n_P, n_features)."""
        check_shape_size(self.shape_size(n_features), n_features)
        delta, gamma = np.hsplit(exponents(2 * n_features, self.degree), 2)
        return delta, gamma

    def _x_parts(self, delta: Indices) -> Indices:
        """Return the number of each x^delta among the monomials of x alone."""
        numbers = {e.tobytes(): k for k, e in enumerate(exponents(delta.shape[1], self.degree))}
        return np.array([numbers[e.tobytes()] for e in delta])

    def _means(self, gamma: Indices) -> Array:
        """Return the means of z^(gamma_i + gamma_j) over the box, shape (n_P, n_P).

        Of z^p on [a, b], it is (b^p + b^(p-1) a + ... + a^p)/(p + 1), by Horner's scheme.
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
        delta, gamma = self._exponents(X.shape[1])
        Z, parts = monomials(X, self.degree), self._x_parts(delta)
        form = np.zeros((Z.shape[1], Z.shape[1]))
        np.add.at(form, (parts[:, None], parts), self.shape_matrix(X.shape[1]) * self._means(gamma))
        # k(x, y) = Z(x)' form Z(y), Z the monomials of x alone; a factor of `form` gives features
        values, vectors = np.linalg.eigh(form)
        return (Z @ (vectors * np.sqrt(np.maximum(values, 0.0))),)

    def _quadratic(self, X: Array, weights: Array) -> Array:
        delta, gamma = self._exponents(X.shape[1])
        total = (weights @ monomials(X, self.degree))[self._x_parts(delta)]  # sum_k w_k x_k^delta_i
        return np.outer(total, total) * self._means(gamma)
