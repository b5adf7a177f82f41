"""Dates as text or as pandas has them, and the calendar features that they become."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

import numpy as np

from pliant.core.exceptions import TableError
from pliant.core.text import quoted
from pliant.core.typing import Array
from pliant.tables._names import row_name
from pliant.tables._values import MISSING, advice, shown

if TYPE_CHECKING:
    import pandas as pd

DateOrder: TypeAlias = Literal["ymd", "dmy", "mdy"]

ORDERS: tuple[DateOrder, ...] = get_args(DateOrder)

PARTS = ("days", "year", "month", "day of year", "weekday", "hour")
"""Calendar features; days are counted from the earliest training date, Monday is weekday 0."""

SAMPLE = {"ymd": "2024-01-31", "dmy": "31.01.2024", "mdy": "01/31/2024"}

EPOCH = datetime(1970, 1, 1)
SECONDS_A_DAY = 86_400.0

MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")

CLOCK = (
    r"(?:[T ]\s*(?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<second>\d{2})(?:[.,]\d+)?)?"
    r"\s*(?P<half>[AaPp][Mm])?\s*(?:Z|UTC|[-+]\d{2}:?(?:\d{2})?)?)?"
)
YEAR_FIRST = re.compile(r"(\d{4})([-/.])(\d{1,2})(?:\2(\d{1,2}))?" + CLOCK)
YEAR_LAST = re.compile(r"(?:(\d{1,2})([-/.])(\d{1,2})\2(\d{4})|(\d\d)([/.])(\d\d)\6(\d\d))" + CLOCK)
NAMED = re.compile(
    r"(?:(\d{1,2})\.?[- ]([A-Za-z]{3,9})\.?,?[- ](\d{4})|([A-Za-z]{3,9})\.? (\d{1,2}),? (\d{4}))"
    + CLOCK
)

PIVOT = 70
"""Years of two digits from this one on are of the last century."""


def moment(text: str, order: DateOrder) -> float:
    """Return the days from 1970 to a date, by its own clock; NaN for what is no date."""
    text = text.strip()
    if (match := YEAR_FIRST.fullmatch(text)) is not None:
        day = (match[1], match[3], match[4] or "1")
    elif (match := NAMED.fullmatch(text)) is not None:
        name, number = (match[2], match[1]) if match[2] else (match[4], match[5])
        month = MONTHS.index(name[:3].lower()) + 1 if name[:3].lower() in MONTHS else 0
        day = (match[3] or match[6], str(month), number)
    elif order != "ymd" and (match := YEAR_LAST.fullmatch(text)) is not None:
        first, second, year = match[1] or match[5], match[3] or match[7], match[4] or match[8]
        day = (_full(year), second, first) if order == "dmy" else (_full(year), first, second)
    else:
        return np.nan
    return _days(day, match)


def is_date(text: str) -> bool:
    """Return whether a text is a date in some order."""
    return not all(np.isnan(moment(text, order)) for order in ORDERS)


def _full(year: str) -> str:
    """Return a year of four digits."""
    century = 1900 if int(year) >= PIVOT else 2000
    return year if len(year) == 4 else str(century + int(year))


def _days(day: tuple[str, str, str], match: re.Match[str]) -> float:
    """Return the days from 1970 to a day and the time of a match, NaN if there is none such."""
    hour, minute, second = (int(match[name] or 0) for name in ("hour", "minute", "second"))
    if match["half"]:
        if not 1 <= hour <= 12:
            return np.nan
        hour = hour % 12 + (12 if match["half"].lower() == "pm" else 0)
    try:
        year, month, number = map(int, day)
        there = datetime(year, month, number, hour, minute, second)
    except ValueError:
        return np.nan
    return (there - EPOCH).total_seconds() / SECONDS_A_DAY


def orders_of(texts: Iterable[str]) -> tuple[list[DateOrder], list[str]]:
    """Return the orders in which most texts are dates, and the texts that are dates in none."""
    everything = list(texts)
    read = {order: [not np.isnan(moment(t, order)) for t in everything] for order in ORDERS}
    counts = {order: sum(flags) for order, flags in read.items()}
    most = max(counts.values(), default=0)
    best = [order for order in ORDERS if most and counts[order] == most]
    strange = [t for t, *flags in zip(everything, *read.values(), strict=True) if not any(flags)]
    return best, strange


def moments(column: pd.Series, order: DateOrder | None) -> Array:
    """Return the days from 1970 to each date, NaN where one is missing; refuse other cells."""
    import pandas as pd

    if pd.api.types.is_datetime64_any_dtype(column.dtype):
        since = column.dt.tz_localize(None).to_numpy() - np.datetime64(0, "s")
        return np.asarray(since / np.timedelta64(1, "s") / SECONDS_A_DAY)
    codes, texts = pd.factorize(column.astype(object))  # dates of Python are texts as in ISO
    values = np.array([moment(str(text), order or "ymd") for text in texts] + [np.nan])
    days = values[codes]
    known = np.array([str(text).strip() in MISSING for text in texts] + [True])
    wrong = np.isnan(days) & ~known[codes]
    if wrong.any():
        at = int(wrong.argmax())
        raise TableError(
            f"column {quoted(column.name)}: expected a date such as {SAMPLE[order or 'ymd']} in "
            f"{row_name(column.index, at)}, got {shown(column.iloc[at])}{advice(column.iloc[at])}"
        )
    return days


def calendar(days: Array, parts: Sequence[str] = PARTS, origin: float = 0.0) -> Array:
    """Return calendar features, shape (n, len(parts)), NaN where there is no date."""
    gone = np.isnan(days)
    whole = np.floor(np.where(gone, 0.0, days))
    dates = whole.astype(np.int64).astype("datetime64[D]")
    years, months = dates.astype("datetime64[Y]"), dates.astype("datetime64[M]")
    features: dict[str, Array] = {
        "days": days - origin,
        "year": years.astype(np.float64) + 1970,
        "month": (months - years).astype(np.float64) + 1,
        "day of year": (dates - years).astype(np.float64) + 1,
        "weekday": (whole + 3) % 7,  # 1970 began with a Thursday
        "hour": np.round((np.where(gone, 0.0, days) - whole) * SECONDS_A_DAY) / 3600,
    }
    return np.column_stack([np.where(gone, np.nan, features[part]) for part in parts])
