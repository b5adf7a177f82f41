"""Centres, the Cholesky factor of their kernel matrix, and the normal equations."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

import numpy as np
from scipy.linalg.blas import dsyrk
from scipy.linalg.lapack import dpotrf, dpotrs, dpstrf, dtrtrs

from pliant.core.linalg import mirror
from pliant.core.typing import Array, Indices
from pliant.core.validation import check_gram
from pliant.kernels.base import FunctionKernel, Kernel, made_of
from pliant.kernels.standard import Precomputed
from pliant.methods.ridge.rows import (
    Data,
    KernelRows,
    KernelValues,
    MemoryRows,
    column_sums,
    normal_matrix,
    product,
    residual,
    take_rows,
)

Precondition: TypeAlias = Callable[[Array], Array]
"""Function that solves the equations approximately for an array of right-hand sides."""


ROUNDING = 4.0 * float(np.finfo(np.float64).eps)
"""Pivots below this number times the largest pivot and the number of centres are rounding error."""


class Centres(NamedTuple):
    """Points, their row numbers (None if the user gave them), and the weight each represents."""

    points: Array
    rows: Indices | None
    weights: Array


def sample_centres(X: Data, weights: Array, count: int, rng: np.random.RandomState) -> Centres:
    """Draw `count` distinct rows, with probabilities proportional to their weights, and sort them.

    Return all rows if there are at most `count`.
    """
    rows, represented = np.arange(len(weights)), weights
    if len(rows) > count:
        equal = represented.min() == represented.max()
        shares = None if equal else represented / represented.sum()
        rows = np.sort(rng.choice(len(rows), count, replace=False, p=shares))
        represented = np.full(count, float(weights.sum()) / count)
    return Centres(take_rows(X, rows), rows, represented)


@dataclass(frozen=True, eq=False)
class CentreFactor:
    """Factor U of the kernel matrix K of m centres, P'K P / scale = U'U, of numerical rank r.

    `upper` is U, shape (r, m), in Fortran order and upper triangular in its first r columns.
    `order` is the permutation P of the centres; the first r span all m. `scale` is the
    largest power of two <= max_i K_ii.
    """

    upper: Array
    order: Indices
    scale: float

    @property
    def rank(self) -> int:
        """Number of kept centres, r."""
        return len(self.upper)

    @property
    def triangle(self) -> Array:
        """The first r columns of U; entries below the diagonal are arbitrary."""
        return self.upper[:, : self.rank]

    def coefficients(self, w: Array) -> Array:
        """Return U^{-1} w, the coefficients of the kept centres times `scale`."""
        return np.asarray(dtrtrs(self.triangle, w)[0])

    def features(self, sums: Array) -> Array:
        """Return U^{-T} sums."""
        return np.asarray(dtrtrs(self.triangle, sums, trans=1)[0])

    def covariance(self, weights: Array, centred: bool) -> Array:
        """Return the upper triangle of U diag(weights) U', shape (r, r), in Fortran order.

        If `centred`, the weighted mean of the columns is subtracted from U. The weights, shape
        (m,), are in the original order of the centres.
        """
        weights = weights[self.order]
        r, m = self.upper.shape
        chunks = [slice(low, low + 256) for low in range(0, m, 256)]  # limits the size of copies

        def columns(chunk: slice) -> Array:  # with zeros below the diagonal
            return np.asfortranarray(np.triu(self.upper[:, chunk], -chunk.start))

        means, total = np.zeros(r), np.zeros((r, r), order="F")
        if centred:
            means = sum(columns(chunk) @ weights[chunk] for chunk in chunks) / weights.sum()
        for chunk in chunks:
            features = (columns(chunk) - means[:, None]) * np.sqrt(weights[chunk])
            total = dsyrk(1.0, features, beta=1.0, c=total, overwrite_c=1)
        return total


def factorize(kernel: Kernel, centres: Array) -> CentreFactor:
    """Factorise the kernel matrix of centres, shape (m, d), in O(m^3).

    A pivoted Cholesky factorisation drops centres in the span of others, up to rounding. Raise
    ValueError if the matrix is zero or not positive semi-definite.
    """
    gram = np.array(kernel._between_sets(centres, centres), dtype=np.float64, order="C")
    if made_of(kernel, Precomputed, FunctionKernel):
        gram = np.array(check_gram(gram), order="C")  # the factorisation reads one triangle
    largest = float(gram.diagonal().max())
    if not largest > 0.0:
        raise ValueError(
            f"expected k(x, x) > 0 for at least one of {len(gram)} centres, got at most "
            f"{largest:g} from {type(kernel).__name__}"
        )
    scale = math.ldexp(1.0, math.frexp(largest)[1] - 1)
    gram /= scale
    tolerance = ROUNDING * len(gram) * largest / scale
    upper, order, rank, _ = dpstrf(gram.T, tol=tolerance, lower=0, overwrite_a=1)
    order = np.asarray(order, dtype=np.intp) - 1
    if rank < len(gram):
        # A PSD matrix of rank r equals U'U; check this for up to 256 of the dropped centres.
        upper = np.array(upper[:rank], order="F")
        dropped, columns = centres[order[rank : rank + 256]], upper[:, rank : rank + 256]
        block = kernel._between_sets(dropped, dropped.copy()) / scale
        error = float(np.abs(block - columns.T @ columns).max())
        if not error <= 1e-6 * max(1.0, float(np.abs(block).max())):
            raise ValueError(
                "expected a kernel that is positive semi-definite on the centres, got an error of "
                f"{error:.3g} times the largest k(x, x) in its Cholesky factor, from "
                f"{type(kernel).__name__}; choose another kernel or other kernel parameters"
            )
    return CentreFactor(upper, order, scale)


class Preconditioner:
    """The inverse of a matrix plus `ridge` I, by its Cholesky factor: O(r^3) time, r^2 memory.

    The matrix, shape (r, r), in Fortran order, is given by its upper triangle and overwritten. The
    ridge grows if rounding makes the sum indefinite.
    """

    def __init__(self, matrix: Array, ridge: float) -> None:
        diagonal = matrix.diagonal().copy()
        least = ROUNDING * len(matrix) * float(diagonal.max(initial=0.0))
        mirror(matrix.T)  # the factor overwrites only the upper triangle
        for added in (ridge, ridge + least, ridge + 1e3 * least, ridge + 1e6 * least):
            matrix[np.diag_indices_from(matrix)] = diagonal + added
            self._factor, place = dpotrf(matrix, lower=0, clean=0, overwrite_a=1)
            if not place:
                return
            mirror(matrix)
        raise ValueError("expected finite kernel values; scale the features")

    def __call__(self, right: Array) -> Array:
        """Return the inverse times `right`, shape (r, t)."""
        return np.asarray(dpotrs(self._factor, right, lower=0)[0])


class Targets(NamedTuple):
    """Targets of shape (n, t) and weights of shape (n,), scaled for float32.

    Targets are divided by `units`, powers of two, shape (t,). Then `means`, zero without an
    intercept, are subtracted. Weights are divided by `largest_weight`.
    """

    values: Array
    means: Array
    units: Array
    weights: Array
    largest_weight: float

    @classmethod
    def scaled(cls, y: Array, weights: Array, centred: bool) -> Targets:
        """Scale targets, shape (n, t), and weights; centre the targets if `centred`."""
        units = np.ldexp(1.0, np.frexp(np.abs(y).max(axis=0))[1] - 1)
        values = y / units
        largest = float(weights.max())
        weights = weights / largest
        means = np.zeros(y.shape[1])
        if centred:
            means = weights @ values / weights.sum()
            values -= means
        return cls(values, means, units, weights, largest)


def sample_rows(X: Data, targets: Targets, values: KernelValues, size: int) -> MemoryRows:
    """Draw `size` distinct rows for a preconditioner, with weights scaled to the sum of all.

    The generator is fixed: the rows affect the number of iterations, not the solution.
    """
    from sklearn.utils.random import sample_without_replacement

    numbers = np.sort(sample_without_replacement(len(targets.weights), size, random_state=0))
    weights = targets.weights[numbers]
    weights *= targets.weights.sum() / weights.sum()
    return MemoryRows(take_rows(X, numbers), targets.values[numbers], weights, values)


class RidgeCertificate(NamedTuple):
    """Bounds on the suboptimality of coefficients, for each of t targets.

    `gradient` is the residual g of the normal equations, shape (r, t), and `gaps` = |g|^2 / ridge,
    shape (t,), bounds the objective minus its minimum. `value` and `gap` are the objective and this
    bound, summed over the targets in the user's units.
    """

    gradient: Array
    gaps: Array
    value: float
    gap: float


@dataclass(eq=False)
class SketchedEquations:
    r"""The normal equations (Z'SZ + ridge I) w = Z'S y, Z = (K_nm - 1 mu') U^{-1} / scale.

    Their solution minimises sum_i s_i (y_i - z_i'w)^2 + ridge |w|^2 for each target, with
    K_mm = scale U'U and ridge = alpha / scale > 0. mu = 0 unless `centred`. Iterations use the
    kernel values of `rows`; certificates use those of `exact`, which are at least as accurate.
    `sample` draws rows for a preconditioner, whose weights have the sum of all weights.
    """

    rows: KernelRows
    exact: KernelRows
    sample: Callable[[], MemoryRows]
    centres: Centres
    factor: CentreFactor
    ridge: float
    targets: Targets
    centred: bool
    n_passes: int = field(default=1, init=False)

    def __post_init__(self) -> None:
        self.squares: Array = self.targets.weights @ self.targets.values**2
        (sums,) = self.exact.total(column_sums)  # K' s, K' S y
        self.means: Array = np.zeros(len(sums))
        if self.centred:
            self.means = sums[:, 0] / float(self.targets.weights.sum())
        # Z'S y = U^{-T} K'S y / scale, without mu, as 1'S y = 0 for centred targets.
        self.right: Array = self.factor.features(sums[:, 1:] / self.factor.scale)

    @property
    def has_exact_rows(self) -> bool:
        """True if certificates use more accurate kernel values than iterations."""
        return self.exact is not self.rows

    def product(self, w: Array) -> Array:
        """Return (Z'SZ + ridge I) w, shape (r, t), in one pass over all rows."""
        self.n_passes += 1
        sums, ones = self.rows.total(product, *self._expanded(w))
        return self._features(sums, ones) + self.ridge * w

    def certify(self, w: Array) -> RidgeCertificate:
        """Return the certificate of w, in one pass over all rows."""
        if not w.any():  # w = 0 needs no pass: g = Z'S y, and the objective is y'S y
            gradient, values = self.right, self.squares
        else:
            self.n_passes += 1
            # e = y - Zw; g = Z'S e - ridge w; objective e'S e + ridge w'w
            sums, ones, squares = self.exact.total(residual, *self._expanded(w))
            gradient = self._features(sums, ones) - self.ridge * w
            values = squares + self.ridge * np.einsum("ij,ij->j", w, w)
        # The gradient is -2 g and the Hessian at least 2 ridge I: the gap is at most |g|^2 / ridge.
        gaps = np.einsum("ij,ij->j", gradient, gradient) / self.ridge
        units = self.targets.units**2 * self.targets.largest_weight
        return RidgeCertificate(gradient, gaps, float(values @ units), float(gaps @ units))

    def approximate_inverse(self) -> Precondition:
        """Return FALKON's preconditioner, with the weighted centres instead of all rows in Z'SZ."""
        covariance = self.factor.covariance(self.centres.weights, self.centred)
        return Preconditioner(covariance, self.ridge)

    def sampled_inverse(self) -> Precondition:
        """Return the inverse with the sample of k rows instead of all rows in Z'SZ; O(k r^2)."""
        return self._inverse_from(self.sample())

    def inverse(self) -> Precondition:
        """Return the inverse of Z'SZ + ridge I, in one pass over all rows; O(n r^2)."""
        self.n_passes += 1
        return self._inverse_from(self.exact)

    def _inverse_from(self, rows: KernelRows) -> Precondition:
        factor = self.factor
        total = rows.total(normal_matrix, factor.triangle, self.means, factor.scale)
        return Preconditioner(total[0], self.ridge)

    def _expanded(self, w: Array) -> tuple[Array, Array]:
        """Return a = U^{-1} w / scale, shape (r, t), and mu'a, for Zw = K a - 1 mu'a."""
        coefficients = self.factor.coefficients(w) / self.factor.scale
        return coefficients, self.means @ coefficients

    def _features(self, sums: Array, ones: Array) -> Array:
        """Return Z'r = U^{-T} (K'r - mu 1'r) / scale, given K'r and 1'r."""
        return self.factor.features((sums - np.outer(self.means, ones)) / self.factor.scale)
