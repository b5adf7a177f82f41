"""Linear algebra: an inverse in place, nonnegative least squares, scaled rows, inverse Hessians."""

from __future__ import annotations

import math
from collections import deque

import numpy as np

from pliant.core.typing import Array


def spd_inverse(matrix: Array) -> tuple[Array, float]:
    """Compute the inverse and the log-determinant of a symmetric matrix in place, in O(n^3).

    Raise LinAlgError if the matrix is not positive definite to working precision.
    """
    from scipy.linalg.lapack import dpotrf, dpotri

    factor, place = dpotrf(matrix.T, lower=1, overwrite_a=1)
    if place:
        raise np.linalg.LinAlgError(
            f"expected a positive definite matrix, but its leading minor of order {place} is not"
            " positive"
        )
    # A = L L', so log det A = 2 sum_i log L_ii.
    log_det = 2.0 * float(np.log(factor.diagonal()).sum())
    inverse, _ = dpotri(factor, lower=1, overwrite_c=1)
    mirror(inverse)
    return inverse, log_det


def solve_nonnegative(M: Array, a: Array) -> Array:
    """Minimise v'Mv - 2 v'a over v >= 0, for M with a unit diagonal, in O(n^3).

    Eigenvalues below rounding error are dropped from M = B'B, so that nearly equal columns of B
    become equal: for many Gaussians the condition number of M is 1e17.
    """
    from scipy.linalg import eigh
    from scipy.optimize import nnls

    values, vectors = eigh(M)
    kept = values > np.finfo(np.float64).eps * values[-1]
    root = np.sqrt(values[kept])
    B = root[:, None] * vectors[:, kept].T
    # the objective is |B v - c|^2 up to a constant, with B'c = a
    return np.asarray(nnls(B, (vectors[:, kept].T @ a) / root, maxiter=100 * len(a))[0])


def mirror(matrix: Array) -> None:
    """Copy the lower triangle into the upper one, block by block."""
    n = len(matrix)
    for low in range(0, n, 256):
        high = min(low + 256, n)
        matrix[low:high, high:] = matrix[high:, low:high].T
        block = np.tril(matrix[low:high, low:high])
        matrix[low:high, low:high] = block + np.tril(block, -1).T


def scale_rows(factors: Array, rows: Array) -> Array:
    """Multiply each row of a matrix, or each entry of a vector, by its factor."""
    return np.asarray((rows.T * factors).T)


class InverseHessian:
    """L-BFGS approximation of an inverse Hessian from the last `memory` steps (Nocedal 1980)."""

    def __init__(self, memory: int = 10) -> None:
        self.pairs: deque[tuple[Array, Array, float]] = deque(maxlen=memory)

    def update(self, step: Array, change: Array) -> None:
        """Store a step and the change of the gradient along it, arrays of the same shape."""
        curvature = float(np.vdot(step, change))
        lengths = math.sqrt(np.vdot(step, step)) * math.sqrt(np.vdot(change, change))
        if curvature > 1e-12 * lengths:  # a smaller s'y is rounding error
            self.pairs.append((step, change, curvature))

    def dot(self, gradient: Array) -> Array:
        """Return the approximation times `gradient`; without stored pairs, a copy of `gradient`."""
        product = gradient.copy()
        shares = []
        # Two loops: H_k g = (I - s y'/s'y) H_{k-1} (I - y s'/s'y) g + s s'g / s'y, H_0 = s'y/y'y I.
        for step, change, curvature in reversed(self.pairs):
            share = np.vdot(step, product) / curvature
            product -= share * change
            shares.append(share)
        if self.pairs:
            _, change, curvature = self.pairs[-1]
            product *= curvature / np.vdot(change, change)
        for (step, change, curvature), share in zip(self.pairs, reversed(shares), strict=True):
            product += step * (share - np.vdot(change, product) / curvature)
        return product
