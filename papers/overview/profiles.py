"""What a profile measures, everything or what fits into some minutes; and its measurement."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness import report
from benchmarks.harness.measuring import Settings
from benchmarks.registry import BENCHMARKS
from papers.figures.__main__ import main as draw
from papers.figures.figure import PaperFigure
from papers.page import page
from papers.runner import Document, measure
from papers.studies import STUDIES

PROFILES = ("quick", "full")

QUICK_SECONDS = 600.0
"""What the measurements of the quick profile took when the kept results were measured."""

QUICK_REPEATS = 3

QUICK_FIGURES = ("dank-figure-1", "dank-figure-2", "knpl-figure-3", "lab-rbf-figure-1")
"""Figures that are drawn in some seconds."""

OWN = tuple(study.name for study in STUDIES.values() if not study.beside.printed)
"""Studies without a number of a paper."""

SLOW = ("tkl-table-3-large",)
"""Studies that take many minutes for a single split."""

LEFT_OUT = (*OWN, *SLOW)
"""Studies that the quick profile leaves out."""

Paid = tuple[str, str, str]
"""A measurement: protocol, contestant, set; studies that share it pay for it once."""

Log = Callable[[str], None]


@dataclass(frozen=True)
class Part:
    """A study, or some of its sets."""

    study: str
    sets: tuple[str, ...]
    repeats: int


def full() -> list[Part]:
    """Return every study with all sets and repeats."""
    return [Part(study.name, study.sets, study.repeats) for study in STUDIES.values()]


def quick(
    kept: Mapping[str, Document], seconds: float = QUICK_SECONDS, repeats: int = QUICK_REPEATS
) -> list[Part]:
    """Return what fits into some seconds, by the seconds in the kept documents.

    Each study of a paper's table has the set that costs least. Then the cheapest sets follow, of
    whatever study, until the time is spent.
    """
    costs = _costs(kept)
    chosen: dict[str, list[str]] = {}
    paid: dict[Paid, float] = {}
    for study, name in sorted(costs, key=lambda key: sum(costs[key].values())):
        if study not in chosen:
            chosen[study] = [name]
            paid |= costs[study, name]
    while (best := _next(costs, chosen, paid)) is not None:
        cost, study, name = best
        if repeats * (sum(paid.values()) + cost) > seconds:
            break
        chosen[study].append(name)
        paid |= costs[study, name]
    return [
        Part(name, tuple(each for each in study.sets if each in chosen[name]), repeats)
        for name, study in STUDIES.items()
        if name in chosen
    ]


def _costs(kept: Mapping[str, Document]) -> dict[tuple[str, str], dict[Paid, float]]:
    """Return the seconds of each measurement of a repeat, by study and set.

    A study that takes over what was chosen in another one costs that as well.
    """
    costs: dict[tuple[str, str], dict[Paid, float]] = {}
    for study in STUDIES.values():
        names = [study.name, *([study.beside.baseline_in] if study.beside.baseline_in else [])]
        if study.name in LEFT_OUT or study.name not in kept:
            continue
        for result in (r for name in names if name in kept for r in kept[name]["results"]):
            key = (repr(study.protocol), result["contestant"], result["set"])
            costs.setdefault((study.name, result["set"]), {})[key] = float(
                np.mean(result["seconds"])
            )
    return costs


def _next(
    costs: Mapping[tuple[str, str], Mapping[Paid, float]],
    chosen: Mapping[str, list[str]],
    paid: Mapping[Paid, float],
) -> tuple[float, str, str] | None:
    """Return the cheapest study and set that are not chosen, and what they add."""
    left = [
        (sum(cost for key, cost in parts.items() if key not in paid), study, name)
        for (study, name), parts in costs.items()
        if name not in chosen[study]
    ]
    return min(left, default=None)


@dataclass
class Measured:
    """The outcome of a run."""

    documents: dict[str, Document] = field(default_factory=dict)
    """By the name of the study."""
    troubles: list[str] = field(default_factory=list)
    """What could not be measured, and why."""
    interrupted: bool = False

    @contextmanager
    def attempt(self, what: str) -> Iterator[None]:
        """Note what goes wrong, and go on."""
        try:
            yield
        except Exception as error:
            reason = " ".join(str(error).split())
            self.troubles.append(f"{what}: {type(error).__name__}: {reason}")


def studies(
    parts: Sequence[Part],
    data: Path,
    out: Path,
    pages: Path,
    jobs: int,
    measured: Measured,
    log: Log,
) -> None:
    """Measure what the cache in `out` lacks; write each study's document and page to `pages`."""
    for k, part in enumerate(parts, start=1):
        study, done = STUDIES[part.study], []
        try:
            for name in part.sets:
                log(f"[{k} of {len(parts)}] {part.study}: {name}")
                with measured.attempt(f"{part.study}, {name}"):
                    measure(study, [name], part.repeats, data, out, jobs)
                    done.append(name)
        finally:
            if done:
                document = measure(study, done, part.repeats, data, out, jobs)
                measured.documents[part.study] = document
                write(part.study, document, page(study, document), pages)


def write(name: str, document: Any, text: str, folder: Path) -> list[Path]:
    """Write NAME.json and NAME.md."""
    data = json.dumps(document, allow_nan=False) + "\n"
    return report.write_texts({folder / f"{name}.json": data, folder / f"{name}.md": text})


def figures(
    chosen: Sequence[PaperFigure], data: Path, folder: Path, measured: Measured, log: Log
) -> None:
    """Draw the figures that the folder lacks, or has with other settings."""
    for figure in chosen:
        if not _drawn(figure, folder):
            log(figure.name)
            with measured.attempt(figure.name), redirect_stdout(sys.stderr):
                draw([figure.name, "--data", str(data), "--out", str(folder)])


def _drawn(figure: PaperFigure, folder: Path) -> bool:
    path = folder / "numbers.json"
    if not path.exists() or not (folder / f"{figure.name}.png").exists():
        return False
    entries = json.loads(path.read_text(encoding="utf-8"))["figures"]
    setting = json.loads(json.dumps(figure.setting))
    return figure.name in entries and entries[figure.name]["setting"] == setting


def timings(names: Sequence[str], data: Path, out: Path, measured: Measured, log: Log) -> None:
    """Run the speed benchmarks that the folder lacks."""
    for name in names:
        path = out / f"{name}.json"
        with measured.attempt(name):
            if not path.exists():
                settings = Settings(1, 1, str(data), 1800.0, 600.0)
                report.write(report.run(BENCHMARKS[name], settings, log), out)
            measured.documents[name] = json.loads(path.read_text(encoding="utf-8"))
