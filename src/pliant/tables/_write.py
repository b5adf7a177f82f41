"""Write predictions as CSV that a spreadsheet can open without running a formula."""

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
from pliant.tables._values import number

if TYPE_CHECKING:
    import pandas as pd

FORMULA_MARKS = (*("=", "+", "-", "@", "\t", "\r", "\n"), *"\uff1d\uff0b\uff0d\uff20")
"""A spreadsheet takes a text that starts with one of these for a formula; the last four are the
wide forms of the first four."""

SEPARATORS = re.compile(r"([;|\t\n])")
"""Where a spreadsheet may cut a row besides at commas: a quote inside of the row is no help."""

OUTPUTS = (".csv", ".csv.gz")
"""The endings of names of files that are written."""

CONTROLS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
"""Characters that have no place in a table, but for tabs and the ends of lines."""


def write_predictions(path: str | os.PathLike[str], chunks: Iterable[pd.DataFrame]) -> None:
    """Write frames one after the other as one file, which appears when it is whole.

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
        If the file cannot be written, or there is no frame; then nothing is left behind.
    """
    name = os.fspath(path).lower()
    if not name.endswith(OUTPUTS):
        raise TableError(
            f"{quoted(path, 200)}: expected a name that ends in {' or '.join(OUTPUTS)}"
        )
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
    """Return a value; a text that a spreadsheet takes for a formula gets a leading quote."""
    if not isinstance(value, str):
        return value
    text = value.encode("utf-8", "backslashreplace").decode()
    text = CONTROLS.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))
    first, *rest = SEPARATORS.split(text)
    parts = [part if len(part) < 2 else _disarmed_text(part, part.lstrip(' "')) for part in rest]
    return _disarmed_text(first + "".join(parts), text)


def _disarmed_text(text: str, opened: str) -> str:
    """Return a text, with a quote in front if what a reader opens it with begins a formula."""
    armed = opened.startswith(FORMULA_MARKS) and not np.isfinite(number(opened))
    return f"'{text}" if armed else text
