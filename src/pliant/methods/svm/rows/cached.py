"""The rows of a Gram matrix, computed when they are asked for and kept while they are used."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from pliant.core.kernels.base import Kernel
from pliant.core.text import one_line
from pliant.core.typing import Array, Between, Columns, Indices
from pliant.core.validation import check_points, check_real
from pliant.methods.svm.rows.dense import Pause, add_both, add_rows, part, place, used_rows
from pliant.methods.svm.rows.memory import RowMemory

BLOCK_ENTRIES = 8_000_000
"""Entries of rows that are summed before the next are computed: 32 MB in float32."""

TILE_ENTRIES = 200_000
"""Kernel values asked for at once: they are rounded and checked before they leave the cache."""

SQUARE_SHARE = 0.75
"""The share of the cache that a square part may take. Free coordinates that do not fit into one
cost far more than rows that have to be computed again."""

SMALLEST_ROOM = 128
"""A square part of this many coordinates is allowed however small the cache is: 0.1 MB."""

SAMPLE = 32
"""Points on which the kernel's symmetry is checked."""


class CachedRows:
    """The rows of the Gram matrix k(X, X) on demand, in bounded memory.

    Parameters
    ----------
    kernel : Kernel
        Symmetric.
    X : array-like of shape (n_samples, n_features)
        The points.
    cache_mb : float
        > 0. Memory for kept rows and for the latest square part, in units of 2^20 bytes. Blocks of
        32 MB (64 MB in float64) are used besides.
    dtype : float32 or float64
        The precision of the matrix, kept or not. Sums are float64.

    Attributes
    ----------
    room : int
        The most coordinates whose square part may be asked for: it fills three quarters of the
        cache.

    Raises
    ------
    TypeError, ValueError
        If the kernel is not symmetric, by its attribute or on a sample of the points, or has values
        that are not finite; for points that the kernel does not accept; for cache_mb <= 0; for
        other dtypes.
    """

    def __init__(
        self,
        kernel: Kernel,
        X: npt.ArrayLike,
        cache_mb: float = 200.0,
        dtype: npt.DTypeLike = np.float64,
    ) -> None:
        size = check_real("cache_mb", cache_mb, above=0) * 2**20
        self.dtype = _precision(dtype)
        self.X = check_points(X, "X")
        self.kernel = kernel
        n, entries = len(self.X), int(size) // self.dtype.itemsize
        self.room: int = min(max(math.isqrt(int(SQUARE_SHARE * entries)), SMALLEST_ROOM), n)
        entries = min(max(entries, self.room**2), n**2 + self.room**2)
        self._prepared: Between | None = kernel.prepared(self.X)
        self._check_symmetry()
        self._diagonal: Array = self._rounded(kernel.diag(self.X)).astype(np.float64)
        self._diagonal.flags.writeable = False
        self._memory = RowMemory(n, entries, self.dtype)

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.X)

    def diagonal(self) -> Array:
        """Return the diagonal, shape (n,), float64."""
        return self._diagonal

    def block(self, indices: Indices) -> Array:
        """Return the rows `indices`, shape (len(indices), n)."""
        used, positions = np.unique(indices, return_inverse=True)
        rows = np.empty((used.size, len(self)), self.dtype)
        for members, matrix, numbers in self._groups(used):
            rows[members] = matrix[numbers]
        return rows[positions]

    def square(self, indices: Indices, pause: Pause | None = None) -> Array:
        """Return the rows and columns `indices`, shape (m, m).

        It is a view of the cache: the next call overwrites it. Entries that are in no kept row are
        computed, half of them by symmetry; `pause` is called between blocks.
        """
        if indices.size > self.room:
            raise ValueError(f"expected at most {self.room} indices, got {indices.size}")
        square = self._memory.square(indices.size)
        kept, slots, missing = self._memory.find(indices)
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
        used, weights = used_rows(weights, len(self))
        total = np.zeros(len(self))
        for members, matrix, numbers in self._groups(used, pause):
            add_rows(total, matrix, numbers, weights[members])
        return total

    def both_matvecs(
        self, weights: Array, squares: Array, pause: Pause | None = None
    ) -> tuple[Array, Array]:
        """Return K w and (K o K) q, where q is zero wherever w is; each row is computed once."""
        used, weights = used_rows(weights, len(self))
        squares = squares[used]
        total, squared = np.zeros(len(self)), np.zeros(len(self))
        for members, matrix, numbers in self._groups(used, pause):
            add_both(total, squared, matrix, numbers, weights[members], squares[members])
        return total, squared

    def _groups(
        self, used: Indices, pause: Pause | None = None
    ) -> Iterator[tuple[Indices, Array, Indices]]:
        """Yield the rows `used` in groups: which of `used`, a matrix, and where in it they are.

        First come the rows that are kept, then blocks of those that have to be computed. All blocks
        are in one piece of memory: each overwrites the one before.
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
        """Return k between some points and others, or all, in the precision of the matrix."""
        n = len(self) if columns is None else columns.size
        values = np.empty((rows.size, n), self.dtype) if out is None else out
        width = max(1, TILE_ENTRIES // max(1, rows.size))
        for low in range(0, n, width):
            some = slice(low, low + width)
            others = some if columns is None else columns[some]
            values[:, some] = self._rounded(self._between(rows, others))
        return values

    def _between(self, rows: Indices, columns: Columns) -> Array:
        """Return k between some points and others."""
        if self._prepared is None:
            return self.kernel(self.X[rows], self.X[columns])
        return self._prepared(rows, columns)

    def _rounded(self, values: Array) -> Array:
        """Return kernel values in the precision of the matrix; raise if not finite."""
        with np.errstate(over="ignore", invalid="ignore"):
            rounded = values.astype(self.dtype, copy=False)
            finite = np.isfinite(rounded.sum(dtype=np.float64))
        if not finite:
            raise ValueError(
                f"expected finite kernel values in {self.dtype}, got inf or NaN from "
                f"{one_line(self.kernel)}; scale the features"
            )
        return rounded

    def _check_symmetry(self) -> None:
        """Raise ValueError for a kernel that is not symmetric, by attribute or on some points."""
        if not self.kernel.symmetric:
            raise ValueError(f"expected a symmetric kernel, got {one_line(self.kernel)}")
        some = np.unique(np.linspace(0, len(self) - 1, min(len(self), SAMPLE)).astype(np.intp))
        gram = self._values(some, some)
        skew = np.abs(gram - gram.T)
        limit = max(1e-8, 4 * float(np.finfo(self.dtype).eps)) * np.abs(gram).max(initial=0.0)
        if skew.max(initial=0.0) > limit:
            i, j = np.unravel_index(int(np.argmax(skew)), skew.shape)
            raise ValueError(
                f"expected a symmetric kernel, got {gram[i, j]:.6g} for rows {some[i]} and "
                f"{some[j]} but {gram[j, i]:.6g} for rows {some[j]} and {some[i]}"
            )


def _in_blocks(
    indices: Indices, width: int, pause: Pause | None = None
) -> Iterator[tuple[int, Indices]]:
    """Yield parts of `indices` whose rows of `width` values make a block, each with its start.

    `pause` is called before each.
    """
    step = max(1, BLOCK_ENTRIES // max(1, width))
    for low in range(0, indices.size, step):
        if pause is not None:
            pause()
        yield low, indices[low : low + step]


def _precision(dtype: npt.DTypeLike) -> np.dtype[Any]:
    """Return the dtype if it is float32 or float64."""
    precision = np.dtype(dtype)
    if precision not in (np.float32, np.float64):
        raise ValueError(f"expected dtype float32 or float64, got {precision}")
    return precision
