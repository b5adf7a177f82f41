"""The page as Markdown, for the documentation and for a forge."""

from __future__ import annotations

import re
from collections.abc import Sequence

from papers.overview.agreement import VERDICTS, Agreement
from papers.overview.averages import averages
from papers.overview.grids import Grid, Shown, gaps, grids, numbered
from papers.overview.overview import PAPERS, Overview, counts
from papers.overview.words import READ, RULE, TITLE, counted, made_from, missing

__all__ = ["markdown"]

_MARKUP = re.compile(r"[\\`*\[\]|<>]")


def markdown(overview: Overview) -> str:
    """Return the page."""
    parts = [
        f"# {TITLE}",
        made_from(overview),
        *map(_escape, overview.remarks),
        READ,
        RULE,
        _counts(overview.cells),
    ]
    notes = numbered(overview.cells)
    for paper, citation in PAPERS.items():
        parts += _paper(overview, paper, citation, notes)
    return "\n\n".join(part.rstrip("\n") for part in parts if part) + "\n"


def _counts(cells: Sequence[Agreement]) -> str:
    found = counts(cells)
    rows = [
        [f"**{verdict}**", *map(str, found[verdict].values()), said]
        for verdict, said in VERDICTS.items()
    ]
    return _table(["cells", *found[next(iter(VERDICTS))], "meaning"], rows)


def _paper(overview: Overview, paper: str, citation: str, notes: dict[str, int]) -> list[str]:
    """Return the sections of a paper."""
    cells = overview.of(paper)
    used = sorted(numbered(cells), key=lambda text: notes[text])
    figures = [each.title for each in overview.figures if each.title.startswith(f"{paper},")]
    return [
        f"## {paper}",
        f"{_escape(citation)}. {counted(cells).capitalize()}.",
        _averages(cells),
        *(part for grid in grids(cells, notes) for part in _grid(grid, paper, overview.profile)),
        f"### {paper}: why they differ" if used else "",
        _bullets([f"({notes[text]}) {_escape(text)}" for text in used]),
        f"### {paper}: not rerun",
        _bullets([_escape(text) for text in [*gaps(cells), *missing(paper)]]),
        f"### {paper}: figures drawn again" if figures else "",
        _bullets([_escape(title) for title in figures]),
    ]


def _averages(cells: Sequence[Agreement]) -> str:
    rows = [
        [_escape(text) for text in (
            each.place, each.quantity, each.method, str(each.sets), each.printed, each.measured,
            f"{each.baseline} ({each.baseline_name})" if each.baseline_name else "–",
        )]
        for each in averages(cells)
    ]  # fmt: skip
    head = ["mean over sets", "quantity", "method", "sets", "paper", "measured", "tuned baseline"]
    return _table(head, rows) if rows else ""


def _grid(grid: Grid, paper: str, profile: str) -> list[str]:
    baseline = f" / {grid.baseline}" if grid.baseline else ""
    rows = [[_escape(name), *(_cell(each, profile) for each in row)] for name, row in grid.rows]
    return [
        f"### {paper}, {_escape(grid.title)}",
        f"Paper / measured{_escape(baseline)}.",
        _table(["set", *map(_escape, grid.columns)], rows),
    ]


def _cell(shown: Shown, profile: str) -> str:
    parts = [_escape(shown.text)]
    parts += [f"**{shown.verdict}**"] if shown.verdict else []
    parts += [f"({shown.note})"] if shown.note else []
    parts += [f"*{shown.source}*"] if shown.source == profile != "kept" else []
    return " ".join(parts)


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _bullets(lines: Sequence[str]) -> str:
    return "\n".join(f"* {line}" for line in lines)


def _escape(text: str) -> str:
    """Make text mean itself; underscores stand inside words here."""
    return _MARKUP.sub(r"\\\g<0>", text)
