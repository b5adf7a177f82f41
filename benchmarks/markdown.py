"""Tables of results as Markdown, laid out as `pliant.comparison.text_table` lays out plain text."""

from __future__ import annotations

import html
import re
from collections.abc import Mapping, Sequence

from pliant.comparison.text import TextCell, TextColumn, laid_out

# Punctuation that starts markup; an underscore only where it doesn't stand inside a word.
_MARKUP = re.compile(r"[\\`*\[\]|~$]|(?<![^\W_])_|_(?![^\W_])")


def markdown_table(
    rows: Sequence[Mapping[str, TextCell]], columns: Sequence[TextColumn | str] | None = None
) -> str:
    """Render rows as a GitHub-style Markdown table; ValueError if there is no column to show.

    Each row maps column keys to cells. By default every key is a column, in the order of first
    appearance. Columns of numbers are aligned to the right. Text cannot break the table: pipes,
    brackets, emphasis, code and HTML are escaped, control characters removed.
    """
    blocks = laid_out(rows, columns, _escape)
    lines = [[title, _rule(title, numeric), *body] for title, numeric, body in blocks]
    return "".join(f"| {' | '.join(line)} |\n" for line in zip(*lines, strict=True))


def _rule(title: str, numeric: bool) -> str:
    return "-" * (len(title) - 1) + (":" if numeric else "-")


def _escape(text: str) -> str:
    """Make text mean itself inside a Markdown table."""
    return _MARKUP.sub(r"\\\g<0>", html.escape(text, quote=False))
