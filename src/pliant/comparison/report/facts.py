"""The facts of a comparison, its result in words, its warnings, and what repeats it."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from pliant.comparison.record import Entry
from pliant.comparison.report.markup import Markup, clean, joined, tag
from pliant.comparison.report.sentences import sentence
from pliant.comparison.report.view import STATUS, View
from pliant.comparison.text import known, seconds
from pliant.core.text import count, listed, printable

SENTENCE_END = re.compile(r"(?<=[.])\s+(?=[A-Z0-9])")

CLASSES_NAMED = 6
"""Classes that are named at most; others are counted."""

MOST = 12
"""Different warnings or errors of a method at most."""

ESCAPES = {ord(sign): f"\\u{ord(sign):04x}" for sign in "<>&\u2028\u2029"}
"""Characters that could end a script element, and their escapes."""


def summary(view: View) -> Markup:
    """Write the result in words, and whether the run was cut short."""
    stopped = (
        tag("p", "The run was interrupted: what had finished by then is shown.", class_="notice")
        if view.result.interrupted
        else None
    )
    return joined(verdict(sentence(view.standings, view.metric)), stopped)


def verdict(text: str) -> Markup:
    """Write the first sentence large, and warnings below."""
    claim, *rest = SENTENCE_END.split(text, maxsplit=1)
    beware = tag("p", rest, class_="beware") if rest else None
    return joined(tag("p", claim, class_="verdict"), beware)


def facts(view: View) -> Markup:
    """List the facts of the table and of the run."""
    return _listed(_facts(view), "facts")


def environment(view: View) -> Markup:
    """List versions and the computer."""
    versions = view.result.environment.items()
    return _listed(versions, "facts small") if versions else tag("p", "Nothing was recorded.")


def _listed(pairs: Iterable[tuple[str, str]], look: str) -> Markup:
    items = [tag("div", tag("dt", name), tag("dd", value)) for name, value in pairs]
    return tag("dl", items, class_=look)


def _facts(view: View) -> Iterator[tuple[str, str]]:
    sample = view.result.sample
    yield "Rows", str(sample["rows"])
    yield "Features", _features(view)
    yield "Target", f"{sample['target']} ({_target(view)})"
    missing = sample.get("missing") or 0
    yield "Missing values", str(missing or "none")
    if sample.get("groups"):
        yield "Groups", str(sample["groups"])
    if sample.get("ordered"):
        yield "Order", "rows are in the order of time"
    yield "Methods", _methods(view)
    yield "Time", _time(view)


def _features(view: View) -> str:
    sample = view.result.sample
    coded = sample.get("categorical") or 0
    return str(sample["features"]) + (f", {coded} of them categories" if coded else "")


def _target(view: View) -> str:
    classes = view.result.sample.get("classes")
    if not classes:
        return "a number"
    named = listed([str(each) for each in classes], CLASSES_NAMED)
    return count(len(classes), "class", "classes") + f": {named}"


def _methods(view: View) -> str:
    seen = Counter(entry.status for entry in view.result.methods)
    return ", ".join(f"{seen[status]} {word}" for status, word in STATUS.items() if seen[status])


def _time(view: View) -> str:
    budget = view.result.budget
    limit = "no limit" if budget is None else f"limit {seconds(budget)}"
    return f"{seconds(view.result.seconds)} ({limit})"


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


def again(view: View) -> Markup:
    """Write the command, and the scores of all folds as JSON inside the page."""
    command = view.result.command
    if command:
        spaced = printable(command, 20_000)  # with its spaces, and longer than other texts may be
        shown = tag("pre", tag("code", spaced), class_="command", tabindex=0)
    else:
        shown = tag("p", "This comparison was made in Python, by pliant.compare.")
    return joined(shown, json_block(_scores(view), view.ident("scores")))


def json_block(data: object, ident: str) -> Markup:
    """Write data as a script element that holds JSON and that no text inside can leave."""
    written = json.dumps(data, allow_nan=False).translate(ESCAPES)
    return tag("script", Markup(written), type="application/json", id=ident, class_="scores")


def _scores(view: View) -> dict[str, Any]:
    rows = [
        {
            "method": record["method"],
            "repeat": record["repeat"],
            "fold": record["fold"],
            **{name: v if known(v) else None for name, v in record["scores"].items()},
        }
        for record in view.result.records
    ]
    return {"table": clean(view.result.sample["name"]), "scores": rows}
