"""Infer the kind of a column, such as numbers, dates, categories or ids, and encode it."""

from __future__ import annotations

import re
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from pliant.core.exceptions import TableError
from pliant.core.text import count, quoted
from pliant.core.typing import Array
from pliant.tables._cells import (
    DATE_PARTS,
    MISSING,
    READERS,
    DateOrder,
    Kind,
    calendar_features,
    find_orders,
    infer_kind,
    is_date,
    is_integer,
    read_dates,
    read_texts,
    refuse_missing,
)
from pliant.tables._names import listed, row_name

if TYPE_CHECKING:
    import pandas as pd

Missing: TypeAlias = Literal["impute", "error"]

MIN_ROWS = 20
"""Number of rows, or distinct texts, up to which no column is constant, free text or ids."""

MIN_SHARE = 0.9
"""Minimum share of distinct texts for ids; of dates for other texts to be errors; of number-like
texts for a note."""

TEXT_WIDTH = 512
"""Number of columns that the words of a text and their parts are hashed into."""

ID_NAME = re.compile(
    r"(?:.*[\W_])?(?i:id|ids|uuid|guid|key|index|idx|row|rowid|rownum|nr|no|lfd|pk)(?:[\W_].*)?"
    r"|.*[a-z](?:Id|ID|Key|Nr|No)|Unnamed: \d+(?:\.\d+)?"
)
CODE_NAME = re.compile(
    r"(?:.*[\W_])?(?i:zip|zipcode|plz|postcode|postal|code|cd)(?:[\W_].*)?|.*[a-z](?:Code|Zip)"
)
NUMBER_LIKE = re.compile(r"[-+$€£]?\d[\d.,']*(e[-+]?\d+)?[%$€£]?", re.IGNORECASE)
"""Names of id columns (including pandas' row numbers) and of code columns; number-like text without
spaces, such as ``0,5``, ``1,250.00`` or ``3%``."""


class UnknownCategoryWarning(UserWarning):
    """A categorical column holds a value that is not in the training table."""


@dataclass(frozen=True)
class LeftOut:
    """A column that is not used as a feature, with the reason."""

    name: str
    reason: Literal["id", "constant", "empty"]


@dataclass(frozen=True)
class Column:
    """A feature column.

    Parameters
    ----------
    name : str
        The column name.
    kind : {"numeric", "boolean", "categorical", "date", "text"}
        Numbers stay as they are. Booleans become 0 and 1, categories codes from 0, dates calendar
        features, and text hashed word counts.
    categories : tuple of str, default=()
        The values of a categorical column, in alphabetical order.
    parts : tuple of str, default=()
        The calendar features of a date column: a subset of days, year, month, day of year, weekday
        and hour.
    order : {"ymd", "dmy", "mdy"}, optional
        The order of year, month and day in dates written as text.
    origin : float, default=0
        The origin of the feature ``days``, in days from 1970.
    """

    name: str
    kind: Kind
    categories: tuple[str, ...] = ()
    parts: tuple[str, ...] = ()
    order: DateOrder | None = None
    origin: float = 0.0

    def __post_init__(self) -> None:
        for name, kind in (("categories", "categorical"), ("parts", "date")):
            values = getattr(self, name)
            if bool(values) != (self.kind == kind) or len(set(values)) < len(values):
                raise ValueError(f"column {quoted(self.name)}: unexpected {name} of {self.kind}")
        if list(self.categories) != sorted(self.categories) or not set(self.parts) <= set(
            DATE_PARTS
        ):
            raise ValueError(f"column {quoted(self.name)}: unexpected category order or date part")

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The names of the columns in the feature matrix, such as ``day (weekday)``."""
        if self.kind == "date":
            return tuple(f"{self.name} ({part})" for part in self.parts)
        if self.kind == "text":
            return tuple(f"{self.name} (hash {k})" for k in range(TEXT_WIDTH))
        return (self.name,)

    def encode(self, column: pd.Series, reported: set[str]) -> Array:
        """Return the column as float64 features, shape (n, len(feature_names)).

        Missing values are NaN; an unknown category gets the code after the last one.

        Parameters
        ----------
        column : pandas.Series
            The column of a table, with n cells.
        reported : set of str
            Names of columns with a warning about unknown categories; this name may be added.

        Raises
        ------
        TableError
            If a cell does not have the column's kind.
        """
        if self.kind == "categorical":
            return self._codes(read_texts(column), reported)[:, None]
        if self.kind == "date":
            return calendar_features(read_dates(column, self.order), self.parts, self.origin)
        if self.kind == "text":
            return _hash_words(read_texts(column).tolist())
        return READERS[self.kind](column)[:, None]

    def _codes(self, cells: npt.NDArray[np.object_], reported: set[str]) -> Array:
        """Return the code of each category; an unknown ``1.0`` is ``1``, as pandas may write it."""
        place = {text: float(j) for j, text in enumerate(self.categories)}
        unknown = float(len(place))

        def code(cell: str | None) -> float:
            if cell is None:
                return np.nan
            return place.get(cell, place.get(cell.removesuffix(".0"), unknown))

        codes = np.fromiter(map(code, cells), np.float64, len(cells))
        if (codes == unknown).any() and self.name not in reported:
            reported.add(self.name)
            value = cells[int((codes == unknown).argmax())]
            warnings.warn(
                f"column {quoted(self.name)} has the value {quoted(value)}, which is not in the "
                "training table; such values belong to no category",
                UnknownCategoryWarning,
                stacklevel=2,
            )
        return codes


def _hash_words(cells: Sequence[str | None]) -> Array:
    """Return hashed counts of words and of their parts, normalized per row."""
    from sklearn.feature_extraction.text import HashingVectorizer

    # misspelt words share most of their parts of three and four characters
    kinds: list[tuple[str, tuple[int, int]]] = [("word", (1, 1)), ("char_wb", (3, 4))]
    features = [
        HashingVectorizer(
            n_features=TEXT_WIDTH // 2, analyzer=kind, ngram_range=lengths, alternate_sign=False
        )
        .transform([cell or "" for cell in cells])
        .toarray()
        for kind, lengths in kinds
    ]
    return np.concatenate(features, axis=1)


@dataclass
class ColumnProfile:
    """The cells and options of a column, for which `infer` finds the kind and collects notes."""

    cells: pd.Series
    missing: Missing
    keep: bool
    categorical: bool
    date_order: DateOrder | None
    notes: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.name = str(self.cells.name)

    def infer(self) -> Column | LeftOut:
        """Infer the kind of the column; raise TableError for unusable cells."""
        kind = infer_kind(self.cells)
        if not self.cells.notna().any():
            return LeftOut(self.name, "empty")
        if self.missing == "error":
            advice = (
                "fill them in, leave the rows out, or have them imputed "
                "(--missing impute, in Python missing='impute')"
            )
            refuse_missing(self.cells, advice)
        if kind == "categorical" or self.categorical:
            column = self._infer_texts()
        elif kind == "date":
            column = self._infer_dates(read_dates(self.cells, None), None)
        else:
            column = self._infer_numbers(kind)
        return LeftOut(self.name, column) if isinstance(column, str) else column

    def _infer_numbers(self, kind: Kind) -> Column | Literal["id", "constant"]:
        numbers = READERS[kind](self.cells)
        present = numbers[~np.isnan(numbers)]
        if not self.keep and len(present) == len(numbers):
            if len(numbers) > MIN_ROWS and (numbers == numbers[0]).all():
                return "constant"
            if kind == "numeric" and _are_ids(numbers, ID_NAME.fullmatch(self.name) is not None):
                return "id"
        if kind == "numeric" and CODE_NAME.fullmatch(self.name) and is_integer(present).all():
            self.notes.append(
                f"integers in {quoted(self.name)} look like codes and are used as numbers "
                f"(--categorical {quoted(self.name)} for categories)"
            )
        return Column(self.name, kind)

    def _infer_texts(self) -> Column | Literal["id", "constant"]:
        """Infer the kind of a text column: booleans, dates, free text, categories or ids."""
        import pandas as pd

        counts = Counter(text for text in read_texts(self.cells).tolist() if text is not None)
        categories = tuple(sorted(counts))
        declared = isinstance(self.cells.dtype, pd.CategoricalDtype)
        if self.categorical or declared:
            return Column(self.name, "categorical", categories)
        if (dates := self._find_dates(counts)) is not None:
            return dates
        distinct, present = len(counts), counts.total()
        if distinct == 1 and not self.keep and present == len(self.cells) > MIN_ROWS:
            return "constant"
        if all(text.strip().lower() in ("true", "false") for text in counts):
            return Column(self.name, "boolean")

        def share(measure: Callable[[str], float]) -> float:
            return sum(times * measure(text) for text, times in counts.items()) / present

        many = distinct > 50_000  # maximum number of categories
        unlike = distinct > max(MIN_ROWS, MIN_SHARE * present) or many
        # free text: over 30 % of the texts are distinct, with at least three words on average
        wordy = (distinct > MIN_ROWS and distinct > 0.3 * present) or many
        if (wordy and share(lambda t: len(t.split())) >= 3.0) or (unlike and self.keep):
            return Column(self.name, "text")
        if share(lambda t: NUMBER_LIKE.fullmatch("".join(t.split())) is not None) > MIN_SHARE:
            self.notes.append(
                f"column {quoted(self.name)} holds text that looks like numbers, such as "
                f"{quoted(next(iter(counts)))}: it is used as text"
            )
        return "id" if unlike else Column(self.name, "categorical", categories)

    def _find_dates(self, counts: Counter[str]) -> Column | Literal["constant"] | None:
        """Return a date column if most texts are dates; raise TableError for the other texts."""
        import pandas as pd

        cells = [text for text in counts if text.strip() not in MISSING]
        if not any(map(is_date, cells[:MIN_ROWS])):
            return None
        orders, strange = find_orders(cells)
        if not orders or len(strange) >= (1 - MIN_SHARE) * len(cells):
            return None
        if strange:
            row = row_name(self.cells.index, read_texts(self.cells).tolist().index(strange[0]))
            raise TableError(
                f"column {quoted(self.name)} holds dates, but {quoted(strange[0])} in {row} is not "
                f"a date: correct it, read {listed(strange, 3)} as missing (--na-values), or leave "
                "the column out (--drop)"
            )
        order = self.date_order or self._choose_order(orders, cells)
        for word in counts.keys() - {*cells}:
            self.notes.append(
                f"column {quoted(self.name)}: {count(counts[word], 'cell')} {quoted(word)} "
                "read as missing"
            )
        try:
            days = read_dates(pd.Series(cells, name=self.name, dtype=object), order)
        except TableError:
            raise TableError(
                f"column {quoted(self.name)} holds dates with day and month in different orders: "
                "leave it out (--drop)"
            ) from None
        return self._infer_dates(days, order)

    def _choose_order(self, orders: Sequence[DateOrder], cells: Sequence[str]) -> DateOrder:
        """Return the order of day and month; ambiguous dates with slashes have the month first."""
        if len(orders) == 1 or "ymd" in orders:
            return orders[0]
        order: DateOrder = "mdy" if "/" in cells[0] else "dmy"
        first, other = ("month", "dmy") if order == "mdy" else ("day", "mdy")
        self.notes.append(
            f"dates in {quoted(self.name)} may start with day or month: "
            f"the {first} is read first (--date-order {other} for the other)"
        )
        return order

    def _infer_dates(self, days: Array, order: DateOrder | None) -> Column | Literal["constant"]:
        """Return a date column with the calendar features that vary."""
        features = calendar_features(days)
        low, high = np.nanmin(features, axis=0), np.nanmax(features, axis=0)
        varying = tuple(part for part, a, b in zip(DATE_PARTS, low, high, strict=True) if a < b)
        if not varying and not self.keep:
            return "constant"
        parts = varying or ("days",)
        return Column(self.name, "date", parts=parts, order=order, origin=float(low[0]))


def _are_ids(numbers: Array, named: bool) -> bool:
    """Return True for row numbers, and for integers in a column named like an id."""
    rows, low, steps = len(numbers), numbers.min(), np.diff(numbers)
    if rows <= MIN_ROWS or not is_integer(numbers).all():
        return False
    if (steps > 0).all() or (steps < 0).all():
        return named or (low in (0, 1) and bool(numbers.max() - low + 1 == rows))
    return named and np.unique(numbers).size == rows
