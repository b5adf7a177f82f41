"""Kernel matrix of all rows in float32, and its solver, for dense members of a LAB-RBF model.

For n rows, the lower blocks of K take 2 n^2 bytes. (K + N) c = y, with a diagonal N, is solved by
conjugate gradients. The preconditioner is F F' + N, with the Nystrom approximation F F' of K from
r random rows (Frangella, Tropp and Udell 2023): it costs O(n r^2), and its inverse is
N^-1 - N^-1 F (I + F'N^-1 F)^-1 F'N^-1.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.linalg import cho_factor, cho_solve, solve_triangular

from pliant.core.typing import Array
from pliant.methods.lab_rbf import constants
from pliant.methods.lab_rbf.kernel import PROFILES


class DenseGram:
    """K_ij = h(|z_i - z_j|^2) + x_i'x_j for the rows z of Z and x of X."""

    def __init__(self, Z: Array, X: Array, profile: str) -> None:
        self.Z, self.X = Z - Z.mean(axis=0), X  # products lose digits far from the origin
        self.value = PROFILES[profile].value

    def block(self, rows: Any, columns: Any, dtype: npt.DTypeLike) -> Array:
        """Compute a block of K."""
        z, x = np.asarray(self.Z[rows], dtype), np.asarray(self.X[rows], dtype)
        t, w = np.asarray(self.Z[columns], dtype), np.asarray(self.X[columns], dtype)
        sizes = np.einsum("ij,ij->i", t, t)
        D = np.einsum("ij,ij->i", z, z)[:, None] + sizes - 2.0 * z @ t.T
        return np.asarray(self.value(np, np.maximum(D, 0.0, out=D)) + x @ w.T)

    def matrix(self) -> Array:
        """Compute K, float64."""
        K = self.block(slice(None), slice(None), np.float64)
        K[np.diag_indices_from(K)] = 1.0 + np.einsum("ij,ij->i", self.X, self.X)
        return K

    def solve_directly(self, noise: Array, y: Array) -> Array:
        """Solve (K + diag(noise)) c = y by a Cholesky factorization in float64."""
        K = self.matrix()
        K[np.diag_indices_from(K)] += noise
        return np.asarray(cho_solve(cho_factor(K, lower=True, overwrite_a=True), y))

    def solve(self, noise: Array, y: Array, loss: float) -> Array:
        """Solve (K + diag(noise)) c = y, with y of shape (n, q), to single precision.

        A relative residual of r changes the predictions by at most r |y|, and adds up to r^2 to the
        relative squared error. So r^2 is at most a tenth of the held-out `loss`. Where conjugate
        gradients do not converge, a Cholesky factorization replaces them, or the noise is
        multiplied by 10 if there are too many rows.
        """
        harmless = constants.DENSE_RESIDUAL_SHARE * math.sqrt(loss)
        goal = min(constants.DENSE_RESIDUAL, harmless)
        most = max(goal, min(constants.DENSE_MAX_RESIDUAL, harmless))
        n, step = len(y), constants.DENSE_BLOCK
        slices = [slice(low, min(low + step, n)) for low in range(0, n, step)]
        blocks = [
            (rows, columns, self.block(rows, columns, np.float32))
            for k, rows in enumerate(slices)
            for columns in slices[: k + 1]
        ]

        def times(d: Array) -> Array:
            """Compute (K + diag(noise)) d."""
            short, product = d.astype(np.float32), noise[:, None] * d
            for rows, columns, block in blocks:
                product[rows] += block @ short[columns]
                if columns != rows:
                    product[columns] += block.T @ short[rows]
            return product

        while True:
            c, residual = conjugate_gradients(times, self._preconditioner(noise), y, goal)
            if residual <= most or np.median(noise) >= len(y):  # a sample of small weight has more
                return c
            if n <= constants.DENSE_FACTORED:
                return self.solve_directly(noise, y)
            noise = 10.0 * noise  # rounding errors of K may exceed a small noise

    def _preconditioner(self, noise: Array) -> Callable[[Array], Array]:
        """Build the inverse of F F' + diag(noise)."""
        n = len(noise)
        chosen = np.random.RandomState(0).permutation(n)[: min(constants.DENSE_RANK, n // 4)]
        K = self.block(slice(None), chosen, np.float64)
        among = K[chosen] + constants.DENSE_JITTER * np.eye(len(chosen))
        factor = np.linalg.cholesky((among + among.T) / 2.0)
        F = solve_triangular(factor, K.T, lower=True).T
        scaled = F / noise[:, None]
        inner = cho_factor(F.T @ scaled + np.eye(len(chosen)), lower=True)
        F32 = F.astype(np.float32)

        def inverse(r: Array) -> Array:
            z = r / noise[:, None]
            w = cho_solve(inner, (F32.T @ z.astype(np.float32)).astype(np.float64))
            return z - (F32 @ w.astype(np.float32)) / noise[:, None]

        return inverse


def conjugate_gradients(
    times: Callable[[Array], Array], inverse: Callable[[Array], Array], y: Array, goal: float
) -> tuple[Array, float]:
    """Solve A c = y for all columns of y, given products with A and a preconditioner.

    A column ends at the relative residual `goal`, or where it diverges. Return c and the largest
    relative residual of a column.
    """
    c, r = np.zeros_like(y), y.copy()
    sizes = np.maximum(np.linalg.norm(y, axis=0), constants.TINY)
    d = z = inverse(r)
    rz = np.einsum("ij,ij->j", r, z)
    for _ in range(constants.DENSE_STEPS):
        residual = np.linalg.norm(r, axis=0) / sizes
        active = (residual > goal) & (residual < constants.DENSE_DIVERGED) & (rz > 0.0)
        if not active.any():
            break
        Ad = times(d)
        curvature = np.einsum("ij,ij->j", d, Ad)
        active &= curvature > 0.0  # otherwise, r is rounding error
        length = np.divide(rz, curvature, out=np.zeros_like(rz), where=active)
        c += length * d
        r -= length * Ad
        z = inverse(r)
        last, rz = rz, np.einsum("ij,ij->j", r, z)
        d = z + np.divide(rz, last, out=np.zeros_like(rz), where=active) * d
    return c, float((np.linalg.norm(y - times(c), axis=0) / sizes).max())
