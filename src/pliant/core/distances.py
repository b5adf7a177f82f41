"""Distances between two sets of points; SciPy's are loaded when they are computed."""

from __future__ import annotations

from typing import Literal, TypeAlias

import numpy as np

from pliant.core.blocks import row_blocks
from pliant.core.typing import Array, Indices

Metric: TypeAlias = Literal["cityblock", "euclidean", "sqeuclidean"]

BLOCK_ENTRIES = 2_000_000
"""Maximum number of distances in memory."""


def cdist(X: Array, Y: Array, metric: Metric = "euclidean") -> Array:
    """Return the distances between the rows of X and Y, shape (n, m)."""
    from scipy.spatial.distance import cdist

    return np.asarray(cdist(X, Y, metric))


def nearest_rows(points: Array, centres: Array) -> Indices:
    """Return the index of the centre nearest to each point (lowest index for ties), shape (m,)."""
    labels = np.empty(len(points), dtype=np.intp)
    for rows in row_blocks(len(points), len(centres), BLOCK_ENTRIES):
        labels[rows] = cdist(points[rows], centres, "sqeuclidean").argmin(axis=1)
    return labels
