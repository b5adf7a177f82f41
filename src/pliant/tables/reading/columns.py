"""Read cells, infer column kinds, and encode columns as features.

A cell is read the same way from every file: ``1``, ``1.0`` and ``"1"`` are the same number in a
numeric column, and the integer 1 is the category ``"1"`` in a categorical one.
"""

from __future__ import annotations

import re
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from itertools import pairwise, starmap
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

import numpy as np
import numpy.typing as npt

from pliant.core.exceptions import TableError, UnknownCategoryWarning
from pliant.core.text import count, quoted
from pliant.core.typing import Array
from pliant.core.validation import LARGEST
from pliant.tables.reading.names import in_quotes, row_name
from pliant.tables.reading.numerals import LIKE_DECIMAL, LIKE_NUMBER, read_numeral

if TYPE_CHECKING:
    import pandas as pd

Kind: TypeAlias = Literal["numeric", "boolean", "categorical", "date", "text"]

KINDS: dict[str, Kind] = {
    "integer": "numeric",
    "floating": "numeric",
    "mixed-integer-float": "numeric",
    "decimal": "numeric",
    "empty": "numeric",
    "boolean": "boolean",
    "string": "categorical",
    "datetime64": "date",
    "datetime": "date",
    "date": "date",
}
"""Column kind for each type that pandas infers."""

BOOLEANS = {"true": 1.0, "1": 1.0, "false": 0.0, "0": 0.0}
"""Values of boolean cells, as lower-case text."""

MISSING = frozenset(
    {
        *("NA", "N/A", "n/a", "#N/A", "<NA>", "na", "n.a.", "NaN", "nan", "NAN", "\\N"),
        *("NULL", "null", "Null", "None", "?", "-", "--", ".", "#NULL!", "#DIV/0!"),
    }
)
"""Words that mean a missing value in numeric and date columns."""


def infer_kind(column: pd.Series) -> Kind:
    """Return the kind of a column; raise TableError for lists, or numbers mixed with text."""
    from pandas.api.types import infer_dtype

    declared = column.dtype.name == "category"
    kind = infer_dtype(column.cat.categories if declared else column, skipna=True)
    if kind not in KINDS:
        what = "a mixture of types" if kind.startswith("mixed") else f"values of type {kind}"
        raise TableError(
            f"column {quoted(column.name)} holds {what}, expected numbers, booleans, text or "
            "dates: convert it or leave it out (drop=[...])"
        )
    return "categorical" if declared else KINDS[kind]


def read_numbers(column: pd.Series) -> Array:
    """Return the cells as float64, NaN if missing; raise TableError if infinite or too large."""
    from pandas.api.types import is_numeric_dtype

    infer_kind(column)
    values: Array
    if is_numeric_dtype(column.dtype):
        values = column.to_numpy(dtype=np.float64, na_value=np.nan)
    else:  # unlike pandas' parsers, Python's is always exact
        values = np.fromiter(map(_parse_number, column), np.float64, len(column))
    refuse(column, np.isnan(values) & column.notna().to_numpy(), "a number")
    refuse(column, np.isinf(values), "a finite number")
    refuse(column, np.abs(values) > LARGEST, f"a number of at most {LARGEST:g} in absolute value")
    return values


def parse_float(cell: object) -> float:
    """Return the number in a cell, or NaN."""
    if isinstance(cell, str) and ("_" in cell or not cell.isascii()):
        return np.nan
    try:
        return float(cell)  # type: ignore[arg-type]
    except (OverflowError, TypeError, ValueError):
        return np.nan


def _parse_number(cell: object) -> float:
    """Return the number in a cell; booleans are 0 and 1, as in boolean columns."""
    if not isinstance(cell, str):
        return parse_float(cell)
    number = read_numeral(cell)
    if number is None or number.mark or number.limit or number.notation == "code":
        return BOOLEANS.get(cell.strip().lower(), np.nan)
    return parse_float(number.digits.lower().replace("d", "e"))


def is_integer(values: Array) -> npt.NDArray[np.bool_]:
    """Return a mask of the values that are integers exactly representable in float64."""
    return np.asarray((values == np.floor(values)) & (np.abs(values) < 2.0**53))


def read_booleans(column: pd.Series) -> Array:
    """Return the cells as 0.0 or 1.0, NaN if missing; raise TableError for other values."""
    cells = read_texts(column)
    values = np.array([np.nan if c is None else BOOLEANS.get(c.strip().lower(), -1) for c in cells])
    refuse(column, values == -1, "true or false")
    return values


def read_texts(column: pd.Series) -> npt.NDArray[np.object_]:
    """Return the cells as stripped text, shape (n,), None if missing."""
    infer_kind(column)
    cells = np.empty(len(column), dtype=object)
    cells[:] = [cell_text(cell).strip() for cell in column.astype(object)]
    cells[column.isna().to_numpy()] = None
    return cells


def has_outer_spaces(column: pd.Series) -> bool:
    """Return True if a text cell begins or ends with whitespace."""
    if column.dtype.kind != "O" and str(column.dtype) not in ("string", "str", "category"):
        return False
    return any(isinstance(c, str) and c != c.strip() for c in column.unique())


def refuse_missing(column: pd.Series, advice: str, counted: bool = True) -> None:
    """Raise TableError if cells are missing; name the first row and, if `counted`, their number."""
    missing = column.isna().to_numpy()
    if times := int(missing.sum()):
        several = counted and times > 1
        what = f"{times} missing values, the first" if several else "a missing value"
        row = row_name(column.index, int(missing.argmax()))
        raise TableError(f"column {quoted(column.name)} has {what} in {row}: {advice}")


def cell_text(value: object) -> str:
    """Return a cell as text; drop ``.0`` from integers and midnight times from dates."""
    if isinstance(value, float | np.floating | Decimal):
        exact = float(value)
        return str(int(exact)) if exact.is_integer() else str(exact)
    if isinstance(value, datetime):
        return str(value).removesuffix(" 00:00:00")
    return str(value)


def describe_cell(cell: object) -> str:
    """Format an unreadable cell, identically for CSV and Parquet, with advice for the user."""
    code = isinstance(cell, str) and np.isnan(_parse_number(cell))
    value = np.nan if code else parse_float(cell)
    text = cell_text(cell) if value != value else str(value).removesuffix(".0")
    shown = quoted(text) if value != value else text
    return f"{shown}: correct it or read it as missing (na_values=[{quoted(text)}])"


def refuse(column: pd.Series, wrong: npt.NDArray[np.bool_], expected: str) -> None:
    """Raise TableError for the first cell where `wrong` is True."""
    if wrong.any():
        at = int(wrong.argmax())
        raise TableError(
            f"column {quoted(column.name)}: expected {expected} in {row_name(column.index, at)}, "
            f"got {describe_cell(column.iloc[at])}"
        )


# Dates

DateOrder: TypeAlias = Literal["ymd", "dmy", "mdy"]

DATE_PARTS = ("days", "year", "month", "day of year", "weekday", "hour")
"""Calendar features; ``days`` counts from the earliest training date, and Monday is weekday 0."""

SECONDS_PER_DAY = 86_400.0

DATES = {
    name: re.compile(
        day + r"(?:[T ]\s*(?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<second>\d{2})(?:[.,]\d+)?)?"
        r"\s*(?P<half>[AaPp][Mm])?\s*(?:Z|UTC|[-+]\d{2}:?(?:\d{2})?)?)?"
    )
    for name, day in {
        "year first": r"(\d{4})([-/.])(\d{1,2})(?:\2(\d{1,2}))?",
        "year last": r"(?:(\d{1,2})([-/.])(\d{1,2})\2(\d{4})|(\d\d)([/.])(\d\d)\6(\d\d))",
        "month by name": r"(?:(\d{1,2})\.?[- ]([A-Za-z]{3,9})\.?,?[- ](\d{4})"
        r"|([A-Za-z]{3,9})\.? (\d{1,2}),? (\d{4}))",
    }.items()
}
"""Date patterns, each with an optional time of day."""

DIGITS = re.compile(r"((?:19|20)\d\d)(\d\d)(\d\d)(\d\d)?(\d\d)?(\d\d)?(?:\.0)?")
"""A date without marks, such as 20240131, with an optional hour, minute and second."""


def parse_date(text: str, order: DateOrder) -> float:
    """Parse a date to days since 1970, ignoring its time zone; return NaN for other text."""
    text = text.strip()
    if digits := DIGITS.fullmatch(text):
        text = "{}-{}-{} {}:{}:{}".format(*digits.groups("00"))
    if (match := DATES["year first"].fullmatch(text)) is not None:
        day = (match[1], match[3], match[4] or "1")
    elif (match := DATES["month by name"].fullmatch(text)) is not None:
        name, number = (match[2], match[1]) if match[2] else (match[4], match[5])
        place = "janfebmaraprmayjunjulaugsepoctnovdec".find(name[:3].lower())
        month = 0 if place % 3 else place // 3 + 1
        day = (match[3] or match[6], str(month), number)
    elif order != "ymd" and (match := DATES["year last"].fullmatch(text)) is not None:
        first, second, year = match[1] or match[5], match[3] or match[7], match[4] or match[8]
        if len(year) == 2:  # 50 to 99 stand for 1950 to 1999, as in X.509
            year = str((1900 if int(year) >= 50 else 2000) + int(year))
        day = (year, second, first) if order == "dmy" else (year, first, second)
    else:
        return np.nan
    hour, minute, second = (int(match[name] or 0) for name in ("hour", "minute", "second"))
    if match["half"]:
        if not 1 <= hour <= 12:
            return np.nan
        hour = hour % 12 + (12 if match["half"].lower() == "pm" else 0)
    try:
        year, month, number = map(int, day)
        date = datetime(year, month, number, hour, minute, second)
    except ValueError:
        return np.nan
    return (date - datetime(1970, 1, 1)).total_seconds() / SECONDS_PER_DAY


def find_orders(texts: Iterable[str]) -> tuple[list[DateOrder], list[str]]:
    """Return the date orders that parse the most strings, and the strings that none parses."""
    cells, orders = list(texts), get_args(DateOrder)
    valid = ~np.isnan([[parse_date(cell, order) for cell in cells] for order in orders])
    counts = valid.sum(axis=1)
    best = [order for order, n in zip(orders, counts, strict=True) if n == counts.max() > 0]
    return best, [cell for cell, flags in zip(cells, valid.T, strict=True) if not flags.any()]


def read_dates(column: pd.Series, order: DateOrder | None) -> Array:
    """Return the dates as days since 1970, NaN if missing; raise TableError for other cells."""
    import pandas as pd

    arrow = isinstance(column.dtype, pd.ArrowDtype)  # pandas 2 would convert its zones to UTC
    if pd.api.types.is_datetime64_any_dtype(column.dtype) and not arrow:
        since = column.dt.tz_localize(None).to_numpy() - np.datetime64(0, "s")
        return np.asarray(since / np.timedelta64(1, "s") / SECONDS_PER_DAY)
    codes, values = pd.factorize(column.astype(object))
    texts = [cell_text(value).strip() for value in values]  # str() of a Python date is ISO 8601
    days = np.array([*(parse_date(text, order or "ymd") for text in texts), np.nan])
    wrong = np.isnan(days) & [*(text not in MISSING for text in texts), False]
    example = {"dmy": "31.01.2024", "mdy": "01/31/2024"}.get(order or "ymd", "2024-01-31")
    refuse(column, wrong[codes], f"a date such as {example}")
    return days[codes]


def calendar_features(days: Array, parts: Sequence[str] = DATE_PARTS, origin: float = 0.0) -> Array:
    """Return calendar features, shape (n, len(parts)), NaN for missing dates."""
    missing = np.isnan(days)
    filled = np.where(missing, 0.0, days)
    dates = np.floor(filled).astype("datetime64[D]")
    years, months = dates.astype("datetime64[Y]"), dates.astype("datetime64[M]")
    features: dict[str, Array] = {
        "days": days - origin,
        "year": years.astype(np.float64) + 1970,
        "month": (months - years).astype(np.float64) + 1,
        "day of year": (dates - years).astype(np.float64) + 1,
        "weekday": (np.floor(filled) + 3) % 7,  # 1 January 1970 was a Thursday
        "hour": np.round(filled % 1.0 * SECONDS_PER_DAY) / 3600,
    }
    return np.column_stack([np.where(missing, np.nan, features[part]) for part in parts])


# Kinds of columns

Missing: TypeAlias = Literal["impute", "error"]

MIN_ROWS = 20
"""Columns with at most this many rows or distinct values are never constant, free text or ids."""

MOST_CATEGORIES = 50_000

MIN_SHARE = 0.9
"""Minimum share of distinct values for an id column, of dates for a date column (other text is an
error), and of number-like values for a note."""

TEXT_WIDTH = 512
"""Number of columns for the hashed words and character n-grams of a text column."""

BLOCK_SIZE = 2_000_000
"""Number of characters and features of texts that are hashed at a time."""

ID_NAME = re.compile(
    r"(?:.*[\W_])?(?i:id|ids|uuid|guid|key|index|idx|row|rowid|rownum|nr|no|lfd|pk)(?:[\W_].*)?"
    r"|.*[a-z](?:Id|ID|Key|Nr|No)|Unnamed: \d+(?:\.\d+)?"
)
CODE_NAME = re.compile(
    r"(?:.*[\W_])?(?i:zip|zipcode|plz|postcode|postal|code|cd)(?:[\W_].*)?|.*[a-z](?:Code|Zip)"
)
"""Patterns of id column names (and pandas' ``Unnamed: 0``), and of code column names."""


UnknownCells: TypeAlias = tuple[str, int]
"""The first unknown category of a column, and the number of rows with unknown ones."""


@dataclass(frozen=True)
class LeftOut:
    """A column that is not used as a feature, with the reason.

    Parameters
    ----------
    name : str
        The column name.
    reason : {"id", "many", "constant", "empty"}
        Why the column is left out.
    number : str, default=""
        A text of an id that looks like a number, if most of its texts do.
    """

    name: str
    reason: Literal["id", "many", "constant", "empty"]
    number: str = ""

    @property
    def warning(self) -> str:
        """A warning that numbers may have been left out; empty if the texts are no numbers."""
        name = quoted(self.name)
        return self.number and (
            f"column {name} is left out like an id, but its texts look like numbers, such as "
            f"{quoted(self.number)}: write plain numbers to use it, keep it as text "
            f"(keep=[{name}]), or leave it out (drop=[{name}])"
        )


@dataclass(frozen=True)
class Column:
    """A feature column.

    Parameters
    ----------
    name : str
        The column name.
    kind : {"numeric", "boolean", "categorical", "date", "text"}
        Numbers stay as they are. Booleans become 0 or 1, categories become codes from 0, dates
        become calendar features, and text becomes hashed word counts.
    categories : tuple of str, default=()
        The values of a categorical column, in alphabetical order.
    parts : tuple of str, default=()
        The calendar features of a date column: a subset of days, year, month, day of year, weekday
        and hour.
    order : {"ymd", "dmy", "mdy"}, optional
        The order of year, month and day in dates written as text.
    origin : float, default=0
        The date at which the feature ``days`` is 0, in days since 1970.
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
                raise ValueError(f"column {quoted(self.name)}: invalid {name} for kind {self.kind}")
        if list(self.categories) != sorted(self.categories) or {*self.parts} - {*DATE_PARTS}:
            raise ValueError(
                f"column {quoted(self.name)}: expected a valid category order and date parts"
            )

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The names of the columns in the feature matrix, such as ``day (weekday)``."""
        if self.kind == "date":
            return tuple(f"{self.name} ({part})" for part in self.parts)
        if self.kind == "text":
            return tuple(f"{self.name} (hash {k})" for k in range(TEXT_WIDTH))
        return (self.name,)

    def encode(self, column: pd.Series, unknown: dict[str, UnknownCells], out: Array) -> None:
        """Write the column as features into `out`, shape (n, len(feature_names)).

        Missing values are NaN; an unknown category gets the code after the last one, and is counted
        in `unknown`. Raise TableError for a cell of another kind.
        """
        if self.kind == "categorical":
            out[:, 0] = self._codes(read_texts(column), unknown)
        elif self.kind == "date":
            out[:] = calendar_features(read_dates(column, self.order), self.parts, self.origin)
        elif self.kind == "text":
            _hash_words(read_texts(column).tolist(), out)
        else:
            out[:, 0] = (read_booleans if self.kind == "boolean" else read_numbers)(column)

    def _codes(self, cells: npt.NDArray[np.object_], unknown: dict[str, UnknownCells]) -> Array:
        """Return each cell's code; read an unknown ``1.0`` as ``1`` (pandas may add ``.0``)."""
        known: dict[str | None, float] = {None: np.nan}
        known |= {text: float(j) for j, text in enumerate(self.categories)}
        last = float(len(self.categories))
        codes = np.array([known.get(c, known.get(f"{c}".removesuffix(".0"), last)) for c in cells])
        if (new := codes == last).any():
            value, rows = unknown.get(self.name, (cells[int(new.argmax())], 0))
            unknown[self.name] = value, rows + int(new.sum())
        return codes


def warn_of_unknown(unknown: Mapping[str, UnknownCells]) -> None:
    """Warn of each column with unknown categories."""
    for name, (value, rows) in unknown.items():
        warnings.warn(
            f"column {quoted(name)} has values that are not in the training table, such as "
            f"{quoted(value)}, in {count(rows, 'row')}: they are encoded as an unknown category",
            UnknownCategoryWarning,
            stacklevel=3,
        )


def _hash_words(cells: Sequence[str | None], out: Array) -> None:
    """Write hashed word counts and character n-gram counts, each normalised per row, into `out`."""
    from sklearn.feature_extraction.text import HashingVectorizer

    texts, options = [cell or "" for cell in cells], {"n_features": TEXT_WIDTH // 2}
    # misspelt words keep most of their 3- and 4-character n-grams
    vectorizers = [
        HashingVectorizer(analyzer=kind, ngram_range=lengths, alternate_sign=False, **options)
        for kind, lengths in (("word", (1, 1)), ("char_wb", (3, 4)))
    ]
    for rows in _text_blocks(texts):
        counts = [each.transform(texts[rows]).toarray() for each in vectorizers]
        np.concatenate(counts, axis=1, out=out[rows])


def _text_blocks(texts: Sequence[str]) -> Iterator[slice]:
    """Divide texts into blocks of about `BLOCK_SIZE` characters and features, or one long text."""
    sizes = np.cumsum([TEXT_WIDTH + len(text) for text in texts])
    ends = np.flatnonzero(np.diff(sizes // BLOCK_SIZE)) + 1
    return starmap(slice, pairwise([0, *ends.tolist(), len(texts)]))


@dataclass
class ColumnProfile:
    """A column's cells and options; `infer` determines its kind and adds to `notes`."""

    name: str
    cells: pd.Series
    missing: Missing
    keep: bool
    categorical: bool
    date_order: DateOrder | None
    notes: list[str]

    def infer(self) -> Column | LeftOut:
        """Infer the kind of the column; raise TableError for unusable cells."""
        kind = infer_kind(self.cells)
        if not self.cells.notna().any():
            return LeftOut(self.name, "empty")
        if self.missing == "error":
            advice = "fill them in, leave the rows out, or set missing='impute'"
            refuse_missing(self.cells, advice)
        if kind == "categorical" or self.categorical:
            return self._infer_texts()
        if kind == "date":
            return self._infer_dates(read_dates(self.cells, None), None)
        return self._infer_numbers(kind)

    def _infer_numbers(self, kind: Kind) -> Column | LeftOut:
        """Return a column of numbers or booleans, or leave it out as an id or constant."""
        numbers = (read_booleans if kind == "boolean" else read_numbers)(self.cells)
        known = numbers[~np.isnan(numbers)]
        dates = kind == "numeric" and _may_be_dates(known)
        if dates and self.date_order == "ymd":
            return self._infer_dates(read_dates(self.cells, "ymd"), "ymd")
        if not self.keep and len(known) == len(numbers):
            if len(numbers) > MIN_ROWS and (numbers == numbers[0]).all():
                return LeftOut(self.name, "constant")
            if kind == "numeric" and _are_ids(numbers, ID_NAME.fullmatch(self.name) is not None):
                return LeftOut(self.name, "id")
        if dates:
            self.notes.append(
                f"integers in {quoted(self.name)} look like dates but are used as numbers "
                "(date_order='ymd' reads them as dates)"
            )
        elif kind == "numeric" and CODE_NAME.fullmatch(self.name) and is_integer(known).all():
            self.notes.append(
                f"integers in {quoted(self.name)} look like codes but are used as numbers "
                f"(categorical=[{quoted(self.name)}] for categories)"
            )
        return Column(self.name, kind)

    def _infer_texts(self) -> Column | LeftOut:
        """Infer the kind of a text column: booleans, dates, free text, categories or ids."""
        counts = Counter(text for text in read_texts(self.cells).tolist() if text is not None)
        categories = tuple(sorted(counts))
        if self.categorical or self.cells.dtype.name == "category":
            return Column(self.name, "categorical", categories)
        if (dates := self._find_dates(counts)) is not None:
            return dates
        distinct, known = len(counts), counts.total()
        if distinct == 1 and not self.keep and known == len(self.cells) > MIN_ROWS:
            return LeftOut(self.name, "constant")
        if {text.lower() for text in counts} <= {"true", "false"}:
            return Column(self.name, "boolean")

        def average(measure: Callable[[str], float]) -> float:
            return sum(times * measure(text) for text, times in counts.items()) / known

        many = distinct > MOST_CATEGORIES
        differ = distinct > max(MIN_ROWS, MIN_SHARE * known)
        unique = differ or many
        # free text: over 30 % of the cells are distinct, with at least three words on average
        varied = distinct > max(MIN_ROWS, 0.3 * known) or many
        free = (varied and average(lambda t: len(t.split())) >= 3.0) or (unique and self.keep)
        first = next(iter(counts))
        marked = next((text for text in counts if np.isnan(parse_float(text))), first)
        if unique and not free:
            numbers = average(lambda t: LIKE_NUMBER.match(t) is not None) > MIN_SHARE
            return LeftOut(self.name, "id" if differ else "many", marked if numbers else "")

        def looks_like_number(text: str) -> bool:
            number = read_numeral(text)
            if number is not None and number.notation != "ratio":
                return True
            # few distinct ones are ranges, such as 40-49
            return distinct > MIN_ROWS and bool(number or LIKE_DECIMAL.match(text))

        if average(looks_like_number) > MIN_SHARE:
            self.notes.append(
                f"column {quoted(self.name)} holds text that looks like numbers, such as "
                f"{quoted(marked)}: it is used as text"
            )
        return Column(self.name, "text") if free else Column(self.name, "categorical", categories)

    def _find_dates(self, counts: Counter[str]) -> Column | LeftOut | None:
        """Return a date column if most texts are dates; raise TableError for other text."""
        cells = [text for text in counts if text not in MISSING]
        if not find_orders(cells[:MIN_ROWS])[0]:
            return None
        orders, others = find_orders(cells)
        if len(others) >= (1 - MIN_SHARE) * len(cells):
            return None
        name = quoted(self.name)
        if others:
            row = row_name(self.cells.index, read_texts(self.cells).tolist().index(others[0]))
            raise TableError(
                f"column {name} holds dates, but {quoted(others[0])} in {row} is not a date: "
                f"correct it, read {in_quotes(others, 3)} as missing (na_values=[...]), or leave "
                "the column out (drop=[...])"
            )
        order = self.date_order or orders[0]
        late = [match for cell in cells if (match := DATES["year last"].fullmatch(cell))]
        if len(orders) == 2 and self.date_order is None:  # ambiguous: slashes mean month first
            slashes = sum("/" in match[0] for match in late)
            order = "mdy" if 2 * slashes > len(late) else "dmy"
            first, other = ("month", "dmy") if order == "mdy" else ("day", "mdy")
            self.notes.append(
                f"dates in {name} may start with day or month: read with the {first} first "
                f"(date_order='{other}' reverses this)"
            )
        if any(match[8] for match in late):
            self.notes.append(f"two-digit years in {name} are read as 1950 to 2049")
        for word in counts.keys() - {*cells}:
            times = count(counts[word], "cell")
            self.notes.append(f"column {name}: {times} {quoted(word)} read as missing")
        days = np.array([parse_date(text, order) for text in cells])
        if np.isnan(days).any():
            raise TableError(
                f"column {name} holds dates with day and month in different orders: leave it out "
                "(drop=[...])"
            )
        return self._infer_dates(days, order)

    def _infer_dates(self, days: Array, order: DateOrder | None) -> Column | LeftOut:
        """Return a date column with the calendar features that vary."""
        features = calendar_features(days)
        low, high = np.nanmin(features, axis=0), np.nanmax(features, axis=0)
        varying = tuple(part for part, a, b in zip(DATE_PARTS, low, high, strict=True) if a < b)
        if not varying and not self.keep:
            return LeftOut(self.name, "constant")
        parts = varying or ("days",)
        return Column(self.name, "date", parts=parts, order=order, origin=float(low[0]))


def _may_be_dates(numbers: Array) -> bool:
    """Return True for integers that nearly all are dates without marks, such as 20240131."""
    if not numbers.size or not is_integer(numbers).all() or np.median(numbers) < 19_000_101:
        return False
    values, counts = np.unique(numbers, return_counts=True)
    dates = [not np.isnan(parse_date(cell_text(each), "ymd")) for each in values]
    return bool(counts[dates].sum() > MIN_SHARE * numbers.size)


def _are_ids(numbers: Array, named: bool) -> bool:
    """Return True for row numbers, and for distinct integers in a column named like an id."""
    rows, low, steps = len(numbers), numbers.min(), np.diff(numbers)
    if rows <= MIN_ROWS or not is_integer(numbers).all():
        return False
    if (steps > 0).all() or (steps < 0).all():
        return named or (low in (0, 1) and bool(numbers.max() - low + 1 == rows))
    return named and np.unique(numbers).size == rows
