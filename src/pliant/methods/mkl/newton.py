"""Newton's method for the weights of kernels.

Each iterate d costs the SVMs at K(d), started from the solutions at the last one, and one look at
every kernel for the bounds. The next iterate minimises the second-order model of J over the
weights: a small quadratic problem on the simplex, in e = d^p. Near the optimum the free
coordinates of the SVMs no longer change, and the model is exact up to the third order.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from pliant.core.progress import Progress, Result, Status
from pliant.core.typing import Array, Indices
from pliant.methods.mkl.problem import WeightLearning
from pliant.methods.svm import smo
from pliant.methods.svm.dual import Certificate, MarginDual
from pliant.methods.svm.rows import DenseRows

COARSEST, FINEST = 1e-3, 1e-10
"""Largest and smallest gap to which an SVM is solved, relative to 1 + its objective."""

INNER_SHARE = 0.03
"""SVMs are solved to this share of the relative gap of the weights; slopes of J need more digits
than its value."""

TRIES = 8
"""Number of SVMs solved along one direction."""

NEAREST = 0.98
"""Share of the way to zero that a weight may go in one step, for norms above 1."""

TINY = 1e-10
"""Weights below this share of the largest one follow the others, for norms above 1."""

PATIENCE = 5
"""Number of steps without a smaller gap after which a run counts as stalled."""


@dataclass(frozen=True, eq=False)
class Weights:
    """Bounds of the optimum, and the solutions and intercepts of the SVMs of the upper one."""

    upper: float
    lower: float
    solutions: list[Array]
    intercepts: list[float]

    @property
    def value(self) -> float:
        """The objective: the upper bound."""
        return self.upper

    @property
    def gap(self) -> float:
        """The most by which the objective may be too large."""
        return max(0.0, self.upper - self.lower)


class Point(NamedTuple):
    """The SVMs at some weights d.

    `gram` is K(d), `value` the mean of the dual objectives at the `solutions`, `gain` that of
    kappa, and `upper` that of the primal objectives.
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
    """One run: bounds, history and what limits it."""

    def __init__(
        self, problem: WeightLearning, tol: float, callback: Callable[[Progress], Any] | None
    ) -> None:
        self.problem, self.tol, self.callback = problem, tol, callback
        self.inner = COARSEST
        self.lower, self.best = -np.inf, None
        self.history: list[Progress] = []
        self.n_iter = 0
        self.stopped = False

    def solve_svms(self, d: Array, starts: list[Array] | None) -> Point:
        """Solve the SVMs at d, to the present accuracy."""
        problem = self.problem
        gram = problem.grams.combined(d)
        duals = problem.duals(gram)
        results = [
            smo.solve(
                dual,
                None if starts is None else starts[t],
                tol=self.inner,
                callback=self._asked_to_stop,
            )
            for t, dual in enumerate(duals)
        ]
        solutions = [result.x for result in results]
        certificates = [result.certificate for result in results]
        gains = [dual.gain(b) for dual, b in zip(duals, solutions, strict=True)]
        point = Point(
            d,
            gram,
            duals,
            solutions,
            certificates,
            value=float(np.mean([each.value for each in certificates])),
            gain=float(np.mean(gains)),
            upper=float(np.mean([each.value + each.gap for each in certificates])),
        )
        if self.best is None or point.upper <= self.best.upper:
            self.best = point
        return point

    def _asked_to_stop(self, progress: Progress) -> bool:
        if self.callback is not None and not self.stopped:
            last = self.history[-1] if self.history else Progress(0, np.nan, np.nan)
            self.stopped = self.callback(last._replace(n_iter=self.n_iter)) is True
        return self.stopped

    @property
    def relative_gap(self) -> float:
        """The gap of the best bounds, relative to the objective."""
        return max(0.0, self.best.upper - self.lower) / max(abs(self.best.upper), 1e-300)

    def check(self, gain: float, q: Array) -> None:
        """Update the lower bound and the history."""
        self.lower = max(self.lower, self.problem.lower_bound(gain, q))
        gap = max(0.0, self.best.upper - self.lower)
        self.history.append(Progress(self.n_iter, self.best.upper, gap))


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
    run = _Run(problem, tol, callback)
    point = run.solve_svms(problem.start() if start is None else start, None)
    idle, status = 0, None
    while True:
        products = problem.products(point.solutions)
        q = problem.quadratic(point.solutions, products)
        before = run.relative_gap
        run.check(point.gain, q)
        gap = run.relative_gap
        idle = 0 if gap < 0.9 * before else idle + 1
        if gap <= tol:
            status = Status.CONVERGED
        elif run.stopped:
            status = Status.STOPPED
        elif run.n_iter == max_iter:
            status = Status.MAX_ITER
        elif idle > PATIENCE and run.inner <= FINEST:
            status = Status.STALLED
        if status is not None:
            break
        run.inner = min(max(INNER_SHARE * gap * (0.1 if idle else 1.0), FINEST), run.inner)
        if idle > 2:
            run.inner = max(0.1 * run.inner, FINEST)
        run.n_iter += 1
        point = _step(run, point, products, q)
    best = run.best
    proof = Weights(
        best.upper, run.lower, best.solutions, [each.intercept for each in best.certificates]
    )
    return Result(
        x=best.d,
        value=proof.value,
        gap=proof.gap,
        n_iter=run.n_iter,
        status=status,
        history=run.history,
        certificate=proof,
    )


def _step(run: _Run, point: Point, products: list[Array], q: Array) -> Point:
    """Return the SVMs at the next weights."""
    problem = run.problem
    some = _active(problem, point.d, q)
    parts = [product[some] for product in products]
    hessian, changes = problem.curvature(point.gram, point.solutions, parts, point.duals)
    direction = _direction(problem, point.d, q, some, hessian)
    length = 1.0
    for _ in range(TRIES):
        d = _moved(problem, point.d, direction, length)
        starts = []
        for b, (free, change) in zip(point.solutions, changes, strict=True):
            moved = b.copy()
            moved[free] += change @ (d[some] - point.d[some])
            starts.append(moved)
        new = run.solve_svms(d, starts)
        q_new = problem.quadratic(new.solutions, problem.products(new.solutions, some))
        slope = float(_slopes(problem, d[some], q_new) @ direction.change)
        lower_value = new.value <= point.value + 1e-4 * length * direction.slope
        if run.stopped or slope <= 0.0 or (lower_value and slope <= -0.5 * direction.slope):
            break
        length *= min(max(direction.slope / (direction.slope - slope), 0.1), 0.8)
    return new


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
    level = float(slopes.mean())  # steps sum to zero: a constant changes nothing
    model = MarginDual(DenseRows(hessian), level - slopes, -share * e, np.ones_like(e))
    change = smo.solve(model, tol=1e-9, max_iter=100_000).x
    return Direction(some, change, float(slopes @ change))


def _moved(problem: WeightLearning, d: Array, direction: Direction, length: float) -> Array:
    """Return the weights after a step of a length in [0, 1]."""
    p, moved = problem.norm, d.copy()
    e = np.maximum(d[direction.some] ** p + length * direction.change, 0.0)
    moved[direction.some] = e ** (1.0 / p)
    return moved / (moved**p).sum() ** (1.0 / p)
