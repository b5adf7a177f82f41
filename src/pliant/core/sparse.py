"""Sparse points: rows of a CSR array, with their inner products and distances as dense arrays.

Nothing of the size of the points is made dense. Products of two sets are sums over columns: row x
meets the points that have an entry in a column of x, so one of the two sets is transposed, a chunk
of its rows at a time.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from pliant.core.blocks import row_blocks
from pliant.core.distances import cdist
from pliant.core.loops import compiled
from pliant.core.typing import Array, Indices

BLOCK_ENTRIES = 100_000
"""Maximum number of products in a block, and of entries in a block of differences or of transposed
rows."""

COMMON = 0.2
"""Share of points above which the entries of a column are stored densely."""

CLOSE = 0.01
"""Ratio of |x - y|^2 to |x|^2 + |y|^2 below which the difference is computed first."""


def is_sparse(points: object) -> bool:
    """Return True for points in a sparse format."""
    scipy_sparse = sys.modules.get("scipy.sparse")  # not loaded: nothing has such a format
    return scipy_sparse is not None and bool(scipy_sparse.issparse(points))


def as_csr(points: Any, name: str = "X") -> Any:
    """Return points as a CSR array of float64 with sorted columns, each once, and no stored zeros.

    The given matrix is not changed; the result shares its memory if it already has this form.
    """
    import scipy.sparse

    if points.dtype.kind not in "biuf":
        raise ValueError(f"expected {name} to hold numbers: got a sparse array of {points.dtype}")
    rows = scipy.sparse.csr_array(points)
    if is_sparse(points):
        rows.check_format()  # loops over the entries trust the column numbers
    if rows.dtype != np.float64:
        rows = rows.astype(np.float64)
    if not (rows.has_canonical_format and rows.data.all()):
        rows = rows.copy()
        rows.sum_duplicates()
        rows.eliminate_zeros()
    if rows.indices.dtype == np.int64 and max(rows.nnz, *rows.shape) < 2**31:
        places = rows.indices.astype(np.int32), rows.indptr.astype(np.int32)
        rows = scipy.sparse.csr_array((rows.data, *places), shape=rows.shape)
    return rows


def in_form_of(X: Any, points: Any) -> Any:
    """Return X itself, or as a CSR array if `points` are sparse and X is dense."""
    return as_csr(X) if is_sparse(points) and not is_sparse(X) else X


def equal_points(X: Any, Y: Any) -> bool:
    """Return True if two arrays, or two CSR arrays from `as_csr`, have the same entries."""
    if not (is_sparse(X) and is_sparse(Y)):
        return is_sparse(X) is is_sparse(Y) and np.array_equal(X, Y)
    parts = zip((X.indptr, X.indices, X.data), (Y.indptr, Y.indices, Y.data), strict=True)
    return X.shape == Y.shape and all(np.array_equal(left, right) for left, right in parts)


def row_keys(X: Any) -> list[bytes]:
    """Return the bytes of each row, equal for equal rows of an array or of `as_csr`."""
    if not is_sparse(X):
        return [row.tobytes() for row in X + 0.0]  # -0.0 becomes 0.0
    ends = zip(X.indptr[:-1].tolist(), X.indptr[1:].tolist(), strict=True)
    return [X.indices[a:b].tobytes() + X.data[a:b].tobytes() for a, b in ends]


def stack_rows(parts: Sequence[Any]) -> Any:
    """Concatenate the rows of arrays, or of CSR arrays."""
    if is_sparse(parts[0]):
        import scipy.sparse

        return scipy.sparse.vstack(parts, format="csr")
    return np.concatenate(parts)


def scale_columns(X: Any, factors: Array) -> Any:
    """Multiply each column of an array, or of a CSR array, by a number."""
    if not is_sparse(X):
        return X * factors
    import scipy.sparse

    return scipy.sparse.csr_array((X.data * factors[X.indices], X.indices, X.indptr), X.shape)


def row_squares(X: Any) -> Array:
    """Compute |x|^2 of each row, shape (n,), of an array or a CSR array."""
    if is_sparse(X):
        return _row_squares(X.indptr, X.data)
    return np.asarray(np.einsum("ij,ij->i", X, X))


def column_ends(X: Any) -> tuple[Array, Array]:
    """Return the smallest and largest entry of each column, each of shape (d,)."""
    if not is_sparse(X):
        return X.min(axis=0), X.max(axis=0)
    from sklearn.utils.sparsefuncs import min_max_axis

    lowest, highest = min_max_axis(X.tocsc(), axis=0)
    return lowest, highest


def variance(X: Any) -> float:
    """Return the variance of all entries of an array, or of a CSR array with its zeros."""
    if not is_sparse(X):
        return float(X.var(dtype=np.float64))
    size = X.shape[0] * X.shape[1]
    mean = float(X.data.sum()) / size
    return (_spread_about(X.data, mean) + (size - X.nnz) * mean**2) / size


def column_spreads(X: Any) -> Array:
    """Return the standard deviation of each column, shape (d,)."""
    if is_sparse(X):
        from sklearn.utils.sparsefuncs import mean_variance_axis

        return np.asarray(np.sqrt(mean_variance_axis(X, axis=0)[1]))
    return np.asarray(X.std(axis=0))


def inner_products(X: Any, Y: Any) -> Array:
    """Compute the inner products of the rows of X and Y, a dense array of shape (n, m)."""
    products = np.zeros((X.shape[0], Y.shape[0]))
    if X is Y:
        for rows in _chunks(X):  # the columns from the diagonal block down, and their mirror image
            Y = X[rows].tocsc()
            _add_products(
                products[rows.start :, rows],
                X.indptr[rows.start :], X.indices, X.data, Y.indptr, Y.indices, Y.data,
            )  # fmt: skip
            products[rows, rows.stop :] = products[rows.stop :, rows].T
    elif X.nnz < Y.nnz:  # transpose the smaller set
        for rows in _chunks(X):
            add_products(products.T[:, rows], Y, X[rows].tocsc())
    else:
        for rows in _chunks(Y):
            add_products(products[:, rows], X, Y[rows].tocsc())
    return products


def _chunks(X: Any) -> Any:
    """Yield blocks of rows with about `BLOCK_ENTRIES` stored entries, at least 16 rows each."""
    mean = X.nnz // max(1, X.shape[0])
    return row_blocks(X.shape[0], mean, max(BLOCK_ENTRIES, 16 * mean))


def add_products(products: npt.NDArray[Any], X: Any, Y: Any) -> None:
    """Add the inner products of the rows of X, a CSR array, and Y, a CSC array, in place."""
    _check_widths(X, Y)
    _add_products(products, X.indptr, X.indices, X.data, Y.indptr, Y.indices, Y.data)


def _check_widths(X: Any, Y: Any) -> None:
    """Raise ValueError for other widths, as compiled loops would read beyond the columns."""
    if X.shape[1] != Y.shape[1]:
        raise ValueError(f"expected points with {Y.shape[1]} features, got {X.shape[1]}")


class SparseProducts:
    """Inner products of many rows with the points in a CSR array Y, which is transposed once.

    Columns with entries in more than a share `COMMON` of Y are also stored as the rows of a dense
    array: a matrix product takes a fraction of the time of a loop over their entries.
    """

    def __init__(self, Y: Any, dtype: npt.DTypeLike = np.float64) -> None:
        import scipy.sparse

        columns, lengths = Y.tocsc(), np.bincount(Y.indices, minlength=Y.shape[1])
        common = lengths > COMMON * Y.shape[0]
        self._place = np.where(common, np.cumsum(common) - 1, -1)  # of common columns
        self._common = np.ascontiguousarray(columns[:, common].toarray().T, dtype)
        rare = np.repeat(~common, lengths)
        starts = np.append(0, np.cumsum(np.where(common, 0, lengths)))
        entries = columns.data[rare], columns.indices[rare], starts.astype(columns.indptr.dtype)
        self._rare = scipy.sparse.csc_array(entries, shape=Y.shape)

    def __call__(self, X: Any, out: Array) -> Array:
        """Write the inner products of the rows of X, a CSR array, to `out`, shape (n, m)."""
        _check_widths(X, self._rare)
        common = np.zeros((X.shape[0], len(self._common)), self._common.dtype)
        _gather(common, X.indptr, X.indices, X.data, self._place)
        np.matmul(common, self._common, out=out)
        add_products(out, X, self._rare)
        return out


def squared_distances(X: Any, Y: Any) -> Array:
    """Compute |x - y|^2 between the rows of X and Y, shape (n, m), as accurate as for dense rows.

    |x - y|^2 = |x|^2 + |y|^2 - 2 x'y loses digits where x and y are close; there the difference is
    computed first.
    """
    left, right = row_squares(X), row_squares(Y)
    distances = inner_products(X, Y)
    for rows in row_blocks(len(distances), distances.shape[1], BLOCK_ENTRIES):
        block = distances[rows]
        total = left[rows, None] + right
        block *= -2.0
        block += total
        total *= CLOSE
        if X is Y:
            np.fill_diagonal(block[:, rows], np.inf)  # 0 in the end, without a difference
        i, j = np.nonzero(block < total)
        block[i, j] = _squares_of_differences(X, Y, i + rows.start, j)
    if X is Y:
        np.fill_diagonal(distances, 0.0)
    return distances


def euclidean_distances(X: Any, Y: Any) -> Array:
    """Compute |x - y| between the rows of two arrays, or of two CSR arrays, shape (n, m)."""
    return np.sqrt(squared_distances(X, Y)) if is_sparse(X) else cdist(X, Y)


def absolute_distances(X: Any, Y: Any) -> Array:
    """Compute |x - y|_1 between the rows of X and Y, shape (n, m)."""
    from sklearn.metrics.pairwise import manhattan_distances

    distances = np.empty((X.shape[0], Y.shape[0]))
    for rows in row_blocks(len(distances), distances.shape[1], 10 * BLOCK_ENTRIES):
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


@compiled
def _row_squares(starts: Indices, values: Array) -> Array:
    """Sum the squares of the entries of each row."""
    squares = np.zeros(starts.size - 1)
    for i in range(squares.size):
        for k in range(starts[i], starts[i + 1]):
            squares[i] += values[k] * values[k]
    return squares


@compiled
def _gather(
    found: Array, starts: Indices, places: Indices, values: Array, position: Indices
) -> None:
    """Copy the entries of rows in columns with a position >= 0."""
    for i in range(found.shape[0]):
        for a in range(starts[i], starts[i + 1]):
            k = position[places[a]]
            if k >= 0:
                found[i, k] = values[a]


@compiled
def _spread_about(values: Array, mean: float) -> float:
    """Sum the squared differences of values from a number."""
    total = 0.0
    for k in range(values.size):
        total += (values[k] - mean) ** 2
    return total


@compiled
def _add_products(
    products: Array,
    starts: Indices,
    places: Indices,
    values: Array,
    column_starts: Indices,
    column_rows: Indices,
    column_values: Array,
) -> None:
    """Add sum_j x_j y_j for rows x, stored by rows, and y, stored by columns."""
    for i in range(products.shape[0]):
        for a in range(starts[i], starts[i + 1]):
            j, x = places[a], values[a]
            for b in range(column_starts[j], column_starts[j + 1]):
                products[i, column_rows[b]] += x * column_values[b]
