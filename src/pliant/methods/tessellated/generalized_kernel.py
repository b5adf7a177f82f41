"""Kernels that are linear in a positive semi-definite matrix: the generalised kernels.

    k_P(x, y) = Int N(z, x)' P N(z, y) dz,    P = F F' positive semi-definite

(Lemma 5 of Talitckii, Colbert and Peet). The basis N defines the family, P the member. With
G_ij(x, y) = Int N_i(z, x) N_j(z, y) dz, k_P = sum_ij P_ij G_ij, and learning P requires

    D(w)_ij = sum_kl w_k w_l G_ij(x_k, x_l),    so that    w' K_P w = <D(w), P>.

The families of pliant integrate over a box, and two of them have monomials as their basis; the
box and the monomials are in this file too.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import combinations_with_replacement, pairwise
from math import comb
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np
import numpy.typing as npt
from sklearn.base import clone

from pliant.core.kernels.base import Kernel
from pliant.core.text import printable
from pliant.core.typing import Array, Between, Columns, Indices
from pliant.core.validation import check_points, check_vector

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

    def shape_size_on(self, X: Array) -> int:
        """Return n_P for points like the rows of X."""
        return self.shape_size(X.shape[1])

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
        """Return F, shape (n_P, r); the identity if no factor was given.

        Raises
        ------
        ValueError
            If its shape does not fit the family.
        """
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

    def gram(self, X: npt.ArrayLike, dtype: npt.DTypeLike = np.float64) -> Array:
        """Return k between all rows of X, exactly symmetric, in the precision `dtype`.

        Half of the matrix is computed, in float64 and in tiles, so that no other array of its
        size is needed.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        dtype : dtype
            float32 halves the memory, with an error of about 1e-7.
        """
        X = check_points(X, "X")
        side = self._side(X)
        gram = np.empty((len(X), len(X)), dtype=dtype)
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
        """Return D(w), shape (n_P, n_P), symmetric PSD; points of zero weight are skipped.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        weights : array-like of shape (n_samples,)
            w, of any sign.
        """
        X = check_points(X, "X")
        w = check_vector("weights", weights, len(X))
        used = np.flatnonzero(w)
        if used.size == 0:
            return np.zeros((self.shape_size_on(X),) * 2)
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
    """The box [a, b] of the integral, a < b, and its measure: 1 if `normalized`, else its volume.

    `lower` and `upper` are numbers, or have one number for each feature.
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
        """Return the measure of [x, b] for each point of the box, shape (n_samples,)."""
        return np.asarray(np.prod((self.upper - X) * self.inverse, axis=1))


def raw_moments(low: Array, high: Array, order: int) -> Array:
    """Return E z^p for z uniform on [low, high] and p = 0..order, shape (order + 1, ...).

    The value is (high^p + high^(p-1) low + ... + low^p)/(p + 1), which needs no division by
    high - low and so holds for low = high too.
    """
    moments = np.ones((order + 1, *np.broadcast(low, high).shape))
    power = moments[0].copy()
    total = moments[0].copy()
    for p in range(1, order + 1):
        power = power * low
        total = total * high + power  # Horner's scheme: the sum of order p from that of p - 1
        moments[p] = total / (p + 1)
    return moments


@dataclass(frozen=True, eq=False)
class MonomialBasis:
    """The monomials x^delta_i z^gamma_i, i = 1..q, of total degree `degree` or less.

    They are in graded order: by total degree, then as `itertools.combinations_with_replacement`
    lists the variables x_1, ..., x_n, z_1, ..., z_n.

    Attributes
    ----------
    n_features, degree : int
        n, the number of features of x (and z), and the largest total degree.
    in_x : array of shape (q_x, n)
        The exponents of the monomials of x alone.
    x_part : array of shape (q,)
        The row of `in_x` that is delta_i.
    z_part : array of shape (q, n)
        gamma_i; zero where the basis has no z.
    z_sums : array of shape (s, n)
        All possible values of gamma_i + gamma_j.
    sum_of : array of shape (q, q)
        The row of `z_sums` that is gamma_i + gamma_j.
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
        """q, the number of monomials."""
        return len(self.x_part)

    @property
    def degree_in_z(self) -> int:
        """The largest degree in z of a monomial; 0 where the basis has no z."""
        return int(self.z_sums[-1].sum()) // 2

    def monomials(self, X: Array) -> Array:
        """Return the monomials of x alone at each point, shape (n_samples, q_x)."""
        n = self.n_features
        columns = np.ones((len(self.in_x), len(X)))
        columns[1 : n + 1] = X.T[: len(self.in_x) - 1]  # none of them for degree 0
        for column, exponent in zip(columns[n + 1 :], self.in_x[n + 1 :], strict=True):
            for f in np.flatnonzero(exponent):
                column *= X[:, f] ** exponent[f]
        return columns.T.copy()

    def means(self, low: Array, high: Array) -> Array:
        """Return E z^g for each g in `z_sums`, z uniform on the boxes [low, high], shape (m, s).

        The corners have shape (m, n) or (n,).
        """
        low, high = np.broadcast_arrays(np.atleast_2d(low), high)
        if not self.z_sums.any():
            return np.ones((len(low), 1))
        moments = raw_moments(low.T, high.T, int(self.z_sums.max(initial=0)))
        means: Array = np.ones((len(self.z_sums), len(low)))
        for exponents, features in self._powers:
            means *= moments[exponents, features]
        return means.T.copy()

    @cached_property
    def _powers(self) -> list[tuple[Indices, Indices]]:
        """The factors z_f^p of each z^g: all first ones, all second ones, ..., as (p, f).

        A z^g of fewer factors than others has z_f^0 = 1 for the rest.
        """
        used = np.argsort(self.z_sums == 0, axis=1, kind="stable")
        most = int((self.z_sums > 0).sum(axis=1).max(initial=0))
        rows = np.arange(len(self.z_sums))
        return [(self.z_sums[rows, used[:, k]], used[:, k]) for k in range(most)]

    def pairs(self) -> Iterator[tuple[int, Indices, Indices, slice]]:
        """Yield, for each row g of `z_sums`, all pairs (i, j) with gamma_i + gamma_j = g.

        The last item is a slice of `in_x` that holds delta_i and delta_j of all these pairs.
        """
        order = np.argsort(self.sum_of, axis=None, kind="stable")
        starts = np.searchsorted(self.sum_of.ravel()[order], np.arange(len(self.z_sums) + 1))
        for g, (low, high) in enumerate(pairwise(starts)):
            i, j = np.unravel_index(order[low:high], self.sum_of.shape)
            yield g, i, j, self.share(g)

    def share(self, g: int) -> slice:
        """Return the x^delta that can occur beside z^g: |delta_i| + |delta_j| + |g| <= 2 degree."""
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
    """Return the monomials of x, or of x and z, up to a total degree.

    Their number is C(n + degree, degree) for x alone and C(2n + degree, degree) for both.
    """
    in_x = _exponents(n_features, degree)
    delta, gamma = in_x, np.zeros_like(in_x)
    if with_z:
        delta, gamma = np.hsplit(_exponents(2 * n_features, degree), 2)
    z_sums = _exponents(n_features, 2 * degree if with_z else 0)
    # Many monomials share a gamma: look up the sums of the distinct ones only, then expand them.
    distinct, which = np.unique(gamma, axis=0, return_inverse=True)
    pairs = (distinct[:, None] + distinct).reshape(len(distinct) ** 2, n_features)
    sums = _positions(pairs, z_sums)
    which = which.ravel()
    return MonomialBasis(
        n_features, degree, in_x, _positions(delta, in_x), gamma, z_sums,
        sums.reshape(len(distinct), -1)[np.ix_(which, which)],
    )  # fmt: skip


def _exponents(n_variables: int, degree: int) -> Indices:
    """Return the exponents of all monomials up to a degree, shape (count, n_variables)."""
    return np.array([
        np.bincount(np.array(variables, dtype=np.intp), minlength=n_variables)
        for total in range(degree + 1)
        for variables in combinations_with_replacement(range(n_variables), total)
    ])  # fmt: skip


def _positions(rows: Indices, table: Indices) -> Indices:
    """Return the position of each row of exponents in a table that contains it.

    Rows are compared by a random linear code of 64 bits, modulo 2^64.
    """
    numbers = np.random.default_rng(0).integers(1, 2**63, rows.shape[1], dtype=np.uint64)
    codes, wanted = (part.astype(np.uint64) @ numbers for part in (table, rows))
    order = np.argsort(codes)
    assert (np.diff(codes[order]) != 0).all()  # no two have the same code
    return order[np.searchsorted(codes[order], wanted)]
