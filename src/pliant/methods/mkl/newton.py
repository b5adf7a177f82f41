r"""Newton's method for the kernel weights of support vector machines (SVMs).

It solves the problem of `pliant.methods.mkl.problem`, with its symbols.

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
from typing import NamedTuple

import numpy as np

from pliant.core.progress import Progress, Result, Status
from pliant.core.typing import Array, Callback, Indices
from pliant.methods.mkl.problem import WeightCertificate, WeightLearning
from pliant.methods.svm import smo
from pliant.methods.svm.dual import MarginDual
from pliant.methods.svm.rows import DenseRows

COARSEST, FINEST, INNER_SHARE = 1e-3, 1e-10, 0.03
"""Maximum and minimum relative tolerance of an SVM; in between, its ratio to the relative gap of
the weights. Slopes of J need more digits than J."""

MAX_EXHAUSTED = 5
"""Number of SVMs at their step limit at which a fit stops as stalled (seen with C near 1e6)."""


TINY = float(np.finfo(np.float64).tiny)
"""Smallest normal float, a lower limit on divisors."""


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
