"""What all solvers for a kernel-learning saddle point share: machines, bounds, history."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from pliant.core.progress import Progress, Result, Status
from pliant.core.typing import Array
from pliant.methods.tessellated.solvers.lower_bound import Lower, improved
from pliant.methods.tessellated.solvers.saddle import Bound, Dual, Oracle, Saddle, SaddleProblem

__all__ = ["INNER_SHARE", "Answer", "Prox", "Search"]

COARSEST = 0.03
"""The accuracy of a machine, relative to what is known of its objective, at least."""

INNER_SHARE = 0.1
"""Machines are solved to this share of the gap."""

PATIENT = 0.01
"""A step that promises less than this share of the gap is not worth more accuracy."""

FINEST = 0.2
"""But not to less than INNER_SHARE times this share of the accuracy that is asked for."""

MACHINE_STEPS = 1000
"""Steps of the inner solver for one machine and row; bounds hold even if it stops early."""

PATIENCE = 100
"""Machines without a better bound, after which a search gives up."""


class Prox(NamedTuple):
    """The term -rho/2 |w - centre|^2, rho > 0."""

    rho: float
    centre: Array


class Answer(NamedTuple):
    """What one machine tells.

    Attributes
    ----------
    w : array of shape (m,)
        Its solution.
    value : float
        kappa(w) - w'K_P w/2 (less the proximal term, if there is one).
    slack : float
        A bound on what is missing from w as the solution of the machine without the term.
    oracle : Oracle
        D(w) and its largest eigenvalues.
    """

    w: Array
    value: float
    slack: float
    oracle: Oracle


class Search:
    """Machines solved one after the other, each from the last one's solution; the best bounds.

    Parameters
    ----------
    problem : SaddleProblem
    inner : callable
        solve(dual, start, tol=, max_iter=, callback=) -> Result, such as `smo.solve`.
    tol : float
        The gap that is asked for, relative to the upper bound.
    max_iter : int
        Machines at most.
    callback : callable, optional
        Called with a `Progress` as the inner solver reports; returning True stops.
    """

    def __init__(
        self,
        problem: SaddleProblem,
        inner: Callable[..., Result[Any]],
        tol: float,
        max_iter: int,
        callback: Callable[[Progress], Any] | None,
    ) -> None:
        self.problem = problem
        self.inner = inner
        self.tol = tol
        self.limit = max_iter if max_iter >= 0 else int(np.iinfo(np.int64).max)
        self.callback = callback
        self.upper = np.inf
        self.best_lower: Lower | None = None
        self.w: Array | None = None
        self.factor: Array | None = None
        self.best: tuple[Array, Bound] | None = None
        self.n_machines = 0
        self.idle = 0
        self.stopped = False
        self.history: list[Progress] = []

    @property
    def lower(self) -> float:
        """The best lower bound."""
        return -np.inf if self.best_lower is None else self.best_lower.value

    @property
    def gap(self) -> float:
        """The difference of the best bounds."""
        return max(0.0, self.upper - self.lower)

    @property
    def status(self) -> Status | None:
        """Why the search is over; None if it is not."""
        if self.gap <= self.tol * abs(self.upper):
            return Status.CONVERGED
        if self.stopped:
            return Status.STOPPED
        if self.n_machines >= self.limit:
            return Status.MAX_ITER
        return Status.IDLE if self.idle >= PATIENCE else None

    def accuracy(self, promise: float = np.inf) -> float:
        """Return the gap to which the next machine is worth solving.

        `promise` is what the objective is expected to change by.
        """
        if not np.isfinite(self.upper):
            return np.inf
        worth = np.clip(promise, PATIENT * self.gap, self.gap)
        return INNER_SHARE * max(float(worth), FINEST * self.tol * abs(self.upper))

    def at(
        self,
        factor: Array,
        prox: Prox | None = None,
        *,
        promise: float = np.inf,
        count: int = 1,
    ) -> Answer:
        """Solve the machine at P = factor factor' (scaled to its trace), and learn from it."""
        factor = self.problem.scaled(factor)
        gram = self.problem.gram(factor)
        return self.of_gram(gram, factor, prox, promise=promise, count=count)

    def of_gram(
        self,
        gram: Array,
        factor: Array,
        prox: Prox | None = None,
        *,
        promise: float = np.inf,
        count: int = 1,
    ) -> Answer:
        """Solve the machine of a Gram matrix, which a proximal term overwrites."""
        plain = self.problem.dual(gram)
        dual = plain if prox is None else self.problem.smoothed(gram, *prox)
        accuracy = self.accuracy(promise)
        return self.of_dual(dual, plain, factor, prox, accuracy=accuracy, count=count)

    def of_dual(
        self,
        dual: Dual,
        plain: Dual,
        factor: Array,
        prox: Prox | None = None,
        *,
        accuracy: float = np.inf,
        count: int = 1,
    ) -> Answer:
        """Solve a machine to an absolute accuracy, or to a share of what is known if that is less.

        `plain` is the same machine without its proximal term.
        """
        nothing = np.zeros_like(plain.linear)
        known = min(self.upper, plain.bound(nothing, 0.0, nothing).gap)
        accuracy = min(accuracy, COARSEST * known)
        start = nothing if self.w is None else self.w
        result = self.inner(
            dual,
            start,
            tol=accuracy / (1.0 + known),
            max_iter=MACHINE_STEPS * len(start),
            callback=self._report,
        )
        self.n_machines += 1
        self.w = w = result.x
        certificate = result.certificate
        assert certificate is not None
        f = certificate.decision - certificate.intercept
        value, penalty = certificate.value, 0.0
        if prox is not None:
            f = f - prox.rho * w
            value = value - 0.5 * prox.rho * float(prox.centre @ prox.centre)
            penalty = 0.5 * prox.rho * float(((w - prox.centre) ** 2).sum())
        bound = plain.bound(w, value + penalty, f)
        gain = plain.gain(w)
        oracle = self.problem.oracle(w, gain, count)
        self._note(factor, w, bound, Lower(oracle.lower, w, gain, oracle.matrix))
        return Answer(w, value, bound.gap, oracle)

    def _note(self, factor: Array, w: Array, bound: Bound, lower: Lower) -> None:
        """Keep the better bounds."""
        self.idle += 1
        upper = bound.value + bound.gap
        if upper < self.upper:
            self.upper, self.factor, self.best = upper, factor, (w, bound)
            self.idle = 0
        known, best = self.lower, self.best_lower
        self.best_lower = lower if lower.value > known or best is None else best
        if best is not None and self.status is None:
            self.best_lower = improved(self.problem, best, lower)
        if self.lower > known:
            self.idle = 0
        self.history.append(Progress(self.n_machines, self.upper, self.gap))

    def _report(self, progress: Progress) -> bool:
        if self.callback is None:
            return False
        seen = Progress(self.n_machines, self.upper, self.gap)
        self.stopped = self.callback(seen) is True or self.stopped
        return self.stopped

    def result(self) -> Result[Saddle]:
        """Return what was found; `x` is the factor of P."""
        assert self.best is not None
        assert self.factor is not None
        w, bound = self.best
        proof = Saddle(self.upper, self.lower, w, bound.intercept)
        return Result(
            x=self.factor,
            value=self.upper,
            gap=proof.gap,
            n_iter=self.n_machines,
            status=self.status or Status.IDLE,
            history=self.history,
            certificate=proof,
        )
