"""A table as numbers, to compare methods on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, get_args

import joblib
import numpy as np
import numpy.typing as npt
from sklearn.utils import check_array

from pliant.core.blocks import in_blocks
from pliant.core.text import quoted
from pliant.core.typing import Array, Indices, Mask
from pliant.core.validation import check_choice, where_equal
from pliant.tables import ColumnEncoder
from pliant.tables._encoder import make_encoder
from pliant.tables._schema import MAX_CLASSES, MIN_ROWS_PER_CLASS, ROWS_PER_CLASS, TableSchema, Task


@dataclass(frozen=True, eq=False)
class Sample:
    """Samples with their target, and the groups or the order that folds must respect.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        Features; NaN where one is missing. A categorical feature holds the number of its text.
    y : array of shape (n_samples,)
        The target: float64 for regression, labels of one type for classification.
    task : {"classification", "regression"}
    feature_names : sequence of n_features str, optional
        By default ``feature 0`` and so on.
    categories : mapping of int to tuple of str
        The texts of each categorical feature, by its column.
    groups : array of shape (n_samples,), optional
        Rows of one group are never both learned from and tested on.
    ordered : bool, default=False
        True if rows are in the order of time, so that only later rows are tested on.
    name, target : str
        The names of the table and of its target.
    unlabeled : optional
        The value of the target where the class is unknown. Such rows are learned from, and neither
        scored nor counted as a class; None: all classes are known.
    texts : tuple of (int, int)
        The first column and the one after the last of each free text, as hashed words.
    notes : tuple of str
        Notes for the user on the reading of the table.
    schema : TableSchema, optional
        The columns of the data frame or the file that X was read from.
    """

    X: Array
    y: npt.NDArray[Any]
    task: Task
    feature_names: tuple[str, ...] = ()
    categories: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    groups: npt.NDArray[Any] | None = None
    ordered: bool = False
    name: str = "table"
    target: str = "y"
    unlabeled: Any = None
    texts: tuple[tuple[int, int], ...] = ()
    notes: tuple[str, ...] = ()
    schema: TableSchema | None = None

    def __post_init__(self) -> None:
        names = tuple(map(str, self.feature_names))
        names = names or tuple(f"feature {j}" for j in range(self.X.shape[1]))
        object.__setattr__(self, "feature_names", names)
        if len(names) != self.X.shape[1]:
            raise ValueError(f"expected {self.X.shape[1]} feature names, got {len(names)}")
        distinct = np.unique(self.y)
        if len(distinct) < 2:
            got = quoted(distinct[0])
            raise ValueError(f"expected a target that varies, got {got} in all rows")
        n, most = len(self.y), max(MAX_CLASSES, len(self.y) / MIN_ROWS_PER_CLASS)
        if self.task == "classification" and len(distinct) > most:
            got = f"{len(distinct)} different ones in {n} rows"
            raise ValueError(f"expected classes that recur, got {got}")
        if self.groups is not None and self.ordered:
            raise ValueError("expected groups or an order of time, got both")

    @classmethod
    def of(
        cls,
        X: Any,
        y: Any,
        *,
        task: str | None = None,
        feature_names: Sequence[str] | None = None,
        groups: Any = None,
        time: Any = None,
    ) -> Sample:
        """Check arrays or a data frame of numbers; rows are sorted by time if it is given.

        The parameters are those of `pliant.compare`. Raises ValueError if a shape, a type or a
        value cannot be used.
        """
        if task is not None:
            check_choice("task", task, get_args(Task))
        names = getattr(X, "columns", ()) if feature_names is None else feature_names
        features = check_array(
            X, dtype=np.float64, order="C", ensure_all_finite="allow-nan", input_name="X"
        )
        labels = _column("y", y, len(features))
        kind: Any = task or _guess_task(labels)
        if kind == "regression" and labels.dtype.kind not in "iufb":
            raise ValueError(f"expected numbers in y for regression, got {quoted(labels[0])}")
        labels = labels.astype(np.float64) if kind == "regression" else labels
        groups = None if groups is None else _column("groups", groups, len(features))
        if time is not None:
            order = np.argsort(_column("time", time, len(features)), kind="stable")
            features, labels = features[order], labels[order]
            groups = None if groups is None else groups[order]
        ordered = time is not None
        return cls(features, labels, kind, tuple(names), groups=groups, ordered=ordered)

    @property
    def classes(self) -> list[Any] | None:
        """The classes in order; None for regression."""
        return np.unique(self.y).tolist() if self.task == "classification" else None

    @cached_property
    def needs_encoder(self) -> bool:
        """True if features are missing somewhere, or are categories or texts."""
        if self.categories or self.texts:
            return True
        return bool(in_blocks(self.X, self.X.shape[1], lambda X: np.isnan(X).any(axis=1)).any())

    def encoder(self) -> ColumnEncoder:
        """Build the step that fills in missing values and encodes the features, not fitted."""
        return make_encoder(self.categories, self.texts, task=self.task)

    def features(self, rows: Indices) -> Array:
        """Return some rows of X."""
        return self.X[rows]

    def labelled(self, y: npt.NDArray[Any]) -> Mask:
        """Return a mask of the targets with a known class."""
        return ~where_equal(y, self.unlabeled)

    def fingerprint(self) -> str:
        """Return a hash of all parts that can change a score."""
        arrays = [self.X, self.y, self.groups]
        plain = [self.task, self.feature_names, self.categories, self.ordered, self.texts]
        return str(joblib.hash([*arrays, *plain]))


def _guess_task(y: npt.NDArray[Any]) -> Task:
    """Guess the task of a target as `pliant.tables.TableSchema.fit` does."""
    if y.dtype.kind not in "iuf":
        return "classification"
    distinct = np.unique(y).size
    whole = bool(np.isfinite(y).all() and (y == np.floor(y)).all())
    few = distinct <= MAX_CLASSES and distinct * ROWS_PER_CLASS <= y.size
    return "classification" if whole and (few or distinct == 2) else "regression"


def check_column(name: str, shape: tuple[int, ...], n: int) -> None:
    """Raise ValueError unless a shape is that of n values."""
    if shape != (n,):
        several = name == "y" and len(shape) == 2
        hint = ": compare one target at a time" if several else ""
        raise ValueError(f"expected {name} of shape ({n},), got {shape}{hint}")


def _column(name: str, values: Any, n: int) -> npt.NDArray[Any]:
    """Return n values as an array of numbers or texts, all finite."""
    column = np.asarray(values)
    check_column(name, column.shape, n)
    if column.dtype.kind == "O":
        column = np.array([str(value) for value in column])
    if column.dtype.kind == "f" and not np.isfinite(column).all():
        raise ValueError(f"expected finite values in {name}, got nan or inf")
    return column
