"""Training rows as partitions of a Dask array: each pass is a sum over them, by a tree.

X stays where it is, and each partition is computed again in each pass (``X.persist()`` keeps it).
Targets and weights are computed: they are a few numbers for each row.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from pliant.core.dask import Rows, compute, reduced
from pliant.core.kernels.base import Kernel
from pliant.core.kernels.standard import as_kernel
from pliant.core.threads import blas_limited
from pliant.core.typing import Array, Indices
from pliant.core.validation import check_points, check_weights
from pliant.methods.sketched.kernel_rows import KernelRows
from pliant.methods.sketched.rows import MemoryRows, Terms, Total


class DaskSamples:
    """The rows of a collection."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows
        self.n_features = int(rows.X.shape[1])

    def __len__(self) -> int:
        return len(self._rows)

    def take(self, rows: Indices) -> Array:
        """Return some rows, float64."""
        return check_points(compute([self._rows.X[rows]])[0], "X")

    def kernel(self, kernel: Any, gamma: Any, names: Any) -> Kernel:
        """Return the kernel that a parameter stands for on these rows.

        The rules for kernels by name see two rows: the bounds of the features for "tl1", else two
        with the mean and the variance of all entries.
        """
        X, d = self._rows.X, self.n_features
        stand_in = np.zeros((2, d))
        if kernel == "tl1":
            stand_in = np.vstack(compute([X.min(axis=0), X.max(axis=0)]))
        elif isinstance(kernel, str) and isinstance(gamma, str) and gamma == "scale":
            mean, spread = compute([X.mean(dtype=np.float64), X.std(dtype=np.float64)])
            stand_in = np.tile([[mean - spread], [mean + spread]], (1, d))
        return as_kernel(kernel, check_points(stand_in, "X"), gamma, names)

    def rows(
        self,
        targets: Array,
        weights: Array,
        kernel_rows: KernelRows,
        block_mb: float,
        cache_mb: float,
    ) -> DaskRows:
        """Return the rows with targets, weights and the way to compute kernel values."""
        return DaskRows(self._rows, targets, weights, kernel_rows, block_mb)


class DaskRows:
    """The partitions with their targets and weights; kernel values are never kept."""

    def __init__(
        self, rows: Rows, targets: Array, weights: Array, kernel_rows: KernelRows, block_mb: float
    ) -> None:
        self._rows = replace(rows, y=targets, weights=weights)
        self._kernel_rows, self._block_mb = kernel_rows, block_mb

    def total(self, sums: Total, *arguments: Any) -> Terms:
        """Return `sums(blocks, *arguments)` for the blocks of all rows."""
        shared = self._kernel_rows, self._block_mb, sums, arguments
        return reduced(self._rows.each(_part_sums, shared), _added)


@blas_limited
def _part_sums(block: Any, shared: Any) -> Terms:
    """Return the sums over one partition, in blocks."""
    X, targets, weights = block
    kernel_rows, block_mb, sums, arguments = shared
    return MemoryRows(X, targets, weights, kernel_rows, block_mb).total(sums, *arguments)


def _added(terms: list[Terms]) -> Terms:
    """Return the sums of some sums."""
    return tuple(np.sum(each, axis=0) for each in zip(*terms, strict=True))


def dask_samples(estimator: Any, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Any, Array]:
    """Return the rows of X, computed targets and checked weights; set the names of features."""
    rows = Rows.of(X, y, sample_weight, labelled=is_classifier(estimator))
    lengths = tuple(length for length in rows.X.chunks[0] if length)  # sums need a row in each
    rows = replace(rows, X=rows.X.rechunk({0: lengths}))
    estimator.n_features_in_ = int(rows.X.shape[1])
    if rows.columns is not None:
        estimator.feature_names_in_ = np.array(rows.columns, dtype=object)
    weights = check_weights(rows.weights, np.broadcast_to(0.0, (len(rows), 1)))
    return DaskSamples(rows), rows.y, weights
