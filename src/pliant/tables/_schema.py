"""What a table means: which columns are features, of which kind, and what is to be learned."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, get_args

import numpy as np
import numpy.typing as npt

from pliant.core.exceptions import TableError
from pliant.core.files import quoted
from pliant.core.typing import Array
from pliant.tables._column import Column, Missing
from pliant.tables._names import check_present, check_unique
from pliant.tables._target import Target, Task

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class TableSchema:
    """Turn tables into the same numbers that a model was fitted on.

    Made by `fit`; columns are then found by name, in any order, and others are left aside.

    Parameters
    ----------
    columns : tuple of Column
        The features, in the order of the feature matrix.
    target : Target or None, default=None
        The column to learn, if there is one.
    """

    columns: tuple[Column, ...]
    target: Target | None = None

    @classmethod
    def fit(
        cls,
        frame: pd.DataFrame,
        target: str | None = None,
        *,
        task: Task | None = None,
        missing: Missing = "error",
        drop: Sequence[str] = (),
    ) -> TableSchema:
        """Find out what a table means.

        Parameters
        ----------
        frame : pandas.DataFrame
            At least two rows. Numeric columns stay, booleans become 0 and 1, text is one-hot
            encoded (at most 200 categories); columns of other types are refused.
        target : str, optional
            The column to learn; the others are features.
        task : {"classification", "regression"}, optional
            Default: classification if the target is text or boolean, or holds integers that
            recur (two different ones, or at most 20 with ten rows each); else regression.
        missing : {"error", "impute"}, default="error"
            Refuse missing features, or fill them with the median (numeric) or the most frequent
            value (others). A missing target is always refused.
        drop : sequence of str, default=()
            Columns to leave out.

        Raises
        ------
        TableError
            If a column is absent, holds values that cannot be used, or no feature is left.
        """
        check_choices(task, missing)
        features = feature_columns(frame, target, drop)
        check_enough_rows(len(frame))
        columns = tuple(Column.fit(frame[name], missing) for name in features)
        return cls(columns, None if target is None else Target.fit(frame[target], task))

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The names of the features, such as ``age`` or ``colour=red``, shape (d,)."""
        return tuple(name for column in self.columns for name in column.feature_names)

    def features(self, frame: pd.DataFrame, reported: set[str] | None = None) -> Array:
        """Return the features of a table as float64, shape (n, d).

        Parameters
        ----------
        frame : pandas.DataFrame
            n >= 1 rows, with all the columns of the schema in any order and possibly others.
        reported : set of str, optional
            Names of columns whose unknown categories were reported already. Pass the same set to
            each call for one warning about a whole table that is read in chunks.

        Raises
        ------
        TableError
            If columns are absent (all of them are listed), or a cell is not of its kind.

        Warns
        -----
        UnknownCategoryWarning
            If a text is no category: it becomes zeros, and the column and the text are named.
        """
        _check_rows(frame, [column.name for column in self.columns])
        warned = set[str]() if reported is None else reported
        blocks = [column.encode(frame[column.name], warned) for column in self.columns]
        return np.concatenate(blocks, axis=1)

    def target_values(self, frame: pd.DataFrame) -> npt.NDArray[Any]:
        """Return the target of a table, shape (n,): float64, int64, bool or text.

        Raises
        ------
        TableError
            If there is no such column, or a value is missing or not of the target's kind.
        """
        if self.target is None:
            raise TableError("the schema has no target")
        _check_rows(frame, [self.target.name])
        return self.target.values(frame[self.target.name])

    def to_dict(self) -> dict[str, Any]:
        """Return the schema as plain data that JSON can hold."""
        state = asdict(self)
        for column in state["columns"]:
            column["categories"] = list(column["categories"])
        return {**state, "columns": list(state["columns"])}

    @classmethod
    def from_dict(cls, state: object) -> TableSchema:
        """Make a schema from plain data, refusing what `to_dict` could not have returned.

        Raises
        ------
        TableError
            If a key is absent or foreign, or a value is not of its type.
        """
        if not isinstance(state, Mapping) or set(state) != set(cls.__dataclass_fields__):
            raise TableError(f"expected a schema with {', '.join(cls.__dataclass_fields__)}")
        if not isinstance(state["columns"], list | tuple) or not state["columns"]:
            raise TableError(f"expected a list of columns, got {quoted(state['columns'])}")
        columns = tuple(Column.from_dict(column) for column in state["columns"])
        target = None if state["target"] is None else Target.from_dict(state["target"])
        names = [column.name for column in columns]
        check_unique(names if target is None else [*names, target.name], "the schema")
        return cls(columns, target)


def check_choices(task: str | None, missing: str) -> None:
    """Raise ValueError for an option that is none of its values."""
    if task not in (None, *get_args(Task)):
        raise ValueError(f"expected task 'classification' or 'regression', got {quoted(task)}")
    if missing not in get_args(Missing):
        raise ValueError(f"expected missing 'error' or 'impute', got {quoted(missing)}")


def feature_columns(frame: pd.DataFrame, target: str | None, drop: Sequence[str]) -> list[str]:
    """Return the columns that are neither the target nor dropped: at least one, each there once."""
    names = _checked_names(frame)
    check_present([*drop, *([] if target is None else [target])], names)
    features = [name for name in names if name not in {target, *drop}]
    if not features:
        raise TableError("no feature column is left: expected at least one beside the target")
    return features


def check_enough_rows(rows: int) -> None:
    """Raise TableError for a table of fewer than two rows."""
    if rows < 2:
        raise TableError(f"expected a table of at least 2 rows, got {rows}")


def _checked_names(frame: pd.DataFrame) -> list[str]:
    """Return the names of the columns if each is a text of its own."""
    names: list[Any] = list(frame.columns)
    for name in names:
        if not isinstance(name, str):
            kind = type(name).__name__
            raise TableError(f"expected text as column names, got {quoted(name)} ({kind})")
    check_unique(names, "the table")
    return names


def _check_rows(frame: pd.DataFrame, wanted: list[str]) -> None:
    """Raise TableError if the table has no row, or lacks one of the wanted columns."""
    names = [str(name) for name in frame.columns]
    check_present(wanted, names)
    needed = set(wanted)
    check_unique([name for name in names if name in needed], "the table")
    if frame.empty:
        raise TableError("expected a table with rows, got none")
