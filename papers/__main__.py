"""``python -m papers``: the papers' tables and figures, measured again.

``list`` names the studies, ``run NAME --data DIR`` measures one, each cell *paper / measured*.
``pages`` writes the kept pages again from the kept results, ``figures`` draws figures.

``overview`` puts all of it onto one page: without ``--data`` of the kept results; with it, the
profile ``quick`` (the default) measures a few repeats of small sets in some minutes, ``full``
everything, for a night. Stopped, by Ctrl-C or otherwise, either goes on where it was when it is
called again.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks.harness.measuring import ROOT
from benchmarks.harness.report import write_texts
from papers.data import FOLDER
from papers.figures.catalogue import FIGURES
from papers.figures.figure import PaperFigure
from papers.overview import overview as content
from papers.overview import profiles
from papers.overview.advice import Evidence, decisions_page
from papers.overview.hypertext import embedded, hypertext
from papers.overview.markdown import markdown
from papers.page import page
from papers.runner import Document, measure
from papers.studies import STUDIES
from papers.study import Study

OUTPUT = FOLDER / "output"
RESULTS = FOLDER / "results"
SPEED = ROOT / "benchmarks" / "results"

INTERRUPTED = 130

NAMES = (*STUDIES, *content.BENCHMARKS, *(figure.name for figure in FIGURES))
"""What ``--only`` takes."""


def main(arguments: Sequence[str] | None = None, known: Mapping[str, Study] = STUDIES) -> int:
    """Run the command line; return 0, 1 if something could not be measured, 130 if stopped."""
    arguments = sys.argv[1:] if arguments is None else list(arguments)
    if arguments[:1] == ["figures"]:
        from papers.figures.__main__ import main as draw

        return draw(arguments[1:])
    options = _options(arguments, known)
    if options.command == "list":
        print("\n".join(f"{study.name:<24} {study.title}" for study in known.values()))
        return 0
    commands = {"run": _run, "pages": _pages, "overview": _overview}
    return commands[options.command](options)


def _run(options: argparse.Namespace) -> int:
    """Measure a study, print its page, and write it; what was measured is kept in any case."""
    study: Study = options.study
    earlier = content.kept_documents(options.results, options.speed) if options.add else {}
    document = measure(
        study, options.sets, options.repeats, options.data, options.out, options.jobs,
        _without(earlier.get(study.name), options.again), options.contestants,
    )  # fmt: skip
    try:
        text = page(study, document)
    except KeyError as missing:  # such as ("heart", "svm"), which the others are compared with
        _log(f"measured; the page of {study.name} needs {missing} too: --contestant, or --add")
        return 1
    folders = [options.out, *([options.results] if options.keep else [])]
    print(text)
    _tell_written([path for f in folders for path in profiles.write(study.name, document, text, f)])
    return 0


def _without(document: Document | None, names: Sequence[str]) -> Document | None:
    """Return a document without the measurements of some contestants."""
    if document is None:
        return None
    kept = [each for each in document["results"] if each["contestant"] not in names]
    return {**document, "results": kept}


def _pages(options: argparse.Namespace) -> int:
    """Write the pages of all kept results, the overview and the advice again."""
    kept = content.kept_documents(options.results, options.speed)
    texts = {
        options.results / f"{name}.md": page(STUDIES[name], document)
        for name, document in kept.items()
        if name in STUDIES
    }
    _tell_written(write_texts(texts) + _keep(options, kept))
    return 0


def _overview(options: argparse.Namespace) -> int:
    """Put everything onto one page, of kept results and of what is measured now."""
    kept = content.kept_documents(options.results, options.speed)
    pictures = content.kept_figures(options.results / "figures")
    measured = profiles.Measured()
    if options.data is not None:
        _measure(options, kept, measured)
        fresh = content.kept_figures(_folder(options) / "figures", options.profile)
        pictures = list({each.name: each for each in [*pictures, *fresh]}.values())
    profile = "kept" if options.data is None else options.profile
    shown = content.Overview(
        content.gather(kept, measured.documents, profile), pictures, profile, _remarks(measured)
    )
    name = "overview-quick" if profile == "quick" else "overview"
    paths = _write(shown, options.out, name, html=True)
    if options.keep:
        paths += _keep(options, kept)
    print("\n".join([content.made_from(shown), *shown.remarks, ""]))
    for paper in content.PAPERS:
        print(f"{paper:<8} {content.counted(shown.of(paper))}")
    print(f"{'all':<8} {content.counted(shown.cells)}\n")
    _tell_written(paths)
    return INTERRUPTED if measured.interrupted else int(bool(measured.troubles))


def _measure(
    options: argparse.Namespace, kept: Mapping[str, Document], measured: profiles.Measured
) -> None:
    """Measure what was asked for; Ctrl-C leaves what is done."""
    out, data, folder = options.out, options.data, _folder(options)
    parts, drawn, timed = _plan(options, kept)
    try:
        profiles.studies(parts, data, out, folder, options.jobs, measured, _log)
        profiles.timings(timed, data, out, measured, _log)
        profiles.figures(drawn, data, folder / "figures", measured, _log)
    except KeyboardInterrupt:
        measured.interrupted = True


def _folder(options: argparse.Namespace) -> Path:
    """Return where pages of studies and figures go; the cache is in --out itself."""
    folder: Path = options.out / "quick" if options.profile == "quick" else options.out
    return folder


def _plan(
    options: argparse.Namespace, kept: Mapping[str, Document]
) -> tuple[list[profiles.Part], list[PaperFigure], list[str]]:
    """Return the studies, figures and benchmarks of a profile, or those that were named."""
    small = options.profile == "quick"
    parts = profiles.quick(kept) if small else profiles.full()
    drawn = [each for each in FIGURES if not small or each.name in profiles.QUICK_FIGURES]
    timed = [] if small else list(content.BENCHMARKS)
    if options.only:
        parts = [part for part in parts if part.study in options.only]
        drawn = [each for each in FIGURES if each.name in options.only]
        timed = [name for name in content.BENCHMARKS if name in options.only]
    return parts, drawn, timed


def _remarks(measured: profiles.Measured) -> list[str]:
    remarks = [f"Could not be measured: {trouble}." for trouble in measured.troubles]
    if measured.interrupted:
        remarks.append("The run was stopped; the same command goes on from there.")
    return remarks


def _keep(options: argparse.Namespace, kept: Mapping[str, Document]) -> list[Path]:
    """Write what the documentation shows, all of it from kept results."""
    folder = options.results
    lasting = content.Overview(
        content.gather(kept, {}, "kept"), content.kept_figures(folder / "figures")
    )
    advice = {folder / "decisions.md": decisions_page(Evidence(folder, options.speed))}
    return _write(lasting, folder, "overview", html=False) + write_texts(advice)


def _write(shown: content.Overview, folder: Path, name: str, *, html: bool) -> list[Path]:
    """Write the overview as JSON and Markdown, and as HTML if it is wanted."""
    texts = {
        folder / f"{name}.json": json.dumps(shown.to_dict(), allow_nan=False) + "\n",
        folder / f"{name}.md": markdown(shown),
    }
    if html:
        texts[folder / f"{name}.html"] = hypertext(shown, embedded(shown.figures))
    return write_texts(texts)


def _tell_written(paths: Sequence[Path]) -> None:
    print("\n".join(f"Written: {path}" for path in paths))


def _log(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _options(arguments: Sequence[str], known: Mapping[str, Study]) -> argparse.Namespace:
    """Read the command line; leave with a message if it makes no sense."""
    parser = _parser(known)
    options = parser.parse_args(arguments)
    if options.command == "run":
        options.study = known[options.name]
        options.sets = _sets(parser, options.study.sets, options.sets)
        names = [each.name for each in options.study.contestants]
        if unknown := sorted({*options.contestants, *options.again} - set(names)):
            parser.error(f"expected a contestant out of {', '.join(names)}, got {unknown[0]!r}")
        if options.contestants and (rest := sorted(set(options.again) - set(options.contestants))):
            parser.error(f"expected --contestant {rest[0]} with --again {rest[0]}, or neither")
        options.repeats = options.study.repeats if options.repeats is None else options.repeats
    for name in ("repeats", "jobs"):
        if (value := getattr(options, name, 1)) < 1:
            parser.error(f"expected --{name} >= 1, got {value}")
    data = getattr(options, "data", None)
    if data is not None and not data.is_dir():
        parser.error(f"expected --data to be an existing folder, got {str(data)!r}")
    if options.command == "overview":
        left_out = sorted(set(options.only) & {*profiles.LEFT_OUT, *content.BENCHMARKS})
        if options.profile == "quick" and left_out:
            parser.error(f"expected --profile full with --only {left_out[0]}: quick leaves it out")
        if unknown := sorted(set(options.only) - set(NAMES)):
            parser.error(f"expected --only out of {', '.join(NAMES)}, got {', '.join(unknown)}")
    return options


def _sets(parser: argparse.ArgumentParser, known: Sequence[str], asked: str | None) -> list[str]:
    """Return the sets asked for, in the order of the table."""
    names = set(known) if asked is None else set(asked.split(","))
    if unknown := names - set(known):
        parser.error(f"expected --sets out of {', '.join(known)}, got {sorted(unknown)}")
    return [name for name in known if name in names]


def _parser(known: Mapping[str, Study]) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m papers", description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("list", help="name the studies and stop")
    run = commands.add_parser("run", help="measure a table of the papers again")
    pages = commands.add_parser("pages", help="write the kept pages again, from kept results")
    overview = commands.add_parser("overview", help="everything on one page")
    commands.add_parser("figures", help="draw the figures again: figures --help")
    add = run.add_argument
    add("name", metavar="NAME", choices=list(known), help="a study: see list")
    add("--data", type=Path, metavar="DIR", required=True, help="folder of NAME.csv.gz sets")
    add("--sets", metavar="A,B", help="only these sets (default: all of the table)")
    add("--repeats", type=int, metavar="N", help="random splits (default: the study's number)")
    add("--keep", action="store_true", help="write to papers/results as well")
    add(
        "--add", action="store_true",
        help="take over what papers/results has of it, and measure only what is missing there",
    )  # fmt: skip
    add(
        "--contestant", action="append", default=[], metavar="CONTESTANT", dest="contestants",
        help="measure only this one; may be given again",
    )  # fmt: skip
    add(
        "--again", action="append", default=[], metavar="CONTESTANT",
        help="with --add, measure this one again; may be given again",
    )  # fmt: skip
    add = overview.add_argument
    add(
        "--profile",
        choices=profiles.PROFILES,
        default="quick",
        help="with --data (default: quick)",
    )
    add(
        "--quick", action="store_const", const="quick", dest="profile",
        help="the same as --profile quick",
    )  # fmt: skip
    add("--data", type=Path, metavar="DIR", help="folder of NAME.csv.gz sets; without, no rerun")
    add("--keep", action="store_true", help="write the overview and advice of kept results, too")
    add(
        "--only", action="append", default=[], metavar="NAME",
        help="rerun this study or figure only; may be given again",
    )  # fmt: skip
    for each in (run, overview):
        each.add_argument("--jobs", type=int, default=1, metavar="N", help="processes (default 1)")
        each.add_argument("--out", type=Path, default=OUTPUT, metavar="DIR", help="where to write")
    for each in (run, pages, overview):
        each.add_argument("--results", type=Path, default=RESULTS, help=argparse.SUPPRESS)
        each.add_argument("--speed", type=Path, default=SPEED, help=argparse.SUPPRESS)
    return parser


if __name__ == "__main__":
    sys.exit(main())
