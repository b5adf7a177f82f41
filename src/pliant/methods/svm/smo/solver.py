"""Sequential minimal optimisation with a quartic term, warm start and active sets.

    maximise  h(beta) = p'beta - epsilon |beta|_1 - 1/2 beta'K beta - (c/4) (beta^2)'(K o K)(beta^2)
    subject to  lower <= beta <= upper,  1'beta = 0

Each step moves weight from one coordinate, j, to another, i. Along e_i - e_j the objective is
concave, a quartic with kinks at zero, and is maximised exactly. i is the steepest ascent, j the
largest second-order gain (Fan, Chen and Lin 2005, with the curvature of the quartic term).

Between rounds, coordinates that are in no violating pair are set aside, and if few are left, their
square Gram is copied into a compact block, where a step is cheaper; every round ends with a check
of all coordinates and a certificate. Where the Gram is not kept whole, there are only blocks: the
worst violators and free coordinates, as many as `rows.room` allows, drawn at random if there is no
room for all. The pair of the largest violation is always among them, so the first step of a block
is as good as one on all coordinates.
The path depends on the data only, never on the clock.
Cost: O(n) a step and some tens of steps a support vector, so between n^2 and n^3.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from pliant.core.progress import Progress, Result, Status
from pliant.core.typing import Array, Indices
from pliant.methods.svm.dual import Certificate, MarginDual
from pliant.methods.svm.smo import newton
from pliant.methods.svm.smo.steps import Block, project_box_hyperplane, working_set

SLICE_READS = 2e7
"""Gram entries that one compiled slice reads at most: some hundredths of a second."""

SHORTEST_ROUND = 500
"""Fewest steps of a round on all coordinates; a round has n/2 steps if that is more."""

STALE = 8
"""Rounds after which the fields are computed again from beta, against rounding errors."""

PATIENCE = 5
"""Rounds without a better value or gap after which the run counts as stalled."""

IDLE = 1e-8
"""Share of the gap that a round closes at least if it counts as better."""

SHORT_SLICE = 1e6
"""The same in long runs, where Newton steps take turns with these; or one step a coordinate."""

LONG_RUN = 100
"""Two-coordinate steps for each coordinate after which a run is a long one; most end sooner."""

STEP = 1000
"""Time of a two-coordinate step besides its reads, in the time of reading one kernel value."""

WORTH_COPYING = 0.4
"""Largest share of all coordinates in a block; copying more costs more than it saves."""

BLOCK_GOAL = 0.03
"""A block is left when its violation is this share of that of all coordinates before it."""

LONGEST_VISIT = 100
"""Most steps in a block, for each of its coordinates; at least 10 000."""


class _Stopped(Exception):
    """A callback asked to stop while kernel values for a block, or its fields, were computed."""


class Run:
    """One run: the point, its fields on all coordinates, and its history."""

    def __init__(
        self,
        problem: MarginDual,
        beta: Array,
        max_iter: int,
        callback: Callable[[Progress], Any] | None,
        fields: tuple[Array, Array] | None = None,
    ) -> None:
        self.problem = problem
        self._move_to(beta, problem.fields(beta) if fields is None else fields)
        self.limit = max_iter if max_iter >= 0 else int(np.iinfo(np.int64).max)
        self.callback = callback
        self.n_iter = 0
        self.work = 0.0
        self.turns: newton.Schedule | None = None
        self.rng = np.random.default_rng(0)
        self.idle_rounds = 0
        self.best = -np.inf, np.inf  # the largest value, and the smallest gap
        self.rounds_since_fresh = 0
        self.intercept = 0.0
        self.stopped = False
        self.history: list[Progress] = []

    def check(self, tol: float, violation: float | None) -> tuple[Certificate, Status | None]:
        """Certify the present point; return the reason if the run is over, else None."""
        certificate = self.problem.certificate(self.beta, self.fields)
        reached = self._reached(certificate, tol, violation)
        if self._needs_fresh_fields(reached):
            self._move_to(self.beta, self.problem.fields(self.beta))
            self.rounds_since_fresh = 0
            certificate = self.problem.certificate(self.beta, self.fields)
            reached = self._reached(certificate, tol, violation)
        self.intercept = certificate.intercept
        self._record(certificate)
        if reached:
            return certificate, Status.CONVERGED if self.problem.psd else Status.UNCERTIFIED
        if self.stopped:
            return certificate, Status.STOPPED
        if self.n_iter >= self.limit:
            return certificate, Status.MAX_ITER
        return certificate, Status.STALLED if self.idle_rounds >= self._patience else None

    @property
    def _patience(self) -> int:
        """Idle rounds until the run has stalled: each free coordinate needs a place in a block."""
        room = self.problem.rows.room
        if room is None:
            return PATIENCE
        return PATIENCE * max(1, math.ceil(np.count_nonzero(self.everything.free) / room))

    def improve(self, floor: float) -> None:
        """Step on the coordinates that may move, then bring all fields up to date."""
        self.rounds_since_fresh += 1
        chosen = self._working_set()
        if chosen is None:
            self._advance(self.everything, floor, max(SHORTEST_ROUND, self.beta.size // 2))
            self._move_to(self.everything.beta, self.everything.fields())
        else:
            with contextlib.suppress(_Stopped):
                self._visit(chosen, floor)

    def _working_set(self) -> Indices | None:
        """Return the coordinates of the next block; None for all of them."""
        room = self.problem.rows.room
        if room is not None:
            return working_set(self.everything, room, self.rng)
        if self.idle_rounds:
            return None
        return self.everything.active(self.intercept, int(WORTH_COPYING * self.beta.size))

    def _visit(self, chosen: Indices, floor: float) -> None:
        """Step on some coordinates in a block of their own, then bring all fields up to date."""
        part = Block(self.problem, self.beta, self.fields, chosen, self._pause)
        goal = max(floor, BLOCK_GOAL * self.everything.violation)
        end = self.n_iter + max(10_000, LONGEST_VISIT * chosen.size)
        while part.violation > goal and self._advance(part, goal, end - self.n_iter):
            pass
        self._fold_in(part)

    def _move_to(self, beta: Array, fields: tuple[Array, Array]) -> None:
        self.beta = beta
        self.fields = fields
        self.everything = Block(self.problem, beta, fields)

    def _needs_fresh_fields(self, reached: bool) -> bool:
        """Whether to compute the fields again: they may have drifted, or this is the last check.

        Where that would need kernel values, only if there is no progress: the fields are then
        sums of one product a round, not of one a step, and drift little.
        """
        if self.problem.rows.room is not None or self.idle_rounds > 0:
            return self.idle_rounds > 0
        drifted = self.rounds_since_fresh >= STALE
        return reached or drifted or self.stopped or self.n_iter >= self.limit

    def _reached(self, certificate: Certificate, tol: float, violation: float | None) -> bool:
        if violation is not None:
            return self.everything.violation <= violation
        return certificate.gap <= tol * (1.0 + abs(certificate.value))

    def _record(self, certificate: Certificate) -> None:
        """Add to the history; count the rounds in which neither value nor gap got better.

        A round that closes so little of the gap that hundreds of millions would be needed is idle:
        where C is 1e20, the gap is C times the rounding errors of the decision values.
        """
        value, gap = certificate.value, certificate.gap
        best, least = self.best
        rise = IDLE * abs(gap) if np.isfinite(gap) else 0.0
        better = not self.history or value > best + rise or gap < (1.0 - IDLE) * least
        self.best = max(value, best), min(gap, least)
        self.idle_rounds = 0 if better else self.idle_rounds + 1
        self.history.append(Progress(self.n_iter, certificate.value, certificate.gap))

    def _advance(self, block: Block, goal: float, steps: int) -> bool:
        """Take one slice of steps; return whether another one makes sense."""
        size = block.beta.size
        reads = max(SHORT_SLICE, float(size) ** 2) if self._is_long() else SLICE_READS
        allowed = max(1, int(min(reads, SLICE_READS) / size))
        allowed = min(steps, allowed, self.limit - self.n_iter)
        done = block.ascend(goal, allowed)
        self.n_iter += done
        self.work += float(done) * (size + STEP)
        self._asked_to_stop()
        if self._is_long() and self.problem.psd and 0 < done == allowed and not self.stopped:
            self.turns = self.turns or newton.Schedule()
            stuck = self.idle_rounds > 0
            self.turns.take(block, goal, self.work, self._asked_to_stop, stuck=stuck)
        return 0 < done == allowed and self.n_iter < self.limit and not self.stopped

    def _is_long(self) -> bool:
        """Whether Newton steps take turns with two-coordinate steps."""
        return self.n_iter >= LONG_RUN * self.beta.size

    def _asked_to_stop(self) -> bool:
        progress = self.history[-1]._replace(n_iter=self.n_iter)
        self.stopped = self.callback is not None and self.callback(progress) is True
        return self.stopped

    def _pause(self) -> None:
        """Ask the callback while kernel values are computed; give the block up if it says stop."""
        if self.stopped or self._asked_to_stop():
            raise _Stopped

    def _fold_in(self, part: Block) -> None:
        beta = self.beta.copy()
        beta[part.indices] = part.beta
        (u, v), change, rows = self.fields, beta - self.beta, self.problem.rows
        if self.problem.quartic:
            # u and v are linear in beta and beta^2: add the products with their changes.
            du, dv = rows.both_matvecs(change, beta**2 - self.beta**2, self._pause)
            u, v = u + du, v + dv
        else:
            u = u + rows.matvec(change, self._pause)
        self._move_to(beta, (u, v))


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
    """Maximise a margin dual to a certified gap.

    Parameters
    ----------
    problem : MarginDual
    start : array of shape (n,), optional
        Where to begin; projected onto the feasible set, as zero is if none is given.
    tol : float
        Stop when gap <= tol (1 + abs(h)); h(0) = 0. Where the problem has no certificate, stop
        when no pair of coordinates violates the optimality conditions by more than `tol`.
    violation : float, optional
        Stop at this violation instead, whatever the gap (as libsvm does).
    max_iter : int
        Steps at most; -1 for no limit.
    callback : callable, optional
        Called with a `Progress` after each slice of at most some hundredths of a second, and
        between blocks of kernel values; returning True stops the solver at the last certified
        point, or at the present one if that takes no kernel values.
    fields : pair of arrays of shape (n,), optional
        The value of `problem.fields` at a feasible `start`, if it is known.

    Returns
    -------
    Result
        `x` is beta; `certificate` holds the intercept and the decision values.
    """
    if violation is None and not problem.psd:
        violation = tol
    if fields is None or start is None:
        start = _feasible(problem, start)
    run = Run(problem, start, max_iter, callback, fields)
    while True:
        certificate, status = run.check(tol, violation)
        if status is not None:
            break
        run.improve(violation or 0.0)
    return Result(
        x=run.beta,
        value=certificate.value,
        gap=certificate.gap,
        n_iter=run.n_iter,
        status=status,
        history=run.history,
        certificate=certificate,
    )


def _feasible(problem: MarginDual, start: Array | None) -> Array:
    if start is None:
        start = np.zeros(len(problem.rows))
    if start.shape != problem.linear.shape:
        raise ValueError(f"expected a start of shape {problem.linear.shape}, got {start.shape}")
    return project_box_hyperplane(start, problem.lower, problem.upper)
