"""The rows of a Gram matrix that is kept whole."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from pliant.core.typing import Array, Indices
from pliant.methods.svm.rows.base import Pause, used_rows
from pliant.methods.svm.rows.sums import add_both, add_rows, part

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

    room: None = None

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
        add_rows(total, self.gram, *used_rows(weights, len(self)))
        return total

    def both_matvecs(
        self, weights: Array, squares: Array, pause: Pause | None = None
    ) -> tuple[Array, Array]:
        """Return K w and (K o K) q, where q is zero wherever w is; `pause` is not called."""
        total, squared = np.zeros(len(self)), np.zeros(len(self))
        used, some = used_rows(weights, len(self))
        add_both(total, squared, self.gram, used, some, squares[used])
        return total, squared
