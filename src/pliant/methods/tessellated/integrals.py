"""The integrals of a basis between a few points, which many small problems share.

    G_ij(x_k, x_l) = Int N_i(z, x_k) N_j(z, x_l) dz,    K_P = sum_ij P_ij G_ij,
    D(w)_ij = sum_kl w_k w_l G_ij(x_k, x_l)

With many classes of few samples, one function for each pair of classes takes hundreds of small
problems, whose Gram matrices and D(w) cost far more to prepare than to sum up. All their integrals
are then computed once, on all samples. P and w w' are symmetric, so only (G_ij + G_ji)/2 is needed,
and the Gram matrices of the kernels with P = (s e_i + e_j/s)(s e_i + e_j/s)' give it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from pliant.core.typing import Array, Indices
from pliant.methods.tessellated.generalized_kernel import GeneralizedKernel

LARGEST_TABLE = 4_000_000
"""Most integrals in a table, 32 MB."""

LARGEST_PART = 250_000
"""Most integrals in a problem: with more, Gram matrices are quicker from the points."""

LARGEST_INTEGRAL = 1e150
"""Largest G_ii that is computed with."""

GRAMS_OF_PAIR = 10
"""Number of Gram matrices that the problem of a pair of classes takes at least."""


@dataclass(frozen=True, eq=False)
class Integrals:
    """The integrals between some points, (G_ij + G_ji)/2, as rows (i, j) and columns (k, l)."""

    values: Array

    def gram(self, factor: Array) -> Array:
        """Return K_P, P = factor factor', shape (n_samples, n_samples), exactly symmetric."""
        gram = _square((factor @ factor.T).ravel() @ self.values)
        return 0.5 * (gram + gram.T)

    def quadratic(self, w: Array) -> Array:
        """Return D(w), shape (n_P, n_P), exactly symmetric."""
        matrix = _square(self.values @ np.outer(w, w).ravel())
        return 0.5 * (matrix + matrix.T)


@dataclass(frozen=True, eq=False)
class IntegralTable:
    """The integrals between all samples of a fit, shape (n_P, n_P, n_samples, n_samples)."""

    values: Array

    @classmethod
    def of(
        cls, kernel: GeneralizedKernel, points: Array, n_pairs: int, cache_mb: float
    ) -> Self | None:
        """Return the table of a family; None where it is too large, or costs more than it saves.

        Also where an integral is too large to compute with: the kernel's own errors report that.

        Parameters
        ----------
        kernel : GeneralizedKernel
        points : array of shape (n_samples, n_features)
        n_pairs : int
            The number of problems that will use it.
        cache_mb : float
            The most memory that it may take, in units of 2^20 bytes.
        """
        if len(points) ** 2 > LARGEST_TABLE:
            return None
        size = kernel.shape_size_on(points[:1])
        most = min(LARGEST_TABLE, cache_mb * 2.0**17)  # 8 bytes each
        pieces = size * (size + 1) // 2
        if pieces > GRAMS_OF_PAIR * n_pairs or (size * len(points)) ** 2 > most:
            return None
        with np.errstate(over="ignore", invalid="ignore"):
            own = np.stack([kernel.with_factor(e[:, None]).gram(points) for e in np.eye(size)])
        if not np.abs(own).max() <= LARGEST_INTEGRAL:
            return None
        return cls(_integrals(kernel, points, own))

    def between(self, members: Indices) -> Integrals | None:
        """Return the integrals between some samples; None if they are too many to be of use."""
        size = len(self.values)
        if (size * len(members)) ** 2 > LARGEST_PART:
            return None
        part = self.values[:, :, members[:, None], members]
        return Integrals(part.reshape(size**2, len(members) ** 2))


def _integrals(kernel: GeneralizedKernel, points: Array, own: Array) -> Array:
    """Return (G_ij + G_ji)/2 between all points from `own`, the G_ii, shape (n_P, m, m).

    With s such that s^2 G_ii and G_jj/s^2 are of one size, their sum hides little of G_ij.
    """
    size, m, _ = own.shape
    unit, scale = np.eye(size), np.sqrt(np.abs(own).max(axis=(1, 2)))
    values = np.zeros((size, size, m, m))
    for i in range(size):
        values[i, i] = own[i]
        for j in np.flatnonzero(scale[:i]) if scale[i] > 0.0 else ():
            s = np.sqrt(scale[j] / scale[i])
            gram = kernel.with_factor((s * unit[i] + unit[j] / s)[:, None]).gram(points)
            values[i, j] = values[j, i] = 0.5 * (gram - s**2 * own[i] - own[j] / s**2)
    return values


def _square(vector: Array) -> Array:
    """Return a vector of n^2 numbers as a matrix."""
    return vector.reshape((int(np.sqrt(vector.size)),) * 2)
