"""Centres, the factor of their kernel matrix, the normal equations on them, and their solution.

Preconditioned conjugate gradients with restarts from accurate residuals solve them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np
from scipy.linalg.blas import dsyrk
from scipy.linalg.lapack import dpotrf, dpotrs, dpstrf, dtrtrs

from pliant.core.linalg import mirror
from pliant.core.progress import Progress, Result, Status
from pliant.core.typing import Array, Callback, Indices
from pliant.kernels.base import Kernel
from pliant.kernels.standard import Gaussian
from pliant.methods.ridge.rows import (
    DaskRows,
    Data,
    MemoryRows,
    column_sums,
    normal_matrix,
    product,
    residual,
    take,
)

Rows: TypeAlias = MemoryRows | DaskRows

Precondition: TypeAlias = Callable[[Array], Array]
"""Returns an approximate solution for some right-hand sides."""

PROGRESS = 0.5
"""A restart that leaves more than this share of a gradient makes no progress."""

REDUCTION = 1e-4
"""By how much gradients shrink between restarts where products are in float32."""

SEARCH = 15
"""Iterations in float32 that may pass without halving the preconditioned norm of the residual."""

MARGIN = 0.5
"""Iterations go on until gradients are this share of what is asked for: the certified ones differ
by rounding."""

READ, PRODUCT, SOLVED = 0.8, 0.25, 0.05
"""Nanoseconds for each pair of row and centre, on one core of an AMD EPYC processor: to read a kept
kernel value, for two products with it for each target, and, for each centre, of a triangular solve
and a rank-one update."""

FEATURE, GAUSSIAN, OTHER = 0.06, 1.5, 10.0
"""Nanoseconds of a Gaussian's value for each feature, and besides; and of another kernel's: from 1
for a linear one to 40 for those of SCG-LDK and DANK."""

AT_ONCE = 5
"""Below so few iterations, none are tried."""

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


class Targets(NamedTuple):
    """Targets of shape (n, t) and weights of shape (n,) that fit into float32.

    Targets are divided by `units`, powers of two, shape (t,), and less their `means` in these units
    (zeros without an intercept); weights are divided by `largest_weight`.
    """

    values: Array
    means: Array
    units: Array
    weights: Array
    largest_weight: float

    @property
    def squares(self) -> Array:
        """The weighted sums of the squares, shape (t,)."""
        return np.asarray(self.weights @ self.values**2)

    @classmethod
    def of(cls, y: Array, weights: Array, centred: bool) -> Targets:
        """Return the targets of shape (n, t) in this form."""
        units = np.ldexp(1.0, np.frexp(np.abs(y).max(axis=0))[1] - 1)
        values = y / units
        largest = float(weights.max())
        weights = weights / largest
        means = np.zeros(y.shape[1])
        if centred:
            means = weights @ values / weights.sum()
            values -= means
        return cls(values, means, units, weights, largest)


class Certificate(NamedTuple):
    """How near some coefficients are to the optimum, for each of t targets.

    `gradient` is g, shape (r, t), the right-hand side of the normal equations less their left-hand
    side; `values` the objective, shape (t,), and `gaps` = |g|^2 / ridge a bound on what it is above
    its minimum, both times `units` in the units of the user.
    """

    gradient: Array
    values: Array
    gaps: Array
    units: Array

    @property
    def value(self) -> float:
        """The objective, summed over the targets."""
        return float(self.values @ self.units)

    @property
    def gap(self) -> float:
        """The bound, summed over the targets."""
        return float(self.gaps @ self.units)


class NormalEquations:
    r"""(Z'SZ + ridge I) w = Z'S y, where Z = (K_nm - 1 mu') U^{-1}.

    They minimise, for each target, sum_i s_i (y_i - z_i'w)^2 + ridge |w|^2, as in the notes of
    `SketchedKernelRidge`, with K_mm = scale U'U and ridge = alpha / scale > 0; mu = 0 unless
    `centred`. `rows` have the kernel values for the iterations, `exact` those that count, the same
    or more accurate ones.
    """

    def __init__(
        self,
        rows: Rows,
        exact: Rows,
        factor: CentreFactor,
        ridge: float,
        targets: Targets,
        centred: bool,
    ) -> None:
        self._rows, self._exact, self.factor, self.ridge = rows, exact, factor, ridge
        self.targets, self.squares = targets, targets.squares
        self._units = targets.units**2 * targets.largest_weight
        (sums,) = exact.total(column_sums)
        if not np.isfinite(sums).all():
            raise ValueError(
                "expected kernel values with finite sums over the rows; scale the features"
            )
        self.means: Array = np.zeros(len(sums))
        if centred:
            self.means = sums[:, 0] / float(targets.weights.sum())
        self.right = factor.features(sums[:, 1:] / factor.scale)
        self.n_passes = 1

    @property
    def can_sharpen(self) -> bool:
        """Whether there are more accurate kernel values than those of the iterations."""
        return self._exact is not self._rows

    def sharpen(self) -> None:
        """Iterate with the accurate kernel values from now on."""
        self._rows = self._exact

    def product(self, w: Array) -> Array:
        """Return (Z'SZ + ridge I) w, shape (r, t), by one pass over all rows."""
        self.n_passes += 1
        sums, ones = self._rows.total(product, *self._expanded(w))
        return self._features(sums, ones) + self.ridge * w

    def certify(self, w: Array) -> Certificate:
        """Return the objective at w and the bound on its gap, by one pass over all rows."""
        if not w.any():  # nothing to compute
            gradient, values = self.right, self.squares
        else:
            self.n_passes += 1
            sums, ones, squares = self._exact.total(residual, *self._expanded(w))
            gradient = self._features(sums, ones) - self.ridge * w
            values = squares + self.ridge * np.einsum("ij,ij->j", w, w)
        gaps = np.einsum("ij,ij->j", gradient, gradient) / self.ridge
        return Certificate(gradient, values, gaps, self._units)

    def matrix(self) -> Array:
        """Return Z'SZ, its upper triangle, by one pass over all rows; O(n r^2)."""
        self.n_passes += 1
        factor = self.factor
        return self._exact.total(normal_matrix, factor.triangle, self.means, factor.scale)[0]

    def _expanded(self, w: Array) -> tuple[Array, Array]:
        """Return coefficients of the kernel values, shape (r, t), and mu times them."""
        coefficients = self.factor.coefficients(w) / self.factor.scale
        return coefficients, self.means @ coefficients

    def _features(self, sums: Array, ones: Array) -> Array:
        """Return U^{-T} (sums - mu ones'), with sums K'r and 1'r over the rows."""
        return self.factor.features((sums - np.outer(self.means, ones)) / self.factor.scale)


def patience(kernel: Kernel, n_features: int, n_centres: int, n_targets: int, kept: float) -> int:
    """Return the number of iterations that cost as much as the normal matrix; 0 for no iteration.

    The number that converges is not known beforehand. Iterations go on until they have cost as much
    as the normal matrix, which then solves the system at once: the total is at most twice the
    cheaper of the two. A share `kept` of kernel values is kept between passes. Counted, not timed,
    so that the same data give the same bytes.
    """
    value = GAUSSIAN + FEATURE * n_features if isinstance(kernel, Gaussian) else OTHER
    iteration = (1.0 - kept) * value + kept * READ + PRODUCT * n_targets
    number = math.ceil((SOLVED * n_centres + value) / iteration)
    return 0 if number < AT_ONCE else number


@dataclass(eq=False)
class Solver:
    """The solution of all right-hand sides, shape (r, t), from a start of zeros.

    Iterations with the preconditioner that `approximate` returns go on until each target has its
    gap. After `patience` iterations (None for never) the preconditioner is that of `exact`, which
    solves the system to rounding at the cost of many iterations.
    """

    problem: NormalEquations
    approximate: Callable[[], Precondition]
    gaps: Array
    max_iter: int
    callback: Callback
    patience: int | None = None
    exact: Callable[[], Precondition] | None = None

    def solve(self) -> Result[Certificate]:
        """Return the solution with its certificate."""
        self.precondition = self.approximate()
        self.w, self.n_iter = np.zeros_like(self.problem.right), 0
        self.stopped = self.solves = False
        self.history: list[Progress] = []
        self.certificate = self.certified()
        status = self.to_the_end()
        proof = self.certificate
        return Result(self.w, proof.value, proof.gap, self.n_iter, status, self.history, proof)

    def to_the_end(self) -> Status:
        """Restart until all gaps are small enough, or there is no progress."""
        while True:
            last = self.certificate.gaps
            if (last <= self.gaps).all():
                return Status.CONVERGED
            if self.stopped:
                return Status.STOPPED
            if self.n_iter >= self.max_iter:
                return Status.MAX_ITER
            before = self.w
            self.w = self.w + self.step()
            self.certificate = self.certified()
            left = self.certificate.gaps
            shrunk = (left <= self.gaps) | (left <= PROGRESS**2 * last)
            if not self.is_over() and not shrunk.all():
                if not (left <= last).all():
                    self.w = before
                    self.certificate = self.certified()
                if not self.problem.can_sharpen or self.solves:
                    return Status.STALLED
                self.problem.sharpen()

    def certified(self) -> Certificate:
        """Return the certificate of the present solution."""
        certificate = self.problem.certify(self.w)
        step = Progress(self.n_iter, certificate.value, certificate.gap)
        self.history.append(step)
        self.stopped = self.callback(step) is True or self.stopped
        return certificate

    def is_over(self) -> bool:
        """Return whether iterations must end: for good, or for the exact preconditioner."""
        patient = self.patience is None or self.exact is None or self.n_iter < self.patience
        return self.stopped or self.n_iter >= self.max_iter or not patient

    def step(self) -> Array:
        """Return the correction of the solution."""
        if self.exact is not None and self.patience is not None and self.n_iter >= self.patience:
            del self.precondition  # its memory is needed
            self.precondition, self.exact, self.solves = self.exact(), None, True
        if self.solves:
            self.n_iter += 1
            return self.precondition(self.certificate.gradient)
        return self.iterations()

    def iterations(self) -> Array:
        """Return the outcome of conjugate gradients for the present gradient."""
        r = self.certificate.gradient.copy()
        sizes = np.linalg.norm(r, axis=0)
        with np.errstate(divide="ignore", invalid="ignore"):
            wanted = MARGIN * sizes * np.sqrt(self.gaps / self.certificate.gaps)
        if self.problem.can_sharpen:
            wanted = np.maximum(wanted, REDUCTION * sizes)
        total = np.zeros_like(r)
        p = z = self.precondition(r)
        rz = np.einsum("ij,ij->j", r, z)
        active = sizes > wanted
        least, since = rz, 0  # the least r'z so far, and iterations since one was halved
        while active.any() and not self.is_over():
            q = self.problem.product(p)
            pq = np.einsum("ij,ij->j", p, q)
            active &= (pq > 0.0) & (rz > 0.0)  # else rounding has the better of it
            step = np.divide(rz, pq, out=np.zeros_like(rz), where=active)
            total += step * p
            r -= step * q
            self.n_iter += 1
            active &= np.linalg.norm(r, axis=0) > wanted
            self.stopped = self.callback(Progress(self.n_iter, np.nan, np.nan)) is True
            z = self.precondition(r)
            last, rz = rz, np.einsum("ij,ij->j", r, z)
            halved = active & (rz <= PROGRESS**2 * least)
            least = np.where(halved, rz, least)
            since = 0 if halved.any() else since + 1
            if self.problem.can_sharpen and since >= SEARCH:
                break
            p = z + np.divide(rz, last, out=np.zeros_like(rz), where=active) * p
        return total
