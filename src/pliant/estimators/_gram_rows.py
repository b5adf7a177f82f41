"""The rows of a training Gram matrix: all of them at once, or on demand."""

from __future__ import annotations

import numpy as np

from pliant._typing import Array
from pliant.estimators._base import finite_gram
from pliant.kernels import Kernel
from pliant.rows import CachedRows, DenseRows, Rows

__all__ = ["PRECISIONS", "SAMPLE", "gram_rows"]

PRECISIONS = ("auto", "float32", "float64")

SAMPLE = 1000
"""Points on which a kernel is looked at where its Gram matrix is not kept whole."""


def gram_rows(
    kernel: Kernel, points: Array, *, cache_mb: float, dtype: str, whole: int = 0
) -> Rows:
    """Return the rows of the Gram matrix of some points.

    Parameters
    ----------
    kernel : Kernel
    points : array of shape (n, d)
    cache_mb : float
        What rows on demand may take.
    dtype : {"auto", "float32", "float64"}
        Their precision; "auto" is float32 where all k(x, x) are equal, else float64: values of
        very different size would cancel.
    whole : int
        Up to so many points the matrix is kept whole; 0 for never.
    """
    if len(points) <= whole:
        return DenseRows(finite_gram(kernel, points), None if dtype == "auto" else dtype)
    if dtype == "auto":
        sizes = kernel.diag(points[:SAMPLE])
        dtype = "float32" if np.ptp(sizes) <= 1e-6 * np.abs(sizes).max() else "float64"
    return CachedRows(kernel, points, cache_mb, dtype)
