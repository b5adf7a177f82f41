"""The rows of a Gram matrix: stored, or computed on demand in bounded memory.

`DenseRows` holds the matrix. `CachedRows` keeps the most used rows.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from pliant.core.blocks import row_blocks
from pliant.core.loops import compiled
from pliant.core.sparse import stack_rows
from pliant.core.typing import Array, Between, Indices, Mask
from pliant.core.validation import check_kernel_values
from pliant.kernels.base import Kernel

BLOCK_ENTRIES = 8_000_000
"""Maximum number of entries in a block of computed rows: 32 MB in float32."""

TILE_ENTRIES = 200_000
"""Maximum number of kernel values per call; rounding and checks then run in CPU cache."""


Pause: TypeAlias = Callable[[], object]
"""Called between blocks of kernel values; it may raise an exception to end the computation."""


class Rows(ABC):
    """Row access to a symmetric Gram matrix K.

    Solvers read small square blocks and weighted sums of rows, and never call the kernel.
    `DenseRows` holds the matrix; `CachedRows` computes rows on demand.
    """

    max_block: int | None = None
    """Maximum number of coordinates in `square`; None for no limit."""

    _diagonal: Array

    def __len__(self) -> int:
        return self._diagonal.size

    def diagonal(self) -> Array:
        """Return the diagonal, shape (n,), float64."""
        return self._diagonal

    @abstractmethod
    def bordered(self) -> Rows:
        """Return the matrix with a row and a column of zeros appended."""

    @abstractmethod
    def square(self, indices: Indices, pause: Pause | None = None) -> Array:
        """Return the rows and columns `indices`, shape (m, m).

        `CachedRows` calls `pause` between blocks, and overwrites the result in the next call.
        """

    @abstractmethod
    def part(self, rows: Indices, columns: Indices) -> Array:
        """Return K[rows][:, columns]."""

    @abstractmethod
    def matvec(self, weights: Array, pause: Pause | None = None) -> Array:
        """Return K w, shape (n,), in float64; rows of zero weight are not read."""

    @abstractmethod
    def both_matvecs(
        self, weights: Array, squares: Array, pause: Pause | None = None
    ) -> tuple[Array, Array]:
        """Return K w and (K o K) q; q must be zero where w is. Each row is read once."""


class DenseRows(Rows):
    """A symmetric Gram matrix in memory.

    Parameters
    ----------
    gram : array of shape (n, n)
        Symmetric. float32 and float64 are kept, in C order; other dtypes become float64. float32
        halves the memory traffic of a solver. Sums are float64.
    """

    def __init__(self, gram: npt.ArrayLike) -> None:
        matrix = np.asarray(gram)
        dtype = np.float32 if matrix.dtype == np.float32 else np.float64
        if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
            raise ValueError(f"expected a square Gram matrix, got shape {matrix.shape}")
        self.gram: Array = np.ascontiguousarray(matrix, dtype=dtype)
        self._diagonal = self.gram.diagonal().astype(np.float64)
        self._diagonal.flags.writeable = False

    def bordered(self) -> DenseRows:
        """Return the matrix with a row and a column of zeros appended."""
        return DenseRows(np.pad(self.gram, (0, 1)))

    def square(self, indices: Indices, pause: Pause | None = None) -> Array:
        """Return the rows and columns `indices`, shape (m, m)."""
        if np.array_equal(indices, np.arange(len(self))):
            return self.gram
        return self.part(indices, indices)

    def part(self, rows: Indices, columns: Indices) -> Array:
        """Return K[rows][:, columns]."""
        return part(self.gram, rows, columns)

    def matvec(self, weights: Array, pause: Pause | None = None) -> Array:
        """Return K w, shape (n,), in float64; rows of zero weight are not read."""
        total = np.zeros(len(self))
        _add_product(total, self.gram, weights)
        return total

    def both_matvecs(
        self, weights: Array, squares: Array, pause: Pause | None = None
    ) -> tuple[Array, Array]:
        """Return K w and (K o K) q; q must be zero where w is. Each row is read once."""
        total, squared = np.zeros(len(self)), np.zeros(len(self))
        _add_both_products(total, squared, self.gram, weights, squares)
        return total, squared


class RowMemory:
    """Cache for rows of an n x n matrix and for one square block, in a single buffer.

    The buffer holds `entries` numbers: row slots `rows`, shape (k, n), at its start, and the square
    block at its end. Each call of `evict` halves all scores and adds one to those of the used rows.
    The cache keeps the rows with the highest scores. So rows that every call uses stay, even if a
    call uses more rows than fit; a least-recently-used policy would evict each before its next use.
    """

    def __init__(self, n: int, entries: int, dtype: np.dtype[Any]) -> None:
        self._buffer: Array = np.empty(entries, dtype)
        slots = min(entries // max(n, 1), n)
        self.rows: Array = self._buffer[: slots * n].reshape(slots, n)
        self._slots: Indices = np.full(n, -1)
        self._score = np.zeros(n)
        self._selected: Mask = np.zeros(n, dtype=bool)

    def find(self, numbers: Indices) -> tuple[Indices, Indices, Indices]:
        """Return the positions of cached rows, their slots, and the positions of uncached rows."""
        slots = self._slots[numbers]
        kept = np.flatnonzero(slots >= 0)
        return kept, slots[kept], np.flatnonzero(slots < 0)

    def evict(self, used: Indices) -> None:
        """Record a use of the rows `used`, select the rows to keep, and evict the other rows."""
        # Select by score; among equal scores, prefer rows already in the cache.
        self._score *= 0.5
        self._score[used] += 1.0
        candidates = np.union1d(np.flatnonzero(self._slots >= 0), used)
        order = np.lexsort((self._slots[candidates] < 0, -self._score[candidates]))
        self._selected[:] = False
        self._selected[candidates[order[: len(self.rows)]]] = True
        self._slots[~self._selected] = -1

    def store(self, numbers: Indices, rows: Array) -> None:
        """Store the computed rows that `evict` selected."""
        # Each selected row has a free slot, as `evict` selects at most one row per slot.
        selected = np.flatnonzero(self._selected[numbers])
        occupied = self._slots[self._slots >= 0]
        free = np.setdiff1d(np.arange(len(self.rows)), occupied)[: selected.size]
        for slot, row in zip(free, selected, strict=True):  # avoids a copy of all selected rows
            self.rows[slot] = rows[row]
        self._slots[numbers[selected]] = free

    def square(self, size: int) -> Array:
        """Return the end of the buffer as a square array; remove the row slots in it."""
        start = self._buffer.size - size**2
        self.rows = self.rows[: start // max(len(self._slots), 1)]
        self._slots[self._slots >= len(self.rows)] = -1
        return self._buffer[start:].reshape(size, size)


class CachedRows(Rows):
    """The Gram matrix k(X, X), with rows computed on demand, in bounded memory.

    Parameters
    ----------
    kernel : Kernel
        Symmetric.
    X : array of shape (n_samples, n_features)
        The points, float64.
    cache_mb : float
        > 0. Memory for cached rows and the latest square block, in MiB. Blocks of computed rows
        need another 32 MB (64 MB in float64).
    dtype : float32 or float64
        Precision of the matrix. Sums are computed in float64.
    border : bool
        True to append a row and a column of zeros.

    Attributes
    ----------
    max_block : int
        Maximum number of coordinates in `square`: the block fills three quarters of the cache.

    Raises
    ------
    ValueError
        If kernel values are out of range, or the kernel does not accept the points.
    """

    dtype: np.dtype[Any]
    kernel: Kernel

    def __init__(
        self,
        kernel: Kernel,
        X: Array,
        cache_mb: float = 200.0,
        dtype: npt.DTypeLike = np.float64,
        border: bool = False,
    ) -> None:
        self.dtype, self.kernel, self._cache_mb = np.dtype(dtype), kernel, cache_mb
        self.X = stack_rows([X, X[:1]]) if border else X  # kernel values of the last row become 0
        self._border = X.shape[0] if border else None
        n, entries = self.X.shape[0], int(cache_mb * 2**20) // self.dtype.itemsize
        # Splitting the free coordinates into several blocks costs much more than recomputing rows.
        # A block of 128 coordinates, 0.1 MB, is always allowed.
        self.max_block: int = min(max(math.isqrt(int(0.75 * entries)), 128), n)
        entries = min(max(entries, self.max_block**2), n**2 + self.max_block**2)
        self._prepared: Between | None = kernel.prepared(self.X)
        self._diagonal = np.append(self._checked(kernel.diag(X)), np.zeros(int(border)))
        self._diagonal.flags.writeable = False
        self._memory = RowMemory(n, entries, self.dtype)

    def bordered(self) -> CachedRows:
        """Return the matrix with a row and a column of zeros appended."""
        return CachedRows(self.kernel, self.X, self._cache_mb, self.dtype, border=True)

    def square(self, indices: Indices, pause: Pause | None = None) -> Array:
        """Return the rows and columns `indices`, shape (m, m), using symmetry and cached rows.

        `pause` is called between blocks; the next call overwrites the result.
        """
        if indices.size > self.max_block:
            raise ValueError(f"expected at most {self.max_block} indices, got {indices.size}")
        square = self._memory.square(indices.size)
        cached, slots, missing = self._memory.find(indices)
        # Copy the cached rows, and their transposes; a symmetric block of `missing` remains.
        copy_symmetric(square, cached, np.arange(indices.size), self._memory.rows, slots, indices)
        for low, some in _in_blocks(missing, missing.size, pause):
            rest = missing[low:]
            values = self._values(indices[some], indices[rest])
            copy_symmetric(square, some, rest, values, np.arange(some.size), np.arange(rest.size))
        return square

    def part(self, rows: Indices, columns: Indices) -> Array:
        """Return K[rows][:, columns] without caching computed rows."""
        chosen = np.empty((rows.size, columns.size), self.dtype)
        cached, slots, missing = self._memory.find(rows)
        chosen[cached] = part(self._memory.rows, slots, columns)
        for _, some in _in_blocks(missing, columns.size):
            chosen[some] = self._values(rows[some], columns)
        return chosen

    def matvec(self, weights: Array, pause: Pause | None = None) -> Array:
        """Return K w, shape (n,), in float64; rows of zero weight are not read."""
        used, total = np.flatnonzero(weights), np.zeros(len(self))
        for members, matrix, numbers in self._groups(used, pause):
            add_rows(total, matrix, numbers, weights[used[members]])
        return total

    def both_matvecs(
        self, weights: Array, squares: Array, pause: Pause | None = None
    ) -> tuple[Array, Array]:
        """Return K w and (K o K) q; q must be zero where w is. Each row is read once."""
        used = np.flatnonzero(weights)
        total, squared = np.zeros(len(self)), np.zeros(len(self))
        for members, matrix, numbers in self._groups(used, pause):
            some = used[members]
            add_both(total, squared, matrix, numbers, weights[some], squares[some])
        return total, squared

    def _groups(
        self, used: Indices, pause: Pause | None
    ) -> Iterator[tuple[Indices, Array, Indices]]:
        """Yield the cached rows, then computed rows in blocks that overwrite each other."""
        cached, slots, missing = self._memory.find(used)
        yield cached, self._memory.rows, slots
        self._memory.evict(used)
        block: Array | None = None
        for _, some in _in_blocks(missing, len(self), pause):
            if block is None:  # the first block is the largest
                block = np.empty((some.size, len(self)), self.dtype)
            rows = self._values(used[some], out=block[: some.size])
            self._memory.store(used[some], rows)
            yield some, rows, np.arange(some.size)

    def _values(
        self, rows: Indices, columns: Indices | None = None, out: Array | None = None
    ) -> Array:
        """Return K[rows][:, columns] (all columns by default), computed in tiles of columns."""
        n = len(self) if columns is None else columns.size
        values = np.empty((rows.size, n), self.dtype) if out is None else out
        width = max(1, TILE_ENTRIES // max(1, rows.size))
        for low in range(0, n, width):
            some = slice(low, low + width)
            others = some if columns is None else columns[some]
            if self._prepared is None:
                tile = self.kernel(self.X[rows], self.X[others])
            else:
                tile = self._prepared(rows, others)
            values[:, some] = self._checked(tile)
        if self._border is not None:
            values[rows == self._border] = 0.0
            values[:, (np.arange(n) if columns is None else columns) == self._border] = 0.0
        return values

    def _checked(self, values: Array) -> Array:
        """Return kernel values in the matrix's precision, in which they must be finite."""
        return check_kernel_values(values.astype(self.dtype, copy=False), self.kernel)


def _in_blocks(
    indices: Indices, width: int, pause: Pause | None = None
) -> Iterator[tuple[int, Indices]]:
    """Yield the start and indices of each block of rows with `width` values; first call `pause`."""
    for block in row_blocks(indices.size, width, BLOCK_ENTRIES):
        if pause is not None:
            pause()
        yield block.start, indices[block]


@compiled
def part(gram: Array, rows: Indices, columns: Indices) -> Array:
    """Return gram[rows][:, columns]."""
    chosen = np.empty((rows.size, columns.size), gram.dtype)
    for a in range(rows.size):
        row = gram[rows[a]]
        for b in range(columns.size):
            chosen[a, b] = row[columns[b]]
    return chosen


@compiled
def copy_symmetric(
    target: Array,
    rows: Indices,
    columns: Indices,
    source: Array,
    source_rows: Indices,
    source_columns: Indices,
) -> None:
    """Copy rows and columns of `source` to rows and columns of `target`, and to its transpose."""
    for a in range(rows.size):
        values = source[source_rows[a]]
        for b in range(columns.size):
            target[rows[a], columns[b]] = values[source_columns[b]]
            target[columns[b], rows[a]] = values[source_columns[b]]


@compiled
def _add_product(total: Array, gram: Array, weights: Array) -> None:
    """Add K w to `total`."""
    for a in range(weights.size):
        if weights[a] != 0.0:
            row = gram[a]
            for s in range(total.size):
                total[s] += weights[a] * row[s]


@compiled
def _add_both_products(
    total: Array, squared: Array, gram: Array, weights: Array, squares: Array
) -> None:
    """Add K w to `total`, and (K o K) q to `squared`."""
    for a in range(weights.size):
        if weights[a] != 0.0:
            row = gram[a]
            for s in range(total.size):
                total[s] += weights[a] * row[s]
                squared[s] += squares[a] * row[s] * row[s]


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
    """Add sum_a weights_a r_a to `total` and sum_a square_weights_a r_a^2 to `squared`.

    r_a = rows[numbers_a] is read once; r_a^2 is its entrywise square.
    """
    for a in range(numbers.size):
        row = rows[numbers[a]]
        for s in range(total.size):
            total[s] += weights[a] * row[s]
            squared[s] += square_weights[a] * row[s] * row[s]
