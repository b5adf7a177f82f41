"""The rows of a Gram matrix that is kept whole, and compiled sums over rows."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from pliant.core.jit import compiled
from pliant.core.typing import Array, Indices

Pause = Callable[[], object]
"""Called between blocks of kernel values; it may end the sum with an exception."""


class DenseRows:
    """The rows of a symmetric Gram matrix that fits into memory.

    Parameters
    ----------
    gram : array of shape (n, n)
        Symmetric. float32 and float64 are kept as they are (in C order); others become float64.
    dtype : dtype, optional
        The precision to keep; float32 halves the memory that a solver reads. Sums are float64.
    """

    room: None = None
    """No limit on the number of coordinates whose square part may be asked for."""

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

    def bordered(self) -> DenseRows:
        """Return the rows of the matrix with one more row and column, of zeros."""
        return DenseRows(np.pad(self.gram, (0, 1)))

    def diagonal(self) -> Array:
        """Return the diagonal, shape (n,), float64."""
        return self._diagonal

    def square(self, indices: Indices, pause: Pause | None = None) -> Array:
        """Return the rows and columns `indices`, shape (m, m); `pause` is not called."""
        if np.array_equal(indices, np.arange(len(self))):
            return self.gram
        return self.part(indices, indices)

    def part(self, rows: Indices, columns: Indices) -> Array:
        """Return some rows and columns, shape (len(rows), len(columns))."""
        return part(self.gram, rows, columns)

    def matvec(self, weights: Array, pause: Pause | None = None) -> Array:
        """Return K w, shape (n,); rows of zero weight are not read. `pause` is not called."""
        total = np.zeros(len(self))
        add_rows(total, self.gram, *used_rows(weights))
        return total

    def both_matvecs(
        self, weights: Array, squares: Array, pause: Pause | None = None
    ) -> tuple[Array, Array]:
        """Return K w and (K o K) q, where q is zero wherever w is; `pause` is not called."""
        total, squared = np.zeros(len(self)), np.zeros(len(self))
        used, some = used_rows(weights)
        add_both(total, squared, self.gram, used, some, squares[used])
        return total, squared


def used_rows(weights: Array) -> tuple[Indices, Array]:
    """Return the rows whose weight is not zero, and their weights."""
    used = np.flatnonzero(weights)
    return used, weights[used]


@compiled
def part(gram: Array, rows: Indices, columns: Indices) -> Array:
    """Return some rows and columns of a matrix."""
    chosen = np.empty((rows.size, columns.size), gram.dtype)
    for a in range(rows.size):
        row = gram[rows[a]]
        for b in range(columns.size):
            chosen[a, b] = row[columns[b]]
    return chosen


@compiled
def place(
    target: Array,
    rows: Indices,
    columns: Indices,
    source: Array,
    source_rows: Indices,
    source_columns: Indices,
) -> None:
    """Write some rows and columns of a matrix into the symmetric `target`, on both sides."""
    for a in range(rows.size):
        values = source[source_rows[a]]
        for b in range(columns.size):
            target[rows[a], columns[b]] = values[source_columns[b]]
            target[columns[b], rows[a]] = values[source_columns[b]]


@compiled
def add_rows(total: Array, rows: Array, numbers: Indices, weights: Array) -> None:
    """Add sum_a weights_a rows[numbers_a] to `total`."""
    for a in range(numbers.size):
        row = rows[numbers[a]]
        for s in range(total.size):
            total[s] += weights[a] * row[s]


@compiled
def add_both(
    total: Array,
    squared: Array,
    rows: Array,
    numbers: Indices,
    weights: Array,
    square_weights: Array,
) -> None:
    """Add sum_a weights_a rows[numbers_a] to `total`, and the same of squared rows to `squared`.

    The rows are squared entrywise and have weights of their own; each is read once.
    """
    for a in range(numbers.size):
        row = rows[numbers[a]]
        for s in range(total.size):
            total[s] += weights[a] * row[s]
            squared[s] += square_weights[a] * row[s] * row[s]
