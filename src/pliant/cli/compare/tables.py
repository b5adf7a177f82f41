"""The results of ``pliant compare`` over several tables, as text and as plain data."""

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
        ranking = across(results)
    except ValueError as reason:
        return paragraph(f"{title}: no ranks, {printable(reason, 400)}")
    rows = [_row(ranking, place) for place in range(len(ranking.methods))]
    note = (
        f"ranks differ significantly if more than {ranking.critical_difference:.2f} apart (Nemenyi)"
    )
    table = text_table(rows, COLUMNS).rstrip()
    return "\n\n".join([title, f"{table}\n{note}", paragraph(ranking.sentence())])


def data_over_tables(results: Sequence[ComparisonResult]) -> dict[str, Any]:
    """Return the ranks and tests over all tables as plain data; or the reason for none."""
    try:
        ranking = across(results)
    except ValueError as reason:
        return {"reason": str(reason)}
    names = [entry.name for entry in ranking.methods]
    return {
        "tables": ranking.tables,
        "ranks": dict(zip(names, ranking.ranks.tolist(), strict=True)),
        "friedman": {"statistic": ranking.friedman.statistic, "p_value": ranking.friedman.p_value},
        "critical_difference": ranking.critical_difference,
        "level": ranking.level,
        "reference": ranking.reference,
        "test": ranking.test,
        "versus": {name: asdict(test) for name, test in ranking.versus.items()},
        "left_out": ranking.left_out,
        "sentence": ranking.sentence(),
    }


def _row(ranking: Across, place: int) -> dict[str, Any]:
    """Return the cells of a method."""
    entry, rank = ranking.methods[place], float(ranking.ranks[place])
    test = ranking.versus.get(entry.name)
    if test is None:
        role = "the reference" if entry.name == ranking.reference else None
        return {"method": entry.title, "rank": rank, "record": role}
    record = f"{test.wins}, {test.ties}, {test.losses}"
    return {"method": entry.title, "rank": rank, "record": record, "p": p_value(test.p_value)}
