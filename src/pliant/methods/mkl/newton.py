r"""Newton's method for the kernel weights of support vector machines (SVMs).

    minimise  J(d) = mean_t J_t(d)    over d >= 0, |d|_p <= 1
    J_t(d) = max_b  kappa_t(b) - 1/2 b' K(d) b,    K(d) = sum_m d_m K_m

for the SVMs t of one fit (one, or one per pair of classes, with shared weights), with
kappa_t(b) and the constraints on b as in `pliant.methods.svm.dual`. J is convex. By Danskin's
theorem its gradient is -q/2, with q_m = mean_t b_t' K_m b_t at the optimal b_t. By Hölder's
inequality, the maximum of d'q over d is |q|_{p*}, 1/p + 1/p* = 1. For all feasible b_t and d,

    mean_t kappa_t(b_t) - 1/2 |q|_{p*}  <=  min J  <=  mean_t (primal objective of SVM t at K(d)).

These two bounds are the certificate; they hold at any accuracy of the SVM solutions.

With e = d^p, entrywise, the constraint is the simplex, and J is also convex in e: J is convex and
decreasing in each d_m, and d_m = e_m^(1/p) is concave.

Each iterate d requires solving the SVMs at K(d), warm-started from the last iterate, and one pass
over the kernels for the bounds. The next iterate minimises the second-order model of J in e,
a small quadratic problem on the simplex. Near the optimum the set of free coordinates no
longer changes, and the error of the model is of third order. For larger norms the next iterate is
the closed form of Kloft et al. (2011), an alternating minimisation, as long as it converges fast.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import scipy.linalg
from joblib import Parallel, delayed

from pliant.core.blocks import gram_mb
from pliant.core.eigen import negative_eigenvalue, remedy
from pliant.core.loops import compiled
from pliant.core.progress import Progress, Result, Status
from pliant.core.threads import blas_limited
from pliant.core.typing import Array, Callback, Indices
from pliant.core.validation import check_gram, check_kernel_values, symmetrised
from pliant.kernels.base import FunctionKernel, Kernel, made_of, short_name
from pliant.kernels.standard import Precomputed
from pliant.methods.svm import smo
from pliant.methods.svm.dual import MarginDual
from pliant.methods.svm.problem import SVMProblem
from pliant.methods.svm.rows import DenseRows, add_rows

COARSEST, FINEST, INNER_SHARE = 1e-3, 1e-10, 0.03
"""Maximum and minimum relative tolerance of an SVM; in between, its ratio to the relative gap of
the weights. Slopes of J need more digits than J."""

MAX_EXHAUSTED = 5
"""Number of SVMs at their step limit at which a fit stops as stalled (seen with C near 1e6)."""

BLOCK_ENTRIES = 8_000_000
"""Maximum number of entries of the matrices of all SVMs, 64 MB, that are copied once."""

TINY = float(np.finfo(np.float64).tiny)
"""Smallest normal float, a lower limit on divisors."""


class Grams:
    """Gram matrices K_1, ..., K_M of n points.

    All matrices are kept in float64 if they fit into `cache_mb`, or in float32 if only that fits.
    Otherwise some are kept in float32, preferably those with weight > 0, and the others are
    recomputed at each use. Sums are computed in float64.

    Parameters
    ----------
    kernels : sequence of Kernel
    points : array of shape (n, n_features)
    cache_mb : float
        Maximum memory of all matrices, in MiB.
    n_jobs : int, optional
        Number of threads that compute the matrices.

    Attributes
    ----------
    n : int
    whole : bool
        True if all matrices are kept.
    dtype : dtype
        The precision of the kept matrices.
    """

    kernels: list[Kernel]
    points: Array

    def __init__(
        self, kernels: Sequence[Kernel], points: Array, cache_mb: float, n_jobs: int | None = None
    ) -> None:
        n, count = points.shape[0], len(kernels)
        if gram_mb(n) > cache_mb:
            raise ValueError(
                f"expected cache_mb >= {np.ceil(gram_mb(n)):g}, the size of one Gram matrix of {n} "
                f"samples, got {cache_mb:g}"
            )
        self.kernels, self.points = list(kernels), points
        self.n = n
        single = count * gram_mb(n) > cache_mb
        self.dtype: np.dtype[Any] = np.dtype(np.float32 if single else np.float64)
        matrix_mb = 0.5 * gram_mb(n) if single else gram_mb(n)
        self._max_kept = min(count, int(cache_mb / matrix_mb))
        self.whole: bool = self._max_kept == count
        # matrices that are not kept are computed too, so that every error is raised here
        compute = map(delayed(self._compute_kept), range(count))
        grams = Parallel(n_jobs=n_jobs, require="sharedmem")(compute)
        self._kept = {m: gram for m, gram in enumerate(grams) if gram is not None}
        self._weighted = np.zeros(count, dtype=bool)

    def __len__(self) -> int:
        """Return M."""
        return len(self._weighted)

    def __getitem__(self, m: int) -> Array:
        """Return K_m, shape (n, n); callers must not modify it."""
        if m in self._kept:
            return self._kept[m]
        gram = self._compute(m)
        if self._weighted[m]:  # replace a kept matrix of zero weight
            unweighted = [k for k in self._kept if not self._weighted[k]]
            if unweighted:
                del self._kept[unweighted[0]]
                self._kept[m] = gram.astype(self.dtype, copy=False)
        return gram

    def combined(self, weights: Array) -> Array:
        """Compute sum_m weights_m K_m in float64, shape (n, n)."""
        total = np.zeros((self.n, self.n))
        self._weighted = weights != 0.0
        for m in np.flatnonzero(weights):
            _add_scaled(total, self[int(m)], float(weights[m]))
        return total

    def products(self, b: Array, some: Indices | None = None) -> Array:
        """Compute K_m b for all kernels or only `some`, shape (n_kernels, n)."""
        chosen = range(len(self)) if some is None else some.tolist()
        used = np.flatnonzero(b)
        values = b[used]
        result = np.zeros((len(chosen), self.n))
        for row, m in zip(result, chosen, strict=True):
            if m not in self._kept:  # only the columns with b_i != 0
                row[:] = self.kernels[m](self.points, self.points[used]) @ values
            elif self.dtype == np.float64:
                row[:] = self._kept[m] @ b
            else:
                add_rows(row, self._kept[m], used, values)  # sums in float64
        return result

    def quadratics(self, vectors: Array) -> Array:
        """Compute b'K_m b for each column b of `vectors`, shape (n, k); return shape (M, k)."""
        supports = [np.flatnonzero(b) for b in vectors.T]
        values = [b[used] for b, used in zip(vectors.T, supports, strict=True)]
        result = np.empty((len(self), len(supports)))
        for m in range(len(self)):
            gram = self[m]
            for k, used in enumerate(supports):
                result[m, k] = _quadratic(gram, used, values[k])
        return result

    def slab(self, low: int, high: int) -> Array:
        """Return the rows `low` to `high` of all K_m in float64, from column `low` on.

        The shape is (M, high - low, n - low). Consecutive slabs cover the upper triangles; each
        value is read or computed once.
        """
        result = np.empty((len(self), high - low, self.n - low))
        for m in range(len(self)):
            if m in self._kept:
                result[m] = self._kept[m][low:high, low:]
            else:
                result[m] = self.kernels[m](self.points[low:high], self.points[low:])
        return result

    def _compute(self, m: int) -> Array:
        """Compute K_m; a user's matrix or function may be asymmetric by rounding errors."""
        kernel = self.kernels[m]
        gram = kernel._gram(self.points, self.points)
        return symmetrised(gram) if made_of(kernel, Precomputed, FunctionKernel) else gram

    @blas_limited
    def _compute_kept(self, m: int) -> Array | None:
        """Compute K_m; return it in the kept precision, or None if it does not fit in memory."""
        gram = check_kernel_values(self._compute(m), self.kernels[m])
        return gram.astype(self.dtype, copy=False) if m < self._max_kept else None


def check_psd(gram: Array, m: int, kernel: Kernel) -> None:
    """Raise ValueError unless a matrix is a positive semi-definite Gram matrix."""
    try:
        gram = check_gram(gram)
        proved = isinstance(kernel, Precomputed) and kernel.assume_psd
        smallest = None if proved else negative_eigenvalue(gram)
    except ValueError as error:
        raise ValueError(f"kernel {m}: {error}") from None
    if smallest is not None:
        raise ValueError(
            f"expected positive semi-definite kernels, got the eigenvalue {smallest:.3g} for "
            f"kernel {m}, {short_name(kernel)}; {remedy(smallest)}"
        )


@compiled
def _add_scaled(total: Array, gram: Array, weight: float) -> None:
    """Add weight * gram to `total`."""
    for i in range(gram.shape[0]):
        for j in range(gram.shape[1]):
            total[i, j] += weight * gram[i, j]


@compiled
def _quadratic(gram: Array, used: Indices, values: Array) -> float:
    """Compute sum_ab values_a values_b gram[used_a, used_b] for a symmetric matrix."""
    total = 0.0  # sum over the lower triangle and half of the diagonal
    for a in range(used.size):
        row = 0.5 * values[a] * gram[used[a], used[a]]
        for b in range(a):
            row += values[b] * gram[used[a], used[b]]
        total += values[a] * row
    return 2.0 * total


@dataclass(frozen=True, eq=False)
class WeightLearning:
    """The minimisation problem of the module docstring.

    Parameters
    ----------
    grams : Grams
        K_1, ..., K_M on n points.
    places : sequence of arrays
        For each SVM, the sorted indices of its points among the n points.
    problems : sequence of SVMProblem
        The SVMs.
    norm : float
        The p of the constraint, >= 1.
    """

    grams: Grams
    places: Sequence[Indices]
    problems: Sequence[SVMProblem]
    norm: float = 1.0

    def duals(self, gram: Array) -> list[MarginDual]:
        """Return the dual of each SVM for the Gram matrix K(d)."""
        duals = []
        for places, problem in zip(self.places, self.problems, strict=True):
            rows = DenseRows(gram)
            if len(places) < len(gram):
                rows = DenseRows(rows.square(places))
            duals.append(problem.dual(rows))
        return duals

    @cached_property
    def _blocks(self) -> list[Array] | None:
        """All K_m between the points of each SVM, shape (M, n_t, n_t), if small and several."""
        n_entries = sum(len(places) ** 2 for places in self.places)
        if len(self.places) == 1 or not self.grams.whole:
            return None
        if len(self.grams) * max(n_entries, self.grams.n**2) > BLOCK_ENTRIES:
            return None
        stacked = np.stack([self.grams[m] for m in range(len(self.grams))]).astype(np.float64)
        return [stacked[:, places[:, None], places] for places in self.places]

    def products(self, solutions: Sequence[Array], some: Indices | None = None) -> list[Array]:
        """Compute K_m b_t of each SVM for all kernels or only `some`, shape (n_kernels, n_t)."""
        if self._blocks is not None:  # many small SVMs
            chosen = slice(None) if some is None else some
            return [block[chosen] @ b for block, b in zip(self._blocks, solutions, strict=True)]
        products = []
        for places, b in zip(self.places, solutions, strict=True):
            padded = np.zeros(self.grams.n)  # b_t on the points of all SVMs
            padded[places] = b
            products.append(self.grams.products(padded, some)[:, places])
        return products

    def quadratic(self, solutions: Sequence[Array], products: Sequence[Array]) -> Array:
        """Compute q from the b_t and the products K_m b_t, shape (n_kernels,)."""
        return np.mean(list(map(np.matmul, products, solutions)), axis=0)

    def lower_bound(self, gain: float, q: Array) -> float:
        """Compute the best lower bound for multiples s b_t, from gain = mean_t kappa_t(b_t) and q.

        The bound is the maximum of s gain - s^2/2 |q| over 0 <= s <= 1.
        """
        cost = self.dual_norm(np.maximum(q, 0.0))
        share = 0.0 if gain <= 0.0 else min(1.0, gain / max(cost, gain))
        return share * gain - 0.5 * share**2 * cost

    def dual_norm(self, q: Array) -> float:
        """Return |q|_{p*} for q >= 0."""
        largest = float(q.max())
        if self.norm == 1.0 or largest <= 0.0:
            return largest
        order = self.norm / (self.norm - 1.0)
        return largest * float(((q / largest) ** order).sum() ** (1.0 / order))

    def closed_form(self, d: Array, q: Array) -> Array:
        """Return the optimal weights for the current normal vectors of the SVMs.

        In the feature space of kernel m, SVM t has the normal vector w_mt, with
        |w_mt|^2 = d_m^2 b_t'K_m b_t. For fixed vectors, d_m proportional to
        (d_m^2 q_m)^(1/(p+1)) minimises sum_mt |w_mt|^2 / d_m on |d|_p = 1 (Kloft et al. 2011).
        """
        sizes = (d * d * np.maximum(q, 0.0)) ** (1.0 / (self.norm + 1.0))
        if self.norm == 1.0:  # the formula never gives zero, so set small weights to zero
            sizes[sizes < 1e-6 * sizes.max()] = 0.0
        total = float((sizes**self.norm).sum())
        return sizes / total ** (1.0 / self.norm) if total > 0.0 else d

    def curvature(
        self,
        gram: Array,
        solutions: Sequence[Array],
        products: Sequence[Array],
        duals: Sequence[MarginDual],
    ) -> tuple[Array, list[tuple[Indices, Array]]]:
        """Compute the Hessian of J, assuming that no b_i reaches or leaves a bound.

        The free coordinates F of b lie inside their bounds and are not zero. Their derivatives are
        d(b_F)/d(d_m) = -S (K_m b)_F, where S is the inverse of K(d)_FF on vectors that sum to zero.
        The Hessian is the mean over t of (K_m b)_F' S (K_n b)_F.

        Returns
        -------
        hessian : array of shape (n_kernels, n_kernels)
        changes : for each SVM, the free coordinates and the derivatives of b_F with respect to
            the weights, shape (n_free, n_kernels)
        """
        count = len(products[0])
        hessian, changes = np.zeros((count, count)), []
        for places, b, product, dual in zip(self.places, solutions, products, duals, strict=True):
            free = np.flatnonzero((b > dual.lower) & (b < dual.upper) & (b != 0.0))
            right = product[:, free].T  # columns (K_m b)_F
            change = np.zeros_like(right)
            if len(free) > 1:
                chosen = places[free]
                change = -_solve_constrained(gram[np.ix_(chosen, chosen)], right)
                hessian -= right.T @ change  # (K_m b)_F' S (K_n b)_F
            changes.append((free, change))
        return hessian / len(products), changes


def _solve_constrained(matrix: Array, right: Array) -> Array:
    """Solve matrix X = right + 1 c' for the X with zero column sums, where c is unknown."""
    matrix = matrix.copy()
    # a ridge of 1e-10 times the mean diagonal, since points can coincide
    matrix[np.diag_indices_from(matrix)] += 1e-10 * max(float(matrix.trace()), 1.0) / len(matrix)
    ones = np.ones((len(matrix), 1))
    try:
        factor = scipy.linalg.cho_factor(matrix, lower=True, check_finite=False)
        solved = scipy.linalg.cho_solve(factor, np.hstack([right, ones]), check_finite=False)
    except np.linalg.LinAlgError:
        solved = np.asarray(np.linalg.lstsq(matrix, np.hstack([right, ones]), rcond=None)[0])
    # X = A^-1 right - u c' with u = A^-1 1, and 1'X = 0 determines c
    X, unit = solved[:, :-1], solved[:, -1:]
    total = float(unit.sum())
    return np.asarray(X - unit * (X.sum(axis=0) / total)) if total > 0.0 else X


@dataclass(frozen=True, eq=False)
class WeightCertificate:
    """Bounds on the optimum, and the solutions and intercepts of the SVMs at the upper bound.

    `exhausted` is True if `MAX_EXHAUSTED` SVMs reached their step limit.
    """

    upper: float
    lower: float
    solutions: list[Array]
    intercepts: list[float]
    exhausted: bool = False


class WeightPoint(NamedTuple):
    """The SVMs at weights d.

    `gram` is K(d). `value`, `gain` and `upper` are the means over the SVMs of the dual objective,
    kappa and the primal objective at the `solutions`.
    """

    d: Array
    gram: Array
    duals: list[MarginDual]
    solutions: list[Array]
    intercepts: list[float]
    value: float
    gain: float
    upper: float


class Direction(NamedTuple):
    """Search direction: changes of e for the weights `some`, and the slope of J along it."""

    some: Indices
    change: Array
    slope: float


class NewtonState:
    """State of a minimisation: best point, bounds and history, and the tolerance of the SVMs."""

    problem: WeightLearning
    callback: Callback | None

    def __init__(
        self, problem: WeightLearning, start: Array, inner: float, callback: Callback | None
    ) -> None:
        self.problem, self.callback = problem, callback
        self.inner = inner
        self.n_iter = 0
        self.stopped: bool = False
        self.exhausted: int = 0
        self.decreases_fast: bool = True
        self.damping: float = 0.1
        self.history: list[Progress] = []
        self.lower: float = -np.inf
        self.best: WeightPoint = self.solve_svms(start)

    def solve_svms(self, d: Array, starts: Sequence[Array] | None = None) -> WeightPoint:
        """Solve the SVMs at d to the current tolerance, starting from b = 0 by default."""
        cold = starts is None
        gram = self.problem.grams.combined(d)
        duals = self.problem.duals(gram)
        # the tolerance of smo.solve is relative to 1 + the objective, and `inner` to the objective
        if starts is None:
            starts = [np.zeros_like(dual.linear) for dual in duals]
            loss = float(np.mean([dual.loss(dual.linear).sum() for dual in duals]))
            self.unit: float = max(TINY, min(1.0, loss))
        solutions, intercepts, values, gains, uppers = [], [], [], [], []
        for dual, b in zip(duals, starts, strict=True):
            result = smo.solve(
                dual,
                b,
                tol=self.inner * self.unit,
                callback=self._is_stopped,
                max_iter=max(100_000, 10_000 * len(b)),
            )
            proof = result.certificate
            assert proof is not None
            self.exhausted += result.status is Status.MAX_ITER
            solutions.append(result.x)
            intercepts.append(proof.intercept)
            values.append(proof.value)
            gains.append(dual.gain(result.x))
            uppers.append(proof.value + proof.gap)
        point = WeightPoint(
            d=d,
            gram=gram,
            duals=duals,
            solutions=solutions,
            intercepts=intercepts,
            value=float(np.mean(values)),
            gain=float(np.mean(gains)),
            upper=float(np.mean(uppers)),
        )
        if not cold and point.upper <= self.best.upper:
            self.best = point
            self.unit = max(TINY, min(1.0, point.upper))
        return point

    def _is_stopped(self, _progress: Progress) -> bool:
        """Report the last bounds to the callback; return True if the callback stops the fit."""
        if self.callback is not None and not self.stopped:
            last = self.history[-1] if self.history else Progress(0, np.nan, np.nan)
            self.stopped = self.callback(last._replace(n_iter=self.n_iter)) is True
        return self.stopped

    @property
    def relative_gap(self) -> float:
        """The gap between the bounds, relative to the objective."""
        return max(0.0, self.best.upper - self.lower) / max(abs(self.best.upper), TINY)

    def record(self, lower: float) -> None:
        """Update the lower bound and the history."""
        upper = self.best.upper
        self.lower = max(self.lower, lower)
        if self.history and not upper <= 0.7 * self.history[-1].objective:
            self.decreases_fast = False
        self.history.append(Progress(self.n_iter, upper, max(0.0, upper - self.lower)))

    def result(self, status: Status) -> Result[WeightCertificate]:
        """Return the best weights and their bounds."""
        best, gap = self.best, max(0.0, self.best.upper - self.lower)
        exhausted = self.exhausted >= MAX_EXHAUSTED
        proof = WeightCertificate(
            upper=best.upper,
            lower=self.lower,
            solutions=best.solutions,
            intercepts=best.intercepts,
            exhausted=exhausted,
        )
        return Result(
            x=best.d,
            value=best.upper,
            gap=gap,
            n_iter=self.n_iter,
            status=status,
            history=self.history,
            certificate=proof,
        )


def solve(
    problem: WeightLearning,
    start: Array | None = None,
    *,
    tol: float = 1e-3,
    max_iter: int = 100,
    callback: Callback | None = None,
) -> Result[WeightCertificate]:
    """Minimise J to a certified relative gap.

    Parameters
    ----------
    problem : WeightLearning
    start : array of shape (M,), optional
        Feasible initial weights; equal weights by default.
    tol : float
        Relative gap at which the solver stops.
    max_iter : int
        Maximum number of steps; -1 for no limit.
    callback : callable, optional
        Called with a `Progress` at short intervals; returning True stops the solver.

    Returns
    -------
    Result
        `x` holds the weights, and `certificate` the bounds.
    """
    count = len(problem.grams)
    start = np.full(count, count ** (-1.0 / problem.norm)) if start is None else start
    state = NewtonState(problem, start, COARSEST, callback)
    point, idle = state.best, 0
    while True:
        products = problem.products(point.solutions)
        q = problem.quadratic(point.solutions, products)
        before = state.relative_gap
        state.record(problem.lower_bound(point.gain, q))
        gap = state.relative_gap
        idle = 0 if gap < 0.9 * before else idle + 1
        status = _status(state, gap <= tol, max_iter, idle)
        if status is not None:
            return state.result(status)
        # after a step without progress, solve the SVMs more accurately
        share = INNER_SHARE if idle == 0 else 0.1 * INNER_SHARE
        state.inner = max(FINEST, min(share * gap, state.inner if idle < 3 else 0.1 * state.inner))
        state.n_iter += 1
        # For large norms, Kloft's closed form takes no more steps than Newton's method, and cheaper
        # ones. For smaller norms it is used while each step reduces J by at least 30 %: for poor
        # weights, J is about proportional to 1/d, and a Newton step removes only a third of it.
        if problem.norm >= 1.5:
            use_closed_form = gap <= 0.5 * before
        else:
            use_closed_form = state.decreases_fast and state.best.upper > 0.0
        if use_closed_form:
            point = state.solve_svms(problem.closed_form(point.d, q), point.solutions)
        else:
            point = _take_newton_step(state, point, products, q)


def _status(state: NewtonState, converged: bool, max_iter: int, idle: int) -> Status | None:
    """Return the reason to stop, or None."""
    if converged:
        return Status.CONVERGED
    if state.stopped:
        return Status.STOPPED
    if state.n_iter == max_iter:
        return Status.MAX_ITER
    stalled = idle > 5 and state.inner <= FINEST
    return Status.STALLED if stalled or state.exhausted >= MAX_EXHAUSTED else None


def solve_at(
    problem: WeightLearning,
    weights: Array,
    *,
    tol: float = 1e-3,
    callback: Callback | None = None,
) -> Result[WeightCertificate]:
    """Solve the SVMs at fixed weights; the bounds are on the objective at these weights."""
    state = NewtonState(problem, weights, min(COARSEST, tol), callback)
    lower = state.best.value
    while state.best.upper - lower > tol * abs(state.best.upper) and state.inner > FINEST:
        if state.stopped or state.exhausted >= MAX_EXHAUSTED:
            break
        state.inner = max(FINEST, 0.1 * state.inner)
        lower = state.solve_svms(weights, state.best.solutions).value
    state.record(lower)
    if state.stopped:
        return state.result(Status.STOPPED)
    return state.result(Status.CONVERGED if state.relative_gap <= tol else Status.STALLED)


def _take_newton_step(
    state: NewtonState, point: WeightPoint, products: list[Array], q: Array
) -> WeightPoint:
    """Solve the SVMs at the minimiser of a damped second-order model of J."""
    problem, d = state.problem, point.d
    # for norm 1 the step changes positive weights, and zero weights with a slope -q_m/2 below the
    # mean -d'q/2; for norms above 1 it leaves tiny weights unchanged up to scale
    chosen = (d > 0.0) | (q > d @ q) if problem.norm == 1.0 else d > 1e-10 * d.max()
    some = np.flatnonzero(chosen)
    parts = [product[some] for product in products]
    hessian, changes = problem.curvature(point.gram, point.solutions, parts, point.duals)
    # The Hessian holds only for the current free coordinates of the SVMs. If they are few, J curves
    # more, so fractions of the diagonal and its mean are added. (This halves the time on wdbc
    # with C = 100 and Gram matrices of trace 1, where 10 coordinates are free.)
    diagonal = hessian.diagonal()
    damping = state.damping * (diagonal + 0.1 * diagonal.mean())
    hessian[np.diag_indices_from(hessian)] += damping
    direction = _direction(problem, d, q, some, hessian)
    return _search_line(state, point, direction, changes)


def _search_line(
    state: NewtonState,
    point: WeightPoint,
    direction: Direction,
    changes: list[tuple[Indices, Array]],
) -> WeightPoint:
    """Solve the SVMs along a direction until the slope of J is at most half its initial size.

    J is convex: its minimum along the direction lies between the largest step size with negative
    slope and the smallest step size with positive slope.
    """
    problem, some, p = state.problem, direction.some, state.problem.norm
    size, ends, slopes, tried = 1.0, [0.0, 1.0], [direction.slope, 0.0], []
    for _ in range(8):
        # e + size * change, then d = e^(1/p), scaled to |d|_p = 1
        d = point.d.copy()
        d[some] = np.maximum(d[some] ** p + size * direction.change, 0.0) ** (1.0 / p)
        d = d / (d**p).sum() ** (1.0 / p)
        new = state.solve_svms(d, _predict(point.solutions, changes, d[some] - point.d[some]))
        tried.append(new)
        q = problem.quadratic(new.solutions, problem.products(new.solutions, some))
        slope = float(_slopes(problem, d[some], q) @ direction.change)
        flat = abs(slope) <= 0.5 * abs(direction.slope) and new.value < point.value
        ended = state.stopped or state.exhausted >= MAX_EXHAUSTED
        if ended or flat or (slope <= 0.0 and size == 1.0):
            break
        # regula falsi, kept at least a quarter of the interval from its ends
        side = int(slope > 0.0)
        ends[side], slopes[side] = size, slope
        share = slopes[0] / (slopes[0] - slopes[1])
        size = ends[0] + min(max(share, 0.25), 0.75) * (ends[1] - ends[0])
    else:
        new = min(tried, key=lambda each: each.value)
    # increase the damping if the full step was too long, otherwise decrease it
    state.damping = max(4.0 * state.damping, 0.03) if len(tried) > 1 else state.damping / 4.0
    return new


def _predict(
    solutions: Sequence[Array], changes: list[tuple[Indices, Array]], step: Array
) -> list[Array]:
    """Return the first-order prediction of the SVM coefficients after a step of the weights."""
    starts = []
    for b, (free, change) in zip(solutions, changes, strict=True):
        predicted = b.copy()
        predicted[free] += change @ step
        starts.append(predicted)
    return starts


def _slopes(problem: WeightLearning, d: Array, q: Array) -> Array:
    """Compute the gradient of J in e = d^p: dJ/de = dJ/dd dd/de = -q/2 d^(1 - p)/p."""
    if problem.norm == 1.0:
        return -0.5 * q
    return -0.5 * q * d ** (1.0 - problem.norm) / problem.norm


def _direction(
    problem: WeightLearning, d: Array, q: Array, some: Indices, hessian: Array
) -> Direction:
    """Minimise the second-order model of J in e = d^p at d over the simplex, for `some` weights.

    With the derivatives f' and f'' of d_m = e_m^(1/p), and the Hessian H in d, the Hessian in e is
    diag(f') H diag(f') + diag(dJ/dd f'').
    """
    p, d, q = problem.norm, d[some], q[some]
    slopes, e, share = _slopes(problem, d, q), d**p, 1.0
    if p > 1.0:
        first = d ** (1.0 - p) / p
        second = (1.0 / p) * (1.0 / p - 1.0) * d ** (1.0 - 2.0 * p)
        hessian = hessian * first * first[:, None]
        hessian[np.diag_indices_from(hessian)] += -0.5 * q * second
        share = 0.98  # keeps e > 0, as the slopes are infinite at e = 0
    # minimise slopes'x + x'Hx/2 over 1'x = 0, x >= -share e: the dual of an SVM; a constant added
    # to all slopes does not change the solution
    linear = float(slopes.mean()) - slopes
    unit = max(TINY, min(1.0, float(np.abs(slopes).max())))
    model = MarginDual(
        rows=DenseRows(hessian / unit),
        linear=linear / unit,
        lower=-share * e,
        upper=np.ones_like(e),
    )
    change = smo.solve(model, tol=1e-9, max_iter=100_000).x
    return Direction(some, change, float(slopes @ change))
