"""``python -m benchmarks papers``: rerun the papers' tables and figures onto one page.

Without ``--data`` the page is made of the kept results. With it, the profile ``quick`` (the
default) measures a few repeats of small sets in some minutes, ``full`` everything, for a night.
Stopped, by Ctrl-C or otherwise, either goes on where it was when it is called again.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from papers.__main__ import OUTPUT, RESULTS
from papers.document import Document
from papers.figures.catalogue import FIGURES
from papers.figures.figure import PaperFigure
from papers.measure import SETS
from papers.overview.decisions import decisions_page
from papers.overview.evidence import Evidence
from papers.overview.hypertext import hypertext
from papers.overview.markdown import markdown
from papers.overview.measuring import Measured, figures, studies, timings
from papers.overview.overview import (
    BENCHMARKS,
    PAPERS,
    Overview,
    gather,
    kept_documents,
    kept_figures,
)
from papers.overview.pictures import embedded
from papers.overview.profiles import (
    OWN,
    PROFILES,
    QUICK_FIGURES,
    Part,
    full,
    quick,
)
from papers.overview.words import counted, made_from
from pliant.core.files import replacing

__all__ = ["main"]

INTERRUPTED = 130

NAMES = (*SETS, *BENCHMARKS, *(figure.name for figure in FIGURES))
"""What ``--only`` takes."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return 0, 1 if something could not be measured, 130 if stopped."""
    options = _options(arguments)
    kept = kept_documents(options.results)
    pictures = kept_figures(options.results / "figures")
    found = Measured()
    if options.data is not None:
        _measure(options, kept, found)
        fresh = kept_figures(_folder(options) / "figures", options.profile)
        pictures = list({each.name: each for each in [*pictures, *fresh]}.values())
    profile = "kept" if options.data is None else options.profile
    shown = Overview(gather(kept, found.documents, profile), pictures, profile, _remarks(found))
    name = "overview-quick" if profile == "quick" else "overview"
    paths = _write(shown, options.out, name, page=True)
    if options.keep:
        paths += _keep(options.results, kept)
    _tell_result(shown, paths)
    return INTERRUPTED if found.interrupted else int(bool(found.troubles))


def _measure(options: argparse.Namespace, kept: Mapping[str, Document], found: Measured) -> None:
    """Measure what was asked for; Ctrl-C leaves what is done."""
    out, data, folder = options.out, options.data, _folder(options)
    parts, drawn, timed = _plan(options, kept)
    try:
        studies(parts, data, out, folder, jobs=options.jobs, found=found, tell=_tell)
        timings(timed, data, out, found, _tell)
        figures(drawn, data, folder / "figures", found, _tell)
    except KeyboardInterrupt:
        found.interrupted = True


def _folder(options: argparse.Namespace) -> Path:
    """Return where pages of studies and figures go; the caches are in --out itself."""
    folder: Path = options.out / "quick" if options.profile == "quick" else options.out
    return folder


def _plan(
    options: argparse.Namespace, kept: Mapping[str, Document]
) -> tuple[list[Part], list[PaperFigure], list[str]]:
    """Return the studies, figures and benchmarks of a profile, or those that were named."""
    small = options.profile == "quick"
    parts = quick(kept) if small else full()
    drawn = [each for each in FIGURES if not small or each.name in QUICK_FIGURES]
    timed = [] if small else list(BENCHMARKS)
    if options.only:
        parts = [part for part in parts if part.study in options.only]
        drawn = [each for each in FIGURES if each.name in options.only]
        timed = [name for name in BENCHMARKS if name in options.only]
    return parts, drawn, timed


def _remarks(found: Measured) -> list[str]:
    remarks = [f"Could not be measured: {trouble}." for trouble in found.troubles]
    if found.interrupted:
        remarks.append("The run was stopped; the same command goes on from there.")
    return remarks


def _keep(folder: Path, kept: Mapping[str, Document]) -> list[Path]:
    """Write what the documentation shows, all of it from kept results."""
    lasting = Overview(gather(kept, {}, "kept"), kept_figures(folder / "figures"))
    advice = {folder / "decisions.md": decisions_page(Evidence(folder.parent))}
    return _write(lasting, folder, "overview", page=False) + _replace(advice)


def _write(shown: Overview, folder: Path, name: str, *, page: bool) -> list[Path]:
    """Write the overview as JSON and Markdown, and the HTML page if it is wanted."""
    folder.mkdir(parents=True, exist_ok=True)
    texts = {
        folder / f"{name}.json": json.dumps(shown.to_dict(), allow_nan=False) + "\n",
        folder / f"{name}.md": markdown(shown),
    }
    if page:
        texts[folder / f"{name}.html"] = hypertext(shown, embedded(shown.figures))
    return _replace(texts)


def _replace(texts: Mapping[Path, str]) -> list[Path]:
    for path, content in texts.items():
        with replacing(path) as draft:
            draft.write_text(content, encoding="utf-8", newline="\n")
    return list(texts)


def _tell_result(shown: Overview, paths: Sequence[Path]) -> None:
    """Print the counts, paper by paper, and what was written."""
    print("\n".join([made_from(shown), *shown.remarks, ""]))
    for paper in PAPERS:
        print(f"{paper:<8} {counted(shown.of(paper))}")
    print(f"{'all':<8} {counted(shown.cells)}\n")
    print("\n".join(f"Written: {path}" for path in paths))


def _tell(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Read the command line; leave with a message if it makes no sense."""
    parser = _parser()
    options = parser.parse_args(arguments)
    if options.jobs < 1:
        parser.error(f"expected --jobs >= 1, got {options.jobs}")
    if options.data is not None and not options.data.is_dir():
        parser.error(f"expected --data to be an existing folder, got {str(options.data)!r}")
    left_out = sorted(set(options.only) & {*OWN, *BENCHMARKS})
    if options.profile == "quick" and left_out:
        parser.error(f"expected --profile full with --only {left_out[0]}: quick leaves it out")
    if unknown := sorted(set(options.only) - set(NAMES)):
        parser.error(f"expected --only out of {', '.join(NAMES)}, got {', '.join(unknown)}")
    return options


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks papers", description=__doc__)
    add = parser.add_argument
    add("--profile", choices=PROFILES, default="quick", help="with --data (default: quick)")
    add("--data", type=Path, metavar="DIR", help="folder of NAME.csv.gz sets; without, no rerun")
    add("--out", type=Path, default=OUTPUT, metavar="DIR", help="the page, and the caches")
    add(
        "--keep", action="store_true",
        help="write overview.md, overview.json and decisions.md of the kept results to "
        "papers/results",
    )  # fmt: skip
    add("--jobs", type=int, default=1, metavar="N", help="processes (default 1)")
    add(
        "--only", action="append", default=[], metavar="NAME",
        help="rerun this study or figure only; may be given again",
    )  # fmt: skip
    add("--results", type=Path, default=RESULTS, help=argparse.SUPPRESS)
    return parser
