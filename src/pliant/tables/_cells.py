"""Read the cells of a column of any type as numbers, booleans, text or dates.

A cell means the same in every file: ``1``, ``1.0`` and ``"1"`` are the same number, and the
integer 1 is the category ``"1"``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

import numpy as np
import numpy.typing as npt

from pliant.core.exceptions import TableError
from pliant.core.text import quoted
from pliant.core.typing import Array
from pliant.core.validation import LARGEST
from pliant.tables._names import row_name

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
"""Kind of a column for each type that pandas infers from the cells."""

BOOLEANS = {"true": 1.0, "1": 1.0, "false": 0.0, "0": 0.0}
"""Values of boolean cells, as lower-case text."""

MISSING = frozenset(
    {
        *("NA", "N/A", "n/a", "#N/A", "<NA>", "na", "n.a.", "NaN", "nan", "NAN", "\\N"),
        *("NULL", "null", "Null", "None", "?", "-", "--", ".", "#NULL!", "#DIV/0!"),
    }
)
"""Words for a missing value in a column of numbers or dates."""


def infer_kind(column: pd.Series) -> Kind:
    """Return the kind of a column; raise TableError for lists, and for numbers mixed with text."""
    import pandas as pd

    declared = isinstance(column.dtype, pd.CategoricalDtype)
    cells = column.cat.categories if declared else column
    kind = pd.api.types.infer_dtype(cells, skipna=True)
    if kind not in KINDS:
        what = "a mixture of types" if kind.startswith("mixed") else f"values of type {kind}"
        raise TableError(
            f"column {quoted(column.name)} holds {what}, expected numbers, booleans, text or "
            "dates: convert it or leave it out (--drop)"
        )
    return "categorical" if declared else KINDS[kind]


def read_numbers(column: pd.Series) -> Array:
    """Return the cells as float64, NaN if missing; raise TableError for infinite or huge ones."""
    import pandas as pd

    plain = _check_type(column)
    values: Array
    if pd.api.types.is_numeric_dtype(plain.dtype):
        values = plain.to_numpy(dtype=np.float64, na_value=np.nan)
    else:  # Python's parser is exact in every version of pandas
        values = np.fromiter(map(_parse_number, plain), np.float64, len(plain))
    refuse(plain, np.isnan(values) & plain.notna().to_numpy(), "a number")
    refuse(plain, np.isinf(values), "a finite number")
    refuse(plain, np.abs(values) > LARGEST, f"a number of at most {LARGEST:g} in absolute value")
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
    # a plus sign, a leading zero or more than 15 digits mark a code, not a number
    if isinstance(cell, str) and re.match(r"\+|-?0\d|-?\d{16,}$", cell.strip()):
        return np.nan
    value = parse_float(cell)
    if value != value and isinstance(cell, str):
        return BOOLEANS.get(cell.strip().lower(), np.nan)
    return value


def is_integer(values: Array) -> npt.NDArray[np.bool_]:
    """Return a mask of the values that are integers exactly representable in float64."""
    mask: npt.NDArray[np.bool_] = (values == np.floor(values)) & (np.abs(values) < 2.0**53)
    return mask


def read_booleans(column: pd.Series) -> Array:
    """Return the cells as 0.0 or 1.0, NaN if missing; raise TableError for other values."""
    cells = read_texts(column)
    values = np.array([np.nan if c is None else BOOLEANS.get(c.strip().lower(), -1) for c in cells])
    refuse(column, values == -1, "true or false")
    return values


def read_texts(column: pd.Series) -> npt.NDArray[np.object_]:
    """Return the cells as stripped text, shape (n,), None if missing."""
    plain = _check_type(column).astype(object)
    cells = np.empty(len(plain), dtype=object)
    cells[:] = [
        None if gone else as_text(c).strip() for c, gone in zip(plain, plain.isna(), strict=True)
    ]
    return cells


def has_outer_spaces(column: pd.Series) -> bool:
    """Return True if a text in the column begins or ends with a space."""
    if column.dtype.kind != "O" and str(column.dtype) not in ("string", "str", "category"):
        return False
    return any(isinstance(c, str) and c != c.strip() for c in column.unique())


def refuse_missing(column: pd.Series, advice: str, counted: bool = True) -> None:
    """Raise TableError if cells are missing, with the first row and, if `counted`, the count."""
    missing = column.isna().to_numpy()
    if missing.any():
        several = f"{missing.sum()} missing values, the first"
        what = several if counted and missing.sum() > 1 else "a missing value"
        row = row_name(column.index, int(missing.argmax()))
        raise TableError(f"column {quoted(column.name)} has {what} in {row}: {advice}")


def _check_type(column: pd.Series) -> pd.Series:
    """Check the type of a column, and return it without pandas' categorical dtype."""
    import pandas as pd

    infer_kind(column)
    categorical = isinstance(column.dtype, pd.CategoricalDtype)
    return column.astype(object) if categorical else column


def as_text(value: object) -> str:
    """Return a cell as text; integers have no decimal point, dates at midnight no time."""
    if isinstance(value, float | np.floating | Decimal):
        exact = float(value)
        return str(int(exact)) if exact.is_integer() else str(exact)
    if isinstance(value, datetime):
        return str(value).removesuffix(" 00:00:00")
    return str(value)


def describe_cell(cell: object) -> str:
    """Format an unreadable cell, the same for CSV and Parquet, with advice for the user."""
    value = parse_float(cell)
    text = as_text(cell) if value != value else str(value).removesuffix(".0")
    shown = quoted(text) if value != value else text
    return f"{shown}: correct it or read it as missing (--na-values {quoted(text)})"


def refuse(column: pd.Series, wrong: npt.NDArray[np.bool_], expected: str) -> None:
    """Raise TableError for the first cell of the mask `wrong`."""
    if wrong.any():
        at = int(wrong.argmax())
        raise TableError(
            f"column {quoted(column.name)}: expected {expected} in {row_name(column.index, at)}, "
            f"got {describe_cell(column.iloc[at])}"
        )


READERS: dict[Kind, Callable[[pd.Series], Array]] = {
    "numeric": read_numbers,
    "boolean": read_booleans,
}
"""Readers of the kinds of columns that become one numeric feature."""


# Dates

DateOrder: TypeAlias = Literal["ymd", "dmy", "mdy"]

DATE_PARTS = ("days", "year", "month", "day of year", "weekday", "hour")
"""Calendar features; days count from the earliest training date, and Monday is weekday 0."""

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
"""Notations of a date, each with an optional time of day."""


def parse_date(text: str, order: DateOrder) -> float:
    """Return the days from 1970 to a date in its local time, or NaN if the text is not a date."""
    text = text.strip()
    if (match := DATES["year first"].fullmatch(text)) is not None:
        day = (match[1], match[3], match[4] or "1")
    elif (match := DATES["month by name"].fullmatch(text)) is not None:
        name, number = (match[2], match[1]) if match[2] else (match[4], match[5])
        place = "janfebmaraprmayjunjulaugsepoctnovdec".find(name[:3].lower())
        month = 0 if place % 3 else place // 3 + 1
        day = (match[3] or match[6], str(month), number)
    elif order != "ymd" and (match := DATES["year last"].fullmatch(text)) is not None:
        first, second, year = match[1] or match[5], match[3] or match[7], match[4] or match[8]
        if len(year) == 2:  # 70 to 99 stand for 1970 to 1999
            year = str((1900 if int(year) >= 70 else 2000) + int(year))
        day = (year, second, first) if order == "dmy" else (year, first, second)
    else:
        return np.nan
    return _count_days(day, match)


def is_date(text: str) -> bool:
    """Return True if the text is a date in some order of day and month."""
    return not all(np.isnan(parse_date(text, order)) for order in get_args(DateOrder))


def _count_days(day: tuple[str, str, str], match: re.Match[str]) -> float:
    """Return the days from 1970 to a day at the time in `match`, or NaN if there is no such day."""
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
    """Return the orders in which most texts are dates, and the texts that are not dates."""
    everything, orders = list(texts), get_args(DateOrder)
    read = {order: [not np.isnan(parse_date(t, order)) for t in everything] for order in orders}
    counts = {order: sum(flags) for order, flags in read.items()}
    most = max(counts.values(), default=0)
    best = [order for order in orders if most and counts[order] == most]
    strange = [t for t, *flags in zip(everything, *read.values(), strict=True) if not any(flags)]
    return best, strange


def read_dates(column: pd.Series, order: DateOrder | None) -> Array:
    """Return the days from 1970 to each date, NaN if missing; raise TableError for other cells."""
    import pandas as pd

    if pd.api.types.is_datetime64_any_dtype(column.dtype):
        since = column.dt.tz_localize(None).to_numpy() - np.datetime64(0, "s")
        return np.asarray(since / np.timedelta64(1, "s") / SECONDS_PER_DAY)
    codes, texts = pd.factorize(column.astype(object))  # str() of Python dates is ISO text
    values = np.array([parse_date(str(text), order or "ymd") for text in texts] + [np.nan])
    days = values[codes]
    known = np.array([str(text).strip() in MISSING for text in texts] + [True])
    wrong = np.isnan(days) & ~known[codes]
    example = {"dmy": "31.01.2024", "mdy": "01/31/2024"}.get(order or "ymd", "2024-01-31")
    refuse(column, wrong, f"a date such as {example}")
    return days


def calendar_features(days: Array, parts: Sequence[str] = DATE_PARTS, origin: float = 0.0) -> Array:
    """Return calendar features, shape (n, len(parts)), NaN for missing dates."""
    gone = np.isnan(days)
    whole = np.floor(np.where(gone, 0.0, days))
    dates = whole.astype(np.int64).astype("datetime64[D]")
    years, months = dates.astype("datetime64[Y]"), dates.astype("datetime64[M]")
    features: dict[str, Array] = {
        "days": days - origin,
        "year": years.astype(np.float64) + 1970,
        "month": (months - years).astype(np.float64) + 1,
        "day of year": (dates - years).astype(np.float64) + 1,
        "weekday": (whole + 3) % 7,  # 1 January 1970 was a Thursday
        "hour": np.round((np.where(gone, 0.0, days) - whole) * SECONDS_PER_DAY) / 3600,
    }
    return np.column_stack([np.where(gone, np.nan, features[part]) for part in parts])
