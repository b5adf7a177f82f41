"""Write predictions as CSV, safe from spreadsheet formulas."""

from __future__ import annotations

import gzip
import io
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import numpy as np

from pliant.core.exceptions import TableError
from pliant.core.files import replacing
from pliant.core.text import quoted
from pliant.tables.reading.columns import parse_float
from pliant.tables.reading.numerals import NOTATION

if TYPE_CHECKING:
    import pandas as pd

FORMULA_MARKS = (*("=", "+", "-", "@", "\t", "\r", "\n"), *"\uff1d\uff0b\uff0d\uff20")
"""First characters of a spreadsheet formula; the last four are full-width forms of = + - @."""

MEASURED = {
    *("point", "comma", "either_point", "either_comma", "grouped_point", "grouped_comma"),
    *("commas", "points"),
}
"""Notations of numbers with decimals or groups of digits, which are no phone numbers or codes."""


def write_predictions(path: str | os.PathLike[str], chunks: Iterable[pd.DataFrame]) -> None:
    """Write frames to one CSV file, atomically.

    Parameters
    ----------
    path : path-like
        A name ending in ``.csv`` or ``.csv.gz``.
    chunks : iterable of pandas.DataFrame
        Frames with the same columns. Text and column names that a spreadsheet would read as
        formulas get a leading single quote, and control characters are removed. Numbers and
        numeric text stay unchanged.

    Raises
    ------
    TableError
        If the file cannot be written, or there are no frames. No partial file is left behind.
    """
    name = os.fspath(path).lower()
    if not name.endswith((".csv", ".csv.gz")):
        raise TableError(f"{quoted(path, 200)}: expected a name ending in .csv or .csv.gz")
    with replacing(path, TableError) as draft, _open_text(draft, name.endswith(".gz")) as file:
        write_csv(file, chunks)


@contextmanager
def _open_text(path: Path, packed: bool) -> Iterator[TextIO]:
    """Open a text file for writing; gzip files omit name and date, so bytes are reproducible."""
    with open(path, "wb") as file:
        stream = gzip.GzipFile("", "wb", fileobj=file, mtime=0) if packed else file
        with io.TextIOWrapper(stream, encoding="utf-8", newline="") as text:
            yield text


def write_csv(file: TextIO, chunks: Iterable[pd.DataFrame]) -> None:
    """Write frames with the same columns to an open file, escaped as in `write_predictions`."""
    import pandas as pd
    from pandas.api.types import is_numeric_dtype

    header = True
    for chunk in chunks:
        columns = [  # Series.map would turn integers beside missing values into floats
            column
            if is_numeric_dtype(column) or column.dtype.kind in "mM"
            else pd.Series([*map(_escape, column.astype(object))], column.index, dtype=object)
            for _, column in chunk.items()
        ]
        escaped = pd.concat(columns, axis=1).set_axis(list(map(_escape, chunk)), axis=1)
        escaped.to_csv(file, index=False, header=header, lineterminator="\n")
        header = False
    if header:
        raise TableError("there are no rows to write")


def _escape(value: object) -> object:
    """Remove control characters from text and escape formulas; return other values unchanged."""
    if not isinstance(value, str):
        return value
    text = re.sub(r"\r\n?", "\n", value.encode("utf-8", "backslashreplace").decode())
    text = re.sub(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]", "", text)
    # a spreadsheet may split cells at these characters, even inside quotes
    first, *rest = re.split(r"([;|\t\n])", text)
    parts = [part if len(part) < 2 else _escape_formula(part, part.lstrip(' "')) for part in rest]
    return _escape_formula(first + "".join(parts), text)


def _escape_formula(text: str, opened: str) -> str:
    """Prefix `text` with a quote if `opened`, the cell as a spreadsheet reads it, is a formula."""
    armed = opened.startswith(FORMULA_MARKS) and not _is_number(opened)
    return f"'{text}" if armed else text


def _is_number(text: str) -> bool:
    """Return True for a number of Python, or one with a decimal comma or groups of digits."""
    found = NOTATION.fullmatch(text.strip())
    measured = found is not None and found.lastgroup in MEASURED
    return measured or bool(np.isfinite(parse_float(text)))
