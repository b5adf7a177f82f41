"""All cells, figures and gaps: what the page shows."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from papers.document import Document
from papers.overview.adapters import ADAPTERS, cells
from papers.overview.agreement import QUANTITIES, VERDICTS, Agreement
from papers.overview.reasons import explained

__all__ = [
    "ALL",
    "BENCHMARKS",
    "PAPERS",
    "Figure",
    "Overview",
    "counts",
    "gather",
    "kept_documents",
    "kept_figures",
]

PAPERS = {
    "DANK": "Liu, Huang, Gong, Yang, Li: Learning Data-adaptive Non-parametric Kernels (2020)",
    "KNPL": "Liu, Huang, Gong, Yang, Li: Nonlinear Pairwise Layer and Its Training for Kernel "
    "Learning (2018)",
    "TKL": "Talitckii, Colbert, Peet: Efficient Convex Algorithms for Universal Kernel Learning "
    "(2024)",
    "LAB-RBF": "He, He, Shi, Huang, Suykens: Enhancing Kernel Flexibility via Learning Asymmetric "
    "Locally-Adaptive Kernels",
    "SCG": "Pan, Chen, Chen, Xu: Efficient learning of supervised kernels with a graph-based loss "
    "function (2016)",
}
"""The papers in the order of the page."""

BENCHMARKS = ("tessellated-sdp",)
"""Results of speed benchmarks that repeat a paper's table."""


ALL = "all"


@dataclass(frozen=True)
class Figure:
    """A figure that was drawn.

    Attributes
    ----------
    name, title, caption : str
    path : Path
        The picture.
    source : str
        The profile that drew it.
    """

    name: str
    title: str
    caption: str
    path: Path
    source: str = "kept"


@dataclass(frozen=True)
class Overview:
    """What the page shows.

    Attributes
    ----------
    cells : list of Agreement
        With their explanations.
    figures : list of Figure
    profile : str
        ``"kept"``, ``"quick"`` or ``"full"``.
    remarks : list of str
        What the reader should know of this run.
    """

    cells: list[Agreement]
    figures: list[Figure]
    profile: str = "kept"
    remarks: list[str] = field(default_factory=list)

    def of(self, paper: str) -> list[Agreement]:
        """Return the cells of a paper."""
        return [cell for cell in self.cells if cell.paper == paper]

    def to_dict(self) -> dict[str, Any]:
        """Return it as data for JSON: explanations by their place in a list, pictures by name."""
        texts = list(dict.fromkeys(cell.explanation for cell in self.cells))
        return {
            "format": 1,
            "profile": self.profile,
            "remarks": self.remarks,
            "counts": counts(self.cells),
            "explanations": texts,
            "cells": [
                _plain(cell) | {"explanation": texts.index(cell.explanation)} for cell in self.cells
            ],
            "figures": [figure.name for figure in self.figures],
        }


def _plain(cell: Agreement) -> dict[str, Any]:
    """Return a cell as data, its numbers to six digits."""
    data = asdict(cell) | {"verdict": cell.verdict}
    for key in ("printed", "measured", "baseline"):
        for part in ("mean", "spread"):
            if data[key] is not None and data[key][part] is not None:
                data[key][part] = float(f"{data[key][part]:.6g}")
    return data


def counts(found: Sequence[Agreement]) -> dict[str, dict[str, int]]:
    """Return how many cells of each kind have each verdict, and all together."""
    counted = Counter((cell.verdict, QUANTITIES[cell.quantity].kind) for cell in found)
    kinds = dict.fromkeys(each.kind for each in QUANTITIES.values())
    rows = {each: {kind: counted[each, kind] for kind in kinds} for each in VERDICTS}
    return {each: {**row, ALL: sum(row.values())} for each, row in rows.items()}


def gather(
    kept: Mapping[str, Document], measured: Mapping[str, Document], profile: str
) -> list[Agreement]:
    """Return the cells of the kept documents, those that were measured now in their place."""
    found = {cell.key: cell for document in kept.values() for cell in cells(document, kept)}
    both = {**kept, **measured}
    for document in measured.values():
        fresh = cells(document, both, profile)
        found |= {cell.key: cell for cell in fresh if cell.measured or cell.key not in found}
    return explained(sorted(found.values(), key=_order))


def _order(cell: Agreement) -> tuple[int, str, int]:
    """By paper, by place, and what is about new rows first."""
    return list(PAPERS).index(cell.paper), cell.place, list(QUANTITIES).index(cell.quantity)


def kept_documents(folder: Path) -> dict[str, Document]:
    """Return the documents of a folder of results, and of the benchmarks above it, by name."""
    paths = sorted(folder.glob("*.json"))
    paths += [folder.parent / f"{name}.json" for name in BENCHMARKS]
    read = [json.loads(path.read_text(encoding="utf-8")) for path in paths if path.exists()]
    named = {each.get("table") or each.get("benchmark"): each for each in read}
    return {name: each for name, each in named.items() if name in ADAPTERS}


def kept_figures(folder: Path, source: str = "kept") -> list[Figure]:
    """Return the figures that a folder's numbers.json tells of."""
    path = folder / "numbers.json"
    if not path.exists():
        return []
    entries = json.loads(path.read_text(encoding="utf-8"))["figures"]
    return [
        Figure(name, each["title"], each["caption"], folder / each["file"], source)
        for name, each in entries.items()
        if (folder / each["file"]).exists()
    ]
