"""Training rows as partitions of a Dask array: each pass is a sum over them, by a tree.

X stays where it is, and each partition is computed again in each pass (``X.persist()`` keeps it).
Targets and weights are computed: they are a few numbers for each row.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pliant.core.kernels.base import Kernel
from pliant.core.kernels.standard import as_kernel
from pliant.core.threads import blas_limited
from pliant.core.typing import Array, Indices
from pliant.core.validation import check_points, check_weights
from pliant.methods.sketched.kernel_rows import KernelRows
from pliant.methods.sketched.rows import MemoryRows, Terms, Total

BRANCHES = 8
"""Sums that one task adds up."""


class DaskSamples:
    """The rows of a Dask array of known lengths, with all columns in each partition."""

    def __init__(self, X: Any) -> None:
        self._X = X
        self.n_features = int(X.shape[1])

    def __len__(self) -> int:
        return int(self._X.shape[0])

    def take(self, rows: Indices) -> Array:
        """Return some rows, float64."""
        return check_points(self._X[rows].compute(), "X")

    def kernel(self, kernel: Any, gamma: Any, names: Any) -> Kernel:
        """Return the kernel that a parameter stands for on these rows.

        The rules for kernels by name see two rows: the bounds of the features for "tl1", else two
        with the mean and the variance of all entries.
        """
        from dask.base import compute

        X, d = self._X, self.n_features
        computed: Any = compute  # it carries no types
        stand_in = np.zeros((2, d))
        if kernel == "tl1":
            stand_in = np.vstack(computed(X.min(axis=0), X.max(axis=0)))
        elif isinstance(kernel, str) and isinstance(gamma, str) and gamma == "scale":
            mean, spread = computed(X.mean(dtype=np.float64), X.std(dtype=np.float64))
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
        return DaskRows(self._X, targets, weights, kernel_rows, block_mb)


class DaskRows:
    """The partitions of X with their targets and weights; kernel values are never kept."""

    def __init__(
        self, X: Any, targets: Array, weights: Array, kernel_rows: KernelRows, block_mb: float
    ) -> None:
        self._block_mb = block_mb
        self._kernel_rows = kernel_rows
        ends = np.cumsum([0, *X.chunks[0]])
        self._parts = [
            (part, targets[low:high], weights[low:high])
            for part, low, high in zip(X.to_delayed()[:, 0], ends[:-1], ends[1:], strict=True)
        ]

    def total(self, sums: Total, *arguments: Any) -> Terms:
        """Return `sums(blocks, *arguments)` for the blocks of all rows."""
        from dask.delayed import delayed

        summed, added = delayed(_part_sums, pure=False), delayed(_added, pure=False)
        shared = delayed((self._kernel_rows, self._block_mb, arguments), traverse=False)
        terms = [summed(*part, sums, shared) for part in self._parts]
        while len(terms) > 1:
            terms = [added(terms[low : low + BRANCHES]) for low in range(0, len(terms), BRANCHES)]
        totals: Terms = terms[0].compute()
        return totals


@blas_limited
def _part_sums(part: Any, targets: Array, weights: Array, sums: Total, shared: Any) -> Terms:
    """Return the sums over one partition, in blocks."""
    kernel_rows, block_mb, arguments = shared
    points = check_points(np.asarray(part), "a partition of X")
    return MemoryRows(points, targets, weights, kernel_rows, block_mb).total(sums, *arguments)


def _added(terms: list[Terms]) -> Terms:
    """Return the sums of some sums."""
    return tuple(np.sum(each, axis=0) for each in zip(*terms, strict=True))


def dask_samples(estimator: Any, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Any, Array]:
    """Return the rows of X, computed targets and checked weights; set the names of features."""
    array, names = _as_array(X, lengths=True)
    estimator.n_features_in_ = int(array.shape[1])
    if names is not None:
        estimator.feature_names_in_ = names
    n = int(array.shape[0])
    y = np.asarray(y.compute() if hasattr(y, "compute") else y)
    if y.ndim not in (1, 2) or len(y) != n:
        raise ValueError(f"expected y with the {n} rows of X, got shape {y.shape}")
    if y.dtype.kind in "fc" and not np.isfinite(y).all():
        raise ValueError(f"expected finite numbers in y, got {y[~np.isfinite(y)][0]}")
    if n < 2:
        raise ValueError(f"expected at least two rows of X, got {n}")
    if hasattr(sample_weight, "compute"):
        sample_weight = sample_weight.compute()
    return DaskSamples(array), y, check_weights(sample_weight, np.broadcast_to(0.0, (n, 1)))


def lazy_outputs(model: Any, X: Any) -> Any:
    """Return the outputs of a fitted model for a Dask array or data frame, as a Dask array."""
    array, names = _as_array(X, lengths=False)
    if array.shape[1] != model.n_features_in_:
        raise ValueError(f"expected X with {model.n_features_in_} features, got {array.shape[1]}")
    known = getattr(model, "feature_names_in_", None)
    if names is not None and known is not None and list(names) != list(known):
        raise ValueError(f"expected the columns {list(known)}, got {list(names)}")
    if model.dual_coef_.ndim == 1:
        return array.map_blocks(_outputs, model, drop_axis=1, dtype=np.float64, meta=np.empty(0))
    chunks = array.chunks[0], (model.dual_coef_.shape[1],)
    return array.map_blocks(_outputs, model, chunks=chunks, dtype=np.float64, meta=np.empty((0, 0)))


def _outputs(part: Any, model: Any) -> Array:
    """Return the outputs for one partition."""
    points = check_points(np.asarray(part), "a partition of X")
    if not len(points):
        return np.empty((0, *model.dual_coef_.shape[1:]))
    outputs: Array = model._block_outputs(points)
    return outputs


def _as_array(X: Any, *, lengths: bool) -> tuple[Any, Any]:
    """Return X as a Dask array with all columns in each partition, and the names of columns."""
    from dask.array import Array as DaskArray

    names = None
    if hasattr(X, "to_dask_array"):
        columns = list(X.columns)
        if all(isinstance(name, str) for name in columns):
            names = np.array(columns, dtype=object)
        X = X.to_dask_array(lengths=True if lengths else None)
    if not isinstance(X, DaskArray) or X.ndim != 2:
        raise ValueError(
            "expected X as a Dask array of shape (n_samples, n_features) or a Dask data frame, got "
            f"{type(X).__name__} of {getattr(X, 'ndim', 0)} dimensions"
        )
    if X.dtype.kind not in "biuf":
        raise ValueError(f"expected X to hold numbers, got a Dask array of {X.dtype}")
    if lengths and np.isnan(X.shape[0]):
        known: Any = X.compute_chunk_sizes  # it carries no types
        X = known()
    rows = X.chunks[0]
    if lengths:
        rows = tuple(size for size in rows if size) or rows  # reductions need a row in each
    return X.rechunk({0: rows, 1: -1}) if lengths else X.rechunk({1: -1}), names
