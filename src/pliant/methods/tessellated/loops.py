"""The compiled loops of the tessellated kernels, on tiles of a Gram matrix.

For points x, y of a box [a, b], M = max(x, y) entrywise, the boxes [M, b] are what the
indicator functions of x and y have in common. Loops run along the rows of a tile, where
neighbouring entries are neighbours in memory.
"""

from __future__ import annotations

import numpy as np

from pliant.core.jit import compiled
from pliant.core.typing import Array

__all__ = ["overlap", "times_overlap", "times_overlap_of_polynomials"]


@compiled
def overlap(left: Array, right: Array, upper: Array, inverse: Array) -> Array:
    """Return B_ij = prod_f (upper_f - max(left_if, right_fj)) inverse_f.

    Parameters
    ----------
    left : array of shape (m, n)
        Points.
    right : array of shape (n, k)
        Points as columns, in C order.
    upper, inverse : arrays of shape (n,)
        b, and the density of the measure in each direction.
    """
    tile = np.ones((left.shape[0], right.shape[1]))
    _times_overlap(tile, left, right, upper, inverse)
    return tile


@compiled
def times_overlap(
    tile: Array, left: Array, right: Array, upper: Array, inverse: Array, added: Array
) -> None:
    """Replace `tile` by tile * B + added, entrywise; parameters as in `overlap`."""
    _times_overlap(tile, left, right, upper, inverse)
    for i in range(tile.shape[0]):
        for j in range(tile.shape[1]):
            tile[i, j] += added[i, j]


@compiled
def _times_overlap(tile: Array, left: Array, right: Array, upper: Array, inverse: Array) -> None:
    for i in range(tile.shape[0]):
        row = tile[i]
        for f in range(left.shape[1]):
            x, b, scale = left[i, f], upper[f], inverse[f]
            column = right[f]
            for j in range(row.size):
                y = column[j]
                row[j] *= (b - (x if x > y else y)) * scale


@compiled
def times_overlap_of_polynomials(
    tile: Array,
    left: Array,
    right: Array,
    upper: Array,
    constant_left: Array,
    constant_right: Array,
    linear_left: Array,
    linear_right: Array,
    square: Array,
) -> None:
    """Replace tile_ij by tile_ij sum_k E u_k(z, x_i) u_k(z, y_j), z uniform on [M_ij, b].

    u_k(z, x) = constant_k(x) + linear_k(x)'z + z'square_k z. With z = mu + s t, mu and s the
    centre and the half widths of the box and t uniform on [-1, 1]^n, the functions 1, t_f,
    t_f^2 - 1/3 and t_f t_g are orthogonal, of variance 1, 1/3, 4/45 and 1/9.

    Parameters
    ----------
    tile : array of shape (m, k)
    left, right : arrays of shape (m, n) and (n, k)
        Points, and points as columns.
    upper : array of shape (n,)
        b.
    constant_left, constant_right : arrays of shape (m, r) and (r, k)
    linear_left, linear_right : arrays of shape (m, r, n) and (r, n, k)
    square : array of shape (r, n, n) or (r, 0, 0)
        Symmetric; empty where no function is quadratic in z.
    """
    n, rank, width = left.shape[1], constant_left.shape[1], tile.shape[1]
    quadratic = square.shape[1] > 0
    mu, variance, bent = np.empty((n, width)), np.empty((n, width)), np.zeros((n, width))
    total, mean_left, mean_right = np.empty(width), np.empty(width), np.empty(width)
    for i in range(tile.shape[0]):
        for f in range(n):
            for j in range(width):
                y = right[f, j]
                top = left[i, f] if left[i, f] > y else y
                mu[f, j] = 0.5 * (upper[f] + top)
                variance[f, j] = (upper[f] - top) ** 2 / 12.0
        total[:] = 0.0
        for k in range(rank):
            mean_left[:] = constant_left[i, k]
            mean_right[:] = constant_right[k]
            if quadratic:
                _bend(square[k], mu, variance, bent, mean_left, mean_right, total)
            for f in range(n):
                slope = linear_left[i, k, f]
                slopes = linear_right[k, f]
                for j in range(width):
                    mean_left[j] += slope * mu[f, j]
                    mean_right[j] += slopes[j] * mu[f, j]
                    total[j] += (slope + bent[f, j]) * (slopes[j] + bent[f, j]) * variance[f, j]
            for j in range(width):
                total[j] += mean_left[j] * mean_right[j]
        for j in range(width):
            tile[i, j] *= total[j]


@compiled
def _bend(
    square: Array,
    mu: Array,
    variance: Array,
    bent: Array,
    mean_left: Array,
    mean_right: Array,
    total: Array,
) -> None:
    """Add what z'Qz contributes: to both means, to the slopes (bent = 2 Q mu), to the total."""
    n, width = mu.shape
    for f in range(n):
        bent[f, :] = 0.0
        for g in range(n):
            for j in range(width):
                bent[f, j] += 2.0 * square[f, g] * mu[g, j]
        for j in range(width):
            mean = 0.5 * mu[f, j] * bent[f, j] + square[f, f] * variance[f, j]
            mean_left[j] += mean
            mean_right[j] += mean
            total[j] += 0.8 * (square[f, f] * variance[f, j]) ** 2
        for g in range(f):
            for j in range(width):
                total[j] += 4.0 * square[f, g] ** 2 * variance[f, j] * variance[g, j]
