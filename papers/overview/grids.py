"""The cells as tables: a row for each set, a column for each method."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from papers.overview.agreement import NOT_RERUN, Agreement

__all__ = ["Grid", "Shown", "gaps", "grids", "numbered"]

NONE = "–"


@dataclass(frozen=True)
class Shown:
    """A cell as it is shown.

    Attributes
    ----------
    text : str
        *paper / measured / tuned baseline*.
    verdict : str
        Empty for a cell without one.
    note : int or None
        The number of its explanation.
    source : str
    """

    text: str
    verdict: str = ""
    note: int | None = None
    source: str = ""


@dataclass(frozen=True)
class Grid:
    """A table of one quantity.

    Attributes
    ----------
    title, baseline : str
        The place and what is told; the name of the baseline, or nothing.
    columns : list of str
    rows : list of (str, list of Shown)
    """

    title: str
    baseline: str
    columns: list[str]
    rows: list[tuple[str, list[Shown]]]


def numbered(cells: Sequence[Agreement]) -> dict[str, int]:
    """Number the explanations of the measured cells, in the order of the cells."""
    texts = [cell.explanation for cell in cells if cell.verdict != NOT_RERUN]
    return {text: k for k, text in enumerate(dict.fromkeys(filter(None, texts)), start=1)}


def grids(cells: Sequence[Agreement], numbers: dict[str, int]) -> Iterator[Grid]:
    """Return a table for each place and quantity; methods that were never measured are left out."""
    keys = dict.fromkeys((cell.study, cell.place, cell.quantity) for cell in cells)
    for study, place, quantity in keys:
        part = [c for c in cells if (c.study, c.place, c.quantity) == (study, place, quantity)]
        measured = dict.fromkeys(cell.method for cell in part if cell.measured)
        if measured:
            yield _grid(part, list(measured), f"{place}: {quantity}", numbers)


def _grid(
    cells: Sequence[Agreement], methods: list[str], title: str, numbers: dict[str, int]
) -> Grid:
    found = {(cell.set, cell.method): cell for cell in cells}
    rows = [
        (name, [_shown(found.get((name, method)), numbers) for method in methods])
        for name in dict.fromkeys(cell.set for cell in cells if cell.method in methods)
    ]
    names = dict.fromkeys(cell.baseline_name for cell in cells if cell.baseline_name)
    return Grid(title, " or ".join(names), methods, rows)


def _shown(cell: Agreement | None, numbers: dict[str, int]) -> Shown:
    if cell is None:
        return Shown(NONE)
    parts = [cell.printed.text if cell.printed else NONE]
    parts.append(cell.measured.text if cell.measured else NONE)
    parts += [cell.baseline.short] if cell.baseline else []
    note = None if cell.verdict == NOT_RERUN else numbers.get(cell.explanation)
    return Shown(" / ".join(parts), cell.verdict, note, cell.source)


def gaps(cells: Sequence[Agreement]) -> list[str]:
    """Say which printed cells were not rerun, and why."""
    found: dict[tuple[str, str], list[Agreement]] = {}
    for cell in cells:
        if cell.verdict == NOT_RERUN:
            found.setdefault((cell.place, cell.explanation), []).append(cell)
    return [
        f"{place}: {_who(group)} ({len(group)} {'cell' if len(group) == 1 else 'cells'}). {reason}"
        for (place, reason), group in found.items()
    ]


def _who(cells: Sequence[Agreement]) -> str:
    """Name the methods, or the set where there is one alone."""
    sets, methods = (dict.fromkeys(getattr(c, key) for c in cells) for key in ("set", "method"))
    return ", ".join(sets if len(sets) == 1 < len(methods) else methods)
