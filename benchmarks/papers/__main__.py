"""``python -m benchmarks.papers NAME --data DIR``: measure a paper's table again."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks.harness.measuring import ROOT
from benchmarks.papers import accuracy, large, local, side_information
from benchmarks.papers.accuracy.protocol import ACCURACY, AccuracyProtocol
from benchmarks.papers.cache import Cache, complete
from benchmarks.papers.document import Document, document
from benchmarks.papers.pages import page
from benchmarks.papers.protocol import PROTOCOL, Protocol
from benchmarks.papers.tables import TABLES, PaperTable
from pliant._files import replacing

OUTPUT = ROOT / "benchmarks" / "output" / "papers"
RESULTS = ROOT / "benchmarks" / "results" / "papers"


SETS = {
    **{table.name: table.sets for table in TABLES.values()},
    accuracy.NAME: accuracy.NAMES,
    **{study.name: study.sets for study in local.STUDIES.values()},
    **{study.name: study.sets for study in side_information.STUDIES.values()},
    large.NAME: large.LARGE.names,
}
"""The sets of each study."""

REPEATS = {
    **dict.fromkeys(TABLES, 10),
    accuracy.NAME: 5,
    **{study.name: study.repeats for study in local.STUDIES.values()},
    **{study.name: study.repeats for study in side_information.STUDIES.values()},
    large.NAME: large.REPEATS,
}
"""How often a set is split."""

LARGE = (large.CONTESTANTS, large.LARGE)
"""Who competes on the large sets, and what is held fixed."""


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
    sets = _sets(parser, SETS[options.name], options.sets)
    if options.repeats is None:
        options.repeats = REPEATS[options.name]
    for name, least in (("repeats", 1), ("jobs", 1)):
        if (value := getattr(options, name)) < least:
            parser.error(f"expected --{name} >= {least}, got {value}")
    if not options.data.is_dir():
        parser.error(f"expected --data to be an existing folder, got {str(options.data)!r}")
    if options.name == accuracy.NAME:
        study, text = _accuracy(sets, options, splits)
    elif options.name in local_studies:
        study, text = _local(local_studies[options.name], sets, options)
    elif options.name in side_studies:
        study, text = _side(side_studies[options.name], sets, options)
    elif options.name == large.NAME:
        study, text = _large(*large_study, sets, options)
    else:
        study, text = _table(TABLES[options.name], sets, options, protocol)
    folders = [options.out, *([options.results] if options.keep else [])]
    print(text)
    print("\n".join(f"Written: {path}" for f in folders for path in _write(study, text, f)))
    return 0


def _sets(parser: argparse.ArgumentParser, known: Sequence[str], asked: str | None) -> list[str]:
    """Return the sets asked for, in the order of the table."""
    names = set(known) if asked is None else set(asked.split(","))
    if unknown := names - set(known):
        parser.error(f"expected --sets out of {', '.join(known)}, got {sorted(unknown)}")
    return [name for name in known if name in names]


def _table(
    table: PaperTable, sets: list[str], options: argparse.Namespace, protocol: Protocol
) -> tuple[Document, str]:
    """Measure a table of DANK or KNPL, or the table that chooses defaults."""
    records = complete(
        table.runs(sets, options.repeats),
        Cache(options.out / "runs.jsonl", protocol),
        str(options.data),
        protocol,
        jobs=options.jobs,
        tell=_tell,
    )
    study = document(table.name, sets, options.repeats, protocol, records)
    return study, page(table, study)


def _accuracy(
    sets: list[str], options: argparse.Namespace, protocol: AccuracyProtocol
) -> tuple[Document, str]:
    """Measure the tables of TKL."""
    records = accuracy.complete(
        sets,
        options.repeats,
        options.out / "accuracy.jsonl",
        str(options.data),
        protocol,
        jobs=options.jobs,
        tell=_tell,
    )
    study = document(accuracy.NAME, sets, options.repeats, protocol, records)
    return study, accuracy.page(study, protocol)


def _local(
    chosen: local.LocalStudy, sets: list[str], options: argparse.Namespace
) -> tuple[Document, str]:
    """Measure a study of LAB-RBF."""
    records = local.complete(
        chosen.entries,
        sets,
        options.repeats,
        options.out / "lab-rbf.jsonl",
        str(options.data),
        local.LOCAL,
        jobs=options.jobs,
        tell=_tell,
    )
    held = local.Held(local.LOCAL, chosen.contestants)
    study = document(chosen.name, sets, options.repeats, held, records)
    return study, local.page(study, chosen, local.LOCAL)


def _side(
    chosen: side_information.SideStudy, sets: list[str], options: argparse.Namespace
) -> tuple[Document, str]:
    """Measure a study of kernels learned from side information."""
    records = side_information.complete(
        chosen.entries,
        sets,
        options.repeats,
        options.out / "side-information.jsonl",
        str(options.data),
        chosen.protocol,
        jobs=options.jobs,
        tell=_tell,
    )
    held = side_information.Held(chosen.protocol, chosen.contestants)
    study = document(chosen.name, sets, options.repeats, held, records)
    return study, side_information.page(study, chosen)


def _large(
    contestants: Sequence[large.Contestant],
    protocol: large.LargeProtocol,
    sets: list[str],
    options: argparse.Namespace,
) -> tuple[Document, str]:
    """Measure the table of the large sets."""
    records = large.complete(
        contestants,
        sets,
        options.repeats,
        options.out / "large.jsonl",
        str(options.data),
        protocol,
        jobs=options.jobs,
        tell=_tell,
    )
    held = large.Held(protocol, tuple(contestants))
    study = document(large.NAME, sets, options.repeats, held, records)
    return study, large.page(study, protocol, contestants)


def _tell(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _write(study: Document, text: str, folder: Path) -> list[Path]:
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
    parser = argparse.ArgumentParser(prog="python -m benchmarks.papers")
    parser.description = "Measure a table of the papers again: each cell becomes paper / measured."
    add = parser.add_argument
    add("name", metavar="NAME", choices=list(SETS), help=f"one of {', '.join(SETS)}")
    add("--data", type=Path, metavar="DIR", required=True, help="folder of NAME.csv.gz sets")
    add("--sets", metavar="A,B", help="only these sets (default: all of the table)")
    add("--repeats", type=int, metavar="N", help="random splits (default: the paper's number)")
    add("--jobs", type=int, default=1, metavar="N", help="processes (default 1)")
    add("--out", type=Path, default=OUTPUT, metavar="DIR", help="JSON, Markdown and the cache")
    add("--keep", action="store_true", help="write to benchmarks/results/papers as well")
    add("--results", type=Path, default=RESULTS, help=argparse.SUPPRESS)
    return parser


if __name__ == "__main__":
    sys.exit(main())
