"""A Gram matrix, seen as rows.

Solvers ask for rows, for small square parts, and for sums of weighted rows; they never see the
kernel that made them. That leaves room for Grams that are too large to be kept whole.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from pliant._jit import compiled
from pliant._typing import Array, Indices

__all__ = ["DenseRows"]


class DenseRows:
    """The rows of a symmetric Gram matrix that fits into memory.

    Parameters
    ----------
    gram : array of shape (n, n)
        Symmetric. float32 and float64 are kept as they are (in C order), all else becomes float64.
    dtype : dtype, optional
        The precision to keep; float32 halves the memory that a solver reads. Sums are float64.
    """

    def __init__(self, gram: npt.ArrayLike, dtype: npt.DTypeLike | None = None) -> None:
        matrix = np.asarray(gram)
        if dtype is None:
            dtype = np.float32 if matrix.dtype == np.float32 else np.float64
        if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
            raise ValueError(f"expected a square Gram matrix, got shape {matrix.shape}")
        self.gram: Array = np.ascontiguousarray(matrix, dtype=dtype)
        self._diagonal: Array = self.gram.diagonal().astype(np.float64)
        self._diagonal.flags.writeable = False

    def __len__(self) -> int:
        """Return the number of rows."""
        return self.gram.shape[0]

    def diagonal(self) -> Array:
        """Return the diagonal, shape (n,), float64."""
        return self._diagonal

    def block(self, indices: Indices) -> Array:
        """Return the rows `indices`, shape (len(indices), n)."""
        return self.gram[indices]

    def square(self, indices: Indices) -> Array:
        """Return the rows and columns `indices`, shape (m, m)."""
        if np.array_equal(indices, np.arange(len(self))):
            return self.gram
        return self.part(indices, indices)

    def part(self, rows: Indices, columns: Indices) -> Array:
        """Return some rows and columns, shape (len(rows), len(columns))."""
        return _part(self.gram, rows, columns)

    def matvec(self, weights: Array) -> Array:
        """Return K w, shape (n,); rows of zero weight are not read."""
        return _weighted_sum(self.gram, *self._used(weights))

    def squared_matvec(self, weights: Array) -> Array:
        """Return (K o K) w, with o the entrywise product, shape (n,)."""
        return _weighted_sum_of_squares(self.gram, *self._used(weights))

    def _used(self, weights: Array) -> tuple[Indices, Array]:
        """Return the rows whose weight is not zero, and their weights."""
        if weights.shape != (len(self),):
            raise ValueError(f"expected weights of shape ({len(self)},), got {weights.shape}")
        used = np.flatnonzero(weights)
        return used, weights[used]


@compiled
def _part(gram: Array, rows: Indices, columns: Indices) -> Array:
    part = np.empty((rows.size, columns.size), gram.dtype)
    for a in range(rows.size):
        row = gram[rows[a]]
        for b in range(columns.size):
            part[a, b] = row[columns[b]]
    return part


@compiled
def _weighted_sum(gram: Array, used: Indices, weights: Array) -> Array:
    total = np.zeros(gram.shape[1])
    for a in range(used.size):
        row = gram[used[a]]
        for s in range(total.size):
            total[s] += weights[a] * row[s]
    return total


@compiled
def _weighted_sum_of_squares(gram: Array, used: Indices, weights: Array) -> Array:
    total = np.zeros(gram.shape[1])
    for a in range(used.size):
        row = gram[used[a]]
        for s in range(total.size):
            total[s] += weights[a] * row[s] * row[s]
    return total
