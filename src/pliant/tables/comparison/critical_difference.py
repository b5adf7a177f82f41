"""Critical difference diagram: mean ranks of methods, and groups without significant difference."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from pliant.core.parameters import check_real
from pliant.core.typing import Array, Indices
from pliant.core.validation import check_vector
from pliant.plots._common import BLUE, GREY, Display, text

if TYPE_CHECKING:
    from matplotlib.lines import Line2D
    from matplotlib.text import Text

BAR = 0.45
"""Height of a row of bars, in units of a label's height."""


def find_groups(ranks: Array, difference: float) -> list[tuple[int, int]]:
    """Return (start, stop) of each maximal group whose ranks differ by less than `difference`.

    The `ranks` are in ascending order.
    """
    runs: list[tuple[int, int]] = []
    for first in range(len(ranks)):
        end = first + int((ranks[first:] - ranks[first] < difference).sum())
        if end - first > 1 and (not runs or end > runs[-1][1]):
            runs.append((first, end))
    return runs


class CriticalDifferenceDisplay(Display):
    """Mean ranks of methods over data sets; bars connect methods that do not differ significantly.

    The better half is labelled on the left, with the best method on top, and the worse half on the
    right, with the worst on top. The bar above the axis shows the critical difference: methods with
    closer ranks do not differ significantly. The other bars connect maximal sets of such methods.

    Parameters
    ----------
    names : sequence of k str
        Names of k >= 2 methods.
    ranks : array-like of shape (k,)
        Mean ranks, from 1 (best) to k (worst); see `average_ranks`.
    critical_difference : float
        Critical difference >= 0; see `nemenyi_critical_difference`.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes, set by ``plot``.
    texts_ : list of matplotlib Text
        The labels, in the order of the names.
    bars_ : list of matplotlib Line2D
        The bar of each group, in the order of `groups`.
    scale_ : matplotlib Line2D
        The bar that shows the critical difference.

    References
    ----------
    J. Demšar, Statistical comparisons of classifiers over multiple data sets, Journal of Machine
    Learning Research 7 (2006), Figure 1.

    Examples
    --------
    >>> from pliant.tables.comparison.critical_difference import (
    ...     CriticalDifferenceDisplay,
    ... )
    >>> display = CriticalDifferenceDisplay(["a", "b", "c", "d"], [1.2, 3.1, 2.0, 3.7], 1.0)
    >>> display.groups
    [('a', 'c'), ('b', 'd')]
    """

    texts_: list[Text]
    bars_: list[Line2D]
    scale_: Line2D

    def __init__(
        self, names: Sequence[str], ranks: npt.ArrayLike, critical_difference: float
    ) -> None:
        self.names: list[str] = [str(name) for name in names]
        k = len(self.names)
        self.ranks: Array = check_vector("ranks", ranks, k)
        if self.ranks.min() < 1 or self.ranks.max() > k:
            raise ValueError(f"expected mean ranks from 1 to {k}, got {self.ranks.tolist()}")
        self.critical_difference: float = check_real(
            "critical_difference", critical_difference, least=0
        )

    @property
    def order(self) -> Indices:
        """Indices of the methods from the best to the worst, shape (k,)."""
        return np.asarray(np.argsort(self.ranks, kind="stable"), dtype=np.intp)

    @property
    def groups(self) -> list[tuple[str, ...]]:
        """The maximal sets of methods whose ranks differ by less than the critical difference.

        The sets, and the methods of each set, are ordered from the best to the worst.
        """
        names = [self.names[j] for j in self.order]
        runs = find_groups(self.ranks[self.order], self.critical_difference)
        return [tuple(names[first:end]) for first, end in runs]

    @property
    def _span(self) -> tuple[float, float]:
        """The limits of the axis, wide enough for the critical difference."""
        return 1.0, max(float(len(self.ranks)), 1.0 + self.critical_difference)

    @property
    def _bars(self) -> list[tuple[float, float, int]]:
        """The ends of each group's bar, and the first row with enough space for the bar."""
        rising, (low, high) = self.ranks[self.order], self._span
        taken: list[float] = []  # the end of the last bar in each row
        bars = []
        for first, end in find_groups(rising, self.critical_difference):
            best, worst = float(rising[first]), float(rising[end - 1])
            # bars in one row are at least 2 % of the axis apart
            free = [row for row, last in enumerate(taken) if last + 0.02 * (high - low) < best]
            row = free[0] if free else len(taken)
            taken[row:] = [worst, *taken[row + 1 :]]
            bars.append((best, worst, row))
        return bars

    @property
    def _depth(self) -> float:
        """The height of the bars and the space below them, in units of a label's height."""
        return BAR * (max((row for *_, row in self._bars), default=-1) + 1) + 0.6

    @property
    def _height(self) -> float:
        """The height of the bars and of half of the labels, in units of a label's height."""
        return self._depth + (len(self.ranks) + 1) // 2

    @property
    def _size(self) -> tuple[float, float]:
        return 7.0, 15.0 * (self._height + 4.0) / 72.0  # a label is 15 points high

    def _draw(self, style: dict[str, Any]) -> None:
        room = 72.0 * float(self.ax_.bbox.height) / self.ax_.figure.dpi / (self._height + 2.5)
        self._draw_axis()
        self._draw_labels(min(10.0, 0.72 * room))
        low, high = self._span
        rim = 0.006 * (high - low)
        look = {"color": BLUE, "linewidth": 4, "solid_capstyle": "butt", "zorder": 3, **style}
        self.bars_ = []
        for best, worst, row in self._bars:
            level = 0.45 + BAR * row
            self.bars_ += self.ax_.plot([best - rim, worst + rim], [level, level], **look)
        self._draw_scale()

    def _draw_axis(self) -> None:
        ax, k = self.ax_, len(self.ranks)
        low, high = self._span
        margin = 0.04 * (high - low)
        ax.set(xlim=(low - margin, high + margin), ylim=(self._height + 0.2, -2.3))
        ax.spines[["left", "right", "bottom"]].set_visible(False)
        ax.spines["top"].set_position(("data", 0.0))
        ax.spines["top"].set_bounds(1.0, float(k))
        ax.xaxis.set_ticks_position("top")
        ax.set_xticks(np.arange(1, k + 1, 1 if k <= 12 else 2))
        ax.set_yticks([])

    def _draw_labels(self, size: float) -> None:
        """Draw a line from each rank down to the name of its method, left or right."""
        low, high = self._span
        k, depth = len(self.ranks), self._depth
        texts = {}
        for place, j in enumerate(self.order):
            left, rank = place < (k + 1) // 2, self.ranks[j]
            level = depth + (place if left else k - 1 - place)
            end = low if left else high
            self.ax_.plot(
                [rank, rank, end], [0.0, level, level], color=GREY, linewidth=0.9, clip_on=False
            )
            name = text(self.names[j], 40)
            label = f"{name}  {rank:.2f} " if left else f" {rank:.2f}  {name}"
            side = "right" if left else "left"
            texts[int(j)] = self.ax_.text(end, level, label, fontsize=size, ha=side, va="center")
        self.texts_ = [texts[j] for j in range(k)]

    def _draw_scale(self) -> None:
        ends, level = [1.0, 1.0 + self.critical_difference], -1.55
        look: dict[str, Any] = {"color": "black", "linewidth": 1.2, "marker": "|", "markersize": 7}
        (self.scale_,) = self.ax_.plot(ends, [level, level], clip_on=False, **look)
        label = f"critical difference {self.critical_difference:.2f}"
        self.ax_.text(1.0, level - 0.35, label, size=9, ha="left", va="bottom")
