"""What Table 4 prints, as text."""

from __future__ import annotations

import csv
from functools import cache

from papers.printed import FOLDER

__all__ = ["MEASURED_AS", "METHODS", "cells"]

MEASURED_AS = {
    "SVM-SMO exact": "libsvm",
    "DANK exact": "exact",
    "DANK scalable": "scalable",
}
"""The contestant that stands beside a method of the paper."""


@cache
def cells() -> dict[str, dict[str, dict[str, str]]]:
    """Return the cells: by quantity (accuracy, seconds), then by set, then by method."""
    found: dict[str, dict[str, dict[str, str]]] = {}
    with (FOLDER / "dank-table-4.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            quantity, name = row.pop("quantity"), row.pop("set")
            found.setdefault(quantity, {})[name] = row
    return found


METHODS = tuple(cells()["accuracy"]["EEG"])
"""The columns of the paper."""
