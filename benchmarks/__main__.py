"""``python -m benchmarks NAME``: run one benchmark and write JSON and Markdown."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.harness.measuring import ROOT, Settings
from benchmarks.harness.report import has_failures, run, to_markdown, write
from benchmarks.registry import BENCHMARKS

OUTPUT = ROOT / "benchmarks" / "output"
RESULTS = ROOT / "benchmarks" / "results"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return 0, or 1 if a measurement failed."""
    parser = _parser()
    options = parser.parse_args(arguments)
    if options.list:
        print("\n".join(f"{b.name:<20} {b.title}" for b in BENCHMARKS.values()))
        return 0
    if options.name is None:
        parser.error("expected the NAME of a benchmark; --list shows them")
    if options.data is not None and not options.data.is_dir():
        parser.error(f"expected --data to be an existing folder, got {str(options.data)!r}")
    try:
        data = None if options.data is None else str(options.data)
        settings = Settings(
            options.repeats, options.threads, data, options.timeout, options.peer_limit
        )
    except ValueError as error:
        parser.error(str(error))
    return _run(options.name, settings, options.out, options.keep)


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


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=main.__doc__)
    parser.description = "Measure pliant beside others, each call in a process of its own."
    parser.epilog = "The papers' tables and figures: python -m papers --help"
    add = parser.add_argument
    add(
        "name",
        metavar="NAME",
        nargs="?",
        choices=sorted(BENCHMARKS),
        help="the benchmark",
    )
    add("--list", action="store_true", help="name the benchmarks and stop")
    add(
        "--data", type=Path, metavar="DIR", default=os.environ.get("PLIANT_DATA"),
        help="folder of NAME.csv.gz sets, by default PLIANT_DATA; more problems run",
    )  # fmt: skip
    add("--repeats", type=int, default=5, metavar="N", help="measurements of each (default 5)")
    add("--threads", type=int, default=1, metavar="N", help="threads of each (default 1)")
    add("--timeout", type=float, default=1800, metavar="S", help="seconds for each (default 1800)")
    add(
        "--peer-limit", type=float, default=600, metavar="S",
        help="seconds after which a slow peer gives up and tells how far it came (default 600)",
    )  # fmt: skip
    add("--out", type=Path, default=OUTPUT, metavar="DIR", help="where JSON and Markdown go")
    add("--keep", action="store_true", help="put a run without failures into benchmarks/results")
    return parser


if __name__ == "__main__":
    sys.exit(main())
