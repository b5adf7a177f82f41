"""Type aliases for the arrays and callables in signatures."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Array: TypeAlias = npt.NDArray[np.floating[Any]]  # float32 or float64
Indices: TypeAlias = npt.NDArray[np.intp]  # row numbers
Mask: TypeAlias = npt.NDArray[np.bool_]  # mask of rows
Columns: TypeAlias = slice | Indices
Callback: TypeAlias = Callable[..., Any]
"""A function called with the progress after a slice of work; returning True stops the solver."""
Between: TypeAlias = Callable[[Indices, Columns], Array]
"""A function that returns kernel values between two subsets of a set of points, shape (m, k)."""
