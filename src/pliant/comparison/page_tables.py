"""Tables of the page: the leaderboard, costs, ranks over several tables.

They read well as they are, and the page's script can sort them.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import median
from typing import TYPE_CHECKING

from pliant.comparison.markup import Content, Markup, tag
from pliant.comparison.metrics import Metric, metrics_of
from pliant.comparison.record import Entry
from pliant.comparison.result import BLEND, ComparisonResult
from pliant.comparison.standings import Standing
from pliant.comparison.text import (
    MISSING,
    bytes_of,
    decimals,
    fixed,
    gap,
    known,
    p_value,
    seconds,
    setting,
    signed,
)
from pliant.core.text import count

if TYPE_CHECKING:
    from pliant.comparison.across import Across

LEVEL = 0.05
"""Probability of a false alarm below which a difference is called better or worse."""

REACH = 3.0
"""Reach of the scale of intervals, in distances from the best to the middle method."""

WIDTH, HEIGHT, EDGE = 120, 17, 7
"""Size of a drawn interval and of its margins, in SVG units."""


@dataclass(frozen=True)
class Column:
    """How one column is headed and sorted.

    The `note` is a second line below the title. A numeric column is sorted by number and aligned
    to the right, `best_first` is the order that the first press of its button gives, and `sorted`
    states that rows come in ascending order of this column.
    """

    title: str
    note: Content = None
    numeric: bool = True
    best_first: str = "ascending"
    sorted: bool = False

    def heading(self) -> Markup:
        """Write the cell at the column's top."""
        return tag(
            "th",
            tag("span", self.title, class_="title"),
            self.note and tag("span", self.note, class_="note"),
            scope="col",
            class_="number" if self.numeric else None,
            data_sort="number" if self.numeric else "text",
            data_first=self.best_first,
            aria_sort="ascending" if self.sorted else None,
        )


def table(
    caption: str, columns: Sequence[Column], rows: Iterable[Iterable[Markup]], look: str = ""
) -> Markup:
    """Write a table, sorted by the buttons of its columns, in a box that scrolls by itself.

    Cells are made by `head`, `number` and `text`.
    """
    heads = tag("thead", tag("tr", [column.heading() for column in columns]))
    body = tag("tbody", [tag("tr", row) for row in rows])
    whole = tag("table", tag("caption", caption), heads, body, class_=f"sortable {look}".rstrip())
    return tag("div", whole, class_="scroll", role="group", aria_label=caption, tabindex=0)


def head(*content: Content, value: str, look: str | None = None) -> Markup:
    """Write the first cell of a row: what the row is about."""
    return tag("th", content, scope="row", data_value=value, class_=look)


def number(written: Content, value: float | None) -> Markup:
    """Write a cell that is sorted by a number; None comes last."""
    exact = repr(float(value)) if known(value) else None
    return tag("td", written, class_="number", data_value=exact)


def text(*content: Content, value: str | None = None, look: str | None = None) -> Markup:
    """Write a cell of words."""
    return tag("td", content, class_=look, data_value=value)


@dataclass(frozen=True, eq=False)
class View:
    """A result and its place on the page.

    `prefix` begins each id of this result, and `level` is that of the headings of its sections.
    """

    result: ComparisonResult
    prefix: str = ""
    level: int = 2

    def ident(self, key: str) -> str:
        """Return the id of a part of this result's section."""
        return f"{self.prefix}{key}"

    @cached_property
    def ranked(self) -> list[Standing]:
        """The methods with a rank, the best first."""
        return [standing for standing in self.result.standings() if standing.rank is not None]

    @cached_property
    def weights(self) -> dict[str, float]:
        """The weights of the blend by the name of the method; empty without one."""
        return {} if self.result.blend is None else self.result.blend.weights

    @cached_property
    def members(self) -> list[Standing]:
        """The members of the blend; none if a single method is to be used."""
        blended = self.result.best == BLEND
        return [s for s in self.ranked if blended and s.method.name in self.weights]

    @cached_property
    def metrics(self) -> list[Metric]:
        """The metric of the ranks, then the others of the task."""
        first = self.result.metric
        return [first, *(m for m in metrics_of(self.result.task) if m.name != first.name)]

    def digits(self, metric: Metric) -> int:
        """Return the decimals of a metric."""
        errors = [standing.errors.get(metric.name) for standing in self.ranked]
        return decimals([standing.means.get(metric.name) for standing in self.ranked], errors)

    @cached_property
    def scale(self) -> tuple[float, float] | None:
        """The ends of the drawn intervals, without methods that are far behind."""
        around = [(s.mean, s.low, s.high) for s in self.ranked]
        ends = [(m, a, b) for m, a, b in around if known(m) and known(a) and known(b)]
        if not ends:
            return None
        means, lows, highs = zip(*ends, strict=True)
        widest = median(b - a for a, b in zip(lows, highs, strict=True))
        far = REACH * (abs(means[0] - median(means)) + widest / 2)
        low, high = max(min(lows), means[0] - far), min(max(highs), means[0] + far)
        return (low, high) if high > low else None


def leaderboard(view: View) -> Markup:
    """Write the blend and every ranked method: scores, weight, difference, time of a fit."""
    if not view.ranked:
        return tag("p", "No method finished a fold.")
    first, *others = view.metrics
    reference = next((s for s in view.ranked if s.is_reference), None)
    columns = [
        Column("Rank", sorted=True),
        Column("Method", numeric=False),
        Column(_title(first), "mean, 90 % interval", best_first=_best(first)),
        Column("Weight", "in the blend", best_first="descending"),
        Column(
            "Difference",
            f"to {reference.method.title}; p" if reference else "no reference",
            best_first="descending",
        ),
        Column("One fit", "with its search"),
        Column("Folds", best_first="descending"),
        *(Column(_title(each), best_first=_best(each)) for each in others),
    ]
    rows = [_row(view, standing) for standing in view.ranked]
    if view.members:
        rows = [_blend_row(view), *rows]
    caption = f"Scores on held-out rows, best {first.title} first"
    return table(caption, columns, rows, "leaderboard")


def _blend_row(view: View) -> list[Markup]:
    """Write the row of the blend, which is a method with the rank 0."""
    expected, members = view.result.expected, view.members
    standing = Standing(
        method=Entry(BLEND, "Blend", "", "", "done"),
        mean=expected.mean,
        low=expected.low,
        high=expected.high,
        folds=members[0].folds,
        planned=members[0].planned,
        rank=0,
        means=expected.means,
        errors={},
        seconds={"fit": _sum(map(_fit_time, members))},
    )
    return _row(view, standing)


def _row(view: View, standing: Standing) -> list[Markup]:
    """Write the scores, the weight, the difference and the time of a method."""
    name, time = standing.method.name, _fit_time(standing)
    weight = 1.0 if name == BLEND else view.weights.get(name)
    return [
        number(standing.rank or "", standing.rank),
        _head(standing, look="used" if name == view.result.best else None),
        _primary(view, standing),
        number(f"{weight:.2f}" if weight else MISSING, weight),
        _difference(view, standing),
        number(seconds(time), time),
        number(f"{standing.folds} of {standing.planned}", standing.folds),
        *(_score(view, each, standing.means.get(each.name)) for each in view.metrics[1:]),
    ]


def _head(standing: Standing, look: str | None = None) -> Markup:
    """Write the head of a method's row."""
    entry = standing.method
    note = tag("span", tag("code", entry.name), class_="note")
    return head(tag("span", entry.title, class_="title"), note, value=entry.title, look=look)


def _primary(view: View, standing: Standing) -> Markup:
    """Write a mean with its interval, drawn and as numbers."""
    mean, low, high = standing.mean, standing.low, standing.high
    digits = view.digits(view.result.metric)
    written = tag("span", fixed(mean, digits), class_="mean")
    if not (known(mean) and known(low) and known(high)):
        return number(written, mean)
    drawing = view.scale and interval(mean, low, high, view.scale)
    ends = tag("span", f"{fixed(low, digits)} to {fixed(high, digits)}", class_="note")
    return number(tag("span", drawing, tag("span", written, ends), class_="primary"), mean)


def interval(mean: float, low: float, high: float, scale: tuple[float, float]) -> Markup:
    """Draw a dot on a bar from low to high; an arrow for a mean beyond the scale."""

    def across(value: float) -> float:
        share = min(max((value - scale[0]) / (scale[1] - scale[0]), -0.04), 1.04)
        return round(EDGE + share * (WIDTH - 2 * EDGE), 1)

    middle, x = HEIGHT / 2, across(mean)
    pieces = [tag("line", x1=EDGE, x2=WIDTH - EDGE, y1=middle, y2=middle, class_="rail")]
    if scale[0] <= mean <= scale[1]:
        ends = {"x1": across(low), "x2": across(high), "y1": middle, "y2": middle}
        pieces += [
            tag("line", **ends, class_="whisker"),
            tag("circle", cx=x, cy=middle, r=4, class_="dot"),
        ]
    else:
        tip, back = (1, 8) if mean < scale[0] else (WIDTH - 1, WIDTH - 8)
        corners = f"{back},{middle - 4.5} {tip},{middle} {back},{middle + 4.5}"
        pieces.append(tag("polyline", points=corners, class_="beyond"))
    box = Markup(f"0 0 {WIDTH} {HEIGHT}")
    return tag("svg", pieces, viewBox=box, class_="interval", aria_hidden="true")


def _difference(view: View, standing: Standing) -> Markup:
    if standing.is_reference:
        return number(tag("span", "the reference", class_="note"), None)
    written = signed(standing.difference, view.digits(view.result.metric))
    if not (known(standing.difference) and known(standing.p_value)):
        return number(written, standing.difference)
    sure = standing.p_value < LEVEL
    side = ("better" if standing.difference > 0 else "worse") if sure else ""
    p = p_value(standing.p_value)
    note = f"{side}, p {p}" if side else f"p {p}"
    return number([written, tag("span", note, class_=f"note {side}".rstrip())], standing.difference)


def _score(view: View, metric: Metric, mean: float | None) -> Markup:
    return number(fixed(mean, view.digits(metric)), mean)


def _fit_time(standing: Standing) -> float | None:
    return _sum([standing.seconds.get("search"), standing.seconds.get("fit")])


def _sum(values: Iterable[float | None]) -> float | None:
    """Return the sum of the values that are known; None if none is."""
    numbers = [value for value in values if known(value)]
    return sum(numbers) if numbers else None


def costs(view: View) -> Markup | None:
    """Write what each method takes and leaves: time, size, certificate, settings."""
    columns = (
        Column("Method", numeric=False),
        Column("Search", "median"),
        Column("Fit", "median"),
        Column("Predict", "median"),
        Column("Model size", "median"),
        Column("Support points", "median"),
        Column("Certified gap", "largest"),
        Column("Settings", "chosen most often", numeric=False),
    )
    ran = [standing for standing in view.result.standings() if standing.folds]
    if not ran:
        return None
    rows = [
        [
            _head(each),
            *(number(seconds(t), t) for t in map(each.seconds.get, ("search", "fit", "predict"))),
            number(bytes_of(each.size_bytes), each.size_bytes),
            number(f"{each.support:g}" if known(each.support) else MISSING, each.support),
            number(gap(each.gap), each.gap),
            _settings(view, each.method.name),
        ]
        for each in ran
    ]
    return table("Costs and settings of one fold", columns, rows)


def _settings(view: View, method: str) -> Markup:
    """Write the settings that the search chose most often, and how often."""
    mine = [record for record in view.result.records if record["method"] == method]
    chosen = [json.dumps(c, sort_keys=True, default=str) for r in mine if (c := r.get("chosen"))]
    if not chosen:
        return text(MISSING)
    ((most, times),) = Counter(chosen).most_common(1)
    pairs = ", ".join(f"{name} = {setting(value)}" for name, value in json.loads(most).items())
    often = tag("span", f"{times} of {count(len(chosen), 'fold')}", class_="note")
    return text(tag("code", pairs), often, value=pairs, look="settings")


def over_tables(views: Sequence[View], ranking: Across | None) -> Markup:
    """Write the scores of the blend and of each method on each table, and average ranks."""
    columns = [Column("Method", numeric=False)]
    if ranking is not None:
        columns.append(Column("Average rank", sorted=True))
    for view in views:
        metric = view.result.metric
        columns.append(Column(view.result.sample["name"], metric.title, best_first=_best(metric)))
    titles = {entry.name: entry.title for view in views for entry in view.result.methods}
    ranks: dict[str, float] = {}
    if ranking is not None:
        names = [entry.name for entry in ranking.methods]
        ranks = dict(zip(names, ranking.ranks.tolist(), strict=True))
        titles = {name: titles[name] for name in (*names, *titles)}
    if any(view.members for view in views):
        titles = {BLEND: "Blend", **titles}
    rows = []
    for name, title in titles.items():
        row = [head(title, value=title)]
        if ranking is not None:
            rank = ranks.get(name)
            row.append(number(fixed(rank, 2), rank))
        for view in views:
            means = {s.method.name: s.mean for s in view.ranked}
            means[BLEND] = view.result.expected.mean
            row.append(_score(view, view.result.metric, means.get(name)))
        rows.append(row)
    return table("Mean scores on held-out rows", columns, rows)


def _title(metric: Metric) -> str:
    return metric.title[:1].upper() + metric.title[1:]


def _best(metric: Metric) -> str:
    return "descending" if metric.higher_is_better else "ascending"
