"""What the paper's Tables 3 and 4 print, as text."""

from __future__ import annotations

import csv
from typing import TypeAlias

from papers.printed import FOLDER

__all__ = ["LATER_METHODS", "NAME", "PRINTED_AS", "SECONDS", "PrintedCells", "printed_cells"]

NAME = "tkl-tables-3-4"

PRINTED_AS = {"tkl": "TKL", "forest": "RF", "boosting": "XGBoost"}
"""The paper's name of the method that a contestant stands beside."""

LATER_METHODS = ("SMKL", "NNet", "AMKL", "PWMK", "CKA")
"""The paper's other methods."""

SECONDS = "seconds"

PrintedCells: TypeAlias = dict[str, dict[str, str]]
"""Cells by set and column; ``N/A`` where the method did not finish, empty where it is not given."""


def printed_cells() -> PrintedCells:
    """Return the cells of both tables; the columns d and n are left out."""
    with (FOLDER / f"{NAME}.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    return {
        row["set"]: {key: text for key, text in row.items() if key not in ("set", "d", "n")}
        for row in rows
    }
