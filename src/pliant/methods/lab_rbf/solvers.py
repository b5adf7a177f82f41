"""Solver for the bandwidths: quasi-Newton steps of bounded size.

For large log theta^2, kernel values vanish away from the centres, and the objective is flat. The
long first step of L-BFGS-B can end in this flat region; `descend` bounds the change per coordinate.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np

from pliant.core.linalg import InverseHessian
from pliant.core.progress import Progress, Result, Status
from pliant.core.typing import Array

# Maximum change of a coordinate in a gradient step and in a quasi-Newton step.
GRADIENT_STEP_CAP, STEP_CAP = 0.1, 1.0
PATIENCE = 2  # Number of consecutive steps with a small decrease before the solver stops.


class Problem(Protocol):
    """A function with a gradient."""

    def value_and_gradient(self, x: Array) -> tuple[float, Array]:
        """Compute the value and gradient at x."""


class _Iterate(NamedTuple):
    """Point with its value and gradient."""

    x: Array
    value: float
    gradient: Array


def descend(
    problem: Problem,
    start: Array,
    *,
    tol: float = 1e-7,
    max_iter: int = 100,
    callback: Callable[[Progress], Any] | None = None,
) -> Result[None]:
    """Minimise a smooth function, convex or not, by quasi-Newton steps of bounded size.

    Parameters
    ----------
    tol : float
        Stop after two consecutive steps with a decrease below tol * max(|value|, 1e-12).
    callback : callable, optional
        Called with a `Progress` after each step; the solver stops if it returns True.

    Returns
    -------
    Result
        Without a certificate: ``gap`` is nan.
    """
    point = _Iterate(start, *problem.value_and_gradient(start))
    curvature, history, n_small, status = InverseHessian(12), [], 0, Status.MAX_ITER
    for n_iter in range(1, max_iter + 1):
        new = _line_search(problem, point, curvature)
        if new is None and curvature.pairs:  # try a gradient step
            curvature.pairs.clear()
            new = _line_search(problem, point, curvature)
        if new is None:
            status = Status.SETTLED
            break
        curvature.update(new.x - point.x, new.gradient - point.gradient)
        small = point.value - new.value < tol * max(abs(point.value), 1e-12)
        n_small, point = n_small + 1 if small else 0, new
        history.append(Progress(n_iter, point.value, math.nan))
        if callback is not None and callback(history[-1]):
            status = Status.STOPPED
            break
        if n_small == PATIENCE:
            status = Status.SETTLED
            break
    return Result(point.x, point.value, math.nan, len(history), status, history)


def _line_search(problem: Problem, point: _Iterate, curvature: InverseHessian) -> _Iterate | None:
    """Find a lower point along the quasi-Newton direction, or return None."""
    direction = -curvature.dot(point.gradient)  # -H^-1 g
    slope = float(direction @ point.gradient)
    if not slope < 0:
        return None
    max_change = float(np.abs(direction).max())
    length = min(1.0, (STEP_CAP if curvature.pairs else GRADIENT_STEP_CAP) / max_change)
    for trial in range(12):
        x = point.x + length * direction
        value, gradient = problem.value_and_gradient(x)
        # Armijo's condition: at least 1e-4 of the decrease predicted by the slope.
        if math.isfinite(value) and value <= point.value + 1e-4 * length * slope:
            return _Iterate(x, value, gradient)
        length *= 0.25 if trial == 0 else 0.4
    return None
