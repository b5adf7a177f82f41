"""The dual in some coordinates, and the choice of coordinates for the next steps.

A solver updates a `WorkingBlock`, with the notation of `pliant.methods.svm.dual`. Its
g = p - u - c beta o v is the gradient of the smooth part, with u = K beta and v = (K o K) beta^2.
The kinks and bounds enter through up_s and down_s, the right and left derivatives of
epsilon_s |beta_s|, infinite at a bound. In beta_s, h has the right derivative rise_s = g_s - up_s
and the left derivative fall_s = g_s - down_s. At the optimum, max_s rise_s <= min_s fall_s:
raising one coordinate and lowering another by the same amount cannot increase h.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from pliant.core.loops import compiled
from pliant.core.typing import Array, Indices, Mask
from pliant.methods.svm.dual import MarginDual
from pliant.methods.svm.rows import Pause


class WorkingBlock:
    """The dual restricted to m coordinates (all by default), with the others held fixed.

    Solvers update `beta`, the gradient `g` and `v` in place; `g` and `v` include the contribution
    of the fixed coordinates.
    """

    lower: Array
    upper: Array
    beta: Array
    v: Array

    def __init__(
        self,
        problem: MarginDual,
        beta: Array,
        fields: tuple[Array, Array],
        indices: Indices | None = None,
        pause: Pause | None = None,
    ) -> None:
        self._rows, self._indices, self._pause = problem.rows, indices, pause
        some: Any = slice(None) if indices is None else indices
        # a copy: numba would compile the loops again for an array that cannot be written to
        self.diagonal: Array = problem.rows.diagonal()[some].copy()
        self.linear: Array = problem.linear[some]
        self.lower, self.upper = problem.lower[some], problem.upper[some]
        self.epsilon: Array = problem.tube[some]
        self.c: float = problem.quartic
        self.beta, self.v = beta[some].copy(), fields[1][some].copy()
        self.g: Array = self.linear - fields[0][some] - self.c * self.beta * self.v

    @cached_property
    def gram(self) -> Array:
        """The block of K, shape (m, m), read on first use."""
        some = np.arange(self.beta.size) if self._indices is None else self._indices
        return self._rows.square(some, self._pause)

    @property
    def fields(self) -> tuple[Array, Array]:
        """u and v at the current point."""
        return self.linear - self.g - self.c * self.beta * self.v, self.v

    @property
    def free(self) -> Mask:
        """Mask of the coordinates that are neither zero nor at a bound."""
        return (self.beta > self.lower) & (self.beta < self.upper) & (self.beta != 0.0)

    def rates(self) -> tuple[Array, Array]:
        """Return the derivatives rise and fall of the module docstring, shape (m,) each."""
        return _rates(self.g, self.beta, self.lower, self.upper, self.epsilon)

    @property
    def violation(self) -> float:
        """max_s rise_s - min_s fall_s, the largest slope of h along a pair; <= 0 at the optimum."""
        rise, fall = self.rates()
        return float(rise.max() - fall.min())


@compiled
def _rates(
    g: Array, beta: Array, lower: Array, upper: Array, epsilon: Array
) -> tuple[Array, Array]:
    """Return the right and left derivatives of h in each coordinate."""
    rise, fall = np.empty(beta.size), np.empty(beta.size)
    for s in range(beta.size):
        rise[s] = g[s] - slope_up(beta[s], upper[s], epsilon[s])
        fall[s] = g[s] - slope_down(beta[s], lower[s], epsilon[s])
    return rise, fall


@compiled
def one_sided_slopes(
    beta: Array, lower: Array, upper: Array, epsilon: Array
) -> tuple[Array, Array]:
    """Return the right and left derivatives of epsilon |beta|; infinite at a bound."""
    up, down = np.empty(beta.size), np.empty(beta.size)
    for s in range(beta.size):
        up[s] = slope_up(beta[s], upper[s], epsilon[s])
        down[s] = slope_down(beta[s], lower[s], epsilon[s])
    return up, down


@compiled
def slope_up(beta: float, upper: float, epsilon: float) -> float:
    """Return the right derivative of epsilon |beta|, or inf at the upper bound."""
    if beta >= upper:
        return np.inf
    return epsilon if beta >= 0.0 else -epsilon


@compiled
def slope_down(beta: float, lower: float, epsilon: float) -> float:
    """Return the left derivative of epsilon |beta|, or -inf at the lower bound."""
    if beta <= lower:
        return -np.inf
    return epsilon if beta > 0.0 else -epsilon


def active_set(block: WorkingBlock, intercept: float, limit: int) -> Indices | None:
    """Return the coordinates in violating pairs, or None if there are none.

    If there are more than `limit`, return the `limit` worst violators of the optimality conditions
    at `intercept`, including all free coordinates. If more than `limit` violate these conditions,
    return None.
    """
    rise, fall = block.rates()
    pairs = np.flatnonzero((rise > fall.min()) | (fall < rise.max()))
    if pairs.size == 0:
        return None
    if pairs.size <= limit:
        return pairs
    violation = np.maximum(rise - intercept, intercept - fall)  # >= 0 for free coordinates
    if (violation >= 0.0).sum() > limit:
        return None
    return np.sort(np.argsort(-violation, kind="stable")[:limit])


def working_set(block: WorkingBlock, limit: int, rng: np.random.Generator) -> Indices:
    """Return up to `limit` >= 2 coordinates, including the maximal violating pair.

    If too many coordinates are in violating pairs, the set holds equally many of the worst
    violators upwards and downwards, plus free coordinates, sampled if there are too many.
    The worst violators are neighbours of each other: blocks of them alone undo each other's steps,
    so the solver needs fifty times as many blocks.
    """
    rise, fall = block.rates()
    n, least, most = rise.size, float(fall.min()), float(rise.max())
    pairs = np.flatnonzero((rise > least) | (fall < most))
    if pairs.size == 0:
        return np.unique([np.argmax(rise), np.argmin(fall)])
    free = np.flatnonzero(block.free)
    # Use 3 % of all coordinates: most coordinates of a larger block need not move, and the block
    # costs as much as the rows of those that move. Use 10 % up to 2000 coordinates: such blocks are
    # cheap, and a tenth as many suffice for small C, which moves many coordinates to their bounds.
    # Use at least 200, and at least twice the number of free coordinates: these move in each round.
    size = min(limit, max(200, int(0.03 * n), min(int(0.1 * n), 2000), 2 * free.size))
    if pairs.size <= size:
        return pairs
    # Free coordinates fill up to half of the block. A shuffled order breaks ties: initially, all
    # coordinates of a class are tied.
    side = max(1, (size - min(free.size, int(0.5 * size))) // 2)
    shuffled = np.random.default_rng(0).permutation(n)
    up = shuffled[np.argsort(-rise[shuffled], kind="stable")][:side]
    down = shuffled[np.argsort(fall[shuffled], kind="stable")][:side]
    worst = np.union1d(up[rise[up] > least], down[fall[down] < most])
    others = np.setdiff1d(free, worst)
    if others.size > size - worst.size:
        others = rng.choice(others, size - worst.size, replace=False)
    return np.union1d(worst, others)
