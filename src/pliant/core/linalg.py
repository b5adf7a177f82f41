"""Linear algebra routines that need more than one SciPy call."""

from __future__ import annotations

import math
from collections import deque
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np
import scipy.linalg
from scipy.linalg.lapack import dpotrf, dpotri
from scipy.sparse.linalg import ArpackError, LinearOperator, eigsh

from pliant.core.typing import Array

SMALL = 2000
"""Maximum order of a matrix for which LAPACK is used without trying Lanczos iterations.

CPU time for two eigenpairs with n = 1000, 2000, 4000: LAPACK .05, .55, 6 s; Lanczos iterations
.01, .06, .27 s, and .06, .57, 2.4 s for 20 restarts without convergence.
"""

SMALL_STRUCTURED = 120
"""The same for `DiagonalPlusLowRank`: with n = 500, LAPACK takes 15 ms, Lanczos 1 to 4."""


def negative_eigenvalue(matrix: Array, tol: float = 1e-8) -> float | None:
    """Return the smallest eigenvalue of a symmetric matrix if it is clearly negative, else None.

    Clearly negative means below -`tol` times the largest absolute diagonal entry. The eigenvalue
    (12 s, n = 3000) is computed only if a Cholesky factorisation (.25 s) fails. Both cost O(n^3).
    """
    shift = tol * max(float(np.abs(matrix.diagonal()).max()), np.finfo(np.float64).tiny)
    shifted = np.array(matrix, dtype=np.float64, order="C")
    shifted[np.diag_indices_from(shifted)] += shift
    _, place = dpotrf(shifted.T, lower=0, clean=0, overwrite_a=1)  # lower triangle of shifted
    if not place:
        return None
    del shifted
    smallest = eigenvalue(matrix, 0)
    return smallest if smallest < -shift else None


def remedy(negative: float) -> str:
    """Return the end of a sentence about a negative eigenvalue that may be a rounding error."""
    return f"if it is due to rounding, add {-2.0 * negative:.2g} to the diagonal"


def top_eigenpairs(matrix: Array, k: int) -> tuple[Array, Array]:
    """Compute the k largest eigenvalues of a symmetric matrix, descending, and their eigenvectors.

    For large n and small k, it uses Lanczos iterations, O(n^2) each; otherwise LAPACK, O(n^3).
    """
    n = len(matrix)
    if n > SMALL and k <= 0.03 * n:
        with suppress(ArpackError):
            # With clustered eigenvalues, thousands of restarts may be slower than LAPACK.
            values, vectors = eigsh(matrix, k, which="LA", v0=np.ones(n), maxiter=20)
            order = np.argsort(values)[::-1]
            return values[order], vectors[:, order]
    rising = last_eigenpairs(matrix, k)
    return rising[0][::-1], rising[1][:, ::-1]


class DiagonalPlusLowRank(NamedTuple):
    """The symmetric matrix A = diag(d) + Z C Z' of order n, for a rank r far below n.

    `diagonal` is d, shape (n,), `factor` is Z, shape (n, r), and `middle` is C, shape (r, r).
    """

    diagonal: Array
    factor: Array
    middle: Array

    def times(self, B: Array) -> Array:
        """Return A B for B of shape (n,) or (n, m), in O(n r m)."""
        return scale_rows(self.diagonal, B) + self.factor @ (self.middle @ (self.factor.T @ B))

    def projected(self, unit: Array) -> DiagonalPlusLowRank:
        """Return (I - u u') A (I - u u') for a unit vector u, a matrix of rank r + 2."""
        # A - u v' - v u' + (u'v) u u' with v = A u
        image = self.times(unit)
        corner = np.array([[unit @ image, -1.0], [-1.0, 0.0]])
        factor = np.column_stack([self.factor, unit, image])
        return self._replace(factor=factor, middle=scipy.linalg.block_diag(self.middle, corner))

    def toarray(self) -> Array:
        """Return A, shape (n, n)."""
        A = self.factor @ self.middle @ self.factor.T
        A = 0.5 * (A + A.T)
        A[np.diag_indices_from(A)] += self.diagonal
        return np.asarray(A)

    def count_above(self, bound: float) -> int:
        """Count the eigenvalues above a bound that is no diagonal entry, in O(n r^2)."""
        # With C = Q diag(c) Q', without c = 0, and D = diag(d) - bound, the matrix
        # [[D, Z Q], [Q'Z', -diag(1/c)]] has two Schur complements: A - bound, and the one below.
        # By Sylvester's law, n_+(A - bound) + n_+(-1/c) = n_+(D) + n_+(complement).
        c, Q = np.linalg.eigh(self.middle)
        kept = np.abs(c) > np.finfo(np.float64).eps * np.abs(c).max(initial=0.0)
        c, sides, D = c[kept], self.factor @ Q[:, kept], self.diagonal - bound
        complement = -np.diag(1.0 / c) - sides.T @ (sides / D[:, None])
        above = (D > 0.0).sum() + (np.linalg.eigvalsh(complement) > 0.0).sum()
        return int(above - (c < 0.0).sum())

    def top_eigenpairs(self, k: int) -> tuple[Array, Array]:
        """Compute the k largest eigenvalues, descending, and their eigenvectors.

        Lanczos iterations take O(n r) each. If they do not converge soon, or have missed one of
        several equal eigenvalues, LAPACK takes O(n^3).
        """
        n = len(self.diagonal)
        if n > SMALL_STRUCTURED and k <= 0.03 * n:
            with suppress(ArpackError, np.linalg.LinAlgError):
                product = LinearOperator((n, n), matvec=self.times, dtype=np.float64)
                values, vectors = eigsh(product, k, which="LA", v0=np.ones(n), maxiter=4)
                order = np.argsort(values)[::-1]
                values, vectors = values[order], vectors[:, order]
                bound = float(values[-1] + 1e-11 * np.abs(values).max())
                if self.count_above(bound) == (values > bound).sum():
                    return values, vectors
        return top_eigenpairs(self.toarray(), k)


def last_eigenpairs(matrix: Array, k: int) -> tuple[Array, Array]:
    """Compute the k largest eigenvalues of a symmetric matrix, ascending, and their eigenvectors.

    The cost is O(n^3). LAPACK computes a subset of the eigenvalues by bisection. With repeated
    eigenvalues, it may fail, or return fewer than k without an error; then compute all eigenvalues.
    """
    n = len(matrix)
    with suppress(np.linalg.LinAlgError):
        some: Any = scipy.linalg.eigh(matrix, subset_by_index=[n - k, n - 1])
        if len(some[0]) == k:
            return some[0], some[1]
    values, vectors = np.linalg.eigh(matrix)
    return values[-k:], vectors[:, -k:]


def eigenvalue(matrix: Array, number: int) -> float:
    """Compute eigenvalue `number` (ascending, from 0) of a symmetric matrix, in O(n^3)."""
    with suppress(np.linalg.LinAlgError):
        some: Any = scipy.linalg.eigvalsh(matrix, subset_by_index=[number, number])
        if len(some):
            return float(some[0])
    return float(np.linalg.eigvalsh(matrix)[number])


def spd_inverse(matrix: Array) -> tuple[Array, float]:
    """Compute the inverse and the log-determinant of a symmetric matrix in place, in O(n^3).

    Raise LinAlgError if the matrix is not positive definite to working precision.
    """
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
