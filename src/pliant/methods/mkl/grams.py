"""The Gram matrices of many kernels on one set of points, kept or computed when they are needed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from joblib import Parallel, delayed

from pliant.core.jit import compiled
from pliant.core.linalg import negative_eigenvalue
from pliant.core.threads import blas_limited
from pliant.core.typing import Array, Indices
from pliant.core.validation import check_gram
from pliant.kernels.base import Kernel, short_name
from pliant.kernels.standard import Precomputed

MEGABYTE = 2.0**20


class Grams:
    """K_1, ..., K_M on n points.

    They are kept in float64 if they fit into the memory that is allowed, else in float32 if that
    fits. Otherwise some are kept in float32, those that have weight before others, and the rest are
    computed again where they are needed. Sums are float64.

    Parameters
    ----------
    kernels : sequence of Kernel
    points : array of shape (n, n_features)
    cache_mb : float
        The most memory for all matrices, in units of 2^20 bytes.
    n_jobs : int, optional
        Number of threads that compute them.

    Attributes
    ----------
    n : int
    whole : bool
        Whether all are kept.
    dtype : dtype
        The precision in which they are kept.
    """

    def __init__(
        self, kernels: Sequence[Kernel], points: Array, cache_mb: float, n_jobs: int | None = None
    ) -> None:
        n, count, room = len(points), len(kernels), cache_mb * MEGABYTE
        if 8.0 * n * n > room:
            raise ValueError(
                f"expected cache_mb >= {np.ceil(8.0 * n * n / MEGABYTE):g}, which one Gram matrix "
                f"of {n} samples takes, got {cache_mb:g}"
            )
        self.kernels, self.points = list(kernels), points
        self.n = n
        self.dtype: np.dtype[Any] = np.dtype(
            np.float32 if 8.0 * n * n * count > room else np.float64
        )
        self._most = min(count, int(room / (self.dtype.itemsize * n * n)))
        self.whole = self._most == count
        # Those that are not kept are computed here too: this raises now what it would raise later.
        grams = Parallel(n_jobs=n_jobs, require="sharedmem")(
            delayed(self._first)(m) for m in range(count)
        )
        self._kept = {m: gram for m, gram in enumerate(grams) if gram is not None}
        self._weighted = np.zeros(count, dtype=bool)

    @classmethod
    def of_arrays(cls, matrices: Sequence[Array]) -> Self:
        """Return the stack of given Gram matrices."""
        stack = cls.__new__(cls)
        stack._kept = {m: np.asarray(matrix) for m, matrix in enumerate(matrices)}
        stack.kernels, stack.n, stack.dtype = [], len(matrices[0]), stack._kept[0].dtype
        stack._most, stack.whole = len(matrices), True
        stack._weighted = np.zeros(len(matrices), dtype=bool)
        return stack

    def __len__(self) -> int:
        """Return M."""
        return len(self._weighted)

    def __getitem__(self, m: int) -> Array:
        """Return K_m, shape (n, n), not to be written to."""
        if m in self._kept:
            return self._kept[m]
        gram = self._computed(m)
        if self._weighted[m]:  # it takes the place of one without weight
            others = [k for k in self._kept if not self._weighted[k]]
            if others:
                del self._kept[others[0]]
                self._kept[m] = gram.astype(self.dtype, copy=False)
        return gram

    def combined(self, weights: Array) -> Array:
        """Return sum_m weights_m K_m, shape (n, n), float64."""
        total = np.zeros((self.n, self.n))
        self._weighted = weights != 0.0
        for m in np.flatnonzero(weights):
            _add_scaled(total, self[int(m)], float(weights[m]))
        return total

    def products(self, b: Array, some: Indices | None = None) -> Array:
        """Return K_m b for all kernels, or some, shape (n_kernels, n)."""
        chosen = range(len(self)) if some is None else some.tolist()
        used = np.flatnonzero(b)
        values = b[used]
        result = np.zeros((len(chosen), self.n))
        for place, m in enumerate(chosen):
            if m not in self._kept:  # the columns where b is zero are not computed
                result[place] = self.kernels[m](self.points, self.points[used]) @ values
            elif self.dtype == np.float64:
                result[place] = self._kept[m] @ b
            else:
                _add_rows(result[place], self._kept[m], used, values)  # sums in float64
        return result

    def quadratics(self, vectors: Array) -> Array:
        """Return b'K_m b for each column b of `vectors`, shape (n, k); the result: (M, k)."""
        supports = [np.flatnonzero(b) for b in vectors.T]
        values = [b[used] for b, used in zip(vectors.T, supports, strict=True)]
        result = np.empty((len(self), len(supports)))
        for m in range(len(self)):
            gram = self[m]
            for k, used in enumerate(supports):
                result[m, k] = _quadratic(gram, used, values[k])
        return result

    def slab(self, low: int, high: int) -> Array:
        """Return rows `low` to `high` of all K_m, columns from `low` on, float64.

        The shape is (M, high - low, n - low). Slabs one after another cover the upper triangles,
        and read or compute each value once.
        """
        result = np.empty((len(self), high - low, self.n - low))
        for m in range(len(self)):
            if m in self._kept:
                result[m] = self._kept[m][low:high, low:]
            else:
                result[m] = self.kernels[m](self.points[low:high], self.points[low:])
        return result

    @blas_limited
    def _first(self, m: int) -> Array | None:
        """Return K_m in the precision to keep it in; None if it is not among the first to keep."""
        gram = self._computed(m)
        return gram.astype(self.dtype, copy=False) if m < self._most else None

    def _computed(self, m: int) -> Array:
        """Return K_m if it is a Gram matrix of finite numbers."""
        kernel = self.kernels[m]
        gram = kernel._gram(self.points, self.points)
        if not np.isfinite(gram.sum()):
            raise ValueError(
                f"expected finite kernel values, got inf or NaN from kernel {m}, "
                f"{short_name(kernel)}; scale the features"
            )
        return gram


def check_psd(gram: Array, m: int, kernel: Kernel) -> None:
    """Raise ValueError unless a matrix that a user computed is a Gram matrix."""
    try:
        check_gram(gram)
        proved = isinstance(kernel, Precomputed) and kernel.proved
        smallest = None if proved else negative_eigenvalue(gram)
    except ValueError as error:
        raise ValueError(f"kernel {m}: {error}") from None
    if smallest is not None:
        raise ValueError(
            f"expected positive semi-definite kernels, got the eigenvalue {smallest:.3g} for "
            f"kernel {m}, {short_name(kernel)}"
        )


@compiled
def _add_scaled(total: Array, gram: Array, weight: float) -> None:
    """Add weight * gram to `total`."""
    for i in range(gram.shape[0]):
        for j in range(gram.shape[1]):
            total[i, j] += weight * gram[i, j]


@compiled
def _add_rows(total: Array, gram: Array, used: Indices, values: Array) -> None:
    """Add sum_a values_a gram[used_a] to `total`: the product with a symmetric matrix."""
    for a in range(used.size):
        for j in range(gram.shape[1]):
            total[j] += values[a] * gram[used[a], j]


@compiled
def _quadratic(gram: Array, used: Indices, values: Array) -> float:
    """Return the sum of values_a values_b gram[used_a, used_b], of a symmetric matrix."""
    total = 0.0
    for a in range(used.size):
        row = 0.5 * values[a] * gram[used[a], used[a]]
        for b in range(a):
            row += values[b] * gram[used[a], used[b]]
        total += values[a] * row
    return 2.0 * total
