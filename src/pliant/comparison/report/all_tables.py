"""The part over all tables: ranks, their tests, and every mean score."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any

from pliant.comparison.report.facts import verdict
from pliant.comparison.report.markup import Content, Markup, joined, tag
from pliant.comparison.report.pictures import picture
from pliant.comparison.report.tables import Column, head, number, table
from pliant.comparison.report.view import View, heading
from pliant.comparison.run.figures import png
from pliant.comparison.stats.across import Across, across
from pliant.comparison.stats.standings import Standing
from pliant.comparison.text import MISSING, fixed, known, p_value
from pliant.plots import CriticalDifferenceDisplay

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
    return joined(
        verdict(ranking.sentence()),
        tag("p", HINT, class_="hint"),
        _diagram(ranking),
        _table(ranking),
        _left_out(ranking, views),
    )


def _diagram(ranking: Across) -> Markup | None:
    """Draw average ranks on a line, names below it, a bar over each group, if matplotlib can."""
    if find_spec("matplotlib") is None:
        return None
    from matplotlib.figure import Figure

    names = [entry.title for entry in ranking.methods]
    display = CriticalDifferenceDisplay(names, ranking.ranks, ranking.critical_difference)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a glyph that the font lacks
        figure = Figure(figsize=display._size, layout="constrained")
        display.plot(figure.subplots())
        drawn = png(figure)
    ranks = [f"{name} {rank:.2f}" for name, rank in zip(names, ranking.ranks, strict=True)]
    apart = f"critical difference {ranking.critical_difference:.2f}"
    return picture("Average ranks", f"Average ranks: {', '.join(ranks)}; {apart}", drawn)


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
