"""Centres, the Cholesky factor of their kernel matrix, the normal equations, and their solver."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple, Self, TypeAlias

import numpy as np
from scipy.linalg.blas import dsyrk
from scipy.linalg.lapack import dpotrf, dpotrs, dpstrf, dtrtrs

from pliant.core.linalg import mirror
from pliant.core.progress import Progress, Result, Status
from pliant.core.sparse import is_sparse
from pliant.core.typing import Array, Callback, Indices
from pliant.kernels.base import Kernel
from pliant.kernels.standard import Gaussian
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

PROGRESS = 0.5
"""A restart makes no progress if more than this fraction of the gradient norm remains."""

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


class Costs(NamedTuple):
    """Estimated costs in nanoseconds per row, so that fits do not depend on measured times."""

    iteration: float
    normal_matrix: float

    @classmethod
    def of(cls, kernel: Kernel, shape: tuple[int, float], n_targets: int, kept: float) -> Self:
        """Estimate the costs for centres of a shape (m, d), or of `products_per_value` d.

        A fraction `kept` of the kernel values is kept between passes.
        """
        n_centres, n_features = shape
        # Nanoseconds per row-centre pair, on one core of an AMD EPYC. A Gaussian value takes 1.5
        # plus .06 per feature; a value of another kernel, 1 (linear) to 40 (SCG-LDK, DANK). An
        # iteration reads a kept value (.8) and computes two products per target (.25). The normal
        # matrix takes a triangular solve and a rank-one update per centre (.05).
        value = 1.5 + 0.06 * n_features if isinstance(kernel, Gaussian) else 10.0
        iteration = (1.0 - kept) * value + kept * 0.8 + 0.25 * n_targets
        return cls(n_centres * iteration, n_centres * (0.05 * n_centres + value))

    def sample_size(self, n_rows: int, n_centres: int) -> int:
        """Return the number of rows k of the preconditioner with the least cost of a fit.

        For m centres and random rows, eigenvalues of the preconditioned matrix lie within
        (1 -+ e)^2, e = sqrt(m / k), so that an iteration reduces the error by the factor e.
        """
        sizes = [n_centres * 2**power for power in range(2, 8)]
        return min(min(sizes, key=partial(self._cost, n_rows, n_centres)), n_rows)

    def _cost(self, n_rows: int, n_centres: int, size: int) -> float:
        iterations = math.log(1e6) / math.log(math.sqrt(size / n_centres))
        return size * self.normal_matrix + iterations * n_rows * self.iteration

    def limit(self, n_rows: int, size: int) -> int:
        """Return the number of iterations that cost as much as the normal matrix of `size` rows.

        It is 0 if below 5. At this limit, the solver switches to this matrix, so a fit costs at
        most twice as much as with the cheaper method.
        """
        number = math.ceil(size * self.normal_matrix / (n_rows * self.iteration))
        return 0 if number < 5 else number


def products_per_value(points: Any) -> float:
    """Return the mean cost of an inner product of two points, in dense products.

    Two rows of a sparse array share sum_j p_j^2 columns on average, for shares p_j of nonzeros.
    A product in a compiled loop over them, 1 ns, takes as long as 16 dense products.
    """
    if not is_sparse(points):
        return float(points.shape[1])
    shares = np.bincount(points.indices, minlength=points.shape[1]) / points.shape[0]
    return 16.0 * float(shares @ shares)


@dataclass(eq=False)
class Solver:
    """Conjugate gradients for all t right-hand sides of a problem, starting from zero.

    Iterations end when the gap of each target is at most its entry in `gaps`. The preconditioner
    is that of the centres, that of the sample after `sample_limit` iterations, and the exact
    inverse after `cg_limit` iterations (never if None).
    """

    problem: SketchedEquations
    gaps: Array
    max_iter: int
    callback: Callback
    cg_limit: int | None = None
    sample_limit: int | None = None
    n_iter: int = field(default=0, init=False)
    stopped: bool = field(default=False, init=False)
    sampled: bool = field(default=False, init=False)
    direct: bool = field(default=False, init=False)
    precondition: Precondition | None = field(default=None, init=False)
    history: list[Progress] = field(default_factory=list, init=False)

    def solve(self) -> Result[RidgeCertificate]:
        """Return the solution with its certificate."""
        w = np.zeros_like(self.problem.right)
        proof = self._certify(w)
        while (status := self._status(proof)) is None:
            # Restart: rounding makes the recursive residual drift from b - A w. With the
            # accurate g = b - A w of the certificate, solve A d = g for a correction d.
            if self._at_cg_limit():
                self.precondition = None  # free its memory
                self.precondition, self.direct = self.problem.inverse(), True
            elif self._at_sample_limit():
                self.precondition = None
                self.precondition, self.sampled = self.problem.sampled_inverse(), True
            start, last = w, proof
            w = start + self._correction(proof)
            proof = self._certify(w)
            shrunk = (proof.gaps <= self.gaps) | (proof.gaps <= PROGRESS**2 * last.gaps)
            if self._must_end() or shrunk.all():
                continue
            if not (proof.gaps <= last.gaps).all():  # rounding made a target worse
                w = start
                proof = self._certify(w)
            if not self.problem.has_exact_rows or self.direct:
                status = Status.STALLED
                break
            self.problem.rows = self.problem.exact  # float32 makes no further progress
        return Result(
            x=w,
            value=proof.value,
            gap=proof.gap,
            n_iter=self.n_iter,
            status=status,
            history=self.history,
            certificate=proof,
        )

    def _certify(self, w: Array) -> RidgeCertificate:
        certificate = self.problem.certify(w)
        step = Progress(self.n_iter, certificate.value, certificate.gap)
        self.history.append(step)
        self.stopped = self.callback(step) is True or self.stopped
        return certificate

    def _status(self, certificate: RidgeCertificate) -> Status | None:
        if (certificate.gaps <= self.gaps).all():
            return Status.CONVERGED
        if self.stopped:
            return Status.STOPPED
        return Status.MAX_ITER if self.n_iter >= self.max_iter else None

    def _at_cg_limit(self) -> bool:
        """Return True if the exact inverse must replace the preconditioner."""
        return self.cg_limit is not None and not self.direct and self.n_iter >= self.cg_limit

    def _at_sample_limit(self) -> bool:
        """Return True if the sample must replace the centres in the preconditioner."""
        if self.sampled or self.direct or self.sample_limit is None:
            return False
        return self.n_iter >= self.sample_limit

    def _must_end(self) -> bool:
        """Return True after a stop request, or at `max_iter` iterations or another limit."""
        ended = self.stopped or self.n_iter >= self.max_iter
        return ended or self._at_cg_limit() or self._at_sample_limit()

    def _correction(self, certificate: RidgeCertificate) -> Array:
        """Solve A d = g approximately for the gradient g, directly or iteratively; return d."""
        r = certificate.gradient.copy()
        if self.direct and self.precondition is not None:
            self.n_iter += 1
            return self.precondition(r)
        if self.precondition is None:
            self.precondition = self.problem.approximate_inverse()
        sizes = np.linalg.norm(r, axis=0)
        # gaps are proportional to |g|^2; half the required norm allows for rounding errors
        goals = 0.5 * sizes * np.sqrt(self.gaps / certificate.gaps)
        if self.problem.has_exact_rows:
            goals = np.maximum(goals, 1e-4 * sizes)  # the rest is left to a restart
        total = np.zeros_like(r)
        p = z = self.precondition(r)
        rz = np.einsum("ij,ij->j", r, z)
        active = sizes > goals
        least, since = rz, 0  # r'z when its root was last halved, and iterations since then
        while active.any() and not self._must_end():
            q = self.problem.product(p)
            pq = np.einsum("ij,ij->j", p, q)
            active &= (pq > 0.0) & (rz > 0.0)  # otherwise, r is rounding error
            step = np.divide(rz, pq, out=np.zeros_like(rz), where=active)  # r'z / p'A p
            total += step * p
            r -= step * q
            self.n_iter += 1
            active &= np.linalg.norm(r, axis=0) > goals
            self.stopped = self.callback(Progress(self.n_iter, np.nan, np.nan)) is True
            z = self.precondition(r)
            last, rz = rz, np.einsum("ij,ij->j", r, z)
            halved = active & (rz <= PROGRESS**2 * least)
            least = np.where(halved, rz, least)
            since = 0 if halved.any() else since + 1
            if self.problem.has_exact_rows and since >= 15:  # stalled: restart
                break
            p = z + np.divide(rz, last, out=np.zeros_like(rz), where=active) * p
        return total
