"""Sums of products with kernel values over all training rows, computed in blocks.

`MemoryRows` reads the rows from memory or a memory map. `PartitionRows` recomputes the partitions
of a Dask array in each pass, and sums over them by tree reduction.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import wraps
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.linalg.blas import dsyrk, dtrsm

from pliant.core.dask import DaskBlock, DaskRows, compute, reduce_tree, without_empty_chunks
from pliant.core.estimators import BaseEstimator, is_classifier
from pliant.core.exponential import exponentials
from pliant.core.sparse import SparseProducts, as_csr, is_sparse, row_squares, scale_columns
from pliant.core.threads import blas_limited
from pliant.core.typing import Array, Indices
from pliant.core.validation import check_points, check_weights
from pliant.kernels.base import Kernel
from pliant.kernels.standard import Exponents, Gaussian

BLOCK_MB = 1.0
"""Memory for one block of kernel values, in MiB; it should fit in L2 cache, since a pass reads each
block three times. With 1000 centres on an Intel Xeon, products with blocks of 8 MiB take 1.8 times
as long."""

Sums: TypeAlias = tuple[Array, ...]


class KernelValues:
    """Kernel values between rows and centres, in float32 or float64.

    A Gaussian needs one matrix product, -gamma |x - y|^2 = (2 gamma x, -a, 1)'(y, 1, -b) with
    a = gamma |x|^2, b = gamma |y|^2 and the origin at the mean of the centres. Other kernels, and a
    Gaussian at points too far from the origin, are evaluated directly, in float64. Sparse centres
    have the origin 0, and are transposed once.
    """

    kernel: Kernel
    centres: Array
    dtype: np.dtype[Any]

    def __init__(self, kernel: Kernel, centres: Array, dtype: npt.DTypeLike = np.float64) -> None:
        self.kernel, self.centres, self.dtype = kernel, centres, np.dtype(dtype)
        # Exponents up to this limit have errors below about 1e-5 in float32 and 1e-10 in float64.
        self._farthest = 100.0 if self.dtype == np.float32 else 4.5e5
        self._fast = type(kernel) is Gaussian
        if isinstance(kernel, Gaussian) and self._fast:
            self._gamma, shares = kernel._shares(centres.shape[1])
            self._factors = None if shares is None else np.sqrt(shares)
            scaled = self._scaled(centres)
            if is_sparse(centres):
                self._products = SparseProducts(scaled, self.dtype)
                self._sizes = self._gamma * row_squares(scaled)
                self._reach = float(self._sizes.max(initial=0.0))
                return
            self._origin = scaled.mean(axis=0)
            exponents = Exponents(scaled, self._origin, self._gamma)
            self._reach = exponents.reach
            self._right = np.ascontiguousarray(exponents.right.T, self.dtype)

    def __call__(self, rows: Array, out: Array | None = None) -> Array:
        """Return k(rows, centres), shape (b, m); `out` may be overwritten."""
        if is_sparse(rows) or is_sparse(self.centres):
            return self._of_sparse(as_csr(rows), out)
        rows = np.asarray(rows, dtype=np.float64)
        if self._fast:
            exponents = Exponents(self._scaled(rows), self._origin, self._gamma)
            if max(self._reach, exponents.reach) <= self._farthest:
                left = exponents.left(slice(None)).astype(self.dtype, copy=False)
                return np.asarray(exponentials(np.matmul(left, self._right, out=out)))
        return np.ascontiguousarray(self.kernel._between_sets(rows, self.centres), self.dtype)

    def _scaled(self, points: Array) -> Array:
        """Return points scaled for a Gaussian with a common gamma."""
        return points if self._factors is None else scale_columns(points, self._factors)

    def _of_sparse(self, rows: Any, out: Array | None) -> Array:
        """Return the kernel values of rows in a CSR array."""
        if self._fast and is_sparse(self.centres):
            scaled = self._scaled(rows)
            sizes = self._gamma * row_squares(scaled)
            if max(self._reach, float(sizes.max(initial=0.0))) <= self._farthest:
                # 2 gamma x'y - a - b
                values = (
                    np.empty((len(sizes), len(self._sizes)), self.dtype) if out is None else out
                )
                self._products(scaled, values)
                values *= 2.0 * self._gamma
                values -= sizes.astype(self.dtype)[:, None]
                values -= self._sizes.astype(self.dtype)
                return exponentials(values)
        return np.ascontiguousarray(self.kernel._between_sets(rows, self.centres), self.dtype)


class KernelBlock(NamedTuple):
    """Kernel values of b rows, shape (b, m), with targets and weights."""

    values: Array
    targets: Array
    weights: Array

    def times(self, coefficients: Array, offsets: Array) -> Array:
        """Return K a - c, shape (b, t), float64."""
        product = self.values @ np.ascontiguousarray(coefficients, self.values.dtype)
        return np.asarray(product - offsets)

    def transposed_times(self, columns: Array) -> Array:
        """Return K' columns, shape (m, t), float64."""
        product = self.values.T @ np.ascontiguousarray(columns, self.values.dtype)
        return np.asarray(product, dtype=np.float64)


Total: TypeAlias = Callable[..., Sums]
"""Function that returns sums, given an iterator over one or more blocks, and other arguments."""


def sum_over_blocks(summand: Callable[..., Sums]) -> Total:
    """Extend a function of one block to a sum over blocks."""

    @wraps(summand)
    def total(blocks: Iterator[KernelBlock], *arguments: Any) -> Sums:
        totals = summand(next(blocks), *arguments)
        for block in blocks:
            for each, more in zip(totals, summand(block, *arguments), strict=True):
                each += more
        return totals

    return total


@sum_over_blocks
def column_sums(block: KernelBlock) -> Sums:
    """Return K' s and K' S y of a block, for the weights s and S = diag(s)."""
    columns = np.column_stack([block.weights, block.weights[:, None] * block.targets])
    return (block.transposed_times(columns),)


@sum_over_blocks
def product(block: KernelBlock, coefficients: Array, offsets: Array) -> Sums:
    """Return K'S r and 1'S r of a block, for r = K a - c with coefficients a and offsets c."""
    weighted = block.times(coefficients, offsets)
    weighted *= block.weights[:, None]
    return block.transposed_times(weighted), weighted.sum(axis=0)


@sum_over_blocks
def residual(block: KernelBlock, coefficients: Array, offsets: Array) -> Sums:
    """Return K'S e, 1'S e and the sums of s e^2 of a block, for e = y - (K a - c)."""
    errors = block.targets - block.times(coefficients, offsets)
    weighted = block.weights[:, None] * errors
    squares = np.einsum("ij,ij->j", weighted, errors)
    return block.transposed_times(weighted), weighted.sum(axis=0), squares


def normal_matrix(blocks: Iterator[KernelBlock], factor: Array, means: Array, scale: float) -> Sums:
    """Return Z'S Z for Z = (K - 1 means') U^{-1} / scale, with U the upper triangle of `factor`.

    Only the upper triangle is computed; the lower one is zero.
    """
    total = np.zeros(factor.shape, order="F")
    for block in blocks:
        values = np.asarray(block.values, dtype=np.float64) - means
        values *= np.sqrt(block.weights)[:, None] / scale
        features = dtrsm(1.0, factor, values.T, trans_a=1, overwrite_b=1)  # U^{-T} (...)', (r, b)
        total = dsyrk(1.0, features, beta=1.0, c=total, overwrite_c=1)
    return (total,)


class MemoryRows:
    """Rows X, shape (n, d), with targets, shape (n, t), and weights, shape (n,).

    The kernel values of the first rows are kept, up to `cache_mb` MiB.
    """

    targets: Array
    weights: Array
    values: KernelValues

    def __init__(
        self, X: Any, targets: Array, weights: Array, values: KernelValues, cache_mb: float = 0.0
    ) -> None:
        self.X, self.targets, self.weights, self.values = X, targets, weights, values
        n, width = len(weights), values.centres.shape[0]
        row_mb = values.dtype.itemsize * width / 2**20
        step_mb = max(row_mb, 12.0 * X.nnz / (2**20 * n)) if is_sparse(X) else row_mb
        self._step = min(n, max(1, int(BLOCK_MB / step_mb)))
        fits = int(cache_mb / row_mb)
        self.n_kept: int = n if fits >= n else fits // self._step * self._step
        self._kept = np.empty((self.n_kept, width), values.dtype)
        self._n_computed = 0  # number of computed rows of `_kept`

    def total(self, sums: Total, *arguments: Any) -> Sums:
        """Return `sums(blocks, *arguments)` for the blocks of all rows."""
        return sums(self._blocks(), *arguments)

    def _blocks(self) -> Iterator[KernelBlock]:
        """Yield the blocks; store the first kernel values in the first pass."""
        n_scratch = self._step if self.n_kept < len(self.weights) else 0
        scratch = np.empty((n_scratch, self._kept.shape[1]), self.values.dtype)
        for low in range(0, len(self.weights), self._step):
            rows = slice(low, min(low + self._step, len(self.weights)))
            if rows.stop > self.n_kept:
                values = self.values(self.X[rows], scratch[: rows.stop - rows.start])
            else:
                values = self._kept[rows]
                if rows.stop > self._n_computed:
                    values[:] = self.values(self.X[rows], values)
                    self._n_computed = rows.stop
            yield KernelBlock(values, self.targets[rows], self.weights[rows])


class PartitionRows:
    """Partitions of a Dask array with targets and weights; no kernel values are kept."""

    n_kept = 0

    def __init__(
        self, rows: DaskRows, targets: Array, weights: Array, values: KernelValues
    ) -> None:
        on_workers = {"lazy_y": None, "lazy_weights": None}  # those are the unscaled ones
        self._rows = replace(rows, y=targets, weights=weights, **on_workers)
        self._values = values

    def total(self, sums: Total, *arguments: Any) -> Sums:
        """Return `sums(blocks, *arguments)` for the blocks of all rows."""
        return reduce_tree(
            self._rows.map_blocks(_part_sums, self._values, sums, arguments), _add_parts
        )


KernelRows: TypeAlias = MemoryRows | PartitionRows


@blas_limited
def _part_sums(part: DaskBlock, values: KernelValues, sums: Total, arguments: Any) -> Sums:
    assert part.weights is not None
    return MemoryRows(part.X, part.y, part.weights, values).total(sums, *arguments)


def _add_parts(terms: list[Sums]) -> Sums:
    return tuple(np.sum(each, axis=0) for each in zip(*terms, strict=True))


Data: TypeAlias = Array | DaskRows
"""Training points: an array, which may be a memory map or a CSR array, or the rows of a Dask
collection."""


def take_rows(X: Data, numbers: Indices) -> Array:
    """Return the rows with the given sorted numbers, in float64."""
    if isinstance(X, DaskRows):
        return check_points(compute([X.X[numbers]])[0], "X")
    if is_sparse(X):
        return X[numbers]
    return np.array(X[numbers], dtype=np.float64)


def points_for_kernel(X: Data, kernel: Any, gamma: Any) -> Array:
    """Return points that determine the parameters of named kernels.

    Two rows represent a Dask array: the bounds of the features for "tl1", or rows with the same
    mean and variance for gamma="scale".
    """
    if not isinstance(X, DaskRows):
        return X
    points, d = X.X, int(X.X.shape[1])
    stand_in = np.zeros((2, d))
    if isinstance(kernel, str) and kernel == "tl1":
        stand_in = np.vstack(compute([points.min(axis=0), points.max(axis=0)]))
    elif isinstance(kernel, str) and isinstance(gamma, str) and gamma == "scale":
        mean, spread = compute([points.mean(dtype=np.float64), points.std(dtype=np.float64)])
        stand_in = np.tile([[mean - spread], [mean + spread]], (1, d))
    return check_points(stand_in, "X")


def dask_data(
    estimator: BaseEstimator, X: Any, y: Any, sample_weight: Any
) -> tuple[DaskRows, npt.NDArray[Any], Array]:
    """Return the rows of X, with targets and weights in memory; set the feature names."""
    rows = DaskRows.from_collection(X, y, sample_weight, labelled=is_classifier(estimator))
    rows = replace(rows, X=without_empty_chunks(rows.X))
    estimator.n_features_in_ = int(rows.X.shape[1])
    if rows.columns is not None:
        estimator.feature_names_in_ = np.array(rows.columns, dtype=object)
    return rows, rows.y, check_weights(rows.weights, np.broadcast_to(0.0, (len(rows), 1)))
