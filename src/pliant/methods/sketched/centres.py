"""The choice of centres, the factor of their kernel matrix, and preconditioners made of it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.linalg.blas import dsyrk
from scipy.linalg.lapack import dpotrf, dpotrs, dpstrf, dtrtrs

from pliant.core.kernels.base import Kernel
from pliant.core.linalg import mirror
from pliant.core.typing import Array, Indices
from pliant.methods.sketched.rows import Data, take

ROUNDING = 4.0 * float(np.finfo(np.float64).eps)
"""Pivots below this share of the largest one, times the number of centres, are rounding errors."""

INDEFINITE = 1e-6
"""Where what the factor leaves of a kernel matrix exceeds this share of its largest entry, the
matrix is not positive semi-definite."""

CHECKED = 256
"""Centres left out of which that is checked."""

CHUNK = 256
"""Columns of the factor that are copied at once."""


class Centres(NamedTuple):
    """Points, their rows (None where they were given), and how many rows each stands for."""

    points: Array
    rows: Indices | None
    weights: Array


def drawn_centres(X: Data, weights: Array, count: int, draw: np.random.RandomState) -> Centres:
    """Return different rows, in increasing order, drawn with probabilities as their weights.

    All rows of weight > 0, if there are no more than `count` of them.
    """
    rows = np.flatnonzero(weights)
    if len(rows) <= count:
        return Centres(take(X, rows), rows, weights[rows])
    shares = None
    if weights[rows].min() < weights[rows].max():
        shares = weights[rows] / weights[rows].sum()
    rows = np.sort(rows[draw.choice(len(rows), count, replace=False, p=shares)])
    return Centres(take(X, rows), rows, np.full(count, float(weights.sum()) / count))


@dataclass(frozen=True, eq=False)
class CentreFactor:
    """P'K P / scale = U'U for the kernel matrix K of m centres, of rank r to rounding.

    `upper` is U, shape (r, m), in Fortran order and upper triangular in its first r columns;
    `order` has the centres in the order of its columns, of which the first r span all; `scale` is
    the power of two below the largest diagonal entry of K.
    """

    upper: Array
    order: Indices
    scale: float

    @property
    def rank(self) -> int:
        """The number of centres that are kept."""
        return len(self.upper)

    @property
    def triangle(self) -> Array:
        """The first r columns of U; below the diagonal stands anything."""
        return self.upper[:, : self.rank]

    def coefficients(self, w: Array) -> Array:
        """Return U^{-1} w: coefficients of the kept centres, times `scale`."""
        return np.asarray(dtrtrs(self.triangle, w)[0])

    def features(self, sums: Array) -> Array:
        """Return U^{-T} sums."""
        return np.asarray(dtrtrs(self.triangle, sums, trans=1)[0])

    def covariance(self, weights: Array, centred: bool) -> Array:
        """Return the upper triangle of V diag(weights) V', for the features V = U of the centres.

        Their weighted mean is subtracted first if `centred`. The weights, shape (m,), are in the
        order in which the centres were given; the result, shape (r, r), is in Fortran order.
        """
        weights = weights[self.order]
        r, m = self.upper.shape
        means = np.zeros(r)
        if centred:
            for low in range(0, m, CHUNK):
                means += self._columns(low) @ weights[low : low + CHUNK]
            means /= weights.sum()
        total = np.zeros((r, r), order="F")
        for low in range(0, m, CHUNK):
            features = self._columns(low)
            features -= means[:, None]
            features *= np.sqrt(weights[low : low + CHUNK])
            total = dsyrk(1.0, features, beta=1.0, c=total, overwrite_c=1)
        return total

    def _columns(self, low: int) -> Array:
        """Return a copy of some columns of U, with zeros below the diagonal."""
        return np.asfortranarray(np.triu(self.upper[:, low : low + CHUNK], -low))


def factor_of(kernel: Kernel, centres: Array) -> CentreFactor:
    """Return the factor of the kernel matrix of some centres, shape (m, d); O(m^3).

    A Cholesky factorisation with pivots leaves out centres that others span to rounding. A matrix
    that is not positive semi-definite, or is zero, is a ValueError.
    """
    gram = np.array(kernel._between_sets(centres, centres), dtype=np.float64, order="C")
    largest = float(gram.diagonal().max())
    if not largest > 0.0:
        raise ValueError(
            f"expected a kernel with k(x, x) > 0 for at least one of {len(centres)} centres, got "
            f"{largest:g} at most from {type(kernel).__name__}"
        )
    scale = math.ldexp(1.0, math.frexp(largest)[1] - 1)
    gram /= scale
    tolerance = ROUNDING * len(gram) * largest / scale
    upper, order, rank, _ = dpstrf(gram.T, tol=tolerance, lower=0, overwrite_a=1)
    order = np.asarray(order, dtype=np.intp) - 1
    if rank < len(centres):
        upper = np.array(upper[:rank], order="F")
        _check_definite(kernel, centres[order[rank:]], upper[:, rank:], scale)
    return CentreFactor(upper, order, scale)


def _check_definite(kernel: Kernel, left_out: Array, columns: Array, scale: float) -> None:
    """Raise ValueError unless the columns of U explain the kernel values of points left out."""
    chosen = slice(0, CHECKED)
    gram = kernel._between_sets(left_out[chosen], left_out[chosen].copy()) / scale
    rest = float(np.abs(gram - columns[:, chosen].T @ columns[:, chosen]).max())
    if not rest <= INDEFINITE * max(1.0, float(np.abs(gram).max())):
        raise ValueError(
            "expected a kernel that is positive semi-definite on the centres, got an entry of "
            f"{rest:.3g} times the largest diagonal one that no such kernel has, from "
            f"{type(kernel).__name__}; choose another kernel, or other parameters of it"
        )


class Preconditioner:
    """The inverse of a matrix plus `ridge` I, by its Cholesky factor. O(r^3), memory r^2.

    The matrix, shape (r, r), is in Fortran order, positive semi-definite but for rounding, known by
    its upper triangle, and overwritten. Where rounding asks for a larger ridge, more is added.
    """

    def __init__(self, matrix: Array, ridge: float) -> None:
        diagonal = matrix.diagonal().copy()
        least = ROUNDING * len(matrix) * float(diagonal.max(initial=0.0))
        mirror(matrix.T)  # the factor overwrites the upper triangle only
        for added in (ridge, ridge + least, ridge + 1e3 * least, ridge + 1e6 * least):
            matrix[np.diag_indices_from(matrix)] = diagonal + added
            self._factor, place = dpotrf(matrix, lower=0, clean=0, overwrite_a=1)
            if not place:
                return
            mirror(matrix)
        raise ValueError("expected finite kernel values; scale the features")

    def __call__(self, right: Array) -> Array:
        """Return the inverse times some columns, shape (r, t)."""
        return np.asarray(dpotrs(self._factor, right, lower=0)[0])
