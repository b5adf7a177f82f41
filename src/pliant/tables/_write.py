"""Write predictions as CSV without formulas of spreadsheets."""

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
from pliant.tables._cells import number

if TYPE_CHECKING:
    import pandas as pd

FORMULA_MARKS = (*("=", "+", "-", "@", "\t", "\r", "\n"), *"\uff1d\uff0b\uff0d\uff20")
"""First characters of a formula in a spreadsheet; the last four are wide forms of the first."""


def write_predictions(path: str | os.PathLike[str], chunks: Iterable[pd.DataFrame]) -> None:
    """Write frames in turn to one file, which appears when it is complete.

    Parameters
    ----------
    path : path-like
        A name that ends in ``.csv`` or ``.csv.gz``.
    chunks : iterable of pandas.DataFrame
        Frames with the same columns. Texts and column names that a spreadsheet would take for a
        formula are prefixed with a single quote, and control characters are left out; numbers stay
        as they are, written as text too.

    Raises
    ------
    TableError
        If the file cannot be written, or no frame is given; then nothing is left behind.
    """
    name = os.fspath(path).lower()
    if not name.endswith((".csv", ".csv.gz")):
        raise TableError(f"{quoted(path, 200)}: expected a name that ends in .csv or .csv.gz")
    with replacing(path, TableError) as draft, _open_text(draft, name.endswith(".gz")) as file:
        write_csv(file, chunks)


@contextmanager
def _open_text(path: Path, packed: bool) -> Iterator[TextIO]:
    """Open a text file for writing, or a gzip file without a name and a date."""
    with open(path, "wb") as file:
        stream = gzip.GzipFile("", "wb", fileobj=file, mtime=0) if packed else file
        with io.TextIOWrapper(stream, encoding="utf-8", newline="") as text:
            yield text


def write_csv(file: TextIO, chunks: Iterable[pd.DataFrame]) -> None:
    """Write frames with the same columns to an open text file, as `write_predictions` does."""
    header = True
    for chunk in chunks:
        _disarmed(chunk).to_csv(file, index=False, header=header, lineterminator="\n")
        header = False
    if header:
        raise TableError("there are no rows to write")


def _disarmed(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a frame without formulas in texts and names."""
    import pandas as pd
    from pandas.api.types import is_numeric_dtype

    columns = [
        column if is_numeric_dtype(column) else column.astype(object).map(_safe)
        for _, column in frame.items()
    ]
    return pd.concat(columns, axis=1).set_axis([_safe(name) for name in frame], axis=1)


def _safe(value: object) -> object:
    """Return a value; a text that is a formula in a spreadsheet gets a leading quote."""
    if not isinstance(value, str):
        return value
    text = value.encode("utf-8", "backslashreplace").decode()
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    text = re.sub(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]", "", text)
    # a spreadsheet may cut the row at these marks, and quotes in the row do not prevent it
    first, *rest = re.split(r"([;|\t\n])", text)
    parts = [part if len(part) < 2 else _disarmed_text(part, part.lstrip(' "')) for part in rest]
    return _disarmed_text(first + "".join(parts), text)


def _disarmed_text(text: str, opened: str) -> str:
    """Return a text, with a quote in front if its beginning for a reader is a formula."""
    armed = opened.startswith(FORMULA_MARKS) and not np.isfinite(number(opened))
    return f"'{text}" if armed else text
