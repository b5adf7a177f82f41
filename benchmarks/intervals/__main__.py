"""Measure, and write the page.

    python -m benchmarks.intervals run LINES --data DIR [--methods NAME,...] [--tables NAME,...]
    python -m benchmarks.intervals page LINES...

The first adds a line of JSON to the file LINES for each fit that it lacks. The second writes
benchmarks/results/intervals.json, its page and pictures from one file of lines or several.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from benchmarks.harness.measuring import ROOT
from benchmarks.intervals.methods import INTERVALS, PROBABILITIES
from benchmarks.intervals.page import document, write
from benchmarks.intervals.running import cells, run_all
from benchmarks.tables.running import read


def main() -> None:
    """Do what the arguments ask for."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.intervals")
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run", help="measure")
    run.add_argument("lines", type=Path, help="file of results; it grows")
    run.add_argument("--data", type=Path, default=os.environ.get("PLIANT_DATA"))
    names = ",".join({**INTERVALS, **PROBABILITIES})
    run.add_argument("--methods", default=names, help=f"default: {names}")
    run.add_argument("--tables", default="", help="default: all")
    page = commands.add_parser("page", help="write JSON, page and pictures")
    page.add_argument("lines", type=Path, nargs="+", help="files of results")
    page.add_argument("--out", type=Path, default=ROOT / "benchmarks" / "results")
    given = parser.parse_args()
    if given.command == "page":
        lines = [line for path in given.lines for line in read(path)]
        print("\n".join(map(str, write(document(lines), given.out))))
        return
    if given.data is None:
        parser.error("expected --data DIR, or the variable PLIANT_DATA")
    tables = [name for name in given.tables.split(",") if name]
    run_all(
        cells(given.methods.split(","), tables, Path(given.data)), given.lines, Path(given.data)
    )


main()
