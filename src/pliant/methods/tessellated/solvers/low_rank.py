"""A kernel-learning saddle point, solved on a factor of P.

    minimise over V    f(V) = max_w kappa(w) - 1/2 <D(w), P>,    P = n_P V V'/|V|^2

The optimal P has a rank of one to three, so V has a few columns only. f has the gradient
-(n_P/|V|^2) (D V - V <V, D V>/|V|^2) at the maximising w (Danskin), and a step costs one support
vector machine; L-BFGS takes 5 to 20 of them. Where V is stationary but the gap is open, the top
eigenvector of D is a direction of descent outside of V, and becomes a column of it.

Where K_P has a low rank itself (many features, small C), w jumps and f has kinks. A proximal term
-rho/2 |w - centre|^2 smooths it; its centre moves to w, and rho falls, whenever the term is what
keeps the gap open.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from pliant.core.lbfgs import InverseHessian
from pliant.core.progress import Progress, Result
from pliant.core.typing import Array
from pliant.methods.svm import smo
from pliant.methods.tessellated.solvers.saddle import Saddle, SaddleProblem, blended
from pliant.methods.tessellated.solvers.search import Answer, Prox, Search

__all__ = ["solve"]

PROX = 0.3
"""With "auto", rho/2 |w|^2 is this share of the objective at first."""

ANNEAL = 0.5
"""What rho is multiplied by when the centre moves."""

SLACK = 0.3
"""The share of the gap that the proximal term may cause before the centre moves."""

STATIONARY = 0.3
"""V is stationary when |gradient| |V| is this share of the gap."""

FIRST_STEP, LONGEST_STEP, NEW_COLUMN = 0.3, 0.7, 0.15
"""Lengths, relative to |V|."""

BLEND = 0.1
"""The share of the identity in the first machine of a given start: without it w is anything in
the directions that K_P does not reach, and a bad centre."""

SEARCHES = 6
"""Steps tried along one direction."""


class _Point(NamedTuple):
    """V, f there, its gradient, and what the machine told."""

    V: Array
    value: float
    gradient: Array
    answer: Answer


def solve(
    problem: SaddleProblem,
    start: Array | None = None,
    *,
    inner: Callable[..., Result[Any]] = smo.solve,
    tol: float = 1e-3,
    max_iter: int = 500,
    prox: float | str = "auto",
    callback: Callable[[Progress], Any] | None = None,
) -> Result[Saddle]:
    """Learn P to a certified gap by L-BFGS on a factor of low rank.

    Parameters
    ----------
    problem : SaddleProblem
        Such as `pliant.methods.tessellated.problem.KernelLearning`.
    start : array of shape (n_P, r), optional
        A factor to begin with. If not given: the top two eigenvectors of D(w), w from P = I.
    inner : callable
        Solves the machines.
    tol : float
        Stop when gap <= tol * abs(upper bound).
    max_iter : int
        Support vector machines at most; -1 for no limit.
    prox : float or "auto"
        >= 0: the proximal term at first, as a share of the objective; 0 for none.
    callback : callable, optional
        Called with a `Progress` as machines advance; returning True stops.

    Returns
    -------
    Result
        `x` is a factor of P with the squared norm n_P, `value` the upper bound, and `certificate`
        a `Saddle`.
    """
    search = Search(problem, inner, tol, max_iter, callback)
    run = _Run(search, prox)
    V = run.first(start)
    while search.status is None:
        V = run.renew(run.descend(V))
    return search.result()


class _Run:
    """One run: where the proximal term is, and the steps of L-BFGS."""

    def __init__(self, search: Search, prox: float | str) -> None:
        self.search = search
        self.share = PROX if prox == "auto" else float(prox)
        self.prox: Prox | None = None

    def first(self, start: Array | None) -> Array:
        """Return the V to begin with, once the proximal term has its place."""
        problem = self.search.problem
        even: Array = np.eye(problem.size)
        first = even if start is None else blended(problem.scaled(start), BLEND)
        answer = self.search.at(first, count=min(2, problem.size))
        squares = float(answer.w @ answer.w)
        if self.share > 0.0 and squares > 0.0:
            self.prox = Prox(2.0 * self.share * abs(self.search.upper) / squares, answer.w)
        if start is not None:
            return start / np.linalg.norm(start)
        values, vectors = answer.oracle.values, answer.oracle.vectors
        largest = max(values[0], np.finfo(np.float64).tiny)
        V = vectors * np.sqrt(np.maximum(values / largest, 1e-3))
        return np.asarray(V / np.linalg.norm(V))

    def descend(self, V: Array) -> _Point:
        """Take steps of L-BFGS until V is stationary, or the search is over."""
        search, memory = self.search, InverseHessian()
        here = self._evaluate(V)
        while search.status is None and not self._stationary(here):
            new = self._line_search(here, self._direction(here, memory))
            if new is not None:
                memory.learn(new.V - here.V, new.gradient - here.gradient)
                here = new
            elif len(memory):
                memory.forget()
            else:
                break
            hidden = here.answer.slack > SLACK * search.gap
            if self.prox is not None and hidden and search.status is None:
                self._move_centre(here)
                here = self._evaluate(here.V)
        return here

    def renew(self, here: _Point) -> Array:
        """Return where to go on from a stationary V: with one more column, if V is what lacks.

        Else the proximal term is moved.
        """
        unit = here.V / np.linalg.norm(here.V)
        oracle, size = here.answer.oracle, self.search.problem.size
        missing = 0.5 * size * (oracle.values[0] - np.vdot(unit, oracle.matrix @ unit))
        if self.prox is not None and here.answer.slack > missing:
            self._move_centre(here)
        elif unit.shape[1] < size:
            unit = np.hstack([unit, NEW_COLUMN * oracle.vectors[:, :1]])
        return unit

    def _evaluate(self, V: Array, promise: float = np.inf) -> _Point:
        search = self.search
        answer = search.at(V, self.prox, promise=promise)
        norm = np.linalg.norm(V)
        unit = V / norm
        product = answer.oracle.matrix @ unit
        slope = product - unit * np.vdot(unit, product)
        return _Point(V, answer.value, -(search.problem.size / norm) * slope, answer)

    def _stationary(self, here: _Point) -> bool:
        slope = np.linalg.norm(here.gradient) * np.linalg.norm(here.V)
        return bool(slope < STATIONARY * self.search.gap)

    def _direction(self, here: _Point, memory: InverseHessian) -> Array:
        """Return a direction of descent, not longer than LONGEST_STEP |V|."""
        size, steepness = np.linalg.norm(here.V), np.linalg.norm(here.gradient)
        direction = -memory.times(here.gradient)
        if not len(memory) or np.vdot(direction, here.gradient) >= 0.0:
            memory.forget()
            direction = -here.gradient * (FIRST_STEP * size / steepness)
        length = float(np.linalg.norm(direction))
        return np.asarray(direction * min(1.0, LONGEST_STEP * float(size) / length))

    def _line_search(self, here: _Point, direction: Array) -> _Point | None:
        """Return a point that is lower by enough, None if there is none within a few tries."""
        slope, step = float(np.vdot(direction, here.gradient)), 1.0
        for _ in range(SEARCHES):
            promise = -step * slope
            noise = self.search.accuracy(promise)
            new = self._evaluate(here.V + step * direction, promise)
            if self.search.status is not None:
                return new
            rise = new.value - here.value
            if rise <= 1e-4 * step * slope + noise:
                return new
            step *= float(np.clip(-slope * step / (2.0 * (rise - slope * step)), 0.1, 0.5))
        return None

    def _move_centre(self, here: _Point) -> None:
        assert self.prox is not None
        self.prox = Prox(ANNEAL * self.prox.rho, here.answer.w)
