"""Data frames given in Python: read as the command line reads a file, and taken by a model later.

A frame becomes numbers by its `pliant.tables.TableSchema`: texts become the numbers of their
categories, NaN stands where a value is missing. Whatever is learned from them (what to fill in,
how to encode and to scale) is a later step, which each fold learns from its training rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from pliant.comparison.reading import sample_from_frame
from pliant.comparison.sample import Sample
from pliant.core.exceptions import TableError
from pliant.core.text import listed, quoted
from pliant.core.typing import Array
from pliant.core.validation import check_choice
from pliant.tables import TableSchema
from pliant.tables._names import check_present, check_unique

if TYPE_CHECKING:
    import pandas as pd


def as_frame(X: Any) -> pd.DataFrame | None:
    """Return a data frame of pandas, or of a library that converts to one; None for anything else.

    The names of its columns are text, its rows are counted from 0.
    """
    if hasattr(X, "to_pandas"):
        X = X.to_pandas()
    if not (hasattr(X, "columns") and hasattr(X, "iloc")):
        return None
    frame: pd.DataFrame = X.reset_index(drop=True)
    return frame.set_axis([str(name) for name in frame.columns], axis=1)


def sample_of(
    X: Any,
    y: Any,
    *,
    task: str | None = None,
    feature_names: Sequence[str] | None = None,
    groups: Any = None,
    time: Any = None,
) -> tuple[Sample, TableSchema | None]:
    """Return arrays or a data frame as a sample, and the schema of a frame.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features), or data frame
    y, task, feature_names, groups, time
        As in `pliant.compare`.

    Raises
    ------
    ValueError
        If a shape, a type or a value cannot be used; the message quotes it.
    """
    frame = as_frame(X)
    if frame is None:
        sample = Sample.of(X, y, task=task, feature_names=feature_names, groups=groups, time=time)
        return sample, None
    if task is not None:
        check_choice("task", task, ("classification", "regression"))
    if feature_names is not None:
        if len(feature_names) != frame.shape[1]:
            expected = f"expected {frame.shape[1]} feature names"
            raise ValueError(f"{expected}, got {len(feature_names)}")
        frame = frame.set_axis([str(name) for name in feature_names], axis=1)
    if groups is not None and time is not None:
        raise ValueError("expected groups or an order of time, got both")
    target = _series("y", y, len(frame))
    name = _target_name(target, frame)
    return sample_from_frame(
        frame.assign(**{name: target}),
        name,
        task=task,
        groups=None if groups is None else _series("groups", groups, len(frame)),
        time=None if time is None else _series("time", time, len(frame)),
    )


def _series(role: str, values: Any, n: int) -> pd.Series:
    """Return n values as a column whose rows are counted from 0."""
    import pandas as pd

    if hasattr(values, "to_pandas"):
        values = values.to_pandas()
    if isinstance(values, pd.DataFrame) and values.shape[1] == 1:
        values = values.iloc[:, 0]
    column = values if isinstance(values, pd.Series) else np.asarray(values)
    if column.shape != (n,):
        raise ValueError(f"expected {role} of shape ({n},), got {column.shape}")
    series = pd.Series(column)
    return series.reset_index(drop=True).rename(role if series.name is None else str(series.name))


def _target_name(target: pd.Series, frame: pd.DataFrame) -> str:
    """Return a name for the target that no feature has; refuse the target as a feature."""
    name = str(target.name)
    if name in frame.columns and target.equals(frame[name].rename(name)):
        raise ValueError(f"expected X without the target, got y as column {quoted(name)} of X")
    while name in frame.columns:
        name = f"{name} (target)"
    return name


class TableEncoder(TransformerMixin, BaseEstimator):
    """Turn data frames into the numbers that a comparison learns from, column by column.

    Columns are found by name, in any order; others are left aside. Categories become their
    numbers, an unknown one the number after the last, dates calendar features, texts hashed words,
    and NaN stands where a value is missing. Nothing is learned from the rows: the next steps of a
    pipeline do that.

    Parameters
    ----------
    schema : dict
        What the columns mean, as `pliant.tables.TableSchema.to_dict` returns it.

    Attributes
    ----------
    n_features_in_ : int
    feature_names_in_ : array of shape (n_features,)
        The names of the columns.
    """

    def __init__(self, schema: Mapping[str, Any]) -> None:
        self.schema = schema

    @classmethod
    def of(cls, schema: TableSchema) -> Self:
        """Return a fitted encoder of the columns of a schema."""
        return cls(schema.to_dict())._settle()

    def fit(self, X: Any, y: object = None) -> Self:
        """Check the columns of a data frame; nothing is learned from its rows."""
        self._checked(X)
        return self._settle()

    def transform(self, X: Any) -> Array:
        """Return the numbers of a data frame, shape (n_samples, n_features).

        Raises
        ------
        TableError
            If X is no data frame, lacks a column, or holds what its column did not.

        Warns
        -----
        UnknownCategoryWarning
            If a text is none of the categories; the column and the text are named.
        """
        check_is_fitted(self, "n_features_in_")
        return self._schema().features(self._checked(X))

    def get_feature_names_out(self, input_features: object = None) -> npt.NDArray[np.object_]:
        """Return the names of the features, such as ``day (year)``, shape (n_features_out,)."""
        check_is_fitted(self, "n_features_in_")
        return np.array(self._schema().feature_names, dtype=object)

    def _settle(self) -> Self:
        names = [column.name for column in self._schema().columns]
        self.feature_names_in_ = np.array(names, dtype=object)
        self.n_features_in_ = len(names)
        return self

    def _schema(self) -> TableSchema:
        return TableSchema.from_dict(self.schema)

    def _checked(self, X: Any) -> pd.DataFrame:
        """Return a data frame that has all columns."""
        frame = as_frame(X)
        names = [column.name for column in self._schema().columns]
        if frame is None:
            shown = listed([quoted(name) for name in names], 10)
            raise TableError(
                f"expected a data frame with the columns {shown}, as the model was fitted on, "
                f"got {type(X).__name__}"
            )
        check_present(names, list(frame.columns))
        check_unique([name for name in frame.columns if name in set(names)], "the table")
        if frame.empty:
            raise TableError("expected a table with rows, got none")
        return frame

    def example_rows(self, n_rows: int) -> pd.DataFrame:
        """Return rows of cells that the columns can hold: zeros, the first category, a date."""
        import pandas as pd

        columns = self._schema().columns
        return pd.DataFrame({column.name: [column.example] * n_rows for column in columns})

    def _check_loaded(self) -> None:
        """Raise ValueError if a file holds no columns, or other ones than were fitted."""
        columns = self._schema().columns
        if len(columns) != self.n_features_in_:
            raise ValueError(f"expected {self.n_features_in_} columns, got {len(columns)}")


TableEncoder.__module__ = "pliant.comparison"
