"""The rows of a training Gram matrix: all of them at once, or on demand."""

from __future__ import annotations

import numpy as np

from pliant.core.kernels.base import Kernel
from pliant.core.typing import Array
from pliant.methods.svm.estimators import finite_gram
from pliant.methods.svm.rows import CachedRows, DenseRows, Rows

PRECISIONS = ("auto", "float32", "float64")

SAMPLE = 1000
"""Points on which a kernel is checked if its Gram matrix is not kept whole."""

FEW = 64
"""Points between which kernel values are computed to choose the precision."""

FLAT = 1e-2
"""A kernel is flat where its values differ from k(x, x) by less than this share of it."""


def gram_rows(
    kernel: Kernel, points: Array, *, cache_mb: float, dtype: str, whole: int = 0
) -> Rows:
    """Return the rows of the Gram matrix of some points, shape (n, d).

    The matrix of up to `whole` points is kept whole. Otherwise rows are computed on demand, with
    `cache_mb` of memory, in the precision `dtype`; "auto" is float32 if that loses no digits: see
    `_fits_float32`.
    """
    if len(points) <= whole:
        return DenseRows(finite_gram(kernel, points), None if dtype == "auto" else dtype)
    if dtype == "auto":
        dtype = "float32" if _fits_float32(kernel, points) else "float64"
    return CachedRows(kernel, points, cache_mb, dtype)


def _fits_float32(kernel: Kernel, points: Array) -> bool:
    """Whether all k(x, x) are equal, and k between most points clearly smaller, on a sample.

    Values of very different size would cancel. Of a flat kernel only the differences matter, and
    rounding would hide them.
    """
    sizes = kernel.diag(points[:SAMPLE])
    top = float(np.abs(sizes).max())
    some = np.unique(np.linspace(0, len(points) - 1, FEW).astype(np.intp))
    typical = float(np.median(kernel(points[some])))
    return bool(np.ptp(sizes) <= 1e-6 * top and top - typical >= FLAT * top)
