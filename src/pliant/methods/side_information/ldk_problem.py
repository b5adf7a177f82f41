r"""The LogDet problem with bounds on squared kernel distances of pairs, its dual and certificate.

    min_{K, xi}  D_ld(K, K0) + nu sum_k d_IS(xi_k, b_k)
    subject to   p_k(K) <= xi_k (similar),  p_k(K) >= xi_k (dissimilar),
    p_k = v'K v, v = e_i - e_j;   d_IS(x, b) = x/b - log(x/b) - 1

(LDK; Jain, Kulis, Davis and Dhillon 2012, with bounds b_k and a penalty parameter nu of the
slack; nu = inf: the bounds are hard, xi = b). With s_k = +1 for similar pairs, -1 for dissimilar
ones, and duals lam >= 0,

    K = (K0^{-1} + L)^{-1},  L = sum_k s_k lam_k v v',   1/xi_k = 1/b_k - s_k lam_k/nu,
    g(lam) = log det(I + L K0) + nu sum_k log(1 - s_k lam_k b_k/nu)     (hard: - sum s_k lam_k b_k)

is a lower bound of the optimum. As K is a minimiser for its own duals, log det cancels in the
gap, which is a sum over the pairs, each term >= 0:

    gap = sum_k [ nu d_IS(x_k, b_k) - s_k lam_k p_k - nu log(1 - s_k lam_k b_k/nu) ],

x_k = max(p_k, b_k) or min(p_k, b_k), the best slack for K. With hard bounds it is
sum_k s_k lam_k (b_k - p_k) if K satisfies all of them, and unknown if not. K0 is never inverted:
with K0 = R'R and the positive definite M = I + R L R',

    K = R'M^{-1}R,   Q = -L + L R'M^{-1}R L,   log det(I + L K0) = log det M.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import scipy.linalg
from scipy.linalg.lapack import dpstrf

from pliant.core.typing import Array, Indices, Mask

SAME = 1e-10
"""Squared distances up to this multiple of K_ii + K_jj are rounding, and are not bounded."""


class BoundsCertificate(NamedTuple):
    """The value of K for some duals, and a lower bound of the optimum.

    `gram` is K for these duals, shape (a, a), and `value` its objective with the best slack; with
    hard bounds D_ld(K, K0). `lower_bound` is g of the duals, and `gap` their difference; nan if the
    bounds are hard and K violates one. `max_violation` is the largest violation of a bound by a
    distance, as a fraction of the bound.
    """

    gram: Array
    value: float
    lower_bound: float
    gap: float
    max_violation: float


@dataclass(frozen=True, eq=False)
class DistanceBounds:
    """A LogDet problem with bounds on the distances of pairs.

    Parameters
    ----------
    gram : array of shape (a, a)
        K0, PSD, exactly symmetric.
    pairs : array of shape (m, 2)
        Row indices i != j, each pair at a squared distance > 0 in K0; repetitions are allowed.
    signs : array of shape (m,)
        +1.0 for similar, -1.0 for dissimilar.
    bounds : array of shape (m,)
        b > 0.
    slack : float
        nu > 0, or inf.
    """

    gram: Array
    pairs: Indices
    signs: Array
    bounds: Array
    slack: float = 1.0

    @cached_property
    def factor(self) -> Array:
        """R with K0 = R'R, shape (rank, a), by a pivoted Cholesky factorisation."""
        upper, pivots, rank, _ = dpstrf(self.gram, lower=0)
        factor = np.empty((int(rank), len(self.gram)))
        factor[:, pivots - 1] = np.triu(upper)[: int(rank)]
        return factor

    def laplacian(self, duals: Array) -> Array:
        """Return L, shape (a, a)."""
        a = len(self.gram)
        i, j = self.pairs.T
        # entry (i, j) is the sum over repeated pairs (i, j)
        weights = np.bincount(i * a + j, weights=self.signs * duals, minlength=a * a)
        weights = weights.reshape(a, a)
        weights += weights.T
        return np.asarray(np.diag(weights.sum(axis=1)) - weights)

    def learned(self, duals: Array) -> tuple[Array, float]:
        """Return K and log det(I + L K0), in O(a^3).

        Raises
        ------
        numpy.linalg.LinAlgError
            If there is no K for the duals: I + L K0 is not positive definite.
        """
        lower = self._lower(self.factor @ self.laplacian(duals))
        half = scipy.linalg.solve_triangular(lower, self.factor, lower=True)
        return half.T @ half, 2.0 * float(np.log(lower.diagonal()).sum())

    def matrix(self, duals: Array) -> Array:
        """Return Q with K = K0 + K0 Q K0, shape (a, a), in O(a^3)."""
        laplacian = self.laplacian(duals)
        product = self.factor @ laplacian
        half = scipy.linalg.solve_triangular(self._lower(product), product, lower=True)
        return np.asarray(half.T @ half - laplacian)

    def _lower(self, product: Array) -> Array:
        """Return the Cholesky factor of M = I + R L R' for R L."""
        inner = product @ self.factor.T
        inner = 0.5 * (inner + inner.T)
        inner[np.diag_indices_from(inner)] += 1.0
        return np.asarray(scipy.linalg.cholesky(inner, lower=True, overwrite_a=True))

    def certificate(self, duals: Array, gram: Array, log_det: float) -> BoundsCertificate:
        """Return the certificate of duals, given K and log det(I + L K0) for them, in O(m)."""
        p = np.maximum(pair_distances(gram, self.pairs), np.finfo(np.float64).tiny)
        violation = max(0.0, float((self.signs * (p / self.bounds - 1.0)).max()))
        pull = self.signs * duals
        divergence = log_det - float(pull @ p)
        if math.isinf(self.slack):
            lower = log_det - float(pull @ self.bounds)
            gap = float(pull @ (self.bounds - p)) if violation == 0.0 else math.nan
            return BoundsCertificate(gram, divergence, lower, gap, violation)
        penalty = self.slack * self._best_excess(p)
        with np.errstate(divide="ignore"):  # a slack beyond 1e16 bounds rounds its inverse to zero
            dual = self.slack * np.log1p(-pull * self.bounds / self.slack)
        value, lower = divergence + float(penalty.sum()), log_det + float(dual.sum())
        gap = float((penalty - pull * p - dual).sum())  # term by term: log det cancels exactly
        return BoundsCertificate(gram, value, lower, gap, violation)

    def _best_excess(self, p: Array) -> Array:
        """Return d_IS of the best slack for each pair; 0 where p satisfies the bound."""
        # with x = xi/b - 1: d_IS = x - log(1 + x)
        x = self.signs * np.maximum(self.signs * (p / self.bounds - 1.0), 0.0)
        with np.errstate(divide="ignore"):
            logarithm = np.log1p(x)
        rounded = x <= -1.0  # p is smaller than the last digit of the bound
        logarithm[rounded] = np.log(p[rounded]) - np.log(self.bounds[rounded])
        return np.asarray(x - logarithm)


def pair_distances(gram: Array, pairs: Indices) -> Array:
    """Return the squared distances K_ii + K_jj - 2 K_ij of some pairs."""
    i, j = pairs.T
    diagonal = gram.diagonal()
    return np.asarray(diagonal[i] + diagonal[j] - 2.0 * gram[i, j])


def apart(gram: Array, pairs: Indices) -> Mask:
    """Return which pairs have a squared distance above rounding."""
    sums = gram.diagonal()[pairs].sum(axis=1)
    return np.asarray(pair_distances(gram, pairs) > SAME * sums)


def percentile_bounds(distances: Array, percentiles: tuple[float, float]) -> tuple[float, float]:
    """Return two percentiles of distances: the bounds for similar and for dissimilar pairs."""
    low, high = np.percentile(distances, percentiles)
    return float(low), float(high)
