"""Tables of results as Markdown, with the layout of `pliant.tables.comparison.text.text_table`."""

from __future__ import annotations

import html
import re
from collections.abc import Mapping, Sequence

from pliant.tables.comparison.text import TextCell, TextColumn, laid_out

# Punctuation that starts markup; underscores only outside of words.
_MARKUP = re.compile(r"[\\`*\[\]|~$]|(?<![^\W_])_|_(?![^\W_])")


def markdown_table(
    rows: Sequence[Mapping[str, TextCell]], columns: Sequence[TextColumn | str] | None = None
) -> str:
    """Render rows as a GitHub-style Markdown table; raise ValueError if there is no column.

    Each row maps column keys to cells. By default every key is a column, in the order of first
    appearance. Columns of numbers are aligned to the right. Pipes, brackets, emphasis, code and
    HTML are escaped, and control characters removed.
    """
    blocks = laid_out(rows, columns, _escape)
    lines = [[title, _rule(title, numeric), *body] for title, numeric, body in blocks]
    return "".join(f"| {' | '.join(line)} |\n" for line in zip(*lines, strict=True))


def _rule(title: str, numeric: bool) -> str:
    return "-" * (len(title) - 1) + (":" if numeric else "-")


def _escape(text: str) -> str:
    """Escape text for a Markdown table."""
    return _MARKUP.sub(r"\\\g<0>", html.escape(text, quote=False))
