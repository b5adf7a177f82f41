"""Run one benchmark and write JSON and Markdown: ``python -m benchmarks NAME``.

``python -m benchmarks numbers NAME`` measures a small table of the documentation. The papers'
tables and figures have a separate command: ``python -m papers``.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path

from benchmarks.harness.measuring import ROOT, Settings
from benchmarks.harness.report import has_failures, run, to_markdown, write
from benchmarks.registry import BENCHMARKS

OUTPUT = ROOT / "benchmarks" / "output"
RESULTS = ROOT / "benchmarks" / "results"

NUMBERS = "numbers"
"""Name with a separate command line."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return 0, or 1 if a measurement failed."""
    arguments = sys.argv[1:] if arguments is None else arguments
    if arguments[:1] == [NUMBERS]:
        from benchmarks.numbers import main as numbers

        return numbers(arguments[1:])
    options = _options(arguments)
    if options.list:
        print("\n".join(f"{b.name:<20} {b.title}" for b in BENCHMARKS.values()))
        return 0
    return _run(options.name, options.settings, options.out, options.keep)


def _run(name: str, settings: Settings, out: Path, keep: bool) -> int:
    report = run(BENCHMARKS[name], settings, lambda line: print(line, file=sys.stderr, flush=True))
    written = [write(report, out)]
    if keep and not has_failures(report):
        written.append(write(report, RESULTS))
    print(to_markdown(report))
    print("\n".join(f"Written: {path}" for paths in written for path in paths))
    if has_failures(report):
        print("Some measurements failed" + ("; not kept" if keep else ""), file=sys.stderr)
        return 1
    return 0


def _options(arguments: Sequence[str]) -> argparse.Namespace:
    """Read the command line; exit with a message if it is invalid."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks")
    parser.description = "Measure pliant and other software, each call in a separate process."
    parser.epilog = f"{parser.prog} {NUMBERS} NAME: measure a small table of the documentation"
    add = parser.add_argument
    add("name", metavar="NAME", nargs="?", choices=sorted(BENCHMARKS), help="or numbers")
    add("--list", action="store_true", help="list the benchmarks and exit")
    add(
        "--data", type=Path, metavar="DIR", default=os.environ.get("PLIANT_DATA"),
        help="folder of NAME.csv.gz data sets (default PLIANT_DATA); adds problems",
    )  # fmt: skip
    add("--repeats", type=int, default=5, metavar="N", help="repeats per contestant (default 5)")
    add("--threads", type=int, default=1, metavar="N", help="threads per contestant (default 1)")
    add("--timeout", type=float, default=1800, metavar="S", help="seconds per call (default 1800)")
    add("--out", type=Path, default=OUTPUT, metavar="DIR", help="folder for JSON and Markdown")
    add("--keep", action="store_true", help="write a run without failures to benchmarks/results")
    options = parser.parse_args(arguments)
    if options.list:
        return options
    if options.name is None:
        parser.error("expected the NAME of a benchmark; --list shows them")
    if options.data is not None and not options.data.is_dir():
        parser.error(f"expected --data to be an existing folder, got {str(options.data)!r}")
    given = (getattr(options, each.name) for each in fields(Settings))
    try:
        options.settings = Settings(*(str(v) if isinstance(v, Path) else v for v in given))
    except ValueError as error:
        parser.error(str(error))
    return options


if __name__ == "__main__":
    sys.exit(main())
