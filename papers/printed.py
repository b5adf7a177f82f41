"""What the papers print, cell by cell, as data."""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Printed", "printed_table"]

FOLDER = Path(__file__).parent / "printed_old"

_CELL = re.compile(r"(\d+\.\d+)±(\d+\.\d+)(?: \((\d+)\))?(•?)")


@dataclass(frozen=True)
class Printed:
    """One printed result.

    Attributes
    ----------
    text : str
        As printed, such as ``81.2±1.4•``.
    mean, std : float
        In the paper's unit: per cent, or the 1 - R2 of the regression table.
    rank : int or None
        The rank of F, where the table gives it.
    marked : bool
        Whether the paper calls the result significant.
    """

    text: str
    mean: float
    std: float
    rank: int | None
    marked: bool


def printed_table(name: str) -> dict[str, dict[str, Printed]]:
    """Return the cells of a table, by set and column; the columns d and n are left out."""
    with (FOLDER / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    return {
        row["set"]: {key: _cell(text) for key, text in row.items() if key not in ("set", "d", "n")}
        for row in rows
    }


def _cell(text: str) -> Printed:
    found = _CELL.fullmatch(text)
    if found is None:
        raise ValueError(f"expected a cell such as '81.2±1.4•', got {text!r}")
    mean, std, rank, mark = found.groups()
    return Printed(text, float(mean), float(std), int(rank) if rank else None, mark == "•")
