"""Exact Euclidean projections onto the sets that kernel learning needs.

Each one is solved by sorting, not by iteration, and agrees with a quadratic-programming solver
to rounding error.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg

from pliant.core.typing import Array

__all__ = [
    "project_box_hyperplane",
    "project_psd",
    "project_simplex",
    "project_spectraplex",
]


def project_box_hyperplane(
    point: Array, lower: Array, upper: Array, normal: Array | None = None, level: float = 0.0
) -> Array:
    """Return the nearest x to `point` with lower <= x <= upper and normal'x = level.

    A point of the set stays as it is, to the last bit. Any other becomes
    clip(point - t normal, lower, upper), with t the root of a non-increasing piecewise-linear
    function, found exactly from its sorted break points in O(n log n).

    Parameters
    ----------
    point, lower, upper : arrays of shape (n,)
        Bounds are finite, lower <= upper.
    normal : array of shape (n,), optional
        All ones if not given.
    level : float
        The right-hand side.

    Raises
    ------
    ValueError
        If the set is empty.
    """
    if (lower > upper).any():
        i = int(np.argmax(lower > upper))
        raise ValueError(f"expected lower <= upper, got {lower[i]:g} and {upper[i]:g} at {i}")
    a = np.ones_like(point) if normal is None else normal
    low, high = np.minimum(a * lower, a * upper).sum(), np.maximum(a * lower, a * upper).sum()
    slack = 1e-12 * (1.0 + np.abs(a * upper).sum() + np.abs(a * lower).sum())
    if not low - slack <= level <= high + slack:
        raise ValueError(
            f"expected a level that the box can reach, in [{low:g}, {high:g}], got {level:g}"
        )
    inside = np.clip(point, lower, upper)
    if np.array_equal(inside, point) and abs(a @ point - level) <= slack:
        return inside
    moving = a != 0
    breaks = np.sort(
        np.concatenate([(point - lower)[moving] / a[moving], (point - upper)[moving] / a[moving]])
    )
    if breaks.size == 0:
        return np.clip(point, lower, upper)

    def surplus(t: float) -> float:
        return float(a @ np.clip(point - t * a, lower, upper)) - level

    left, right = 0, breaks.size - 1
    if surplus(breaks[left]) <= 0:
        return np.clip(point - breaks[left] * a, lower, upper)
    if surplus(breaks[right]) >= 0:
        return np.clip(point - breaks[right] * a, lower, upper)
    while right - left > 1:
        middle = (left + right) // 2
        if surplus(breaks[middle]) > 0:
            left = middle
        else:
            right = middle
    s0, s1 = surplus(breaks[left]), surplus(breaks[right])
    share = s0 / (s0 - s1)
    t = breaks[left] + share * (breaks[right] - breaks[left])
    return np.clip(point - t * a, lower, upper)


def project_simplex(point: Array, total: float = 1.0) -> Array:
    """Return the nearest x to `point` with x >= 0 and sum(x) = `total` > 0."""
    if not total > 0:
        raise ValueError(f"expected total > 0, got {total}")
    point = point - point.max()  # the same x, from smaller numbers
    falling = np.sort(point)[::-1]
    thresholds = (np.cumsum(falling) - total) / np.arange(1, point.size + 1)
    kept = np.flatnonzero(falling > thresholds)[-1]
    return np.maximum(point - thresholds[kept], 0.0)


def project_psd(matrix: Array) -> Array:
    """Return the nearest positive semi-definite matrix to a symmetric `matrix`."""
    values, vectors = scipy.linalg.eigh(matrix)
    kept = values > 0
    half = vectors[:, kept] * np.sqrt(values[kept])
    return half @ half.T


def project_spectraplex(matrix: Array, trace: float = 1.0) -> Array:
    """Return the nearest PSD matrix of trace `trace` > 0 to a symmetric `matrix`.

    Its eigenvalues are the projection of the eigenvalues of `matrix` onto the simplex.
    """
    values, vectors = scipy.linalg.eigh(matrix)
    half = vectors * np.sqrt(project_simplex(values, trace))
    return half @ half.T
