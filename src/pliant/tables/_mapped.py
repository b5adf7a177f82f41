"""A table that is larger than memory as numbers in a temporary file.

It is read twice, in chunks: once for what its columns are, once for their values. What stays in
memory does not grow with the number of features times that of rows.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from pliant.core.exceptions import TableError
from pliant.core.typing import Array
from pliant.tables._categories import TextCounts
from pliant.tables._column import ADVICE, Column, Missing, no_value
from pliant.tables._csv import with_types
from pliant.tables._read import PathLike, is_text, iter_table
from pliant.tables._schema import TableSchema, check_choices, check_enough_rows, feature_columns
from pliant.tables._target import Target, Task
from pliant.tables._values import READERS, Gaps, Kind, kind_of, texts

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
    missing: Missing = "error",
    drop: Sequence[str] = (),
    most_rows: int | None = None,
    chunk_rows: int = 10_000,
) -> MappedTable:
    """Read a table that may be larger than memory.

    Schema, features and target are those of ``TableSchema.fit`` on the whole table.

    Parameters
    ----------
    path : path-like
        As for `read_table`.
    target, task, missing, drop
        As for `TableSchema.fit`.
    most_rows : int, optional
        Refuse a table with more rows.
    chunk_rows : int, default=10000
        The most rows in memory at a time.

    Raises
    ------
    TableError
        For a table that cannot be read or used. Nothing is left behind.
    """
    check_choices(task, missing)
    seen, rows = _first_pass(path, target, drop, most_rows, chunk_rows)
    kind = seen.pop(target).kind
    schema = TableSchema(tuple(each.fitted(missing) for each in seen.values()))
    X, cells = _second_pass(iter_table(path, chunk_rows), schema, target, kind)
    if len(X) != rows:
        raise TableError(f"expected the {rows} rows that were there at first, got {len(X)}")
    learned = Target.fit(cells, task)
    columns = _fill_gaps(schema.columns, X) if missing == "impute" else schema.columns
    return MappedTable(TableSchema(columns, learned), X, learned.values(cells))


def temporary_map(blocks: Iterable[Array]) -> Array:
    """Return blocks of rows, one after the other, in a file that vanishes with the array.

    The file lies where Python keeps temporary ones (the variable TMPDIR names another folder) and
    has no name, so that nothing stays behind whatever happens.

    Parameters
    ----------
    blocks : iterable of arrays of shape (n_k, d)
        At least one.

    Returns
    -------
    numpy.memmap of shape (n, d)
        float64.

    Raises
    ------
    OSError
        If the disk is full.
    """
    n_rows = n_columns = 0
    with tempfile.TemporaryFile() as file:
        for block in blocks:
            file.write(np.ascontiguousarray(block, dtype=np.float64).data)
            n_rows, n_columns = n_rows + len(block), block.shape[1]
        file.flush()
        return np.memmap(file, np.float64, "r+", shape=(n_rows, n_columns))


@dataclass
class _SeenColumn:
    """What the first pass has seen of a column."""

    name: str
    kinds: set[Kind] = field(default_factory=set)
    gaps: Gaps = field(default_factory=Gaps)
    counts: TextCounts = field(default_factory=TextCounts)

    def add(self, cells: pd.Series, typed: pd.Series) -> None:
        """Look at a chunk: as it stands in the file, and with the type that it seems to have."""
        self.gaps.add(cells)
        kind = kind_of(typed)
        if typed.notna().any():
            self.kinds.add(kind)
        if self._has_texts(cells, kind):
            self.counts.add(cells)

    def _has_texts(self, cells: pd.Series, kind: Kind) -> bool:
        """Whether texts are to be counted; too many numbers may still turn out to be texts."""
        import pandas as pd

        if self.counts.too_many:
            return kind == "categorical" and self.counts.strange is None
        return not pd.api.types.is_numeric_dtype(cells)

    @property
    def kind(self) -> Kind:
        """The kind of the whole column; chunks that don't agree are text."""
        return next(iter(self.kinds)) if len(self.kinds) == 1 else "categorical"

    def fitted(self, missing: Missing) -> Column:
        """Return the column; what fills numbers is NaN until all of them are there."""
        if not self.kinds:
            raise no_value(self.name)
        if missing == "error":
            self.gaps.refuse(self.name, ADVICE)
        column = Column(self.name, self.kind, fill=np.nan)
        if self.kind == "categorical":
            column = Column.of_texts(self.name, self.counts)
        return column if missing == "impute" else replace(column, fill=None)


def _first_pass(
    path: PathLike, target: str, drop: Sequence[str], most_rows: int | None, chunk_rows: int
) -> tuple[dict[str, _SeenColumn], int]:
    """Look at all cells of the columns that matter; return these, and the number of rows."""
    columns: dict[str, _SeenColumn] = {}
    rows = 0
    for frame in iter_table(path, chunk_rows):
        if not columns:
            names = [*feature_columns(frame, target, drop), target]
            columns = {name: _SeenColumn(name) for name in names}
        chunk = frame[list(columns)]
        typed = with_types(chunk) if is_text(path) else chunk
        for name, column in columns.items():
            column.add(chunk[name], typed[name])
        rows += len(chunk)
        if most_rows is not None and rows > most_rows:
            raise TableError(f"expected at most {most_rows} rows, got more: take a sample")
    check_enough_rows(rows)
    return columns, rows


def _second_pass(
    frames: Iterable[pd.DataFrame], schema: TableSchema, target: str, kind: Kind
) -> tuple[Array, pd.Series]:
    """Return the features, and the cells of the target with one type for all."""
    import pandas as pd

    parts, shared, reported = [], dict[object, object](), set[str]()

    def blocks() -> Iterator[Array]:
        for frame in frames:
            cells = frame[target]
            if kind == "categorical":
                once = [shared.setdefault(cell, cell) for cell in texts(cells)]
                parts.append(np.array(once, dtype=object))
            else:
                parts.append(READERS[kind](cells))
            yield schema.features(frame, reported)

    X = temporary_map(blocks())
    whole = pd.Series(np.concatenate(parts), name=target)
    return X, whole.astype("boolean") if kind == "boolean" else whole


def _fill_gaps(columns: tuple[Column, ...], X: Array) -> tuple[Column, ...]:
    """Fill what is missing among the numbers of X; return the columns with what fills them."""
    filled, j = [], 0
    for column in columns:
        if column.kind != "categorical":
            values = np.array(X[:, j])
            column = column.filled_from(values)
            X[np.isnan(values), j] = column.fill
        filled.append(column)
        j += len(column.feature_names)
    return tuple(filled)
