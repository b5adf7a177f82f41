"""Reproduce the papers' tables and figures: ``python -m papers``.

``list`` lists the studies, ``run NAME --data DIR`` measures one, each cell *paper / measured*.
``pages`` writes the pages of the stored results, ``figures`` draws figures. The same command
continues an interrupted run.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from papers.data import FOLDER
from papers.figures import FIGURES, draw
from papers.overview import gather, kept_documents, overview
from papers.page import page
from papers.study import Document, Study, measure, studies
from pliant.core.files import replacing

OUTPUT = FOLDER / "output"
RESULTS = FOLDER / "results"


def main(arguments: Sequence[str] | None = None, known: Mapping[str, Study] | None = None) -> int:
    """Run the command line and return 0."""
    known = studies() if known is None else known
    options = _options(arguments, known)
    if options.command == "list":
        print("\n".join(f"{study.name:<24} {study.title}" for study in known.values()))
    elif options.command == "run":
        _run(known[options.name], options)
    elif options.command == "figures":
        draw(options.names, options.data, RESULTS / "figures" if options.keep else options.out)
    else:
        write(pages(RESULTS))
    return 0


def pages(results: Path) -> dict[Path, str]:
    """Return the pages of all kept results, and the overview."""
    kept = kept_documents(results)
    known = studies()
    texts = {results / f"{n}.md": page(known[n], kept[n]) for n in kept}
    texts[results / "overview.md"] = overview(gather(kept), [each.title for each in FIGURES])
    return texts


def _run(study: Study, options: argparse.Namespace) -> None:
    """Measure a study, print its page, and write it; measurements are cached in any case."""
    document = measure(
        study, options.sets, options.repeats, options.data, options.out, options.jobs
    )
    if options.keep:
        document = with_kept(study, document, kept_documents(RESULTS).get(study.name, {}))
    text = page(study, document)
    print(text)
    for folder in (options.out, *([RESULTS] if options.keep else [])):
        data = as_json(document)
        write({folder / f"{study.name}.json": data, folder / f"{study.name}.md": text})


def with_kept(study: Study, document: Document, known: Document) -> Document:
    """Return a document with the stored results of contestants that are no longer measured."""
    names, sets = [each.name for each in study.contestants if each.kept], document["sets"]
    groups = [
        {**each, "variants": {
            variant: {key: values[: document["repeats"]] for key, values in found.items()}
            for variant, found in each["variants"].items()
        }}
        for each in known.get("results", ())
        if each["contestant"] in names and each["set"] in sets
    ]  # fmt: skip
    if not groups:
        return document
    results = [*document["results"], *groups]
    results.sort(key=lambda each: (sets.index(each["set"]), each["contestant"]))
    part = {"contestants": names, "machine": known["machine"], "date": known["date"]}
    return {**document, "results": results, "earlier": [*known.get("earlier", ()), part]}


def as_json(document: Document) -> str:
    """Return a document as JSON, with a line for each set and contestant."""
    head, compact = {**document}, {"allow_nan": False, "separators": (",", ":")}
    lines = [json.dumps(each, **compact) for each in head.pop("results")]
    return json.dumps(head)[:-1] + ', "results": [\n' + ",\n".join(lines) + "\n]}\n"


def write(texts: Mapping[Path, str]) -> None:
    """Write text files atomically; create folders if necessary."""
    for path, text in texts.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path) as draft:
            draft.write_text(text, encoding="utf-8", newline="\n")
        print(f"Written: {path}")


def _options(arguments: Sequence[str] | None, known: Mapping[str, Study]) -> argparse.Namespace:
    """Read the command line; exit with a message if it is invalid."""
    parser = argparse.ArgumentParser(prog="python -m papers", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("list", help="list the studies and exit")
    run = commands.add_parser("run", help="reproduce a table of the papers")
    commands.add_parser("pages", help="write the pages from stored results")
    figures = commands.add_parser("figures", help="reproduce the papers' figures")
    add = run.add_argument
    add("name", metavar="NAME", choices=list(known), help="a study; list shows all")
    add("--sets", metavar="A,B", help="only these sets (default: all)")
    add("--repeats", type=int, metavar="N", help="number of random splits (default: the study's)")
    add("--jobs", type=int, default=1, metavar="N", help="processes (default 1)")
    names = [each.name for each in FIGURES]
    figures.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(names)}")
    for each, folder in ((run, OUTPUT), (figures, OUTPUT / "figures")):
        needed = each is run
        add = each.add_argument
        add("--data", type=Path, metavar="DIR", required=needed, help="folder of NAME.csv.gz files")
        add("--out", type=Path, default=folder, metavar="DIR", help="output folder")
        add("--keep", action="store_true", help="write to papers/results")
    options = parser.parse_args(arguments)
    data = getattr(options, "data", None)
    if data is not None and not data.is_dir():
        parser.error(f"expected --data to be an existing folder, got {str(data)!r}")
    if options.command == "run":
        study = known[options.name]
        asked = study.sets if options.sets is None else options.sets.split(",")
        options.repeats = study.repeats if options.repeats is None else options.repeats
        if unknown := sorted(set(asked) - set(study.sets)):
            parser.error(f"expected --sets from {', '.join(study.sets)}, got {unknown[0]!r}")
        options.sets = [name for name in study.sets if name in asked]
        for name in ("repeats", "jobs"):
            if (value := getattr(options, name)) < 1:
                parser.error(f"expected --{name} >= 1, got {value}")
    if options.command == "figures" and (unknown := sorted(set(options.names) - set(names))):
        parser.error(f"expected names from {', '.join(names)}, got {unknown[0]!r}")
    return options


if __name__ == "__main__":
    sys.exit(main())
