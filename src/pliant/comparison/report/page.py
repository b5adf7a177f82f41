"""The sections of a report, in order, and the landmarks around them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pliant._version import __version__
from pliant.comparison.outcome import Outcome
from pliant.comparison.report.all_tables import over_all_tables
from pliant.comparison.report.certificates import certificates
from pliant.comparison.report.curves import learning_curves
from pliant.comparison.report.document import document
from pliant.comparison.report.facts import facts, summary
from pliant.comparison.report.leaderboard import costs, leaderboard
from pliant.comparison.report.markup import Content, Markup, joined, tag
from pliant.comparison.report.messages import messages
from pliant.comparison.report.method import protocol_in_words
from pliant.comparison.report.pictures import learned_kernels
from pliant.comparison.report.predictions import predictions
from pliant.comparison.report.repeat import again, environment
from pliant.comparison.report.view import View, heading
from pliant.core.text import count


@dataclass(frozen=True)
class Part:
    """A section of a result.

    Parameters
    ----------
    key : str
        Its id, together with the result's.
    title : str
    hint : str
        How to read it, in a line or two.
    write : callable
        Of the View.
    """

    key: str
    title: str
    hint: str
    write: Callable[[View], Content]


PARTS = (
    Part(
        "leaderboard",
        "Leaderboard",
        "Every method that was asked for, the best first. A score is the mean over rows that the "
        "model had not seen, ± its standard error. In the small drawings the dot is the mean, the "
        "bar one standard error to either side, the upright line the reference, and an arrow a "
        "mean far outside.",
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
        "The kernel that each method learned from the training rows of the first fold.",
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


def page(results: Sequence[Outcome]) -> str:
    """Write the whole page.

    Parameters
    ----------
    results : sequence of Outcome
        One or more.

    Raises
    ------
    ValueError
        If there is none.
    """
    if not results:
        raise ValueError("expected at least one result to report, got none")
    several = len(results) > 1
    title = _title(results)
    body = _several(results, title) if several else _single(results[0], title)
    return document(title, body)


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
