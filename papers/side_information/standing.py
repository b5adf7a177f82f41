"""Who stands where over the sets of a table: ranks, Friedman's and Nemenyi's tests, in words."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from papers.side_information.printed import Cells, Standing, means
from papers.side_information.results import Results
from papers.side_information.summary import LEVEL
from pliant.comparison import (
    Column,
    FriedmanTest,
    friedman_test,
    markdown_table,
    nemenyi_critical_difference,
    wilcoxon_test,
)
from pliant.comparison.rendering import Cell
from pliant.core.typing import Array

__all__ = ["paired", "printed_standing", "standing"]


def printed_standing(cells: Cells, said: Standing) -> str:
    """Say what the paper finds over its table, beside what its printed numbers give."""
    table = means(cells)
    found, critical = _tests(table)
    return (
        f"The paper: F = {said['F']:.2f}, critical value {said['critical F']:.2f}, critical "
        f"difference of ranks {said['critical difference']:.2f}. From its printed accuracies: "
        f"F = {found.statistic:.2f}, critical value {found.critical_value(LEVEL):.2f}, critical "
        f"difference {critical:.2f}.\n"
    )


def standing(results: Results, contestants: Sequence[str]) -> str:
    """Say what the measured accuracies give: ranks, Friedman's F, who differs beyond chance."""
    if len(results.sets) < 2 or len(contestants) < 2:
        return ""
    found, critical = _tests(results.means(contestants))
    titles = [results.titles[who] for who in contestants]
    return (
        f"Measured, {len(titles)} methods on {len(results.sets)} sets: average ranks "
        f"{_listed(titles, found)}. Friedman's F = {found.statistic:.2f} on {found.degrees[0]} and "
        f"{found.degrees[1]} degrees of freedom, critical value {found.critical_value(LEVEL):.2f} "
        f"(p = {found.p_value:.2g}). {_verdict(titles, found, critical)}\n"
    )


def _listed(titles: Sequence[str], found: FriedmanTest) -> str:
    order = sorted(zip(found.ranks, titles, strict=True))
    return ", ".join(f"{title} {rank:.2f}" for rank, title in order)


def _verdict(titles: Sequence[str], found: FriedmanTest, critical: float) -> str:
    """Say which methods differ beyond chance."""
    if not found.rejects(LEVEL):
        return f"No difference is found at the {LEVEL:g} level."
    order = sorted(zip(found.ranks, titles, strict=True))
    apart = [f"{a} before {b}" for (p, a), (q, b) in combinations(order, 2) if q - p > critical]
    return (
        f"The methods differ at the {LEVEL:g} level; Nemenyi's critical difference is "
        f"{critical:.2f}. Further apart than that: {'; '.join(apart) or 'no two of them'}."
    )


def _tests(table: Array) -> tuple[FriedmanTest, float]:
    return friedman_test(table), nemenyi_critical_difference(table.shape[1], len(table), LEVEL)


def paired(results: Results, first: str, others: Sequence[str]) -> str:
    """Return a table of one contestant against others: repeats and sets won, Wilcoxon's test.

    The test compares mean accuracies over the sets, as the paper's Wilcoxon test does.
    """
    return markdown_table(
        [_against(results, first, other) for other in others],
        [
            Column("other", f"{results.titles[first]} against"),
            Column("gain", "mean gain", 2),
            Column("sets", "sets won–level–lost"),
            Column("repeats", "repeats won–level–lost"),
            Column("p", "Wilcoxon p over sets", 4),
            Column("h", "h"),
        ],
    )


def _against(results: Results, first: str, other: str) -> dict[str, Cell]:
    a, b = results.means([first, other]).T
    gains = [results.shared(name, [first, other]) for name in results.sets]
    signs = [side for x, y in gains for side in (x - y).round(9)]
    test = wilcoxon_test(a, b) if len(a) > 1 else None
    return {
        "other": results.titles[other],
        "gain": float((a - b).mean()),
        "sets": _counts((a - b).round(9)),
        "repeats": _counts(signs),
        "p": None if test is None else test.p_value,
        "h": None if test is None else int(test.p_value < LEVEL),
    }


def _counts(gains: Sequence[float] | Array) -> str:
    won, lost = (sum(sign * gain > 0 for gain in gains) for sign in (1, -1))
    return f"{won}–{len(gains) - won - lost}–{lost}"
