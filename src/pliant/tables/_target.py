"""The target column: which task it poses, and its values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast, get_args

import numpy as np
import numpy.typing as npt

from pliant.core.exceptions import TableError
from pliant.core.text import quoted
from pliant.tables._values import (
    kind_of,
    numbers,
    refuse_missing,
    texts,
    truths,
    whole,
    whole_numbers,
)

if TYPE_CHECKING:
    import pandas as pd

Task: TypeAlias = Literal["classification", "regression"]
TargetKind: TypeAlias = Literal["numeric", "integer", "boolean", "categorical"]

MAX_CLASSES = 20
ROWS_PER_CLASS = 10
"""Integers are taken as classes if at most MAX_CLASSES differ, with ROWS_PER_CLASS rows each on
average."""

FEWEST_ROWS = 2
"""More than `MAX_CLASSES` classes need this number of rows each on average, even where the user
chose the task."""


@dataclass(frozen=True)
class Target:
    """The column to learn.

    Parameters
    ----------
    name : str
        Its name in a table.
    task : {"classification", "regression"}
        Are its values names or amounts?
    kind : {"numeric", "integer", "boolean", "categorical"}
        How they are read: as float64, int64, bool or text. Amounts are numeric.
    """

    name: str
    task: Task
    kind: TargetKind

    @classmethod
    def fit(cls, column: pd.Series, task: Task | None = None) -> Target:
        """Find out what is to be learned; guess the task (see `guess_task`) if it is not given.

        Raises
        ------
        TableError
            If a value is missing, or is nothing that the task can be about, or if classes
            hardly recur.
        """
        refuse_missing(column, "leave these rows out, a target cannot be imputed")
        chosen = task or guess_task(column)
        target = cls(str(column.name), chosen, _reading(column, chosen))
        values = target.values(column)
        if chosen == "classification":
            _check_classes(column, np.unique(values).size)
        return target

    def values(self, column: pd.Series) -> npt.NDArray[Any]:
        """Return the target, shape (n,): float64, int64, bool or text.

        Raises
        ------
        TableError
            If a value is missing, or is not of this kind.
        """
        refuse_missing(column, "leave these rows out, a target cannot be imputed")
        if self.kind == "categorical":
            return texts(column).astype(str)
        if self.kind == "boolean":
            return truths(column).astype(bool)
        if self.kind == "numeric":
            return numbers(column)
        return whole_numbers(column)

    @classmethod
    def from_dict(cls, state: object) -> Target:
        """Make a target from plain data, refusing what `fit` could not have made.

        Raises
        ------
        TableError
            If a key is absent or foreign, or a value is not of its type.
        """
        if not isinstance(state, Mapping) or set(state) != set(cls.__dataclass_fields__):
            raise TableError(f"expected a target with {', '.join(cls.__dataclass_fields__)}")
        name, task, kind = state["name"], state["task"], state["kind"]
        if not isinstance(name, str):
            raise TableError(f"expected the name of a target, got {quoted(name)}")
        if task not in get_args(Task) or kind not in get_args(TargetKind):
            raise TableError(f"expected a target, got {quoted(task)} of kind {quoted(kind)}")
        if (task == "regression") != (kind == "numeric"):
            raise TableError(f"{task} cannot have a target of kind {quoted(kind)}")
        return cls(name, task, kind)


def guess_task(column: pd.Series) -> Task:
    """Guess the task from the target: are its values names or amounts?

    Text and booleans are classes. So are integers of exactly two values, or of at most 20 values
    that recur ten times on average. All else is regression.
    """
    if _kind(column) != "numeric":
        return "classification"
    values = numbers(column)
    distinct = np.unique(values).size
    few = distinct <= MAX_CLASSES and distinct * ROWS_PER_CLASS <= values.size
    return "classification" if whole(values).all() and (few or distinct == 2) else "regression"


def _check_classes(column: pd.Series, distinct: int) -> None:
    """Raise TableError if too many values differ for classes, as names do."""
    if distinct > max(MAX_CLASSES, len(column) / FEWEST_ROWS):
        raise TableError(
            f"column {quoted(column.name)} has {distinct} different values in {len(column)} rows, "
            f"such as {quoted(column.iloc[0])}; expected classes that recur"
        )


def _reading(column: pd.Series, task: Task) -> TargetKind:
    """Return how to read a target; classes that are fractions are read as text, as names."""
    if task == "regression":
        return "numeric"
    kind = _kind(column)
    if kind != "numeric":
        return kind
    return "integer" if whole(numbers(column)).all() else "categorical"


def _kind(column: pd.Series) -> Literal["numeric", "boolean", "categorical"]:
    """Return the kind of a target; dates are refused."""
    kind = kind_of(column)
    if kind in ("date", "text"):
        raise TableError(
            f"column {quoted(column.name)} holds dates, expected numbers, booleans or text: "
            "dates cannot be learned"
        )
    return cast(Literal["numeric", "boolean", "categorical"], kind)
