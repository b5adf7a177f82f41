"""``python -m benchmarks.papers.figures [--data DIR] [--keep]``: draw the papers' figures again."""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.harness.machine import describe_machine
from benchmarks.harness.measuring import ROOT
from benchmarks.papers.figures.catalogue import FIGURES
from benchmarks.papers.figures.figure import Drawn, PaperFigure
from pliant._files import replacing

OUTPUT = ROOT / "benchmarks" / "output" / "papers" / "figures"
RESULTS = ROOT / "benchmarks" / "results" / "papers" / "figures"


def main(arguments: Sequence[str] | None = None, figures: Sequence[PaperFigure] = FIGURES) -> int:
    """Run the command line and return 0."""
    parser = _parser()
    options = parser.parse_args(arguments)
    if options.data is not None and not options.data.is_dir():
        parser.error(f"expected --data to be an existing folder, got {str(options.data)!r}")
    if options.keep and options.data is None:
        parser.error("expected --data with --keep: the figures that are kept include heart's")
    folder = RESULTS if options.keep else options.out
    folder.mkdir(parents=True, exist_ok=True)
    drawn = {}
    for figure in figures:
        if figure.needs_data and options.data is None:
            print(f"{figure.name}: left out, it needs --data", file=sys.stderr, flush=True)
            continue
        print(f"{figure.name} ...", file=sys.stderr, flush=True)
        data = None if options.data is None else str(options.data)
        drawn[figure] = figure.draw(folder, data)
    for path in _write(drawn, folder):
        print(f"Written: {path}")
    return 0


def _write(drawn: dict[PaperFigure, Drawn], folder: Path) -> list[Path]:
    """Write numbers.json and captions.md beside the pictures."""
    numbers = {
        "machine": describe_machine(),
        "figures": {figure.name: _entry(figure, each) for figure, each in drawn.items()},
    }
    texts = {
        folder / "numbers.json": json.dumps(numbers, indent=1, allow_nan=False) + "\n",
        folder / "captions.md": "\n".join(_section(f, each) for f, each in drawn.items()),
    }
    for path, content in texts.items():
        with replacing(path) as draft:
            draft.write_text(content, encoding="utf-8", newline="\n")
    return [*(folder / f"{figure.name}.png" for figure in drawn), *texts]


def _entry(figure: PaperFigure, drawn: Drawn) -> dict[str, Any]:
    setting = dataclasses.asdict(figure)
    told = {"title": figure.title, "file": f"{figure.name}.png", "caption": drawn.caption}
    return {**told, "setting": setting, "measured": drawn.measured}


def _section(figure: PaperFigure, drawn: Drawn) -> str:
    return f"## {figure.title}\n\n![{figure.title}]({figure.name}.png)\n\n{drawn.caption}\n"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.papers.figures")
    parser.description = "Draw the papers' figures again, with captions and numbers."
    add = parser.add_argument
    add("--data", type=Path, metavar="DIR", help="folder of NAME.csv.gz sets, for heart")
    add("--out", type=Path, default=OUTPUT, metavar="DIR", help="where the pictures go")
    add("--keep", action="store_true", help="write to benchmarks/results/papers/figures instead")
    return parser


if __name__ == "__main__":
    sys.exit(main())
