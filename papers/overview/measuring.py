"""A profile, measured: studies set by set, figures one by one, all of it resumable."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import asdict, dataclass, field
from pathlib import Path

from benchmarks.harness import report
from benchmarks.harness.measuring import Settings
from benchmarks.registry import BENCHMARKS
from papers.__main__ import write
from papers.document import Document
from papers.figures.__main__ import main as draw
from papers.figures.figure import PaperFigure
from papers.measure import Wanted, measure
from papers.overview.profiles import Part

__all__ = ["Measured", "figures", "studies", "timings"]

Tell = Callable[[str], None]


@dataclass
class Measured:
    """What came of a run.

    Attributes
    ----------
    documents : dict
        By the name of the study.
    troubles : list of str
        What could not be measured, and why.
    interrupted : bool
    """

    documents: dict[str, Document] = field(default_factory=dict)
    troubles: list[str] = field(default_factory=list)
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
    found: Measured,
    tell: Tell,
) -> None:
    """Measure what the caches in `out` lack; write each study's document and page to `pages`."""
    for k, part in enumerate(parts, start=1):
        done: list[str] = []
        try:
            for name in part.sets:
                tell(f"[{k} of {len(parts)}] {part.study}: {name}")
                with found.attempt(f"{part.study}, {name}"):
                    measure(Wanted(part.study, [name], part.repeats, data, out, jobs))
                    done.append(name)
        finally:
            if done:
                document, text = measure(Wanted(part.study, done, part.repeats, data, out, jobs))
                found.documents[part.study] = document
                write(document, text, pages)


def figures(
    chosen: Sequence[PaperFigure], data: Path, folder: Path, found: Measured, tell: Tell
) -> None:
    """Draw the figures that the folder lacks, or has with other settings."""
    for figure in chosen:
        if not _drawn(figure, folder):
            tell(figure.name)
            with found.attempt(figure.name), redirect_stdout(sys.stderr):
                draw([figure.name, "--data", str(data), "--out", str(folder)])


def _drawn(figure: PaperFigure, folder: Path) -> bool:
    path = folder / "numbers.json"
    if not path.exists() or not (folder / f"{figure.name}.png").exists():
        return False
    entries = json.loads(path.read_text(encoding="utf-8"))["figures"]
    setting = json.loads(json.dumps(asdict(figure)))  # type: ignore[call-overload]
    return figure.name in entries and entries[figure.name]["setting"] == setting


def timings(names: Sequence[str], data: Path, out: Path, found: Measured, tell: Tell) -> None:
    """Run the speed benchmarks that the folder lacks."""
    for name in names:
        path = out / f"{name}.json"
        with found.attempt(name):
            if not path.exists():
                settings = Settings(1, 1, str(data), 1800.0, 600.0)
                report.write(report.run(BENCHMARKS[name], settings, tell), out)
            found.documents[name] = json.loads(path.read_text(encoding="utf-8"))
