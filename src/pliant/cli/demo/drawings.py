"""The drawings of the demo's page: errors, slices and intervals, as inline SVG."""

from __future__ import annotations

from typing import Any

import numpy as np

from pliant.cli.demo.study import COVERAGE, Study, Tested
from pliant.comparison.report.drawing import Axis, Plot, nice_ticks, path, point
from pliant.comparison.report.markup import Markup, tag
from pliant.comparison.report.tables import scrolled

SIDE = 300.0
"""Width and height of one of several panels, in SVG units; about the pixels on a page."""

FEATURE = 2
"""The feature of friedman1 along which slices are drawn: the target depends on its square."""

STEPS = 101
"""Points of a slice."""

SHOWN = 60
"""Intervals in one drawing, of rows spread over the range of predictions."""


def errors(study: Study) -> Markup:
    """Draw errors against targets, one panel a method, with the band of 90 % of the rows."""
    y = study.data.y
    gaps = [each.predicted - y for each in study.tested]
    (left, right), (low, high) = _padded(y), _padded(*gaps)
    x = Axis(left, right, nice_ticks(left, right, 4), "target")
    up = Axis(low, high, nice_ticks(low, high, 4), "prediction - target")
    panels = []
    for each, gap in zip(study.tested, gaps, strict=True):
        reach = float(np.quantile(np.abs(gap), COVERAGE))
        plot = Plot(x, up, SIDE, SIDE)
        corners = [(left, -reach), (left, reach), (right, reach), (right, -reach)]
        plot.add(path([plot.at(*corner) for corner in corners], f"band {_look(study, each)}"))
        plot.add(path([plot.at(left, 0), plot.at(right, 0)], "identity"))
        plot.add(*(point(*plot.at(*at), f"cloud {_look(study, each)}") for at in _points(y, gap)))
        note = f"R2 {each.mean('r2'):.3f}; {COVERAGE:.0%} of the rows within ± {reach:.1f}"
        panels.append(_panel(study, each, plot, "errors", note))
    return tag("div", panels, class_="panels quartet")


def slices(study: Study) -> Markup:
    """Draw what each method learned along one feature, with the function that made the data."""
    grid = np.full((STEPS, study.data.X.shape[1]), 0.5)
    grid[:, FEATURE] = np.linspace(0, 1, STEPS)
    truth = _friedman(grid)
    curves = [np.asarray(each.folds[0].model.predict(grid)) for each in study.tested]
    low, high = _padded(truth, *curves)
    x = Axis(0, 1, [0, 0.5, 1], study.data.schema.feature_names[FEATURE])
    panels = []
    for each, curve in zip(study.tested, curves, strict=True):
        plot = Plot(x, Axis(low, high, nice_ticks(low, high, 4), "prediction"), SIDE, SIDE)
        plot.add(path([plot.at(*at) for at in _points(grid[:, FEATURE], truth)], "identity"))
        line = [plot.at(*at) for at in _points(grid[:, FEATURE], curve)]
        plot.add(path(line, f"line {_look(study, each)}"))
        note = f"mean distance from the true curve: {np.abs(curve - truth).mean():.2f}"
        panels.append(_panel(study, each, plot, "slice", note))
    return tag("div", panels, class_="panels quartet")


def intervals(study: Study) -> Markup:
    """Draw the intervals of some rows in the order of their predictions, with the targets."""
    y, held = study.data.y, study.held()
    order = np.argsort(study.ours.predicted, kind="stable")
    rows = order[np.linspace(0, len(order) - 1, min(SHOWN, len(order))).astype(int)]
    low, high = _padded(study.intervals[rows], y[rows])
    x = Axis(-1, len(rows), [], "test rows, in the order of their predictions")
    plot = Plot(x, Axis(low, high, nice_ticks(low, high), "target"))
    for place, row in enumerate(rows):
        ends = [plot.at(place, float(end)) for end in study.intervals[row]]
        plot.add(path(ends, "whisker" if held[row] else "whisker missed"))
    plot.add(*(point(*plot.at(place, float(y[row])), "target") for place, row in enumerate(rows)))
    name = f"Intervals of {len(rows)} test rows"
    caption = (
        f"{len(rows)} of {len(y)} rows. A bar is an interval, a dot the target; "
        f"{int((~held[rows]).sum())} of these bars miss it."
    )
    drawn = scrolled(plot.svg(name, "intervals"), name)
    return tag("figure", drawn, tag("figcaption", caption, class_="note"), class_="card one")


def _panel(study: Study, each: Tested, plot: Plot, kind: str, note: str) -> Markup:
    """Return a drawing of one method with its name and a number."""
    name = f"{each.title}: {note}"
    caption = tag("figcaption", tag("strong", each.title), tag("span", note, class_="note"))
    key = f"{kind}-{study.tested.index(each)}"
    return tag("figure", caption, plot.svg(name, key), class_="card")


def _look(study: Study, each: Tested) -> str:
    return "series-1" if each is study.ours else "series-2"


def _friedman(X: Any) -> Any:
    """Return the function that made friedman1, without its noise."""
    wave = 10 * np.sin(np.pi * X[:, 0] * X[:, 1])
    return wave + 20 * (X[:, 2] - 0.5) ** 2 + 10 * X[:, 3] + 5 * X[:, 4]


def _points(x: Any, y: Any) -> list[tuple[float, float]]:
    return list(zip(x.tolist(), y.tolist(), strict=True))


def _padded(*values: Any) -> tuple[float, float]:
    """Return a range with all values and some room at either end."""
    low, high = float(min(map(np.min, values))), float(max(map(np.max, values)))
    room = 0.05 * (high - low)
    return low - room, high + room
