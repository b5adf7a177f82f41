"""Which coordinates to step on next, where only some rows and columns of K fit into memory."""

from __future__ import annotations

import numpy as np

from pliant.core.typing import Array, Indices
from pliant.methods.svm.smo.block import Block

__all__ = ["working_set"]

SHARE = 0.03
"""The share of all coordinates that is stepped on at once: of more, too many turn out not needed,
and their square part costs as much as the rows of those that move."""

SMALLEST = 200
"""It is at least so many."""

LARGER_SHARE, UP_TO = 0.1, 2000
"""It is this larger share, up to so many: square parts of that size cost little, and where whole
crowds go to their bounds, as with a small price of slack, ten times fewer sets are needed."""

TIMES_FREE = 2
"""And so many times the free coordinates, which move in every round, as long as room is left."""

FREE_SHARE = 0.5
"""The share of the set that free coordinates may take from the worst violators."""


def working_set(everything: Block, intercept: float, room: int) -> Indices:
    """Return up to `room` >= 2 coordinates, among them the pair of the largest violation.

    If the coordinates in violating pairs are too many, they are the worst violators upwards and
    downwards, as many of each, and free coordinates, first those that violate the optimality
    conditions at `intercept` most. Equal ones are taken in a shuffled order: at the start, all
    coordinates of a class are.
    """
    rise, fall = everything.rates()
    least, most = float(fall.min()), float(rise.max())
    pairs = np.flatnonzero((rise > least) | (fall < most))
    if pairs.size == 0:
        return np.unique([np.argmax(rise), np.argmin(fall)])
    free = np.flatnonzero(everything.free)
    share = max(int(SHARE * rise.size), min(int(LARGER_SHARE * rise.size), UP_TO))
    size = min(room, max(SMALLEST, share, TIMES_FREE * free.size))
    if pairs.size <= size:
        return pairs
    side = max(1, (size - min(free.size, int(FREE_SHARE * size))) // 2)
    worst = np.union1d(_first(rise, side, least), _first(-fall, side, -most))
    others = np.setdiff1d(free, worst)
    strain = np.maximum(rise[others] - intercept, intercept - fall[others])
    return np.union1d(worst, others[_first(strain, size - worst.size, -np.inf)])


def _first(rates: Array, number: int, bound: float) -> Indices:
    """Return up to `number` positions of the largest values, of those above `bound`."""
    shuffled = np.random.default_rng(0).permutation(rates.size)
    order = shuffled[np.argsort(-rates[shuffled], kind="stable")][:number]
    return order[rates[order] > bound]
