"""Algorithm 2 of the TKL paper, Frank-Wolfe, on the problem of `pliant.methods.tkl`.

It learns P from P = I, and takes the options of `low_rank.solve`. It has two corrections: P moves
towards n_P v v' with v the eigenvector of the largest eigenvalue of D(w), not of the smallest; and
the line search is exact. K_P is linear in the step, and the slope of the objective along it is
-<D(w), S - P>/2 at the w of that step (Danskin).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pliant import TessellatedKernel
from pliant.core.typing import Array
from pliant.methods.svm.problem import SVMProblem
from pliant.methods.tkl.problem import SaddleProblem
from pliant.methods.tkl.solvers import low_rank
from pliant.methods.tkl.solvers.search import Search, factorize

FLAT, TRIES = 0.1, 8
"""Relative slope at which a line search ends, and its maximum number of SVMs."""


def frank_wolfe(problem: SaddleProblem, **options: Any) -> Any:
    """Run Algorithm 2."""
    search, step = Search(problem, **options), 1.0
    factor = problem.scaled(np.eye(problem.size))
    gram = problem.gram(factor)
    answer = _solve_svm(search, gram, factor)
    while search.status is None:
        vertex = np.sqrt(problem.size) * answer.vectors[:, :1]
        change = problem.gram(vertex) - gram
        step, answer = _line_search(search, gram, change, factor, vertex, answer, step)
        gram += step * change
        factor = _towards(factor, vertex, step)
    return search.result()


SOLVERS: dict[str, Callable[..., Any]] = {"low_rank": low_rank.solve, "frank_wolfe": frank_wolfe}
"""Solvers by name."""


def learning(X: Array, target: Array, C: float, epsilon: float | None = None) -> SaddleProblem:
    """State the saddle point on rows in [0, 1], in the family on the box [-.5, 1.5], degree 1.

    `target` holds labels -1 and 1, or with `epsilon` the targets of a regression.
    """
    n = len(X)
    svm = SVMProblem(X, np.arange(n), target, weights=np.ones(n), C=C, epsilon=epsilon)
    return SaddleProblem(TessellatedKernel(-0.5, 1.5, 1), svm)


def _line_search(
    search: Search, gram: Array, change: Array, factor: Array, vertex: Array, answer: Any,
    step: float,
) -> tuple[float, Any]:  # fmt: skip
    """Return the step in [0, 1] that minimises the objective, and the SVM there.

    Regula falsi with a margin; an unknown slope at the upper end is evaluated next.
    """

    def slope(at: Any) -> float:
        inner = (np.vdot(each, at.matrix @ each) for each in (vertex, factor))
        return -0.5 * float(next(inner) - next(inner))

    first = slope(answer)
    low, slope_low, high, slope_high = 0.0, first, 1.0, np.nan
    for _ in range(TRIES):
        here = _towards(factor, vertex, step)
        answer = _solve_svm(search, gram + step * change, here, -first * step)
        found = slope(answer)
        flat = search.status is not None or abs(found) <= FLAT * abs(first)
        if flat or (found < 0.0 and step >= 1.0):
            break
        if found < 0.0:
            low, slope_low = step, found
        else:
            high, slope_high = step, found
        if np.isnan(slope_high):
            step = high
            continue
        rise = slope_high - slope_low  # > 0 except for rounding errors
        crossing = low - slope_low * (high - low) / rise if rise > 0.0 else 0.5 * (low + high)
        margin = 0.1 * (high - low)
        step = float(np.clip(crossing, low + margin, high - margin))
    return step, answer


def _solve_svm(search: Search, gram: Array, factor: Array, gain: float = np.inf) -> Any:
    """Solve the SVM with the matrix K_P of a scaled factor of P, and update the bounds."""
    dual = search.problem.dual(gram)
    return search.solve_svm(dual, dual, factor, accuracy=search.accuracy(gain))


def _towards(factor: Array, vertex: Array, step: float) -> Array:
    """Return a factor of (1 - step) P + step S, with at most 2 n_P columns."""
    longer = np.hstack([np.sqrt(1.0 - step) * factor, np.sqrt(step) * vertex])
    return longer if longer.shape[1] <= 2 * len(longer) else factorize(longer @ longer.T)
