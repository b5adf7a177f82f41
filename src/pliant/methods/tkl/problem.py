"""The saddle point problem for learning a generalised kernel in a support vector machine (SVM).

    minimise over P, maximise over w    kappa(w) - 1/2 w' K_P w,
    P >= floor I, tr P = n_P,    lower <= w <= upper,  1'w = 0

Here kappa(w) = p'w - epsilon |w|_1 as in `pliant.methods.svm.dual` (w = alpha y for
classification). P >= floor I means that P - floor I is positive semi-definite, 0 <= floor < 1. For
floor = 0 this is problem (7) of Talitckii, Colbert and Peet. A floor > 0 makes P positive definite,
which makes every learned kernel universal if delta > 0 (their Theorem 15). With

    P = floor I + (1 - floor) Q,    Q positive semi-definite, tr Q = n_P,

the solvers use a factor of Q, and (1 - floor) D(w), the gradient of w' K_P w in Q.

As w' K_P w = <D(w), P>, the inner minimum over Q is attained at n_P v v', with v the eigenvector
of the largest eigenvalue of D(w). (Theorem 11 of the paper uses the smallest singular value
instead, which gives the worst direction.) So for every feasible w and every P,

    kappa(w) - 1/2 (floor tr D(w) + (1 - floor) n_P lambda_max(D(w)))
        <=  optimum  <=  primal objective of the SVM at P.

These two bounds are the certificate; they hold for any accuracy of the SVM.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from pliant.core.blocks import gram_mb
from pliant.core.eigen import eigenvalue, last_eigenpairs
from pliant.core.typing import Array
from pliant.core.validation import check_kernel_values
from pliant.methods.svm.dual import MarginDual
from pliant.methods.svm.problem import SVMProblem
from pliant.methods.svm.rows import CachedRows, DenseRows
from pliant.methods.tkl.generalized_kernel import GeneralizedKernel, blend_identity


class Oracle(NamedTuple):
    """The best Q for a given w, and the resulting lower bound on the optimum.

    `matrix` is (1 - floor) D(w), shape (n_P, n_P): the objective decreases by <matrix, dQ>/2 along
    dQ. `vectors`, shape (n_P, k), and `values` are its k largest eigenpairs, in decreasing order.
    `lower` is the best lower bound over all t w, 0 <= t <= 1.
    """

    matrix: Array
    vectors: Array
    values: Array
    lower: float


@dataclass(frozen=True, eq=False)
class SaddleProblem:
    """The saddle point problem in the module docstring.

    Parameters
    ----------
    kernel : GeneralizedKernel
        The family of kernels; the P of this kernel is ignored.
    svm : SVMProblem
        The SVM, with its training points in the units of the kernel.
    cache_mb : float
        Maximum memory of a Gram matrix, in units of 2^20 bytes. Rows of a larger matrix are
        computed on demand.
    floor : float
        Lower bound on the eigenvalues of P, 0 <= floor < 1. As tr P = n_P, their mean is 1.

    Attributes
    ----------
    size : int
        n_P, the order of P and its trace.
    fits : bool
        True if a full Gram matrix fits into `cache_mb`.
    """

    kernel: GeneralizedKernel
    svm: SVMProblem
    cache_mb: float = np.inf
    floor: float = 0.0
    size: int = field(init=False)
    fits: bool = field(init=False)

    def __post_init__(self) -> None:
        size = self.kernel.shape_size(self.points.shape[1])
        object.__setattr__(self, "size", size)
        object.__setattr__(self, "fits", gram_mb(len(self.points)) <= self.cache_mb)

    @property
    def points(self) -> Array:
        """The training points, shape (n_samples, n_features)."""
        return self.svm.points

    def scaled(self, factor: Array) -> Array:
        """Return `factor`, scaled so that tr Q = n_P."""
        return np.asarray(factor * (np.sqrt(self.size) / np.linalg.norm(factor)))

    def member(self, factor: Array) -> GeneralizedKernel:
        """Return k_P for Q = factor factor'."""
        if self.floor:
            factor = blend_identity(factor, self.floor)  # P = floor I + (1 - floor) Q
        return self.kernel.with_factor(factor)

    def gram(self, factor: Array) -> Array:
        """Compute K_P, shape (n_samples, n_samples), for Q = factor factor'; check its values."""
        return check_kernel_values(self.member(factor).gram(self.points), self.kernel)

    def dual_at(self, factor: Array) -> MarginDual:
        """Return the dual of the SVM at Q = factor factor', in bounded memory."""
        if self.fits:
            return self.dual(self.gram(factor))
        return self.svm.dual(CachedRows(self.member(factor), self.points, self.cache_mb))

    def dual(self, gram: Array) -> MarginDual:
        """Return the dual of the SVM with the given Gram matrix."""
        return self.svm.dual(DenseRows(gram))

    def quadratic(self, w: Array) -> Array:
        """Compute (1 - floor) D(w), shape (n_P, n_P)."""
        matrix = self.kernel.quadratic(self.points, w)
        matrix *= 1.0 - self.floor  # the gradient of w'K_P w in Q
        return check_kernel_values(matrix, self.kernel, "weighted sums of kernel values")

    def integrals(self, basis: Array) -> Array:
        """Compute U'G_kl U, symmetrised, for U = `basis` and all pairs, shape (m, m, r, r)."""
        G = self.kernel.integrals(self.points, basis)
        return check_kernel_values(G, self.kernel, "integrals")

    def oracle(self, w: Array, gain: float, count: int = 1) -> Oracle:
        """Find the best Q for a feasible w with `gain` = kappa(w), and `count` eigenpairs."""
        matrix = self.quadratic(w)
        values, vectors = last_eigenpairs(matrix, min(count, self.size))
        lower = self.lower_bound(matrix, gain, top=float(values[-1]))
        return Oracle(matrix=matrix, vectors=vectors[:, ::-1], values=values[::-1], lower=lower)

    def lower_bound(self, matrix: Array, gain: float, top: float | None = None) -> float:
        """Compute the lower bound from `matrix` = `quadratic(w)` and `gain` <= kappa(w).

        The bound is the maximum of t gain - t^2/2 cost over 0 <= t <= 1, at t = min(1, gain/cost).
        The cost is <D, P> for the best P, floor tr D + (1 - floor) n_P lambda_max(D). `top` is the
        largest eigenvalue of `matrix`, if known.
        """
        if top is None and len(matrix) <= 64:  # the full decomposition is faster
            top = float(np.linalg.eigvalsh(matrix)[-1])
        elif top is None:
            top = eigenvalue(matrix, len(matrix) - 1)
        # matrix = (1 - floor) D, in both terms of the cost
        cost = self.size * max(top, 0.0)
        if self.floor:
            cost += self.floor / (1.0 - self.floor) * max(float(np.trace(matrix)), 0.0)
        share = 0.0 if gain <= 0.0 else min(1.0, gain / max(cost, gain))
        return share * gain - 0.5 * share**2 * cost
