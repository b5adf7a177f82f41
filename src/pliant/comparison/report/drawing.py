"""Plots and small intervals as inline SVG, coloured by the classes of the page's style sheet."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import floor, log, log10

from pliant.comparison.report.markup import Content, Markup, tag
from pliant.comparison.text import known

WIDTH, HEIGHT = 680.0, 380.0
LEFT, RIGHT, TOP, BOTTOM = 66.0, 14.0, 12.0, 50.0
"""The size of a plot and of its margins, in SVG units."""

INTERVAL_WIDTH, INTERVAL_HEIGHT, EDGE = 120.0, 17.0, 7.0
"""The size of a mean with its standard error as a small drawing, and of its margins."""

REACH = 3.0
"""The reach of a scale of means."""

Interval = tuple[float, float]
"""A mean and its standard error."""

SHAPES = (
    "M-4 0a4 4 0 1 0 8 0a4 4 0 1 0 -8 0",
    "M-3.6 -3.6h7.2v7.2h-7.2z",
    "M0 -4.8L4.6 3.4H-4.6z",
    "M0 -5L5 0L0 5L-5 0z",
    "M0 4.8L4.6 -3.4H-4.6z",
    "M-4 -1.4h2.6v-2.6h2.8v2.6h2.6v2.8h-2.6v2.6h-2.8v-2.6h-2.6z",
)
"""Outlines of markers, so that lines differ by more than their colour."""


@dataclass(frozen=True)
class Axis:
    """From values to places in a drawing; low < high, and `ticks` have a mark and a label."""

    low: float
    high: float
    ticks: Sequence[float]
    title: str = ""
    logarithmic: bool = False

    def share(self, value: float) -> float:
        """Return how far along the axis a value lies: 0 at its low end, 1 at its high one."""
        if self.logarithmic:
            return log(value / self.low) / log(self.high / self.low)
        return (value - self.low) / (self.high - self.low)

    def label(self, value: float) -> str:
        """Write a tick with the digits that distinguish it from its neighbours."""
        if abs(value) >= 1e7 or (value != 0 and self._step < 1e-6):
            return f"{value:g}".replace("-", "−")
        if self._step >= 1000:
            return f"{value / 1000:g}k".replace("-", "−") if value else "0"
        digits = max(0, -floor(log10(self._step) + 1e-9)) if self._step > 0 else 0
        return f"{value:.{digits}f}".replace("-", "−")

    @property
    def _step(self) -> float:
        gaps = [b - a for a, b in zip(self.ticks, self.ticks[1:], strict=False)]
        return 1.0 if self.logarithmic else min(gaps, default=1.0)


def nice_ticks(low: float, high: float, most: int = 6) -> list[float]:
    """Return round values in [low, high]: multiples of 1, 2 or 5 times a power of ten.

    Examples
    --------
    >>> nice_ticks(0.71, 0.98)
    [0.75, 0.8, 0.85, 0.9, 0.95]
    """
    rough = (high - low) / most
    power = 10.0 ** floor(log10(rough))
    step = next(power * unit for unit in (1, 2, 5, 10) if power * unit >= rough * (1 - 1e-9))
    first, last = -floor(-low / step + 1e-9), floor(high / step + 1e-9)
    digits = max(0, -floor(log10(step) + 1e-9))
    return [round(number * step, digits) for number in range(first, last + 1)]


@dataclass(frozen=True)
class Plot:
    """Two axes and what is drawn between them; the size is in SVG units."""

    x: Axis
    y: Axis
    width: float = WIDTH
    height: float = HEIGHT
    _marks: list[Markup] = field(default_factory=list)

    def at(self, x: float, y: float) -> tuple[float, float]:
        """Return where a pair of values lies."""
        across = LEFT + self.x.share(x) * (self.width - LEFT - RIGHT)
        down = self.height - BOTTOM - self.y.share(y) * (self.height - TOP - BOTTOM)
        return across, down

    def add(self, *marks: Markup) -> None:
        """Draw on top of what is there."""
        self._marks.extend(marks)

    def svg(self, name: str, key: str) -> Markup:
        """Write the drawing, with a name for those who do not see it.

        `key` begins its ids; no other drawing of the page has it.
        """
        inner = (LEFT, TOP, self.width - LEFT - RIGHT, self.height - TOP - BOTTOM)
        x, y, width, height = map(written, inner)
        window = tag("rect", x=x, y=y, width=width, height=height)
        return tag(
            "svg",
            tag("title", name, id=f"{key}-name"),
            tag("clipPath", window, id=f"{key}-window"),
            self._grid(),
            tag("g", self._marks, clip_path=f"url(#{key}-window)"),
            self._titles(),
            viewBox=f"0 0 {written(self.width)} {written(self.height)}",
            role="img",
            aria_labelledby=f"{key}-name",
            class_="plot",
        )

    def _grid(self) -> Markup:
        bottom, left = self.height - BOTTOM, LEFT
        pieces: list[Markup] = []
        for value in self.y.ticks:
            _, y = self.at(self.x.low, value)
            pieces += [
                path([(left, y), (self.width - RIGHT, y)], "grid"),
                _text(left - 8, y + 4, self.y.label(value), "end"),
            ]
        for value in self.x.ticks:
            x, _ = self.at(value, self.y.low)
            pieces += [
                path([(x, bottom), (x, bottom + 5)], "axis"),
                _text(x, bottom + 20, self.x.label(value), "middle"),
            ]
        pieces.append(path([(left, bottom), (self.width - RIGHT, bottom)], "axis"))
        return tag("g", pieces)

    def _titles(self) -> Markup:
        middle = (self.height - BOTTOM + TOP) / 2
        below = _text((LEFT + self.width - RIGHT) / 2, self.height - 8, self.x.title, "middle")
        turned = f"rotate(-90 14 {written(middle)})"
        beside = _text(14, middle, self.y.title, "middle", transform=turned)
        return tag("g", below, beside, class_="titles")


def path(points: Sequence[tuple[float, float]], look: str) -> Markup:
    """Draw a line through points."""
    steps = " ".join(f"{written(x)},{written(y)}" for x, y in points)
    return tag("polyline", points=Markup(steps), class_=look)


def marker(x: float, y: float, number: int, look: str, title: Content = None) -> Markup:
    """Draw a point in the shape of this number, with a text for the mouse."""
    return tag(
        "path",
        None if title is None else tag("title", title),
        d=SHAPES[number % len(SHAPES)],
        transform=f"translate({written(x)} {written(y)})",
        class_=look,
    )


def point(x: float, y: float, look: str) -> Markup:
    """Draw a small round point, one of many."""
    return tag("circle", cx=written(x), cy=written(y), r=2.6, class_=look)


def written(value: float) -> str:
    """Write a coordinate with one decimal at most."""
    return f"{value:.1f}".removesuffix(".0")


def axis_of(
    intervals: Sequence[Interval], higher_is_better: bool, reach: float = REACH
) -> Axis | None:
    """Return a scale for the good methods, the best of which comes first.

    Much worse ones lie outside of it: beyond `reach` distances from the best to the middle one.
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
    pieces = [
        path([(EDGE, INTERVAL_HEIGHT / 2), (INTERVAL_WIDTH - EDGE, INTERVAL_HEIGHT / 2)], "rail")
    ]
    if known(reference) and 0 <= axis.share(reference) <= 1:
        x = _across(axis.share(reference))
        pieces.append(path([(x, 1), (x, INTERVAL_HEIGHT - 1)], "level"))
    pieces += [_arrow(share)] if not 0 <= share <= 1 else _dot(mean, error or 0.0, axis)
    return tag(
        "svg",
        pieces,
        viewBox=f"0 0 {written(INTERVAL_WIDTH)} {written(INTERVAL_HEIGHT)}",
        class_="interval",
        aria_hidden="true",
    )


def _dot(mean: float, error: float, axis: Axis) -> list[Markup]:
    y = INTERVAL_HEIGHT / 2
    left, right = (_across(axis.share(mean + side * error)) for side in (-1, 1))
    dot = tag("circle", cx=written(_across(axis.share(mean))), cy=written(y), r=4, class_="dot")
    return [path([(left, y), (right, y)], "whisker"), dot]


def _arrow(share: float) -> Markup:
    """Point to the side where the mean lies."""
    tip, back = (1.0, 8.0) if share < 0 else (INTERVAL_WIDTH - 1.0, INTERVAL_WIDTH - 8.0)
    y = INTERVAL_HEIGHT / 2
    return path([(back, y - 4.5), (tip, y), (back, y + 4.5)], "beyond")


def _across(share: float) -> float:
    """Return the place of a share of the scale, not outside of the drawing."""
    return EDGE + min(max(share, -0.04), 1.04) * (INTERVAL_WIDTH - 2 * EDGE)


def _text(x: float, y: float, text: str, anchor: str, **attributes: object) -> Markup:
    return tag("text", text, x=written(x), y=written(y), text_anchor=anchor, **attributes)
