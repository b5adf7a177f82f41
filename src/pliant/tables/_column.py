"""One feature column: its kind, its categories, and its numbers in a feature matrix."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, TypeAlias, cast, get_args

import numpy as np
import numpy.typing as npt

from pliant.core.exceptions import TableError
from pliant.core.files import quoted
from pliant.core.typing import Array
from pliant.tables._categories import MAX_CATEGORIES, TextCounts, check_categories
from pliant.tables._values import READERS, Kind, kind_of, refuse_missing, texts

if TYPE_CHECKING:
    import pandas as pd

Missing: TypeAlias = Literal["error", "impute"]

ADVICE = (
    "fill them in, leave the rows out, or have them imputed "
    "(--missing impute, in Python missing='impute')"
)
LATER_ADVICE = "fill them in or leave the rows out; the model was fitted without imputation"


class UnknownCategoryWarning(UserWarning):
    """A text column holds a value that was not there when the schema was fitted."""


@dataclass(frozen=True)
class Column:
    """A feature column.

    Parameters
    ----------
    name : str
        Its name in a table.
    kind : {"numeric", "boolean", "categorical"}
        Numbers stay, booleans become 0 and 1, categories are one-hot encoded.
    categories : tuple of str, default=()
        The texts of a categorical column, in the order of their one-hot columns.
    fill : float, str or None, default=None
        What takes the place of a missing value; None: missing values are refused.
    """

    name: str
    kind: Kind
    categories: tuple[str, ...] = ()
    fill: float | str | None = None

    @classmethod
    def fit(cls, column: pd.Series, missing: Missing) -> Column:
        """Find out what a column holds.

        Raises
        ------
        TableError
            If it holds dates or other foreign values, missing values that are not to be imputed
            or nothing else, infinite values, or too many different texts to be categories.
        """
        kind = kind_of(column)
        if column.isna().all():
            raise no_value(column.name)
        if missing == "error":
            refuse_missing(column, ADVICE)
        if kind == "categorical":
            counts = TextCounts()
            counts.add(column)
            fitted = cls.of_texts(str(column.name), counts)
        else:
            values = READERS[kind](column)
            fitted = cls(str(column.name), kind).filled_from(values)
        return fitted if missing == "impute" else replace(fitted, fill=None)

    @classmethod
    def of_texts(cls, name: str, counts: TextCounts) -> Column:
        """Return a categorical column that fills with its commonest text.

        Raises
        ------
        TableError
            If there are too many different texts.
        """
        check_categories(name, counts)
        return cls(name, "categorical", tuple(sorted(counts.counts)), counts.commonest)

    def filled_from(self, values: Array) -> Column:
        """Return a numeric or boolean column that fills with the median or commonest value.

        Parameters
        ----------
        values : array of shape (n,)
            Its numbers; NaN where one is missing, not everywhere.
        """
        middle = float(np.nanmedian(values))
        return replace(self, fill=middle if self.kind == "numeric" else float(middle > 0.5))

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The names of its columns in a feature matrix, such as ``colour=red``."""
        return tuple(f"{self.name}={c}" for c in self.categories) or (self.name,)

    def encode(self, column: pd.Series, reported: set[str]) -> Array:
        """Return the column as float64 features, shape (n, len(feature_names)).

        Parameters
        ----------
        column : pandas.Series
            The column of a table, with n cells.
        reported : set of str
            Names of columns whose unknown categories were reported already; this one is added.

        Raises
        ------
        TableError
            If a cell is missing and there is nothing to fill it with, or does not fit the kind.
        """
        if self.fill is None:
            refuse_missing(column, LATER_ADVICE)
        if self.kind == "categorical":
            return self._one_hot(texts(column), reported)
        values = READERS[self.kind](column)
        filling = float(self.fill or 0.0)  # without a fill there is no gap
        return np.where(np.isnan(values), filling, values)[:, None]

    def _one_hot(self, cells: npt.NDArray[np.object_], reported: set[str]) -> Array:
        """Return a 1 in the column of each cell's category; zeros for an unknown one."""
        place: dict[object, int] = {category: j for j, category in enumerate(self.categories)}
        filled = [self.fill if cell is None else cell for cell in cells]
        codes = np.array([place.get(cell, -1) for cell in filled], dtype=np.intp)
        known = codes >= 0
        if not known.all() and self.name not in reported:
            reported.add(self.name)
            _warn_unknown(self.name, filled[int(known.argmin())])
        encoded = np.zeros((codes.size, len(place)))
        encoded[np.flatnonzero(known), codes[known]] = 1.0
        return encoded

    @classmethod
    def from_dict(cls, state: object) -> Column:
        """Make a column from plain data, refusing what `fit` could not have made.

        Raises
        ------
        TableError
            If a key is absent or foreign, or a value is not of its type.
        """
        if not isinstance(state, Mapping) or set(state) != set(cls.__dataclass_fields__):
            raise TableError(f"expected a column with {', '.join(cls.__dataclass_fields__)}")
        name, kind, fill = state["name"], state["kind"], state["fill"]
        categories = state["categories"]
        if not isinstance(name, str):
            raise TableError(f"expected a column name, got {quoted(name)}")
        if kind not in get_args(Kind):
            raise TableError(f"column {quoted(name)}: unknown kind {quoted(kind)}")
        if not _are_categories(categories) or bool(categories) != (kind == "categorical"):
            raise TableError(f"column {quoted(name)}: expected sorted texts as categories")
        if fill is not None and not _fits(fill, kind, categories):
            raise TableError(f"column {quoted(name)}: {quoted(fill)} cannot fill a {kind} column")
        return cls(name, cast(Kind, kind), tuple(categories), fill)


def no_value(name: object) -> TableError:
    """Return the error for a column in which every cell is missing."""
    return TableError(f"column {quoted(name)} holds no value at all: drop it (--drop)")


def _warn_unknown(name: str, value: object) -> None:
    """Warn once that a column holds a text that is no category."""
    warnings.warn(
        f"column {quoted(name)} has the value {quoted(value)}, which was not there in training; "
        "such values are encoded as all zeros",
        UnknownCategoryWarning,
        stacklevel=2,
    )


def _are_categories(value: object) -> bool:
    """Return whether a value is a sequence of different texts in order."""
    if not isinstance(value, list | tuple) or not all(isinstance(c, str) for c in value):
        return False
    return len(value) <= MAX_CATEGORIES and list(value) == sorted(set(value))


def _fits(fill: object, kind: str, categories: tuple[str, ...]) -> bool:
    """Return whether ``fill`` can take the place of a missing value in a column of this kind."""
    if kind == "categorical":
        return isinstance(fill, str) and fill in categories
    number = isinstance(fill, float | int) and not isinstance(fill, bool) and math.isfinite(fill)
    return number and (kind == "numeric" or fill in (0, 1))
