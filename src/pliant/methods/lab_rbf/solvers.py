"""Solvers for the bandwidths: capped quasi-Newton steps, and Adam on mini-batches.

On a logarithmic scale the objective has a plateau, where every kernel is a Dirac function. The long
first step of L-BFGS-B ends there, at a gradient of zero: `descend` caps the change of each
coordinate.
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
IDLE = 3  # Number of steps in a row without progress that end the run.


class Problem(Protocol):
    """A function with a gradient, for `adam` an average over rows."""

    def value_and_gradient(self, x: Array) -> tuple[float, Array]:
        """Evaluate value and gradient at x."""

    def sample(self, indices: Indices) -> Self:
        """Restrict the function to rows, given by their places."""


class _Step(NamedTuple):
    """A point with its value and gradient."""

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
    """Minimise a smooth function, convex or not, by capped quasi-Newton steps.

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
    curvature, history, idle, status = InverseHessian(12), [], 0, Status.MAX_ITER
    for n_iter in range(1, max_iter + 1):
        after = _line_search(problem, at, curvature)
        if after is None and curvature.pairs:  # try the gradient itself
            curvature.pairs.clear()
            after = _line_search(problem, at, curvature)
        if after is None:
            status = Status.SETTLED
            break
        curvature.update(after.x - at.x, after.gradient - at.gradient)
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
    """Find a lower point along the quasi-Newton direction; None without one."""
    direction = -curvature.dot(at.gradient)  # -H^-1 g
    slope = float(direction @ at.gradient)
    if not slope < 0:
        return None
    largest = float(np.abs(direction).max())
    share = min(1.0, (CAP if curvature.pairs else FIRST) / largest)
    for trial in range(12):
        x = at.x + share * direction
        value, gradient = problem.value_and_gradient(x)
        # Armijo's condition: a share of 1e-4 of the decrease that the slope predicts
        if math.isfinite(value) and value <= at.value + 1e-4 * share * slope:
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
    """Minimise by Adam: steps along averaged gradients of mini-batches (Kingma and Ba 2015).

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
        ``value`` and ``history`` belong to the mini-batches; ``gap`` is nan.
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
        mean += (1.0 - 0.9) * (gradient - mean)
        square += (1.0 - 0.999) * (gradient * gradient - square)
        size = np.sqrt(square / (1.0 - 0.999**n_iter)) + 1e-8
        x -= rate / (1.0 - 0.9**n_iter) * mean / size
        history.append(Progress(n_iter, value, math.nan))
        if callback is not None and callback(history[-1]):
            status = Status.STOPPED
            break
    value = history[-1].objective if history else math.nan
    return Result(x, value, math.nan, len(history), status, history)
