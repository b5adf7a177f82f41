"""Learning a generalised kernel inside a support vector machine (SVM), as a saddle point.

    minimise over P, maximise over w    kappa(w) - 1/2 w' K_P w,
    P >= floor I, tr P = n_P,    lower <= w <= upper,  1'w = 0

kappa(w) = p'w - epsilon |w|_1 as in `pliant.methods.svm.dual` (w = alpha y for classification).
P >= floor I means that P - floor I is positive semi-definite, 0 <= floor < 1; with floor = 0, the
problem of Talitckii, Colbert and Peet, P itself is. Their Theorem 15 asks for a positive definite
P, which any floor > 0 gives: then every learned kernel is universal. With

    P = floor I + (1 - floor) Q,    Q positive semi-definite, tr Q = n_P,

solvers see Q only, by a factor of it, and (1 - floor) D(w), by which w' K_P w changes with Q.

As w' K_P w = <D(w), P>, the inner minimum over Q is reached at n_P v v', with v the eigenvector
of the largest eigenvalue of D(w) (Theorem 11 of the paper has the smallest singular value, which is
the worst direction). So for every feasible w and every P

    kappa(w) - 1/2 (floor tr D(w) + (1 - floor) n_P lambda_max(D(w)))
        <=  optimum  <=  primal objective of the SVM at P,

however accurately the SVM was solved: these two bounds are the certificate.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from pliant.core.linalg import eigenvalue, last_eigenpairs
from pliant.core.text import one_line
from pliant.core.typing import Array
from pliant.methods.svm.dual import MarginDual
from pliant.methods.svm.rows import CachedRows, DenseRows
from pliant.methods.tkl.generalized_kernel import GeneralizedKernel, blended

FEW = 64
"""Up to this n_P all eigenvalues of D(w) take less time than the largest one alone."""

LARGEST, LARGEST_FORM = float(np.finfo(np.float64).max), 1e140
"""Largest kernel value, and entry of D(w): sums of squares of the latter must be numbers."""


class Oracle(NamedTuple):
    """The best Q for some w, and the lower bound that it gives.

    `matrix` is (1 - floor) D(w), shape (n_P, n_P): the objective decreases by <matrix, dQ>/2 along
    dQ. `vectors`, shape (n_P, k), and `values` are its k largest eigenpairs, in decreasing order.
    `lower` is the best of the lower bounds that t w gives, 0 <= t <= 1.
    """

    matrix: Array
    vectors: Array
    values: Array
    lower: float


@dataclass(frozen=True, eq=False)
class KernelLearning:
    """The saddle point problem of the module docstring.

    Parameters
    ----------
    kernel : GeneralizedKernel
        The family to learn from; its own P is ignored.
    points : array of shape (n_samples, n_features)
        The training points.
    margin : callable
        rows -> MarginDual, the dual of the SVM with a Gram matrix.
    cache_mb : float
        The most memory that a Gram matrix may take, in units of 2^20 bytes; rows of a larger one
        are computed on demand.
    floor : float
        The least eigenvalue of P, 0 <= floor < 1. As tr P = n_P, their mean is 1.
    """

    kernel: GeneralizedKernel
    points: Array
    margin: Callable[[Any], MarginDual]
    cache_mb: float = np.inf
    floor: float = 0.0

    @cached_property
    def size(self) -> int:
        """n_P, the order of P and its trace."""
        return self.kernel.shape_size(self.points.shape[1])

    @property
    def fits(self) -> bool:
        """Whether a whole Gram matrix fits into `cache_mb`."""
        return 8.0 * len(self.points) ** 2 <= self.cache_mb * 2.0**20

    def scaled(self, factor: Array) -> Array:
        """Return the multiple of `factor` for which tr Q = n_P."""
        return np.asarray(factor * (np.sqrt(self.size) / np.linalg.norm(factor)))

    def of_shape(self, factor: Array) -> Array:
        """Return a factor of P = floor I + (1 - floor) Q from a factor of Q with trace n_P."""
        return blended(factor, self.floor) if self.floor else factor

    def gram(self, factor: Array) -> Array:
        """Return K_P, shape (n_samples, n_samples), for Q = factor factor', if it is finite."""
        return self._bounded(self.member(factor).gram(self.points), LARGEST)

    def _bounded(self, values: Array, most: float) -> Array:
        """Return kernel values, or weighted sums of them, if none is larger than `most`."""
        if not float(max(values.max(), -values.min())) <= most:
            raise ValueError(
                f"expected finite kernel values, and weighted sums of up to {LARGEST_FORM:g}, got "
                f"more from {one_line(self.kernel)}; scale the features, or lower C"
            )
        return values

    def member(self, factor: Array) -> GeneralizedKernel:
        """Return k_P for Q = factor factor'."""
        return self.kernel.with_factor(self.of_shape(factor))

    def svm(self, factor: Array) -> MarginDual:
        """Return the dual of the SVM at Q = factor factor', in bounded memory."""
        if self.fits:
            return self.dual(self.gram(factor))
        rows = CachedRows(self.member(factor), self.points, self.cache_mb)
        return self.margin(rows)

    def dual(self, gram: Array) -> MarginDual:
        """Return the dual of the SVM with this Gram matrix."""
        return self.margin(DenseRows(gram))

    def smoothed(self, gram: Array, rho: float, centre: Array) -> MarginDual:
        """Return `dual` with a proximal term -rho/2 |w - centre|^2; `gram` is overwritten.

        The constant -rho/2 |centre|^2 is left out.
        """
        gram[np.diag_indices_from(gram)] += rho
        return self.dual(gram).shifted(rho * centre)

    def oracle(self, w: Array, gain: float, count: int = 1) -> Oracle:
        """Return the best Q for a feasible w with the `gain` kappa(w), and `count` eigenpairs."""
        matrix = self.quadratic(w)
        values, vectors = last_eigenpairs(matrix, min(count, self.size))
        lower = self._lower(float(values[-1]), matrix, gain)
        return Oracle(matrix, vectors[:, ::-1], values[::-1], lower)

    def quadratic(self, w: Array) -> Array:
        """Return (1 - floor) D(w), shape (n_P, n_P)."""
        matrix = self.kernel.quadratic(self.points, w)
        matrix *= 1.0 - self.floor
        return self._bounded(matrix, LARGEST_FORM)

    def lower_bound(self, matrix: Array, gain: float) -> float:
        """Return the bound of the optimum from `quadratic` at w and a lower bound of kappa(w)."""
        if len(matrix) <= FEW:
            top = float(np.linalg.eigvalsh(matrix)[-1])
        else:
            top = eigenvalue(matrix, len(matrix) - 1)
        return self._lower(top, matrix, gain)

    def _lower(self, top: float, matrix: Array, gain: float) -> float:
        """Return the largest t gain - t^2/2 cost, 0 <= t <= 1, reached at t = gain/cost.

        The cost is that of the best P, <D, P> = floor tr D + (1 - floor) n_P lambda_max(D).
        """
        cost = self.size * max(top, 0.0)
        if self.floor:
            cost += self.floor / (1.0 - self.floor) * max(float(np.trace(matrix)), 0.0)
        share = 0.0 if gain <= 0.0 else min(1.0, gain / max(cost, gain))
        return share * gain - 0.5 * share**2 * cost
