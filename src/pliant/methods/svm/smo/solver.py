"""Sequential minimal optimisation (SMO) of a `pliant.methods.svm.dual.MarginDual`.

Each step moves weight from coordinate j to coordinate i. Along e_i - e_j the objective is a
concave quartic with kinks at zero, and is maximised exactly. Coordinate i has the steepest ascent,
and j the largest second-order gain (Fan, Chen and Lin 2005, with the quartic term's curvature).

Each round drops coordinates that are in no violating pair (shrinking). If few remain, their Gram
block is copied into a compact array, where steps are cheaper. Each round ends with a check of all
coordinates and a certificate. If the Gram matrix is not in memory, each round uses a working set
of at most `rows.max_block` coordinates. It holds the worst violators, and free coordinates, sampled
if there are too many. It always contains the maximal violating pair, so its first step equals a
step on all coordinates. The iterates depend only on the data, not on timing.
A step costs O(n); with tens of steps per support vector, a fit costs between n^2 and n^3.

Nearly all time is spent in a few loops over all coordinates. The compiler can vectorise them: their
bodies have no branches, and no maximum depends on the previous one.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from pliant.core.loops import compiled
from pliant.core.progress import Progress, Result, Status
from pliant.core.threads import blas_limited
from pliant.core.typing import Array, Indices
from pliant.methods.svm.dual import Certificate, MarginDual, project_box_hyperplane
from pliant.methods.svm.smo.block import (
    WorkingBlock,
    active_set,
    one_sided_slopes,
    slope_down,
    slope_up,
    working_set,
)
from pliant.methods.svm.smo.newton import NewtonSchedule

SLICE_READS = 2e7
"""Maximum number of Gram entries read between two callbacks: a few hundredths of a second."""

LONG_RUN = 100
"""Steps per coordinate after which Newton steps alternate with SMO steps; most runs end sooner."""

IDLE = 1e-8
"""Rounds are idle until they close this fraction of the gap."""

FLAT = 1e-12
"""Lower bound for computed curvatures, which rounding errors can make negative."""


@blas_limited
def solve(
    problem: MarginDual,
    start: Array | None = None,
    *,
    tol: float = 1e-4,
    violation: float | None = None,
    max_iter: int = -1,
    callback: Callable[[Progress], Any] | None = None,
    fields: tuple[Array, Array] | None = None,
) -> Result[Certificate]:
    """Maximise a dual problem to a certified gap.

    Parameters
    ----------
    problem : MarginDual
    start : array of shape (n,), optional
        Starting point, projected onto the feasible set; zero by default.
    tol : float
        Stop when gap <= tol (1 + abs(h)); h(0) = 0. If the problem is not PSD, stop when no pair
        of coordinates violates the optimality conditions by more than `tol`.
    violation : float, optional
        Stop at this violation instead, whatever the gap (as libsvm does).
    max_iter : int
        Maximum number of steps; -1 for no limit.
    callback : callable, optional
        Called with a `Progress` every few hundredths of a second and between blocks of kernel
        values. If it returns True, the solver stops at the last certified point, or at the current
        point if certifying it requires no kernel values.
    fields : pair of arrays of shape (n,), optional
        `problem.fields(start)` for a feasible `start`, if known.

    Returns
    -------
    Result
        `x` is beta; `certificate` holds the intercept and the decision values.
    """
    if violation is None and not problem.psd:
        violation = tol
    if fields is None or start is None:
        start = np.zeros(len(problem.rows)) if start is None else start
        if start.shape != problem.linear.shape:
            raise ValueError(f"expected a start of shape {problem.linear.shape}, got {start.shape}")
        start = project_box_hyperplane(start, problem.lower, problem.upper)
        fields = problem.fields(start)
    limit = max_iter if max_iter >= 0 else int(np.iinfo(np.int64).max)
    state = SMOState(problem=problem, beta=start, fields=fields, limit=limit, callback=callback)
    while True:
        certificate, status = state.certify(tol, violation)
        if status is not None:
            break
        state.improve(violation or 0.0)
    return Result(
        x=state.beta,
        value=certificate.value,
        gap=certificate.gap,
        n_iter=state.n_iter,
        status=status,
        history=state.history,
        certificate=certificate,
    )


class _Stopped(Exception):
    """The callback requested a stop between two blocks of kernel values."""


@dataclass
class SMOState:
    """Iterate of the solver with its fields, counters and history."""

    problem: MarginDual
    beta: Array
    fields: tuple[Array, Array]
    limit: int
    callback: Callable[[Progress], Any] | None
    n_iter: int = 0
    work: float = 0.0  # cost of all steps, in units of reading one kernel value
    newton: NewtonSchedule | None = None
    idle_rounds: int = 0
    rounds_since_fields: int = 0  # since the fields were last computed from beta
    best_value: float = -np.inf
    least_gap: float = np.inf
    intercept: float = 0.0
    stopped: bool = False
    history: list[Progress] = field(default_factory=list)

    @cached_property
    def rng(self) -> np.random.Generator:
        """Draws the free coordinates of a working set."""
        return np.random.default_rng(0)

    def move_to(self, beta: Array, fields: tuple[Array, Array]) -> None:
        """Set the iterate and its fields."""
        self.beta, self.fields = beta, fields
        vars(self).pop("full", None)

    @cached_property
    def full(self) -> WorkingBlock:
        """All coordinates at the iterate, from which improving starts."""
        return WorkingBlock(self.problem, self.beta, self.fields)

    def certify(self, tol: float, violation: float | None) -> tuple[Certificate, Status | None]:
        """Return the certificate of the iterate, and a status if the solver must stop."""
        max_block = self.problem.rows.max_block
        certificate, reached = self._certificate(tol, violation)
        # The fields are sums of updates. To remove rounding errors, recompute them from beta every
        # 8 rounds, after an idle round, and at the last point. If that requires kernel values, do
        # so only after an idle round: then each round adds one product, so the fields drift little.
        recompute = self.idle_rounds > 0
        if max_block is None:
            recompute |= reached or self.stopped or self.n_iter >= self.limit
            recompute |= self.rounds_since_fields >= 8
        if recompute:
            self.move_to(self.beta, self.problem.fields(self.beta))
            self.rounds_since_fields = 0
            certificate, reached = self._certificate(tol, violation)
        self.intercept, value, gap = certificate.intercept, certificate.value, certificate.gap
        # A round is idle if neither value nor gap has improved by a relevant fraction of the gap
        # since the last one that was not: rounds in small blocks progress slowly. With C = 1e12,
        # the gap is C times the rounding errors of the decision values.
        rise = IDLE * abs(gap) if np.isfinite(gap) else 0.0
        better = not self.history or value > self.best_value + rise
        better |= gap < (1.0 - IDLE) * self.least_gap
        if better:
            self.best_value, self.least_gap = max(value, self.best_value), min(gap, self.least_gap)
        self.idle_rounds = 0 if better else self.idle_rounds + 1
        self.history.append(Progress(self.n_iter, value, gap))
        if reached:
            return certificate, Status.CONVERGED if self.problem.psd else Status.UNCERTIFIED
        if self.stopped:
            return certificate, Status.STOPPED
        if self.n_iter >= self.limit:
            return certificate, Status.MAX_ITER
        # The solver stalls after 5 idle rounds per block of free coordinates.
        blocks = 1 if max_block is None else math.ceil(self.full.free.sum() / max_block)
        return certificate, Status.STALLED if self.idle_rounds >= 5 * max(1, blocks) else None

    def _certificate(self, tol: float, violation: float | None) -> tuple[Certificate, bool]:
        """Return the certificate of the iterate, and True if it meets the stopping criterion."""
        certificate = self.problem.certificate(self.beta, self.fields)
        if violation is not None:
            return certificate, self.full.violation <= violation
        return certificate, certificate.gap <= tol * (1.0 + abs(certificate.value))

    def improve(self, floor: float) -> None:
        """Take steps on the working set, then update the fields of all coordinates."""
        self.rounds_since_fields += 1
        size, max_block, chosen = self.beta.size, self.problem.rows.max_block, None
        if max_block is not None:
            chosen = working_set(self.full, max_block, self.rng)
        elif not self.idle_rounds:
            # copying more than 0.4 of the coordinates costs more than it saves
            chosen = active_set(self.full, self.intercept, int(0.4 * size))
        if chosen is None:
            self._advance(self.full, floor, max(500, size // 2))
            self.move_to(self.full.beta, self.full.fields)
        else:
            with contextlib.suppress(_Stopped):
                self._step_in_block(chosen, floor)

    def _step_in_block(self, chosen: Indices, floor: float) -> None:
        """Take steps on the coordinates `chosen` in a separate block, then update the fields."""
        block = WorkingBlock(
            problem=self.problem,
            beta=self.beta,
            fields=self.fields,
            indices=chosen,
            pause=self._pause,
        )
        goal = max(floor, 0.03 * self.full.violation)
        end = self.n_iter + max(10_000, 100 * chosen.size)
        while block.violation > goal and self._advance(block, goal, end - self.n_iter):
            pass
        beta = self.beta.copy()
        beta[chosen] = block.beta
        (u, v), change, rows = self.fields, beta - self.beta, self.problem.rows
        # u is linear in beta and v is linear in beta^2: add the products with their changes.
        if self.problem.quartic:
            du, dv = rows.both_matvecs(change, beta**2 - self.beta**2, self._pause)
            u, v = u + du, v + dv
        else:
            u = u + rows.matvec(change, self._pause)
        self.move_to(beta, (u, v))

    def _advance(self, block: WorkingBlock, goal: float, steps: int) -> bool:
        """Take one slice of steps; return True unless the block is done."""
        n, size = self.beta.size, block.beta.size
        reads = SLICE_READS
        if self.n_iter >= LONG_RUN * n:  # shorter slices, which alternate with Newton steps
            reads = min(reads, max(1e6, float(size) ** 2))
        allowed = min(steps, max(1, int(reads / size)), self.limit - self.n_iter)
        done = take_steps(
            block.gram,
            block.diagonal,
            block.lower,
            block.upper,
            block.epsilon,
            block.c,
            block.beta,
            block.g,
            block.v,
            goal,
            allowed,
        )
        self.n_iter += done
        self.work += float(done) * (size + 1000)  # fixed cost of a step: 1000 reads
        self._report()
        unfinished = 0 < done == allowed and not self.stopped
        if unfinished and self.n_iter >= LONG_RUN * n and self.problem.psd:
            self.newton = self.newton or NewtonSchedule()
            self.newton.run_if_due(block, goal, self.work, self._report, self.idle_rounds > 0)
        return 0 < done == allowed and self.n_iter < self.limit and not self.stopped

    def _report(self) -> bool:
        """Report the progress; return True if the callback requests a stop."""
        progress = self.history[-1]._replace(n_iter=self.n_iter)
        self.stopped = self.callback is not None and self.callback(progress) is True
        return self.stopped

    def _pause(self) -> None:
        """Report the progress between blocks of kernel values; raise _Stopped on a stop request."""
        if self.stopped or self._report():
            raise _Stopped


@compiled
def take_steps(
    gram: Array,
    diagonal: Array,
    lower: Array,
    upper: Array,
    epsilon: Array,
    c: float,
    beta: Array,
    g: Array,
    v: Array,
    goal: float,
    steps: int,
) -> int:
    """Take up to `steps` steps in place, until the violation is <= `goal`; return their number."""
    up, down = one_sided_slopes(beta, lower, upper, epsilon)
    # curvature_s = K_ss + c (v_s + 2 beta_s^2 K_ss^2) = -d g_s/d beta_s. rise_s and shrink_s are
    # the rates at which h grows as beta_s increases and decreases, respectively.
    curvature = diagonal + c * (v + 2.0 * (beta * diagonal) ** 2)
    rise, shrink, gain = g - up, down - g, np.empty(beta.size)
    for done in range(steps):
        i, worst = _argmax(rise), _argmax(shrink)
        if not rise[i] + shrink[worst] > goal:  # also true for nan
            return done
        _gains(gram[i], curvature, shrink, beta, i, rise[i], c, gain)
        j = _argmax(gain)
        limit = min(upper[i] - beta[i], beta[j] - lower[j])
        pair = Pair(beta[i], beta[j], diagonal[i], diagonal[j], float(gram[i, j]), v[i], v[j], c)
        step = _line_search(pair, rise[i] + shrink[j], epsilon[i], epsilon[j], limit)
        old_i, old_j = beta[i], beta[j]
        beta[i] = upper[i] if step >= upper[i] - old_i else old_i + step
        beta[j] = lower[j] if step >= old_j - lower[j] else old_j - step
        if beta[i] == old_i and beta[j] == old_j:
            return done
        for s in (i, j):
            up[s] = slope_up(beta[s], upper[s], epsilon[s])
            down[s] = slope_down(beta[s], lower[s], epsilon[s])
        row_i, row_j, di, dj = gram[i], gram[j], beta[i] - old_i, beta[j] - old_j
        if c == 0.0:
            for s in range(beta.size):
                g[s] -= di * row_i[s] + dj * row_j[s]
                rise[s], shrink[s] = g[s] - up[s], down[s] - g[s]
            continue
        # g = p - u - c beta v. The update of c beta v has two terms: c di v_i with the old v, for
        # i and j only, and c beta_s dv_s with the new beta, for all coordinates.
        square_i, square_j = beta[i] ** 2 - old_i**2, beta[j] ** 2 - old_j**2
        g[i] -= c * di * v[i]
        g[j] -= c * dj * v[j]
        for s in range(beta.size):
            k_i, k_j = row_i[s], row_j[s]
            dv = square_i * k_i * k_i + square_j * k_j * k_j
            v[s] += dv
            curvature[s] += c * dv
            g[s] -= di * k_i + dj * k_j + c * beta[s] * dv
            rise[s], shrink[s] = g[s] - up[s], down[s] - g[s]
        for s in (i, j):
            curvature[s] = diagonal[s] + c * (v[s] + 2.0 * (beta[s] * diagonal[s]) ** 2)
    return steps


@compiled
def _argmax(values: Array) -> int:
    """Return `np.argmax(values)`; no value may be nan.

    A maximum of eight values needs no branch; the only branch, for a new maximum, is rarely taken.
    """
    best, start = -np.inf, 0
    blocks = values.size - values.size % 8
    for b in range(0, blocks, 8):
        low = max(max(values[b], values[b + 1]), max(values[b + 2], values[b + 3]))
        high = max(max(values[b + 4], values[b + 5]), max(values[b + 6], values[b + 7]))
        if max(low, high) > best:
            best, start = max(low, high), b
    for s in range(blocks, values.size):
        if values[s] > best:
            best, start = values[s], s
    at = start
    while values[at] < best:
        at += 1
    return at


@compiled
def _gains(
    row: Array,
    curvature: Array,
    shrink: Array,
    beta: Array,
    i: int,
    rise: float,
    c: float,
    out: Array,
) -> None:
    """Write to `out` the second-order gain of each coordinate paired with i, rate^2/curvature."""
    # The curvature along e_i - e_s is the sum of the curvatures of i and s, less twice
    # -d g_i/d beta_s = K_is + 2 c beta_i beta_s K_is^2.
    cross = 4.0 * c * beta[i]
    for s in range(shrink.size):
        rate = max(rise + shrink[s], 0.0)
        bend = curvature[i] + curvature[s] - row[s] * (2.0 + cross * beta[s] * row[s])
        out[s] = rate * rate / max(bend, FLAT)


class Pair(NamedTuple):
    """Coordinates i and j before weight t moves from j to i, with their entries of K and v."""

    b_i: float
    b_j: float
    k_ii: float
    k_jj: float
    k_ij: float
    v_i: float
    v_j: float
    c: float


@compiled
def _line_search(pair: Pair, slope: float, kink_i: float, kink_j: float, limit: float) -> float:
    """Return the t in [0, limit] that maximises h(beta + t (e_i - e_j)).

    `slope` is the derivative at 0+. The derivative decreases smoothly, except for a drop of
    2 epsilon_i at b_i + t = 0 and a drop of 2 epsilon_j at b_j - t = 0.
    """
    left, crossed = 0.0, 0.0
    while True:
        right = limit
        if kink_i > 0.0 and left < -pair.b_i < right:
            right = -pair.b_i
        if kink_j > 0.0 and left < pair.b_j < right:
            right = pair.b_j
        t = _root(pair, slope - crossed, left, right)
        if t < right or right == limit:
            return t
        drop = kink_i * (right == -pair.b_i) + kink_j * (right == pair.b_j)
        left, crossed = right, crossed + 2.0 * drop
        if _slope(pair, slope - crossed, left)[0] <= 0.0:
            return t


@compiled
def _root(pair: Pair, slope: float, left: float, right: float) -> float:
    """Return the root of the derivative in [left, right], or `right` if it is positive throughout.

    Uses Newton's method, safeguarded by bisection.
    """
    if _slope(pair, slope, right)[0] >= 0.0:
        return right
    t = left
    for _ in range(200):
        value, bend = _slope(pair, slope, t)
        if value > 0.0:
            left = t
        else:
            right = t
        new = t + value / bend if bend > 0.0 else np.inf
        if not left <= new <= right:
            new = 0.5 * (left + right)
        if abs(new - t) <= 1e-15 * abs(new):
            return new
        t = new
    return t


@compiled
def _slope(pair: Pair, slope: float, t: float) -> tuple[float, float]:
    """Return the first derivative at t and minus the second derivative, between two kinks.

    With beta(t) = beta + t (e_i - e_j), a = b_i + t, b = b_j - t and w = (K o K) beta(t)^2,

        w_i = v_i + K_ii^2 (a^2 - b_i^2) + K_ij^2 (b^2 - b_j^2),    and w_j by symmetry.

    The quartic term -(c/4) (beta^2)'w has the derivative -c (a w_i - b w_j); `slope` includes its
    value at t = 0, -c (b_i v_i - b_j v_j). As w_i' = 2 (a K_ii^2 - b K_ij^2) and
    w_j' = 2 (a K_ij^2 - b K_jj^2), minus its second derivative is
    c (w_i + w_j + 2 a^2 K_ii^2 + 2 b^2 K_jj^2 - 4 a b K_ij^2).
    """
    b_i, b_j, k_ii, k_jj, k_ij, v_i, v_j, c = pair
    flat = k_ii + k_jj - 2.0 * k_ij
    if c == 0.0:
        return slope - flat * t, flat
    a, b = b_i + t, b_j - t
    square_a, square_b = a * a - b_i * b_i, b * b - b_j * b_j
    kk_ii, kk_jj, kk_ij = k_ii * k_ii, k_jj * k_jj, k_ij * k_ij
    w_i = v_i + kk_ii * square_a + kk_ij * square_b
    w_j = v_j + kk_ij * square_a + kk_jj * square_b
    quartic = a * w_i - b_i * v_i - b * w_j + b_j * v_j
    bend = w_i + w_j + 2.0 * (a * a * kk_ii + b * b * kk_jj) - 4.0 * a * b * kk_ij
    return slope - flat * t - c * quartic, flat + c * bend
