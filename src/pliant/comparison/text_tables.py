"""Tables of results as plain text.

A table is a sequence of rows, each a mapping from column key to cell. Cells are numbers, text,
`Score` (mean ± spread) or None for what is missing; text is made harmless first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import NamedTuple, TypeAlias

import numpy as np

from pliant.core.text import printable

LONGEST_CELL = 350
"""Characters of a cell or a heading at most; the largest float has 313 with three decimals."""


class Score(NamedTuple):
    """A mean with its spread, in the same units, shown as ``0.871 ± 0.020``."""

    mean: float
    std: float


Cell: TypeAlias = str | float | Score | None


@dataclass(frozen=True)
class Column:
    """How one column is shown.

    Attributes
    ----------
    key : str
        The rows' key.
    title : str or None
        The heading; None takes the key.
    digits : int
        Decimals of floats; integers have none.
    missing : str
        The text where a row has None, or nothing, under this key.
    """

    key: str
    title: str | None = None
    digits: int = 3
    missing: str = "–"


def text_table(
    rows: Sequence[Mapping[str, Cell]], columns: Sequence[Column | str] | None = None
) -> str:
    """Render rows as plain text, with two spaces between columns.

    Parameters
    ----------
    rows : sequence of mappings
        One mapping from column key to cell for each row.
    columns : sequence of Column or str, optional
        What to show, in order; by default every key, in the order of first appearance.

    Returns
    -------
    str
        Lines ending in a newline; columns of numbers are aligned to the right, control
        characters are removed, and longer texts than `LONGEST_CELL` end in an ellipsis.

    Raises
    ------
    ValueError
        If there is no column to show.
    """
    lines = [[head, "-" * len(head), *body] for head, _, body in laid_out(rows, columns, str)]
    return "".join(f"{'  '.join(line).rstrip()}\n" for line in zip(*lines, strict=True))


def laid_out(
    rows: Sequence[Mapping[str, Cell]],
    columns: Sequence[Column | str] | None,
    escape: Callable[[str], str],
) -> list[tuple[str, bool, list[str]]]:
    """Return for each column its heading, whether it holds numbers, and its cells, equally wide.

    `escape` is applied to all texts, after control characters are removed.
    """
    keys = dict.fromkeys(key for row in rows for key in row)
    shown = [Column(c) if isinstance(c, str) else c for c in (columns or keys)]
    if not shown:
        raise ValueError("expected at least one column to show, got no columns and no rows")
    blocks = []
    for column in shown:
        cells = [row.get(column.key) for row in rows]
        words = [isinstance(cell, str | bool | np.bool_) for cell in cells if cell is not None]
        numeric = bool(words) and not any(words)
        title = _clean(column.key if column.title is None else column.title)
        head, *body = [escape(text) for text in (title, *(_written(c, column) for c in cells))]
        if numeric:  # the signs of spreads stand below each other
            parts = [text.partition(" ±") for text in body]
            widest = max(len(sign + spread) for _, sign, spread in parts)
            body = [f"{value}{(sign + spread).rjust(widest)}" for value, sign, spread in parts]
        width = max(3, len(head), *map(len, body))
        justify = str.rjust if numeric else str.ljust
        blocks.append((justify(head, width), numeric, [justify(text, width) for text in body]))
    return blocks


def _written(cell: object, column: Column) -> str:
    """Write a cell in one line."""
    if cell is None:
        return _clean(column.missing)
    if isinstance(cell, Score):
        return f"{cell.mean:.{column.digits}f} ± {cell.std:.{column.digits}f}"
    if isinstance(cell, bool | np.bool_):
        return "yes" if cell else "no"
    if isinstance(cell, Integral) or not isinstance(cell, Real):
        return _clean(str(cell))
    return f"{cell:.{column.digits}f}"


def _clean(text: str) -> str:
    """Turn runs of white space into single spaces, drop control and format characters, and cut."""
    return printable(" ".join(text.split()), LONGEST_CELL)
