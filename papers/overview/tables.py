"""The cells as tables: a row for each set, a column for each method; means; gaps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from papers.agreement import NOT_RERUN, QUANTITIES, Agreement
from papers.data import Estimate
from papers.page import NONE

AVERAGED = ("accuracy", "R2", "1 - R2")
"""What has the same unit on all sets, and is about rows that were not learned from."""

AVERAGES = ("quantity", "method", "sets", "paper", "measured", "tuned baseline")
"""The heading of the means, after that of their place."""


@dataclass(frozen=True)
class Shown:
    """A cell as it is shown."""

    text: str
    """*paper / measured / tuned baseline*."""
    verdict: str = ""
    """Empty for a cell without one."""
    note: int | None = None
    """The number of its explanation."""
    source: str = ""


@dataclass(frozen=True)
class Grid:
    """A table of one quantity; `baseline` is the baseline's name, or empty."""

    title: str
    baseline: str
    columns: list[str]
    rows: list[tuple[str, list[Shown]]]


@dataclass(frozen=True)
class Average:
    """A method over the measured sets of a table; a dash where some set has no number."""

    place: str
    quantity: str
    method: str
    sets: int
    printed: str
    measured: str
    baseline: str
    baseline_name: str

    def texts(self) -> list[str]:
        """Return the cells of a row."""
        base = f"{self.baseline} ({self.baseline_name})" if self.baseline_name else NONE
        named = [self.place, self.quantity, self.method, str(self.sets)]
        return [*named, self.printed, self.measured, base]


def averages(cells: Sequence[Agreement]) -> list[Average]:
    """Return an average for each method of each table that was measured."""
    groups: dict[tuple[str, str, str], list[Agreement]] = {}
    for cell in cells:
        if cell.measured is not None and cell.quantity in AVERAGED:
            groups.setdefault((cell.place, cell.quantity, cell.method), []).append(cell)
    return [
        Average(
            *key, len(group),
            *(_mean([getattr(cell, part) for cell in group], QUANTITIES[key[1]].form)
              for part in ("printed", "measured", "baseline")),
            group[0].baseline_name,
        )
        for key, group in groups.items()
    ]  # fmt: skip


def _mean(estimates: Sequence[Estimate | None], form: str) -> str:
    known = [each.mean for each in estimates if each is not None]
    return format(np.mean(known), form) if len(known) == len(estimates) else NONE


def numbered(cells: Sequence[Agreement]) -> dict[str, int]:
    """Number the explanations of the measured cells, in the order of the cells."""
    texts = [cell.explanation for cell in cells if cell.verdict != NOT_RERUN]
    return {text: k for k, text in enumerate(dict.fromkeys(filter(None, texts)), start=1)}


def grids(cells: Sequence[Agreement], numbers: dict[str, int]) -> Iterator[Grid]:
    """Return a table for each place and quantity; methods that were never measured are left out."""
    keys = dict.fromkeys((cell.study, cell.place, cell.quantity) for cell in cells)
    for study, place, quantity in keys:
        part = [c for c in cells if (c.study, c.place, c.quantity) == (study, place, quantity)]
        methods = list(dict.fromkeys(cell.method for cell in part if cell.measured))
        if not methods:
            continue
        by_place = {(cell.set, cell.method): cell for cell in part}
        rows = [
            (name, [_shown(by_place.get((name, method)), numbers) for method in methods])
            for name in dict.fromkeys(cell.set for cell in part if cell.method in methods)
        ]
        names = dict.fromkeys(cell.baseline_name for cell in part if cell.baseline_name)
        yield Grid(f"{place}: {quantity}", " or ".join(names), methods, rows)


def _shown(cell: Agreement | None, numbers: dict[str, int]) -> Shown:
    if cell is None:
        return Shown(NONE)
    parts = [each.text if each else NONE for each in (cell.printed, cell.measured)]
    parts += [cell.baseline.short] if cell.baseline else []
    note = None if cell.verdict == NOT_RERUN else numbers.get(cell.explanation)
    return Shown(" / ".join(parts), cell.verdict, note, cell.source)


def gaps(cells: Sequence[Agreement]) -> list[str]:
    """Say which printed cells were not rerun, and why."""
    groups: dict[tuple[str, str], list[Agreement]] = {}
    for cell in cells:
        if cell.verdict == NOT_RERUN:
            groups.setdefault((cell.place, cell.explanation), []).append(cell)
    return [
        f"{place}: {_who(group)} ({len(group)} {'cell' if len(group) == 1 else 'cells'}). {reason}"
        for (place, reason), group in groups.items()
    ]


def _who(cells: Sequence[Agreement]) -> str:
    """Name the methods, or the set where there is one alone."""
    sets, methods = (dict.fromkeys(getattr(c, key) for c in cells) for key in ("set", "method"))
    return ", ".join(sets if len(sets) == 1 < len(methods) else methods)
