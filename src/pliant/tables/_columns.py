"""Decide what each column is, such as numbers, dates, categories or ids; turn it into numbers."""

from __future__ import annotations

import datetime as dt
import re
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

import numpy as np
import numpy.typing as npt

from pliant.core.exceptions import TableError
from pliant.core.text import count, quoted
from pliant.core.typing import Array
from pliant.tables._dates import PARTS, DateOrder, calendar, is_date, moments, orders_of
from pliant.tables._names import listed, row_name
from pliant.tables._values import MISSING, READERS, Kind, kind_of, refuse_missing, texts, whole

if TYPE_CHECKING:
    import pandas as pd

Missing: TypeAlias = Literal["impute", "error"]

FEW = 20
"""Maximum number of rows of a table in which ids and constants are not looked for."""

MAX_DISTINCT = 0.9
"""Share of different texts above which a column holds ids or free text, no categories."""

MOST_CATEGORIES = 50_000
"""Maximum number of categories of a column."""

MOSTLY = 0.9
"""Share of dates among different texts above which the others are errors; of texts that look like
numbers above which they are reported."""

WORDS = 3.0
"""Minimum mean number of words in a cell of free text."""

TEXT_DISTINCT = 0.3
"""Minimum share of different texts in free text."""

TEXT_WIDTH = 512
"""Columns that the words of a text, and parts of words, are hashed into."""

PARTS_OF_WORDS = (3, 4)
"""Characters of a part of a word; parts are alike where words are misspelt."""

MOST_WIDTH = 4096
"""Maximum number of columns of a text."""

CODES = (3, 50)
"""Integers of at least three digits, and of at most 50 values, that recur may be codes."""

ADVICE = (
    "fill them in, leave the rows out, or have them imputed "
    "(--missing impute, in Python missing='impute')"
)

ID_NAME = re.compile(
    r"(?:.*[\W_])?(?i:id|ids|uuid|guid|key|index|idx|row|rowid|rownum|nr|no|lfd|pk)(?:[\W_].*)?"
    r"|.*[a-z](?:Id|ID|Key|Nr|No)|Unnamed: \d+(?:\.\d+)?"
)
"""Names of ids, and of the row numbers that pandas writes."""

CODE_NAME = re.compile(
    r"(?:.*[\W_])?(?i:zip|zipcode|plz|postcode|postal|code|cd)(?:[\W_].*)?|.*[a-z](?:Code|Zip)"
)

NUMBER_LIKE = re.compile(r"[-+$€£]?\d[\d.,']*(e[-+]?\d+)?[%$€£]?", re.IGNORECASE)
"""A text that a person would read as a number, spaces aside: ``0,5``, ``1,250.00``, ``3%``."""


class UnknownCategoryWarning(UserWarning):
    """A text column holds a value that was not there when the schema was fitted."""


@dataclass(frozen=True)
class LeftOut:
    """A column from which nothing is learned, and why."""

    name: str
    reason: Literal["id", "constant", "empty"]


@dataclass(frozen=True)
class Column:
    """A feature column.

    Parameters
    ----------
    name : str
        Its name in a table.
    kind : {"numeric", "boolean", "categorical", "date", "text"}
        Numbers stay, booleans become 0 and 1, categories their numbers from 0, dates calendar
        features, and texts the counts of their words, hashed into columns.
    categories : tuple of str, default=()
        The texts of a categorical column, in alphabetical order.
    parts : tuple of str, default=()
        The calendar features of a date column: some of days, year, month, day of year, weekday and
        hour.
    order : {"ymd", "dmy", "mdy"}, optional
        The order of the numbers of a date that is written as text.
    origin : float, default=0
        The day that the days of a date are counted from, in days from 1970.
    width : int, default=0
        The number of columns of a text.
    """

    name: str
    kind: Kind
    categories: tuple[str, ...] = ()
    parts: tuple[str, ...] = ()
    order: DateOrder | None = None
    origin: float = 0.0
    width: int = 0

    def __post_init__(self) -> None:
        words = list(self.categories)
        fits = {
            "categories": bool(words) == (self.kind == "categorical")
            and len(words) <= MOST_CATEGORIES
            and words == sorted(set(words)),
            "parts": bool(self.parts) == (self.kind == "date")
            and len(set(self.parts)) == len(self.parts)
            and set(self.parts) <= set(PARTS),
            "order": self.order is None or self.kind == "date",
            "width": (0 < self.width <= MOST_WIDTH) if self.kind == "text" else self.width == 0,
        }
        if wrong := [name for name, fit in fits.items() if not fit]:
            raise ValueError(f"column {quoted(self.name)}: unexpected {wrong[0]} of {self.kind}")

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The names of its columns in a feature matrix, such as ``day (weekday)``."""
        if self.kind == "date":
            return tuple(f"{self.name} ({part})" for part in self.parts)
        if self.kind == "text":
            return tuple(f"{self.name} (hash {k})" for k in range(self.width))
        return (self.name,)

    @property
    def example(self) -> object:
        """A cell that the column can hold."""
        if self.kind == "categorical":
            return self.categories[0] if self.categories else "a"
        plain = {"numeric": 0.0, "boolean": True, "date": dt.datetime(2000, 1, 1)}
        return plain.get(self.kind, "a")

    def encode(self, column: pd.Series, reported: set[str]) -> Array:
        """Return the column as float64 features, shape (n, len(feature_names)).

        NaN stands where a value is missing, and the number after the last for a text that is none
        of the categories.

        Parameters
        ----------
        column : pandas.Series
            The column of a table, with n cells.
        reported : set of str
            Names of columns whose unknown categories were reported already; this one is added.

        Raises
        ------
        TableError
            If a cell does not fit the kind.
        """
        if self.kind == "categorical":
            return self._codes(texts(column), reported)[:, None]
        if self.kind == "date":
            return calendar(moments(column, self.order), self.parts, self.origin)
        if self.kind == "text":
            return hashed(texts(column).tolist(), self.width)
        return READERS[self.kind](column)[:, None]

    def _codes(self, cells: npt.NDArray[np.object_], reported: set[str]) -> Array:
        """Return the number of each category; an unknown ``1.0`` is ``1``, as pandas writes it."""
        place: dict[object, float] = {text: float(j) for j, text in enumerate(self.categories)}
        place[None], unknown = np.nan, float(len(self.categories))
        codes = np.array(
            [
                place[c] if c in place else place.get(str(c).removesuffix(".0"), unknown)
                for c in cells
            ],
            dtype=np.float64,
        )
        if (codes == unknown).any() and self.name not in reported:
            reported.add(self.name)
            value = cells[int((codes == unknown).argmax())]
            warnings.warn(
                f"column {quoted(self.name)} has the value {quoted(value)}, which was not there in "
                "training; such values are taken as none of the categories",
                UnknownCategoryWarning,
                stacklevel=2,
            )
        return codes


def hashed(cells: Sequence[str | None], width: int = TEXT_WIDTH) -> Array:
    """Return counts of words and of parts of words of texts, hashed into columns."""
    from sklearn.feature_extraction.text import HashingVectorizer

    kinds: list[tuple[str, tuple[int, int], int]] = [
        ("word", (1, 1), (width + 1) // 2),
        ("char_wb", PARTS_OF_WORDS, width // 2),
    ]
    features = [
        HashingVectorizer(
            n_features=columns, analyzer=kind, ngram_range=lengths, alternate_sign=False
        )
        .transform([cell or "" for cell in cells])
        .toarray()
        for kind, lengths, columns in kinds
        if columns
    ]
    return np.concatenate(features, axis=1)


@dataclass(frozen=True)
class Choices:
    """The user's wishes about the columns of a table; see `TableSchema.fit`."""

    missing: Missing = "impute"
    keep: tuple[str, ...] = ()
    categorical: tuple[str, ...] = ()
    date_order: DateOrder | None = None

    def __post_init__(self) -> None:
        if self.missing not in get_args(Missing):
            got = quoted(self.missing)
            raise ValueError(f"expected missing 'impute' or 'error' (--missing), got {got}")
        if self.date_order not in (None, *get_args(DateOrder)):
            got = quoted(self.date_order)
            raise ValueError(f"expected date_order 'ymd', 'dmy' or 'mdy' (--date-order), got {got}")


@dataclass
class ColumnProfile:
    """The cells of a column, of which `column` decides what they are, with doubts as notes."""

    cells: pd.Series
    choices: Choices
    notes: list[str] = field(default_factory=list)

    @property
    def name(self) -> str:
        """The name of the column."""
        return str(self.cells.name)

    def column(self) -> Column | LeftOut:
        """Return the kind of the column, or raise TableError for unusable cells."""
        kind = kind_of(self.cells)
        if not self.cells.notna().any():
            return LeftOut(self.name, "empty")
        if self.choices.missing == "error":
            refuse_missing(self.cells, ADVICE)
        column = self._column(kind)
        return LeftOut(self.name, column) if isinstance(column, str) else column

    def _column(self, kind: Kind) -> Column | Literal["id", "constant"]:
        if kind == "categorical" or self.name in self.choices.categorical:
            return self._of_texts()
        if kind == "date":
            return self._of_dates(moments(self.cells, None), None)
        numbers = READERS[kind](self.cells)
        if self.name not in self.choices.keep and not np.isnan(numbers).any():
            if len(numbers) > FEW and (numbers == numbers[0]).all():
                return "constant"
            if kind == "numeric" and _are_ids(numbers, ID_NAME.fullmatch(self.name) is not None):
                return "id"
        present = numbers[~np.isnan(numbers)]
        codes = CODE_NAME.fullmatch(self.name) or _are_codes(present, len(numbers))
        if kind == "numeric" and codes and whole(present).all():
            self.notes.append(
                f"integers in {quoted(self.name)} look like codes and are taken as numbers "
                f"(--categorical {quoted(self.name)} for categories)"
            )
        return Column(self.name, kind)

    def _of_texts(self) -> Column | Literal["id", "constant"]:
        """Return the kind of a text column: truth values, dates, free text, categories or ids."""
        import pandas as pd

        counts = Counter(text for text in texts(self.cells).tolist() if text is not None)
        categories = tuple(sorted(counts))
        declared = isinstance(self.cells.dtype, pd.CategoricalDtype)
        if self.name in self.choices.categorical or declared:
            return Column(self.name, "categorical", categories)
        if (dates := self._dates(counts)) is not None:
            return dates
        distinct, present, kept = len(counts), counts.total(), self.name in self.choices.keep
        if distinct == 1 and not kept and present == len(self.cells) > FEW:
            return "constant"
        if all(text.strip().lower() in ("true", "false") for text in counts):
            return Column(self.name, "boolean")

        def share(measure: Callable[[str], float]) -> float:
            return sum(times * measure(text) for text, times in counts.items()) / present

        many = distinct > MOST_CATEGORIES
        unlike = distinct > max(FEW, MAX_DISTINCT * present) or many
        wordy = (distinct > FEW and distinct > TEXT_DISTINCT * present) or many
        if (wordy and share(lambda t: len(t.split())) >= WORDS) or (unlike and kept):
            return Column(self.name, "text", width=TEXT_WIDTH)
        if share(lambda t: NUMBER_LIKE.fullmatch("".join(t.split())) is not None) > MOSTLY:
            self.notes.append(
                f"column {quoted(self.name)} holds texts that look like numbers, such as "
                f"{quoted(next(iter(counts)))}: they are taken as texts"
            )
        return "id" if unlike else Column(self.name, "categorical", categories)

    def _dates(self, counts: Counter[str]) -> Column | Literal["constant"] | None:
        """Return a date column if most texts are dates; refuse those that are none among them."""
        import pandas as pd

        cells = [text for text in counts if text.strip() not in MISSING]
        if not any(map(is_date, cells[:FEW])):
            return None
        orders, strange = orders_of(cells)
        if not orders or len(strange) >= (1 - MOSTLY) * len(cells):
            return None
        if strange:
            raise self._strange(strange)
        order = self.choices.date_order or self._order(orders, cells)
        for word in counts.keys() - {*cells}:
            self.notes.append(
                f"column {quoted(self.name)}: {count(counts[word], 'cell')} {quoted(word)} "
                "read as missing"
            )
        try:
            days = moments(pd.Series(cells, name=self.name, dtype=object), order)
        except TableError:
            raise TableError(
                f"column {quoted(self.name)} holds dates with day and month in several orders: "
                "leave it out (--drop)"
            ) from None
        return self._of_dates(days, order)

    def _order(self, orders: Sequence[DateOrder], cells: Sequence[str]) -> DateOrder:
        """Return the order of day and month; a text with slashes has the month first if unsure."""
        if len(orders) == 1 or "ymd" in orders:
            return orders[0]
        order: DateOrder = "mdy" if "/" in cells[0] else "dmy"
        first, other = ("month", "dmy") if order == "mdy" else ("day", "mdy")
        self.notes.append(
            f"dates in {quoted(self.name)} may have day or month first: "
            f"the {first} is taken as first (--date-order {other} for the other)"
        )
        return order

    def _of_dates(self, days: Array, order: DateOrder | None) -> Column | Literal["constant"]:
        """Return a date column with the parts that vary."""
        features = calendar(days)
        low, high = np.nanmin(features, axis=0), np.nanmax(features, axis=0)
        varying = tuple(part for part, a, b in zip(PARTS, low, high, strict=True) if a < b)
        if not varying and self.name not in self.choices.keep:
            return "constant"
        parts = varying or ("days",)
        return Column(self.name, "date", parts=parts, order=order, origin=float(low[0]))

    def _strange(self, strange: Sequence[str]) -> TableError:
        """Return the error for some texts among dates."""
        row = row_name(self.cells.index, texts(self.cells).tolist().index(strange[0]))
        return TableError(
            f"column {quoted(self.name)} holds dates, but {quoted(strange[0])} in {row} is none: "
            f"correct it, read {listed(strange, 3)} as missing (--na-values) or leave the column "
            "out (--drop)"
        )


def _are_ids(numbers: Array, named: bool) -> bool:
    """Return whether integers have no meaning: numbered rows, or ids by their name."""
    rows, low, steps = len(numbers), numbers.min(), np.diff(numbers)
    if rows <= FEW or not whole(numbers).all():
        return False
    if (steps > 0).all() or (steps < 0).all():
        return named or (low in (0, 1) and bool(numbers.max() - low + 1 == rows))
    return named and np.unique(numbers).size == rows


def _are_codes(numbers: Array, rows: int) -> bool:
    """Return whether numbers may be codes: few integers of the same, large number of digits."""
    values = np.unique(numbers)
    few = CODES[0] <= len(values) <= CODES[1] and rows >= FEW * 10
    if not few or values[0] < 100 or not whole(values).all():
        return False
    digits = {len(str(int(value))) for value in values}
    return len(digits) == 1 and bool(values[-1] - values[0] >= 10 * len(values))
