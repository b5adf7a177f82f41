"""CSV files: cells as text, each fault with the line it stands in."""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import os
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import TYPE_CHECKING, BinaryIO

from pliant.core.exceptions import TableError
from pliant.core.files import printable, quoted
from pliant.tables._format import TableFormat, canonical, detected, opened
from pliant.tables._names import MAX_CELLS, check_unique, require

if TYPE_CHECKING:
    from _csv import Reader

    import pandas as pd

MAX_LINE = 1 << 24
"""The longest line, in bytes: what has no lines is no table."""

REASONS = {
    "end of data": "a quote is not closed",
    "field limit": f"expected at most {csv.field_size_limit()} characters in a cell, got more",
    "new-line character": "expected lines that end in a line feed, got a lone carriage return",
}
"""What Python's reader says, in part, and what that means to whoever made the file."""


def csv_format(
    path: str | os.PathLike[str],
    given: TableFormat | None = None,
    usual: TableFormat | None = None,
) -> TableFormat:
    """Return the format of a file; see `pliant.tables.detect_format`."""
    with _readable(path):
        return detected(path, given or TableFormat(), usual)


def csv_frames(
    path: str | os.PathLike[str], rows: int | None, form: TableFormat | None = None
) -> Iterator[pd.DataFrame]:
    """Yield frames whose cells are text or None: of ``rows`` rows, or all in one if None.

    Numbers are written as Python writes them, with a decimal point. Where rows are long, a frame
    has fewer of them: at most `MAX_CELLS` cells, and one row. Each line must have as many cells as
    the header.
    """
    pandas = require("pandas")
    form = csv_format(path, form)
    written = canonical(form)
    records = _records(path, form)
    header = next(records)

    def read(cell: str) -> str | None:
        if form.is_missing(cell):
            return None
        return written(cell) if written is not None else cell

    start, most = 0, None if rows is None else min(rows, 1 + MAX_CELLS // len(header))
    while cells := list(islice(records, most)):
        columns = {
            name: [read(cell) for cell in column]
            for name, column in zip(header, zip(*cells, strict=True), strict=True)
        }
        index = pandas.RangeIndex(start, start + len(cells))
        yield pandas.DataFrame(columns, index=index, dtype=object)
        start += len(cells)


def with_types(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a frame of text with a type for each column: numeric, boolean or text."""
    return frame.apply(_typed)


def _typed(column: pd.Series) -> pd.Series:
    """Return a column of text as numbers or booleans if every cell that is there is one."""
    import pandas as pd

    present = column.dropna()
    if pd.to_numeric(present, errors="coerce").notna().all():
        typed = pd.to_numeric(column.astype(float) if present.empty else column)
        exact = pd.api.types.is_integer_dtype(typed.dtype)
        return typed if exact else column.astype(float)  # old pandas rounds the last bits
    if present.str.lower().isin(["true", "false"]).all():
        truths = present.str.lower().eq("true").reindex(column.index)
        return truths.astype("boolean" if column.hasnans else "bool")
    return column


@contextmanager
def _readable(path: str | os.PathLike[str]) -> Iterator[None]:
    """Raise TableError where a file cannot be opened or unpacked."""
    name = quoted(path, 200)
    try:
        yield
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise TableError(f"{name} is not a whole gzip file: {error}") from None
    except OSError as error:
        raise TableError(f"cannot read {name}: {error.strerror or error}") from None


def _records(path: str | os.PathLike[str], form: TableFormat) -> Iterator[list[str]]:
    """Yield the header and then each row, with as many cells as the header has."""
    name = quoted(path, 200)
    with _readable(path), opened(path) as file:
        lines = _lines(file, name, str(form.encoding))
        reader = csv.reader(lines, delimiter=str(form.sep), strict=True)
        yield from _rectangular(reader, name)


def _rectangular(reader: Reader, name: str) -> Iterator[list[str]]:
    """Yield the header, checked, and the rows, refusing one that is longer or shorter."""
    try:
        rows = (row for row in reader if row)
        header = next(rows, None)
        if header is None:
            raise TableError(f"{name} is empty")
        yield _checked_header(header, name)
        for row in rows:
            if len(row) != len(header):
                where = f"{name}, line {reader.line_num}"
                raise TableError(
                    f"{where}: expected {len(header)} cells as in the header, got {len(row)}"
                )
            yield row
    except csv.Error as error:
        known = (reason for words, reason in REASONS.items() if words in str(error))
        reason = next(known, printable(error))
        raise TableError(f"{name}, line {reader.line_num}: {reason}") from None


def _checked_header(header: Sequence[str], name: str) -> list[str]:
    """Return the column names if each column has one and no two share one."""
    for number, column in enumerate(header, start=1):
        if not column.strip():
            raise TableError(f"{name}: column {number} of {len(header)} has no name in the header")
    check_unique(header, name)
    return list(header)


def _lines(file: BinaryIO, name: str, encoding: str) -> Iterator[str]:
    """Yield the lines of a file, without a byte order mark; refuse what is not text."""
    if codecs.lookup(encoding).name.startswith(("utf-16", "utf-32")):
        yield from _wide_lines(file, name, encoding)
        return
    rest = "utf-8" if encoding == "utf-8-sig" else encoding
    for number, line in enumerate(iter(lambda: file.readline(MAX_LINE + 1), b""), start=1):
        where = f"{name}, line {number}"
        if len(line) > MAX_LINE:
            raise TableError(f"{where}: expected at most {MAX_LINE} bytes in a line, got more")
        try:
            text = line.decode(encoding if number == 1 else rest)
        except UnicodeDecodeError as error:
            byte, shown = line[error.start], encoding.removesuffix("-sig").upper()
            hint = " (the option --encoding names another one)"
            raise TableError(
                f"{where}: expected {shown}, got the byte 0x{byte:02x}{hint}"
            ) from None
        if "\0" in text:
            raise TableError(f"{where}: expected text, got binary data")
        yield text


def _wide_lines(file: BinaryIO, name: str, encoding: str) -> Iterator[str]:
    """Yield the lines of a file whose characters have two or four bytes."""
    text = io.TextIOWrapper(file, encoding, newline="\n")
    number = 0
    try:
        while line := text.readline(MAX_LINE + 1):
            number += 1
            if len(line) > MAX_LINE:
                raise TableError(f"{name}, line {number}: expected at most {MAX_LINE} characters")
            yield line
    except UnicodeError as error:
        where = f"{name}, line {number + 1}"
        raise TableError(f"{where}: expected {encoding.upper()}: {printable(error)}") from None
    finally:
        text.detach()
