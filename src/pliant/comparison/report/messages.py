"""The warnings and errors of each method, each text once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from pliant.comparison.record import Entry
from pliant.comparison.report.markup import Markup, tag
from pliant.comparison.report.view import View
from pliant.core.text import count

MOST = 12
"""Different texts of a method at most."""


def messages(view: View) -> Markup:
    """List what went wrong, method by method."""
    items = [_item(view, standing.method) for standing in view.standings]
    shown = [item for item in items if item is not None]
    if not shown:
        return tag("p", "There were none.")
    return tag("dl", shown, class_="messages")


def _item(view: View, entry: Entry) -> Markup | None:
    records = view.records(entry.name)
    errors = Counter(error for record in records if (error := record.get("error")))
    warned = Counter(text for record in records for text in set(record.get("warnings") or ()))
    lines = [*_lines("Error", errors), *_lines("Warning", warned)]
    if not lines and entry.status in ("error", "skipped") and entry.reason:
        lines = [tag("dd", tag("strong", "Reason"), " ", entry.reason)]
    return tag("div", tag("dt", entry.title), lines) if lines else None


def _lines(word: str, texts: Counter[str]) -> Iterable[Markup]:
    for text, times in texts.most_common(MOST):
        often = tag("span", f"in {count(times, 'fold')}", class_="note")
        yield tag("dd", tag("strong", word, class_=word.lower()), " ", text, " ", often)
    if len(texts) > MOST:
        yield tag("dd", f"and {len(texts) - MOST} other texts", class_="note")
