"""Read a table from one file or several, whole or in chunks; the files' extensions say how."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING

from pliant.core.exceptions import TableError
from pliant.core.text import quoted
from pliant.tables._compact import built
from pliant.tables._csv import csv_format, csv_frames
from pliant.tables._format import TableFormat
from pliant.tables._parquet import parquet_frames, whole_parquet
from pliant.tables._several import PathLike, files_of, joined

if TYPE_CHECKING:
    import pandas as pd

CSV_NAMES = (".csv", ".csv.gz", ".tsv", ".tsv.gz")
PARQUET_NAMES = (".parquet", ".pq")

BLOCK_ROWS = 10_000
"""The most rows that are texts, or decoded, at a time when a whole table is read."""


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
    files = _files(path)
    if _are_texts(files):
        return csv_format(files[0], given, usual)
    given, usual = given or TableFormat(), usual or TableFormat()
    return replace(given, na_values=(*usual.na_values, *given.na_values))


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
        as the first one. CSV has a header; empty cells, ``-``, ``?`` and words such as ``NA``,
        ``n/a``, ``NaN``, ``NULL`` and ``None`` are missing values.
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
    files = _files(path)
    if _are_texts(files):
        return _whole_csv(path, files, stop, csv_format(files[0], form))
    frame = whole_parquet(files, stop, form)
    if frame is None:
        raise _without_rows(path)
    return frame


def _whole_csv(
    path: PathLike, files: Sequence[PathLike], stop: int | None, form: TableFormat
) -> pd.DataFrame:
    """Return a CSV with types; columns that turn out to be text late are read once more."""
    rows = BLOCK_ROWS if stop is None else min(stop, BLOCK_ROWS)

    def frames() -> Iterator[pd.DataFrame]:
        return _until(stop, _not_empty(_texts(files, rows, form), path))

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
    files = _files(path)
    frames = (_texts if _are_texts(files) else parquet_frames)(files, chunk_rows, form)
    return _not_empty(frames, path)


def is_text(path: PathLike) -> bool:
    """Return whether a file holds text, so that its columns have no types of their own."""
    return _are_texts(_files(path))


def _files(path: PathLike) -> Sequence[PathLike]:
    """Return the files that a name stands for, all of one kind."""
    files = files_of(path, CSV_NAMES + PARQUET_NAMES)
    if other := next((file for file in files if _is_csv(file) != _is_csv(files[0])), None):
        raise TableError(
            f"expected files of one kind, got {quoted(files[0], 200)} and {quoted(other, 200)}"
        )
    return files


def _are_texts(files: Sequence[PathLike]) -> bool:
    return _is_csv(files[0])


def _is_csv(path: PathLike) -> bool:
    """Return whether the name is one of a CSV file; raise TableError if it is of no table."""
    name = os.fspath(path).lower()
    if not name.endswith(CSV_NAMES + PARQUET_NAMES):
        kinds = ", ".join(CSV_NAMES + PARQUET_NAMES)
        raise TableError(f"{quoted(path, 200)}: expected the name of a table to end in {kinds}")
    return name.endswith(CSV_NAMES)


def _texts(
    files: Sequence[PathLike], rows: int | None, form: TableFormat | None
) -> Iterator[pd.DataFrame]:
    """Yield the frames of CSV files, all written as the first one."""
    if len(files) == 1:
        return csv_frames(files[0], rows, form)
    form = csv_format(files[0], form)
    return joined((file, csv_frames(file, rows, form)) for file in files)


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
