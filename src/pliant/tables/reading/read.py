"""Read a table from one or more CSV, Parquet or LIBSVM files, whole or in chunks."""

from __future__ import annotations

import codecs
import csv
import glob
import gzip
import io
import os
import re
import warnings
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from pliant.core.exceptions import TableError
from pliant.core.files import open_regular
from pliant.core.text import count, printable, quoted
from pliant.tables.reading.dialect import (
    BLOCK,
    PathLike,
    detect_encoding,
    detect_separator,
    hint_at_skip,
    is_data,
    marked_encoding,
    open_packed,
    rows_without_data,
    split_records,
)
from pliant.tables.reading.infer import (
    TableFormat,
    convert,
    gather_evidence,
    infer_format,
    set_missing,
)
from pliant.tables.reading.libsvm import check_size, libsvm_tables
from pliant.tables.reading.names import check_unique, in_quotes, name_blanks, require

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

Files: TypeAlias = Sequence[PathLike]

MAX_CELLS = 1_000_000
"""Maximum number of cells in a chunk of several rows."""

AS_CSV = "cells separated and quoted as in CSV"

ENDINGS = {
    "csv": (".csv", ".csv.gz", ".tsv", ".tsv.gz"),
    "parquet": (".parquet", ".pq"),
    "libsvm": (".svm", ".svm.gz", ".libsvm", ".libsvm.gz"),
}
"""Ends of file names, by file type."""


def detect_format(
    path: PathLike, given: TableFormat | None = None, usual: TableFormat | None = None
) -> TableFormat:
    """Detect the format of a CSV file and its numeric columns.

    A byte order mark decides the encoding of its file; the default is UTF-8 if all bytes are valid,
    else cp1252. The first 1000 records decide the separator. The cells of all files decide the
    decimal mark and the numeric columns; the first file decides the other options.

    Parameters
    ----------
    path : path-like
        As in `read_table`.
    given : TableFormat, optional
        The known options.
    usual : TableFormat, optional
        The format of a model's training file, see `TableSchema.reading`. Its numeric columns,
        decimal mark and missing-value words also apply to this file.

    Returns
    -------
    TableFormat
        The complete format; for other files, `given` plus missing-value words and columns of
        `usual`.

    Raises
    ------
    TableError
        If the file cannot be read or contradicts `usual`, if cells are ambiguous, if a numeric
        column holds too many distinct words, or if an option does not fit the type of the file.
    """
    files = _find_files(path)
    form = _detect_options(files, given, usual)
    if _file_type(files[0]) != "csv":
        return form
    aside, wanted = Counter[str](), None if usual is None else usual.numbers
    tables = _read_tables(files, None, form, aside)
    return _add_notes(infer_format(gather_evidence(tables, form, wanted), form, usual), aside)


def read_table(
    path: PathLike, stop: int | None = None, form: TableFormat | None = None
) -> pd.DataFrame:
    """Read a whole table and infer its types.

    Parameters
    ----------
    path : path-like
        A ``.csv``, ``.csv.gz``, ``.tsv``, ``.tsv.gz``, ``.parquet`` or ``.pq`` file, a LIBSVM
        file (``.svm``, ``.libsvm``, also with ``.gz``), a folder of such files, or a pattern such
        as ``"sales/2024-*.parquet"``. The files must have the same type, columns and options; their
        rows are concatenated in the order of the file names. CSV files have a header unless `form`
        says otherwise; empty cells are missing values. The columns of LIBSVM files are ``label``,
        ``1``, ``2``, ... as far as the largest index; features that a row does not name are 0.
    stop : int, optional
        Stop once at least this many rows have been read.
    form : TableFormat, optional
        Options of the CSV file; missing ones are detected, see `detect_format`.

    Returns
    -------
    pandas.DataFrame
        A frame of at least one row. A CSV column is numeric if its cells are numbers, apart from
        up to three distinct words, which are missing values. Integers with a leading zero, a plus
        sign or more than 15 digits, in a column without decimals, make it text, as written.
        ``frame.attrs["format"]`` holds the complete format as JSON data.

    Raises
    ------
    TableError
        If the file is absent, damaged, ragged, empty, not text or of another type, if two columns
        share a name, or for a reason given in `detect_format`.

    Warns
    -----
    UserWarning
        If the first line looks like data: all cells are numbers or dates, or one is a decimal.
    """
    files = _find_files(path)
    form, tables, rows = _detect_options(files, form), list[Any](), 0
    aside, kind = Counter[str](), _file_type(files[0])
    for table in _read_tables(files, stop, form, aside):
        tables.append(table)
        rows += table.num_rows
        if kind == "libsvm":
            check_size(rows, table.num_columns)
        if stop is not None and rows >= stop:
            break
    whole = require("pyarrow").concat_tables(tables)
    if kind != "csv":
        return _make_frame(whole, 0, form)
    form = form if form.numbers is not None else infer_format(gather_evidence(tables, form), form)
    return _make_frame(convert(whole, form), 0, _add_notes(form, aside), text=True)


def iter_table(
    path: PathLike, chunk_rows: int = 10_000, form: TableFormat | None = None
) -> Iterator[pd.DataFrame]:
    """Read a table in chunks, for tables larger than memory.

    Parameters
    ----------
    path : path-like
        As in `read_table`.
    chunk_rows : int, default=10000
        Maximum number of rows in a chunk.
    form : TableFormat, optional
        As in `read_table`. Pass the result of `detect_format` to avoid reading a CSV file twice.

    Returns
    -------
    iterator of pandas.DataFrame
        Chunks with the types of `read_table`; the index numbers the table's rows from 0.

    Raises
    ------
    TableError
        As in `read_table`; an error in a later chunk is raised when the iterator reaches it.
    """
    return (frame for frame, _ in iter_with_texts(path, chunk_rows, form))


def iter_with_texts(
    path: PathLike, chunk_rows: int = 10_000, form: TableFormat | None = None
) -> Iterator[tuple[pd.DataFrame, pd.DataFrame]]:
    """Yield the chunks of `iter_table`, each with a frame of its cells as they are in the file.

    CSV cells are texts, and integers beside missing values stay integers.
    """
    if chunk_rows < 1:
        raise ValueError(f"expected chunk_rows >= 1, got {chunk_rows}")
    files = _find_files(path)
    text, given = _file_type(files[0]) == "csv", form or TableFormat()
    form = detect_format(path, given) if given.numbers is None else given
    # rows of units are those that detection left out, before it knew the words
    tables = _read_tables(files, chunk_rows, replace(form, words=given.words), Counter())

    def frames() -> Iterator[tuple[pd.DataFrame, pd.DataFrame]]:
        start = 0
        for table in tables:
            texts = _make_frame(table, start, form, text, exact=True)
            yield _make_frame(convert(table, form) if text else table, start, form, text), texts
            start += table.num_rows

    return frames()


def _detect_options(
    files: Files, given: TableFormat | None, usual: TableFormat | None = None
) -> TableFormat:
    """Detect the format of the first file, except for its numeric columns and decimal mark."""
    form, usual = given or TableFormat(), usual or TableFormat()
    kind = _file_type(files[0])
    if kind != "csv":
        _check_no_csv_options(files[0], form)
    known = {name: usual.words[name] for name in usual.numbers or () if name in usual.words}
    form = replace(
        form,
        words={**form.words, **known},
        na_values=tuple(dict.fromkeys((*usual.na_values, *form.na_values))),
        texts=tuple(dict.fromkeys((*usual.texts, *form.texts))),
    )
    if kind == "libsvm":  # columns of zeros may be absent from a later file
        return replace(form, numbers=usual.numbers if form.numbers is None else form.numbers)
    if kind != "csv":
        return form
    form = replace(form, header=usual.header if form.header is None else form.header)
    encoding = marked_encoding(files[0]) or form.encoding or detect_encoding(files[0])
    form = replace(form, encoding=encoding)
    form = replace(form, sep=form.sep or detect_separator(files[0], form))
    first, rest = _read_start(files[0], form, 100_000)
    if form.header is None and is_data(first, [row for row in rest if row != first]):
        warnings.warn(
            f"the first line of {quoted(files[0], 200)} looks like data, such as "
            f"{in_quotes(filter(None, map(str.strip, first)), 3)}, but is used as column names: "
            "TableFormat(header=False) names columns by position",
            UserWarning,
            stacklevel=3,
        )
    return replace(form, header=form.header is not False)


def _check_no_csv_options(path: PathLike, form: TableFormat) -> None:
    """Raise TableError if an option is given that concerns the lines of a CSV file."""
    for name in ("sep", "encoding", "header", "skip"):
        value = getattr(form, name)
        if value != getattr(TableFormat, name):  # the default
            raise TableError(
                f"{quoted(path, 200)} is no CSV file: expected no TableFormat({name}={value!r})"
            )


def _read_start(path: PathLike, form: TableFormat, cells: int) -> tuple[list[str], list[list[str]]]:
    """Return the first row of a file, and at least 20 more, if present, of ``cells`` cells."""
    records = _read_records(path, form)
    first, rest = next(records), list[list[str]]()
    with suppress(TableError):  # the full read reports the error
        rest.extend(islice(records, max(20, cells // len(first))))
    return first, rest


def _add_notes(form: TableFormat, aside: Counter[str]) -> TableFormat:
    """Add notes about the rows left out."""
    notes = [f"left out: {count(times, 'row')} {what}" for what, times in (+aside).items()]
    return replace(form, notes=tuple(dict.fromkeys((*form.notes, *notes))))


def _make_frame(
    table: pa.Table, start: int, form: TableFormat, text: bool = False, exact: bool = False
) -> pd.DataFrame:
    """Convert a table that starts at row ``start`` to a frame; ignore pandas' Parquet metadata.

    With `exact`, integers beside missing values do not become floats.
    """
    try:
        plain = table.replace_schema_metadata()
        frame: pd.DataFrame = plain.to_pandas(integer_object_nulls=exact)
    except (ValueError, require("pyarrow").ArrowException) as error:
        raise TableError(
            f"expected dates and times that Python can represent: {printable(error, 160)}"
        ) from None
    frame.index = require("pandas").RangeIndex(start, start + table.num_rows)
    frame.columns = name_blanks(table.column_names)
    form = form if text else replace(form, numbers=None)  # types are those of the file
    frame.attrs["format"] = form.to_dict()
    return frame


# Files


def _find_files(path: PathLike) -> Files:
    """Return a file, or the sorted files of a folder or pattern; raise TableError for mixed types.

    Files with a leading dot or underscore, such as ``_SUCCESS``, are skipped.
    """
    text, files = os.fspath(path), list[PathLike]([path])
    folder = os.path.isdir(text)
    if folder or is_pattern(path):
        pattern = os.path.join(glob.escape(text), "*") if folder else text
        found = sorted(map(Path, glob.iglob(pattern, recursive=True)))
        files = [each for each in found if each.name[0] not in "._"]
    if not files:
        raise TableError(f"{quoted(path, 200)}: expected table files, got none")
    for other in files:
        if _file_type(other) != _file_type(files[0]):
            names = f"{quoted(files[0], 200)} and {quoted(other, 200)}"
            raise TableError(f"expected files of one type, got {names}")
    return files


def is_pattern(path: PathLike) -> bool:
    """Return True for a pattern of file names, unless it is the name of a file."""
    return glob.has_magic(os.fspath(path)) and not os.path.lexists(path)


def _file_type(path: PathLike) -> str:
    """Return the type of a file, a key of `ENDINGS`; raise TableError for other names."""
    name = os.fspath(path).lower()
    for kind, endings in ENDINGS.items():
        if name.endswith(endings):
            return kind
    every = ", ".join(chain(*ENDINGS.values()))
    raise TableError(f"{quoted(path, 200)}: expected a file name ending in {every}")


def _check_columns(names: list[str], path: PathLike, expected: list[str], first: PathLike) -> None:
    """Raise TableError unless a file has the columns of the first file, in any order."""
    if other := set(names) ^ set(expected):
        raise TableError(
            f"expected all files to have the columns of {quoted(first, 200)}, got "
            f"{quoted(path, 200)}: only one of them has {in_quotes(sorted(other), 3)}"
        )


def _read_tables(
    files: Files, rows: int | None, form: TableFormat, aside: Counter[str]
) -> Iterator[pa.Table]:
    """Return tables of at most ``rows`` rows; read the first one now, to raise errors early.

    ``aside`` counts the rows of a CSV file that are left out because they hold no data.
    """
    kind = _file_type(files[0])
    if kind == "csv":
        tables = _csv_tables(files, rows, form, aside)
    elif kind == "parquet":
        tables = _with_gaps(_parquet_tables(files, rows), form)
    else:
        typed = libsvm_tables(files, rows, MAX_CELLS, form.numbers or ())
        tables = _with_gaps(typed, form)
    for first in tables:
        return chain([first], tables)
    raise TableError(f"{quoted(files[0], 200)} has a header but no rows")


def _with_gaps(tables: Iterator[pa.Table], form: TableFormat) -> Iterator[pa.Table]:
    """Yield tables of typed columns with nulls in place of the values that mean missing."""
    pa = require("pyarrow")
    for table in tables:
        if form.na_values:
            cells = [set_missing(each, form, form.na_values) for each in table.columns]
            table = pa.table(cells, table.column_names)
        yield table


# CSV


def _csv_tables(
    files: Files, rows: int | None, form: TableFormat, aside: Counter[str]
) -> Iterator[pa.Table]:
    """Yield text tables of at most ``rows`` rows, with the column order of the first file."""
    columns: list[str] = []
    unmarked = str(form.encoding).removesuffix("-sig")
    for path in files:
        form = replace(form, encoding=marked_encoding(path) or unmarked)
        (header, rest), name = _read_start(path, form, 0), quoted(path, 200)
        header, without = [cell.strip() for cell in header], dict[str, list[list[str]]]()
        if form.header is False:
            header = [f"column {k}" for k in range(1, len(header) + 1)]
        elif not any(header):
            raise TableError(f"{name}: expected a header with column names, got only blanks")
        else:
            without = rows_without_data(header, rest, form)
        header = name_blanks(header)
        check_unique(header, name, ": if its first line is data, set TableFormat(header=False)")
        most = min(rows or MAX_CELLS, 1 + MAX_CELLS // len(header))
        for table in _read_blocks(path, header, form):
            columns = columns or header
            _check_columns(header, path, columns, files[0])
            for what, others in without.items():
                left = _leave_out(table, others, form)
                aside[what] += table.num_rows - left.num_rows
                table = left
            ordered = table if header == columns else table.select(columns)
            for start in range(0, table.num_rows, most):
                yield ordered.slice(start, most)


def _leave_out(table: pa.Table, others: list[list[str]], form: TableFormat) -> pa.Table:
    """Return the rows that do not equal one of ``others``."""
    pc = require("pyarrow.compute")
    for cells in others:
        same: Any = True
        for column, cell in zip(table.columns, cells, strict=True):
            equal = pc.equal(pc.utf8_trim_whitespace(column), cell)
            same = pc.and_(same, pc.fill_null(equal, cell in ("", *form.na_values)))
            if not pc.any(same).as_py():
                break
        else:
            table = table.filter(pc.invert(same))
    return table


def _read_blocks(path: PathLike, header: list[str], form: TableFormat) -> Iterator[pa.Table]:
    """Yield the rows of a file in blocks, without the header."""
    encoding = codecs.lookup(str(form.encoding).removesuffix("-sig")).name
    quick = encoding == "utf-8" and form.sep != " "
    blocks = (_read_with_arrow if quick else _read_with_python)(path, len(header), form)
    skip = int(form.header is not False)
    for block in blocks:
        if skip < block.num_rows:
            yield block.rename_columns(header).slice(skip)
        skip = max(0, skip - block.num_rows)


def _read_with_arrow(path: PathLike, width: int, form: TableFormat) -> Iterator[pa.Table]:
    """Yield the records of a file in UTF-8.

    Arrow's threads outlive its reader. They read without Python, which they would crash at exit.
    """
    pa, arrow_csv = require("pyarrow"), require("pyarrow.csv")
    keys, checked = [str(k) for k in range(width)], False
    try:
        with open_packed(path) as opened:
            file = pa.OSFile(os.fspath(path))
            packed = isinstance(opened, gzip.GzipFile)
            reader = arrow_csv.open_csv(
                pa.CompressedInputStream(file, "gzip") if packed else file,
                arrow_csv.ReadOptions(
                    use_threads=False, block_size=BLOCK, skip_rows=form.skip, column_names=keys
                ),
                arrow_csv.ParseOptions(delimiter=form.sep, newlines_in_values=True),
                arrow_csv.ConvertOptions(
                    column_types=dict.fromkeys(keys, pa.string()),
                    null_values=["", *form.na_values],
                    strings_can_be_null=True,
                ),
            )
            for batch in reader:
                if not checked and _is_suspicious(batch):
                    deque(_read_records(path, form), maxlen=0)
                    checked = True
                yield pa.Table.from_batches([batch])
            return
    except (TableError, pa.ArrowInvalid):
        pass
    deque(_read_records(path, form), maxlen=0)  # Python's reader reports the line of an error
    raise TableError(f"{quoted(path, 200)}: expected {AS_CSV}")


def _read_with_python(path: PathLike, width: int, form: TableFormat) -> Iterator[pa.Table]:
    """Yield the records of a file in any encoding, also between runs of blanks."""
    pa, pc = require("pyarrow"), require("pyarrow.compute")
    records, keys = _read_records(path, form), [str(k) for k in range(width)]
    missing = pa.array(["", *form.na_values])
    while rows := list(islice(records, 1 + 100_000 // width)):
        columns = [pa.array(cells, pa.string()) for cells in zip(*rows, strict=True)]
        gaps = [pc.is_in(column, value_set=missing) for column in columns]
        yield pa.table(list(map(pc.if_else, gaps, [None] * width, columns)), keys)


def _is_suspicious(batch: Any) -> bool:
    """Return True if a cell holds a line feed (an unclosed quote) or a NUL (binary data)."""
    texts = [bytes(column.buffers()[2] or b"") for column in batch.columns]
    return any(mark in text for text in texts for mark in (b"\n", b"\0"))


def _read_records(path: PathLike, form: TableFormat) -> Iterator[list[str]]:
    """Yield the header and rows with Python's csv reader, which reports the line of an error."""
    name, encoding, width = quoted(path, 200), str(form.encoding), 0
    first = form.skip + 1
    errors = "surrogateescape" if encoding.startswith(("utf-8", "cp", "ascii")) else "strict"
    with open_packed(path) as file, io.TextIOWrapper(file, encoding, errors, newline="\n") as text:
        lines = _read_lines(text, name, encoding)
        deque(islice(lines, form.skip), maxlen=0)
        reader = split_records(lines, form, strict=True)
        try:
            for row in reader:
                line, width = form.skip + reader.line_num, width or len(row)
                if row and len(row) != width:
                    raise TableError(
                        f"{name}, line {line}: expected {count(width, 'cell')} as in the header, "
                        f"got {len(row)}{hint_at_skip(path, form)}"
                    )
                if row:
                    yield row
                first = line + 1
        except csv.Error as error:
            reason = str(error).replace("\t", "tab")
            raise TableError(f"{name}, line {first}: expected {AS_CSV}, got: {reason}") from None
    if not width:
        raise TableError(f"{name} is empty{f' below line {form.skip}' if form.skip else ''}")


def _read_lines(lines: io.TextIOWrapper, name: str, encoding: str) -> Iterator[str]:
    """Yield lines of text; raise TableError for long lines, binary data or a wrong encoding."""
    line, hint = 0, "(TableFormat(encoding=...) sets another encoding)"
    try:
        while text := lines.readline(BLOCK + 1):
            line += 1
            where = f"{name}, line {line}"
            if len(text) > BLOCK:
                raise TableError(f"{where}: expected at most {BLOCK} bytes in a line, got more")
            if "\0" in text:
                utf = (
                    "UTF-16 without a byte order mark needs TableFormat(encoding='utf-16-le') or "
                    "TableFormat(encoding='utf-16-be')"
                )
                raise TableError(f"{where}: expected text, got binary data ({utf})")
            if not text.isascii() and (wrong := re.search("[\udc80-\udcff]", text)):
                byte, shown = ord(wrong[0]) - 0xDC00, encoding.removesuffix("-sig").upper()
                raise TableError(f"{where}: expected {shown}, got the byte 0x{byte:02x} {hint}")
            yield text
    except UnicodeError:
        where = f"{name}, line {line + 1}"
        raise TableError(f"{where}: expected {encoding.upper()}, got other bytes {hint}") from None


# Parquet


def _parquet_tables(files: Files, rows: int | None) -> Iterator[pa.Table]:
    """Yield tables of at most ``rows`` rows, with the types of the Parquet files."""
    pa = require("pyarrow")
    shared = _shared_schema(files) if len(files) > 1 else None
    for path in files:
        with _open_parquet(path) as file:
            names = _column_names(file) if shared is None else shared.names
            most = min(rows or MAX_CELLS, 1 + MAX_CELLS // max(1, len(names)))
            missing = file.metadata.num_rows
            for batch in file.iter_batches(most):
                batch.validate(full=True)  # texts are UTF-8, times are within a day
                missing -= batch.num_rows
                table = pa.Table.from_batches([batch]).select(names)
                if shared is not None:
                    pairs = zip(table.columns, shared.types, strict=True)
                    table = pa.table([_cast(cells, kind) for cells, kind in pairs], names)
                if batch.num_rows:
                    yield table
            if missing:
                raise ValueError(f"expected {file.metadata.num_rows} rows, {missing} are missing")


def _cast(cells: pa.ChunkedArray, kind: Any) -> pa.ChunkedArray:
    """Convert a column to a type; integers beyond 2**53 may become the nearest float."""
    pc, encoded = require("pyarrow.compute"), require("pyarrow").types.is_dictionary(kind)
    options = pc.CastOptions(kind.value_type if encoded else kind, allow_float_truncate=True)
    values = pc.cast(cells, options=options)
    return values.dictionary_encode() if encoded else values


def _column_names(file: Any) -> list[str]:
    """Return the column names of a Parquet file, without pandas' index columns."""
    names = file.schema_arrow.names
    return [name for name in names if not re.fullmatch(r"__index_level_\d+__", name)]


def _shared_schema(files: Files) -> Any:
    """Return one schema for all files, with column types that fit every file.

    Columns that are dictionaries in all files, and thus categories, remain dictionaries.
    """
    pa, schemas, encoded = require("pyarrow"), list[Any](), Counter[str]()
    for path in files:
        with _open_parquet(path) as file:
            fields = [file.schema_arrow.field(name) for name in _column_names(file)]
        encoded.update(f.name for f in fields if pa.types.is_dictionary(f.type))
        types = [f.type.value_type if pa.types.is_dictionary(f.type) else f.type for f in fields]
        schemas.append(pa.schema(list(zip((f.name for f in fields), types, strict=True))))
        _check_columns(schemas[-1].names, path, schemas[0].names, files[0])
    try:
        shared = pa.unify_schemas(schemas, promote_options="permissive")
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise TableError(
            f"expected compatible column types in all files, starting at {quoted(files[0], 200)}: "
            f"{printable(error, 160)}"
        ) from None
    for k, field in enumerate(shared):
        if _have_no_exact_type({schema.field(field.name).type for schema in schemas}):
            shared = shared.set(k, field.with_type(pa.float64()))
        elif encoded[field.name] == len(files):
            shared = shared.set(k, field.with_type(pa.dictionary(pa.int32(), field.type)))
    return shared


def _have_no_exact_type(kinds: set[Any]) -> bool:
    """Return True for uint64 besides signed integers, and for decimals besides other numbers."""
    types = require("pyarrow").types
    unsigned = any(map(types.is_uint64, kinds)) and any(map(types.is_signed_integer, kinds))
    decimal = [types.is_decimal(kind) for kind in kinds]
    return unsigned or (any(decimal) and not all(decimal))


@contextmanager
def _open_parquet(path: PathLike) -> Iterator[Any]:
    """Open a Parquet file; convert read errors to TableError."""
    parquet = require("pyarrow.parquet")
    try:
        # by default, a whole compressed row group is held in memory
        with (
            open_regular(path) as source,
            parquet.ParquetFile(source, pre_buffer=False, buffer_size=1 << 16) as file,
        ):
            check_unique(name_blanks(file.schema_arrow.names), quoted(path, 200))
            yield file
    except (TableError, ImportError, MemoryError):
        raise
    except Exception as error:  # damaged files raise many kinds of errors in the decoder
        reason = getattr(error, "strerror", None) or printable(error, 160)
        raise TableError(f"cannot read {quoted(path, 200)} as Parquet: {reason}") from None
