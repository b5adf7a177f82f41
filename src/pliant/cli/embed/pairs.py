"""The table of ``--pairs``: which rows are similar, and which are dissimilar."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from pliant.core.exceptions import TableError
from pliant.core.text import quoted
from pliant.core.typing import Indices
from pliant.tables import read_table
from pliant.tables._values import refuse_missing, text_of, texts

if TYPE_CHECKING:
    import pandas as pd

WORDS = {
    **dict.fromkeys(("similar", "same", "1", "yes", "true"), 1),
    **dict.fromkeys(("dissimilar", "different", "-1", "0", "no", "false"), -1),
}
"""How the third column is written, in lower case: 1 for a similar pair, -1 for a dissimilar one."""


def row_names(frame: pd.DataFrame, row_id: str | None) -> dict[str, int]:
    """Return the index of each row by its name: the cell of a column, or its number from 1.

    Raises
    ------
    TableError
        If a name is missing, or is that of two rows.
    """
    if row_id is None:
        return {str(number + 1): number for number in range(len(frame))}
    refuse_missing(frame[row_id], "every row needs a name for --pairs")
    rows: dict[str, int] = {}
    for number, name in enumerate(texts(frame[row_id])):
        if name in rows:
            raise TableError(
                f"column {quoted(row_id)} names row {rows[name] + 1} and row {number + 1} "
                f"{quoted(name)}: expected different names for --id"
            )
        rows[name] = number
    return rows


def read_pairs(path: Path, rows: dict[str, int]) -> tuple[Indices, Indices]:
    """Return similar and dissimilar pairs of row indices, each of shape (n_pairs, 2).

    Raises
    ------
    TableError
        If the table has other than three columns, a row is unknown or paired with itself, a word
        is unknown, or a pair is both similar and dissimilar.
    """
    frame = read_table(path)
    name = quoted(path, 200)
    if frame.shape[1] != 3:
        raise TableError(
            f"{name}: expected three columns, two rows and similar or dissimilar, got "
            f"{frame.shape[1]}"
        )
    if not len(frame):
        raise TableError(f"{name}: expected some pairs, got none")
    for column in frame:
        refuse_missing(frame[column], f"every pair of {name} needs two rows and a word")
    signs: dict[tuple[int, int], int] = {}
    for number, cells in enumerate(frame.itertuples(index=False), start=1):
        pair, sign = _pair([text_of(cell) for cell in cells], rows, f"{name}, row {number}")
        if signs.setdefault(pair, sign) != sign:
            raise TableError(
                f"{name}, row {number}: expected a pair to be similar or dissimilar, got it as both"
            )
    pairs = np.array(list(signs), dtype=np.intp)
    kinds = np.array(list(signs.values()))
    return pairs[kinds > 0], pairs[kinds < 0]


def _pair(cells: list[str], rows: dict[str, int], place: str) -> tuple[tuple[int, int], int]:
    """Return the pair of one row of the table, in ascending order, and its sign."""
    first, second, word = (cell.strip() for cell in cells)
    for row in (first, second):
        if row not in rows:
            known = list(rows)
            raise TableError(
                f"{place}: the table has no row {quoted(row)}; its rows are {quoted(known[0])} to "
                f"{quoted(known[-1])}"
            )
    if first == second:
        raise TableError(f"{place}: expected two different rows, got {quoted(first)} twice")
    sign = WORDS.get(word.lower())
    if sign is None:
        raise TableError(f"{place}: expected similar or dissimilar, got {quoted(word)}")
    low, high = sorted((rows[first], rows[second]))
    return (low, high), sign
