"""What all solvers for a kernel-learning saddle point share: bounds, machines, history."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from pliant._typing import Array
from pliant.solvers._lower_bound import Lower, improved
from pliant.solvers.result import Progress, Result, Status

__all__ = ["Answer", "Prox", "Saddle", "SaddleProblem", "Search", "blended", "factor_of"]

COARSEST = 0.03
"""The accuracy of a machine, relative to what is known of its objective, at least."""

INNER_SHARE = 0.1
"""Machines are solved to this share of the gap."""

PATIENT = 0.1
"""A step that promises less than this share of the gap is not worth more accuracy."""

FINEST = 0.2
"""But not to less than INNER_SHARE times this share of the accuracy that is asked for."""

MACHINE_STEPS = 1000
"""Steps of the inner solver for one machine and row; bounds hold even if it stops early."""

PATIENCE = 100
"""Machines without a better bound, after which a search counts as stalled."""


class _Bound(Protocol):
    @property
    def value(self) -> float: ...
    @property
    def gap(self) -> float: ...
    @property
    def intercept(self) -> float: ...
    @property
    def decision(self) -> Array: ...


class _Oracle(Protocol):
    @property
    def matrix(self) -> Array: ...
    @property
    def vectors(self) -> Array: ...
    @property
    def values(self) -> Array: ...
    @property
    def lower(self) -> float: ...


class _Dual(Protocol):
    @property
    def linear(self) -> Array: ...
    def gain(self, w: Array, /) -> float: ...
    def bound(self, w: Array, value: float, f: Array, /) -> _Bound: ...


class Prox(NamedTuple):
    """The term -rho/2 |w - centre|^2, rho > 0."""

    rho: float
    centre: Array


class SaddleProblem(Protocol):
    """What a problem must offer; `pliant.problems.generalized` tells the letters."""

    @property
    def size(self) -> int:
        """n_P."""

    def scaled(self, factor: Array) -> Array:
        """Return the multiple of a factor of P for which tr P = n_P."""

    def gram(self, factor: Array) -> Array:
        """Return K_P."""

    def dual(self, gram: Array) -> Any:
        """Return the machine with this Gram matrix."""

    def machine(self, factor: Array) -> Any:
        """Return the machine at P = factor factor', in bounded memory."""

    def smoothed(self, gram: Array, rho: float, centre: Array) -> Any:
        """Return it with a proximal term; `gram` is overwritten."""

    def oracle(self, w: Array, gain: float, count: int = 1) -> _Oracle:
        """Return D(w) and the best P for w."""

    def quadratic(self, w: Array) -> Array:
        """Return D(w)."""

    def lower_bound(self, matrix: Array, gain: float) -> float:
        """Return the bound that D(w) and kappa(w) give."""


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
    oracle: Any


@dataclass(frozen=True, eq=False)
class Saddle:
    """Proof of a gap, and the solution that reaches the upper bound.

    Attributes
    ----------
    upper, lower : float
        Bounds of the optimum: of the primal at (P, w, b), and of the dual at some other w.
    w : array of shape (m,)
        The coefficients.
    intercept : float
        b.
    """

    upper: float
    lower: float
    w: Array
    intercept: float

    @property
    def value(self) -> float:
        """The objective, from above."""
        return self.upper

    @property
    def gap(self) -> float:
        """What it may be too large by."""
        return max(0.0, self.upper - self.lower)


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
        self.best: tuple[Array, _Bound] | None = None
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
        return Status.STALLED if self.idle >= PATIENCE else None

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
        dual: Any,
        plain: Any,
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

    def _note(self, factor: Array, w: Array, bound: _Bound, lower: Lower) -> None:
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
            status=self.status or Status.STALLED,
            history=self.history,
            certificate=proof,
        )


def factor_of(P: Array) -> Array:
    """Return F with F F' = P, without columns that rounding made."""
    values, vectors = np.linalg.eigh(P)
    kept = values > 1e-14 * values[-1]
    return np.asarray(vectors[:, kept] * np.sqrt(values[kept]))


def blended(factor: Array, share: float) -> Array:
    """Return a factor of (1 - share) P + share I, for tr P = n_P."""
    return np.hstack([np.sqrt(1.0 - share) * factor, np.sqrt(share) * np.eye(len(factor))])
