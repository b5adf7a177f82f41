"""Outputs for many samples, computed in blocks so that memory stays bounded."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pliant.core.typing import Array

BLOCK_ENTRIES = 4_000_000
"""Kernel values that prediction holds at once."""


def in_blocks(X: Array, width: int, outputs: Callable[[Array], Any]) -> Any:
    """Return the outputs for the rows of X, some at a time, for `width` numbers held a row."""
    step = max(1, BLOCK_ENTRIES // max(1, width))
    return np.concatenate([outputs(X[low : low + step]) for low in range(0, len(X), step)])
