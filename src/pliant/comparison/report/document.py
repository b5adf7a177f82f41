"""The document around a page: its policy, its style, its script."""

from __future__ import annotations

import base64
import hashlib
from importlib.resources import files

from pliant.comparison.report.markup import Markup, tag


def document(title: str, body: Markup) -> str:
    """Put a body into a document that can load and run nothing but its own style and script.

    Parameters
    ----------
    title : str
    body : Markup
    """
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
