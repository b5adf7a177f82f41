"""The columns of a kernel on some features: positions, a slice, a mask or names."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np
import numpy.typing as npt

from pliant.core.text import quoted, suggest
from pliant.core.typing import Indices


def column_positions(columns: Any, n_features: int, names: list[str] | None = None) -> Indices:
    """Return column positions >= 0; raise ValueError if none or duplicates are selected."""
    chosen = column_array(columns)
    if not isinstance(chosen, slice) and chosen.dtype.kind in "OU":
        chosen = np.array([_position_of(name, n_features, names) for name in chosen.tolist()])
    try:
        positions = np.arange(n_features)[chosen]
    except IndexError as error:
        raise ValueError(
            f"expected On(columns=...) among {n_features} features, got {columns!r:.200}: {error}"
        ) from None
    if not positions.size:
        raise ValueError(
            f"expected On(columns=...) to select at least one of {n_features} features, got none"
        )
    values, counts = np.unique(positions, return_counts=True)
    if (counts > 1).any():
        again = values[counts > 1][0]
        raise ValueError(f"expected On(columns=...) without duplicates, got column {again} twice")
    return positions


def column_array(columns: Any) -> slice | npt.NDArray[Any]:
    """Return columns as a slice, or as an array of positions, mask values or names."""
    if isinstance(columns, slice):
        with suppress(TypeError, ValueError):
            columns.indices(1)
            return columns
    else:
        items = np.atleast_1d(np.asarray(columns))  # converts mixed text and numbers to text
        each = columns if isinstance(columns, list | tuple) else items.flat
        known = items.dtype.kind in "biu" or all(isinstance(item, str) for item in each)
        if items.ndim == 1 and items.size and known:
            return items
    raise ValueError(
        "expected On(columns=...) to be positions, a slice of int, a mask or names, got "
        f"{columns!r:.200}"
    )


def _position_of(name: str, n_features: int, names: list[str] | None) -> int:
    """Return the position of a named column."""
    if names is None:
        raise ValueError(
            f"expected positions in On(columns=...), as the names of the {n_features} features are "
            f"unknown, got {quoted(name)}; fit an estimator to a data frame, or use "
            "On.resolved"
        )
    count, got = names.count(name), f"got {quoted(name)}"
    if count > 1:
        raise ValueError(
            f"expected unique names in On(columns=...), {got}, the name of {count} features"
        )
    if count == 0:
        raise ValueError(
            f"expected On(columns=...) among the features, {got}; {suggest(name, names)}"
        )
    return names.index(name)
