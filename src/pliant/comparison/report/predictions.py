"""Predictions of some methods for test rows, against the true values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from pliant.comparison.report.drawing import Axis, Plot, nice_ticks, path, point
from pliant.comparison.report.markup import Markup, tag
from pliant.comparison.report.tables import Column, details, head, number, scrolled, table
from pliant.comparison.report.view import View
from pliant.comparison.stats.standings import Standing
from pliant.comparison.text import known
from pliant.core.text import count

MOST_POINTS = 800
"""Points in one drawing at most."""

MOST_CLASSES = 12
"""Classes in a matrix at most; of more, the most frequent mistakes are listed."""

WORST = 10
"""Mistakes in a list."""

REACH = 0.5
"""How far beyond the true values, in lengths of their range, predictions are drawn."""

SIZE = 400.0

Pair = tuple[int, Any, Any]
"""A row of the table, its true value and its prediction."""


def predictions(view: View) -> Markup:
    """Show the best method, the best learned kernel and the reference, each once."""
    shown = [(each, _pairs(view, each.method.name)) for each in view.featured]
    shown = [(standing, pairs) for standing, pairs in shown if pairs]
    if not shown:
        return tag("p", "No predictions were kept.")
    draw = _scatters if view.regression else _confusions
    return tag("div", draw(view, shown), class_="panels")


def _pairs(view: View, method: str) -> list[Pair]:
    """Return the rows with a prediction, from the folds of the first repeat."""
    pairs: list[Pair] = []
    for record in view.ranked_records(method):
        kept = record.get("predictions") or {"rows": [], "values": []}
        pairs += [
            (row, view.result.truth[str(row)], value)
            for row, value in zip(kept["rows"], kept["values"], strict=True)
            if str(row) in view.result.truth
        ]
    return pairs


def _scatters(view: View, shown: list[tuple[Standing, list[Pair]]]) -> list[Markup]:
    """Draw one scatter for each method, all on the same scale."""
    finite = [(each, _finite(pairs)) for each, pairs in shown]
    scale = _scale([pair for _, pairs in finite for pair in pairs])
    return [_scatter(view, standing, pairs, scale) for standing, pairs in finite]


def _finite(pairs: list[Pair]) -> list[Pair]:
    numbers = [(row, float(true), float(predicted)) for row, true, predicted in pairs]
    return [pair for pair in numbers if known(pair[1]) and known(pair[2])]


def _scale(pairs: Sequence[Pair]) -> tuple[float, float]:
    """Return a range with all true values, and with the predictions near them."""
    true = [value for _, value, _ in pairs]
    low, high = min(true, default=0.0), max(true, default=0.0)
    reach = REACH * (high - low) or 1.0
    near = [predicted for _, _, predicted in pairs if low - reach <= predicted <= high + reach]
    low, high = min([low, *near]), max([high, *near])
    pad = 0.04 * (high - low) or 1.0
    return low - pad, high + pad


def _scatter(
    view: View, standing: Standing, pairs: list[Pair], scale: tuple[float, float]
) -> Markup:
    low, high = scale
    x = Axis(low, high, nice_ticks(low, high, 5), "true value")
    plot = Plot(x, Axis(low, high, nice_ticks(low, high, 8), "predicted"), SIZE, SIZE)
    plot.add(path([plot.at(low, low), plot.at(high, high)], "identity"))
    inside = [(true, predicted) for _, true, predicted in pairs if low <= predicted <= high]
    drawn = inside[:: max(1, -(-len(inside) // MOST_POINTS))]
    plot.add(*(point(*plot.at(*place), "cloud") for place in drawn))
    name = f"Predicted against true {view.result.sample['target']}: {standing.method.title}"
    note = f"{len(drawn)} of {count(len(pairs), 'test row')} drawn"
    if len(inside) < len(pairs):
        note += f", {len(pairs) - len(inside)} far outside"
    return tag(
        "figure",
        tag("figcaption", tag("strong", standing.method.title), tag("span", note, class_="note")),
        scrolled(plot.svg(name, view.ident(f"scatter-{view.featured.index(standing)}")), name),
        details("The rows with the largest errors", _worst(standing, pairs)),
        class_="card",
    )


def _worst(standing: Standing, pairs: list[Pair]) -> Markup:
    worst = sorted(pairs, key=lambda pair: -abs(pair[1] - pair[2]))[:WORST]
    columns = [Column("Row"), Column("True"), Column("Predicted"), Column("Error")]
    rows = [[head(row, value=str(row)), *map(_short, (t, p, p - t))] for row, t, p in worst]
    return table(f"Largest errors of {standing.method.title}", columns, rows)


def _short(value: float) -> Markup:
    return number(f"{value:.4g}".replace("-", "−"), value)


def _confusions(view: View, shown: list[tuple[Standing, list[Pair]]]) -> list[Markup]:
    classes = [str(each) for each in view.result.sample.get("classes") or []]
    draw = _matrix if len(classes) <= MOST_CLASSES else _mistakes
    figures = []
    for standing, pairs in shown:
        seen = Counter((str(true), str(predicted)) for _, true, predicted in pairs)
        caption = tag("figcaption", tag("strong", standing.method.title), _right(pairs))
        figures.append(tag("figure", caption, draw(standing, seen, classes), class_="card"))
    return figures


def _right(pairs: list[Pair]) -> Markup:
    right = sum(true == predicted for _, true, predicted in pairs)
    return tag("span", f"{right} of {count(len(pairs), 'test row')} right", class_="note")


def _matrix(standing: Standing, seen: Counter[tuple[str, str]], classes: list[str]) -> Markup:
    """Write the rows of each true class by their predicted class."""
    columns = [Column("True class", numeric=False)]
    columns += [Column(name, "predicted") for name in classes]
    totals = {true: sum(seen[true, predicted] for predicted in classes) for true in classes}
    rows = []
    for true in classes:
        shares = [_share(seen[true, each], totals[true], true == each) for each in classes]
        rows.append([head(true, value=true), *shares])
    return table(f"Confusion matrix of {standing.method.title}", columns, rows, look="matrix")


def _share(number_of_rows: int, total: int, right: bool) -> Markup:
    """Write a count with its share of the true class, shaded by that share."""
    share = number_of_rows / total if total else 0.0
    shade = f"{'right' if right else 'wrong'}-{round(5 * share) or int(share > 0)}"
    note = tag("span", f"{100 * share:.0f} %", class_="note")
    return number([str(number_of_rows), note], number_of_rows, f"{shade}" if share else "")


def _mistakes(standing: Standing, seen: Counter[tuple[str, str]], classes: list[str]) -> Markup:
    """List the most frequent mistakes."""
    wrong = Counter({pair: times for pair, times in seen.items() if pair[0] != pair[1]})
    columns = [
        Column("True class", numeric=False),
        Column("Taken for", numeric=False),
        Column("Rows"),
    ]
    rows = [
        [head(true, value=true), tag("td", predicted), number(times, times)]
        for (true, predicted), times in wrong.most_common(WORST)
    ]
    return table(f"Most frequent mistakes of {standing.method.title}", columns, rows)
