"""Rounds of the two-coordinate ascent: steps on all coordinates or on some, then a certificate."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any, Generic, TypeVar

import numpy as np

from pliant.core.result import Progress, Status
from pliant.core.typing import Array, Indices
from pliant.methods.svm.smo.block import Block, CertifiedIntercept, TwoCoordinateProblem
from pliant.methods.svm.smo.working_set import working_set

__all__ = ["Run"]

SLICE_READS = 2e7
"""Gram entries that one compiled slice reads at most: some hundredths of a second."""

SHORTEST_ROUND = 500
"""Steps on all coordinates before the active ones are looked for again; n/2 if that is more."""

WORTH_COPYING = 0.4
"""A block holds at most this share of all coordinates; copying more costs more than it saves."""

BLOCK_GOAL = 0.03
"""A block is left when its violation is this share of that of all coordinates before it."""

LONGEST_VISIT = 100
"""Steps a coordinate in a block before all coordinates are looked at again; 10 000 if more."""

STALE = 8
"""Rounds after which the fields are summed up anew."""

PATIENCE = 5
"""Rounds without a better value or gap, after which the run counts as stalled."""

Proof = TypeVar("Proof", bound=CertifiedIntercept)


class _Abandoned(Exception):
    """A callback asked to stop while kernel values for a block, or its fields, were computed."""


class Run(Generic[Proof]):
    """One run: the point, its fields on all coordinates, and what has been seen of it."""

    def __init__(
        self,
        problem: TwoCoordinateProblem[Proof],
        beta: Array,
        max_iter: int,
        callback: Callable[[Progress], Any] | None,
        fields: tuple[Array, Array] | None = None,
    ) -> None:
        self.problem = problem
        self._arrive(beta, problem.fields(beta) if fields is None else fields)
        self.limit = max_iter if max_iter >= 0 else int(np.iinfo(np.int64).max)
        self.callback = callback
        self.n_iter = 0
        self.idle_rounds = 0
        self.rounds_since_fresh = 0
        self.intercept = 0.0
        self.stopped = False
        self.history: list[Progress] = []

    def check(self, tol: float, violation: float | None) -> tuple[Proof, Status | None]:
        """Certify the present point; say whether, and why, the run is over."""
        certificate = self.problem.certificate(self.beta, self.fields)
        reached = self._reached(certificate, tol, violation)
        if self._in_doubt(reached):
            self._arrive(self.beta, self.problem.fields(self.beta))
            self.rounds_since_fresh = 0
            certificate = self.problem.certificate(self.beta, self.fields)
            reached = self._reached(certificate, tol, violation)
        self.intercept = certificate.intercept
        self._note(certificate)
        if reached:
            return certificate, Status.CONVERGED if self.problem.psd else Status.UNCERTIFIED
        if self.stopped:
            return certificate, Status.STOPPED
        if self.n_iter >= self.limit:
            return certificate, Status.MAX_ITER
        return certificate, Status.STALLED if self.idle_rounds >= PATIENCE else None

    def improve(self, floor: float) -> None:
        """Step on the coordinates that may move, then bring all fields up to date."""
        self.rounds_since_fresh += 1
        chosen = self._working_set()
        if chosen is None:
            self._advance(self.everything, floor, max(SHORTEST_ROUND, self.beta.size // 2))
            self._arrive(self.everything.beta, self.everything.fields())
        else:
            with contextlib.suppress(_Abandoned):
                self._visit(chosen, floor)

    def _working_set(self) -> Indices | None:
        """Return the coordinates of the next block; None for all of them."""
        room = self.problem.rows.room
        if room is not None:
            return working_set(self.everything, self.intercept, room)
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

    def _arrive(self, beta: Array, fields: tuple[Array, Array]) -> None:
        self.beta = beta
        self.fields = fields
        self.everything = Block(self.problem, beta, fields)

    def _in_doubt(self, reached: bool) -> bool:
        """Whether to sum the fields anew: they may have drifted, or this may be the last check.

        Where that would need kernel values, only if there is no progress: fields are then sums of
        one product a round, not of many steps.
        """
        if self.problem.rows.room is not None or self.idle_rounds > 0:
            return self.idle_rounds > 0
        drifted = self.rounds_since_fresh >= STALE
        return reached or drifted or self.stopped or self.n_iter >= self.limit

    def _reached(self, certificate: Proof, tol: float, violation: float | None) -> bool:
        if violation is not None:
            return self.everything.violation <= violation
        return certificate.gap <= tol * (1.0 + abs(certificate.value))

    def _note(self, certificate: Proof) -> None:
        """Add to the history; count the rounds in which neither value nor gap got better."""
        values = [step.objective for step in self.history]
        gaps = [step.gap for step in self.history]
        better = not values or certificate.value > max(values) or certificate.gap < min(gaps)
        self.idle_rounds = 0 if better else self.idle_rounds + 1
        self.history.append(Progress(self.n_iter, certificate.value, certificate.gap))

    def _advance(self, block: Block, goal: float, steps: int) -> bool:
        """Take one slice of steps; return whether another one makes sense."""
        allowed = max(1, int(SLICE_READS / block.beta.size))
        allowed = min(steps, allowed, self.limit - self.n_iter)
        done = block.ascend(goal, allowed)
        self.n_iter += done
        self.stopped = self._says_stop()
        return 0 < done == allowed and self.n_iter < self.limit and not self.stopped

    def _says_stop(self) -> bool:
        seen = self.history[-1]._replace(n_iter=self.n_iter)
        return self.callback is not None and self.callback(seen) is True

    def _pause(self) -> None:
        """Look at the callback while kernel values are computed; give the block up if it stops."""
        self.stopped = self.stopped or self._says_stop()
        if self.stopped:
            raise _Abandoned

    def _fold_in(self, part: Block) -> None:
        beta = self.beta.copy()
        beta[part.indices] = part.beta
        (u, v), change, rows = self.fields, beta - self.beta, self.problem.rows
        if self.problem.quartic:
            du, dv = rows.both_matvecs(change, beta**2 - self.beta**2, self._pause)
            u, v = u + du, v + dv
        else:
            u = u + rows.matvec(change, self._pause)
        self._arrive(beta, (u, v))
