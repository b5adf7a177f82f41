"""Parquet files, read batch by batch."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from pliant.core.exceptions import TableError
from pliant.core.files import printable, quoted
from pliant.tables._names import MAX_CELLS, check_unique, require

if TYPE_CHECKING:
    import pandas as pd


STREAMED: dict[str, Any] = {"pre_buffer": False, "buffer_size": 1 << 16}
"""Options without which all of a file, or a group of its rows, is held compressed."""


def parquet_frames(path: str | os.PathLike[str], rows: int | None) -> Iterator[pd.DataFrame]:
    """Yield frames with the file's types: of at most ``rows`` rows, or all in one if None.

    Where rows are long, a frame has fewer of them: at most `MAX_CELLS` cells, and one row.

    Raises
    ------
    TableError
        If the file cannot be read as Parquet.
    """
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
