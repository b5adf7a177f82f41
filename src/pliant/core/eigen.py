"""Eigenvalues of symmetric matrices: the choice between LAPACK and Lanczos iterations.

Lanczos iterations compute few eigenpairs of a large matrix in O(n^2) each. They may fail to
converge, and from one start vector they may miss a copy of a multiple eigenvalue. LAPACK computes
all pairs in O(n^3).

A process that only predicts seldom needs an eigenvalue, so SciPy is imported where it is used.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np

from pliant.core.linalg import scale_rows
from pliant.core.typing import Array

LANCZOS_SHARE = 0.03
"""Largest share of the eigenpairs for which Lanczos iterations are used."""

ORDER_OF_FEW = 2000
"""Order up to which LAPACK computes a given number of eigenpairs.

CPU time for two eigenpairs with n = 1000, 2000, 4000: LAPACK .05, .55, 6 s; Lanczos iterations
.01, .06, .27 s, and .06, .57, 2.4 s for 20 restarts without convergence.
"""

ORDER_ABOVE = 300
"""The same for the eigenpairs above a level. Their number is not known, so LAPACK computes all."""

ORDER_OF_STRUCTURED = 120
"""The same for `DiagonalPlusLowRank`: with n = 500, LAPACK takes 15 ms, Lanczos 1 to 4."""


def negative_eigenvalue(matrix: Array) -> float | None:
    """Return the smallest eigenvalue of a symmetric matrix if it is clearly negative, else None.

    Clearly negative means below -1e-8 times the largest absolute diagonal entry. The eigenvalue
    (12 s, n = 3000) is computed only if a Cholesky factorisation (.25 s) fails. Both cost O(n^3).
    """
    from scipy.linalg.lapack import dpotrf

    shift = 1e-8 * max(float(np.abs(matrix.diagonal()).max()), np.finfo(np.float64).tiny)
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


def last_eigenpairs(matrix: Array, k: int) -> tuple[Array, Array]:
    """Compute the k largest eigenvalues of a symmetric matrix, ascending, and their eigenvectors.

    The cost is O(n^3). LAPACK computes a subset of the eigenvalues by bisection. With repeated
    eigenvalues, it may fail, or return fewer than k without an error; then compute all eigenvalues.
    """
    import scipy.linalg

    n = len(matrix)
    with suppress(np.linalg.LinAlgError):
        some: Any = scipy.linalg.eigh(matrix, subset_by_index=[n - k, n - 1])
        if len(some[0]) == k:
            return some[0], some[1]
    values, vectors = np.linalg.eigh(matrix)
    return values[-k:], vectors[:, -k:]


def eigenvalue(matrix: Array, number: int) -> float:
    """Compute eigenvalue `number` (ascending, from 0) of a symmetric matrix, in O(n^3)."""
    import scipy.linalg

    with suppress(np.linalg.LinAlgError):
        some: Any = scipy.linalg.eigvalsh(matrix, subset_by_index=[number, number])
        if len(some):
            return float(some[0])
    return float(np.linalg.eigvalsh(matrix)[number])


def top_eigenpairs(matrix: Array, k: int) -> tuple[Array, Array]:
    """Compute the k largest eigenvalues of a symmetric matrix, descending, and their eigenvectors.

    For large n and small k, it uses Lanczos iterations, O(n^2) each; otherwise LAPACK, O(n^3).
    """
    from scipy.sparse.linalg import ArpackError, eigsh

    n = len(matrix)
    if n > ORDER_OF_FEW and k <= LANCZOS_SHARE * n:
        with suppress(ArpackError):
            # With clustered eigenvalues, thousands of restarts may be slower than LAPACK.
            values, vectors = eigsh(matrix, k, which="LA", v0=np.ones(n), maxiter=20)
            order = np.argsort(values)[::-1]
            return values[order], vectors[:, order]
    rising = last_eigenpairs(matrix, k)
    return rising[0][::-1], rising[1][:, ::-1]


class Eigenpairs(NamedTuple):
    """Eigenvalues above a level, descending, shape (r,), and orthonormal eigenvectors, (n, r).

    `complete` is True if it is certain that no other eigenvalue is above the level.
    """

    values: Array
    vectors: Array
    complete: bool


def eigenpairs_above(matrix: Array, level: float, guess: int = 8) -> Eigenpairs:
    """Compute the eigenpairs of a symmetric matrix with eigenvalues above `level`.

    The matrix may be overwritten. Lanczos iterations, O(n^2) each, are used if the matrix is large
    and a few eigenvalues (about `guess`) are expected; otherwise LAPACK is used, O(n^3). Lanczos
    iterations can miss copies of a multiple eigenvalue; `none_above` detects this.
    """
    import scipy.linalg
    from scipy.sparse.linalg import ArpackError, eigsh

    n, k, complete = len(matrix), guess + 4, True
    pairs: tuple[Array, Array]
    while n > ORDER_ABOVE and k <= LANCZOS_SHARE * n:  # until an eigenvalue is below the level
        try:
            pairs = eigsh(matrix, k, which="LA", v0=np.ones(n))
        except ArpackError:
            break
        if pairs[0][0] <= level:
            complete = False
            break
        k *= 2
    if n <= ORDER_ABOVE:
        pairs = np.linalg.eigh(matrix)
    elif complete:
        diagonal = matrix.diagonal().copy()
        try:
            # The subset driver orthogonalises every vector against all others: for a matrix of
            # order 1900, it takes 8 s for nearly all vectors; the full decomposition takes 1.3 s.
            subset = LANCZOS_SHARE * n < guess <= 0.2 * n
            interval = (level, np.inf) if subset else None
            pairs = scipy.linalg.eigh(matrix.T, subset_by_value=interval, overwrite_a=True)
        except np.linalg.LinAlgError:  # clustered eigenvalues; the upper triangle is overwritten
            matrix[np.diag_indices_from(matrix)] = diagonal
            pairs = np.linalg.eigh(matrix, UPLO="L")
    values, vectors = pairs
    start = int(np.searchsorted(values, level, side="right"))  # values ascend
    return Eigenpairs(values[start:][::-1], vectors[:, start:][:, ::-1], complete)


def none_above(matrix: Array, level: float, values: Array, vectors: Array) -> bool:
    """Return True if all eigenvalues of a symmetric M except `values` are below `level` > 0.

    Equivalently, V diag(values) V' - M + level I is positive definite, which one Cholesky
    factorisation tests, O(n^3/3). M is overwritten.
    """
    import scipy.linalg

    for low in range(0, len(matrix), 256):
        rows = slice(low, low + 256)
        matrix[rows] = (vectors[rows] * values) @ vectors.T - matrix[rows]
    matrix[np.diag_indices_from(matrix)] += level
    try:
        scipy.linalg.cholesky(matrix.T, lower=True, overwrite_a=True, check_finite=False)
    except np.linalg.LinAlgError:
        return False
    return True


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
        from scipy.linalg import block_diag

        # A - u v' - v u' + (u'v) u u' with v = A u
        image = self.times(unit)
        corner = np.array([[unit @ image, -1.0], [-1.0, 0.0]])
        factor = np.column_stack([self.factor, unit, image])
        return self._replace(factor=factor, middle=block_diag(self.middle, corner))

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
        from scipy.sparse.linalg import ArpackError, LinearOperator, eigsh

        n = len(self.diagonal)
        if n > ORDER_OF_STRUCTURED and k <= LANCZOS_SHARE * n:
            with suppress(ArpackError, np.linalg.LinAlgError):
                product = LinearOperator((n, n), matvec=self.times, dtype=np.float64)
                values, vectors = eigsh(product, k, which="LA", v0=np.ones(n), maxiter=4)
                order = np.argsort(values)[::-1]
                values, vectors = values[order], vectors[:, order]
                bound = float(values[-1] + 1e-11 * np.abs(values).max())
                if self.count_above(bound) == (values > bound).sum():
                    return values, vectors
        return top_eigenpairs(self.toarray(), k)
