"""The part over all tables: ranks, their tests, and every mean score."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pliant.comparison.record import Entry
from pliant.comparison.report.drawing import path, written
from pliant.comparison.report.facts import verdict
from pliant.comparison.report.markup import Content, Markup, joined, tag
from pliant.comparison.report.tables import Column, head, number, scrolled, table
from pliant.comparison.report.view import View, heading
from pliant.comparison.stats.across import Across, across
from pliant.comparison.stats.standings import Standing
from pliant.core.text import MISSING, fixed, known, p_value
from pliant.plots.critical_difference import RankLayout, rank_layout

WIDTH, EDGE, LINE, BAR = 860.0, 210.0, 22.0, 12.0
"""Width of the diagram, room for names on either side, the height of a name and of a bar."""

HINT = (
    "On each table methods are ranked, 1 the best, and ranks are averaged. Methods under one bar "
    "do not differ significantly."
)


def over_all_tables(views: Sequence[View]) -> Markup:
    """Write what holds over all tables, and the mean scores of each method on each."""
    return tag(
        "section",
        heading(2, "Over all tables", id="all-tables"),
        _ranks(views),
        heading(3, "Scores on each table"),
        tag("p", "Means over test folds; a dash where a method has no score.", class_="hint"),
        _scores(views),
        aria_labelledby="all-tables",
    )


def _ranks(views: Sequence[View]) -> Markup:
    """Write the sentence and the diagram, or why there are none."""
    try:
        ranking = across([view.result for view in views])
    except ValueError as reason:
        return tag("p", f"The methods cannot be ranked over all tables: {reason}.", class_="notice")
    name = "Average ranks and critical difference"
    return joined(
        verdict(ranking.sentence()),
        tag("p", HINT, class_="hint"),
        tag("figure", scrolled(_diagram(ranking), name), class_="card"),
        _table(ranking),
        _left_out(ranking, views),
    )


def _diagram(ranking: Across) -> Markup:
    """Draw average ranks on a line, names below it, a bar over each group."""
    layout = rank_layout(ranking.ranks, ranking.critical_difference)
    k, top = len(ranking.methods), 46.0 + BAR * layout.n_rows
    pieces = [path([(_across(1, layout), top), (_across(k, layout), top)], "axis")]
    for rank in range(1, k + 1):
        x = _across(rank, layout)
        pieces += [path([(x, top - 5), (x, top)], "axis"), _label(x, top - 9, str(rank), "middle")]
    pieces += [_named(ranking.methods[place], layout, place, top) for place in range(k)]
    pieces += _bars(layout, top)
    pieces.append(_ruler(ranking.critical_difference, layout))
    height = top + 24 + LINE * layout.n_lines
    return tag(
        "svg",
        tag("title", "Average ranks, the best on the left", id="ranks-name"),
        pieces,
        viewBox=f"0 0 {written(WIDTH)} {written(height)}",
        role="img",
        aria_labelledby="ranks-name",
        class_="ranks",
    )


def _across(rank: float, layout: RankLayout) -> float:
    low, high = layout.span
    return EDGE + (rank - low) / (high - low) * (WIDTH - 2 * EDGE)


def _label(x: float, y: float, content: str, anchor: str) -> Markup:
    return tag("text", content, x=written(x), y=written(y), text_anchor=anchor)


def _named(entry: Entry, layout: RankLayout, place: int, top: float) -> Markup:
    """Lead from a rank to a name on the left (better half) or on the right."""
    rank, left = float(layout.ranks[place]), layout.left[place]
    y = top + 24 + LINE * layout.lines[place]
    end = EDGE - 14 if left else WIDTH - EDGE + 14
    x = _across(rank, layout)
    text = f"{entry.title}  {rank:.2f}"
    name = _label(end - 6 if left else end + 6, y + 4, text, "end" if left else "start")
    return tag("g", path([(x, top), (x, y), (end, y)], "axis"), name)


def _bars(layout: RankLayout, top: float) -> list[Markup]:
    """Draw a bar from the best to the worst rank of each group, above the line."""
    bars = []
    for (first, end), row in zip(layout.groups, layout.rows, strict=True):
        low, high = (_across(float(layout.ranks[place]), layout) for place in (first, end - 1))
        y = top - 30 - BAR * row
        bars.append(path([(low - 3, y), (high + 3, y)], "tie"))
    return bars


def _ruler(critical_difference: float, layout: RankLayout) -> Markup:
    """Draw how far apart ranks must be."""
    start, end = _across(1, layout), _across(1 + critical_difference, layout)
    label = f"critical difference {critical_difference:.2f}"
    bar = path([(start, 7), (start, 13), (start, 10), (end, 10), (end, 7), (end, 13)], "axis")
    return tag("g", bar, _label(end + 8, 14, label, "start"))


def _table(ranking: Across) -> Markup:
    columns = [
        Column("Average rank", sorted=True),
        Column("Method", numeric=False),
        Column("p", ranking.test or None),
        Column("Tables", "won, tied, lost", best_first="descending"),
    ]
    rows = [_row(ranking, place) for place in range(len(ranking.methods))]
    return table("Average ranks over all tables", columns, rows, sortable=True, look="small")


def _row(ranking: Across, place: int) -> list[Markup]:
    entry, rank = ranking.methods[place], float(ranking.ranks[place])
    versus = ranking.versus.get(entry.name)
    if versus is None:
        note = tag("span", "the reference", class_="note")
        role = note if entry.name == ranking.reference else MISSING
        tests = [number(role, None), number(MISSING, None)]
    else:
        record = f"{versus.wins} – {versus.ties} – {versus.losses}"
        tests = [
            number(p_value(versus.p_value), versus.p_value),
            number(record, versus.wins - versus.losses),
        ]
    return [number(f"{rank:.2f}", rank), head(entry.title, value=entry.title), *tests]


def _left_out(ranking: Across, views: Sequence[View]) -> Content:
    if not ranking.left_out:
        return None
    titles = _entries(views)
    items = [
        tag("li", tag("strong", titles[name].title if name in titles else name), ": ", reason)
        for name, reason in ranking.left_out.items()
    ]
    return tag("p", "Left out of the ranks:"), tag("ul", items, class_="prose")


def _entries(views: Sequence[View]) -> dict[str, Any]:
    """Return every method of every table by its name."""
    return {each.method.name: each.method for view in views for each in view.standings}


def _scores(views: Sequence[View]) -> Markup:
    columns = [Column("Method", numeric=False)]
    columns += [
        Column(
            view.result.sample["name"],
            view.metric.title,
            best_first="descending" if view.metric.higher_is_better else "ascending",
        )
        for view in views
    ]
    places = [{each.method.name: each for each in view.standings} for view in views]
    rows = [
        [
            head(entry.title, value=entry.title),
            *(_score(view, table.get(name)) for view, table in zip(views, places, strict=True)),
        ]
        for name, entry in _entries(views).items()
    ]
    return table("Mean scores on each table", columns, rows, sortable=True)


def _score(view: View, standing: Standing | None) -> Markup:
    if standing is None or not known(standing.mean):
        return number(MISSING, None)
    spread = f" ± {fixed(standing.error, view.digits)}" if known(standing.error) else None
    written_mean = fixed(standing.mean, view.digits)
    best = tag("strong", written_mean) if standing.rank == 1 else written_mean
    return number([best, spread and tag("span", spread, class_="error")], standing.mean)
