"""All cells, figures and gaps: what the page shows."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from papers.agreement import FAR, QUANTITIES, STANDARD_ERRORS, VERDICTS, Agreement, explained
from papers.beside import cells as study_cells
from papers.beside import timing_cells
from papers.data import text, toml
from papers.results import Results
from papers.runner import Document
from papers.studies import STUDIES

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

TITLE = "The papers, cell by cell"

TOLERANCES = {
    "accuracy": "1 point of accuracy",
    "R2": ".01 of R2",
    "mean squared error": "5 % of a mean squared error",
    "rank of F": "20 % of a rank",
    "seconds": "a factor of 3 of a time, on another computer",
}

READ = text("overview", "read")
"""How to read a cell."""

RULE = text(
    "overview", "rule", errors=STANDARD_ERRORS, far=FAR, tolerances=", ".join(TOLERANCES.values())
)
"""When numbers agree."""


@dataclass(frozen=True)
class Figure:
    """A figure that was drawn."""

    name: str
    title: str
    caption: str
    path: Path
    """The picture."""
    source: str = "kept"
    """The profile that drew it."""


@dataclass(frozen=True)
class Overview:
    """What the page shows."""

    cells: list[Agreement]
    """With their explanations."""
    figures: list[Figure]
    profile: str = "kept"
    """``"kept"``, ``"quick"`` or ``"full"``."""
    remarks: list[str] = field(default_factory=list)
    """What the reader should know of this run."""

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


def counts(agreements: Sequence[Agreement]) -> dict[str, dict[str, int]]:
    """Return how many cells of each kind have each verdict, and all together."""
    number = Counter((cell.verdict, QUANTITIES[cell.quantity].kind) for cell in agreements)
    kinds = dict.fromkeys(each.kind for each in QUANTITIES.values())
    rows = {each: {kind: number[each, kind] for kind in kinds} for each in VERDICTS}
    return {each: {**row, ALL: sum(row.values())} for each, row in rows.items()}


def counted(agreements: Sequence[Agreement]) -> str:
    """Return how many cells have each verdict, in a line."""
    totals = {verdict: row[ALL] for verdict, row in counts(agreements).items()}
    return ", ".join(f"{count} {verdict}" for verdict, count in totals.items() if count)


def made_from(overview: Overview) -> str:
    """Say which profile made the page."""
    if overview.profile == "kept":
        return text("overview", "kept")
    fresh = sum(cell.source == overview.profile for cell in overview.cells)
    total = sum(cell.measured is not None for cell in overview.cells)
    return text("overview", "fresh", profile=overview.profile, fresh=fresh, total=total)


def missing(paper: str) -> list[str]:
    """Say which tables and figures of a paper have no cells."""
    entries = toml("missing")["missing"]
    return [
        f"{each['place']}: {' '.join(each['reason'].split())}."
        for each in entries
        if each["paper"] == paper
    ]


def cells(
    document: Document, documents: Mapping[str, Document], source: str = "kept"
) -> Iterator[Agreement]:
    """Return the cells of a study or benchmark, marked with the profile that measured them."""
    if "benchmark" in document:
        of_document = timing_cells(document)
    else:
        study = STUDIES[document["study"]]
        names = {document["study"], study.beside.baseline_in} & set(documents)
        others = {name: Results(documents[name]) for name in names}
        of_document = study_cells(study, Results(document, study.percent), others)
    return (replace(cell, source=source) for cell in of_document)


def gather(
    kept: Mapping[str, Document], measured: Mapping[str, Document], profile: str
) -> list[Agreement]:
    """Return the cells of the kept documents, those that were measured now in their place."""
    by_key = {cell.key: cell for document in kept.values() for cell in cells(document, kept)}
    both = {**kept, **measured}
    for document in measured.values():
        fresh = cells(document, both, profile)
        by_key |= {cell.key: cell for cell in fresh if cell.measured or cell.key not in by_key}
    return explained(sorted(by_key.values(), key=_order))


def _order(cell: Agreement) -> tuple[int, str, int]:
    """By paper, by place, and what is about new rows first."""
    return list(PAPERS).index(cell.paper), cell.place, list(QUANTITIES).index(cell.quantity)


def kept_documents(folder: Path, benchmarks: Path) -> dict[str, Document]:
    """Return the documents of a folder of results, and of benchmarks, by name."""
    paths = {name: folder / f"{name}.json" for name in sorted(STUDIES)}
    paths |= {name: benchmarks / f"{name}.json" for name in BENCHMARKS}
    return {
        name: json.loads(path.read_text(encoding="utf-8"))
        for name, path in paths.items()
        if path.exists()
    }


def kept_figures(folder: Path, source: str = "kept") -> list[Figure]:
    """Return the figures in a folder's numbers.json."""
    path = folder / "numbers.json"
    if not path.exists():
        return []
    entries = json.loads(path.read_text(encoding="utf-8"))["figures"]
    return [
        Figure(name, each["title"], each["caption"], folder / each["file"], source)
        for name, each in entries.items()
        if (folder / each["file"]).exists()
    ]
