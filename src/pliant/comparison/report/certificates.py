"""The certified gaps of each method's solver."""

from __future__ import annotations

from pliant.comparison.record import Record
from pliant.comparison.report.leaderboard import method_head
from pliant.comparison.report.markup import Markup, joined, tag
from pliant.comparison.report.tables import Column, number, table, text
from pliant.comparison.report.view import View
from pliant.comparison.stats.standings import Standing
from pliant.core.text import count, gap, known

CERTIFIED = (
    "A certified gap is proved by the solver, not estimated: no solution of the method's "
    "training problem is better than its own by more than this share of its objective. "
    "A small gap shows that training ended well, not that predictions are good."
)


def certificates(view: View) -> Markup:
    """Write the largest gap of each method that has been run."""
    ran = [standing for standing in view.standings if standing.folds]
    if not ran:
        return tag("p", "No method was run.")
    certified = [standing for standing in ran if known(standing.gap)]
    without = [each.method.title for each in ran if each not in certified]
    return joined(
        tag("p", CERTIFIED),
        _table(view, certified) if certified else None,
        tag("p", f"Without a certificate: {', '.join(without)}.") if without else None,
    )


def _table(view: View, certified: list[Standing]) -> Markup:
    columns = (
        Column("Method", numeric=False),
        Column("Largest certified gap", "relative"),
        Column("Folds with a certificate"),
        Column("In words", numeric=False),
    )
    rows = [_row(standing, view.records(standing.method.name)) for standing in certified]
    return table("Certified gaps", columns, rows, sortable=True, look="small")


def _row(standing: Standing, records: list[Record]) -> list[Markup]:
    done = [record for record in records if record["status"] == "done"]
    proved = sum(known(record.get("gap")) for record in done)
    return [
        method_head(standing),
        number(gap(standing.gap), standing.gap),
        number(f"{proved} of {count(len(done), 'fold')}", proved),
        text(_in_words(standing.gap)),
    ]


def _in_words(size: float | None) -> str:
    """Return a gap as a percentage of the objective."""
    if not known(size):
        return ""
    if size < 1e-8:
        return "solved to the last digits"
    return f"at most {100 * size:.2g} % from the optimum" if size < 1 else "far from proved"
