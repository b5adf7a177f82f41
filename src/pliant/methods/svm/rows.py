"""The rows of a Gram matrix on demand, for a `pliant.methods.svm.dual.MarginDual`.

`DenseRows` holds the whole matrix; `CachedRows` computes rows on demand, in bounded memory, and
keeps the most used ones.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from pliant.core.jit import compiled
from pliant.core.text import one_line
from pliant.core.typing import Array, Between, Indices, Mask
from pliant.kernels.base import Kernel
from pliant.methods.svm.dual import Pause, add_both, add_rows, part

BLOCK_ENTRIES = 8_000_000
"""Entries of rows that are summed before the next are computed: 32 MB in float32."""

TILE_ENTRIES = 200_000
"""Kernel values of one call: they are rounded and checked before they leave the cache."""


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


class RowMemory:
    """Some rows of an n x n matrix, and one square part of it, in one piece of memory.

    The memory has room for `entries` numbers. `rows`, shape (k, n), are the slots for rows at its
    start; the square part is at its end. Each use adds one to the score of a row, and each call
    halves the scores of all. The rows with the highest scores are kept: rows that every call uses
    stay, even where one call needs more rows than fit. With the most recent rows, each would be
    dropped before its next use.
    """

    def __init__(self, n: int, entries: int, dtype: np.dtype[Any]) -> None:
        self._memory: Array = np.empty(entries, dtype)
        slots = min(entries // max(n, 1), n)
        self.rows: Array = self._memory[: slots * n].reshape(slots, n)
        self._slots: Indices = np.full(n, -1)
        self._score = np.zeros(n)
        self._wanted: Mask = np.zeros(n, dtype=bool)

    def find(self, numbers: Indices) -> tuple[Indices, Indices, Indices]:
        """Return the positions of kept rows, their slots, and the positions of the others."""
        slots = self._slots[numbers]
        kept = np.flatnonzero(slots >= 0)
        return kept, slots[kept], np.flatnonzero(slots < 0)

    def make_room(self, used: Indices) -> None:
        """Count a use of the rows `used`; of these and the kept rows, drop all but the best."""
        # best: the highest score; among equal scores, rows that are already in the memory
        self._score *= 0.5
        self._score[used] += 1.0
        known = np.union1d(np.flatnonzero(self._slots >= 0), used)
        order = np.lexsort((self._slots[known] < 0, -self._score[known]))
        self._wanted[:] = False
        self._wanted[known[order[: len(self.rows)]]] = True
        self._slots[~self._wanted] = -1

    def keep(self, numbers: Indices, rows: Array) -> None:
        """Store the computed rows for which `make_room` made room."""
        # each wanted row takes a free slot; there are enough, as `make_room` wants no more rows
        wanted = np.flatnonzero(self._wanted[numbers])
        taken = self._slots[self._slots >= 0]
        free = np.setdiff1d(np.arange(len(self.rows)), taken)[: wanted.size]
        for slot, row in zip(free, wanted, strict=True):  # without a copy of all rows together
            self.rows[slot] = rows[row]
        self._slots[numbers[wanted]] = free

    def square(self, size: int) -> Array:
        """Return the end of the memory as a square; its rows are dropped, their slots for good."""
        start = self._memory.size - size**2  # rows that reach beyond it lose their slots
        self.rows = self.rows[: start // max(len(self._slots), 1)]
        self._slots[self._slots >= len(self.rows)] = -1
        return self._memory[start:].reshape(size, size)


class CachedRows:
    """The rows of the Gram matrix k(X, X) on demand, in bounded memory.

    Parameters
    ----------
    kernel : Kernel
        Symmetric.
    X : array of shape (n_samples, n_features)
        The points, float64.
    cache_mb : float
        > 0. Memory for kept rows and for the latest square part, in units of 2^20 bytes. Blocks
        take 32 MB (64 MB in float64) more.
    dtype : float32 or float64
        The precision of the matrix, kept or not. Sums are float64.
    border : bool
        True for one more row and column, of zeros.

    Attributes
    ----------
    room : int
        Largest number of coordinates of a square part: it fills three quarters of the cache.

    Raises
    ------
    ValueError
        If values of the kernel are not finite, or it does not accept the points.
    """

    def __init__(
        self,
        kernel: Kernel,
        X: Array,
        cache_mb: float = 200.0,
        dtype: npt.DTypeLike = np.float64,
        border: bool = False,
    ) -> None:
        self.dtype, self.kernel, self._cache_mb = np.dtype(dtype), kernel, cache_mb
        self.X = np.vstack([X, X[:1]]) if border else X  # values of the last one become zero
        self._border = len(X) if border else None
        n, entries = len(self.X), int(cache_mb * 2**20) // self.dtype.itemsize
        # Free coordinates that do not fit into one square part cost far more than rows that are
        # computed again. A square part of 128 coordinates, 0.1 MB, is always possible.
        self.room: int = min(max(math.isqrt(int(0.75 * entries)), 128), n)
        entries = min(max(entries, self.room**2), n**2 + self.room**2)
        self._prepared: Between | None = kernel.prepared(self.X)
        self._diagonal: Array = self._rounded(kernel.diag(self.X)).astype(np.float64)
        self._diagonal[len(X) :] = 0.0
        self._diagonal.flags.writeable = False
        self._memory = RowMemory(n, entries, self.dtype)

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.X)

    def bordered(self) -> CachedRows:
        """Return the rows of the matrix with one more row and column, of zeros."""
        return CachedRows(self.kernel, self.X, self._cache_mb, self.dtype, border=True)

    def diagonal(self) -> Array:
        """Return the diagonal, shape (n,), float64."""
        return self._diagonal

    def square(self, indices: Indices, pause: Pause | None = None) -> Array:
        """Return the rows and columns `indices`, shape (m, m).

        The next call overwrites it, a view of the cache. Entries in no kept row are computed, half
        of them by symmetry; `pause` is called between blocks.
        """
        if indices.size > self.room:
            raise ValueError(f"expected at most {self.room} indices, got {indices.size}")
        square = self._memory.square(indices.size)
        kept, slots, missing = self._memory.find(indices)
        # kept rows fill their rows and columns; what is left is square, and symmetric
        place(square, kept, np.arange(indices.size), self._memory.rows, slots, indices)
        for low, some in _in_blocks(missing, missing.size, pause):
            rest = missing[low:]
            values = self._values(indices[some], indices[rest])
            place(square, some, rest, values, np.arange(some.size), np.arange(rest.size))
        return square

    def part(self, rows: Indices, columns: Indices) -> Array:
        """Return some rows and columns, shape (len(rows), len(columns)); they are not kept."""
        chosen = np.empty((rows.size, columns.size), self.dtype)
        kept, slots, missing = self._memory.find(rows)
        chosen[kept] = part(self._memory.rows, slots, columns)
        for _, some in _in_blocks(missing, columns.size):
            chosen[some] = self._values(rows[some], columns)
        return chosen

    def matvec(self, weights: Array, pause: Pause | None = None) -> Array:
        """Return K w, shape (n,); rows of zero weight are not read.

        `pause` is called between blocks of rows that have to be computed.
        """
        used, total = np.flatnonzero(weights), np.zeros(len(self))
        for members, matrix, numbers in self._groups(used, pause):
            add_rows(total, matrix, numbers, weights[used[members]])
        return total

    def both_matvecs(
        self, weights: Array, squares: Array, pause: Pause | None = None
    ) -> tuple[Array, Array]:
        """Return K w and (K o K) q, where q is zero wherever w is; each row is computed once."""
        used = np.flatnonzero(weights)
        total, squared = np.zeros(len(self)), np.zeros(len(self))
        for members, matrix, numbers in self._groups(used, pause):
            some = used[members]
            add_both(total, squared, matrix, numbers, weights[some], squares[some])
        return total, squared

    def _groups(
        self, used: Indices, pause: Pause | None = None
    ) -> Iterator[tuple[Indices, Array, Indices]]:
        """Yield the rows `used` in groups: positions in `used`, a matrix, and positions there.

        The first group are the kept rows, the others blocks of computed ones. All blocks are in one
        piece of memory: each overwrites the block before.
        """
        kept, slots, missing = self._memory.find(used)
        yield kept, self._memory.rows, slots
        self._memory.make_room(used)
        block: Array | None = None
        for _, some in _in_blocks(missing, len(self), pause):
            if block is None:  # the first block is the largest
                block = np.empty((some.size, len(self)), self.dtype)
            rows = self._values(used[some], out=block[: some.size])
            self._memory.keep(used[some], rows)
            yield some, rows, np.arange(some.size)

    def _values(
        self, rows: Indices, columns: Indices | None = None, out: Array | None = None
    ) -> Array:
        """Return k between some points and others, or all, in the precision of the matrix.

        Tiles of columns keep the kernel values in the processor's cache.
        """
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
            values[:, some] = self._rounded(tile)
        if self._border is not None:
            values[rows == self._border] = 0.0
            values[:, (np.arange(n) if columns is None else columns) == self._border] = 0.0
        return values

    def _rounded(self, values: Array) -> Array:
        """Return kernel values in the precision of the matrix; raise if not finite."""
        # one sum shows whether any value is infinite or NaN, in the precision of the matrix
        with np.errstate(over="ignore", invalid="ignore"):
            rounded = values.astype(self.dtype, copy=False)
            finite = np.isfinite(rounded.sum(dtype=np.float64))
        if not finite:
            raise ValueError(
                f"expected finite kernel values in {self.dtype}, got inf or NaN from "
                f"{one_line(self.kernel)}; scale the features"
            )
        return rounded


def _in_blocks(
    indices: Indices, width: int, pause: Pause | None = None
) -> Iterator[tuple[int, Indices]]:
    """Yield parts of `indices` whose rows of `width` values form a block, each with its start.

    `pause` is called before each.
    """
    step = max(1, BLOCK_ENTRIES // max(1, width))
    for low in range(0, indices.size, step):
        if pause is not None:
            pause()
        yield low, indices[low : low + step]
