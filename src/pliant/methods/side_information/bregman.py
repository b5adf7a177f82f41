r"""Cyclic Bregman projections: one pair's bound after another, for `problems.distance_bounds`.

The projection on the bound of pair k, of squared distance p and with slack x,

    a = min(lam, s nu/(nu+1) (1/p - 1/x)),  lam -= a,  1/x += s a/nu,
    K += b w w',  w = K (e_i - e_j),  b = s a/(1 - s a p)

is the exact maximum of the dual over lam_k. Two things make it
fast. The order is drawn anew for each sweep: neighbours in a list of pairs share a point, and
undo one another's work. And K is brought up to date for some tens of projections at once, by one
matrix product; until then w is that of the old K plus what these projections added.

1/x follows from lam, and is not stored. K follows from the duals too: it is computed from them
anew, in O(a^3), every few sweeps, more often if it had drifted, and before every verdict. A sweep
over m pairs of a points costs O(m a^2) at most.

Hard bounds are met in the limit only. So all of them are tightened by a share that costs half the
gap allowed; a K that keeps the proper bounds is then reached after finitely many sweeps.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
from numpy.random import RandomState

from pliant.core.progress import Progress, Result, Status
from pliant.core.typing import Array, Indices
from pliant.methods.side_information.projected import ProjectedGram

__all__ = ["Bounded", "BoundsProof", "solve"]

SLICE = 1e9
"""Multiplications between two calls of the callback, about: some hundredths of a second."""

SCAN = 100_000
"""Pairs that one compiled slice looks at, at most."""

LONGEST_DRIFT = 16
"""Sweeps after which K is computed anew, at most."""

DRIFTED = 1e-10
"""A relative error of K that asks for doing so more often."""

WIDEST = 0.1
"""The largest share by which hard bounds are tightened."""

PATIENCE = 5
"""Sweeps without a better bound or gap, after which the run counts as stalled."""


class BoundsProof(Protocol):
    """What the solver reads from a certificate."""

    @property
    def value(self) -> float:
        """The objective."""

    @property
    def lower_bound(self) -> float:
        """The dual value."""

    @property
    def gap(self) -> float:
        """Their difference; nan if a hard bound is broken."""


Proof = TypeVar("Proof", bound=BoundsProof)
ProofOut = TypeVar("ProofOut", bound=BoundsProof, covariant=True)


class Bounded(Protocol[ProofOut]):
    """A LogDet problem with bounds on the distances of pairs."""

    @property
    def gram(self) -> Array:
        """K0, shape (a, a)."""

    @property
    def pairs(self) -> Indices:
        """The pairs, shape (m, 2)."""

    @property
    def signs(self) -> Array:
        """+1.0 for upper bounds, -1.0 for lower ones, shape (m,)."""

    @property
    def bounds(self) -> Array:
        """The bounds, shape (m,)."""

    @property
    def slack(self) -> float:
        """The price nu of slack; inf for hard bounds."""

    def learned(self, duals: Array) -> tuple[Array, float]:
        """Return K and log det(I + L K0)."""

    def certificate(self, duals: Array, gram: Array, log_det: float) -> ProofOut:
        """Return what some duals prove, given K and the log det for them."""


def solve(
    problem: Bounded[Proof],
    start: Array | None = None,
    *,
    rng: RandomState,
    tol: float = 1e-3,
    max_iter: int = 100,
    callback: Callable[[Progress], Any] | None = None,
) -> Result[Proof]:
    """Maximise the dual to a certified gap.

    Parameters
    ----------
    problem : Bounded
        A `pliant.methods.side_information.ldk_problem.DistanceBounds`.
    start : array of shape (m,), optional
        Duals to begin with. Zero if not given.
    rng : RandomState
        Draws the order of the pairs in each sweep.
    tol : float
        Stop when gap <= tol (1 + abs(objective)).
    max_iter : int
        Sweeps at most.
    callback : callable, optional
        Called with a `Progress` after each slice of at most some hundredths of a second;
        returning True stops the solver.

    Returns
    -------
    Result
        `x` holds the duals, `certificate` K and what is proven; `n_iter` counts sweeps.
    """
    run = _Run(problem, start, rng, callback)
    status = run.verdict(tol, max_iter)
    while status is None:
        run.sweep(tol)
        status = run.verdict(tol, max_iter)
    proof = run.proof
    return Result(run.duals, proof.value, proof.gap, run.n_iter, status, run.history, proof)


class _Run(Generic[Proof]):
    """The duals, the K that follows them, and what has been seen of them."""

    def __init__(
        self,
        problem: Bounded[Proof],
        start: Array | None,
        rng: RandomState,
        callback: Callable[[Progress], Any] | None,
    ) -> None:
        self.problem, self.rng, self.callback = problem, rng, callback
        self.history: list[Progress] = []
        self.n_iter = self.age = self.idle = 0
        self.lifetime, self.best_bound = 1, -math.inf
        self.stopped = self.failed = False
        self.kernel = self._begin(start)
        self.safe = self.duals.copy()

    def _begin(self, start: Array | None) -> ProjectedGram:
        if start is None:
            self.duals = np.zeros(len(self.problem.signs))
            return ProjectedGram(self.problem.gram.copy(), 0.0)
        self.duals = np.array(start, dtype=np.float64)
        return ProjectedGram(*self.problem.learned(self.duals))

    def verdict(self, tol: float, max_iter: int) -> Status | None:
        """Certify the duals; say whether, and why, the run is over."""
        self._prove()
        status = self._status(tol, max_iter)
        if self.age and (status is not None or self.age >= self.lifetime):
            self._renew()
            status = self._status(tol, max_iter)
        self._note()
        return status

    def _prove(self) -> None:
        kernel = self.kernel
        self.proof = self.problem.certificate(self.duals, kernel.gram, kernel.log_det)

    def _status(self, tol: float, max_iter: int) -> Status | None:
        if self.proof.gap <= tol * (1.0 + abs(self.proof.value)):
            return Status.CONVERGED
        if self.stopped:
            return Status.STOPPED
        if self.failed or self.idle >= PATIENCE:
            return Status.STALLED
        return Status.MAX_ITER if self.n_iter >= max_iter else None

    def _renew(self) -> None:
        """Compute K from the duals; where rounding took them too far, from those before."""
        drifted = self.kernel.gram
        try:
            learned = self.problem.learned(self.duals)
            self.safe = self.duals.copy()
        except np.linalg.LinAlgError:
            self.failed, self.duals = True, self.safe
            learned = self.problem.learned(self.duals)
        self.kernel = ProjectedGram(*learned)
        fresh = self.kernel.gram
        steady = np.abs(drifted - fresh).max() <= DRIFTED * np.abs(fresh).max()
        self.lifetime = min(LONGEST_DRIFT, 2 * self.age) if steady else max(1, self.age // 2)
        self.age = 0
        self._prove()

    def _note(self) -> None:
        """Add to the history; count the sweeps in which neither bound nor gap got better."""
        proof = self.proof
        idle = (
            len(self.history) > 0
            and proof.gap >= min(step.gap for step in self.history)
            and proof.lower_bound <= self.best_bound
        )
        self.idle = self.idle + 1 if idle else 0
        self.best_bound = max(self.best_bound, proof.lower_bound)
        self.history.append(Progress(self.n_iter, proof.value, proof.gap))

    def sweep(self, tol: float) -> None:
        """Project on every bound once, in a new order."""
        problem, targets = self.problem, self._targets(tol)
        order = self.rng.permutation(len(self.duals))
        place, work = 0, 0.0
        while place < len(order) and not self.stopped:
            part = order[place : place + SCAN]
            done, more = self.kernel.project(
                part, problem.pairs, problem.signs, targets, 1.0 / problem.slack, self.duals
            )
            place, work = place + done, work + more
            if work > SLICE or place == len(order):
                work = 0.0
                self._tell()
        self.n_iter += 1
        self.age += 1

    def _targets(self, tol: float) -> Array:
        """Return the bounds to project on: hard ones are tightened."""
        bounds = self.problem.bounds
        load = float(self.duals @ bounds)
        if math.isfinite(self.problem.slack) or load == 0.0:
            return bounds
        share = min(WIDEST, 0.5 * tol * (1.0 + abs(self.proof.value)) / load)
        return bounds * (1.0 - self.problem.signs * share)

    def _tell(self) -> None:
        if self.callback is not None:
            self.stopped = bool(self.callback(self.history[-1]))
