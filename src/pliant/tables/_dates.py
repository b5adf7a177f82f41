"""Dates in texts and columns, and their calendar features."""

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
from pliant.tables._values import MISSING, cell_advice, shown

if TYPE_CHECKING:
    import pandas as pd

DateOrder: TypeAlias = Literal["ymd", "dmy", "mdy"]

PARTS = ("days", "year", "month", "day of year", "weekday", "hour")
"""Calendar features; days are counted from the earliest training date, Monday is weekday 0."""

SECONDS_A_DAY = 86_400.0

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
"""Notations of a date, each with a time of day that may be absent."""


def parse_date(text: str, order: DateOrder) -> float:
    """Return the days from 1970 to a date, by its own clock; NaN if the text is no date."""
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
        if len(year) == 2:  # 70 to 99 are years of the last century
            year = str((1900 if int(year) >= 70 else 2000) + int(year))
        day = (year, second, first) if order == "dmy" else (year, first, second)
    else:
        return np.nan
    return _count_days(day, match)


def is_date(text: str) -> bool:
    """Return True if a text is a date in some order."""
    return not all(np.isnan(parse_date(text, order)) for order in get_args(DateOrder))


def _count_days(day: tuple[str, str, str], match: re.Match[str]) -> float:
    """Return the days from 1970 to a day and the time of a match, NaN for an impossible one."""
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
    return (date - datetime(1970, 1, 1)).total_seconds() / SECONDS_A_DAY


def find_orders(texts: Iterable[str]) -> tuple[list[DateOrder], list[str]]:
    """Return the orders in which most texts are dates, and the texts that are dates in none."""
    everything, orders = list(texts), get_args(DateOrder)
    read = {order: [not np.isnan(parse_date(t, order)) for t in everything] for order in orders}
    counts = {order: sum(flags) for order, flags in read.items()}
    most = max(counts.values(), default=0)
    best = [order for order in orders if most and counts[order] == most]
    strange = [t for t, *flags in zip(everything, *read.values(), strict=True) if not any(flags)]
    return best, strange


def read_dates(column: pd.Series, order: DateOrder | None) -> Array:
    """Return the days from 1970 to each date, NaN for missing ones; refuse other cells."""
    import pandas as pd

    if pd.api.types.is_datetime64_any_dtype(column.dtype):
        since = column.dt.tz_localize(None).to_numpy() - np.datetime64(0, "s")
        return np.asarray(since / np.timedelta64(1, "s") / SECONDS_A_DAY)
    codes, texts = pd.factorize(column.astype(object))  # dates of Python are texts as in ISO
    values = np.array([parse_date(str(text), order or "ymd") for text in texts] + [np.nan])
    days = values[codes]
    known = np.array([str(text).strip() in MISSING for text in texts] + [True])
    wrong = np.isnan(days) & ~known[codes]
    if wrong.any():
        at = int(wrong.argmax())
        example = {"dmy": "31.01.2024", "mdy": "01/31/2024"}.get(order or "ymd", "2024-01-31")
        raise TableError(
            f"column {quoted(column.name)}: expected a date such as {example} in "
            f"{row_name(column.index, at)}, got {shown(column.iloc[at])}"
            f"{cell_advice(column.iloc[at])}"
        )
    return days


def calendar_features(days: Array, parts: Sequence[str] = PARTS, origin: float = 0.0) -> Array:
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
        "weekday": (whole + 3) % 7,  # 1970 began with a Thursday
        "hour": np.round((np.where(gone, 0.0, days) - whole) * SECONDS_A_DAY) / 3600,
    }
    return np.column_stack([np.where(gone, np.nan, features[part]) for part in parts])
