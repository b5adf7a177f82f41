"""Sums of kernel values: what a support vector machine predicts."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np

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


def votes(decisions: Sequence[Array], n_classes: int) -> Array:
    """Return the votes of all pairs of classes, plus their scaled sums of decision values.

    `decisions` holds the values of the pairs (0, 1), (0, 2), ..., (1, 2), ..., each of shape (m,)
    and positive for the second class. The sums, in (-1/3, 1/3), break ties. Shape (m, n_classes).
    """
    counts, sums = np.zeros((2, len(decisions[0]), n_classes))
    for (low, high), f in zip(combinations(range(n_classes), 2), decisions, strict=True):
        counts[:, low] += f <= 0
        counts[:, high] += f > 0
        sums[:, low] -= f
        sums[:, high] += f
    return np.asarray(counts + sums / (3.0 * (np.abs(sums) + 1.0)))
