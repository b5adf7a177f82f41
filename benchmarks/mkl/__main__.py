"""Measure, and write the pages.

    python -m benchmarks.mkl speed LINES --data DIR [--sets NAME,...] [--seeds 0:9] [--gaps 0.01]
    python -m benchmarks.mkl accuracy LINES --data DIR [--sets NAME,...] [--methods NAME,...]
    python -m benchmarks.mkl page [--speed LINES] [--accuracy LINES]

The first two add a line of JSON to the file LINES for each fit that it lacks; MKLpy is needed, with
pliant, in the environment that `speed` runs in, unless --no-easy is given. The last one writes
JSON, pages and pictures into benchmarks/results.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any


def main(words: list[str] | None = None) -> None:
    """Do what the arguments ask for."""
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(name, "1")  # before NumPy
    from benchmarks.harness.measuring import ROOT
    from benchmarks.mkl import accuracy, speed

    parser = argparse.ArgumentParser(prog="python -m benchmarks.mkl")
    commands = parser.add_subparsers(dest="command", required=True)
    for command in ("speed", "accuracy"):
        run = commands.add_parser(command, help="measure")
        run.add_argument("lines", type=Path, help="file of results; it grows")
        run.add_argument("--data", type=Path, default=os.environ.get("PLIANT_DATA"))
        run.add_argument("--sets", default="", help="default: all")
        if command == "speed":
            run.add_argument("--seeds", default="100:120", help="first:end")
            run.add_argument("--gaps", default=",".join(map(str, speed.GAPS)))
            run.add_argument("--no-easy", action="store_true", help="without EasyMKL")
            run.add_argument("--limit", type=float, default=speed.LIMIT, help="seconds of a run")
        else:
            ends = f"{accuracy.SEEDS.start}:{accuracy.SEEDS.stop}"
            run.add_argument("--seeds", default=ends, help="first:end")
            run.add_argument("--methods", default=",".join(accuracy.METHODS))
    page = commands.add_parser("page", help="write JSON, pages and pictures")
    page.add_argument("--speed", type=Path, help="file of results")
    page.add_argument("--accuracy", type=Path, help="file of results")
    page.add_argument("--out", type=Path, default=ROOT / "benchmarks" / "results")
    given = parser.parse_args(words)
    if given.command == "page":
        _write(given)
        return
    if given.data is None:
        parser.error("expected --data DIR, or the variable PLIANT_DATA")
    first, end = (int(part) for part in given.seeds.split(":"))
    folder, seeds = Path(given.data), range(first, end)
    if given.command == "speed":
        gaps = [float(gap) for gap in given.gaps.split(",")]
        chosen = speed.cells(speed.table_names(given.sets), seeds, gaps, not given.no_easy)
        speed.run_all(chosen, given.lines, folder, given.limit)
        return
    tables = [*accuracy.CLASSIFICATION, *accuracy.REGRESSION]
    wanted = [name for name in given.sets.split(",") if name] or tables
    methods = given.methods.split(",")
    for known, names in ((tables, wanted), (accuracy.METHODS, methods)):
        if unknown := [name for name in names if name not in known]:
            parser.error(f"expected names of {', '.join(known)}, got {unknown[0]!r}")
    accuracy.run_all(accuracy.cells(methods, wanted, seeds), given.lines, folder)


def _write(given: Any) -> None:
    from benchmarks.mkl import accuracy_page, speed_page
    from benchmarks.tables.running import read

    written = []
    if given.speed:
        written += speed_page.write(speed_page.document(read(given.speed)), given.out)
    if given.accuracy:
        written += accuracy_page.write(accuracy_page.document(read(given.accuracy)), given.out)
    print("\n".join(map(str, written)))


if __name__ == "__main__":
    main()
