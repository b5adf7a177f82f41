"""A kernel-learning saddle point, solved on a factor of P.

    minimise over V    f(V) = max_w kappa(w) - 1/2 <D(w), P>,    P = n_P V V'/|V|^2

The optimal P has a rank of one to three, so V has only a few columns. f has the gradient
-(n_P/|V|^2) (D V - V <V, D V>/|V|^2) at the maximising w (Danskin), and a step costs one support
vector machine (SVM); L-BFGS takes 5 to 20 of them. Where V is stationary but the gap is open, the
top eigenvector of D is a direction of descent outside the columns of V, and becomes one of them.

Where K_P itself has a low rank (many features, small C), w jumps and f has kinks. A proximal term
-rho/2 |w - centre|^2 smooths f; its centre moves to w, and rho decreases, whenever the term is
what keeps the gap open.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from pliant.core.linalg import InverseHessian
from pliant.core.progress import Result
from pliant.core.typing import Array
from pliant.methods.tkl.generalized_kernel import blended
from pliant.methods.tkl.problem import KernelLearning
from pliant.methods.tkl.solvers.search import Evaluation, Prox, Saddle, Search

PROX = 0.3
"""Initial rho/2 |w|^2, as a share of the objective."""

FEW_SAMPLES, STUCK = 10, 5
"""Up to 10 samples, a search begins without a proximal term, and adds it after 5 SVMs without a
better bound: w has few directions to jump in, and mostly a third fewer SVMs close the gap without
the term. Not where K_P has a low rank for every P."""

ANNEAL = 0.5
"""Factor of rho when the centre moves."""

SLACK = 0.3
"""Share of the gap that the proximal term may cause before the centre moves."""

STATIONARY = 0.3
"""V is stationary when |gradient| |V| is this share of the gap."""

FIRST_STEP, LONGEST_STEP, NEW_COLUMN = 0.3, 0.7, 0.15
"""Lengths relative to |V|: of the first step, of the longest one, of a new column."""

BLEND = 0.1
"""Share of the identity in the first P after a given start: without it w is arbitrary in the
directions that K_P does not reach, and a bad centre."""

PACE = 0.8
"""Share of the gap that a lap of a search may leave: ordinary searches end within a lap, and those
that leave more have kernel values of so different sizes that hundreds of steps do not help."""

SEARCHES = 6
"""Largest number of steps tried along one direction."""


class _Point(NamedTuple):
    """V, the value and gradient of f there, and the SVM that gave them."""

    V: Array
    value: float
    gradient: Array
    evaluation: Evaluation


def solve(problem: KernelLearning, start: Array | None = None, **options: Any) -> Result[Saddle]:
    """Learn P to a certified gap by L-BFGS on a factor of low rank.

    Parameters
    ----------
    problem : KernelLearning
    start : array of shape (n_P, r), optional
        Initial factor. By default the top two eigenvectors of D(w), with w from P = I.
    **options
        The parameters ``tol``, ``max_iter`` and ``callback`` of `search.Search`.

    Returns
    -------
    Result
        `x` is a factor of P with the squared norm n_P, `value` the upper bound, and `certificate`
        a `Saddle`.
    """
    search = Search(problem, pace=PACE, **options)
    descent = _Descent(search)
    V = descent.initial(start)
    while search.status is None:
        V = descent.continued(descent.stationary_point(V))
    return search.result()


class _Descent:
    """The steps of L-BFGS, with the current proximal term."""

    def __init__(self, search: Search) -> None:
        self.search = search
        self.late = False
        self.prox: Prox | None = None

    def initial(self, start: Array | None) -> Array:
        """Solve a first SVM, centre the proximal term at its solution; return the initial V."""
        problem = self.search.problem
        identity: Array = np.eye(problem.size)
        factor = identity if start is None else blended(problem.scaled(start), BLEND)
        first = self.search.at(factor, count=min(2, problem.size))
        self.late = len(first.w) <= FEW_SAMPLES and not problem.kernel.finite_rank
        if not self.late:
            self._smooth(first.w)
        if start is not None:
            return start / np.linalg.norm(start)
        values, vectors = first.values, first.vectors
        largest = max(values[0], np.finfo(np.float64).tiny)
        V = vectors * np.sqrt(np.maximum(values / largest, 1e-3))
        return np.asarray(V / np.linalg.norm(V))

    def _smooth(self, w: Array) -> None:
        """Begin with a proximal term, centred at w."""
        squares = float(w @ w)
        if squares > 0.0:
            self.prox = Prox(2.0 * PROX * abs(self.search.upper) / squares, w)

    def stationary_point(self, V: Array) -> _Point:
        """Take steps of L-BFGS until V is stationary, or the search is over."""
        search, memory = self.search, InverseHessian()
        here = self._evaluate(V)
        while search.status is None and not self._stationary(here):
            if self.late and search.idle >= STUCK:
                self.late = False
                self._smooth(here.evaluation.w)
            new = self._line_search(here, self._direction(here, memory))
            if new is not None:
                memory.learn(new.V - here.V, new.gradient - here.gradient)
                here = new
            elif len(memory):
                memory.forget()
            else:
                break
            hidden = here.evaluation.slack > SLACK * search.gap
            if self.prox is not None and hidden and search.status is None:
                self._move_centre(here)
                here = self._evaluate(here.V)
        return here

    def continued(self, here: _Point) -> Array:
        """Move the proximal term's centre, or add a column to V, whichever causes more of the gap.

        The gap due to V is n_P/2 (lambda_max(D) - <V, D V>/|V|^2).
        """
        unit = here.V / np.linalg.norm(here.V)
        last, size = here.evaluation, self.search.problem.size
        missing = 0.5 * size * (last.values[0] - np.vdot(unit, last.matrix @ unit))
        if self.prox is not None and last.slack > missing:
            self._move_centre(here)
        elif unit.shape[1] < size:
            unit = np.hstack([unit, NEW_COLUMN * last.vectors[:, :1]])
        return unit

    def _evaluate(self, V: Array, promise: float = np.inf) -> _Point:
        search = self.search
        evaluation = search.at(V, self.prox, promise=promise)
        norm = np.linalg.norm(V)
        unit = V / norm
        product = evaluation.matrix @ unit
        slope = product - unit * np.vdot(unit, product)
        return _Point(V, evaluation.value, -(search.problem.size / norm) * slope, evaluation)

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
        """Return a point with a sufficient decrease of f; None if a few tries give none."""
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
            # the next step minimises the parabola through f, its slope at 0 and f at this step
            step *= float(np.clip(-slope * step / (2.0 * (rise - slope * step)), 0.1, 0.5))
        return None

    def _move_centre(self, here: _Point) -> None:
        assert self.prox is not None
        self.prox = Prox(ANNEAL * self.prox.rho, here.evaluation.w)
