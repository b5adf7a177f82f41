"""The different texts of a column, and numbers made of free text."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from pliant.core.typing import Array
from pliant.tables._names import row_name
from pliant.tables._values import number, texts

if TYPE_CHECKING:
    import pandas as pd

MOST_TEXTS = 50_000
"""The most different texts of a column that are counted, and so the most categories."""

MOST_STRANGE = 4
"""Texts that are no numbers which are kept, among numbers."""

NUMBER_LIKE = re.compile(r"[-+$€£]?\d[\d.,']*(e[-+]?\d+)?[%$€£]?", re.IGNORECASE)
"""What a person would read as a number, spaces aside: ``0,5``, ``1,250.00``, ``3%``."""

TWO_NUMBERS = re.compile(r"(\d{1,2})[-/.](\d{1,2})[-/.]\d")
"""The first two numbers of a date that does not begin with the year."""

LAST_MONTH = 12

TEXT_WIDTH = 512
"""Columns that the words of a text, and parts of words, are hashed into."""

PARTS_OF_WORDS = (3, 4)
"""Characters of a part of a word; parts are alike where words are misspelt."""


@dataclass
class TextCounts:
    """The different texts of a column, as far as it was read.

    `counts` has how often each of the first `MOST_TEXTS` occurs, in the order of their first rows,
    and `places` the index and the position of these rows. `present` counts all cells with a text,
    `words` the words in them and `like_numbers` those that look like a number; `strange` has the
    first texts that are none, with their places. `days` has the places, 0 or 1, of the numbers that
    are too large for a month among texts beyond the first.
    """

    counts: Counter[str] = field(default_factory=Counter)
    places: dict[str, tuple[pd.Index[Any], int]] = field(default_factory=dict)
    strange: dict[str, tuple[pd.Index[Any], int]] = field(default_factory=dict)
    present: int = 0
    words: int = 0
    like_numbers: int = 0
    overflow: bool = False
    days: set[int] = field(default_factory=set)

    def add(self, column: pd.Series) -> None:
        """Count the texts of a column, or of the next chunk of one."""
        import pandas as pd

        codes, values = pd.factorize(column)
        cells = texts(pd.Series(values, name=column.name))
        firsts = np.full(len(cells), len(column))
        np.minimum.at(firsts, codes[codes >= 0], np.flatnonzero(codes >= 0))
        counts = np.bincount(codes[codes >= 0], minlength=len(cells)).tolist()
        for cell, count, first in zip(cells, counts, firsts.tolist(), strict=True):
            self._add(cell, count, (column.index, first))

    def _add(self, cell: str, count: int, place: tuple[pd.Index[Any], int]) -> None:
        """Count a text that occurs in `count` cells, first in `place`."""
        self.present += count
        self.words += count * len(cell.split())
        self.like_numbers += count * _looks_like_a_number(cell)
        if len(self.strange) < MOST_STRANGE and np.isnan(number(cell)):
            self.strange.setdefault(cell, place)
        if cell in self.counts:
            self.counts[cell] += count
        elif len(self.counts) < MOST_TEXTS:
            self.counts[cell] = count
            self.places[cell] = place
        else:
            self.overflow = True
            if self._shows_the_order(cell):
                self.counts[cell] = count
                self.places[cell] = place

    def _shows_the_order(self, cell: str) -> bool:
        """Whether a text is the first date whose numbers show which of them is the day.

        A log of a year has more than `MOST_TEXTS` different times before its 13th day.
        """
        match = TWO_NUMBERS.match(cell)
        places = {k for k in (0, 1) if match and int(match[k + 1]) > LAST_MONTH}
        fresh = places - self.days
        self.days |= places
        return bool(fresh)

    def merged(self, same: Callable[[str], str]) -> TextCounts:
        """Return the counts of texts of which those that `same` makes equal are one."""
        counts: Counter[str] = Counter()
        places: dict[str, tuple[pd.Index[Any], int]] = {}
        for text, number_of in self.counts.items():
            counts[same(text)] += number_of
            places.setdefault(same(text), self.places[text])
        return replace(self, counts=counts, places=places)

    def place(self, text: str) -> str:
        """Return the name of the first row with a text."""
        return row_name(*self.places[text])

    @property
    def first_strange(self) -> tuple[str, str]:
        """The first text that is no number, and the name of its row."""
        text, place = next(iter(self.strange.items()))
        return text, row_name(*place)

    @property
    def words_a_cell(self) -> float:
        """The mean number of words."""
        return self.words / max(1, self.present)


def hashed(cells: Sequence[str | None], width: int = TEXT_WIDTH) -> Array:
    """Return texts as counts of words and of parts of words, hashed into columns.

    Each kind has half of the columns, and counts of length 1.

    Nothing is learned from the texts, so that a column has the same meaning in all tables.

    Parameters
    ----------
    cells : sequence of n str or None
        A missing text has no words.
    width : int

    Returns
    -------
    array of shape (n, width)
    """
    from sklearn.feature_extraction.text import HashingVectorizer

    there = [cell or "" for cell in cells]
    kinds: list[tuple[str, tuple[int, int], int]] = [
        ("word", (1, 1), (width + 1) // 2),
        ("char_wb", PARTS_OF_WORDS, width // 2),
    ]
    features = [
        HashingVectorizer(
            n_features=columns, analyzer=kind, ngram_range=lengths, alternate_sign=False
        )
        .transform(there)
        .toarray()
        for kind, lengths, columns in kinds
        if columns
    ]
    return np.concatenate(features, axis=1)


def _looks_like_a_number(text: str) -> bool:
    """Return whether a text looks like a number to a person."""
    return NUMBER_LIKE.fullmatch("".join(text.split())) is not None
