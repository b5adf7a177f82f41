"""Sums of kernel values: what a support vector machine predicts."""

from __future__ import annotations

from typing import Any

from pliant.core.blocks import in_blocks
from pliant.core.kernels.base import Kernel
from pliant.core.typing import Array


def expansion(
    kernel: Kernel, X: Array, vectors: Array, coefficients: Array, intercept: Any = 0.0
) -> Array:
    """Return kernel(X, vectors) @ coefficients + intercept, in blocks of rows of X.

    The shape is (m,), or (m, k) for coefficients of shape (n, k). Raises ValueError where a value
    leaves the range of floats.
    """
    values: Array = in_blocks(
        X, len(vectors), lambda some: kernel(some, vectors) @ coefficients + intercept
    )
    return values
