"""Demsar's diagram: mean ranks of methods on an axis, and groups that do not differ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from pliant.core.typing import Array, Indices
from pliant.core.validation import check_real, check_vector
from pliant.plots._common import BLUE, GREY, Display, text

LEVEL = 15.0
"""Points of height that a label gets where there is room."""

LARGEST_FONT = 10.0

BAR = 0.45
"""Height of a row of bars, in labels."""

RIM = 0.02
"""The least distance of two bars at one height, as a share of the axis."""


@dataclass(frozen=True, eq=False)
class RankLayout:
    """Places along an axis of ranks, in ranks, and rows beside it, in lines.

    `order` are the methods from the best to the worst, `ranks` their mean ranks. The names of the
    better half stand on the `left`; `lines` has the line of each, the extreme ranks first. `groups`
    holds first and last + 1 place of each group of methods that do not differ, `rows` the row of
    its bar, and `span` the two ends of the axis, between which the critical difference fits.
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
    """Lay out methods at their mean ranks, in any order."""
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


class CriticalDifferenceDisplay(Display):
    """Methods at their mean ranks over data sets; a bar joins those that do not differ.

    The better half is named on the left, the best on top; the worse half on the right, the worst
    on top. Above the axis stands the length of the critical difference: ranks that are closer than
    do not differ significantly. Each bar joins a largest set of
    methods that all lie closer than that.

    Parameters
    ----------
    names : sequence of k str
        k >= 2 methods.
    ranks : array-like of shape (k,)
        Their mean ranks, 1 the best, k the worst; see `pliant.comparison.average_ranks`.
    critical_difference : float
        >= 0; see `pliant.comparison.nemenyi_critical_difference`.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Once plotted.
    texts_ : list of matplotlib Text
        The labels, in the order of the names.
    bars_ : list of matplotlib Line2D
        One for each of `groups`.
    scale_ : matplotlib Line2D
        The critical difference.

    References
    ----------
    J. Demšar, Statistical comparisons of classifiers over multiple data sets, Journal of Machine
    Learning Research 7 (2006), Figure 1.

    Examples
    --------
    >>> from pliant.plots import CriticalDifferenceDisplay
    >>> display = CriticalDifferenceDisplay(["a", "b", "c", "d"], [1.2, 3.1, 2.0, 3.7], 1.0)
    >>> display.groups
    [('a', 'c'), ('b', 'd')]
    """

    texts_: list[Any]
    bars_: list[Any]
    scale_: Any

    def __init__(
        self, names: Sequence[str], ranks: npt.ArrayLike, critical_difference: float
    ) -> None:
        self.names = [str(name) for name in names]
        k = len(self.names)
        if k < 2:
            raise ValueError(f"expected at least 2 methods, got {k}")
        self.ranks = check_vector("ranks", ranks, k)
        if self.ranks.min() < 1 or self.ranks.max() > k:
            raise ValueError(f"expected mean ranks from 1 to {k}, got {self.ranks.tolist()}")
        self.critical_difference = check_real("critical_difference", critical_difference, least=0)

    @property
    def order(self) -> Indices:
        """The methods from the best to the worst, shape (k,)."""
        return self._layout.order

    @property
    def groups(self) -> list[tuple[str, ...]]:
        """The largest sets of methods whose ranks all differ by less than the critical difference.

        Each from its best to its worst method, the set of the best first; none lies in another.
        """
        names = [self.names[j] for j in self.order]
        return [tuple(names[first:end]) for first, end in self._layout.groups]

    @property
    def _layout(self) -> RankLayout:
        return rank_layout(self.ranks, self.critical_difference)

    @property
    def _height(self) -> float:
        """The height of all labels and bars, in labels."""
        return BAR * self._layout.n_rows + 0.6 + self._layout.n_lines

    @property
    def _size(self) -> tuple[float, float]:
        return 7.0, LEVEL * (self._height + 4.0) / 72.0

    def _draw(self, style: dict[str, Any]) -> None:
        """Draw axis, labels, bars and the critical difference."""
        layout, height = self._layout, self._height
        room = 72.0 * float(self.ax_.bbox.height) / self.ax_.figure.dpi / (height + 2.5)
        self._draw_axis(layout, height)
        self._draw_labels(layout, height - layout.n_lines, min(LARGEST_FONT, 0.72 * room))
        self._draw_bars(layout, style)
        self._draw_scale()

    def _draw_axis(self, layout: RankLayout, height: float) -> None:
        """Draw the ranks from 1 to k; leave room below, and above for the critical difference."""
        ax, k = self.ax_, len(self.ranks)
        low, high = layout.span
        margin = 0.04 * (high - low)
        ax.set(xlim=(low - margin, high + margin), ylim=(height + 0.2, -2.3))
        ax.spines[["left", "right", "bottom"]].set_visible(False)
        ax.spines["top"].set_position(("data", 0.0))
        ax.spines["top"].set_bounds(1.0, float(k))
        ax.xaxis.set_ticks_position("top")
        step = 1 if k <= 12 else 2
        ax.set_xticks(np.arange(1, k + 1, step))
        ax.set_yticks([])

    def _draw_labels(self, layout: RankLayout, depth: float, size: float) -> None:
        """Draw a line from each rank down to its name, at the nearer end."""
        low, high = layout.span
        texts = {}
        for place, j in enumerate(layout.order):
            left, rank = layout.left[place], layout.ranks[place]
            level = depth + layout.lines[place]
            end = low if left else high
            self.ax_.plot(
                [rank, rank, end], [0.0, level, level], color=GREY, linewidth=0.9, clip_on=False
            )
            name = text(self.names[j], 40)
            label = f"{name}  {rank:.2f} " if left else f" {rank:.2f}  {name}"
            side = "right" if left else "left"
            texts[int(j)] = self.ax_.text(end, level, label, fontsize=size, ha=side, va="center")
        self.texts_ = [texts[j] for j in range(len(texts))]

    def _draw_bars(self, layout: RankLayout, bar: dict[str, Any]) -> None:
        """Draw a bar from the best to the worst method of each group."""
        low, high = layout.span
        rim = 0.006 * (high - low)
        look = {"color": BLUE, "linewidth": 4, "solid_capstyle": "butt", "zorder": 3, **bar}
        self.bars_ = []
        for (first, end), row in zip(layout.groups, layout.rows, strict=True):
            level = 0.45 + BAR * row
            ends = [layout.ranks[first] - rim, layout.ranks[end - 1] + rim]
            self.bars_ += self.ax_.plot(ends, [level, level], **look)

    def _draw_scale(self) -> None:
        """Draw the critical difference above the axis."""
        ends, level = [1.0, 1.0 + self.critical_difference], -1.55
        look: dict[str, Any] = {"color": "black", "linewidth": 1.2, "marker": "|", "markersize": 7}
        (self.scale_,) = self.ax_.plot(ends, [level, level], clip_on=False, **look)
        label = f"critical difference {self.critical_difference:.2f}"
        self.ax_.text(1.0, level - 0.35, label, size=9, ha="left", va="bottom")
