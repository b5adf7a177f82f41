"""The page as one HTML file that needs nothing else: no script, no font, no network."""

from __future__ import annotations

import base64
import hashlib
import html
import io
import re
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path

from papers.agreement import VERDICTS, Agreement
from papers.overview import overview as content
from papers.overview.tables import AVERAGES, Grid, Shown, averages, gaps, grids, numbered

STYLE = (Path(__file__).parent / "style.css").read_text(encoding="utf-8")

POLICY = (
    "default-src 'none'; style-src 'sha256-{style}'; img-src data:; base-uri 'none'; "
    "form-action 'none'"
)
"""What the page may load: its own style, and pictures that it holds."""

PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
{body}
</body>
</html>
"""


def hypertext(overview: content.Overview, pictures: Mapping[str, str]) -> str:
    """Return the page; `pictures` holds the figures as data URIs, by name."""
    notes = numbered(overview.cells)
    body = [
        f"<h1>{content.TITLE}</h1>",
        f'<p class="note">{_text(content.made_from(overview))}</p>',
        *(f'<p class="note">{_text(each)}</p>' for each in overview.remarks),
        f"<p>{_text(content.READ)}</p>",
        f"<p>{_text(content.RULE)}</p>",
        _counts(overview.cells),
        f"<nav><ul>{''.join(map(_link, content.PAPERS))}</ul></nav>",
    ]
    for paper, citation in content.PAPERS.items():
        body += _paper(overview, paper, citation, notes, pictures)
    digest = hashlib.sha256(STYLE.encode()).digest()
    policy = POLICY.format(style=base64.b64encode(digest).decode())
    parts = {
        "policy": policy,
        "title": content.TITLE,
        "style": STYLE,
        "body": "\n".join(filter(None, body)),
    }
    return PAGE.format_map(parts)


def _counts(cells: Sequence[Agreement]) -> str:
    numbers = content.counts(cells)
    rows = [
        f'<tr><td class="{_class(verdict)}"><b>{verdict}</b></td>'
        f"{''.join(f'<td>{count}</td>' for count in numbers[verdict].values())}"
        f"<td>{html.escape(meaning)}</td></tr>"
        for verdict, meaning in VERDICTS.items()
    ]
    head = ["cells", *numbers[next(iter(VERDICTS))], "meaning"]
    return _table("Cells by verdict, and by quantity", head, rows)


def _paper(
    overview: content.Overview,
    paper: str,
    citation: str,
    notes: dict[str, int],
    pictures: Mapping[str, str],
) -> list[str]:
    """Return the sections of a paper."""
    cells = overview.of(paper)
    used = sorted(numbered(cells), key=lambda text: notes[text])
    reasons = [
        f'<li id="{_anchor(paper, notes[text])}">({notes[text]}) {html.escape(text)}</li>'
        for text in used
    ]
    return [
        f'<h2 id="{html.escape(paper)}">{html.escape(paper)}</h2>',
        f"<p>{html.escape(citation)}. {content.counted(cells).capitalize()}.</p>",
        _averages(cells),
        *(_grid(grid, paper, overview.profile) for grid in grids(cells, notes)),
        f"<h3>Why they differ</h3><ul>{''.join(reasons)}</ul>" if reasons else "",
        "<h3>Not rerun</h3>",
        _list([*gaps(cells), *content.missing(paper)]),
        *(
            _figure(each, pictures.get(each.name))
            for each in overview.figures
            if each.title.startswith(f"{paper},")
        ),
    ]


def _list(lines: Sequence[str]) -> str:
    return f"<ul>{''.join(f'<li>{html.escape(line)}</li>' for line in lines)}</ul>"


def _averages(cells: Sequence[Agreement]) -> str:
    rows = [
        f"<tr>{''.join(f'<td>{html.escape(text)}</td>' for text in each.texts())}</tr>"
        for each in averages(cells)
    ]
    return _table("Means over the sets", ["place", *AVERAGES], rows) if rows else ""


def _grid(grid: Grid, paper: str, profile: str) -> str:
    baseline = f" / {grid.baseline}" if grid.baseline else ""
    rows = [
        f'<tr><th scope="row">{html.escape(name)}</th>'
        f"{''.join(_cell(each, paper, profile) for each in row)}</tr>"
        for name, row in grid.rows
    ]
    return _table(f"{grid.title} (paper / measured{baseline})", ["set", *grid.columns], rows)


def _cell(shown: Shown, paper: str, profile: str) -> str:
    parts = [html.escape(shown.text)]
    parts += [f"<b>{shown.verdict}</b>"] if shown.verdict else []
    if shown.note:
        parts += [f'<a href="#{_anchor(paper, shown.note)}">({shown.note})</a>']
    parts += [f"<small>{shown.source}</small>"] if shown.source == profile != "kept" else []
    return f'<td class="{_class(shown.verdict)}">{" ".join(parts)}</td>'


def _table(caption: str, head: Sequence[str], rows: Sequence[str]) -> str:
    titles = "".join(f'<th scope="col">{html.escape(title)}</th>' for title in head)
    return (
        f'<div class="wide" tabindex="0" role="region" aria-label="{html.escape(caption)}">'
        f"<table><caption>{html.escape(caption)}</caption>"
        f"<thead><tr>{titles}</tr></thead><tbody>{''.join(rows)}</tbody></table></div>"
    )


def _figure(figure: content.Figure, picture: str | None) -> str:
    title = html.escape(figure.title)
    image = f'<img src="{html.escape(picture)}" alt="{title}">' if picture else ""
    return (
        f"<figure>{image}<figcaption><b>{title}</b> <small>{figure.source}</small><br>"
        f"{html.escape(figure.caption)}</figcaption></figure>"
    )


def _text(line: str) -> str:
    """Escape a sentence of ours; words between asterisks are emphasised."""
    return re.sub(r"\*([^*]+)\*", r"<em>\1</em>", html.escape(line))


def _link(paper: str) -> str:
    return f'<li><a href="#{html.escape(paper)}">{html.escape(paper)}</a></li>'


def _anchor(paper: str, note: int) -> str:
    return html.escape(f"{paper}-{note}")


def _class(verdict: str) -> str:
    return verdict.replace(" ", "-")


WIDTH = 720
"""Of a picture, in pixels."""

COLOURS = 48

MOST_BYTES = 1_000_000
"""Of all pictures together; what comes later has its caption alone."""


def embedded(figures: Sequence[content.Figure]) -> dict[str, str]:
    """Return the figures as data URIs by name; none where Pillow is not installed."""
    if find_spec("PIL") is None:
        return {}
    embedded_pictures: dict[str, str] = {}
    for figure in figures:
        picture = _reduced(figure)
        if sum(map(len, embedded_pictures.values())) + len(picture) <= MOST_BYTES:
            embedded_pictures[figure.name] = picture
    return embedded_pictures


def _reduced(figure: content.Figure) -> str:
    """Return a picture of few colours."""
    from PIL import Image

    with Image.open(figure.path) as whole:
        small = whole.convert("RGB")
    small.thumbnail((WIDTH, 4 * WIDTH))
    target = io.BytesIO()
    small.quantize(COLOURS).save(target, "PNG", optimize=True)
    return f"data:image/png;base64,{base64.b64encode(target.getvalue()).decode()}"
