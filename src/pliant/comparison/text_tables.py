"""Tables of results as plain text.

A table is a sequence of rows, each a mapping from column key to cell. Cells are numbers, text,
`Score` (mean ± spread, with a mark) or None for what is missing; text is made harmless first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import TypeAlias

import numpy as np

from pliant.core.text import printable

LONGEST_CELL = 350
"""Characters of a cell or a heading at most; the largest float has 313 with three decimals."""


@dataclass(frozen=True)
class Score:
    """A measured number with its spread and a mark, shown as ``0.871 ± 0.020 *``.

    Attributes
    ----------
    mean : float
    std : float or None
        The spread, in the units of the mean; None leaves it out.
    mark : str
        What stands behind the number, such as the sign of a significant difference.
    """

    mean: float
    std: float | None = None
    mark: str = ""


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
    return [_block(rows, column, escape) for column in _columns(rows, columns)]


def _columns(
    rows: Sequence[Mapping[str, Cell]], columns: Sequence[Column | str] | None
) -> list[Column]:
    keys = dict.fromkeys(key for row in rows for key in row)
    shown = [Column(c) if isinstance(c, str) else c for c in (columns or keys)]
    if not shown:
        raise ValueError("expected at least one column to show, got no columns and no rows")
    return shown


def _block(
    rows: Sequence[Mapping[str, Cell]], column: Column, escape: Callable[[str], str]
) -> tuple[str, bool, list[str]]:
    """Lay out one column."""
    cells = [row.get(column.key) for row in rows]
    cut = [tuple(escape(_clean(part)) for part in _parts(cell, column)) for cell in cells]
    numeric = _is_numeric(cells)
    body = _align(cut) if numeric else [value for value, _, _ in cut]
    title = escape(_clean(column.key if column.title is None else column.title))
    width = max(3, len(title), *map(len, body))
    justify = str.rjust if numeric else str.ljust
    return justify(title, width), numeric, [justify(line, width) for line in body]


def _parts(cell: object, column: Column) -> tuple[str, str, str]:
    """Write a cell as value, spread and mark."""
    if cell is None:
        return column.missing, "", ""
    if isinstance(cell, Score):
        spread = "" if cell.std is None else f"± {cell.std:.{column.digits}f}"
        return f"{cell.mean:.{column.digits}f}", spread, cell.mark
    if isinstance(cell, bool | np.bool_):
        return "yes" if cell else "no", "", ""
    if isinstance(cell, Integral) or not isinstance(cell, Real):
        return str(cell), "", ""
    return f"{cell:.{column.digits}f}", "", ""


def _is_numeric(cells: Iterable[Cell]) -> bool:
    """Return whether a column holds numbers, and besides them nothing but gaps."""
    kinds = {type(cell) for cell in cells if cell is not None}
    return bool(kinds) and not any(issubclass(kind, str | bool | np.bool_) for kind in kinds)


def _align(cut: Sequence[tuple[str, ...]]) -> list[str]:
    """Put values, spreads and marks below each other."""
    widths = [max(map(len, parts)) for parts in zip(*cut, strict=True)]
    lines = ((f"{v:>{widths[0]}}", f"{s:>{widths[1]}}", f"{m:<{widths[2]}}") for v, s, m in cut)
    return [" ".join(part for part in line if part) for line in lines]


def _clean(text: str) -> str:
    """Turn runs of white space into single spaces, drop control and format characters, and cut."""
    return printable(" ".join(text.split()), LONGEST_CELL)
