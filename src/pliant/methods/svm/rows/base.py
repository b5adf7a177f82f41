"""What solvers read of a Gram matrix."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np

from pliant.core.typing import Array, Indices

__all__ = ["Pause", "Rows", "used_rows"]

Pause = Callable[[], object]
"""Called now and then during long sums, which it may end with an exception."""


class Rows(Protocol):
    """A symmetric Gram matrix of n rows, float32 or float64; sums are float64."""

    @property
    def room(self) -> int | None:
        """The most coordinates whose square part may be asked for; None if all rows are at hand."""

    def __len__(self) -> int:
        """Return the number of rows."""

    def diagonal(self) -> Array:
        """Return the diagonal, shape (n,), float64."""

    def block(self, indices: Indices) -> Array:
        """Return the rows `indices`, shape (len(indices), n)."""

    def square(self, indices: Indices, pause: Pause | None = None) -> Array:
        """Return the rows and columns `indices`, shape (m, m)."""

    def part(self, rows: Indices, columns: Indices) -> Array:
        """Return some rows and columns, shape (len(rows), len(columns))."""

    def matvec(self, weights: Array, pause: Pause | None = None) -> Array:
        """Return K w, shape (n,); rows of zero weight are not read."""

    def both_matvecs(
        self, weights: Array, squares: Array, pause: Pause | None = None
    ) -> tuple[Array, Array]:
        """Return K w and (K o K) q, with o the entrywise product; q is zero wherever w is."""


def used_rows(weights: Array, n: int) -> tuple[Indices, Array]:
    """Return the rows whose weight is not zero, and their weights."""
    if weights.shape != (n,):
        raise ValueError(f"expected weights of shape ({n},), got {weights.shape}")
    used = np.flatnonzero(weights)
    return used, weights[used]
