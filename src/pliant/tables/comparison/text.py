"""Format numbers for tables and sentences, and lay out plain-text tables.

A table is a sequence of rows, and a row maps column keys to cells. A cell is a number, text, a
`Score` (mean ± standard deviation), or None if missing. Control characters are removed from text.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import floor, isfinite, log10
from numbers import Integral, Real
from statistics import median
from typing import NamedTuple, TypeAlias, TypeGuard

import numpy as np

from pliant.core.text import printable

MISSING, MINUS = "–", "−"


WIDTH = 79
"""Width of wrapped text in characters."""


def wrap(text: str, width: int = WIDTH) -> str:
    """Wrap a text to lines of at most `width` characters, or 20 if this is more."""
    return "\n".join(textwrap.wrap(text, max(width, 20), break_on_hyphens=False))


def known(value: float | None) -> TypeGuard[float]:
    """Return True if `value` is a finite number."""
    return value is not None and isfinite(value)


def decimals(values: Iterable[float | None], errors: Iterable[float | None]) -> int:
    """Return the decimals (at most 4) for 3 digits of the largest value, 1 of the median error."""
    largest = max((abs(value) for value in values if known(value)), default=0.0)
    spread = median([error for error in errors if known(error) and error > 0] or [1.0])
    wanted = 2 - floor(log10(largest)) if largest > 0 else 3
    return min(max(wanted, -floor(log10(spread)), 0), 4)


def fixed(value: float | None, digits: int) -> str:
    """Format a number with `digits` decimals, or with an exponent if too small or too large."""
    if not known(value):
        return MISSING
    awkward = value != 0 and not 0.5 * 10.0**-digits <= abs(value) < 1e7
    return _power(value) if awkward else f"{value:.{digits}f}".replace("-", MINUS)


def signed(value: float, digits: int) -> str:
    """Format a difference with its sign, or without a sign if it rounds to zero."""
    text = f"{value:+.{digits}f}"
    return text.replace("-", MINUS) if any(digit in text for digit in "123456789") else text[1:]


def p_value(value: float) -> str:
    """Format a p-value with enough digits to compare it with 0.05."""
    return "< 0.001" if value < 0.001 else f"{value:.4f}" if value < 0.1 else f"{value:.2f}"


def seconds(value: float | None) -> str:
    """Format a time with one or two units: "12 ms", "4.2 s", "2 min 5 s", "2 h"."""
    if not known(value):
        return MISSING
    if value < 1:
        return "< 1 ms" if value < 0.001 else f"{1000 * value:.0f} ms"
    if value < 60:
        return f"{value:.1f} s"
    larger, smaller = ("min", "s") if value < 3600 else ("h", "min")
    whole, rest = divmod(round(value if value < 3600 else value / 60), 60)
    return f"{whole} {larger}" + (f" {rest} {smaller}" if rest else "")


def bytes_of(value: float | None) -> str:
    """Format a number of bytes with a unit: "512 B", "20 kB", "3.2 MB"."""
    if not known(value):
        return MISSING
    units = ["B", "kB", "MB", "GB", "TB"]
    while value >= 999.5 and len(units) > 1:
        value, units = value / 1000, units[1:]
    return f"{value:.{1 if value < 10 and units[0] != 'B' else 0}f} {units[0]}"


def gap(value: float | None) -> str:
    """Format a relative gap with two digits and an exponent."""
    if not known(value):
        return MISSING
    return "0" if value == 0 else _power(value)


def _power(value: float) -> str:
    digits, power = f"{value:.1e}".split("e")
    return f"{digits}e{int(power)}".replace("-", MINUS)


def share_text(value: float, spread: float) -> str:
    """Format a share with its standard deviation if known: "40% ± 3%"."""
    return f"{value:.0%} ± {spread:.0%}" if isfinite(spread) else f"{value:.0%}"


def shortage(error: MemoryError) -> str:
    """Return an error message with the array that NumPy names, if any, and remedies."""
    text = printable(" ".join(str(error).split()), 200).rstrip(".")
    return (
        f"not enough memory{f': {text}' if text else ''}; use fewer rows, a smaller cache "
        "(cache_mb), more memory, or lab-rbf, whose memory use grows linearly, not quadratically, "
        "with the number of rows"
    )


class Score(NamedTuple):
    """A mean with its standard deviation, formatted as ``0.871 ± 0.020``."""

    mean: float
    std: float


TextCell: TypeAlias = str | float | Score | None


@dataclass(frozen=True)
class TextColumn:
    """A column of a plain-text table.

    Attributes
    ----------
    key, title : str
        Key of the column's cells in the rows, and heading (by default the key).
    digits : int
        Decimals of floats.
    missing : str
        Text for a missing cell.
    """

    key: str
    title: str | None = None
    digits: int = 3
    missing: str = "–"


def text_table(
    rows: Sequence[Mapping[str, TextCell]], columns: Sequence[TextColumn | str] | None = None
) -> str:
    """Format rows as a plain-text table.

    Numbers are right-aligned, control characters are removed, and text is truncated to 350
    characters with an ellipsis.

    Parameters
    ----------
    rows : sequence of mappings
        Rows that map column keys to cells.
    columns : sequence of TextColumn or str, optional
        Columns in order; by default all keys as they first appear. Raises ValueError if empty.
    """
    lines = [[head, "-" * len(head), *body] for head, _, body in laid_out(rows, columns, str)]
    return "".join(f"{'  '.join(line).rstrip()}\n" for line in zip(*lines, strict=True))


def laid_out(
    rows: Sequence[Mapping[str, TextCell]],
    columns: Sequence[TextColumn | str] | None,
    escape: Callable[[str], str],
) -> list[tuple[str, bool, list[str]]]:
    """Return heading, numeric flag and cells of each column, escaped and padded to equal width."""
    keys = dict.fromkeys(key for row in rows for key in row)
    shown = [TextColumn(c) if isinstance(c, str) else c for c in (columns or keys)]
    if not shown:
        raise ValueError("expected at least one column to show, got no columns and no rows")
    blocks = []
    for column in shown:
        cells = [row.get(column.key) for row in rows]
        words = [isinstance(cell, str | bool | np.bool_) for cell in cells if cell is not None]
        numeric = bool(words) and not any(words)
        title = _clean(column.key if column.title is None else column.title)
        head, *body = [escape(text) for text in (title, *(_written(c, column) for c in cells))]
        if numeric:  # align the ± signs
            parts = [text.partition(" ±") for text in body]
            widest = max(len(sign + spread) for _, sign, spread in parts)
            body = [f"{value}{(sign + spread).rjust(widest)}" for value, sign, spread in parts]
        width = max(3, len(head), *map(len, body))
        justify = str.rjust if numeric else str.ljust
        blocks.append((justify(head, width), numeric, [justify(text, width) for text in body]))
    return blocks


def _written(cell: object, column: TextColumn) -> str:
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
    """Collapse white space, drop control characters, and truncate."""
    return printable(" ".join(text.split()), 350)  # the longest float has 313 characters
