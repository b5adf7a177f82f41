"""A table that is larger than memory as numbers in a temporary file.

It is read in chunks, once for what its columns are, once for the target and once for the values.
The memory does not grow with the number of features times the number of rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy.typing as npt

from pliant.core.exceptions import TableError
from pliant.core.typing import Array
from pliant.tables._column import Missing
from pliant.tables._csv import with_types
from pliant.tables._dates import DateOrder
from pliant.tables._format import TableFormat
from pliant.tables._profile import Choices, ColumnProfile
from pliant.tables._read import detect_format, is_text, iter_table
from pliant.tables._schema import TableSchema, check_enough_rows, check_task, feature_columns
from pliant.tables._several import PathLike
from pliant.tables._target import Task
from pliant.tables._temporary import temporary_map
from pliant.tables._values import Kind, texts

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
    form = detect_format(path, form)

    def frames() -> Iterable[pd.DataFrame]:
        return iter_table(path, chunk_rows, form)

    seen, rows = _first_pass(path, target, drop, choices, most_rows, frames)
    kind = seen.pop(target).kind
    cells = _target_cells(frames(), target, kind, is_text(path))
    schema = TableSchema.of_profiles(list(seen.values()), choices, cells, task)
    assert schema.target is not None
    reported = set[str]()
    X = temporary_map(schema.features(frame, reported) for frame in frames())
    if len(X) != rows or len(cells) != rows:
        raise TableError(f"expected the {rows} rows that were there at first, got {len(X)}")
    return MappedTable(schema, X, schema.target.values(cells))


def _first_pass(
    path: PathLike,
    target: str,
    drop: Sequence[str],
    choices: Choices,
    most_rows: int | None,
    frames: Callable[[], Iterable[pd.DataFrame]],
) -> tuple[dict[str, ColumnProfile], int]:
    """Look at all cells of the columns that matter; return these, and the number of rows.

    Columns of numbers of which a late one turns out to be a text are looked at once more.
    """
    profiles, rows = _looked_at(path, target, drop, choices, most_rows, frames())
    again = [name for name, profile in profiles.items() if profile.incomplete]
    if again:
        for name in again:
            profiles[name] = ColumnProfile(name, choices, counts_all=True)
        for frame in frames():
            _add(path, frame, {name: profiles[name] for name in again})
    check_enough_rows(rows)
    return profiles, rows


def _looked_at(
    path: PathLike,
    target: str,
    drop: Sequence[str],
    choices: Choices,
    most_rows: int | None,
    frames: Iterable[pd.DataFrame],
) -> tuple[dict[str, ColumnProfile], int]:
    """Look at all cells once."""
    profiles: dict[str, ColumnProfile] = {}
    rows = 0
    for frame in frames:
        if not profiles:
            names = [*feature_columns(frame, target, drop, choices), target]
            profiles = {name: ColumnProfile(name, choices) for name in names}
        _add(path, frame, profiles)
        rows += len(frame)
        if most_rows is not None and rows > most_rows:
            raise TableError(f"expected at most {most_rows} rows, got more: take a sample")
    return profiles, rows


def _add(path: PathLike, frame: pd.DataFrame, profiles: dict[str, ColumnProfile]) -> None:
    """Look at the cells of a chunk."""
    chunk = frame[list(profiles)]
    typed = with_types(chunk) if is_text(path) else chunk
    for name, profile in profiles.items():
        profile.add(chunk[name], typed[name])


def _target_cells(frames: Iterable[pd.DataFrame], target: str, kind: Kind, text: bool) -> pd.Series:
    """Return the cells of the target with one type for all."""
    import pandas as pd

    parts, shared = [], dict[object, object]()
    for frame in frames:
        cells = frame[target]
        if kind == "categorical":
            once = [shared.setdefault(cell, cell) for cell in texts(cells)]
            parts.append(pd.Series(once, dtype=object))
        else:
            typed = with_types(cells.to_frame())[target] if text else cells
            parts.append(typed.copy())  # a column of a chunk would keep all of the chunk
    whole = pd.concat(parts, ignore_index=True).rename(target)
    return whole.astype("boolean") if kind == "boolean" else whole
