"""``python -m papers.figures [NAME ...] [--data DIR] [--keep]``: draw figures again.

Without names, all of them; with names, the others in the folder stay as they are.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.harness.machine import describe_machine
from benchmarks.harness.measuring import ROOT
from benchmarks.harness.report import write_texts
from papers.figures.catalogue import FIGURES
from papers.figures.figure import PaperFigure

OUTPUT = ROOT / "papers" / "output" / "figures"
RESULTS = ROOT / "papers" / "results" / "figures"


def main(arguments: Sequence[str] | None = None, figures: Sequence[PaperFigure] = FIGURES) -> int:
    """Run the command line and return 0."""
    options = _options(arguments, figures)
    folder = RESULTS if options.keep else options.out
    folder.mkdir(parents=True, exist_ok=True)
    entries = _entries_in(folder) if options.names else {}
    for figure in figures:
        if options.names and figure.name not in options.names:
            continue
        if figure.needs_data and options.data is None:
            print(f"{figure.name}: left out, it needs --data", file=sys.stderr, flush=True)
            continue
        print(f"{figure.name} ...", file=sys.stderr, flush=True)
        entries[figure.name] = figure.draw(folder, options.data and str(options.data))
        print(f"Written: {folder / figure.name}.png")
    order = [figure.name for figure in figures if figure.name in entries]
    for path in _write({name: entries[name] for name in order}, folder):
        print(f"Written: {path}")
    return 0


def _options(arguments: Sequence[str] | None, figures: Sequence[PaperFigure]) -> argparse.Namespace:
    """Read the command line; leave with a message if it makes no sense."""
    parser = argparse.ArgumentParser(prog="python -m papers.figures")
    parser.description = "Draw the papers' figures again, with captions and numbers."
    add = parser.add_argument
    add("names", nargs="*", metavar="NAME", help="only these figures (default: all)")
    add("--data", type=Path, metavar="DIR", help="folder of NAME.csv.gz sets, which some need")
    add("--out", type=Path, default=OUTPUT, metavar="DIR", help="where the pictures go")
    add("--keep", action="store_true", help="write to papers/results/figures instead")
    options = parser.parse_args(arguments)
    if options.data is not None and not options.data.is_dir():
        parser.error(f"expected --data to be an existing folder, got {str(options.data)!r}")
    if options.keep and options.data is None:
        parser.error("expected --data with --keep: some of the figures that are kept need it")
    known = [figure.name for figure in figures]
    if unknown := sorted(set(options.names) - set(known)):
        parser.error(f"expected names out of {', '.join(known)}, got {', '.join(unknown)}")
    return options


def _entries_in(folder: Path) -> dict[str, dict[str, Any]]:
    """Return the entries of numbers.json; none if there is no such file."""
    path = folder / "numbers.json"
    return json.loads(path.read_text(encoding="utf-8"))["figures"] if path.exists() else {}


def _write(entries: dict[str, dict[str, Any]], folder: Path) -> list[Path]:
    """Write numbers.json and captions.md beside the pictures; return their paths."""
    numbers = {"machine": describe_machine(), "figures": entries}
    data = json.dumps(numbers, indent=1, allow_nan=False) + "\n"
    captions = "\n".join(map(_section, entries.values()))
    return write_texts({folder / "numbers.json": data, folder / "captions.md": captions})


def _section(entry: dict[str, Any]) -> str:
    title = entry["title"]
    return f"## {title}\n\n![{title}]({entry['file']})\n\n{entry['caption']}\n"


if __name__ == "__main__":
    sys.exit(main())
