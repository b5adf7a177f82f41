"""Read a table, whole or in chunks; the file's extension says how."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Any, BinaryIO, TypeAlias

import numpy as np

from pliant.core.exceptions import TableError
from pliant.core.text import quoted
from pliant.tables._compact import built
from pliant.tables._csv import csv_format, csv_frames
from pliant.tables._files import GZIP, PARQUET
from pliant.tables._format import TableFormat
from pliant.tables._names import MAX_CELLS, check_unique, named, require
from pliant.tables._values import number, text_of

if TYPE_CHECKING:
    import pandas as pd

PathLike: TypeAlias = str | os.PathLike[str]
Reader: TypeAlias = Callable[[PathLike, int | None, TableFormat | None], Iterator["pd.DataFrame"]]

CSV_NAMES = (".csv", ".csv.gz", ".tsv", ".tsv.gz")
PARQUET_NAMES = (".parquet", ".pq")

BLOCK_ROWS = 10_000
"""The most rows that are texts, or decoded, at a time when a whole table is read."""

INDEX = re.compile(r"__index_level_\d+__")
"""The column of row labels without a name that pandas writes to Parquet."""

STREAMED: dict[str, Any] = {"pre_buffer": False, "buffer_size": 1 << 16}
"""Options without which all of a file, or a group of its rows, is held compressed."""


def detect_format(
    path: PathLike, given: TableFormat | None = None, usual: TableFormat | None = None
) -> TableFormat:
    """Detect how a CSV file is written.

    The encoding is UTF-8 or UTF-16 by a byte order mark, UTF-8 if all bytes are, and else cp1252.
    Separator, decimal mark and thousands mark are decided by the first 1000 rows.

    Parameters
    ----------
    path : path-like
        As for `read_table`.
    given : TableFormat, optional
        What is known already.
    usual : TableFormat, optional
        The format of an earlier file of the same source: its words for a missing value hold too,
        and its decimal mark where this file does not show one.

    Returns
    -------
    TableFormat
        Complete; for a Parquet file `given`, with all words for a missing value.

    Raises
    ------
    TableError
        If the file cannot be read.
    """
    if _reader(path) is csv_frames:
        return csv_format(path, given, usual)
    given, usual = given or TableFormat(), usual or TableFormat()
    return replace(given, na_values=(*usual.na_values, *given.na_values))


def read_table(
    path: PathLike, stop: int | None = None, form: TableFormat | None = None
) -> pd.DataFrame:
    """Read a whole table, with types.

    Parameters
    ----------
    path : path-like
        A ``.csv``, ``.csv.gz``, ``.tsv``, ``.tsv.gz``, ``.parquet`` or ``.pq`` file. CSV has a
        header; empty cells, ``-``, ``?`` and words such as ``NA``, ``n/a``, ``NaN``, ``NULL`` and
        ``None`` are missing values.
    stop : int, optional
        Stop when this number of rows has been read.
    form : TableFormat, optional
        How a CSV file is written; what it leaves open is detected, see `detect_format`.

    Returns
    -------
    pandas.DataFrame
        At least one row. A CSV column is numeric if all its cells are numbers, boolean if all
        are ``true`` or ``false``, text otherwise.

    Raises
    ------
    TableError
        If the file is absent, damaged, of another kind, ragged, empty or not text, or if two
        columns share a name.
    """
    if _reader(path) is csv_frames:
        return _whole_csv(path, stop, csv_format(path, form))
    return _whole_parquet(path, stop, form)


def _whole_csv(path: PathLike, stop: int | None, form: TableFormat) -> pd.DataFrame:
    """Return a CSV with types; columns that turn out to be text late are read once more."""
    rows = BLOCK_ROWS if stop is None else min(stop, BLOCK_ROWS)

    def frames() -> Iterator[pd.DataFrame]:
        return _until(stop, _not_empty(csv_frames(path, rows, form), path))

    builder = built(frames())
    if mixed := builder.mixed:
        again = built(frames(), mixed)
        if again.rows != builder.rows:
            raise TableError(
                f"{quoted(path, 200)} changed while it was read: expected {builder.rows} rows, "
                f"got {again.rows}"
            )
        builder.replace(again)
    return builder.frame()


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
        As for `read_table`.

    Returns
    -------
    iterator of pandas.DataFrame
        The index counts the rows of the whole table from 0. The cells of a CSV stay text, since
        a chunk does not show the type of a column: ``TableSchema`` does.

    Raises
    ------
    TableError
        As for `read_table`; what is wrong in a later chunk is raised when it is reached.
    """
    if chunk_rows < 1:
        raise ValueError(f"expected chunk_rows >= 1, got {chunk_rows}")
    return _not_empty(_reader(path)(path, chunk_rows, form), path)


def is_text(path: PathLike) -> bool:
    """Return whether a file holds text, so that its columns have no types of their own."""
    return _reader(path) is csv_frames


def _reader(path: PathLike) -> Reader:
    """Return the function that reads this kind of file."""
    name = os.fspath(path).lower()
    if name.endswith(CSV_NAMES):
        return csv_frames
    if name.endswith(PARQUET_NAMES):
        return _parquet_frames
    kinds = ", ".join(CSV_NAMES + PARQUET_NAMES)
    raise TableError(f"{quoted(path, 200)}: expected the name of a table to end in {kinds}")


def _parquet_frames(
    path: PathLike, rows: int | None, form: TableFormat | None = None
) -> Iterator[pd.DataFrame]:
    """Yield frames with the types of a Parquet file, as long as those of `csv_frames`."""
    start = 0
    with _parquet(path) as file:
        for batch in _batches(path, file, rows):
            yield _frame_of(batch, start, form)
            start += batch.num_rows


def _whole_parquet(path: PathLike, stop: int | None, form: TableFormat | None) -> pd.DataFrame:
    """Return a Parquet file with its types, and the rows of the batch in which ``stop`` is."""
    with _parquet(path) as file:
        batches, count = [], 0
        for batch in _batches(path, file, stop):
            batches.append(batch)
            count += batch.num_rows
            if stop is not None and count >= stop:
                break
        if not batches:
            raise _without_rows(path)
        table = require("pyarrow").Table.from_batches(batches)
        del batches, batch
        return _frame_of(table, 0, form, split_blocks=True, self_destruct=True)


def _batches(path: PathLike, file: Any, rows: int | None) -> Iterator[Any]:
    """Yield the rows of a Parquet file that there are, in batches of at most ``rows``."""
    names = file.schema_arrow.names
    check_unique([name for name in names if name.strip()], quoted(path, 200))
    most = 1 + MAX_CELLS // max(1, len(names))
    for batch in file.iter_batches(most if rows is None else min(rows, most)):
        if batch.num_rows:
            yield batch


def _frame_of(table: Any, start: int, form: TableFormat | None, **options: Any) -> pd.DataFrame:
    """Return a table of Arrow as a frame whose rows are counted from ``start``.

    What pandas noted when it wrote the file is left aside, so that all columns are columns.
    """
    pandas = require("pandas")
    rows, names = table.num_rows, table.schema.names
    frame = table.to_pandas(ignore_metadata=True, **options)
    frame.index = pandas.RangeIndex(start, start + rows)
    frame.columns = named(names)
    kept = [name for name in frame if not INDEX.fullmatch(name)]
    return _without(frame if len(kept) == len(names) else frame[kept], form)


@contextmanager
def _parquet(path: PathLike) -> Iterator[Any]:
    """Open a Parquet file, and raise TableError where it cannot be read."""
    parquet, name = require("pyarrow.parquet"), quoted(path, 200)
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
        if error.strerror is None:
            raise _damaged(name) from None
        raise TableError(f"cannot read {name}: {error.strerror}") from None
    except Exception:  # a damaged file fails in many ways, deep in the decoder
        raise _damaged(name) from None


def _damaged(name: str) -> TableError:
    """Return the error for content that cannot be decoded."""
    return TableError(
        f"cannot read {name} as Parquet: its content is damaged, or of a type that is neither "
        "number nor text nor date"
    )


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


def _without(frame: pd.DataFrame, form: TableFormat | None) -> pd.DataFrame:
    """Return a frame in which the words of a format for a missing value are missing."""
    if form is None or not form.na_values:
        return frame
    return frame.apply(_blanked, args=(form,))


def _blanked(column: pd.Series, form: TableFormat) -> pd.Series:
    """Return a column without the words of a format, however its cells are written."""
    import pandas as pd

    try:
        codes, values = pd.factorize(column)
    except TypeError:  # of lists: refused where they are used
        return column
    words = [text_of(value).strip() in form.na_values for value in values]
    numbers = [number(value) in form.missing_numbers for value in values]
    gone = np.array([*np.logical_or(words, numbers), False], dtype=bool)[codes]
    return column.mask(gone) if gone.any() else column


def _until(stop: int | None, frames: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
    """Yield frames until there are ``stop`` rows."""
    count = 0
    for frame in frames:
        yield frame
        count += len(frame)
        if stop is not None and count >= stop:
            return


def _not_empty(frames: Iterator[pd.DataFrame], path: PathLike) -> Iterator[pd.DataFrame]:
    """Return ``frames`` with the first one already read, so that most errors come at once."""
    first = next(frames, None)
    if first is None:
        raise _without_rows(path)
    return chain([first], frames)


def _without_rows(path: PathLike) -> TableError:
    return TableError(f"{quoted(path, 200)} has a header but no rows")
