"""The layout of a critical-difference diagram, for any way to draw it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pliant.core.typing import Array, Indices

RIM = 0.02
"""The least distance of two bars at one height, as a share of the axis."""


@dataclass(frozen=True, eq=False)
class RankLayout:
    """Places along an axis of ranks, in ranks, and rows beside it, in lines.

    Attributes
    ----------
    order : array of shape (n_methods,)
        The methods from the best to the worst.
    ranks : array of shape (n_methods,)
        Their mean ranks, ascending.
    left : list of bool
        Whether the name of each stands on the left: that of the better half.
    lines : list of int
        The line of each name, from the axis on; the extreme ranks have the first on either side.
    groups : list of tuple of int
        First and last + 1 place of each group of methods that do not differ.
    rows : list of int
        The row of the bar of each group.
    span : tuple of float
        The two ends of the axis; the critical difference fits between them.
    """

    order: Indices
    ranks: Array
    left: list[bool]
    lines: list[int]
    groups: list[tuple[int, int]]
    rows: list[int]
    span: tuple[float, float]

    @property
    def n_lines(self) -> int:
        """The lines that names take on the longer side."""
        return max(self.lines) + 1

    @property
    def n_rows(self) -> int:
        """The rows that bars take."""
        return max(self.rows, default=-1) + 1


def rank_layout(ranks: Array, critical_difference: float) -> RankLayout:
    """Lay out methods at their mean ranks.

    Parameters
    ----------
    ranks : array of shape (n_methods,)
        In any order.
    critical_difference : float
    """
    k = len(ranks)
    order = np.asarray(np.argsort(ranks, kind="stable"), dtype=np.intp)
    rising, half = ranks[order], (k + 1) // 2
    span = 1.0, max(float(k), 1.0 + critical_difference)
    groups = joined(rising, critical_difference)
    return RankLayout(
        order,
        rising,
        [place < half for place in range(k)],
        [place if place < half else k - 1 - place for place in range(k)],
        groups,
        _rows([(rising[a], rising[b - 1]) for a, b in groups], RIM * (span[1] - span[0])),
        span,
    )


def joined(ranks: Array, difference: float) -> list[tuple[int, int]]:
    """Return first and last + 1 of each largest run of rising ranks closer than `difference`."""
    runs: list[tuple[int, int]] = []
    for first in range(len(ranks)):
        end = first + int((ranks[first:] - ranks[first] < difference).sum())
        if end - first > 1 and (not runs or end > runs[-1][1]):
            runs.append((first, end))
    return runs


def _rows(intervals: list[tuple[float, float]], gap: float) -> list[int]:
    """Return the row of each interval, the first where it keeps the gap to those before it."""
    ends: list[float] = []
    chosen = []
    for low, high in intervals:
        free = [row for row, end in enumerate(ends) if end + gap < low]
        row = free[0] if free else len(ends)
        ends[row:] = [high, *ends[row + 1 :]]
        chosen.append(row)
    return chosen
