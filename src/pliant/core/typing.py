"""Names for the array types that signatures use."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Array: TypeAlias = npt.NDArray[np.floating[Any]]
"""Real numbers, float32 or float64."""

Indices: TypeAlias = npt.NDArray[np.intp]
"""Row numbers."""

Mask: TypeAlias = npt.NDArray[np.bool_]
"""A choice of rows."""

Columns: TypeAlias = slice | Indices
"""Row numbers, or a range of them."""

Callback: TypeAlias = Callable[..., Any]
"""Takes the progress of a solver after a slice of work; True asks the solver to stop."""

Between: TypeAlias = Callable[[Indices, Columns], Array]
"""Returns a kernel between some points of a set and others of it, shape (m, k)."""
