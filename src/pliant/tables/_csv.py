"""CSV files: cells as text, each fault with the line it stands in."""

from __future__ import annotations

import codecs
import csv
import io
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING, BinaryIO

from pliant.core.exceptions import TableError
from pliant.core.text import quoted
from pliant.tables._files import opened, readable
from pliant.tables._format import TableFormat, canonical, detected
from pliant.tables._names import MAX_CELLS, check_unique, named, require
from pliant.tables._values import number

if TYPE_CHECKING:
    from _csv import Reader

    import pandas as pd

MAX_LINE = 1 << 24
"""The longest line, in bytes: what has no lines is no table."""

REASONS = {
    "end of data": "a quote is not closed",
    "field limit": f"expected at most {csv.field_size_limit()} characters in a cell, got more: is "
    "a quote not closed?",
    "expected after": "expected a separator after a quoted cell: a quote inside of one is doubled",
    "new-line character": "expected lines that end in a line feed, got a lone carriage return",
}
"""What Python's reader says, in part, and what that means to whoever made the file."""


def csv_format(
    path: str | os.PathLike[str],
    given: TableFormat | None = None,
    usual: TableFormat | None = None,
) -> TableFormat:
    """Return the format of a file; see `pliant.tables.detect_format`."""
    with readable(path):
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
    read = _cell_reader(form)
    records = _records(path, form)
    header = next(records)

    start, most = 0, None if rows is None else min(rows, 1 + MAX_CELLS // len(header))
    while cells := list(islice(records, most)):
        columns = {
            name: [read(cell) for cell in column]
            for name, column in zip(header, zip(*cells, strict=True), strict=True)
        }
        index = pandas.RangeIndex(start, start + len(cells))
        yield pandas.DataFrame(columns, index=index, dtype=object)
        start += len(cells)


def _cell_reader(form: TableFormat) -> Callable[[str], str | None]:
    """Return what reads a cell: None if it is missing, numbers as Python writes them."""
    written, gone = canonical(form), form.missing_numbers

    def read(cell: str) -> str | None:
        if form.is_missing(cell):
            return None
        text = written(cell) if written is not None else cell
        return None if gone and number(text) in gone else text

    return read


def with_types(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a frame of text with a type for each column: numeric, boolean or text."""
    import pandas as pd

    return pd.DataFrame({name: typed(column) for name, column in frame.items()}, copy=False)


def typed(column: pd.Series) -> pd.Series:
    """Return a column of text as numbers or booleans if every cell that is there is one."""
    import pandas as pd

    present = column.dropna()
    numbers = pd.to_numeric(present, errors="coerce")
    if numbers.notna().all():
        exact = pd.api.types.is_integer_dtype(numbers.dtype) and 0 < len(present) == len(column)
        return numbers if exact else column.astype(float)  # old pandas rounds the last bits
    if present.str.lower().isin(["true", "false"]).all():
        truths = present.str.lower().eq("true").reindex(column.index)
        return truths.astype("boolean" if column.hasnans else "bool")
    return column


def _records(path: str | os.PathLike[str], form: TableFormat) -> Iterator[list[str]]:
    """Yield the header and then each row, with as many cells as the header has."""
    name = quoted(path, 200)
    with readable(path), opened(path) as file:
        lines = _lines(file, name, str(form.encoding))
        reader = csv.reader(lines, delimiter=str(form.sep), strict=True)
        yield from _rectangular(reader, name)


def _rectangular(reader: Reader, name: str) -> Iterator[list[str]]:
    """Yield the header, checked, and the rows, refusing one that is longer or shorter."""
    header: list[str] | None = None
    first = 1
    try:
        while (row := next(reader, None)) is not None:
            if header is None and row:
                header = _checked_header(row, name)
                yield header
            elif header is not None and len(row) == len(header):
                yield row
            elif header is not None and row:
                where = f"{name}, line {reader.line_num}"
                raise TableError(
                    f"{where}: expected {len(header)} cells as in the header, got {len(row)}"
                )
            first = reader.line_num + 1
    except csv.Error as error:
        reason = next((reason for words, reason in REASONS.items() if words in str(error)), None)
        text = reason or "expected cells that are separated and quoted as in CSV"
        raise TableError(f"{name}, line {first}: {text}") from None
    if header is None:
        raise TableError(f"{name} is empty")


def _checked_header(header: Sequence[str], name: str) -> list[str]:
    """Return the column names if some column has one and no two share one."""
    if not any(column.strip() for column in header):
        raise TableError(f"{name}: expected a header with the names of the columns, got blanks")
    check_unique([column for column in header if column.strip()], name)
    return named(header)


def _lines(file: BinaryIO, name: str, encoding: str) -> Iterator[str]:
    """Yield the lines of a file, without a byte order mark; refuse what is not text."""
    if not _is_plain(encoding):
        yield from _wide_lines(file, name, encoding)
        return
    rest = "utf-8" if encoding == "utf-8-sig" else encoding
    for count, line in enumerate(iter(lambda: file.readline(MAX_LINE + 1), b""), start=1):
        where = f"{name}, line {count}"
        if len(line) > MAX_LINE:
            raise TableError(f"{where}: expected at most {MAX_LINE} bytes in a line, got more")
        try:
            text = line.decode(encoding if count == 1 else rest)
        except UnicodeError as error:
            _check_no_zeros(b"\0" in line, where)
            got = f"the byte 0x{line[error.start]:02x}" if hasattr(error, "start") else "others"
            shown = encoding.removesuffix("-sig").upper()
            raise TableError(
                f"{where}: expected {shown}, got {got} (the option --encoding names another one)"
            ) from None
        _check_no_zeros("\0" in text, where)
        yield text


def _is_plain(encoding: str) -> bool:
    """Return whether lines can be found before they are decoded."""
    if codecs.lookup(encoding).name.startswith(("utf-16", "utf-32")):
        return False
    return "a\n".encode(encoding).endswith(b"\n")


def _wide_lines(file: BinaryIO, name: str, encoding: str) -> Iterator[str]:
    """Yield the lines of a file whose characters have two or four bytes."""
    text = io.TextIOWrapper(file, encoding, newline="\n")
    number = 0
    try:
        while line := text.readline(MAX_LINE + 1):
            number += 1
            where = f"{name}, line {number}"
            if len(line) > MAX_LINE:
                raise TableError(f"{where}: expected at most {MAX_LINE} characters in a line")
            _check_no_zeros("\0" in line, where)
            yield line
    except UnicodeError:
        where = f"{name}, line {number + 1}"
        raise TableError(
            f"{where}: expected {encoding.upper()}, got other bytes, or an end inside of a "
            "character (the option --encoding names another encoding)"
        ) from None
    finally:
        with suppress(ValueError):  # closed already where the reader was given up
            text.detach()


def _check_no_zeros(there: bool, where: str) -> None:
    """Raise TableError if a line holds NUL characters."""
    if there:
        hint = "UTF-16 without a byte order mark needs --encoding utf-16-le or utf-16-be"
        raise TableError(f"{where}: expected text, got binary data ({hint})")
