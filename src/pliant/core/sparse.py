"""Sparse points: rows of a CSR array, with their inner products and distances as dense arrays.

Nothing of the size of the points is made dense. Products of two sets are computed in blocks of
rows, each written to a dense block of kernel values.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from pliant.core.blocks import row_blocks
from pliant.core.typing import Array, Indices

BLOCK_ENTRIES = 1_000_000
"""Maximum number of products in a block, and of nonzero differences in another."""

CLOSE = 0.01
"""Ratio of |x - y|^2 to |x|^2 + |y|^2 below which the difference is computed first."""


def is_sparse(points: object) -> bool:
    """Return True for points in a sparse format."""
    scipy_sparse = sys.modules.get("scipy.sparse")  # not loaded: nothing has such a format
    return scipy_sparse is not None and bool(scipy_sparse.issparse(points))


def as_csr(points: Any, name: str = "X") -> Any:
    """Return points as a CSR array of float64 with sorted and distinct column numbers.

    The given matrix is not changed; the result shares its memory if it already has this form.
    """
    import scipy.sparse

    if points.dtype.kind not in "biuf":
        raise ValueError(f"expected {name} to hold numbers: got a sparse array of {points.dtype}")
    rows = scipy.sparse.csr_array(points)
    if rows.dtype != np.float64:
        rows = rows.astype(np.float64)
    if not rows.has_canonical_format:
        rows = rows.copy()
        rows.sum_duplicates()
    if rows.indices.dtype == np.int64 and max(rows.nnz, *rows.shape) < 2**31:
        places = rows.indices.astype(np.int32), rows.indptr.astype(np.int32)
        rows = scipy.sparse.csr_array((rows.data, *places), shape=rows.shape)
    return rows


def inner_products(X: Any, Y: Any) -> Array:
    """Compute the inner products of the rows of X and Y, a dense array of shape (n, m)."""
    columns, products = Y.T.tocsr(), np.empty((X.shape[0], Y.shape[0]))
    for rows in row_blocks(len(products), products.shape[1], BLOCK_ENTRIES):
        products[rows] = (X[rows] @ columns).toarray()
    return products


def scale_columns(X: Any, factors: Array) -> Any:
    """Multiply each column of an array, or of a CSR array, by a number."""
    return (X * factors).tocsr() if is_sparse(X) else X * factors


def row_squares(X: Any) -> Array:
    """Compute |x|^2 of each row, shape (n,), of an array or a CSR array."""
    if is_sparse(X):
        return np.asarray((X * X).sum(axis=1), dtype=np.float64)
    return np.asarray(np.einsum("ij,ij->i", X, X))


def squared_distances(X: Any, Y: Any) -> Array:
    """Compute |x - y|^2 between the rows of X and Y, shape (n, m), as accurate as for dense rows.

    |x - y|^2 = |x|^2 + |y|^2 - 2 x'y loses digits where x and y are close; there the difference is
    computed first.
    """
    sizes = row_squares(X)[:, None], row_squares(Y)[None, :]
    distances = inner_products(X, Y)
    for rows in row_blocks(len(distances), distances.shape[1], BLOCK_ENTRIES):
        block = distances[rows]
        total = sizes[0][rows] + sizes[1]
        block *= -2.0
        block += total
        i, j = np.nonzero(block < CLOSE * total)
        block[i, j] = _squares_of_differences(X, Y, i + rows.start, j)
    if X is Y:
        np.fill_diagonal(distances, 0.0)
    return distances


def absolute_distances(X: Any, Y: Any) -> Array:
    """Compute |x - y|_1 between the rows of X and Y, shape (n, m)."""
    from sklearn.metrics.pairwise import manhattan_distances

    distances = np.empty((X.shape[0], Y.shape[0]))
    for rows in row_blocks(len(distances), distances.shape[1], BLOCK_ENTRIES):
        distances[rows] = manhattan_distances(X[rows], Y)
    return distances


def _squares_of_differences(X: Any, Y: Any, i: Indices, j: Indices) -> Array:
    """Compute |x_i - y_j|^2 for pairs of rows."""
    lengths = np.diff(X.indptr)[i] + np.diff(Y.indptr)[j]
    ends, squares = np.cumsum(lengths), np.empty(len(i))
    low = 0
    while low < len(i):
        used = ends[low - 1] if low else 0
        high = max(low + 1, int(np.searchsorted(ends, used + BLOCK_ENTRIES)))
        squares[low:high] = row_squares(X[i[low:high]] - Y[j[low:high]])
        low = high
    return squares
