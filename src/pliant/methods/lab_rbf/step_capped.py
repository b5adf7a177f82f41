"""Quasi-Newton descent with capped steps: no coordinate changes by more than `cap`.

Bandwidths on a logarithmic scale have a plateau where every kernel is a Dirac function. A long
first step, as L-BFGS-B takes it, ends there, where the gradient is zero.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np

from pliant.core.linalg import InverseHessian
from pliant.core.progress import Progress, Result, Status
from pliant.core.typing import Array

FIRST = 0.1
"""Largest change of a coordinate in a step along the gradient itself."""

ARMIJO = 1e-4
"""Share of the decrease predicted by the slope that a step must reach."""

TRIALS = 12
"""Maximum number of step lengths tried along a direction."""

IDLE = 3
"""Number of steps without progress that end the run."""


class Smooth(Protocol):
    """A function with a gradient."""

    def value_and_gradient(self, x: Array) -> tuple[float, Array]:
        """Return both at x."""


class _Step(NamedTuple):
    x: Array
    value: float
    gradient: Array


def solve(
    problem: Smooth,
    start: Array,
    *,
    tol: float = 1e-7,
    max_iter: int = 100,
    cap: float = 1.0,
    memory: int = 12,
    callback: Callable[[Progress], Any] | None = None,
) -> Result[None]:
    """Minimise a smooth function, which need not be convex, from `start`.

    Parameters
    ----------
    problem : Smooth
        Value and gradient.
    start : array of shape (k,)
        First iterate.
    tol : float
        Three steps in a row that gain less than tol max(|value|, 1e-12) end the run.
    max_iter : int
        Maximum number of steps.
    cap : float
        Largest change of a coordinate in one step.
    memory : int
        Number of steps that approximate the inverse Hessian.
    callback : callable, optional
        Called with a `Progress` after each step; True ends the run.

    Returns
    -------
    Result
        Without a certificate: ``gap`` is nan.
    """
    at = _Step(start, *problem.value_and_gradient(start))
    curvature, history, idle, status = InverseHessian(memory), [], 0, Status.MAX_ITER
    for n_iter in range(1, max_iter + 1):
        after = _descend(problem, at, curvature, cap)
        if after is None and len(curvature):
            curvature.forget()
            after = _descend(problem, at, curvature, cap)
        if after is None:
            status = Status.SETTLED
            break
        curvature.learn(after.x - at.x, after.gradient - at.gradient)
        small = at.value - after.value < tol * max(abs(at.value), 1e-12)
        idle, at = idle + 1 if small else 0, after
        history.append(Progress(n_iter, at.value, math.nan))
        if callback is not None and callback(history[-1]):
            status = Status.STOPPED
            break
        if idle == IDLE:
            status = Status.SETTLED
            break
    return Result(at.x, at.value, math.nan, len(history), status, history)


def _descend(problem: Smooth, at: _Step, curvature: InverseHessian, cap: float) -> _Step | None:
    """Return a lower point along a quasi-Newton direction; None if there is none."""
    direction = -curvature.times(at.gradient)
    slope = float(direction @ at.gradient)
    if not slope < 0:
        return None
    largest = float(np.abs(direction).max())
    share = min(1.0, (cap if len(curvature) else FIRST) / largest)
    for trial in range(TRIALS):
        x = at.x + share * direction
        value, gradient = problem.value_and_gradient(x)
        if math.isfinite(value) and value <= at.value + ARMIJO * share * slope:
            return _Step(x, value, gradient)
        share *= 0.25 if trial == 0 else 0.4
    return None
