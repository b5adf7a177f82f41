"""What repeats a comparison: versions, the command, the scores as data."""

from __future__ import annotations

import json
from typing import Any

from pliant.comparison.report.markup import Markup, clean, joined, tag
from pliant.comparison.report.view import View
from pliant.core.files import printable
from pliant.core.text import known

ESCAPES = {ord(sign): f"\\u{ord(sign):04x}" for sign in "<>&\u2028\u2029"}
"""Characters that could end a script element, and their escapes."""


def environment(view: View) -> Markup:
    """List versions and the computer."""
    facts = view.result.environment
    pairs = [tag("div", tag("dt", name), tag("dd", value)) for name, value in facts.items()]
    return tag("dl", pairs, class_="facts small") if pairs else tag("p", "Nothing was recorded.")


def again(view: View) -> Markup:
    """Write the command, and the scores of all folds as JSON inside the page."""
    command = view.result.command
    if command:
        shown = tag("pre", tag("code", _verbatim(command)), class_="command", tabindex=0)
    else:
        shown = tag("p", "This comparison was made in Python, by pliant.compare.")
    data = json_block(_scores(view), view.ident("scores"))
    return joined(shown, data)


def json_block(data: object, ident: str) -> Markup:
    """Write data as a script element that holds JSON and that no text inside can leave."""
    written = json.dumps(data, allow_nan=False).translate(ESCAPES)
    return tag("script", Markup(written), type="application/json", id=ident, class_="scores")


def _verbatim(command: str) -> str:
    """Return a command with its spaces as they are; it is longer than other texts may be."""
    return printable(command, 20_000)


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
