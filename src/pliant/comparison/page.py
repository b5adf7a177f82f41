"""The report: its sections in order, the landmarks around them, and the document."""

from __future__ import annotations

import base64
import hashlib
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.resources import files

from pliant._version import __version__
from pliant.comparison.markup import Content, Markup, joined, tag
from pliant.comparison.report.all_tables import over_all_tables
from pliant.comparison.report.curves import learning_curves
from pliant.comparison.report.facts import again, environment, facts, messages, summary
from pliant.comparison.report.leaderboard import certificates, costs, leaderboard
from pliant.comparison.report.method import protocol_in_words
from pliant.comparison.report.pictures import learned_kernels
from pliant.comparison.report.predictions import predictions
from pliant.comparison.report.view import View, heading
from pliant.comparison.result import ComparisonResult as Outcome
from pliant.core.exceptions import TableError
from pliant.core.files import replacing
from pliant.core.text import count


@dataclass(frozen=True)
class Part:
    """A section of a result.

    Its id is the `key`, together with the result's; the `hint` states how to read it.
    """

    key: str
    title: str
    hint: str
    write: Callable[[View], Content]


PARTS = (
    Part(
        "leaderboard",
        "Leaderboard",
        "Every method that was asked for, the best first; below the double line those without a "
        "score of all common folds. A score is the mean over rows that the model had not seen, ± "
        "its standard error. In the small drawings the dot is the mean, the bar one standard error "
        "to either side, the upright line the reference, and an arrow a mean far outside.",
        leaderboard,
    ),
    Part(
        "costs",
        "Time, memory and settings",
        "What one model takes: medians over folds.",
        costs,
    ),
    Part(
        "curves",
        "Learning curves",
        "The score with fewer training rows. Where a curve still rises at its end (falls, for an "
        "error), more rows would help.",
        learning_curves,
    ),
    Part(
        "predictions",
        "Predicted against true",
        "Test rows of the first repeat. On the diagonal a prediction is right.",
        predictions,
    ),
    Part(
        "kernels",
        "Learned kernels",
        "The kernel that each method learned from the training rows of the second fold.",
        learned_kernels,
    ),
    Part(
        "certificates",
        "Convergence and certificates",
        "Whether training converged.",
        certificates,
    ),
    Part(
        "messages",
        "Warnings and errors",
        "What the methods reported, each text once. A failed fold does not stop the others.",
        messages,
    ),
    Part(
        "protocol",
        "How it was measured",
        "The protocol that all methods had in common.",
        protocol_in_words,
    ),
    Part("environment", "Environment", "Versions and computer of this run.", environment),
    Part(
        "again",
        "Repeat it",
        "The same command on the same table gives the same scores.",
        again,
    ),
)
"""The sections of a result, in order."""


def report_html(results: Sequence[Outcome]) -> str:
    """Return the report of one comparison, or of several on different tables, as HTML.

    Parameters
    ----------
    results : sequence of Outcome
        With several, the page begins with the part over all tables.

    Returns
    -------
    str
        One page without links to other files, readable without JavaScript. Its policy lets no
        text from the results run or load anything.

    Raises
    ------
    ValueError
        If there is no result.
    """
    if not results:
        raise ValueError("expected at least one result to report, got none")
    title = _title(results)
    body = _several(results, title) if len(results) > 1 else _single(results[0], title)
    return document(title, body)


def write_report(results: Sequence[Outcome], path: str | os.PathLike[str]) -> None:
    """Write the report of one comparison, or of several, to a file.

    Parameters
    ----------
    results : sequence of Outcome
        As for `report_html`.
    path : path-like
        The file to make or to replace; it appears whole or not at all.

    Raises
    ------
    ValueError
        If there is no result.
    TableError
        If the file cannot be written.
    """
    written = report_html(results).encode()
    with replacing(path, TableError) as draft:
        draft.write_bytes(written)


def _title(results: Sequence[Outcome]) -> str:
    if len(results) == 1:
        return f"{results[0].sample['name']}: methods compared"
    return f"Methods compared on {count(len(results), 'table')}"


def _single(result: Outcome, title: str) -> Markup:
    view = View(result)
    links = tag("ul", [_link(view, part) for part in PARTS])
    return _layout(title, (facts(view), summary(view)), links, _sections(view))


def _several(results: Sequence[Outcome], title: str) -> Markup:
    views = [View(result, f"table-{n}-", 3) for n, result in enumerate(results, 1)]
    links = tag(
        "ul",
        tag("li", tag("a", "Over all tables", href="#all-tables")),
        [
            tag("li", tag("a", each.result.sample["name"], href=f"#{each.ident('top')}"))
            for each in views
        ],
    )
    content = [over_all_tables(views), *map(_table_section, views)]
    return _layout(title, (), links, content)


def _table_section(view: View) -> Markup:
    ident = view.ident("top")
    title = heading(2, tag("bdi", view.result.sample["name"]), id=ident)
    parts = tag("ul", [_link(view, part) for part in PARTS])
    contents = tag(
        "nav", parts, class_="contents", aria_label=f"Parts of {view.result.sample['name']}"
    )
    inside = (title, facts(view), summary(view), contents, _sections(view))
    return tag("section", inside, aria_labelledby=ident, class_="table-part")


def _sections(view: View) -> list[Markup]:
    return [
        tag(
            "section",
            heading(view.level, part.title, id=view.ident(part.key)),
            tag("p", part.hint, class_="hint"),
            part.write(view),
            aria_labelledby=view.ident(part.key),
        )
        for part in PARTS
    ]


def _link(view: View, part: Part) -> Markup:
    return tag("li", tag("a", part.title, href=f"#{view.ident(part.key)}"))


def _layout(title: str, opening: Content, links: Markup, content: Content) -> Markup:
    """Put the parts of the body into their landmarks."""
    return joined(
        tag("a", "Skip to the results", href="#results", class_="skip"),
        tag(
            "header",
            tag("p", "pliant compare", class_="kicker"),
            heading(1, tag("bdi", title)),
            opening,
        ),
        tag("nav", links, class_="contents", aria_label="Contents"),
        tag("main", content, id="results", tabindex=-1),
        tag("footer", tag("p", f"Made by pliant {__version__}. This file needs no network.")),
    )


def document(title: str, body: Markup) -> str:
    """Put a body into a document that can load and run nothing but its own style and script."""
    style, script = _resource("style.css"), _resource("script.js")
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=Markup(_policy(style, script))),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("meta", name="referrer", content="no-referrer"),
        tag("title", title),
        tag("style", Markup(style)),
    )
    page = tag("html", head, tag("body", body, tag("script", Markup(script))), lang="en")
    return f"<!DOCTYPE html>\n{page}\n"


def _policy(style: str, script: str) -> str:
    """Return a policy that allows this style, this script, pictures inside the page, no more."""
    return (
        f"default-src 'none'; img-src data:; style-src '{_digest(style)}'; "
        f"script-src '{_digest(script)}'; base-uri 'none'; form-action 'none'"
    )


def _digest(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def _resource(name: str) -> str:
    return files("pliant.comparison.report").joinpath(name).read_text(encoding="utf-8")
