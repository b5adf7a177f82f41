"""The papers' figures: drawn, with captions and numbers, by the functions of the modules here."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from benchmarks.harness.machine import describe_machine
from papers.data import toml
from pliant.core.files import replacing

Numbers = dict[str, Any]

Drawing = tuple[Any, Numbers, Numbers]
"""The picture, what was measured, and what the caption says besides setting and results."""

MODULES = {
    "dank-figure-1": "boundaries.dank", "dank-figure-2": "boundaries.entries",
    "dank-figure-4": "convergence.dank", "dank-figure-5": "parts.parts",
    "dank-figure-6a": "functions.steps", "dank-figure-6bcd": "functions.surface",
    "knpl-figure-2": "boundaries.knpl", "knpl-figure-3": "convergence.knpl",
    "tkl-figure-1": "tkl.convergence", "tkl-figure-2": "tkl.cost",
    "tkl-figure-3": "tkl.terrain", "tkl-figure-4": "tkl.ranks",
    "lab-rbf-figure-1": "lab.bandwidths", "lab-rbf-figure-4": "lab.support",
    "lab-rbf-figure-5": "lab.start", "scg-figure-1": "scg.gaussians",
    "scg-figure-2": "scg.digits", "scg-figure-3": "scg.labels",
}  # fmt: skip
"""The function that draws each figure, in the order of the papers."""

NEED_DATA = (
    "dank-figure-4", "dank-figure-5", "knpl-figure-3", "tkl-figure-1", "tkl-figure-2",
    "tkl-figure-4", "scg-figure-2", "scg-figure-3",
)  # fmt: skip
"""Figures that read a set from the data folder."""


@dataclass(frozen=True)
class PaperFigure:
    """A figure of a paper; its setting is a table of settings.toml, its words of captions.toml."""

    name: str
    setting: Numbers
    texts: Numbers

    @property
    def title(self) -> str:
        """The title in captions.toml."""
        return str(self.texts["title"])

    def draw(self, folder: Path, data: str | None) -> Numbers:
        """Measure, write ``NAME.png`` to `folder`; return the figure's entry in numbers.json."""
        module, _, function = MODULES[self.name].partition(".")
        plot: Callable[..., Drawing] = getattr(import_module(f"papers.figures.{module}"), function)
        setting = SimpleNamespace(**self.setting)
        figure, measured, words = plot(setting, data)
        for key, phrase in self.texts.get("each", {}).items():
            line = " ".join(phrase.split())
            words[key] = "; ".join(line.format(**item) for item in words[key])
        caption = " ".join(self.texts["caption"].split()).format(s=setting, m=measured, **words)
        with replacing(folder / f"{self.name}.png") as draft:
            figure.savefig(draft, dpi=80, pil_kwargs={"optimize": True})
            _reduce(draft)
        return {
            "title": self.title, "file": f"{self.name}.png", "caption": caption,
            "setting": self.setting, "measured": measured,
        }  # fmt: skip


def _reduce(path: Path, colours: int = 64) -> None:
    """Store a picture with a palette of few colours, in a fraction of the bytes."""
    from PIL import Image

    with Image.open(path) as whole:
        small = whole.convert("RGB").quantize(colours)
    small.save(path, "PNG", optimize=True)


def figures(**changes: Any) -> tuple[PaperFigure, ...]:
    """Return all figures in the order of the papers; `changes` are settings by figure."""
    settings, captions = toml("figures/settings"), toml("figures/captions")
    return tuple(
        PaperFigure(name, settings[name] | changes.get(name, {}), captions[name])
        for name in MODULES
    )


FIGURES = figures()


def draw(
    names: Sequence[str], data: Path | None, folder: Path, known: Sequence[PaperFigure] = FIGURES
) -> None:
    """Draw figures, all of them by default; the others in the folder stay as they are."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "numbers.json"
    entries = json.loads(path.read_text("utf-8"))["figures"] if path.exists() else {}
    for figure in known:
        if names and figure.name not in names:
            continue
        if figure.name in NEED_DATA and data is None:
            print(f"{figure.name}: left out, it needs --data", file=sys.stderr, flush=True)
            continue
        print(f"{figure.name} ...", file=sys.stderr, flush=True)
        entries[figure.name] = figure.draw(folder, data and str(data))
    kept = {each.name: entries[each.name] for each in known if each.name in entries}
    with replacing(path) as draft:
        draft.write_text(as_json({"machine": describe_machine(), "figures": kept}), "utf-8")
    (folder / "captions.md").write_text(captions(kept), "utf-8")


def as_json(numbers: Numbers) -> str:
    """Return numbers.json, a line for each figure."""
    lines = [f'"{n}": {json.dumps(e, allow_nan=False)}' for n, e in numbers["figures"].items()]
    head = json.dumps(numbers["machine"])
    return f'{{"machine": {head}, "figures": {{\n' + ",\n".join(lines) + "\n}}\n"


def captions(entries: Numbers) -> str:
    """Return the pictures and captions as Markdown."""
    return "\n".join(
        f"## {each['title']}\n\n![{each['title']}]({each['file']})\n\n{each['caption']}\n"
        for each in entries.values()
    )
