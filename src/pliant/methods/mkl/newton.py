"""Newton's method for the weights of kernels.

Each iterate d costs the SVMs at K(d), started from the solutions at the last one, and one look at
every kernel for the bounds. The next iterate minimises the second-order model of J over the
weights: a small quadratic problem on the simplex, in e = d^p. Near the optimum the free
coordinates of the SVMs no longer change, and the model is exact up to the third order.

For larger norms the next iterate is a closed form instead, the alternating minimisation of Kloft et
al. (2011), as long as that is fast.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from pliant.core.progress import Progress, Result, Status
from pliant.core.typing import Array, Indices
from pliant.methods.mkl.problem import WeightLearning
from pliant.methods.svm import smo
from pliant.methods.svm.dual import Certificate, MarginDual
from pliant.methods.svm.rows import DenseRows

COARSEST, FINEST = 1e-3, 1e-10
"""Largest and smallest gap to which an SVM is solved, relative to its objective."""

STEPS, FEWEST_STEPS, EXHAUSTED = 10_000, 100_000, 5
"""An SVM may take the first number of steps for each sample, or the second if that is more; a run
ends as stalled after the third number of SVMs that reached this limit: only with C of 1e6 or so."""

INNER_SHARE = 0.03
"""SVMs are solved to this share of the relative gap of the weights; slopes of J need more digits
than its value."""

CONTRACTS, FAST = 1.5, 0.5
"""From this norm on Kloft's closed form is used while it reduces the gap to this share: it needs as
many steps as Newton's method there, or fewer, and each is cheaper. (To a relative gap of 1e-3, on
two tables with 117 and 442 kernels: 5 to 7 steps for norm 2, 15 for norm 1.2.)"""

FALLS = 0.7
"""For smaller norms, the closed form is used at first, while it lowers J to this share. Where the
first weights are far from the best, J is about proportional to 1/d, of which Newton's method takes
a third off in a step, and the closed form all. (A quarter less time over 18 problems.)"""

TRIES = 8
"""Number of SVMs solved along one direction."""

FIRST_DAMPING, DAMPING_FACTOR, LEAST_DAMPING, DAMPED_ALL = 0.1, 4.0, 0.03, 0.1
"""The Hessian of J knows the free coordinates of the SVMs at one point only; where they are few, J
bends more than it says. So a share of its diagonal, and of the mean of that, is added: .1 at
first, four times more after a step whose full length was too long, four times less after others.
(Halves the time on wdbc with C = 100 and traces of 1, where 10 coordinates are free.)"""

FLATTER, NARROWER = 0.5, 0.25
"""A length along a direction is taken where the slope is at most this share of the first one; else
the interval of lengths is divided at this share or more from its ends."""

NEAREST = 0.98
"""Share of the way to zero that a weight may go in one step, for norms above 1."""

TINY = 1e-10
"""Weights below this share of the largest one follow the others, for norms above 1."""

PROGRESS, PATIENCE = 0.9, 5
"""A run counts as stalled after this many steps whose gap is more than this share of the last."""

TINIEST = float(np.finfo(np.float64).tiny)


@dataclass(frozen=True, eq=False)
class Weights:
    """Bounds of the optimum, and the solutions and intercepts of the SVMs of the upper one."""

    upper: float
    lower: float
    solutions: list[Array]
    intercepts: list[float]
    exhausted: bool = False
    """Whether SVMs took as many steps as they may."""

    @property
    def gap(self) -> float:
        """The most by which the objective may be too large."""
        return max(0.0, self.upper - self.lower)


class Point(NamedTuple):
    """The SVMs at some weights d.

    `gram` is K(d), and `value`, `gain` and `upper` are means over the SVMs: of the dual
    objectives at the `solutions`, of kappa, and of the primal objectives.
    """

    d: Array
    gram: Array
    duals: list[MarginDual]
    solutions: list[Array]
    certificates: list[Certificate]
    value: float
    gain: float
    upper: float


class Direction(NamedTuple):
    """A step of the weights `some`, in e: the changes, and the slope of J along them."""

    some: Indices
    change: Array
    slope: float


class _Run:
    """One run: the best point, bounds, history and what limits it. It begins with `start`."""

    def __init__(
        self,
        problem: WeightLearning,
        start: Array,
        inner: float,
        callback: Callable[[Progress], Any] | None,
    ) -> None:
        self.problem, self.callback = problem, callback
        self.inner = inner
        self.n_iter = 0
        self.stopped = False
        self.exhausted = 0
        self.unit = 1.0
        self.damping = FIRST_DAMPING
        self.history: list[Progress] = []
        self.lower = -np.inf
        self.first = self.best = self._solved(start, [None] * len(problem.margins))

    def solve_svms(self, d: Array, starts: list[Array]) -> Point:
        """Solve the SVMs at d, to the present accuracy."""
        point = self._solved(d, starts)
        if point.upper <= self.best.upper:
            self.best = point
            self._measure(point.upper)
        return point

    def _measure(self, objective: float) -> None:
        """Set the unit of gaps: `smo.solve` takes them relative to 1 + its objective."""
        self.unit = max(TINIEST, min(1.0, objective))

    def _solved(self, d: Array, starts: Sequence[Array | None]) -> Point:
        gram = self.problem.grams.combined(d)
        duals = self.problem.duals(gram)
        if starts[0] is None:
            self._measure(_mean(dual.loss(dual.linear).sum() for dual in duals))  # b = 0
        solutions, certificates = [], []
        for dual, start in zip(duals, starts, strict=True):
            result = smo.solve(
                dual, start, tol=self.inner * self.unit, callback=self._asked_to_stop,
                max_iter=max(FEWEST_STEPS, STEPS * len(dual.linear)),
            )  # fmt: skip
            assert result.certificate is not None
            self.exhausted += result.status is Status.MAX_ITER
            solutions.append(result.x)
            certificates.append(result.certificate)
        return Point(
            d,
            gram,
            duals,
            solutions,
            certificates,
            value=_mean(each.value for each in certificates),
            gain=_mean(dual.gain(b) for dual, b in zip(duals, solutions, strict=True)),
            upper=_mean(each.value + each.gap for each in certificates),
        )

    def _asked_to_stop(self, progress: Progress) -> bool:
        if self.callback is not None and not self.stopped:
            last = self.history[-1] if self.history else Progress(0, np.nan, np.nan)
            self.stopped = self.callback(last._replace(n_iter=self.n_iter)) is True
        return self.stopped

    @property
    def gap(self) -> float:
        """The gap between the bounds."""
        return max(0.0, self.best.upper - self.lower)

    @property
    def relative_gap(self) -> float:
        """The gap, relative to the objective."""
        return self.gap / max(abs(self.best.upper), TINIEST)

    def record(self, lower: float) -> None:
        """Update the lower bound and the history."""
        self.lower = max(self.lower, lower)
        self.history.append(Progress(self.n_iter, self.best.upper, self.gap))

    def falls(self) -> bool:
        """Return whether J is positive and has fallen fast in each step so far."""
        values = [step.objective for step in self.history]
        return values[-1] > 0.0 and all(new <= FALLS * old for old, new in pairwise(values))

    def adapt(self, *, rejected: bool) -> None:
        """Damp the next model less if the last step was right, else more."""
        if rejected:
            self.damping = max(DAMPING_FACTOR * self.damping, LEAST_DAMPING)
        else:
            self.damping /= DAMPING_FACTOR

    def result(self, status: Status) -> Result[Weights]:
        """Return the best weights with their bounds."""
        best = self.best
        intercepts = [each.intercept for each in best.certificates]
        late = self.exhausted >= EXHAUSTED
        proof = Weights(best.upper, self.lower, best.solutions, intercepts, late)
        return Result(
            x=best.d, value=proof.upper, gap=proof.gap, n_iter=self.n_iter, status=status,
            history=self.history, certificate=proof,
        )  # fmt: skip


def _mean(values: Iterable[float]) -> float:
    return float(np.mean(list(values)))


def solve(
    problem: WeightLearning,
    start: Array | None = None,
    *,
    tol: float = 1e-3,
    max_iter: int = 100,
    callback: Callable[[Progress], Any] | None = None,
) -> Result[Weights]:
    """Minimise J to a certified relative gap.

    Parameters
    ----------
    problem : WeightLearning
    start : array of shape (M,), optional
        The first weights, feasible; equal ones by default.
    tol : float
        Stop when the gap is at most this share of the objective.
    max_iter : int
        Number of Newton steps at most; -1 for no limit.
    callback : callable, optional
        Called with a `Progress` between slices of work; returning True stops the solver.

    Returns
    -------
    Result
        `x` are the weights, `certificate` the bounds.
    """
    start = problem.start() if start is None else start
    run = _Run(problem, start, COARSEST, callback)
    point, idle = run.first, 0
    while True:
        products = problem.products(point.solutions)
        q = problem.quadratic(point.solutions, products)
        before = run.relative_gap
        run.record(problem.lower_bound(point.gain, q))
        gap = run.relative_gap
        idle = 0 if gap < PROGRESS * before else idle + 1
        status = _status(run, gap <= tol, max_iter, idle)
        if status is not None:
            return run.result(status)
        share = INNER_SHARE if idle == 0 else 0.1 * INNER_SHARE
        run.inner = max(FINEST, min(share * gap, run.inner if idle < 3 else 0.1 * run.inner))
        run.n_iter += 1
        fast = gap <= FAST * before if problem.norm >= CONTRACTS else run.falls()
        if fast:
            point = run.solve_svms(problem.closed_form(point.d, q), point.solutions)
        else:
            point = _newton_step(run, point, products, q)


def _status(run: _Run, done: bool, max_iter: int, idle: int) -> Status | None:
    """Return why the run is over; None if it goes on."""
    if done:
        return Status.CONVERGED
    if run.stopped:
        return Status.STOPPED
    if run.n_iter == max_iter:
        return Status.MAX_ITER
    stalled = idle > PATIENCE and run.inner <= FINEST
    return Status.STALLED if stalled or run.exhausted >= EXHAUSTED else None


def solve_at(
    problem: WeightLearning,
    weights: Array,
    *,
    tol: float = 1e-3,
    callback: Callable[[Progress], Any] | None = None,
) -> Result[Weights]:
    """Solve the SVMs at given weights; the bounds are those of the objective there."""
    run = _Run(problem, weights, min(COARSEST, tol), callback)
    lower = run.first.value
    while run.best.upper - lower > tol * abs(run.best.upper) and run.inner > FINEST:
        if run.stopped or run.exhausted >= EXHAUSTED:
            break
        run.inner = max(FINEST, 0.1 * run.inner)
        lower = max(lower, run.solve_svms(weights, run.best.solutions).value)
    run.record(lower)
    if run.stopped:
        return run.result(Status.STOPPED)
    return run.result(Status.CONVERGED if run.relative_gap <= tol else Status.STALLED)


def _newton_step(run: _Run, point: Point, products: list[Array], q: Array) -> Point:
    """Return the SVMs at the next weights."""
    problem = run.problem
    some = _active(problem, point.d, q)
    parts = [product[some] for product in products]
    hessian, changes = problem.curvature(point.gram, point.solutions, parts, point.duals)
    diagonal = hessian.diagonal()
    hessian[np.diag_indices_from(hessian)] += run.damping * (
        diagonal + DAMPED_ALL * diagonal.mean()
    )
    direction = _direction(problem, point.d, q, some, hessian)
    return _search(run, point, direction, changes)


def _search(
    run: _Run, point: Point, direction: Direction, changes: list[tuple[Indices, Array]]
) -> Point:
    """Return the SVMs at a point along a direction where J has become flatter.

    J is convex: its minimum along the direction lies between the largest length of negative slope
    and the smallest one of positive slope, nearer to the one of smaller slope.
    """
    problem, some = run.problem, direction.some
    length, ends, slopes, tried = 1.0, [0.0, 1.0], [direction.slope, 0.0], []
    for _ in range(TRIES):
        d = _moved(problem, point.d, direction, length)
        new = run.solve_svms(d, _predicted(point, changes, d[some] - point.d[some]))
        tried.append(new)
        q = problem.quadratic(new.solutions, problem.products(new.solutions, some))
        slope = float(_slopes(problem, d[some], q) @ direction.change)
        flat = abs(slope) <= FLATTER * abs(direction.slope) and new.value < point.value
        over = run.stopped or run.exhausted >= EXHAUSTED
        if over or flat or (slope <= 0.0 and length == 1.0):
            break
        side = int(slope > 0.0)
        ends[side], slopes[side] = length, slope
        share = slopes[0] / (slopes[0] - slopes[1])
        length = ends[0] + min(max(share, NARROWER), 1.0 - NARROWER) * (ends[1] - ends[0])
    else:
        new = min(tried, key=lambda each: each.value)
    run.adapt(rejected=len(tried) > 1)
    return new


def _predicted(point: Point, changes: list[tuple[Indices, Array]], step: Array) -> list[Array]:
    """Return the coefficients of the SVMs after a step of the weights, to first order."""
    starts = []
    for b, (free, change) in zip(point.solutions, changes, strict=True):
        moved = b.copy()
        moved[free] += change @ step
        starts.append(moved)
    return starts


def _active(problem: WeightLearning, d: Array, q: Array) -> Indices:
    """Return the kernels whose weights a step changes: those that may have weight afterwards."""
    if problem.norm == 1.0:
        return np.flatnonzero((d > 0.0) | (q > d @ q))
    return np.flatnonzero(d > TINY * d.max())


def _slopes(problem: WeightLearning, d: Array, q: Array) -> Array:
    """Return the slopes of J in e = d^p."""
    if problem.norm == 1.0:
        return -0.5 * q
    return -0.5 * q * d ** (1.0 - problem.norm) / problem.norm


def _direction(
    problem: WeightLearning, d: Array, q: Array, some: Indices, hessian: Array
) -> Direction:
    """Return the step that minimises the second-order model of J in e = d^p over the simplex."""
    p, d, q = problem.norm, d[some], q[some]
    slopes, e, share = _slopes(problem, d, q), d**p, 1.0
    if p > 1.0:
        first = d ** (1.0 - p) / p
        second = (1.0 / p) * (1.0 / p - 1.0) * d ** (1.0 - 2.0 * p)
        hessian = hessian * first * first[:, None]
        hessian[np.diag_indices_from(hessian)] += -0.5 * q * second
        share = NEAREST
    linear = float(slopes.mean()) - slopes  # steps sum to zero: a constant changes nothing
    unit = max(TINIEST, min(1.0, float(np.abs(slopes).max())))
    model = MarginDual(DenseRows(hessian / unit), linear / unit, -share * e, np.ones_like(e))
    change = smo.solve(model, tol=1e-9, max_iter=100_000).x
    return Direction(some, change, float(slopes @ change))


def _moved(problem: WeightLearning, d: Array, direction: Direction, length: float) -> Array:
    """Return the weights after a step of a length in [0, 1]."""
    p, moved = problem.norm, d.copy()
    e = np.maximum(d[direction.some] ** p + length * direction.change, 0.0)
    moved[direction.some] = e ** (1.0 / p)
    return moved / (moved**p).sum() ** (1.0 / p)
