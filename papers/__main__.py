"""``python -m papers NAME --data DIR``: measure a paper's table again."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks.harness.measuring import ROOT
from papers import large, local, side_information
from papers.accuracy.protocol import ACCURACY, AccuracyProtocol
from papers.document import Document
from papers.measure import LARGE, REPEATS, SETS, Wanted, measure
from papers.protocol import PROTOCOL, Protocol
from pliant.core.files import replacing

OUTPUT = ROOT / "papers" / "output"
RESULTS = ROOT / "papers" / "results"


def main(
    arguments: Sequence[str] | None = None,
    protocol: Protocol = PROTOCOL,
    splits: AccuracyProtocol = ACCURACY,
    local_studies: Mapping[str, local.LocalStudy] = local.STUDIES,
    side_studies: Mapping[str, side_information.SideStudy] = side_information.STUDIES,
    large_study: tuple[Sequence[large.Contestant], large.LargeProtocol] = LARGE,
) -> int:
    """Run the command line and return 0."""
    parser = _parser()
    options = parser.parse_args(arguments)
    options.sets = _sets(parser, SETS[options.name], options.sets)
    if options.repeats is None:
        options.repeats = REPEATS[options.name]
    for name, least in (("repeats", 1), ("jobs", 1)):
        if (value := getattr(options, name)) < least:
            parser.error(f"expected --{name} >= {least}, got {value}")
    if not options.data.is_dir():
        parser.error(f"expected --data to be an existing folder, got {str(options.data)!r}")
    wanted = Wanted(
        options.name, options.sets, options.repeats, options.data, options.out, options.jobs
    )
    study, text = measure(wanted, protocol, splits, local_studies, side_studies, large_study)
    folders = [options.out, *([options.results] if options.keep else [])]
    print(text)
    print("\n".join(f"Written: {path}" for f in folders for path in write(study, text, f)))
    return 0


def _sets(parser: argparse.ArgumentParser, known: Sequence[str], asked: str | None) -> list[str]:
    """Return the sets asked for, in the order of the table."""
    names = set(known) if asked is None else set(asked.split(","))
    if unknown := names - set(known):
        parser.error(f"expected --sets out of {', '.join(known)}, got {sorted(unknown)}")
    return [name for name in known if name in names]


def write(study: Document, text: str, folder: Path) -> list[Path]:
    """Write NAME.json and NAME.md."""
    folder.mkdir(parents=True, exist_ok=True)
    texts = {
        folder / f"{study['table']}.json": json.dumps(study, allow_nan=False) + "\n",
        folder / f"{study['table']}.md": text,
    }
    for path, content in texts.items():
        with replacing(path) as draft:
            draft.write_text(content, encoding="utf-8", newline="\n")
    return list(texts)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m papers")
    parser.description = "Measure a table of the papers again: each cell becomes paper / measured."
    add = parser.add_argument
    add("name", metavar="NAME", choices=list(SETS), help=f"one of {', '.join(SETS)}")
    add("--data", type=Path, metavar="DIR", required=True, help="folder of NAME.csv.gz sets")
    add("--sets", metavar="A,B", help="only these sets (default: all of the table)")
    add("--repeats", type=int, metavar="N", help="random splits (default: the paper's number)")
    add("--jobs", type=int, default=1, metavar="N", help="processes (default 1)")
    add("--out", type=Path, default=OUTPUT, metavar="DIR", help="JSON, Markdown and the cache")
    add("--keep", action="store_true", help="write to papers/results as well")
    add("--results", type=Path, default=RESULTS, help=argparse.SUPPRESS)
    return parser


if __name__ == "__main__":
    sys.exit(main())
