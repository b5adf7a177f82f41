"""Read a table, whole or in chunks; the file's extension says how."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeAlias

from pliant.core.exceptions import TableError
from pliant.core.files import printable, quoted
from pliant.tables._csv import csv_format, csv_frames, with_types
from pliant.tables._format import TableFormat
from pliant.tables._names import MAX_CELLS, check_unique, require

if TYPE_CHECKING:
    import pandas as pd

PathLike: TypeAlias = str | os.PathLike[str]
Reader: TypeAlias = Callable[[PathLike, int | None, TableFormat | None], Iterator["pd.DataFrame"]]

CSV_NAMES = (".csv", ".csv.gz", ".tsv", ".tsv.gz")
PARQUET_NAMES = (".parquet", ".pq")

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
        Complete; that of a Parquet file is `given`.

    Raises
    ------
    TableError
        If the file cannot be read.
    """
    if _reader(path) is csv_frames:
        return csv_format(path, given, usual)
    return given or TableFormat()


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
    reader = _reader(path)
    frames = list(_until(stop, _not_empty(reader(path, stop, form), path)))
    frame = frames[0] if len(frames) == 1 else require("pandas").concat(frames)
    return with_types(frame) if reader is csv_frames else frame


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
    pandas, parquet = require("pandas"), require("pyarrow.parquet")
    name = quoted(path, 200)
    start = 0
    try:
        with open(path, "rb") as source, parquet.ParquetFile(source, **STREAMED) as file:
            columns = file.schema_arrow.names
            check_unique(columns, name)
            most = None if rows is None else min(rows, 1 + MAX_CELLS // max(1, len(columns)))
            for batch in [file.read()] if most is None else file.iter_batches(most):
                if batch.num_rows:
                    index = pandas.RangeIndex(start, start + batch.num_rows)
                    yield batch.to_pandas().set_axis(index)
                    start += batch.num_rows
    except TableError:
        raise
    except OSError as error:
        raise TableError(f"cannot read {name}: {error.strerror or printable(error)}") from None
    except Exception as error:  # a damaged file fails in many ways, deep in the decoder
        raise TableError(f"cannot read {name} as Parquet: {printable(error, 160)}") from None


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
        raise TableError(f"{quoted(path, 200)} has a header but no rows")
    return chain([first], frames)
