"""From the document of a study to cells: one small module for each kind of study."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from papers import accuracy as accuracy_study
from papers import large as large_study
from papers import local as local_studies
from papers import side_information as side_studies
from papers.document import Document
from papers.overview.adapters import (
    accuracy,
    large,
    local,
    side_information,
    tables,
    timing,
)
from papers.overview.agreement import Agreement
from papers.tables import TABLES

__all__ = ["ADAPTERS", "Adapter", "cells"]

Adapter = Callable[[Document, Mapping[str, Document]], list[Agreement]]
"""Takes a study's document, and all documents by name; a baseline may stand in another one."""

ADAPTERS: dict[str, Adapter] = {
    **dict.fromkeys(TABLES, tables.cells),
    accuracy_study.NAME: accuracy.cells,
    **dict.fromkeys(local_studies.STUDIES, local.cells),
    **dict.fromkeys(side_studies.STUDIES, side_information.cells),
    large_study.NAME: large.cells,
    timing.NAME: timing.cells,
}
"""By the name of a study."""


def cells(
    document: Document, documents: Mapping[str, Document], source: str = "kept"
) -> list[Agreement]:
    """Return the cells of a study, marked with the profile that measured them."""
    name = document.get("table") or document["benchmark"]
    found = ADAPTERS[name](document, documents)
    return [replace(cell, source=source) for cell in found]
