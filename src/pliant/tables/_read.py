"""Read a table from one file or several, whole or in chunks; the files' extensions say how."""

from __future__ import annotations

import codecs
import csv
import glob
import io
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from pliant.core.exceptions import TableError
from pliant.core.text import printable, quoted
from pliant.tables._format import (
    GZIP,
    PARQUET,
    PathLike,
    TableFormat,
    encoding_of,
    opened,
    readable,
    separator_of,
)
from pliant.tables._infer import gathered, inferred, typed
from pliant.tables._names import check_unique, listed, named, require
from pliant.tables._values import number, text_of

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

CSV_NAMES = (".csv", ".csv.gz", ".tsv", ".tsv.gz")
PARQUET_NAMES = (".parquet", ".pq")
TABLE_NAMES = CSV_NAMES + PARQUET_NAMES

MAX_CELLS = 1_000_000
"""Maximum number of cells in a chunk of several rows."""

MAX_LINE = 1 << 22
"""Longest record that is read, in bytes; longer ones mean a binary file."""

PATTERN_MARKS = ("*", "?", "[")
ASIDE = (".", "_")
"""First characters of names of files that are no part of a table, such as ``_SUCCESS``."""

INDEX = re.compile(r"__index_level_\d+__")
"""The column of row labels without a name that pandas writes to Parquet."""

STREAMED: dict[str, Any] = {"pre_buffer": False, "buffer_size": 1 << 16}
"""Options without which all of a Parquet file, or a group of its rows, is held compressed."""

CSV_ERRORS = {
    "end of data": "a quote is not closed",
    "field limit": "expected shorter cells: is a quote not closed?",
    "expected after": "expected a separator after a quoted cell: a quote inside of one is doubled",
    "new-line character": "expected lines that end in a line feed, got a lone carriage return",
}
"""Messages of Python's reader, in part, and their meaning for the author of a file."""


def detect_format(
    path: PathLike, given: TableFormat | None = None, usual: TableFormat | None = None
) -> TableFormat:
    """Detect how a CSV file is written, and which of its columns are numbers.

    The encoding is UTF-8 or UTF-16 by a byte order mark, UTF-8 if all bytes are, and else cp1252.
    The first 1000 records decide the separator, all cells the decimal mark and the columns of
    numbers. Of several files, all cells decide together; the first file decides the rest.

    Parameters
    ----------
    path : path-like
        As for `read_table`.
    given : TableFormat, optional
        What is known already.
    usual : TableFormat, optional
        The format of the file that a model was learned from, see `TableSchema.reading`: its
        columns of numbers, decimal mark and words for a missing value hold for this file too.

    Returns
    -------
    TableFormat
        Complete; for a Parquet file `given`, with all words for a missing value.

    Raises
    ------
    TableError
        If the file cannot be read, if cells allow two readings or a column of numbers holds many
        words, or if the file contradicts `usual`.
    """
    files = _files(path)
    form = _start(files, given, usual)
    if not _are_texts(files):
        return form
    wanted = None if usual is None else usual.numbers
    tables = _not_empty(_csv_tables(files, None, form), path)
    return inferred(gathered(tables, form, wanted), form, usual)


def read_table(
    path: PathLike, stop: int | None = None, form: TableFormat | None = None
) -> pd.DataFrame:
    """Read a whole table, with types.

    Parameters
    ----------
    path : path-like
        A ``.csv``, ``.csv.gz``, ``.tsv``, ``.tsv.gz``, ``.parquet`` or ``.pq`` file; or a folder
        of such files, or a pattern such as ``"sales/2024-*.parquet"``: files of one kind with the
        same columns, whose rows follow each other in the order of the files' names, all written
        as the first one. CSV has a header; empty cells are missing values.
    stop : int, optional
        Stop when this number of rows has been read.
    form : TableFormat, optional
        How a CSV file is written; what it leaves open is detected, see `detect_format`.

    Returns
    -------
    pandas.DataFrame
        At least one row. A CSV column is numeric if all its cells are numbers, of which none has
        a leading zero, a plus or more than 15 digits, and up to three different words; else it has
        texts, exactly as they are written. The words are missing values. ``frame.attrs["format"]``
        holds the complete format as plain data.

    Raises
    ------
    TableError
        If the file is absent, damaged, of another kind, ragged, empty or not text, if two columns
        share a name, or as for `detect_format`.
    """
    files = _files(path)
    if not _are_texts(files):
        whole = list(_until(stop, _not_empty(_parquet_tables(files, stop), path)))
        return _pandas(require("pyarrow").concat_tables(whole), 0, form)
    form = _start(files, form)
    whole = list(_until(stop, _not_empty(_csv_tables(files, stop, form), path)))
    if form.numbers is None:
        form = inferred(gathered(whole, form), form)
    table = require("pyarrow").concat_tables(whole)
    del whole
    return _pandas(typed(table, form), 0, form, text=True)


def iter_table(
    path: PathLike, chunk_rows: int = 10_000, form: TableFormat | None = None
) -> Iterator[pd.DataFrame]:
    """Read a table in chunks, so that it may be larger than memory.

    Parameters
    ----------
    path : path-like
        As for `read_table`.
    chunk_rows : int, default=10000
        The most rows in one chunk.
    form : TableFormat, optional
        As for `read_table`; one that `detect_format` returned saves reading a CSV twice.

    Returns
    -------
    iterator of pandas.DataFrame
        The index counts the rows of the whole table from 0. Cells have the types of `read_table`.

    Raises
    ------
    TableError
        As for `read_table`; what is wrong in a later chunk is raised when it is reached.
    """
    return (frame for frame, _ in iter_with_texts(path, chunk_rows, form))


def iter_with_texts(
    path: PathLike, chunk_rows: int = 10_000, form: TableFormat | None = None
) -> Iterator[tuple[pd.DataFrame, pd.DataFrame]]:
    """Return chunks as `iter_table` does, each with its cells as they are written."""
    if chunk_rows < 1:
        raise ValueError(f"expected chunk_rows >= 1, got {chunk_rows}")
    files = _files(path)
    text = _are_texts(files)
    if text:
        form = detect_format(path, form) if form is None or form.numbers is None else form
        tables = _not_empty(_csv_tables(files, chunk_rows, form), path)
    else:
        tables = _not_empty(_parquet_tables(files, chunk_rows), path)

    def frames() -> Iterator[tuple[pd.DataFrame, pd.DataFrame]]:
        start = 0
        for table in tables:
            if text and form is not None:
                yield (
                    _pandas(typed(table, form), start, form, text=True),
                    _pandas(table, start, form, text=True),
                )
            else:
                frame = _pandas(table, start, form)
                yield frame, frame
            start += table.num_rows

    return frames()


def _start(
    files: Sequence[PathLike], given: TableFormat | None, usual: TableFormat | None = None
) -> TableFormat:
    """Return the format that the first file shows without its columns."""
    form, usual = given or TableFormat(), usual or TableFormat()
    form = replace(
        form,
        na_values=tuple(dict.fromkeys((*usual.na_values, *form.na_values))),
        texts=tuple(dict.fromkeys((*usual.texts, *form.texts))),
    )
    if not _are_texts(files):
        return form
    with readable(files[0]):
        form = replace(form, encoding=form.encoding or encoding_of(files[0]))
        return replace(form, sep=form.sep or separator_of(files[0], str(form.encoding)))


def _pandas(
    table: pa.Table, start: int, form: TableFormat | None, text: bool = False
) -> pd.DataFrame:
    """Return a table as a frame whose rows are counted from ``start``.

    What pandas noted when it wrote a Parquet file is left aside, so that all columns are columns.
    """
    pandas = require("pandas")
    names = table.schema.names
    frame: pd.DataFrame = table.to_pandas(ignore_metadata=True)
    frame.index = pandas.RangeIndex(start, start + table.num_rows)
    frame.columns = names if text else named(names)
    if text:
        frame.attrs["format"] = form.to_dict() if form is not None else None
        return frame
    kept = [str(name) for name in frame if not INDEX.fullmatch(str(name))]
    frame = frame if len(kept) == len(names) else frame[kept]
    return frame if form is None or not form.na_values else frame.apply(_without, args=(form,))


def _without(column: pd.Series, form: TableFormat) -> pd.Series:
    """Return a column of Parquet without the words of a format, however its cells are written."""
    import pandas as pd

    try:
        codes, values = pd.factorize(column)
    except TypeError:  # of lists: refused where they are used
        return column
    words = [text_of(value).strip() in form.na_values for value in values]
    numbers = [number(value) in form.missing_numbers for value in values]
    gone = np.array([*np.logical_or(words, numbers), False], dtype=bool)[codes]
    return column.mask(gone) if gone.any() else column


# Files


def _files(path: PathLike) -> Sequence[PathLike]:
    """Return the files that a name stands for, in the order of their names, all of one kind.

    They are the file itself, or those of a folder or a pattern but for names in `ASIDE`.
    """
    text = os.fspath(path)
    if "\0" in text:
        files: Sequence[PathLike] = (path,)
    elif os.path.isdir(text):
        files = _of_folder(Path(text))
    elif os.path.lexists(text) or not any(mark in text for mark in PATTERN_MARKS):
        files = (path,)
    else:
        result = map(Path, glob.iglob(text, recursive=True))
        files = sorted(each for each in result if each.is_file() and each.name[0] not in ASIDE)
        if not files:
            name = quoted(path, 200)
            raise TableError(f"{name}: expected a file that the pattern matches, got none")
    if other := next((file for file in files if _is_csv(file) != _is_csv(files[0])), None):
        raise TableError(
            f"expected files of one kind, got {quoted(files[0], 200)} and {quoted(other, 200)}"
        )
    return files


def _of_folder(folder: Path) -> list[Path]:
    """Return the files of a folder, each of which has to be a table."""
    name = quoted(folder, 200)
    try:
        inside = sorted(each for each in folder.iterdir() if each.name[0] not in ASIDE)
    except OSError as error:
        raise TableError(f"cannot read the folder {name}: {error.strerror}") from None
    if not inside:
        raise TableError(f"the folder {name} is empty: expected tables, {', '.join(TABLE_NAMES)}")
    others = [e for e in inside if not (e.is_file() and e.name.lower().endswith(TABLE_NAMES))]
    if others:
        raise TableError(
            f"the folder {name} holds {listed([each.name for each in others], 3)}: expected files "
            f"that end in {', '.join(TABLE_NAMES)} only; name the tables by a pattern, such as "
            f"{quoted(folder / '*.csv', 200)}"
        )
    return inside


def _are_texts(files: Sequence[PathLike]) -> bool:
    return _is_csv(files[0])


def _is_csv(path: PathLike) -> bool:
    """Return whether the name is one of a CSV file; raise TableError if it is of no table."""
    name = os.fspath(path).lower()
    if not name.endswith(TABLE_NAMES):
        kinds = ", ".join(TABLE_NAMES)
        raise TableError(f"{quoted(path, 200)}: expected the name of a table to end in {kinds}")
    return name.endswith(CSV_NAMES)


def _check_columns(
    names: Sequence[str], path: PathLike, expected: Sequence[str], first: PathLike
) -> None:
    """Raise TableError unless a file has the columns of the first one, in whatever order."""
    absent = [name for name in expected if name not in set(names)]
    extra = [name for name in names if name not in set(expected)]
    differences = [f"lacks {listed(absent, 3)}"] if absent else []
    differences += [f"has {listed(extra, 3)} besides"] if extra else []
    if differences:
        raise TableError(
            f"expected all files to have the columns of {quoted(first, 200)}: "
            f"{quoted(path, 200)} {' and '.join(differences)}"
        )


def _until(stop: int | None, tables: Iterable[pa.Table]) -> Iterator[pa.Table]:
    """Yield tables until there are ``stop`` rows."""
    rows = 0
    for table in tables:
        yield table
        rows += table.num_rows
        if stop is not None and rows >= stop:
            return


def _not_empty(tables: Iterator[pa.Table], path: PathLike) -> Iterator[pa.Table]:
    """Return ``tables`` with the first one already read, so that most errors come at once."""
    first = next(tables, None)
    if first is None:
        raise TableError(f"{quoted(path, 200)} has a header but no rows")
    return chain([first], tables)


# CSV


def _csv_tables(
    files: Sequence[PathLike], rows: int | None, form: TableFormat
) -> Iterator[pa.Table]:
    """Yield tables of text of at most ``rows`` rows, columns in the order of the first file."""
    columns: list[str] = []
    for path in files:
        for table in _csv_of(path, rows, form):
            columns = columns or table.column_names
            _check_columns(table.column_names, path, columns, files[0])
            yield table if table.column_names == columns else table.select(columns)


def _csv_of(path: PathLike, rows: int | None, form: TableFormat) -> Iterator[pa.Table]:
    """Yield the tables of one file, without its header."""
    pa, arrow_csv = require("pyarrow"), require("pyarrow.csv")
    with readable(path):
        first = next(_checked_records(path, form))
        header = _checked_header(first, quoted(path, 200))
        most = 1 + MAX_CELLS // len(header)
        most = most if rows is None else min(rows, most)
        keys = [str(k) for k in range(len(header))]
        with opened(path) as file:
            checked, failed, rest = _Checked(file, str(form.encoding)), False, None
            try:
                reader = arrow_csv.open_csv(
                    pa.PythonFile(checked, "r"),
                    arrow_csv.ReadOptions(
                        use_threads=False,
                        block_size=MAX_LINE,
                        column_names=keys,
                        encoding=str(form.encoding).removesuffix("-sig").replace("utf-8", "utf8"),
                    ),
                    arrow_csv.ParseOptions(delimiter=form.sep, newlines_in_values=True),
                    arrow_csv.ConvertOptions(
                        column_types=dict.fromkeys(keys, pa.string()),
                        null_values=["", *form.na_values],
                        strings_can_be_null=True,
                    ),
                )
                held, skipped, strict = [], 1, False
                for batch in reader:
                    if checked.quotes and not strict and _has_lines(batch):
                        strict = _is_strict(path, form)
                    held.append(pa.table(batch.columns, header).slice(skipped))
                    skipped = max(0, skipped - batch.num_rows)
                    if sum(each.num_rows for each in held) >= most:
                        whole = pa.concat_tables(held)
                        for start in range(0, whole.num_rows - most + 1, most):
                            yield whole.slice(start, most)
                        held = [whole.slice(whole.num_rows // most * most)]
                rest = pa.concat_tables(held) if held else None
            except (pa.ArrowInvalid, UnicodeError, _NoText):
                failed = True
            if failed or (checked.quotes % 2 and not strict):
                _is_strict(path, form)
            if failed:
                name = quoted(path, 200)
                raise TableError(f"{name}: expected cells that are separated and quoted as in CSV")
            if rest is not None and rest.num_rows:
                yield rest


def _has_lines(batch: Any) -> bool:
    """Return whether a cell holds a line feed; Arrow accepts a quote that is closed lines later."""
    import pyarrow.compute as pc

    return any(pc.any(pc.match_substring(column, "\n")).as_py() for column in batch.columns)


class _NoText(ValueError):
    """A file holds NUL characters."""


class _Checked(io.RawIOBase):
    """Pass bytes on, count quotes, and refuse NUL characters where they are no part of others."""

    def __init__(self, file: BinaryIO, encoding: str) -> None:
        self._file, self._plain = file, not codecs.lookup(encoding).name.startswith("utf-")
        self._plain = self._plain or codecs.lookup(encoding).name in ("utf-8", "utf-8-sig")
        self.quotes = 0

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        block = self._file.read(size)
        if self._plain:
            self.quotes += block.count(b'"')
            if b"\0" in block:
                raise _NoText
        return block


def _checked_records(path: PathLike, form: TableFormat) -> Iterator[list[str]]:
    """Yield the header and the rows as Python reads them; refuse the first fault with its line."""
    name, encoding, width = quoted(path, 200), str(form.encoding), 0
    with readable(path), opened(path) as file:
        plain = "surrogateescape" if encoding.startswith(("utf-8", "cp", "ascii")) else "strict"
        lines = io.TextIOWrapper(file, encoding, plain, newline="\n")
        reader = csv.reader(
            _checked_lines(lines, name, encoding), delimiter=str(form.sep), strict=True
        )
        first = 1
        try:
            for row in reader:
                width = width or len(row)
                if row and len(row) != width:
                    raise TableError(
                        f"{name}, line {reader.line_num}: expected {width} cells as in the header, "
                        f"got {len(row)}"
                    )
                if row:
                    yield row
                first = reader.line_num + 1
        except csv.Error as error:
            reason = next((text for words, text in CSV_ERRORS.items() if words in str(error)), None)
            text = reason or "expected cells that are separated and quoted as in CSV"
            raise TableError(f"{name}, line {first}: {text}") from None
    if not width:
        raise TableError(f"{name} is empty")


def _checked_lines(lines: io.TextIOWrapper, name: str, encoding: str) -> Iterator[str]:
    """Yield lines of text; refuse one that is too long, binary, or not of its encoding."""
    line = 0
    hint = "(the option --encoding names another one)"
    try:
        while text := lines.readline(MAX_LINE + 1):
            line += 1
            where = f"{name}, line {line}"
            if len(text) > MAX_LINE:
                raise TableError(f"{where}: expected at most {MAX_LINE} bytes in a line, got more")
            if "\0" in text:
                utf = "UTF-16 without a byte order mark needs --encoding utf-16-le or utf-16-be"
                raise TableError(f"{where}: expected text, got binary data ({utf})")
            if wrong := re.search("[\udc80-\udcff]", text):
                byte, shown = ord(wrong[0]) - 0xDC00, encoding.removesuffix("-sig").upper()
                raise TableError(f"{where}: expected {shown}, got the byte 0x{byte:02x} {hint}")
            yield text
    except UnicodeError:
        where = f"{name}, line {line + 1}"
        raise TableError(f"{where}: expected {encoding.upper()}, got other bytes {hint}") from None


def _is_strict(path: PathLike, form: TableFormat) -> bool:
    """Return True for a file that Python reads too, or raise the error with the line."""
    for _ in _checked_records(path, form):
        pass
    return True


def _checked_header(header: Sequence[str], name: str) -> list[str]:
    """Return the column names if some column has one and no two share one."""
    if not any(column.strip() for column in header):
        raise TableError(f"{name}: expected a header with the names of the columns, got blanks")
    check_unique([column for column in header if column.strip()], name)
    return named(header)


# Parquet


def _parquet_tables(files: Sequence[PathLike], rows: int | None) -> Iterator[pa.Table]:
    """Yield tables with the types of Parquet files, each of at most ``rows`` rows."""
    pa = require("pyarrow")
    shared = _shared_schema(files) if len(files) > 1 else None
    for path in files:
        with _parquet(path) as file:
            names = file.schema_arrow.names
            check_unique([name for name in names if name.strip()], quoted(path, 200))
            most = 1 + MAX_CELLS // max(1, len(names))
            for batch in file.iter_batches(most if rows is None else min(rows, most)):
                if batch.num_rows:
                    table = pa.Table.from_batches([batch])
                    yield table if shared is None else table.select(shared.names).cast(shared)


def _shared_schema(files: Sequence[PathLike]) -> Any:
    """Return the columns of all files, each with a type that holds the values of all."""
    pa, shared = require("pyarrow"), None
    for path in files:
        with _parquet(path) as file:
            schema = file.schema_arrow.remove_metadata()
        check_unique([name for name in schema.names if name.strip()], quoted(path, 200))
        own = pa.schema(
            field.with_nullable(True).with_type(
                field.type.value_type if pa.types.is_dictionary(field.type) else field.type
            )
            for field in schema
            if not INDEX.fullmatch(field.name)
        )
        shared = own if shared is None else shared
        _check_columns(own.names, path, shared.names, files[0])
        try:
            shared = pa.unify_schemas([shared, own], promote_options="permissive")
        except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
            raise TableError(
                f"expected columns with the types of the files from {quoted(files[0], 200)} on, "
                f"got others in {quoted(path, 200)}: {printable(error, 160)}"
            ) from None
    return shared


@contextmanager
def _parquet(path: PathLike) -> Iterator[Any]:
    """Open a Parquet file, and raise TableError where it cannot be read."""
    parquet, name = require("pyarrow.parquet"), quoted(path, 200)
    damaged = (
        f"cannot read {name} as Parquet: its content is damaged, or of a type that is neither "
        "number nor text nor date"
    )
    try:
        with open(path, "rb") as source:
            _check_parquet(source, name)
            with parquet.ParquetFile(source, **STREAMED) as file:
                yield file
    except (TableError, ImportError):
        raise
    except MemoryError:
        raise TableError(f"{name} needs more memory than there is: take a sample") from None
    except OSError as error:
        text = f"cannot read {name}: {error.strerror}" if error.strerror else damaged
        raise TableError(text) from None
    except Exception:  # a damaged file fails in many ways, deep in the decoder
        raise TableError(damaged) from None


def _check_parquet(file: BinaryIO, name: str) -> None:
    """Raise TableError if a file does not begin and end as Parquet does."""
    size = file.seek(0, os.SEEK_END)
    file.seek(0)
    start = file.read(len(PARQUET))
    file.seek(max(0, size - len(PARQUET)))
    end = file.read()
    file.seek(0)
    if start == PARQUET == end and size > 2 * len(PARQUET):
        return
    reason = "its end is missing, so it is not whole" if start == PARQUET else "it is none"
    reason = "it is packed by gzip, unpack it" if start.startswith(GZIP) else reason
    raise TableError(f"cannot read {name} as Parquet: {reason if size else 'it is empty'}")
