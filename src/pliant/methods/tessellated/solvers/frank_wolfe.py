"""A kernel-learning saddle point, solved by conditional gradients.

Algorithm 2 of Talitckii, Colbert and Peet, with two repairs: P moves towards n_P v v' with v the
eigenvector of the largest eigenvalue of D(w), not of the smallest; and the line search is exact.
K_P is linear in the step, and the slope of the objective along it is -<D(w), S - P>/2 at the w of
that step (Danskin).

The method converges slowly: the best P lies on the boundary of the feasible set, mostly with a rank
above one, where it zig-zags. A relative gap of 1e-3 then takes tens to hundreds of SVMs.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pliant.core.progress import Result
from pliant.core.typing import Array
from pliant.methods.tessellated.solvers.search import (
    Evaluation,
    Saddle,
    SaddleProblem,
    Search,
    factor_of,
)

FLAT = 0.1
"""A step is accepted when the slope has decreased to this share of the slope at zero."""

TRIES = 8
"""Largest number of SVMs in one line search."""


def solve(problem: SaddleProblem, start: Array | None = None, **options: Any) -> Result[Saddle]:
    """Learn P by Frank-Wolfe steps; parameters as in `low_rank.solve`, by default from P = I."""
    search = Search(problem, **options)
    advance(search, np.eye(problem.size) if start is None else start, search.tol)
    return search.result()


def advance(search: Search, factor: Array, tol: float) -> None:
    """Take steps until the relative gap is `tol`, or the search is over."""
    problem = search.problem
    factor = problem.scaled(factor)
    gram = problem.gram(factor)
    answer = search.at(factor, gram=gram)
    step = 1.0
    while search.status is None and search.gap > tol * abs(search.upper):
        vertex = np.sqrt(problem.size) * answer.vectors[:, :1]
        change = problem.gram(vertex)
        change -= gram
        step, answer = _line_search(search, gram, change, factor, vertex, answer, step)
        gram += step * change  # K_P is linear in P
        factor = _towards(factor, vertex, step)


def _line_search(
    search: Search,
    gram: Array,
    change: Array,
    factor: Array,
    vertex: Array,
    answer: Evaluation,
    guess: float,
) -> tuple[float, Evaluation]:
    """Return the step in [0, 1] that minimises the objective, and the SVM there."""
    first = _slope(answer, factor, vertex)
    low, slope_low, high, slope_high = 0.0, first, 1.0, np.nan
    step = guess
    for _ in range(TRIES):
        here = _towards(factor, vertex, step)
        answer = search.at(here, gram=gram + step * change, promise=-first * step)
        slope = _slope(answer, factor, vertex)
        if search.status is not None or abs(slope) <= FLAT * abs(first):
            break
        if slope < 0.0:
            if step >= 1.0:
                break
            low, slope_low = step, slope
        else:
            high, slope_high = step, slope
        step = _between(low, slope_low, high, slope_high)
    return step, answer


def _between(low: float, slope_low: float, high: float, slope_high: float) -> float:
    """Return where the line through both slopes crosses zero, but not near an end of the interval.

    That is regula falsi with a margin. If the slope at the upper end is unknown, that end is next.
    """
    if np.isnan(slope_high):
        return high
    rise = slope_high - slope_low  # > 0 but for rounding
    crossing = low - slope_low * (high - low) / rise if rise > 0.0 else 0.5 * (low + high)
    margin = 0.1 * (high - low)
    return float(np.clip(crossing, low + margin, high - margin))


def _slope(answer: Evaluation, factor: Array, vertex: Array) -> float:
    """Return -<D, S - P>/2, the slope of the objective towards S = vertex vertex'."""
    D = answer.matrix
    return -0.5 * float(np.vdot(vertex, D @ vertex) - np.vdot(factor, D @ factor))


def _towards(factor: Array, vertex: Array, step: float) -> Array:
    """Return a factor of (1 - step) P + step S, of at most 2 n_P columns."""
    longer = np.hstack([np.sqrt(1.0 - step) * factor, np.sqrt(step) * vertex])
    return longer if longer.shape[1] <= 2 * len(longer) else factor_of(longer @ longer.T)
