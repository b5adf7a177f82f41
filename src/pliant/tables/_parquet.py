"""Parquet files: batches of rows with types, read without holding a whole group of rows."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from pliant.core.exceptions import TableError
from pliant.core.text import quoted
from pliant.tables._files import GZIP, PARQUET
from pliant.tables._format import TableFormat
from pliant.tables._names import MAX_CELLS, check_unique, named, require
from pliant.tables._several import PathLike, check_columns
from pliant.tables._values import number, text_of

if TYPE_CHECKING:
    import pandas as pd

INDEX = re.compile(r"__index_level_\d+__")
"""The column of row labels without a name that pandas writes to Parquet."""

STREAMED: dict[str, Any] = {"pre_buffer": False, "buffer_size": 1 << 16}
"""Options without which all of a file, or a group of its rows, is held compressed."""


def parquet_frames(
    files: Sequence[PathLike], rows: int | None, form: TableFormat | None = None
) -> Iterator[pd.DataFrame]:
    """Yield frames with the types of Parquet files, each of at most ``rows`` rows."""
    start = 0
    for batch in _batches(files, rows):
        yield _frame_of(batch, start, form)
        start += batch.num_rows


def whole_parquet(
    files: Sequence[PathLike], stop: int | None, form: TableFormat | None
) -> pd.DataFrame | None:
    """Return Parquet files with their types, and the rows of the batch in which ``stop`` is.

    None if there are no rows.
    """
    batches, count = [], 0
    for batch in _batches(files, stop):
        batches.append(batch)
        count += batch.num_rows
        if stop is not None and count >= stop:
            break
    if not batches:
        return None
    table = require("pyarrow").Table.from_batches(batches)
    del batches, batch
    return _frame_of(table, 0, form, split_blocks=True, self_destruct=True)


def _batches(files: Sequence[PathLike], rows: int | None) -> Iterator[Any]:
    """Yield the rows that there are in batches of at most ``rows``, all with the same schema."""
    shared = _shared_schema(files) if len(files) > 1 else None
    for path in files:
        with _parquet(path) as file:
            names = _checked_names(file.schema_arrow.names, path)
            most = 1 + MAX_CELLS // max(1, len(names))
            for batch in file.iter_batches(most if rows is None else min(rows, most)):
                if batch.num_rows:
                    yield batch if shared is None else _cast(batch, shared)


def _cast(batch: Any, schema: Any) -> Any:
    """Return a batch with the columns of a schema, in its order and with its types."""
    pyarrow = require("pyarrow")
    columns = [batch.column(field.name).cast(field.type) for field in schema]
    return pyarrow.RecordBatch.from_arrays(columns, schema=schema)


def _checked_names(names: Sequence[str], path: PathLike) -> Sequence[str]:
    """Return column names if no two that are not blank are the same."""
    check_unique([name for name in names if name.strip()], quoted(path, 200))
    return names


def _shared_schema(files: Sequence[PathLike]) -> Any:
    """Return the columns of all files, each with a type that holds the values of all."""
    pyarrow = require("pyarrow")
    shared: Any = None
    for path in files:
        with _parquet(path) as file:
            schema = file.schema_arrow.remove_metadata()
        names = _checked_names(schema.names, path)
        kept = [schema.field(k) for k, name in enumerate(names) if not INDEX.fullmatch(name)]
        own = [field.with_nullable(True).with_type(_plain(field.type)) for field in kept]
        if shared is None:
            shared = own
            continue
        expected = [field.name for field in shared]
        check_columns([field.name for field in own], path, expected, files[0])
        by_name = {field.name: field for field in own}
        shared = [_wider(field, by_name[field.name], path, files[0]) for field in shared]
    return pyarrow.schema(shared)


def _plain(kind: Any) -> Any:
    """Return the type of the values where a column has numbers of a dictionary of values."""
    return kind.value_type if require("pyarrow").types.is_dictionary(kind) else kind


def _wider(field: Any, other: Any, path: PathLike, first: PathLike) -> Any:
    """Return a column with a type that holds the values of two files."""
    pyarrow = require("pyarrow")
    both = [pyarrow.schema([each]) for each in (field, other)]
    try:
        return pyarrow.unify_schemas(both, promote_options="permissive").field(0)
    except (pyarrow.ArrowInvalid, pyarrow.ArrowTypeError):
        raise TableError(
            f"column {quoted(field.name)}: expected {field.type} as in the files from "
            f"{quoted(first, 200)} on, got {other.type} in {quoted(path, 200)}"
        ) from None


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
