"""Learning a generalised kernel inside a support vector machine, as a saddle point.

    minimise over P, maximise over w    kappa(w) - 1/2 w' K_P w,
    P positive semi-definite, tr P = n_P,    lower <= w <= upper,  1'w = 0

kappa(w) = p'w - epsilon |w|_1 as in `pliant.methods.svm.dual` (w = alpha y for classification).
As w' K_P w = <D(w), P>, the inner minimum over P is reached at n_P v v', with v the eigenvector
of the largest eigenvalue of D(w) (Theorem 11 of Talitckii, Colbert and Peet has the smallest
singular value, which is the worst direction). So for every feasible w and every P

    kappa(w) - n_P/2 lambda_max(D(w))  <=  optimum  <=  primal objective of the SVM at P,

whatever the accuracy with which the SVM was solved: that is the certificate.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.linalg

from pliant.core.typing import Array
from pliant.methods.svm.dual import Certificate, MarginDual
from pliant.methods.svm.rows import CachedRows, DenseRows
from pliant.methods.tessellated.generalized_kernel import GeneralizedKernel, Translated

__all__ = ["KernelLearning", "Oracle"]

BLOCK_ENTRIES = 4_000_000
"""Kernel values that a product holds at once."""


class Oracle(NamedTuple):
    """What w tells about P.

    Attributes
    ----------
    matrix : array of shape (n_P, n_P)
        D(w); the objective falls by <D, dP>/2 along dP.
    vectors : array of shape (n_P, k)
        Eigenvectors of its k largest eigenvalues, falling.
    values : array of shape (k,)
        Those eigenvalues.
    lower : float
        The best bound kappa(t w) - n_P/2 lambda_max(D(t w)) of the optimum, 0 <= t <= 1.
    """

    matrix: Array
    vectors: Array
    values: Array
    lower: float


@dataclass(frozen=True, eq=False)
class KernelLearning:
    """The saddle point of the module's first lines.

    Parameters
    ----------
    kernel : GeneralizedKernel
        Of the family to learn from; its own P is not read.
    points : array of shape (m, d)
        The training points.
    margin : callable
        rows -> MarginDual, the dual of the support vector machine.
    dtype : dtype
        The precision of Gram matrices.
    cache_mb : float
        What a Gram matrix may take, in units of 2^20 bytes; rows of a larger one are computed
        when they are asked for.
    """

    kernel: GeneralizedKernel
    points: Array
    margin: Callable[[Any], MarginDual]
    dtype: npt.DTypeLike = np.float64
    cache_mb: float = np.inf

    @cached_property
    def size(self) -> int:
        """n_P, the order of P and its trace."""
        return self.kernel.shape_size_on(self.points[:1])

    def scaled(self, factor: Array) -> Array:
        """Return the multiple of `factor` for which tr P = n_P."""
        return np.asarray(factor * (np.sqrt(self.size) / np.linalg.norm(factor)))

    def gram(self, factor: Array) -> Array:
        """Return K_P, P = factor factor', shape (m, m); in float32 with a moved origin.

        Raises
        ------
        ValueError
            If it is not finite.
        """
        kernel = self._at(factor)
        with np.errstate(over="ignore", invalid="ignore"):
            gram = kernel.gram(self.points, dtype=self.dtype)
            finite = np.isfinite(gram.sum(dtype=np.float64))
        if not finite:
            raise ValueError(
                f"expected finite kernel values in {gram.dtype}, got inf or NaN from "
                f"{self.kernel!r}; scale the features"
            )
        return gram

    def _at(self, factor: Array) -> GeneralizedKernel:
        """Return k_P, with its origin in the midst of the points if they are to be rounded."""
        kernel = self.kernel.with_factor(factor)
        if np.dtype(self.dtype) == np.float64:
            return kernel
        distances = ((self.points - self.points.mean(axis=0)) ** 2).sum(axis=1)
        nearest = int(np.argmin(distances))
        return Translated(kernel, self.points[nearest : nearest + 1])

    def bound(self, w: Array, decision: Array) -> Certificate:
        """Return the certificate of the machine at P from w and K_P w, up to a constant."""
        dual = self.dual(np.empty((0, 0)))  # the bound does not read the Gram matrix
        return dual.bound(w, dual.gain(w) - 0.5 * float(w @ decision), decision)

    def product(self, factor: Array, w: Array) -> Array:
        """Return K_P w in float64, whatever the precision of Gram matrices, shape (m,)."""
        kernel = self.kernel.with_factor(factor)
        used = np.flatnonzero(w)
        step = max(1, BLOCK_ENTRIES // max(1, used.size))
        blocks = [self.points[low : low + step] for low in range(0, len(w), step)]
        return np.concatenate([kernel(block, self.points[used]) @ w[used] for block in blocks])

    @property
    def fits(self) -> bool:
        """Whether a whole Gram matrix may be kept."""
        return len(self.points) ** 2 * np.dtype(self.dtype).itemsize <= self.cache_mb * 2.0**20

    def machine(self, factor: Array) -> MarginDual:
        """Return the support vector machine at P = factor factor', in bounded memory."""
        if self.fits:
            return self.dual(self.gram(factor))
        kernel = self._at(factor).on(self.points)
        return self.margin(CachedRows(kernel, self.points, self.cache_mb, dtype=self.dtype))

    def dual(self, gram: Array) -> MarginDual:
        """Return the support vector machine with this Gram matrix."""
        return self.margin(DenseRows(gram))

    def smoothed(self, gram: Array, rho: float, centre: Array) -> MarginDual:
        """Return the same with a proximal term -rho/2 |w - centre|^2; `gram` is overwritten.

        Less the constant -rho/2 |centre|^2. Where K_P has a low rank, its own solution jumps
        when P moves a little; this one's does not.
        """
        gram[np.diag_indices_from(gram)] += rho
        return self.dual(gram).shifted(rho * centre)

    def oracle(self, w: Array, gain: float, count: int = 1) -> Oracle:
        """Return the best P for w, and the bound that comes with it.

        Parameters
        ----------
        w : array of shape (m,)
            Feasible.
        gain : float
            kappa(w).
        count : int
            How many eigenvectors to return.
        """
        matrix = self.quadratic(w)
        first = max(0, self.size - count)
        values, vectors = scipy.linalg.eigh(matrix, subset_by_index=[first, self.size - 1])
        lower = self._lower(float(values[-1]), gain)
        return Oracle(matrix, vectors[:, ::-1], values[::-1], lower)

    def quadratic(self, w: Array) -> Array:
        """Return D(w)."""
        return self.kernel.quadratic(self.points, w)

    def lower_bound(self, matrix: Array, gain: float) -> float:
        """Return the bound of the optimum from D(w) and a lower bound of kappa(w)."""
        last = self.size - 1
        top = scipy.linalg.eigh(matrix, eigvals_only=True, subset_by_index=[last, last])
        return self._lower(float(top[0]), gain)

    def _lower(self, top: float, gain: float) -> float:
        cost = self.size * max(top, 0.0)
        share = 0.0 if gain <= 0.0 else min(1.0, gain / max(cost, gain))
        return share * gain - 0.5 * share**2 * cost
