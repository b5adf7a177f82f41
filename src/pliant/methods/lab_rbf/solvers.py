"""Solvers for the bandwidths: quasi-Newton steps of bounded size, and Adam on mini-batches.

For large log theta^2, kernel values vanish away from the centres, and the objective is flat. The
long first step of L-BFGS-B can end in this flat region; `descend` bounds the change per coordinate.
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

# Maximum change of a coordinate in a gradient step and in a quasi-Newton step.
GRADIENT_STEP_CAP, STEP_CAP = 0.1, 1.0
PATIENCE = 2  # Number of consecutive steps with a small decrease before the solver stops.


class Problem(Protocol):
    """A function with a gradient; for `adam`, the function must be an average over rows."""

    def value_and_gradient(self, x: Array) -> tuple[float, Array]:
        """Compute the value and gradient at x."""

    def sample(self, indices: Indices) -> Self:
        """Return the function restricted to the rows at given positions."""


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
    """Minimise by Adam on mini-batches (Kingma and Ba 2015).

    Parameters
    ----------
    n_rows : int
        Number of rows; they are shuffled in each epoch.
    rate : float
        Learning rate, the approximate change of a coordinate per step.
    batch : int
        Number of rows per mini-batch.

    Returns
    -------
    Result
        ``value`` and ``history`` contain mini-batch objectives; ``gap`` is nan.
    """
    x, mean, square = start.copy(), np.zeros_like(start), np.zeros_like(start)
    history, status = [], Status.MAX_ITER
    order = rng.permutation(n_rows)
    for n_iter in range(1, max_iter + 1):
        if len(order) < min(batch, n_rows):
            order = rng.permutation(n_rows)
        rows, order = order[:batch], order[batch:]
        value, gradient = problem.sample(rows).value_and_gradient(x)
        # Moving averages start at 0; dividing by 1 - decay^n_iter removes the bias.
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
