"""One feature column: its kind, and its cells as numbers from which nothing was learned."""

from __future__ import annotations

import datetime as dt
import math
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast, get_args

import numpy as np
import numpy.typing as npt

from pliant.core.exceptions import TableError
from pliant.core.text import quoted
from pliant.core.typing import Array
from pliant.tables._dates import PARTS, DateOrder, calendar, moments
from pliant.tables._texts import MOST_TEXTS, hashed
from pliant.tables._values import READERS, Kind, plain_text, texts

if TYPE_CHECKING:
    import pandas as pd

Missing: TypeAlias = Literal["impute", "error"]

MOST_WIDTH = 4096
"""The most columns that a text may become."""


class UnknownCategoryWarning(UserWarning):
    """A text column holds a value that was not there when the schema was fitted."""


@dataclass(frozen=True)
class Column:
    """A feature column.

    Parameters
    ----------
    name : str
        Its name in a table.
    kind : {"numeric", "boolean", "categorical", "date", "text"}
        Numbers stay, booleans become 0 and 1, categories their numbers from 0, dates calendar
        features, and texts the counts of their words, hashed into columns.
    categories : tuple of str, default=()
        The texts of a categorical column, in alphabetical order.
    parts : tuple of str, default=()
        The calendar features of a date column: some of days, year, month, day of year, weekday and
        hour.
    order : {"ymd", "dmy", "mdy"}, optional
        The order of the numbers of a date that is written as text.
    origin : float, default=0
        The day that the days of a date are counted from, in days from 1970.
    width : int, default=0
        The number of columns of a text.
    """

    name: str
    kind: Kind
    categories: tuple[str, ...] = ()
    parts: tuple[str, ...] = ()
    order: DateOrder | None = None
    origin: float = 0.0
    width: int = 0

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The names of its columns in a feature matrix, such as ``day (weekday)``."""
        if self.kind == "date":
            return tuple(f"{self.name} ({part})" for part in self.parts)
        if self.kind == "text":
            return tuple(f"{self.name} (hash {k})" for k in range(self.width))
        return (self.name,)

    @property
    def example(self) -> object:
        """A cell that the column can hold."""
        if self.kind == "categorical":
            return self.categories[0] if self.categories else "a"
        return {"numeric": 0.0, "boolean": True, "date": dt.datetime(2000, 1, 1)}.get(
            self.kind, "a"
        )

    def encode(self, column: pd.Series, reported: set[str]) -> Array:
        """Return the column as float64 features, shape (n, len(feature_names)).

        NaN stands where a value is missing, and the number after the last for a text that is none
        of the categories.

        Parameters
        ----------
        column : pandas.Series
            The column of a table, with n cells.
        reported : set of str
            Names of columns whose unknown categories were reported already; this one is added.

        Raises
        ------
        TableError
            If a cell does not fit the kind.
        """
        if self.kind == "categorical":
            return self._codes(texts(column), reported)[:, None]
        if self.kind == "date":
            return calendar(moments(column, self.order), self.parts, self.origin)
        if self.kind == "text":
            return hashed(texts(column).tolist(), self.width)
        return READERS[self.kind](column)[:, None]

    def _codes(self, cells: npt.NDArray[np.object_], reported: set[str]) -> Array:
        """Return the number of each cell's category, shape (n,).

        A text that is no category has the number of one that means the same, such as ``1`` of
        ``1.0``: columns of a text file are typed by what is in the file.
        """
        place: dict[object, float] = {category: j for j, category in enumerate(self.categories)}
        place[None] = np.nan
        alike = {plain_text(c): float(j) for j, c in reversed([*enumerate(self.categories)])}
        unknown = float(len(self.categories))
        codes = np.array(
            [place[c] if c in place else alike.get(plain_text(c), unknown) for c in cells],
            dtype=np.float64,
        )
        if (codes == unknown).any() and self.name not in reported:
            reported.add(self.name)
            _warn_unknown(self.name, plain_text(cells[int((codes == unknown).argmax())]))
        return codes

    @classmethod
    def from_dict(cls, state: object) -> Column:
        """Make a column from plain data, refusing what a fit could not have made.

        Raises
        ------
        TableError
            If a key is absent or foreign, or a value is not of its type.
        """
        if not isinstance(state, Mapping) or set(state) != set(cls.__dataclass_fields__):
            raise TableError(f"expected a column with {', '.join(cls.__dataclass_fields__)}")
        name, kind = state["name"], state["kind"]
        if not isinstance(name, str):
            raise TableError(f"expected a column name, got {quoted(name)}")
        if kind not in get_args(Kind):
            raise TableError(f"column {quoted(name)}: unknown kind {quoted(kind)}")
        for key, (expected, fits) in CHECKS.items():
            if not fits(state[key], kind):
                raise TableError(
                    f"column {quoted(name)}: expected {expected}, got {quoted(state[key])}"
                )
        categories, parts = tuple(state["categories"]), tuple(state["parts"])
        origin, width = float(state["origin"]), int(state["width"])
        return cls(name, cast(Kind, kind), categories, parts, state["order"], origin, width)


def _warn_unknown(name: str, value: object) -> None:
    """Warn once that a column holds a text that is no category."""
    warnings.warn(
        f"column {quoted(name)} has the value {quoted(value)}, which was not there in training; "
        "such values are taken as none of the categories",
        UnknownCategoryWarning,
        stacklevel=2,
    )


def _are_categories(value: Any, kind: str) -> bool:
    """Return whether a value is a sequence of different texts in order, for categories only."""
    if not isinstance(value, list | tuple) or not all(isinstance(c, str) for c in value):
        return False
    in_order = len(value) <= MOST_TEXTS and list(value) == sorted(set(value))
    return in_order and bool(value) == (kind == "categorical")


def _are_parts(value: Any, kind: str) -> bool:
    """Return whether a value is a sequence of different parts of a date, for dates only."""
    if not isinstance(value, list | tuple) or not all(isinstance(part, str) for part in value):
        return False
    known = len(set(value)) == len(value) and set(value) <= set(PARTS)
    return known and bool(value) == (kind == "date")


def _is_number(value: Any, kind: str) -> bool:
    return isinstance(value, float | int) and abs(value) < 1e9 and math.isfinite(value)


def _is_width(value: Any, kind: str) -> bool:
    if not isinstance(value, int) or isinstance(value, bool):
        return False
    return 1 <= value <= MOST_WIDTH if kind == "text" else value == 0


def _is_order(value: Any, kind: str) -> bool:
    return value is None or (kind == "date" and value in get_args(DateOrder))


CHECKS: dict[str, tuple[str, Callable[[Any, str], bool]]] = {
    "categories": ("sorted texts as categories", _are_categories),
    "parts": ("parts of a date", _are_parts),
    "order": ("an order of dates", _is_order),
    "origin": ("a day as origin", _is_number),
    "width": ("a number of columns", _is_width),
}
"""What a column of plain data must hold beside its name and its kind."""
