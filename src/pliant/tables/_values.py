"""The cells of one column as numbers, truth values or texts, whatever type they come in.

A column keeps one meaning over files: ``1``, ``1.0`` and ``"1"`` are the same number and the same
category ``"1"``, so that a chunk of integers, a chunk of decimals and a chunk of text agree.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from pliant.core.exceptions import TableError
from pliant.core.files import quoted
from pliant.core.typing import Array
from pliant.tables._names import row_name
from pliant.tables._problems import ColumnError

if TYPE_CHECKING:
    import pandas as pd

Kind: TypeAlias = Literal["numeric", "boolean", "categorical", "date", "text"]

KINDS: dict[str, Kind] = {
    "integer": "numeric",
    "floating": "numeric",
    "mixed-integer-float": "numeric",
    "decimal": "numeric",
    "empty": "numeric",
    "boolean": "boolean",
    "string": "categorical",
    "datetime64": "date",
    "datetime": "date",
    "date": "date",
}
"""What pandas finds in a column, and the kind of column it is."""

LARGEST = 1e150
"""The largest number: sums of squares stay finite."""

TRUTHS = {"true": 1.0, "1": 1.0, "false": 0.0, "0": 0.0}
"""How a truth value may be written, in lower case."""


def kind_of(column: pd.Series) -> Kind:
    """Return the kind of a column; one of lists, or numbers mixed with text is refused."""
    import pandas as pd

    if isinstance(column.dtype, pd.CategoricalDtype):
        _inferred_kind(pd.Series(column.cat.categories, name=column.name))
        return "categorical"
    return _inferred_kind(column)


def numbers(column: pd.Series) -> Array:
    """Return the cells as float64, shape (n,), NaN where one is missing.

    A cell that is no number, infinite, or so large that its square might overflow is refused.
    """
    import pandas as pd

    plain = _plain(column)
    values: Array
    if pd.api.types.is_numeric_dtype(plain.dtype):
        values = plain.to_numpy(dtype=np.float64, na_value=np.nan)
    else:  # Python's parser is exact in every version of pandas
        values = np.fromiter((number(cell) for cell in plain), np.float64, len(plain))
    _refuse(plain, np.isnan(values) & plain.notna().to_numpy(), "a number")
    _refuse(plain, np.isinf(values), "a finite number")
    _refuse(plain, np.abs(values) > LARGEST, f"a number of at most {LARGEST:g} in size")
    return values


def number(cell: object) -> float:
    """Return the number that a cell holds or spells, NaN for none."""
    if isinstance(cell, str) and "_" in cell:
        return np.nan
    try:
        return float(cell)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return np.nan


def whole_numbers(column: pd.Series) -> npt.NDArray[np.int64]:
    """Return the cells as int64, shape (n,); all must be integers, none missing."""
    values = numbers(column)
    _refuse(column, ~whole(values), "an integer below 2**53")
    return values.astype(np.int64)


def whole(values: Array) -> npt.NDArray[np.bool_]:
    """Return which values are integers that float64 represents exactly."""
    mask: npt.NDArray[np.bool_] = (values == np.floor(values)) & (np.abs(values) < 2.0**53)
    return mask


def truths(column: pd.Series) -> Array:
    """Return the cells as 0.0 or 1.0, NaN where one is missing; all else is refused."""
    cells = texts(column)
    values = np.array([np.nan if c is None else TRUTHS.get(c.strip().lower(), -1) for c in cells])
    _refuse(column, values == -1, "true or false")
    return values


def texts(column: pd.Series) -> npt.NDArray[np.object_]:
    """Return the cells as text, shape (n,), None where one is missing.

    A column of neither numbers, booleans nor text is refused.
    """
    plain = _plain(column).astype(object)
    cells = np.empty(len(plain), dtype=object)
    cells[:] = [None if gone else _text(c) for c, gone in zip(plain, plain.isna(), strict=True)]
    return cells


@dataclass
class Gaps:
    """How many values of a column are missing, as far as it was read, and the row of the first."""

    count: int = 0
    first: str = ""

    def add(self, column: pd.Series) -> None:
        """Count those of a column, or of the next chunk of one."""
        missing = column.isna().to_numpy()
        if missing.any():
            self.first = self.first or row_name(column.index, int(missing.argmax()))
            self.count += int(missing.sum())

    def refuse(self, name: object, advice: str, fix: Sequence[str] = ()) -> None:
        """Raise TableError with the count and the first row if there are any.

        `fix` has the options of the command line that settle it.
        """
        if self.count:
            several = f"{self.count} missing values, the first"
            what = "a missing value" if self.count == 1 else several
            text = f"column {quoted(name)} has {what} in {self.first}: {advice}"
            raise ColumnError(text, fix)


def refuse_missing(column: pd.Series, advice: str) -> None:
    """Raise TableError with the count and the first row if cells of ``column`` are missing."""
    gaps = Gaps()
    gaps.add(column)
    gaps.refuse(column.name, advice)


def _inferred_kind(column: pd.Series) -> Kind:
    """Return the kind of what pandas finds in a column, if that has a place here."""
    import pandas as pd

    kind = pd.api.types.infer_dtype(column, skipna=True)
    if kind not in KINDS:
        what = "a mixture of types" if kind.startswith("mixed") else f"values of type {kind}"
        raise TableError(
            f"column {quoted(column.name)} holds {what}, expected numbers, booleans, text or "
            "dates: convert it or leave it out (--drop)"
        )
    return KINDS[kind]


def _plain(column: pd.Series) -> pd.Series:
    """Return the column without pandas' categorical type, if its kind has a place here."""
    import pandas as pd

    kind_of(column)
    categorical = isinstance(column.dtype, pd.CategoricalDtype)
    return column.astype(object) if categorical else column


def _text(value: object) -> str:
    """Return a cell as text; integers have no decimal point."""
    if isinstance(value, float | np.floating) and value.is_integer():
        return str(int(value))
    return str(value)


def _refuse(column: pd.Series, wrong: npt.NDArray[np.bool_], expected: str) -> None:
    """Raise TableError quoting the first cell that is wrong."""
    if wrong.any():
        at = int(wrong.argmax())
        value = quoted(column.iloc[at]) if isinstance(column.iloc[at], str) else column.iloc[at]
        where = row_name(column.index, at)
        raise TableError(
            f"column {quoted(column.name)}: expected {expected} in {where}, got {value}"
        )


READERS: dict[Kind, Callable[[pd.Series], Array]] = {"numeric": numbers, "boolean": truths}
"""How to read the columns that become a single number."""
