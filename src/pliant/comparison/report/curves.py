"""Learning curves: the score against the number of training rows."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

from pliant.comparison.report.drawing import Axis, Plot, axis_of, marker, nice_ticks, path
from pliant.comparison.report.markup import Markup, tag
from pliant.comparison.report.tables import Column, details, head, number, scrolled, table
from pliant.comparison.report.view import View
from pliant.comparison.text import fixed, known
from pliant.core.text import count

REACH = 8.0
"""The reach of the scale of scores: small samples may give much lower ones."""

Point = tuple[float, float]
"""Training rows and a score."""


def learning_curves(view: View) -> Markup:
    """Draw a curve for each method, the best ones in colour, and write them as a table."""
    curves = {each.method.name: _curve(view, each.method.name) for each in view.ranked}
    curves = {name: curve for name, curve in curves.items() if curve}
    if not curves:
        return tag("p", "No learning curves were measured.")
    drawing = _draw(view, curves)
    numbers = details("The curves as a table", _table(view, curves))
    if drawing is None:
        return _table(view, curves)
    both = tag("div", scrolled(drawing, "Learning curves"), _legend(view, curves), class_="chart")
    return tag("figure", both, numbers, class_="card")


def _curve(view: View, method: str) -> list[Point]:
    """Return the mean over folds at each share of the training rows; folds differ a little."""
    points: dict[float, list[Point]] = {}
    for record in view.ranked_records(method):
        for rows, score in record.get("curve") or ():
            if known(score):
                share = round(rows / record["rows"]["train"], 2)
                points.setdefault(share, []).append((rows, score))
    return [(fmean(n for n, _ in at), fmean(s for _, s in at)) for _, at in sorted(points.items())]


def _draw(view: View, curves: dict[str, list[Point]]) -> Markup | None:
    """Draw the curves, if there is room between the least and the most rows, and scores."""
    y = _score_axis(view, curves)
    sizes = _sizes(curves)
    if y is None or sizes[0] == sizes[-1]:
        return None
    plot = Plot(Axis(sizes[0] * 0.93, sizes[-1] * 1.07, sizes, "training rows", True), y)
    for name in reversed(curves):
        _add(plot, view, name, curves[name])
    return plot.svg(
        f"Learning curves: {view.metric.title} against training rows, on {len(curves)} methods",
        view.ident("curves-plot"),
    )


def _add(plot: Plot, view: View, name: str, curve: Sequence[Point]) -> None:
    look = view.look(name)
    places = [plot.at(*point) for point in curve]
    plot.add(path(places, f"line {look}"))
    if look == "others":
        return
    title = _titles(view)[name]
    for (rows, score), (x, y) in zip(curve, places, strict=True):
        label = f"{title}: {fixed(score, view.digits)} with {count(round(rows), 'row')}"
        plot.add(marker(x, y, _shape(look), f"point {look}", label))


def _score_axis(view: View, curves: dict[str, list[Point]]) -> Axis | None:
    """Return a scale for the curves in colour, and for others as far as they are near."""
    seen = [curve for name, curve in curves.items() if view.look(name) != "others"]
    scores = [score for curve in seen or curves.values() for _, score in curve]
    scores.sort(reverse=view.metric.higher_is_better)
    ends = axis_of([(score, 0.0) for score in scores], view.metric.higher_is_better, REACH)
    if ends is None:
        return None
    pad = 0.04 * (ends.high - ends.low)
    low, high = ends.low - pad, ends.high + pad
    title = f"{view.metric.title}, mean over folds"
    return Axis(low, high, nice_ticks(low, high), title)


def _sizes(curves: dict[str, list[Point]]) -> list[float]:
    """Return the row counts of the longest curve."""
    longest = max(curves.values(), key=len)
    return [float(round(rows)) for rows, _ in longest]


def _legend(view: View, curves: dict[str, list[Point]]) -> Markup:
    titles = _titles(view)
    named = [name for name in curves if view.look(name) != "others"]
    items = [tag("li", _swatch(view.look(name)), titles[name]) for name in named]
    rest = len(curves) - len(named)
    if rest:
        items.append(tag("li", _swatch("others"), f"{count(rest, 'other method')}, where in view"))
    return tag("ul", items, class_="legend")


def _swatch(look: str) -> Markup:
    drawn = path([(0, 7), (30, 7)], f"line {look}")
    point = None if look == "others" else marker(15, 7, _shape(look), f"point {look}")
    return tag("svg", drawn, point, viewBox="0 0 30 14", class_="swatch", aria_hidden="true")


def _shape(look: str) -> int:
    """Return the marker of a line's class; the reference has the first."""
    return int(look.rpartition("-")[2]) if look.startswith("series-") else 0


def _titles(view: View) -> dict[str, str]:
    return {entry.name: entry.title for entry in view.result.methods}


def _table(view: View, curves: dict[str, list[Point]]) -> Markup:
    """Write the mean score of each method at each size."""
    sizes, titles = _sizes(curves), _titles(view)
    columns = [Column("Method", numeric=False)]
    columns += [Column(count(round(size), "row"), numeric=True) for size in sizes]
    rows = []
    for name, curve in curves.items():
        scores = [score for _, score in curve] + [None] * (len(sizes) - len(curve))
        cells = [number(fixed(score, view.digits), score) for score in scores]
        rows.append([head(titles[name], value=titles[name]), *cells])
    return table(f"Mean {view.metric.title} by training rows", columns, rows)
