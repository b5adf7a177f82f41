"""A result at a glance: its leaderboard in a few lines, and as a table for a notebook."""

from __future__ import annotations

from collections.abc import Sequence

from pliant.comparison.outcome import Outcome
from pliant.comparison.report.markup import Markup, joined, tag
from pliant.comparison.report.sentences import sentence
from pliant.comparison.stats.standings import Standing
from pliant.comparison.text import decimals, fixed, p_value, seconds, signed
from pliant.core.text import count, printable, quoted

MOST = 10
"""Methods in the short text."""

LONGEST = 40
"""Characters of a name."""

ABSENT = {"skipped": "skipped", "error": "failed", "cut": "no fold finished"}

CELL = "padding:.25em .8em;border-bottom:1px solid rgba(128,128,128,.35);white-space:nowrap"
"""The look of a cell; colours of the text are those of the page, light or dark."""


def as_text(outcome: Outcome) -> str:
    """Return what was compared, and a line for each of the best methods."""
    places = outcome.standings()
    digits = _digits(places)
    rows = [_cells(each, digits) for each in places[:MOST]]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [
        "  ".join([f"{rank:>{widths[0]}}", f"{name:<{widths[1]}}", f"{score:>{widths[2]}}", folds])
        for rank, name, score, folds in rows
    ]
    more = len(places) - MOST
    note = [f"and {more} more: see leaderboard"] if more > 0 else []
    return "\n".join([_headline(outcome), *(f"  {line.rstrip()}" for line in [*lines, *note])])


def as_html(outcome: Outcome) -> str:
    """Return the result in words and a table of all methods, as HTML that stands alone."""
    places = outcome.standings()
    digits = _digits(places)
    names = ("", "method", outcome.metric.title, "better by", "p", "one fit", "folds")
    head = [_cell("th", name, number=place not in (1,)) for place, name in enumerate(names)]
    body = [tag("tr", _row(each, digits)) for each in places]
    against = next((each.method.title for each in places if each.is_reference), None)
    note = None if against is None else f"better by: than {printable(against, LONGEST)}"
    table = tag(
        "table",
        tag("thead", tag("tr", head)),
        tag("tbody", body),
        style="border-collapse:collapse;margin:.6em 0",
    )
    claim = tag("p", sentence(places, outcome.metric), style="max-width:48em;margin:.4em 0")
    small = tag("p", note, style="font-size:85%;opacity:.75;margin:0") if note else None
    title = tag("p", tag("strong", _headline(outcome)), style="margin:.4em 0")
    scrolled = tag("div", table, style="overflow-x:auto")
    return str(tag("div", title, claim, scrolled, small, class_="pliant-comparison"))


def _headline(outcome: Outcome) -> str:
    """Return what was compared, on how many rows, and by which metric."""
    sample = outcome.sample
    rows, features = sample.get("rows"), sample.get("features")
    size = "" if rows is None else f", {count(rows, 'row')}, {count(features or 0, 'feature')}"
    target = quoted(sample.get("target", "y"), LONGEST)
    better = "" if outcome.metric.higher_is_better else ", lower is better"
    time = seconds(outcome.seconds)
    return f"Comparison: {outcome.metric.title} of {target}{size}; {time}{better}"


def _digits(places: Sequence[Standing]) -> int:
    return decimals((each.mean for each in places), (each.error for each in places))


def _cells(standing: Standing, digits: int) -> tuple[str, str, str, str]:
    """Return the rank, name, score and folds of a method as text."""
    rank = "" if standing.rank is None else str(standing.rank)
    return (
        rank,
        printable(standing.method.title, LONGEST),
        _score(standing, digits),
        _folds(standing),
    )


def _score(standing: Standing, digits: int) -> str:
    if standing.mean is None:
        return ""
    error = "" if standing.error is None else f" ± {fixed(standing.error, digits)}"
    return f"{fixed(standing.mean, digits)}{error}"


def _folds(standing: Standing) -> str:
    if standing.mean is None:
        status = ABSENT.get(standing.method.status, "")
        reason = printable(standing.method.reason, 2 * LONGEST)
        return f"{status}: {reason}" if reason else status
    return f"{standing.folds} of {count(standing.planned, 'fold')}"


def _row(standing: Standing, digits: int) -> Markup:
    """Return the cells of a method."""
    rank, name, score, folds = _cells(standing, digits)
    reference = standing.is_reference
    better = "" if reference or standing.mean is None else signed(standing.difference, digits)
    p = "" if reference or standing.mean is None else p_value(standing.p_value)
    fit = "" if standing.mean is None else seconds(standing.seconds["fit"])
    best = tag("strong", name) if standing.rank == 1 else name
    cells = (rank, best, score, better, p, fit, folds)
    return joined([_cell("td", each, number=place != 1) for place, each in enumerate(cells)])


def _cell(name: str, content: str, *, number: bool) -> Markup:
    return tag(name, content, style=f"{CELL};text-align:{'right' if number else 'left'}")
