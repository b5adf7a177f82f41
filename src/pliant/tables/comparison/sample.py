"""A numeric table for comparing methods."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, get_args

import joblib
import numpy as np
import numpy.typing as npt
from sklearn.utils import check_array

from pliant.core.blocks import in_blocks
from pliant.core.parameters import check_choice
from pliant.core.sparse import is_sparse
from pliant.core.text import quoted
from pliant.core.typing import Array, Mask
from pliant.core.validation import (
    check_collected,
    check_points,
    convert_labels,
    where_equal,
)
from pliant.tables.reading.encoder import ColumnEncoder, make_encoder
from pliant.tables.reading.schema import (
    MAX_CLASSES,
    MIN_ROWS_PER_CLASS,
    TableSchema,
    Task,
    guess_task,
)


@dataclass(frozen=True, eq=False)
class Sample:
    """Features and target, with groups or a time order for the folds.

    Parameters
    ----------
    X : array or CSR array of shape (n_samples, n_features)
        Features, with NaN for missing values if dense. A categorical feature holds category codes.
    y : array of shape (n_samples,)
        Target: float64 for regression, labels of one type for classification.
    task : {"classification", "regression"}
    feature_names : sequence of n_features str, optional
        By default ``feature 0``, ``feature 1``, ...
    categories : mapping of int to tuple of str
        Categories of each categorical feature, by column index.
    groups : array of shape (n_samples,), optional
        Rows of the same group are never split between training and test.
    ordered : bool, default=False
        True if rows are ordered in time, so that no test row is earlier than a training row.
    name, target : str
        Names of the table and the target.
    unlabeled : optional
        Target value that marks an unknown class. Such rows are used for training, but not for
        scores or class counts. None means that all classes are known.
    texts : tuple of (int, int)
        Start and stop columns of each text feature's hashed words.
    notes : tuple of str
        Notes for the user about the parsed table.
    schema : TableSchema, optional
        Schema of the data frame or file from which X was read.
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
        n, k = len(self.y), len(distinct)
        if k < 2:
            got = quoted(distinct[0])
            raise ValueError(f"expected a non-constant target, got {got} in all rows")
        if self.task == "classification" and k > max(MAX_CLASSES, n / MIN_ROWS_PER_CLASS):
            raise ValueError(f"expected recurring classes, got {k} classes in {n} rows")
        if self.groups is not None and self.ordered:
            raise ValueError("expected groups or a time order, got both")

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
        """Build a sample from arrays or a numeric data frame, sorted by `time`; see `compare`."""
        if task is not None:
            check_choice("task", task, get_args(Task))
        names = getattr(X, "columns", ()) if feature_names is None else feature_names
        options = {"order": "C", "ensure_all_finite": "allow-nan", "input_name": "X"}
        check_collected("X", X)
        if is_sparse(X):
            features = check_points(X, "X", sparse=True)
        else:
            features = check_array(X, dtype=np.float64, **options)
        n = features.shape[0]
        labels = _column("y", y, n)
        kind: Any = task or guess_task(labels)
        if kind == "regression" and labels.dtype.kind not in "iufb":
            raise ValueError(f"expected numbers in y for regression, got {quoted(labels[0])}")
        labels = labels.astype(np.float64) if kind == "regression" else labels
        groups = None if groups is None else _column("groups", groups, n)
        sample = cls(features, labels, kind, tuple(names), groups=groups, ordered=time is not None)
        if time is None:
            return sample
        order = np.argsort(_times(time, n), kind="stable")
        return replace(sample, X=features[order], y=labels[order])

    @property
    def classes(self) -> list[Any] | None:
        """The sorted classes; None for regression."""
        return np.unique(self.y).tolist() if self.task == "classification" else None

    @property
    def missing_shares(self) -> Array:
        """The share of missing values in each column of the table, or of X without a schema."""
        if self.is_sparse:
            return np.zeros(self.X.shape[1])
        if self.schema is None:
            return np.asarray(np.isnan(self.X).mean(axis=0))
        ends = dict(self.texts)  # a missing text has no words
        gaps = [
            ~self.X[:, j : ends[j]].any(axis=1) if j in ends else np.isnan(self.X[:, j])
            for j in self.schema.starts
        ]
        return np.array([gap.mean() for gap in gaps])

    @property
    def is_sparse(self) -> bool:
        """True if X is a CSR array, which is neither encoded nor scaled."""
        return is_sparse(self.X)

    @cached_property
    def needs_encoder(self) -> bool:
        """True if there are missing values, categorical features or text features."""
        if self.is_sparse:
            return False
        if self.categories or self.texts:
            return True
        return bool(in_blocks(self.X, self.X.shape[1], lambda X: np.isnan(X).any(axis=1)).any())

    def encoder(self) -> ColumnEncoder:
        """Build the unfitted step that imputes missing values and encodes the features."""
        return make_encoder(self.categories, self.texts, task=self.task)

    def labelled(self, y: npt.NDArray[Any]) -> Mask:
        """Return a mask of the targets with known classes."""
        return ~where_equal(y, self.unlabeled)

    def fingerprint(self) -> str:
        """Return a hash of all data that can affect a score."""
        arrays = [self.X, self.y, self.groups]
        plain = [self.task, self.feature_names, self.categories, self.ordered, self.texts]
        return str(joblib.hash([*arrays, *plain]))


def check_column(name: str, shape: tuple[int, ...], n: int) -> None:
    """Raise ValueError unless a shape is (n,)."""
    if shape != (n,):
        hint = ": compare one target at a time" if name == "y" and len(shape) == 2 else ""
        raise ValueError(f"expected {name} of shape ({n},), got {shape}{hint}")


def _times(values: Any, n: int) -> npt.NDArray[Any]:
    """Convert n times to numbers or dates."""
    check_collected("time", values)
    column = np.asarray(values)
    check_column("time", column.shape, n)
    if column.dtype.kind in "OUS":
        for kind in (np.float64, "datetime64[ns]"):
            try:
                column = column.astype(kind)
            except (TypeError, ValueError):
                continue
            break
        else:
            raise ValueError(f"expected numbers or ISO dates in time, got {quoted(column[0])}")
    if not np.isfinite(column).all():
        raise ValueError("expected finite values in time, got nan, inf or a missing date")
    return column


def _is_missing(value: object) -> bool:
    """Return True for None, NaN, and pandas' NA and NaT."""
    if value is None or type(value).__name__ in {"NAType", "NaTType"}:
        return True
    return isinstance(value, float | np.floating) and bool(np.isnan(value))


def _column(name: str, values: Any, n: int) -> npt.NDArray[Any]:
    """Convert n values to an array of finite numbers or strings; y keeps the type of its labels."""
    check_collected(name, values)
    column = np.asarray(values)
    if column.dtype.kind in "US" and not isinstance(values, np.ndarray):
        column = np.asarray(values, dtype=object)  # NumPy converts nan beside text to text
    check_column(name, column.shape, n)
    if column.dtype.kind == "O":
        absent = [row for row, value in enumerate(column) if _is_missing(value)]
        if absent:
            got = f"{column[absent[0]]!r} at row {absent[0]}"
            raise ValueError(f"expected {name} without missing values, got {got}")
        column = convert_labels(column) if name == "y" else np.array([*map(str, column)])
    if column.dtype.kind == "f" and not np.isfinite(column).all():
        raise ValueError(f"expected finite values in {name}, got nan or inf")
    return column
