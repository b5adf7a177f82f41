"""A table that is larger than memory as numbers in a temporary file.

It is read in chunks: for what its columns are, for the target, and for the values. The memory does
not grow with the number of features times the number of rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy.typing as npt

from pliant.core.exceptions import TableError
from pliant.core.typing import Array
from pliant.tables._columns import Choices, ColumnProfile, Missing
from pliant.tables._dates import DateOrder
from pliant.tables._encoder import temporary_map
from pliant.tables._format import PathLike, TableFormat
from pliant.tables._read import detect_format, iter_with_texts
from pliant.tables._schema import (
    TableSchema,
    Target,
    Task,
    as_written,
    check_enough_rows,
    check_task,
    feature_columns,
)

if TYPE_CHECKING:
    import pandas as pd


class MappedTable(NamedTuple):
    """A table as numbers.

    Attributes
    ----------
    schema : TableSchema
        What its columns mean.
    X : numpy.memmap of shape (n, d)
        The features, float64, in a file that vanishes with the array.
    y : array of shape (n,)
        The target, in memory.
    """

    schema: TableSchema
    X: Array
    y: npt.NDArray[Any]


def map_table(
    path: PathLike,
    target: str,
    *,
    task: Task | None = None,
    missing: Missing = "impute",
    drop: Sequence[str] = (),
    keep: Sequence[str] = (),
    categorical: Sequence[str] = (),
    date_order: DateOrder | None = None,
    form: TableFormat | None = None,
    most_rows: int | None = None,
    chunk_rows: int = 10_000,
) -> MappedTable:
    """Read a table that may be larger than memory.

    Schema, features and target are those of ``TableSchema.fit`` on the whole table.

    Parameters
    ----------
    path : path-like
        As for `read_table`.
    target, task, missing, drop, keep, categorical, date_order
        As for `TableSchema.fit`.
    form : TableFormat, optional
        As for `read_table`.
    most_rows : int, optional
        Refuse a table with more rows.
    chunk_rows : int, default=10000
        The most rows in memory at a time.

    Raises
    ------
    TableError
        For a table that cannot be read or used. Nothing is left behind.
    """
    check_task(task)
    choices = Choices(missing, tuple(keep), tuple(categorical), date_order)
    form = as_written(form, {"categorical": categorical, "drop": drop})
    if form.numbers is None:
        form = detect_format(path, form)

    def frames() -> Iterator[tuple[pd.DataFrame, pd.DataFrame]]:
        return iter_with_texts(path, chunk_rows, form)

    profiles: dict[str, ColumnProfile] = {}
    cells: list[tuple[pd.Series, pd.Series]] = []
    rows = 0
    for frame, text in frames():
        if not profiles:
            names = feature_columns(frame, target, drop, choices)
            profiles = {name: ColumnProfile(name, choices) for name in names}
        for name, profile in profiles.items():
            profile.add(frame[name])
        cells.append((frame[target].copy(), text[target].copy()))
        rows += len(frame)
        if most_rows is not None and rows > most_rows:
            raise TableError(f"expected at most {most_rows} rows, got more: take a sample")
    check_enough_rows(rows)
    y = _joined([part for part, _ in cells])
    schema = TableSchema.of_profiles(list(profiles.values()), choices, y, task)
    assert schema.target is not None
    if schema.target.task == "classification" and y.dtype.kind == "f":
        y = _joined([part for _, part in cells])
        schema = replace(schema, target=Target.fit(y, task))
    reported = set[str]()
    X = temporary_map(schema.features(frame, reported) for frame, _ in frames())
    if len(X) != rows:
        raise TableError(f"expected the {rows} rows that were there at first, got {len(X)}")
    schema = replace(schema, form=form) if form.sep is not None else schema
    return MappedTable(schema, X, schema.target_values(y.to_frame()))


def _joined(parts: Sequence[pd.Series]) -> pd.Series:
    """Return the cells of all chunks as one column."""
    import pandas as pd

    return pd.concat(parts, ignore_index=True) if len(parts) > 1 else parts[0]
