r"""LogDet problems with bounds on squared kernel distances of pairs, by cyclic Bregman projections.

    min_{K, xi}  D_ld(K, K0) + nu sum_k d_IS(xi_k, b_k)
    subject to   p_k(K) <= xi_k (similar),  p_k(K) >= xi_k (dissimilar),
    p_k = v'K v, v = e_i - e_j;   d_IS(x, b) = x/b - log(x/b) - 1

(LDK; Jain, Kulis, Davis and Dhillon 2012, with bounds b_k and a penalty parameter nu of the
slack; nu = inf means hard bounds, xi = b). With s_k = +1 for similar pairs, -1 for dissimilar
ones, and duals lam >= 0,

    K = (K0^{-1} + L)^{-1},  L = sum_k s_k lam_k v v',   1/xi_k = 1/b_k - s_k lam_k/nu,
    g(lam) = log det(I + L K0) + nu sum_k log(1 - s_k lam_k b_k/nu)     (hard: - sum s_k lam_k b_k)

is a lower bound of the optimum. K is the minimiser for its own duals: log det cancels in the gap,
a sum over the pairs of terms >= 0,

    gap = sum_k [ nu d_IS(x_k, b_k) - s_k lam_k p_k - nu log(1 - s_k lam_k b_k/nu) ],

with x_k = max(p_k, b_k) or min(p_k, b_k), the best slack for K. With hard bounds the gap is
sum_k s_k lam_k (b_k - p_k) if K satisfies all of them, else unknown. K0 is never inverted: with
K0 = R'R and the positive definite M = I + R L R',

    K = R'M^{-1}R,   Q = -L + L R'M^{-1}R L,   log det(I + L K0) = log det M.

The projection on the bound of pair k, with squared distance p and slack x,

    a = min(lam, s nu/(nu+1) (1/p - 1/x)),  lam -= a,  1/x += s a/nu,
    K += b w w',  w = K (e_i - e_j),  b = s a/(1 - s a p)

is the exact maximum of the dual over lam_k. Each sweep draws a new order of the pairs: neighbours
in a list of pairs share a point, and undo each other's work. K is updated after some tens of
projections at once, by one matrix product; until then w is computed from the old K plus the
updates of these projections.

1/x follows from lam, and is not stored. K follows from the duals: it is computed again, in O(a^3),
every few sweeps, more often after rounding errors, and before the solver returns. A sweep over m
pairs of a points costs O(m a^2) at most.

Hard bounds hold only in the limit. All of them are tightened by a fraction that costs half the
allowed gap: finitely many sweeps then reach a K that satisfies the true bounds.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import scipy.linalg
from numpy.random import RandomState
from scipy.linalg.blas import dgemm
from scipy.linalg.lapack import dpstrf

from pliant.core.jit import compiled
from pliant.core.progress import Progress, Result, Status
from pliant.core.typing import Array, Indices, Mask

MAX_PENDING = 64
"""Maximum number of projections between two updates of K; fewer for a large K."""


class BoundsCertificate(NamedTuple):
    """The value of K for some duals, and a lower bound of the optimum.

    `gram` is K for these duals, shape (a, a), and `value` its objective with the best slack; with
    hard bounds D_ld(K, K0). `lower_bound` is g(lam), and `gap` their difference; nan if K violates
    a hard bound. `max_violation` is the largest violation of a bound by a distance, as a fraction
    of the bound.
    """

    gram: Array
    value: float
    lower_bound: float
    gap: float
    max_violation: float


@dataclass(frozen=True, eq=False)
class DistanceBounds:
    """A LogDet problem with bounds on the distances of pairs.

    `gram` is K0, PSD and exactly symmetric, shape (a, a). `pairs`, shape (m, 2), are row indices
    with a squared distance > 0 in K0; repetitions are allowed. `signs` are +1.0 for similar pairs,
    -1.0 for dissimilar ones, `bounds` are b > 0, and `slack` is nu > 0, or inf.
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
        """Return L = D - W, shape (a, a), for W_ij the sum of s_k lam_k over the pairs (i, j)."""
        a = len(self.gram)
        i, j = self.pairs.T
        # bincount adds the weights of repeated pairs
        weights = np.bincount(i * a + j, weights=self.signs * duals, minlength=a * a)
        weights = weights.reshape(a, a)
        weights += weights.T
        return np.asarray(np.diag(weights.sum(axis=1)) - weights)

    def learned(self, duals: Array) -> tuple[Array, float]:
        """Compute K = R'M^{-1}R and log det(I + L K0) = log det M, in O(a^3).

        Raises LinAlgError if M is not positive definite: these duals have no K.
        """
        lower = self._factorise(self.factor @ self.laplacian(duals))
        # M = C C': K = half'half with half = C^{-1} R
        half = scipy.linalg.solve_triangular(lower, self.factor, lower=True)
        return half.T @ half, 2.0 * float(np.log(lower.diagonal()).sum())

    def matrix(self, duals: Array) -> Array:
        """Compute Q with K = K0 + K0 Q K0, shape (a, a), in O(a^3)."""
        # Q = -L + L R'M^{-1}R L = half'half - L with M = C C', half = C^{-1} R L
        laplacian = self.laplacian(duals)
        product = self.factor @ laplacian
        half = scipy.linalg.solve_triangular(self._factorise(product), product, lower=True)
        return np.asarray(half.T @ half - laplacian)

    def _factorise(self, product: Array) -> Array:
        """Return the Cholesky factor of M = I + R L R' for R L."""
        inner = product @ self.factor.T
        inner = 0.5 * (inner + inner.T)  # exactly symmetric
        inner[np.diag_indices_from(inner)] += 1.0
        return np.asarray(scipy.linalg.cholesky(inner, lower=True, overwrite_a=True))

    def certificate(self, duals: Array, gram: Array, log_det: float) -> BoundsCertificate:
        """Compute the certificate of duals from their K and log det(I + L K0), in O(m)."""
        p = np.maximum(squared_distances(gram, self.pairs), np.finfo(np.float64).tiny)
        violation = max(0.0, float((self.signs * (p / self.bounds - 1.0)).max()))
        pull = self.signs * duals
        # D_ld(K, K0) = tr(K K0^{-1}) - a - log det(K K0^{-1}) = -tr(K L) + log det(I + L K0)
        divergence = log_det - float(pull @ p)
        if math.isinf(self.slack):
            lower = log_det - float(pull @ self.bounds)
            gap = float(pull @ (self.bounds - p)) if violation == 0.0 else math.nan
            return BoundsCertificate(gram, divergence, lower, gap, violation)
        # the best slack, with x = xi/b - 1: d_IS = x - log(1 + x), 0 where p satisfies the bound
        x = self.signs * np.maximum(self.signs * (p / self.bounds - 1.0), 0.0)
        penalty = self.slack * np.asarray(x - np.log1p(x))
        dual = self.slack * np.log1p(-pull * self.bounds / self.slack)
        value, lower = divergence + float(penalty.sum()), log_det + float(dual.sum())
        gap = float((penalty - pull * p - dual).sum())  # term by term: log det cancels exactly
        return BoundsCertificate(gram, value, lower, gap, violation)


def squared_distances(gram: Array, pairs: Indices) -> Array:
    """Return the squared distances K_ii + K_jj - 2 K_ij of some pairs."""
    i, j = pairs.T
    diagonal = gram.diagonal()
    return np.asarray(diagonal[i] + diagonal[j] - 2.0 * gram[i, j])


def apart(gram: Array, pairs: Indices) -> Mask:
    """Return a mask of the pairs with a squared distance above rounding, 1e-10 (K_ii + K_jj)."""
    sums = gram.diagonal()[pairs].sum(axis=1)
    return np.asarray(squared_distances(gram, pairs) > 1e-10 * sums)


def solve(
    problem: DistanceBounds,
    *,
    rng: RandomState,
    tol: float = 1e-3,
    max_iter: int = 100,
    callback: Callable[[Progress], Any] | None = None,
) -> Result[BoundsCertificate]:
    """Maximise the dual to a certified gap, or for `max_iter` sweeps over the pairs.

    It stops when gap <= tol (1 + abs(objective)). `rng` draws the order of the pairs in each sweep.
    `callback` is called with a `Progress` after each sweep; returning True stops the solver. In the
    result `x` holds the duals, `certificate` K and the bounds on the optimum; `n_iter` counts
    sweeps.
    """
    state = ProjectionState(problem)
    status = state.check(tol, max_iter)
    while status is None:
        state.sweep(tol, rng)
        stop = callback is not None and bool(callback(state.history[-1]))
        status = state.check(tol, max_iter, stop)
    proof = state.proof
    return Result(state.duals, proof.value, proof.gap, state.n_iter, status, state.history, proof)


class ProjectionState:
    """The duals, the K that follows from them with log det(K0 K^{-1}), and the history.

    `age` counts the sweeps since K was computed from the duals, `lifetime` is its limit, and `idle`
    counts the last sweeps without progress. `safe` are the last duals with an exact K.
    """

    def __init__(self, problem: DistanceBounds) -> None:
        self.problem = problem
        self.history: list[Progress] = []
        self.n_iter = self.age = self.idle = 0
        self.lifetime, self.best_bound = 1, -math.inf
        self.failed = False
        self.duals = np.zeros(len(problem.signs))
        self.safe = self.duals.copy()
        self.gram, self.log_det = np.array(problem.gram, dtype=np.float64, order="C"), 0.0
        a = len(self.gram)
        # an update has some 1e9 multiplications at most, hundredths of a second
        self.rows = np.empty((int(min(MAX_PENDING, max(4, 1e9 // a**2))), a))
        self.factors = np.empty(len(self.rows))

    def check(self, tol: float, max_iter: int, stop: bool = False) -> Status | None:
        """Certify the duals and record the result; return the reason to stop, or None."""
        self.proof = self.problem.certificate(self.duals, self.gram, self.log_det)
        status = self._status(tol, max_iter, stop)
        if self.age and (status is not None or self.age >= self.lifetime):
            self._recompute()
            status = self._status(tol, max_iter, stop)
        self._record()
        return status

    def _status(self, tol: float, max_iter: int, stop: bool) -> Status | None:
        """Return the reason to stop, or None."""
        if self.proof.gap <= tol * (1.0 + abs(self.proof.value)):
            return Status.CONVERGED
        if stop:
            return Status.STOPPED
        if self.failed or self.idle >= 5:
            return Status.STALLED
        return Status.MAX_ITER if self.n_iter >= max_iter else None

    def _recompute(self) -> None:
        """Compute K from the duals; if rounding made these infeasible, from the last safe ones."""
        drifted = self.gram
        try:
            exact, self.log_det = self.problem.learned(self.duals)
            self.safe = self.duals.copy()
        except np.linalg.LinAlgError:
            self.failed, self.duals = True, self.safe
            exact, self.log_det = self.problem.learned(self.duals)
        self.gram = np.ascontiguousarray(exact)
        # twice as many sweeps, up to 16, before the next time; half as many if K had drifted
        steady = np.abs(drifted - exact).max() <= 1e-10 * np.abs(exact).max()
        self.lifetime = min(16, 2 * self.age) if steady else max(1, self.age // 2)
        self.age = 0
        self.proof = self.problem.certificate(self.duals, self.gram, self.log_det)

    def _record(self) -> None:
        """Add to the history; count the last sweeps without a better bound or gap."""
        proof = self.proof
        idle = bool(self.history) and proof.gap >= min(step.gap for step in self.history)
        self.idle = self.idle + 1 if idle and proof.lower_bound <= self.best_bound else 0
        self.best_bound = max(self.best_bound, proof.lower_bound)
        self.history.append(Progress(self.n_iter, proof.value, proof.gap))

    def sweep(self, tol: float, rng: RandomState) -> None:
        """Project on every bound once, in a new order."""
        problem, targets = self.problem, self._tighten_bounds(tol)
        order = rng.permutation(len(self.duals))
        while len(order):
            done, used, change = _project_pairs(
                self.gram,
                self.rows,
                self.factors,
                problem.pairs,
                problem.signs,
                targets,
                1.0 / problem.slack,
                order,
                self.duals,
            )
            self.log_det += change
            if used:
                rows = self.rows[:used]
                scaled = self.factors[:used, None] * rows
                # K += W' diag(factors) W for the rows w of W, without a copy of K: gram.T is the
                # Fortran-ordered view that BLAS overwrites
                dgemm(1.0, rows.T, scaled.T, 1.0, self.gram.T, trans_b=1, overwrite_c=1)
            order = order[done:]
        self.n_iter += 1
        self.age += 1

    def _tighten_bounds(self, tol: float) -> Array:
        """Return the bounds to project on; hard bounds are tightened by at most a tenth."""
        bounds = self.problem.bounds
        load = float(self.duals @ bounds)
        if math.isfinite(self.problem.slack) or load == 0.0:
            return bounds
        # b (1 - s share) changes the dual value by about share * load: half the allowed gap
        share = min(0.1, 0.5 * tol * (1.0 + abs(self.proof.value)) / load)
        return bounds * (1.0 - self.problem.signs * share)


@compiled
def _project_pairs(
    gram: Array,
    rows: Array,
    factors: Array,
    pairs: Indices,
    signs: Array,
    targets: Array,
    per_slack: float,
    order: Indices,
    duals: Array,
) -> tuple[int, int, float]:
    """Project on bounds in order until `rows` is full, and update the duals.

    Returns the numbers of bounds and rows done, and the change of log det. K becomes
    gram + W' diag(factors) W for these rows W. `per_slack` is 1/nu.
    """
    used, change = 0, 0.0
    for place in range(len(order)):
        if used == len(rows):
            return place, used, change
        k = order[place]
        i, j, s = pairs[k, 0], pairs[k, 1], signs[k]
        # p = v'K v for v = e_i - e_j, where each pending row w adds b (w_i - w_j)^2
        size = gram[i, i] + gram[j, j]
        p = size - 2.0 * gram[i, j]
        for t in range(used):
            p += factors[t] * (rows[t, i] - rows[t, j]) ** 2
        if p <= 1e-15 * size:
            continue
        # maximum of the dual over lam_k: 1/p' = 1/p - s a for the new distance p' equals the new
        # 1/x + s a/nu, hence a = s (1/p - 1/x) nu/(nu + 1); a <= lam keeps lam - a >= 0
        inverse_slack = 1.0 / targets[k] - s * duals[k] * per_slack
        step = min(duals[k], s * (1.0 / p - inverse_slack) / (1.0 + per_slack))
        if step == 0.0:
            continue
        # K^{-1} - s a v v' has by Sherman-Morrison the inverse K + b w w', w = K v, with
        # b = s a / (1 - s a p), and the determinant (1 - s a p) det K^{-1}
        _store_row(gram, rows, factors, used, i, j)
        factors[used] = s * step / (1.0 - s * step * p)
        duals[k] -= step
        change += math.log1p(-s * step * p)
        used += 1
    return len(order), used, change


@compiled
def _store_row(gram: Array, rows: Array, factors: Array, used: int, i: int, j: int) -> None:
    """Write K (e_i - e_j) to the row `used` of W, for K with the updates of the rows before it."""
    row = rows[used]
    for c in range(len(row)):
        row[c] = gram[i, c] - gram[j, c]
    # each pending update b w w' adds b (w_i - w_j) w
    for t in range(used):
        share = factors[t] * (rows[t, i] - rows[t, j])
        for c in range(len(row)):
            row[c] += share * rows[t, c]
