"""The training rows as a fit sees them: in memory, or as partitions of a Dask array."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from pliant.core.kernels.base import Kernel
from pliant.core.kernels.standard import as_kernel
from pliant.core.typing import Array, Indices
from pliant.methods.sketched.kernel_rows import KernelRows
from pliant.methods.sketched.rows import MemoryRows, Rows


class Samples(Protocol):
    """Training rows, without targets."""

    n_features: int

    def take(self, rows: Indices) -> Array:
        """Return some rows, by their numbers in increasing order, float64."""

    def kernel(self, kernel: Any, gamma: Any, names: Any) -> Kernel:
        """Return the kernel that a parameter stands for on these rows."""

    def rows(
        self,
        targets: Array,
        weights: Array,
        kernel_rows: KernelRows,
        block_mb: float,
        cache_mb: float,
    ) -> Rows:
        """Return the rows with targets, weights and the way to compute kernel values."""

    def __len__(self) -> int:
        """Return the number of rows."""


class MemorySamples:
    """Rows in memory, or in a memory map; float32 rows are not copied."""

    def __init__(self, X: Array) -> None:
        self._X = X
        self.n_features = X.shape[1]

    def __len__(self) -> int:
        return len(self._X)

    def take(self, rows: Indices) -> Array:
        """Return some rows, float64."""
        return np.array(self._X[rows], dtype=np.float64)

    def kernel(self, kernel: Any, gamma: Any, names: Any) -> Kernel:
        """Return the kernel that a parameter stands for on these rows."""
        return as_kernel(kernel, self._X, gamma, names)

    def rows(
        self,
        targets: Array,
        weights: Array,
        kernel_rows: KernelRows,
        block_mb: float,
        cache_mb: float,
    ) -> MemoryRows:
        """Return the rows with targets, weights and the way to compute kernel values."""
        return MemoryRows(self._X, targets, weights, kernel_rows, block_mb, cache_mb)
