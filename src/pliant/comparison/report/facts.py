"""The facts and the result of a comparison, the first part of its page."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from pliant.comparison.report.markup import Markup, joined, tag
from pliant.comparison.report.sentences import sentence
from pliant.comparison.report.view import View
from pliant.core.text import count, listed, seconds

SENTENCE_END = re.compile(r"(?<=[.])\s+(?=[A-Z0-9])")

CLASSES_NAMED = 6
"""Classes that are named at most; others are counted."""


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
    pairs = [tag("div", tag("dt", name), tag("dd", value)) for name, value in _facts(view)]
    return tag("dl", pairs, class_="facts")


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
    words = {"done": "complete", "cut": "cut short", "error": "failed", "skipped": "skipped"}
    seen = Counter(entry.status for entry in view.result.methods)
    return ", ".join(f"{seen[status]} {word}" for status, word in words.items() if seen[status])


def _time(view: View) -> str:
    budget = view.result.budget
    limit = "no limit" if budget is None else f"limit {seconds(budget)}"
    return f"{seconds(view.result.seconds)} ({limit})"
