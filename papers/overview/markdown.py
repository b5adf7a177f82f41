"""The page as Markdown, for the documentation and for a forge."""

from __future__ import annotations

import re
from collections.abc import Sequence

from papers.agreement import VERDICTS, Agreement
from papers.overview import overview as content
from papers.overview.tables import AVERAGES, Grid, Shown, averages, gaps, grids, numbered

_MARKUP = re.compile(r"[\\`*\[\]|<>]")


def markdown(overview: content.Overview) -> str:
    """Return the page."""
    numbers = content.counts(overview.cells)
    verdicts = [
        [f"**{verdict}**", *map(str, numbers[verdict].values()), meaning]
        for verdict, meaning in VERDICTS.items()
    ]
    parts = [
        f"# {content.TITLE}",
        content.made_from(overview),
        *map(_escape, overview.remarks),
        content.READ,
        content.RULE,
        rows(["cells", *numbers[next(iter(VERDICTS))], "meaning"], verdicts),
    ]
    notes = numbered(overview.cells)
    for paper, citation in content.PAPERS.items():
        parts += _paper(overview, paper, citation, notes)
    return "\n\n".join(part.rstrip("\n") for part in parts if part) + "\n"


def _paper(
    overview: content.Overview, paper: str, citation: str, notes: dict[str, int]
) -> list[str]:
    """Return the sections of a paper."""
    cells = overview.of(paper)
    used = sorted(numbered(cells), key=lambda text: notes[text])
    figures = [each.title for each in overview.figures if each.title.startswith(f"{paper},")]
    return [
        f"## {paper}",
        f"{_escape(citation)}. {content.counted(cells).capitalize()}.",
        _averages(cells),
        *(part for grid in grids(cells, notes) for part in _grid(grid, paper, overview.profile)),
        f"### {paper}: why they differ" if used else "",
        _bullets([f"({notes[text]}) {_escape(text)}" for text in used]),
        f"### {paper}: not rerun",
        _bullets([_escape(text) for text in [*gaps(cells), *content.missing(paper)]]),
        f"### {paper}: figures drawn again" if figures else "",
        _bullets([_escape(title) for title in figures]),
    ]


def _averages(cells: Sequence[Agreement]) -> str:
    lines = [[_escape(text) for text in each.texts()] for each in averages(cells)]
    return rows(["mean over sets", *AVERAGES], lines) if lines else ""


def _grid(grid: Grid, paper: str, profile: str) -> list[str]:
    baseline = f" / {grid.baseline}" if grid.baseline else ""
    lines = [[_escape(name), *(_cell(each, profile) for each in row)] for name, row in grid.rows]
    return [
        f"### {paper}, {_escape(grid.title)}",
        f"Paper / measured{_escape(baseline)}.",
        rows(["set", *map(_escape, grid.columns)], lines),
    ]


def _cell(shown: Shown, profile: str) -> str:
    parts = [_escape(shown.text)]
    parts += [f"**{shown.verdict}**"] if shown.verdict else []
    parts += [f"({shown.note})"] if shown.note else []
    parts += [f"*{shown.source}*"] if shown.source == profile != "kept" else []
    return " ".join(parts)


def rows(head: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """Return a table of texts that are Markdown already."""
    return "".join(f"| {' | '.join(line)} |\n" for line in [head, ["---"] * len(head), *lines])


def _bullets(lines: Sequence[str]) -> str:
    return "\n".join(f"* {line}" for line in lines)


def _escape(text: str) -> str:
    """Make text mean itself; underscores stand inside words here."""
    return _MARKUP.sub(r"\\\g<0>", text)
