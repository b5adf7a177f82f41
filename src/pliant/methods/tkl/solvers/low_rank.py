"""Kernel learning by L-BFGS on a low-rank factor of P, with one SVM per step.

    minimise over V    f(V) = max_w kappa(w) - 1/2 <D(w), P>,    P = n_P V V'/|V|^2

with the symbols of `pliant.methods.tkl.problem`. The optimal P has a rank of one to three, so V has
only a few columns. f has the gradient -(n_P/|V|^2) (D V - V <V, D V>/|V|^2) at the maximising w
(Danskin's theorem). Each step solves one support vector machine (SVM), and L-BFGS takes 5 to 20
steps.
At a stationary V with an open gap, the top eigenvector of D is a descent direction outside the
columns of V and is appended to V.

If K_P has a low rank (many features, small C), w is discontinuous in V and f has kinks. A proximal
term -rho/2 |w - centre|^2 smooths f. If this term keeps the gap open, its centre moves to w and rho
decreases.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from pliant.core.linalg import InverseHessian
from pliant.core.progress import Result
from pliant.core.typing import Array, Callback
from pliant.methods.tkl.generalized_kernel import blend_identity
from pliant.methods.tkl.problem import SaddleProblem
from pliant.methods.tkl.solvers.search import Evaluation, Prox, Saddle, Search

PROX, ANNEAL = 0.3, 0.5
"""Initial rho/2 |w|^2 relative to the objective; factor of rho when the centre moves."""


def solve(
    problem: SaddleProblem,
    start: Array | None = None,
    *,
    tol: float = 1e-3,
    max_iter: int = 500,
    callback: Callback | None = None,
) -> Result[Saddle]:
    """Learn P to a certified gap by L-BFGS on a factor of low rank.

    Parameters
    ----------
    problem : SaddleProblem
    start : array of shape (n_P, r), optional
        Initial factor; by default the top two eigenvectors of D(w), with w from the SVM at P = I.
    tol : float
        Gap at which the search stops, relative to the upper bound.
    max_iter : int
        Maximum number of SVMs; -1 for no limit.
    callback : callable, optional
        Called with a `Progress` by the SVM solvers; returning True stops the search.

    Returns
    -------
    Result
        `x` is a factor of P with the squared norm n_P, `value` the upper bound, and `certificate`
        a `Saddle`.
    """
    # If `WINDOW` SVMs leave more than 80 % of the gap, kernel values differ widely in size and
    # hundreds of further steps do not help.
    search = Search(problem, tol, max_iter, callback, max_ratio=0.8)
    descent = LowRankDescent(search)
    V = descent.first_factor(start)
    while search.status is None:
        V = descent.next_factor(descent.find_stationary(V))
    return search.result()


class LowRankPoint(NamedTuple):
    """A factor V with the value and gradient of f at V, and the underlying SVM."""

    V: Array
    value: float
    gradient: Array
    evaluation: Evaluation


@dataclass(eq=False)
class LowRankDescent:
    """L-BFGS steps with the current proximal term; `postponed` delays its first use."""

    search: Search
    prox: Prox | None = None
    postponed: bool = False

    def first_factor(self, start: Array | None) -> Array:
        """Solve an initial SVM, centre the proximal term at its solution, and return V."""
        problem = self.search.problem
        factor: Array = np.eye(problem.size)
        if start is not None:
            # add a multiple of I to P, as w is otherwise arbitrary in the null space of K_P
            factor = blend_identity(problem.scaled(start), 0.1)
        initial = self.search.solve_at(factor, count=min(2, problem.size))
        # With few samples, w is rarely discontinuous. Without the term, the search then usually
        # takes a third fewer SVMs, unless K_P has a low rank for every P.
        self.postponed = len(initial.w) <= 10 and not problem.kernel.finite_rank
        if not self.postponed:
            self._smooth(initial.w)
        if start is not None:
            return start / np.linalg.norm(start)
        # V V' = the top two terms of D(w), with relative eigenvalues of at least 1e-3
        values, vectors = initial.values, initial.vectors
        largest = max(values[0], np.finfo(np.float64).tiny)
        V = vectors * np.sqrt(np.maximum(values / largest, 1e-3))
        return np.asarray(V / np.linalg.norm(V))

    def find_stationary(self, V: Array) -> LowRankPoint:
        """Take L-BFGS steps until |gradient| |V| is below 0.3 times the gap or the search stops."""
        search, memory = self.search, InverseHessian()
        point = self._evaluate(V)
        while search.status is None:
            # the gradient is proportional to 1/|V|, so the product is invariant to scaling V
            slope = np.linalg.norm(point.gradient) * np.linalg.norm(point.V)
            if slope < 0.3 * search.gap:
                break
            if self.postponed and search.idle >= 5:
                self.postponed = False
                self._smooth(point.evaluation.w)
            new = self._search_line(point, self._direction(point, memory))
            if new is not None:
                memory.update(new.V - point.V, new.gradient - point.gradient)
                point = new
            elif memory.pairs:
                memory.pairs.clear()
            else:
                break
            # move the centre if the proximal term causes more than 0.3 of the gap
            biased = point.evaluation.slack > 0.3 * search.gap
            if self.prox is not None and biased and search.status is None:
                self.prox = Prox(ANNEAL * self.prox.rho, point.evaluation.w)
                point = self._evaluate(point.V)
        return point

    def next_factor(self, point: LowRankPoint) -> Array:
        """Move the proximal centre or append a column to V, whichever reduces the gap more.

        V contributes n_P/2 (lambda_max(D) - <V, D V>/|V|^2) to the gap.
        """
        unit = point.V / np.linalg.norm(point.V)
        last, size = point.evaluation, self.search.problem.size
        rank_gap = 0.5 * size * (last.values[0] - np.vdot(unit, last.matrix @ unit))
        if self.prox is not None and last.slack > rank_gap:
            self.prox = Prox(ANNEAL * self.prox.rho, last.w)
        elif unit.shape[1] < size:
            unit = np.hstack([unit, 0.15 * last.vectors[:, :1]])
        return unit

    def _smooth(self, w: Array) -> None:
        """Start a proximal term centred at w, with rho/2 |w|^2 = PROX times the objective."""
        squares = float(w @ w)
        if squares > 0.0:
            self.prox = Prox(2.0 * PROX * abs(self.search.upper) / squares, w)

    def _evaluate(self, V: Array, expected_gain: float = np.inf) -> LowRankPoint:
        """Solve the SVM at V; compute f and its gradient."""
        evaluation = self.search.solve_at(V, self.prox, expected_gain=expected_gain)
        norm = np.linalg.norm(V)
        unit = V / norm
        product = evaluation.matrix @ unit
        # f is constant along V, so the gradient is the component of D V orthogonal to V
        slope = product - unit * np.vdot(unit, product)
        gradient = -(self.search.problem.size / norm) * slope
        return LowRankPoint(V, evaluation.value, gradient, evaluation)

    def _direction(self, point: LowRankPoint, memory: InverseHessian) -> Array:
        """Return a descent direction of length at most 0.7 |V|; 0.3 |V| for the first step."""
        size, steepness = np.linalg.norm(point.V), np.linalg.norm(point.gradient)
        direction = -memory.dot(point.gradient)
        if not memory.pairs or np.vdot(direction, point.gradient) >= 0.0:
            memory.pairs.clear()
            direction = -point.gradient * (0.3 * size / steepness)
        length = float(np.linalg.norm(direction))
        return np.asarray(direction * min(1.0, 0.7 * float(size) / length))

    def _search_line(self, point: LowRankPoint, direction: Array) -> LowRankPoint | None:
        """Find a point with a sufficient decrease of f; return None after six failed attempts."""
        slope, step = float(np.vdot(direction, point.gradient)), 1.0
        for _ in range(6):
            expected_gain = -step * slope
            noise = self.search.accuracy(expected_gain)
            new = self._evaluate(point.V + step * direction, expected_gain)
            if self.search.status is not None:
                return new
            rise = new.value - point.value
            if rise <= 1e-4 * step * slope + noise:
                return new
            # the next step minimises the parabola through f and its slope at 0, and f at this step
            step *= float(np.clip(-slope * step / (2.0 * (rise - slope * step)), 0.1, 0.5))
        return None
