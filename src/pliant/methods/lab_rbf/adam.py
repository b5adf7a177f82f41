"""Adam on mini-batches, for problems that can be restricted to some of their rows."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Protocol, Self

import numpy as np
from numpy.random import RandomState

from pliant.core.progress import Progress, Result, Status
from pliant.core.typing import Array, Indices

__all__ = ["Sampled", "solve"]

FIRST_DECAY, SECOND_DECAY, SMALL = 0.9, 0.999, 1e-8


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
        Where to begin.
    n_rows : int
        The rows there are; each pass goes through them in a new order.
    rng : RandomState
    rate : float
        About the move of a coordinate in one step.
    batch : int
        Rows of a step.
    max_iter : int
        Steps.
    callback : callable, optional
        Called with a `Progress` after each step; True ends the run.

    Returns
    -------
    Result
        ``value`` and history are those of the mini-batches; gap is nan.
    """
    x, mean, square = start.copy(), np.zeros_like(start), np.zeros_like(start)
    history, status = [], Status.MAX_ITER
    order = rng.permutation(n_rows)
    for n_iter in range(1, max_iter + 1):
        if len(order) < min(batch, n_rows):
            order = rng.permutation(n_rows)
        rows, order = order[:batch], order[batch:]
        value, gradient = problem.sample(rows).value_and_gradient(x)
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
