"""What ``pliant compare`` found over several tables, as text and as plain data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from pliant.cli.report import paragraph
from pliant.comparison import Column, text_table
from pliant.comparison.result import ComparisonResult
from pliant.comparison.stats.across import Across, across
from pliant.core.files import printable
from pliant.core.text import p_value

__all__ = ["data_over_tables", "text_over_tables"]

COLUMNS = (
    Column("method"),
    Column("rank", "average rank", digits=2),
    Column("record", "won, tied, lost"),
    Column("p"),
)


def text_over_tables(results: Sequence[ComparisonResult]) -> str:
    """Return the ranks over all tables and what they show; or why there are none."""
    title = f"Over {len(results)} tables"
    try:
        found = across(results)
    except ValueError as reason:
        return paragraph(f"{title}: no ranks, {printable(reason, 400)}")
    rows = [_row(found, place) for place in range(len(found.methods))]
    note = (
        f"ranks differ significantly if more than {found.critical_difference:.2f} apart (Nemenyi)"
    )
    table = text_table(rows, COLUMNS).rstrip()
    return "\n\n".join([title, f"{table}\n{note}", paragraph(found.sentence())])


def data_over_tables(results: Sequence[ComparisonResult]) -> dict[str, Any]:
    """Return the ranks and tests over all tables as plain data; or the reason for none."""
    try:
        found = across(results)
    except ValueError as reason:
        return {"reason": str(reason)}
    names = [entry.name for entry in found.methods]
    return {
        "tables": found.tables,
        "ranks": dict(zip(names, found.ranks.tolist(), strict=True)),
        "friedman": {"statistic": found.friedman.statistic, "p_value": found.friedman.p_value},
        "critical_difference": found.critical_difference,
        "level": found.level,
        "reference": found.reference,
        "test": found.test,
        "versus": {name: asdict(test) for name, test in found.versus.items()},
        "left_out": found.left_out,
        "sentence": found.sentence(),
    }


def _row(found: Across, place: int) -> dict[str, Any]:
    """Return the cells of a method."""
    entry, rank = found.methods[place], float(found.ranks[place])
    test = found.versus.get(entry.name)
    if test is None:
        role = "the reference" if entry.name == found.reference else None
        return {"method": entry.title, "rank": rank, "record": role}
    record = f"{test.wins}, {test.ties}, {test.losses}"
    return {"method": entry.title, "rank": rank, "record": record, "p": p_value(test.p_value)}
