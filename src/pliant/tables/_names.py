"""Names of columns and rows, and the packages that tables need."""

from __future__ import annotations

import importlib
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import count
from typing import TYPE_CHECKING, Any

from pliant.core.exceptions import TableError
from pliant.core.text import close_names, quoted

if TYPE_CHECKING:
    import pandas as pd

MAX_CELLS = 1_000_000
"""The most cells in one chunk of a table that is read in chunks, if it has several rows."""


def require(package: str) -> Any:
    """Import an optional package, naming the extra that brings it if it is not there."""
    try:
        return importlib.import_module(package)
    except ImportError:
        hint = "pip install 'pliant[cli]'"
        raise ImportError(f"reading tables needs {package}: {hint}") from None


def listed(names: Iterable[object], most: int = 10, longest: int = 80) -> str:
    """Return names in quotes, each of at most `longest` characters, the first `most` of them."""
    quotes = [quoted(name, longest) for name in names]
    more = len(quotes) - most
    return ", ".join(quotes[:most]) + (f" and {more} more" if more > 0 else "")


def check_unique(names: Iterable[str], table: str) -> None:
    """Raise TableError if two columns of ``table`` share a name."""
    twice = [name for name, times in Counter(names).items() if times > 1]
    if twice:
        raise TableError(f"{table} has more than one column named {listed(twice)}")


def named(header: Iterable[str]) -> list[str]:
    """Return column names in which a blank one is ``Unnamed: 0``, with the column's number from 0.

    pandas gives the same name; where a column has it already, ``.1`` is added, or ``.2`` and so on.
    """
    names = list(header)
    taken = set(names)
    for number, name in enumerate(names):
        if not name.strip():
            free = plain = f"Unnamed: {number}"
            more = count(1)
            while free in taken:
                free = f"{plain}.{next(more)}"
            names[number] = free
            taken.add(free)
    return names


def check_present(wanted: Sequence[str], names: Sequence[str]) -> None:
    """Raise TableError listing every wanted column that is not among ``names``."""
    there = set(names)
    absent = [name for name in wanted if name not in there]
    if not absent:
        return
    close = close_names(absent[0], names) if len(absent) == 1 else []
    hint = f"did you mean {listed(close)}?" if close else f"it has {listed(names)}"
    noun = "column" if len(absent) == 1 else f"{len(absent)} columns"
    raise TableError(f"the table lacks the {noun} {listed(absent)}; {hint}")


def row_name(index: pd.Index[Any], position: int) -> str:
    """Return what to call a row: its number from 1, or its label if rows have labels."""
    import pandas as pd

    if isinstance(index, pd.RangeIndex):
        return f"row {int(index[position]) + 1}"
    return f"the row labelled {quoted(index[position])}"
