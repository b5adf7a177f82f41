"""Is a text column one of categories? Names, dates and misspelt numbers are not."""

from __future__ import annotations

import re
import warnings
from typing import TYPE_CHECKING

import numpy as np

from pliant._exceptions import TableError
from pliant._files import quoted
from pliant.tables._values import number, row_name, texts

if TYPE_CHECKING:
    import pandas as pd

MAX_CATEGORIES = 200
"""More different texts than this are no categories."""

MAX_DISTINCT = 0.9
"""Nor are texts of which a larger part than this differ, once there are more than 20."""

FEW = 20
"""Of so few texts nobody can tell what was meant."""

NUMBER_LIKE = re.compile(r"[-+$€£]?\d[\d.,']*(e[-+]?\d+)?[%$€£]?", re.IGNORECASE)
"""What a person would read as a number, spaces aside: ``0,5``, ``1,250.00``, ``3%``."""

MOSTLY = 0.9
"""A text column of which a larger part looks like numbers deserves a warning."""


def check_categories(column: pd.Series, distinct: int) -> None:
    """Refuse a text column that is not one of categories, and tell if it may be another.

    Parameters
    ----------
    column : pandas.Series
        Texts, of which some may be missing.
    distinct : int
        How many different ones there are.

    Raises
    ------
    TableError
        If too many of them differ.

    Warns
    -----
    UserWarning
        If most of them look like numbers; one that is none is quoted.
    """
    name = quoted(column.name)
    if distinct > MAX_CATEGORIES or distinct > max(FEW, MAX_DISTINCT * len(column)):
        raise TableError(
            f"column {name} has {distinct} different texts in {len(column)} rows, such as "
            f"{_example(column)}; expected numbers with a decimal point, or at most "
            f"{MAX_CATEGORIES} categories that recur: correct it or leave it out (--drop {name})"
        )
    if _like_numbers(column):
        warnings.warn(
            f"column {name} is taken as {distinct} categories: most of its cells look like "
            f"numbers, but {_example(column)} is none",
            stacklevel=2,
        )


def _like_numbers(column: pd.Series) -> bool:
    """Tell whether most texts look like numbers, and not all are."""
    cells = texts(column.dropna())
    alike = sum(NUMBER_LIKE.fullmatch("".join(cell.split())) is not None for cell in cells)
    some_are_none = any(np.isnan(number(cell)) for cell in cells)
    return len(cells) > FEW and alike > MOSTLY * len(cells) and some_are_none


def _example(column: pd.Series) -> str:
    """Quote the first text that is no number, or else the first text, with its row."""
    present = [(i, cell) for i, cell in enumerate(texts(column)) if cell is not None]
    strange = (pair for pair in present if np.isnan(number(pair[1])))
    at, cell = next(strange, present[0])
    return f"{quoted(cell)} in {row_name(column.index, at)}"
