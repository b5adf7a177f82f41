"""Is a text column one of categories? Names, dates and misspelt numbers are not."""

from __future__ import annotations

import re
import warnings
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from pliant.core.exceptions import TableError
from pliant.core.files import quoted
from pliant.tables._values import number, row_name, texts

if TYPE_CHECKING:
    import pandas as pd

MAX_CATEGORIES = 200
"""More different texts than this are no categories."""

MAX_DISTINCT = 0.9
"""Nor are texts of which a larger part than this differ, once there are more than 20."""

FEW = 20
"""So few texts do not show what was meant."""

NUMBER_LIKE = re.compile(r"[-+$€£]?\d[\d.,']*(e[-+]?\d+)?[%$€£]?", re.IGNORECASE)
"""What a person would read as a number, spaces aside: ``0,5``, ``1,250.00``, ``3%``."""

MOSTLY = 0.9
"""A text column of which a larger part looks like numbers deserves a warning."""


@dataclass
class TextCounts:
    """The different texts of a column, as far as it was read.

    `counts` has how often each occurs, in the order of their first rows, and `places` the index
    and the position of these rows; `rows` counts those without a text too.
    """

    counts: Counter[str] = field(default_factory=Counter)
    places: dict[str, tuple[pd.Index[Any], int]] = field(default_factory=dict)
    rows: int = 0

    @property
    def too_many(self) -> bool:
        """Whether these are no categories, however many rows there are."""
        return len(self.counts) > MAX_CATEGORIES

    def add(self, column: pd.Series) -> None:
        """Count the texts of a column, or of the next chunk of one."""
        import pandas as pd

        codes, values = pd.factorize(column)
        cells = texts(pd.Series(values, name=column.name))
        firsts = np.full(len(cells), len(column))
        np.minimum.at(firsts, codes[codes >= 0], np.flatnonzero(codes >= 0))
        counts = np.bincount(codes[codes >= 0], minlength=len(cells)).tolist()
        for cell, count, first in zip(cells, counts, firsts.tolist(), strict=True):
            self.counts[cell] += count
            self.places.setdefault(cell, (column.index, first))
        self.rows += len(column)

    @property
    def commonest(self) -> str:
        """The text that occurs most often; the first in order among equals."""
        return max(sorted(self.counts), key=self.counts.__getitem__)

    @property
    def example(self) -> str:
        """The first text that is no number, or else the first text, with its row."""
        strange = self.strange
        text = next(iter(self.counts)) if strange is None else strange
        return f"{quoted(text)} in {row_name(*self.places[text])}"

    @property
    def strange(self) -> str | None:
        """The first text that is no number."""
        return next((text for text in self.counts if np.isnan(number(text))), None)

    @property
    def like_numbers(self) -> bool:
        """Whether most texts look like numbers, and not all are."""
        total = self.counts.total()
        alike = sum(n for text, n in self.counts.items() if _looks_like_a_number(text))
        return total > FEW and alike > MOSTLY * total and self.strange is not None


def check_categories(name: object, seen: TextCounts) -> None:
    """Refuse a column of too many different texts; warn where most of them look like numbers."""
    name, distinct = quoted(name), len(seen.counts)
    if seen.too_many or distinct > max(FEW, MAX_DISTINCT * seen.rows):
        raise TableError(
            f"column {name} has {distinct} different texts in {seen.rows} rows, such as "
            f"{seen.example}; expected numbers with a decimal point, or at most "
            f"{MAX_CATEGORIES} categories that recur: correct it or leave it out (--drop {name})"
        )
    if seen.like_numbers:
        warnings.warn(
            f"column {name} is taken as {distinct} categories: most of its cells look like "
            f"numbers, but {seen.example} is none",
            stacklevel=2,
        )


def _looks_like_a_number(text: str) -> bool:
    """Return whether a text looks like a number to a person."""
    return NUMBER_LIKE.fullmatch("".join(text.split())) is not None
