"""Parquet files, read batch by batch."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

from pliant._exceptions import TableError
from pliant._files import printable, quoted
from pliant.tables._names import check_unique, require

if TYPE_CHECKING:
    import pandas as pd


def parquet_frames(path: str | os.PathLike[str], rows: int | None) -> Iterator[pd.DataFrame]:
    """Yield frames of at most ``rows`` rows (all of them in one if None) with the file's types.

    Raises
    ------
    TableError
        If the file cannot be read as Parquet.
    """
    pandas, parquet = require("pandas"), require("pyarrow.parquet")
    name = quoted(path, 200)
    start = 0
    try:
        with open(path, "rb") as source, parquet.ParquetFile(source) as file:
            check_unique(file.schema_arrow.names, name)
            for batch in file.iter_batches(rows) if rows else [file.read()]:
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
