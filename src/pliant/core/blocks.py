"""Bounds on memory: outputs of many samples in blocks of rows, and the size of a Gram matrix."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from pliant.core.typing import Array

BLOCK_ENTRIES = 4_000_000
"""Maximum number of kernel values in memory during prediction."""


def row_blocks(n_rows: int, width: int, entries: int) -> Iterator[slice]:
    """Yield blocks of rows with at most `entries` values, `width` per row, or single rows."""
    return slices(n_rows, max(1, entries // max(1, width)))


def slices(count: int, step: int) -> Iterator[slice]:
    """Yield slices of at most `step` indices that cover range(count)."""
    return (slice(low, min(low + step, count)) for low in range(0, count, step))


def gram_mb(n_points: int) -> float:
    """Return the size of a Gram matrix in float64, in MiB, the unit of ``cache_mb``."""
    return 8.0 * n_points**2 / 2.0**20


def in_blocks(X: Array, width: int, outputs: Callable[[Array], Any]) -> Any:
    """Compute outputs of X in blocks, with `width` temporary values per row; reject NaN and inf."""
    blocks = row_blocks(X.shape[0], width, BLOCK_ENTRIES)
    values = np.concatenate([outputs(X[rows]) for rows in blocks])
    if values.dtype.kind == "f" and not np.isfinite(values).all():
        row = int(np.argwhere(~np.isfinite(values))[0, 0])
        largest = abs(X[[row]]).max() if X.shape[1] else 0.0
        raise ValueError(
            f"expected finite outputs, got inf or NaN for row {row} of X (largest absolute "
            f"feature {largest:.3g}); scale the features or the targets"
        )
    return values
