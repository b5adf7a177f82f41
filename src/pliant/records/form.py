"""The declared form of records, and its check.

A record declares its arrays once, in `_form`: the type of the entries, the sizes of the axes by
name, and the range of the entries. Axes of the same name have the same size in all arrays.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

LARGEST = 1e100
"""Largest absolute value of a number in a record: products of two of them are finite."""


MOST_FEATURES = 1_000_000
"""Largest number of features of a record: a row takes 8 MB."""


@dataclass(frozen=True)
class Part:
    """The form of one array.

    Parameters
    ----------
    dtype : str
        The exact type of the entries, such as "f8"; the array is C-contiguous.
    axes : tuple of str or int
        The size of each axis: a number, or a name that stands for one size in the whole record.
    low, high : float
        Closed range of the entries.
    infinite : bool
        True if entries may be infinite, but not NaN.
    optional : bool
        True if the part may be None.
    """

    dtype: str
    axes: tuple[str | int, ...]
    low: float = -LARGEST
    high: float = LARGEST
    infinite: bool = False
    optional: bool = False


def check_form(record: Any, form: Mapping[str, Part]) -> dict[str, int]:
    """Raise ValueError unless the arrays of a record have the declared form; return the sizes."""
    sizes: dict[str, int] = {}
    for name, part in form.items():
        array = getattr(record, name)
        if array is None and part.optional:
            continue
        _check_array(name, array, part)
        for axis, size in zip(part.axes, array.shape, strict=True):
            expected = axis if isinstance(axis, int) else sizes.setdefault(axis, size)
            if size != expected:
                raise ValueError(f"expected {name} with {expected} {axis}, got {size}")
    return sizes


def _check_array(name: str, array: Any, part: Part) -> None:
    """Raise ValueError unless an array has the type, the number of axes and the range of a part."""
    dtype = np.dtype(part.dtype)
    known = isinstance(array, np.ndarray) and array.flags.c_contiguous
    if not known or array.dtype != dtype or array.ndim != len(part.axes):
        got = f"{array.dtype} with {array.ndim}" if isinstance(array, np.ndarray) else type(array)
        raise ValueError(
            f"expected {name} as an array of {dtype} with {len(part.axes)} axes: {got}"
        )
    if array.size == 0 or dtype.kind == "b":
        return
    low, high = array.min(), array.max()  # NaN if one entry is NaN
    if part.infinite and low <= high:
        return
    if not (part.low <= low and high <= part.high):
        raise ValueError(f"expected {name} from {part.low:g} to {part.high:g}, got {low}, {high}")


def check_width(name: str, value: Any) -> int:
    """Return a number of features; raise ValueError unless it is an int in the range of records."""
    if type(value) is not int or not 0 <= value <= MOST_FEATURES:
        raise ValueError(f"expected {name} from 0 to {MOST_FEATURES}, got {value!r:.80}")
    return value


def check_one_of(name: str, value: Any, known: tuple[str, ...]) -> None:
    """Raise ValueError unless a text is one of the known ones."""
    if not isinstance(value, str) or value not in known:
        raise ValueError(f"expected {name} to be one of {known}, got {value!r:.80}")
