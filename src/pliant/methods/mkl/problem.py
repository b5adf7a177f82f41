"""The problem of the kernel weights of support vector machines (SVMs), and its Gram matrices.

    minimise  J(d) = mean_t J_t(d)    over d >= 0, |d|_p <= 1
    J_t(d) = max_b  kappa_t(b) - 1/2 b' K(d) b,    K(d) = sum_m d_m K_m

for the SVMs t of one fit (one, or one per pair of classes, with shared weights), with
kappa_t(b) and the constraints on b as in `pliant.methods.svm.dual`. J is convex. By Danskin's
theorem its gradient is -q/2, with q_m = mean_t b_t' K_m b_t at the optimal b_t. By Hölder's
inequality, the maximum of d'q over d is |q|_{p*}, 1/p + 1/p* = 1. For all feasible b_t and d,

    mean_t kappa_t(b_t) - 1/2 |q|_{p*}  <=  min J  <=  mean_t (primal objective of SVM t at K(d)).

These two bounds are the certificate; they hold at any accuracy of the SVM solutions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.linalg
from joblib import Parallel, delayed

from pliant.core.blocks import gram_mb
from pliant.core.eigen import negative_eigenvalue, remedy
from pliant.core.loops import compiled
from pliant.core.threads import blas_limited
from pliant.core.typing import Array, Indices
from pliant.core.validation import check_gram, check_kernel_values, symmetrised
from pliant.kernels.base import FunctionKernel, Kernel, made_of, short_name
from pliant.kernels.standard import Precomputed
from pliant.methods.svm.dual import MarginDual
from pliant.methods.svm.problem import SVMProblem
from pliant.methods.svm.rows import DenseRows, add_rows

BLOCK_ENTRIES = 8_000_000
"""Maximum number of entries of the matrices of all SVMs, 64 MB, that are copied once."""


@dataclass(frozen=True, eq=False)
class WeightLearning:
    """The minimisation problem of the module docstring.

    Parameters
    ----------
    grams : Grams
        K_1, ..., K_M on n points.
    places : sequence of arrays
        For each SVM, the sorted indices of its points among the n points.
    problems : sequence of SVMProblem
        The SVMs.
    norm : float
        The p of the constraint, >= 1.
    """

    grams: Grams
    places: Sequence[Indices]
    problems: Sequence[SVMProblem]
    norm: float = 1.0

    def duals(self, gram: Array) -> list[MarginDual]:
        """Return the dual of each SVM for the Gram matrix K(d)."""
        duals = []
        for places, problem in zip(self.places, self.problems, strict=True):
            rows = DenseRows(gram)
            if len(places) < len(gram):
                rows = DenseRows(rows.square(places))
            duals.append(problem.dual(rows))
        return duals

    @cached_property
    def _blocks(self) -> list[Array] | None:
        """All K_m between the points of each SVM, shape (M, n_t, n_t), if small and several."""
        n_entries = sum(len(places) ** 2 for places in self.places)
        if len(self.places) == 1 or not self.grams.whole:
            return None
        if len(self.grams) * max(n_entries, self.grams.n**2) > BLOCK_ENTRIES:
            return None
        stacked = np.stack([self.grams[m] for m in range(len(self.grams))]).astype(np.float64)
        return [stacked[:, places[:, None], places] for places in self.places]

    def products(self, solutions: Sequence[Array], some: Indices | None = None) -> list[Array]:
        """Compute K_m b_t of each SVM for all kernels or only `some`, shape (n_kernels, n_t)."""
        if self._blocks is not None:  # many small SVMs
            chosen = slice(None) if some is None else some
            return [block[chosen] @ b for block, b in zip(self._blocks, solutions, strict=True)]
        products = []
        for places, b in zip(self.places, solutions, strict=True):
            padded = np.zeros(self.grams.n)  # b_t on the points of all SVMs
            padded[places] = b
            products.append(self.grams.products(padded, some)[:, places])
        return products

    def quadratic(self, solutions: Sequence[Array], products: Sequence[Array]) -> Array:
        """Compute q from the b_t and the products K_m b_t, shape (n_kernels,)."""
        return np.mean(list(map(np.matmul, products, solutions)), axis=0)

    def lower_bound(self, gain: float, q: Array) -> float:
        """Compute the best lower bound for multiples s b_t, from gain = mean_t kappa_t(b_t) and q.

        The bound is the maximum of s gain - s^2/2 |q| over 0 <= s <= 1.
        """
        cost = self.dual_norm(np.maximum(q, 0.0))
        share = 0.0 if gain <= 0.0 else min(1.0, gain / max(cost, gain))
        return share * gain - 0.5 * share**2 * cost

    def dual_norm(self, q: Array) -> float:
        """Return |q|_{p*} for q >= 0."""
        largest = float(q.max())
        if self.norm == 1.0 or largest <= 0.0:
            return largest
        order = self.norm / (self.norm - 1.0)
        return largest * float(((q / largest) ** order).sum() ** (1.0 / order))

    def closed_form(self, d: Array, q: Array) -> Array:
        """Return the optimal weights for the current normal vectors of the SVMs.

        In the feature space of kernel m, SVM t has the normal vector w_mt, with
        |w_mt|^2 = d_m^2 b_t'K_m b_t. For fixed vectors, d_m proportional to
        (d_m^2 q_m)^(1/(p+1)) minimises sum_mt |w_mt|^2 / d_m on |d|_p = 1 (Kloft et al. 2011).
        """
        sizes = (d * d * np.maximum(q, 0.0)) ** (1.0 / (self.norm + 1.0))
        if self.norm == 1.0:  # the formula never gives zero, so set small weights to zero
            sizes[sizes < 1e-6 * sizes.max()] = 0.0
        total = float((sizes**self.norm).sum())
        return sizes / total ** (1.0 / self.norm) if total > 0.0 else d

    def curvature(
        self,
        gram: Array,
        solutions: Sequence[Array],
        products: Sequence[Array],
        duals: Sequence[MarginDual],
    ) -> tuple[Array, list[tuple[Indices, Array]]]:
        """Compute the Hessian of J, assuming that no b_i reaches or leaves a bound.

        The free coordinates F of b lie inside their bounds and are not zero. Their derivatives are
        d(b_F)/d(d_m) = -S (K_m b)_F, where S is the inverse of K(d)_FF on vectors that sum to zero.
        The Hessian is the mean over t of (K_m b)_F' S (K_n b)_F.

        Returns
        -------
        hessian : array of shape (n_kernels, n_kernels)
        changes : for each SVM, the free coordinates and the derivatives of b_F with respect to
            the weights, shape (n_free, n_kernels)
        """
        count = len(products[0])
        hessian, changes = np.zeros((count, count)), []
        for places, b, product, dual in zip(self.places, solutions, products, duals, strict=True):
            free = np.flatnonzero((b > dual.lower) & (b < dual.upper) & (b != 0.0))
            right = product[:, free].T  # columns (K_m b)_F
            change = np.zeros_like(right)
            if len(free) > 1:
                chosen = places[free]
                change = -_solve_constrained(gram[np.ix_(chosen, chosen)], right)
                hessian -= right.T @ change  # (K_m b)_F' S (K_n b)_F
            changes.append((free, change))
        return hessian / len(products), changes


@dataclass(frozen=True, eq=False)
class WeightCertificate:
    """Bounds on the optimum, and the solutions and intercepts of the SVMs at the upper bound.

    `exhausted` is True if many SVMs reached their step limit.
    """

    upper: float
    lower: float
    solutions: list[Array]
    intercepts: list[float]
    exhausted: bool = False


def _solve_constrained(matrix: Array, right: Array) -> Array:
    """Solve matrix X = right + 1 c' for the X with zero column sums, where c is unknown."""
    matrix = matrix.copy()
    # a ridge of 1e-10 times the mean diagonal, since points can coincide
    matrix[np.diag_indices_from(matrix)] += 1e-10 * max(float(matrix.trace()), 1.0) / len(matrix)
    ones = np.ones((len(matrix), 1))
    try:
        factor = scipy.linalg.cho_factor(matrix, lower=True, check_finite=False)
        solved = scipy.linalg.cho_solve(factor, np.hstack([right, ones]), check_finite=False)
    except np.linalg.LinAlgError:
        solved = np.asarray(np.linalg.lstsq(matrix, np.hstack([right, ones]), rcond=None)[0])
    # X = A^-1 right - u c' with u = A^-1 1, and 1'X = 0 determines c
    X, unit = solved[:, :-1], solved[:, -1:]
    total = float(unit.sum())
    return np.asarray(X - unit * (X.sum(axis=0) / total)) if total > 0.0 else X


class Grams:
    """Gram matrices K_1, ..., K_M of n points.

    All matrices are kept in float64 if they fit into `cache_mb`, or in float32 if only that fits.
    Otherwise some are kept in float32, preferably those with weight > 0, and the others are
    recomputed at each use. Sums are computed in float64.

    Parameters
    ----------
    kernels : sequence of Kernel
    points : array of shape (n, n_features)
    cache_mb : float
        Maximum memory of all matrices, in MiB.
    n_jobs : int, optional
        Number of threads that compute the matrices.

    Attributes
    ----------
    n : int
    whole : bool
        True if all matrices are kept.
    dtype : dtype
        The precision of the kept matrices.
    """

    kernels: list[Kernel]
    points: Array

    def __init__(
        self, kernels: Sequence[Kernel], points: Array, cache_mb: float, n_jobs: int | None = None
    ) -> None:
        n, count = points.shape[0], len(kernels)
        if gram_mb(n) > cache_mb:
            raise ValueError(
                f"expected cache_mb >= {np.ceil(gram_mb(n)):g}, the size of one Gram matrix of {n} "
                f"samples, got {cache_mb:g}"
            )
        self.kernels, self.points = list(kernels), points
        self.n = n
        single = count * gram_mb(n) > cache_mb
        self.dtype: np.dtype[Any] = np.dtype(np.float32 if single else np.float64)
        matrix_mb = 0.5 * gram_mb(n) if single else gram_mb(n)
        self._max_kept = min(count, int(cache_mb / matrix_mb))
        self.whole: bool = self._max_kept == count
        # matrices that are not kept are computed too, so that every error is raised here
        compute = map(delayed(self._compute_kept), range(count))
        grams = Parallel(n_jobs=n_jobs, require="sharedmem")(compute)
        self._kept = {m: gram for m, gram in enumerate(grams) if gram is not None}
        self._weighted = np.zeros(count, dtype=bool)

    def __len__(self) -> int:
        """Return M."""
        return len(self._weighted)

    def __getitem__(self, m: int) -> Array:
        """Return K_m, shape (n, n); callers must not modify it."""
        if m in self._kept:
            return self._kept[m]
        gram = self._compute(m)
        if self._weighted[m]:  # replace a kept matrix of zero weight
            unweighted = [k for k in self._kept if not self._weighted[k]]
            if unweighted:
                del self._kept[unweighted[0]]
                self._kept[m] = gram.astype(self.dtype, copy=False)
        return gram

    def combined(self, weights: Array) -> Array:
        """Compute sum_m weights_m K_m in float64, shape (n, n)."""
        total = np.zeros((self.n, self.n))
        self._weighted = weights != 0.0
        for m in np.flatnonzero(weights):
            _add_scaled(total, self[int(m)], float(weights[m]))
        return total

    def products(self, b: Array, some: Indices | None = None) -> Array:
        """Compute K_m b for all kernels or only `some`, shape (n_kernels, n)."""
        chosen = range(len(self)) if some is None else some.tolist()
        used = np.flatnonzero(b)
        values = b[used]
        result = np.zeros((len(chosen), self.n))
        for row, m in zip(result, chosen, strict=True):
            if m not in self._kept:  # only the columns with b_i != 0
                row[:] = self.kernels[m](self.points, self.points[used]) @ values
            elif self.dtype == np.float64:
                row[:] = self._kept[m] @ b
            else:
                add_rows(row, self._kept[m], used, values)  # sums in float64
        return result

    def quadratics(self, vectors: Array) -> Array:
        """Compute b'K_m b for each column b of `vectors`, shape (n, k); return shape (M, k)."""
        supports = [np.flatnonzero(b) for b in vectors.T]
        values = [b[used] for b, used in zip(vectors.T, supports, strict=True)]
        result = np.empty((len(self), len(supports)))
        for m in range(len(self)):
            gram = self[m]
            for k, used in enumerate(supports):
                result[m, k] = _quadratic(gram, used, values[k])
        return result

    def slab(self, low: int, high: int) -> Array:
        """Return the rows `low` to `high` of all K_m in float64, from column `low` on.

        The shape is (M, high - low, n - low). Consecutive slabs cover the upper triangles; each
        value is read or computed once.
        """
        result = np.empty((len(self), high - low, self.n - low))
        for m in range(len(self)):
            if m in self._kept:
                result[m] = self._kept[m][low:high, low:]
            else:
                result[m] = self.kernels[m](self.points[low:high], self.points[low:])
        return result

    def _compute(self, m: int) -> Array:
        """Compute K_m; a user's matrix or function may be asymmetric by rounding errors."""
        kernel = self.kernels[m]
        gram = kernel._gram(self.points, self.points)
        return symmetrised(gram) if made_of(kernel, Precomputed, FunctionKernel) else gram

    @blas_limited
    def _compute_kept(self, m: int) -> Array | None:
        """Compute K_m; return it in the kept precision, or None if it does not fit in memory."""
        gram = check_kernel_values(self._compute(m), self.kernels[m])
        return gram.astype(self.dtype, copy=False) if m < self._max_kept else None


def check_psd(gram: Array, m: int, kernel: Kernel) -> None:
    """Raise ValueError unless a matrix is a positive semi-definite Gram matrix."""
    try:
        gram = check_gram(gram)
        proved = isinstance(kernel, Precomputed) and kernel.assume_psd
        smallest = None if proved else negative_eigenvalue(gram)
    except ValueError as error:
        raise ValueError(f"kernel {m}: {error}") from None
    if smallest is not None:
        raise ValueError(
            f"expected positive semi-definite kernels, got the eigenvalue {smallest:.3g} for "
            f"kernel {m}, {short_name(kernel)}; {remedy(smallest)}"
        )


@compiled
def _add_scaled(total: Array, gram: Array, weight: float) -> None:
    """Add weight * gram to `total`."""
    for i in range(gram.shape[0]):
        for j in range(gram.shape[1]):
            total[i, j] += weight * gram[i, j]


@compiled
def _quadratic(gram: Array, used: Indices, values: Array) -> float:
    """Compute sum_ab values_a values_b gram[used_a, used_b] for a symmetric matrix."""
    total = 0.0  # sum over the lower triangle and half of the diagonal
    for a in range(used.size):
        row = 0.5 * values[a] * gram[used[a], used[a]]
        for b in range(a):
            row += values[b] * gram[used[a], used[b]]
        total += values[a] * row
    return 2.0 * total
