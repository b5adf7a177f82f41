"""Predictions as CSV that a spreadsheet can open without running a formula."""

from __future__ import annotations

import gzip
import io
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from pliant.core.exceptions import TableError
from pliant.core.files import quoted, replacing

if TYPE_CHECKING:
    import pandas as pd

FORMULA_MARKS = ("=", "+", "-", "@", "\t", "\r", "\n")
"""A spreadsheet takes a text that starts with one of these for a formula."""


def write_predictions(path: str | os.PathLike[str], chunks: Iterable[pd.DataFrame]) -> None:
    """Write frames one after the other as one CSV file, which appears when it is whole.

    Parameters
    ----------
    path : path-like
        A name that ends in ``.csv`` or ``.csv.gz``.
    chunks : iterable of pandas.DataFrame
        Frames with the same columns. Texts and column names that a spreadsheet would take for
        a formula are prefixed with a single quote; numbers stay as they are.

    Raises
    ------
    TableError
        If the file cannot be written or there is no frame; then nothing is left behind.
    """
    name = os.fspath(path).lower()
    if not name.endswith((".csv", ".csv.gz")):
        raise TableError(f"{quoted(path, 200)}: expected a name that ends in .csv or .csv.gz")
    with replacing(path, TableError) as draft, _opened(draft, name.endswith(".gz")) as file:
        write_csv(file, chunks)


@contextmanager
def _opened(path: Path, packed: bool) -> Iterator[TextIO]:
    """Open a text file for writing, packed by gzip without a name or a date if asked."""
    with open(path, "wb") as file:
        stream = gzip.GzipFile("", "wb", fileobj=file, mtime=0) if packed else file
        with io.TextIOWrapper(stream, encoding="utf-8", newline="") as text:
            yield text


def write_csv(file: TextIO, chunks: Iterable[pd.DataFrame]) -> None:
    """Write frames with the same columns as one CSV to an open text file (see the above)."""
    header = True
    for chunk in chunks:
        _disarmed(chunk).to_csv(file, index=False, header=header, lineterminator="\n")
        header = False
    if header:
        raise TableError("there are no rows to write")


def _disarmed(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a frame in which no text and no name can be taken for a formula."""
    import pandas as pd
    from pandas.api.types import is_numeric_dtype

    columns = [
        column if is_numeric_dtype(column) else column.astype(object).map(_safe)
        for _, column in frame.items()
    ]
    return pd.concat(columns, axis=1).set_axis([_safe(name) for name in frame], axis=1)


def _safe(value: object) -> object:
    """Return a value; a text gets a single quote before a formula, and line feeds for returns.

    A carriage return would stand unquoted in the file and start a new row for some readers.
    """
    if not isinstance(value, str):
        return value
    text = f"'{value}" if value.startswith(FORMULA_MARKS) else value
    return text.replace("\r\n", "\n").replace("\r", "\n")
