"""Adam on mini-batches, for problems that can be restricted to some of their rows."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Protocol, Self

import numpy as np
from numpy.random import RandomState

from pliant.core.progress import Progress, Result, Status
from pliant.core.typing import Array, Indices

FIRST_DECAY, SECOND_DECAY, SMALL = 0.9, 0.999, 1e-8
"""Decay rates of the moments, and the number added to their root (Kingma and Ba 2015)."""


class Sampled(Protocol):
    """A function with a gradient, an average over rows."""

    def value_and_gradient(self, x: Array) -> tuple[float, Array]:
        """Return both at x."""

    def sample(self, indices: Indices) -> Self:
        """Return the function on some of the rows."""


def solve(
    problem: Sampled,
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
    problem : Sampled
        The function.
    start : array of shape (k,)
        First iterate.
    n_rows : int
        Number of rows; each pass goes through them in a new order.
    rng : RandomState
    rate : float
        Learning rate: approximate change of a coordinate in one step.
    batch : int
        Number of rows of a step.
    max_iter : int
        Number of steps.
    callback : callable, optional
        Called with a `Progress` after each step; True ends the run.

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
