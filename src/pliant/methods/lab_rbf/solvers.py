"""Minimise a function of the bandwidths: capped quasi-Newton steps, or Adam on mini-batches.

Bandwidths on a logarithmic scale have a plateau where every kernel is a Dirac function. A long
first step, as L-BFGS-B takes it, ends there, where the gradient is zero: `descend` lets no
coordinate change by more than a cap.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol, Self

import numpy as np
from numpy.random import RandomState

from pliant.core.linalg import InverseHessian
from pliant.core.progress import Progress, Result, Status
from pliant.core.typing import Array, Indices

# Largest change of a coordinate in a step along the gradient itself, and in any step.
FIRST, CAP = 0.1, 1.0
ARMIJO = 1e-4  # Share of the decrease predicted by the slope that a step must reach.
# Maximum number of step lengths along a direction; steps without progress that end the run.
TRIALS, IDLE = 12, 3
MEMORY = 12  # Number of steps that approximate the inverse Hessian.
# Decay rates of Adam's moments, and the number added to their root (Kingma and Ba 2015).
FIRST_DECAY, SECOND_DECAY, SMALL = 0.9, 0.999, 1e-8


class Problem(Protocol):
    """A function with a gradient, for `adam` an average over rows."""

    def value_and_gradient(self, x: Array) -> tuple[float, Array]:
        """Return both at x."""

    def sample(self, indices: Indices) -> Self:
        """Return the function on some of the rows."""


class _Step(NamedTuple):
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
    """Minimise a smooth function, which need not be convex, by capped quasi-Newton steps.

    Parameters
    ----------
    tol : float
        Three steps in a row that gain less than tol max(|value|, 1e-12) end the run.
    callback : callable, optional
        Called with a `Progress` after each step; True ends the run.

    Returns
    -------
    Result
        Without a certificate: ``gap`` is nan.
    """
    at = _Step(start, *problem.value_and_gradient(start))
    curvature, history, idle, status = InverseHessian(MEMORY), [], 0, Status.MAX_ITER
    for n_iter in range(1, max_iter + 1):
        after = _line_search(problem, at, curvature)
        if after is None and len(curvature):
            curvature.forget()
            after = _line_search(problem, at, curvature)
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


def _line_search(problem: Problem, at: _Step, curvature: InverseHessian) -> _Step | None:
    """Return a lower point along a quasi-Newton direction; None if there is none."""
    direction = -curvature.times(at.gradient)
    slope = float(direction @ at.gradient)
    if not slope < 0:
        return None
    largest = float(np.abs(direction).max())
    share = min(1.0, (CAP if len(curvature) else FIRST) / largest)
    for trial in range(TRIALS):
        x = at.x + share * direction
        value, gradient = problem.value_and_gradient(x)
        if math.isfinite(value) and value <= at.value + ARMIJO * share * slope:
            return _Step(x, value, gradient)
        share *= 0.25 if trial == 0 else 0.4
    return None


def adam(
    problem: Problem,
    start: Array,
    *,
    n_rows: int,
    rng: RandomState,
    rate: float = 0.01,
    batch: int = 128,
    max_iter: int = 1000,
    callback: Callable[[Progress], Any] | None = None,
) -> Result[None]:
    """Minimise by steps along averaged gradients of random mini-batches (Kingma and Ba 2015).

    Parameters
    ----------
    n_rows : int
        Number of rows; each pass goes through them in a new order.
    rate : float
        Learning rate: approximate change of a coordinate in one step.
    batch : int
        Number of rows of a step.

    Returns
    -------
    Result
        Its ``value`` and ``history`` are those of the mini-batches; its ``gap`` is nan.
    """
    x, mean, square = start.copy(), np.zeros_like(start), np.zeros_like(start)
    history, status = [], Status.MAX_ITER
    order = rng.permutation(n_rows)
    for n_iter in range(1, max_iter + 1):
        if len(order) < min(batch, n_rows):
            order = rng.permutation(n_rows)
        rows, order = order[:batch], order[batch:]
        value, gradient = problem.sample(rows).value_and_gradient(x)
        # Moving averages start at 0; dividing by 1 - decay^n_iter removes that bias.
        mean += (1.0 - FIRST_DECAY) * (gradient - mean)
        square += (1.0 - SECOND_DECAY) * (gradient * gradient - square)
        size = np.sqrt(square / (1.0 - SECOND_DECAY**n_iter)) + SMALL
        x -= rate / (1.0 - FIRST_DECAY**n_iter) * mean / size
        history.append(Progress(n_iter, value, math.nan))
        if callback is not None and callback(history[-1]):
            status = Status.STOPPED
            break
    value = history[-1].objective if history else math.nan
    return Result(x, value, math.nan, len(history), status, history)
