"""Draw the papers' figures, with captions and numbers."""

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
"""The figure, the measurements, and additional values for the caption."""


@dataclass(frozen=True)
class PaperFigure:
    """A figure of a paper, with its settings in settings.toml and its texts in captions.toml.

    There, `draw` is the function that draws it, and `data` is True if it reads the data folder. A
    figure without `draw` has a stored picture and stored numbers, and is no longer drawn.
    """

    name: str
    setting: Numbers
    texts: Numbers

    @property
    def title(self) -> str:
        return str(self.texts["title"])

    def draw(self, folder: Path, data: str | None) -> Numbers:
        """Measure, write ``NAME.png`` to `folder`; return the figure's entry in numbers.json."""
        module, _, function = self.texts["draw"].partition(".")
        plot: Callable[..., Drawing] = getattr(import_module(f"papers.figures.{module}"), function)
        setting = SimpleNamespace(**self.setting)
        figure, measured, words = plot(setting, data)
        for key, phrase in self.texts.get("each", {}).items():
            line = " ".join(phrase.split())
            words[key] = "; ".join(line.format(**item) for item in words[key])
        caption = " ".join(self.texts["caption"].split()).format(s=setting, m=measured, **words)
        with replacing(folder / f"{self.name}.png") as draft:
            figure.savefig(draft, dpi=80)
            _reduce(draft)
        return {
            "title": self.title, "file": f"{self.name}.png", "caption": caption,
            "setting": self.setting, "measured": measured,
        }  # fmt: skip


def _reduce(path: Path, colours: int = 64) -> None:
    """Reduce a picture to a palette of few colours, to save space."""
    from PIL import Image

    with Image.open(path) as whole:
        small = whole.convert("RGB").quantize(colours)
    small.save(path, "PNG", optimize=True)


def figures(**changes: Any) -> tuple[PaperFigure, ...]:
    """Return all figures in the order of the papers; `changes` are different settings by figure."""
    settings, texts = toml("figures/settings"), toml("figures/captions")
    return tuple(
        PaperFigure(name, settings.get(name, {}) | changes.get(name, {}), texts[name])
        for name in texts
    )


FIGURES = figures()


def draw(
    names: Sequence[str], data: Path | None, folder: Path, known: Sequence[PaperFigure] = FIGURES
) -> None:
    """Draw figures, by default all; other figures in the folder are unchanged."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "numbers.json"
    entries = json.loads(path.read_text("utf-8"))["figures"] if path.exists() else {}
    for figure in known:
        if "draw" not in figure.texts or (names and figure.name not in names):
            continue
        if figure.texts.get("data") and data is None:
            print(f"{figure.name}: skipped, it requires --data", file=sys.stderr, flush=True)
            continue
        print(f"{figure.name} ...", file=sys.stderr, flush=True)
        entries[figure.name] = figure.draw(folder, data and str(data))
    kept = {each.name: entries[each.name] for each in known if each.name in entries}
    with replacing(path) as draft:
        draft.write_text(as_json({"machine": describe_machine(), "figures": kept}), "utf-8")
    (folder / "captions.md").write_text(captions(kept), "utf-8")


def as_json(numbers: Numbers) -> str:
    """Return the text of numbers.json, with a line for each figure."""
    lines = [f'"{n}": {json.dumps(e, allow_nan=False)}' for n, e in numbers["figures"].items()]
    head = json.dumps(numbers["machine"])
    return f'{{"machine": {head}, "figures": {{\n' + ",\n".join(lines) + "\n}}\n"


def captions(entries: Numbers) -> str:
    """Return the pictures and captions as Markdown."""
    kept = {name for name, texts in toml("figures/captions").items() if "draw" not in texts}
    return "\n".join(
        f"## {each['title']}\n\n![{each['title']}]({each['file']})\n\n{each['caption']}"
        f"{' It is no longer drawn.' if name in kept else ''}\n"
        for name, each in entries.items()
    )
