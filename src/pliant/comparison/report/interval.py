"""A mean with its standard error as a small drawing, on one scale for all methods."""

from __future__ import annotations

from collections.abc import Sequence

from pliant.comparison.report.drawing import Axis, path, written
from pliant.comparison.report.markup import Markup, tag
from pliant.core.text import known

Interval = tuple[float, float]
"""A mean and its standard error."""

WIDTH, HEIGHT, EDGE = 120.0, 17.0, 7.0

REACH = 3.0
"""The reach of a scale of means."""


def axis_of(
    intervals: Sequence[Interval], higher_is_better: bool, reach: float = REACH
) -> Axis | None:
    """Return a scale for the good methods; much worse ones lie outside of it.

    Parameters
    ----------
    intervals : sequence of (mean, standard error)
        The best method first.
    higher_is_better : bool
    reach : float
        How far below the best, in distances from the best to the middle one, the scale may go.
    """
    ends = [mean + side * error for mean, error in intervals for side in (-1, 1)]
    if not ends or max(ends) <= min(ends):
        return None
    low, high = min(ends), max(ends)
    best, middle = intervals[0][0], intervals[(len(intervals) - 1) // 2]
    far = reach * (abs(best - middle[0]) + middle[1])
    if far > 0 and higher_is_better:
        low = max(low, best - far)
    elif far > 0:
        high = min(high, best + far)
    return Axis(low, high, ())


def draw_interval(
    mean: float, error: float | None, axis: Axis, reference: float | None = None
) -> Markup:
    """Draw a dot with a line one standard error to either side, and the reference's place.

    A mean outside of the scale is an arrow at its end.
    """
    share = axis.share(mean)
    pieces = [path([(EDGE, HEIGHT / 2), (WIDTH - EDGE, HEIGHT / 2)], "rail")]
    if known(reference) and 0 <= axis.share(reference) <= 1:
        x = _across(axis.share(reference))
        pieces.append(path([(x, 1), (x, HEIGHT - 1)], "level"))
    pieces += [_arrow(share)] if not 0 <= share <= 1 else _dot(mean, error or 0.0, axis)
    return tag(
        "svg",
        pieces,
        viewBox=f"0 0 {written(WIDTH)} {written(HEIGHT)}",
        class_="interval",
        aria_hidden="true",
    )


def _dot(mean: float, error: float, axis: Axis) -> list[Markup]:
    y = HEIGHT / 2
    left, right = (_across(axis.share(mean + side * error)) for side in (-1, 1))
    dot = tag("circle", cx=written(_across(axis.share(mean))), cy=written(y), r=4, class_="dot")
    return [path([(left, y), (right, y)], "whisker"), dot]


def _arrow(share: float) -> Markup:
    """Point to the side where the mean lies."""
    tip, back = (1.0, 8.0) if share < 0 else (WIDTH - 1.0, WIDTH - 8.0)
    y = HEIGHT / 2
    return path([(back, y - 4.5), (tip, y), (back, y + 4.5)], "beyond")


def _across(share: float) -> float:
    """Return the place of a share of the scale, not outside of the drawing."""
    return EDGE + min(max(share, -0.04), 1.04) * (WIDTH - 2 * EDGE)
