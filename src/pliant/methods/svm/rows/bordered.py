"""The rows of a Gram matrix with one more coordinate, all of whose entries are zero."""

from __future__ import annotations

import numpy as np

from pliant.core.typing import Array, Indices
from pliant.methods.svm.rows.dense import Pause, Rows


class BorderedRows:
    """The rows of the matrix [[K, 0], [0, 0]], with K given by its rows.

    Square parts are copied, so this is for rows that are computed on demand, of which parts are
    small; the border of a matrix that is kept whole is better made once.

    Parameters
    ----------
    rows : Rows of n rows
        K.
    """

    def __init__(self, rows: Rows) -> None:
        self._rows = rows
        self._diagonal = np.append(rows.diagonal(), 0.0)
        self._diagonal.flags.writeable = False

    @property
    def room(self) -> int | None:
        """The most coordinates whose square part may be asked for; None for no limit."""
        return self._rows.room

    def __len__(self) -> int:
        """Return n + 1."""
        return len(self._rows) + 1

    def diagonal(self) -> Array:
        """Return the diagonal, shape (n + 1,), float64."""
        return self._diagonal

    def block(self, indices: Indices) -> Array:
        """Return the rows `indices`, shape (len(indices), n + 1)."""
        inner = np.flatnonzero(indices < len(self._rows))
        values = self._rows.block(indices[inner])
        rows = np.zeros((indices.size, len(self)), values.dtype)
        rows[inner, :-1] = values
        return rows

    def square(self, indices: Indices, pause: Pause | None = None) -> Array:
        """Return the rows and columns `indices`, shape (m, m); `pause` as K's rows have it."""
        inner = np.flatnonzero(indices < len(self._rows))
        values = self._rows.square(indices[inner], pause)
        return _placed(values, inner, inner, (indices.size, indices.size))

    def part(self, rows: Indices, columns: Indices) -> Array:
        """Return some rows and columns, shape (len(rows), len(columns))."""
        left, right = (np.flatnonzero(some < len(self._rows)) for some in (rows, columns))
        values = self._rows.part(rows[left], columns[right])
        return _placed(values, left, right, (rows.size, columns.size))

    def matvec(self, weights: Array, pause: Pause | None = None) -> Array:
        """Return the product with w, shape (n + 1,)."""
        return np.append(self._rows.matvec(weights[:-1], pause), 0.0)

    def both_matvecs(
        self, weights: Array, squares: Array, pause: Pause | None = None
    ) -> tuple[Array, Array]:
        """Return both products, each row read once."""
        u, v = self._rows.both_matvecs(weights[:-1], squares[:-1], pause)
        return np.append(u, 0.0), np.append(v, 0.0)


def _placed(values: Array, rows: Indices, columns: Indices, shape: tuple[int, int]) -> Array:
    """Return a matrix of zeros with `values` in some of its rows and columns."""
    if values.shape == shape:
        return values
    matrix = np.zeros(shape, values.dtype)
    matrix[np.ix_(rows, columns)] = values
    return matrix
