"""Table 4 of DANK."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from papers.document import Document
from papers.large.measuring import MEASURED
from papers.large.printed import MEASURED_AS
from papers.large.printed import cells as printed_cells
from papers.large.protocol import LARGE, NAME
from papers.overview.agreement import QUANTITIES, Agreement
from papers.overview.estimate import Estimate, numbers

__all__ = ["cells"]

REPEATS = 1
"""The paper has one split."""

PLAIN, BASELINE = "libsvm", "SVC with the paper's C and gamma"

ABOUT = (NAME, "DANK", "Table 4")


def cells(document: Document, documents: Mapping[str, Document]) -> list[Agreement]:
    """Return the cells of the table; a set of the paper may have several stand-ins."""
    found = {(r["set"], r["contestant"]): r["variants"][MEASURED] for r in document["results"]}
    return [
        cell
        for quantity, rows in printed_cells().items()
        for printed, row in rows.items()
        for name in _stand_ins(printed, document["sets"])
        for method, text in row.items()
        for cell in _cell(found, quantity, name, method, text)
    ]


def _stand_ins(printed: str, measured: Sequence[str]) -> list[str]:
    """Return the sets that stand beside a row of the paper; its own name where none does."""
    return [s.name for s in LARGE.sets if s.printed == printed and s.name in measured] or [printed]


def _cell(
    found: Mapping[tuple[str, str], Mapping[str, Any]],
    quantity: str,
    name: str,
    method: str,
    text: str,
) -> Iterator[Agreement]:
    said = Estimate.printed(text, REPEATS)
    if said is None:
        return
    who = MEASURED_AS.get(method, "")
    numbers_of = found.get((name, who))
    key = "test" if quantity == "accuracy" else "fit_seconds"
    form = QUANTITIES[quantity].form
    measured = None if numbers_of is None else Estimate.of(numbers_of[key], form)
    base = None
    if numbers_of is not None and who != PLAIN:
        base = Estimate.of(found[name, PLAIN][key], form)
    title = "" if base is None else BASELINE
    yield Agreement(*ABOUT, name, quantity, method, said, measured, base, title)
    if numbers_of is not None and "(" in text:
        rank = numbers(text)[-1]
        counted = Estimate.of(numbers_of["rank"], QUANTITIES["rank of F"].form)
        printed = Estimate(rank, None, REPEATS, f"{rank:.0f}")
        yield Agreement(*ABOUT, name, "rank of F", method, printed, counted)
