r"""Cyclic Bregman projections for LogDet problems with bounds on squared kernel distances of pairs.

    min_{K, xi}  D_ld(K, K0) + nu sum_k d_IS(xi_k, b_k)
    subject to   p_k(K) <= xi_k (similar),  p_k(K) >= xi_k (dissimilar),
    p_k = v'K v, v = e_i - e_j;   d_IS(x, b) = x/b - log(x/b) - 1

This is LDK (Jain, Kulis, Davis and Dhillon 2012), with bounds b_k and the penalty parameter nu of
the slack xi; nu = inf makes the bounds hard, xi = b. With s_k = +1 for similar pairs, -1 for
dissimilar pairs, and dual variables lam >= 0,

    K = (K0^{-1} + L)^{-1},  L = sum_k s_k lam_k v v',   1/xi_k = 1/b_k - s_k lam_k/nu,
    g(lam) = log det(I + L K0) + nu sum_k log(1 - s_k lam_k b_k/nu)     (hard: - sum s_k lam_k b_k)

where g is a lower bound on the optimum. The log-determinants cancel in the gap, because K minimises
the Lagrangian at lam. The gap is a sum of non-negative terms,

    gap = sum_k [ nu d_IS(x_k, b_k) - s_k lam_k p_k - nu log(1 - s_k lam_k b_k/nu) ],

with the optimal slack for K, x_k = max(p_k, b_k) or min(p_k, b_k). With hard bounds the gap is
sum_k s_k lam_k (b_k - p_k) if K meets all bounds, and unknown otherwise. K0 is never inverted: with
K0 = R'R and the positive definite M = I + R L R',

    K = R'M^{-1}R = K0 + K0 Q K0,   Q = -L + L R'M^{-1}R L,   log det(I + L K0) = log det M.

The projection onto the bound of pair k, with squared distance p and slack x,

    a = min(lam, s nu/(nu+1) (1/p - 1/x)),  lam -= a,  1/x += s a/nu,
    K += b w w',  w = K (e_i - e_j),  b = s a/(1 - s a p)

maximises the dual over lam_k exactly. Each sweep draws a new order of the pairs: successive pairs
in a list often share a point, and each projection would undo the previous one. A single
matrix product updates K after up to `MAX_PENDING` projections. Until then w is computed from the
old K and the pending updates.

1/x is computed from lam, not stored. K is recomputed from lam, in O(a^3), every few sweeps,
more often after rounding errors, and before the solver returns. A sweep over m pairs of a points
costs at most O(m a^2).

The projections satisfy hard bounds only in the limit. The solver therefore tightens the bounds by
a fraction that uses half the allowed gap, so that finitely many sweeps satisfy the true bounds.
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

from pliant.core.loops import compiled
from pliant.core.progress import Progress, Result, Status
from pliant.core.typing import Array, Indices, Mask

MAX_PENDING = 64
"""Maximum number of projections between two updates of K, reduced for a large K."""


class BoundsCertificate(NamedTuple):
    """The objective of K for given dual variables, and a lower bound on the optimum.

    `gram` is the corresponding K, shape (a, a). `value` is its objective with the optimal slack, or
    D_ld(K, K0) for hard bounds. `lower_bound` is g(lam). `gap` is `value` - `lower_bound`,
    or nan if K violates a hard bound. `max_violation` is the largest violation of a bound,
    relative to the bound.
    """

    gram: Array
    value: float
    lower_bound: float
    gap: float
    max_violation: float


@dataclass(frozen=True, eq=False)
class DistanceBounds:
    """A LogDet problem with bounds on the distances of pairs.

    `gram` is K0, PSD and exactly symmetric, shape (a, a). `pairs`, shape (m, 2), holds row indices
    of points with a squared distance > 0 in K0; pairs may be repeated. `signs` holds +1.0 for
    similar and -1.0 for dissimilar pairs, `bounds` holds b > 0, and `slack` is nu > 0, or inf.
    """

    gram: Array
    pairs: Indices
    signs: Array
    bounds: Array
    slack: float = 1.0

    @cached_property
    def factor(self) -> Array:
        """The pivoted Cholesky factor R of K0 = R'R, shape (rank, a)."""
        upper, pivots, rank, _ = dpstrf(self.gram, lower=0)
        factor = np.empty((int(rank), len(self.gram)))
        factor[:, pivots - 1] = np.triu(upper)[: int(rank)]
        return factor

    def laplacian(self, duals: Array) -> Array:
        """Return L = diag(W 1) - W, shape (a, a), where W_ij sums s_k lam_k over pairs (i, j)."""
        a = len(self.gram)
        i, j = self.pairs.T
        # bincount adds the weights of repeated pairs
        weights = np.bincount(i * a + j, weights=self.signs * duals, minlength=a * a)
        weights = weights.reshape(a, a)
        weights += weights.T
        return np.asarray(np.diag(weights.sum(axis=1)) - weights)

    def learned(self, duals: Array) -> tuple[Array, float]:
        """Compute K = R'M^{-1}R and log det(I + L K0) = log det M, in O(a^3).

        Raises LinAlgError if M is not positive definite: the dual variables then define no K.
        """
        lower = self._factorise(self.factor @ self.laplacian(duals))
        # M = C C', so K = half'half with half = C^{-1} R
        half = scipy.linalg.solve_triangular(lower, self.factor, lower=True)
        return half.T @ half, 2.0 * float(np.log(lower.diagonal()).sum())

    def matrix(self, duals: Array) -> Array:
        """Compute Q in K = K0 + K0 Q K0, shape (a, a), in O(a^3)."""
        # Q = -L + L R'M^{-1}R L = half'half - L with M = C C', half = C^{-1} R L
        laplacian = self.laplacian(duals)
        product = self.factor @ laplacian
        half = scipy.linalg.solve_triangular(self._factorise(product), product, lower=True)
        return np.asarray(half.T @ half - laplacian)

    def _factorise(self, product: Array) -> Array:
        """Return the Cholesky factor of M = I + R L R', given R L."""
        inner = product @ self.factor.T
        inner = 0.5 * (inner + inner.T)  # exactly symmetric
        inner[np.diag_indices_from(inner)] += 1.0
        return np.asarray(scipy.linalg.cholesky(inner, lower=True, overwrite_a=True))

    def certificate(self, duals: Array, gram: Array, log_det: float) -> BoundsCertificate:
        """Compute the certificate of dual variables from K and log det(I + L K0), in O(m)."""
        p = np.maximum(squared_distances(gram, self.pairs), np.finfo(np.float64).tiny)
        violation = max(0.0, float((self.signs * (p / self.bounds - 1.0)).max()))
        pull = self.signs * duals
        # D_ld(K, K0) = tr(K K0^{-1}) - a - log det(K K0^{-1}) = -tr(K L) + log det(I + L K0)
        divergence = log_det - float(pull @ p)
        if math.isinf(self.slack):
            lower = log_det - float(pull @ self.bounds)
            gap = float(pull @ (self.bounds - p)) if violation == 0.0 else math.nan
            return BoundsCertificate(
                gram=gram, value=divergence, lower_bound=lower, gap=gap, max_violation=violation
            )
        # optimal slack x = xi/b - 1, with d_IS = x - log(1 + x), which is 0 if p meets the bound
        x = self.signs * np.maximum(self.signs * (p / self.bounds - 1.0), 0.0)
        logs = np.log(p) - np.log(self.bounds)  # of 1 + x, which may round to 0
        logs = np.where(x > -0.5, np.log1p(np.maximum(x, -0.5)), logs)
        penalty = self.slack * np.asarray(x - logs)
        dual = self.slack * np.log1p(-pull * self.bounds / self.slack)
        value, lower = divergence + float(penalty.sum()), log_det + float(dual.sum())
        gap = float((penalty - pull * p - dual).sum())  # by pair: the log-determinants cancel
        return BoundsCertificate(
            gram=gram, value=value, lower_bound=lower, gap=gap, max_violation=violation
        )


def squared_distances(gram: Array, pairs: Indices) -> Array:
    """Return the squared distances K_ii + K_jj - 2 K_ij of pairs."""
    i, j = pairs.T
    diagonal = gram.diagonal()
    return np.asarray(diagonal[i] + diagonal[j] - 2.0 * gram[i, j])


def separated_pairs(gram: Array, pairs: Indices) -> Mask:
    """Return a mask of pairs whose squared distance exceeds the rounding error.

    The rounding error is estimated as 1e-10 (K_ii + K_jj).
    """
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

    The solver stops if gap <= tol (1 + abs(objective)). `rng` draws the order of the pairs in each
    sweep. `callback` is called with a `Progress` after each sweep; returning True stops the solver.
    In the result, `x` holds the dual variables, `certificate` holds K and the bounds on the
    optimum, and `n_iter` is the number of sweeps.
    """
    state = ProjectionState(problem)
    status = state.check(tol, max_iter)
    while status is None:
        state.sweep(tol, rng)
        stop = callback is not None and bool(callback(state.history[-1]))
        status = state.check(tol, max_iter, stop)
    proof = state.proof
    return Result(
        x=state.duals,
        value=proof.value,
        gap=proof.gap,
        n_iter=state.n_iter,
        status=status,
        history=state.history,
        certificate=proof,
    )


class ProjectionState:
    """The dual variables, the corresponding K and log det(K0 K^{-1}), and the solver's history.

    `age` is the number of sweeps since K was recomputed from the dual variables, at most
    `lifetime`. `idle` is the number of consecutive sweeps without progress. `safe` holds the latest
    dual variables with an exact K.
    """

    n_iter: int
    age: int
    idle: int
    lifetime: int
    best_bound: float
    gram: Array
    log_det: float

    def __init__(self, problem: DistanceBounds) -> None:
        self.problem = problem
        self.history: list[Progress] = []
        self.n_iter = self.age = self.idle = 0
        self.lifetime, self.best_bound = 1, -math.inf
        self.failed: bool = False
        self.duals: Array = np.zeros(len(problem.signs))
        self.safe: Array = self.duals.copy()
        self.gram, self.log_det = np.array(problem.gram, dtype=np.float64, order="C"), 0.0
        a = len(self.gram)
        # an update takes at most about 1e9 multiplications, hundredths of a second
        self.rows: Array = np.empty((int(min(MAX_PENDING, max(4, 1e9 // a**2))), a))
        self.factors: Array = np.empty(len(self.rows))

    def check(self, tol: float, max_iter: int, stop: bool = False) -> Status | None:
        """Certify the dual variables and record the result; return the reason to stop, or None."""
        self.proof: BoundsCertificate = self.problem.certificate(
            self.duals, self.gram, self.log_det
        )
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
        """Recompute K from `duals`, or from `safe` if rounding errors made `duals` infeasible."""
        drifted = self.gram
        try:
            exact, self.log_det = self.problem.learned(self.duals)
            self.safe = self.duals.copy()
        except np.linalg.LinAlgError:
            self.failed, self.duals = True, self.safe
            exact, self.log_det = self.problem.learned(self.duals)
        self.gram = np.ascontiguousarray(exact)
        # double the number of sweeps between recomputations, up to 16; halve it if K had drifted
        steady = np.abs(drifted - exact).max() <= 1e-10 * np.abs(exact).max()
        self.lifetime = min(16, 2 * self.age) if steady else max(1, self.age // 2)
        self.age = 0
        self.proof = self.problem.certificate(self.duals, self.gram, self.log_det)

    def _record(self) -> None:
        """Extend the history, and count the consecutive sweeps without a better bound or gap."""
        proof = self.proof
        idle = bool(self.history) and proof.gap >= min(step.gap for step in self.history)
        self.idle = self.idle + 1 if idle and proof.lower_bound <= self.best_bound else 0
        self.best_bound = max(self.best_bound, proof.lower_bound)
        self.history.append(Progress(self.n_iter, proof.value, proof.gap))

    def sweep(self, tol: float, rng: RandomState) -> None:
        """Project onto every bound once, in a random order."""
        problem, targets = self.problem, self._tighten_bounds(tol)
        order = rng.permutation(len(self.duals))
        while len(order):
            done, used, change = _project_pairs(
                self.gram, self.rows, self.factors, problem.pairs, problem.signs, targets,
                1.0 / problem.slack, order, self.duals,
            )  # fmt: skip
            self.log_det += change
            if used:
                rows = self.rows[:used]
                scaled = self.factors[:used, None] * rows
                # K += W' diag(factors) W for the rows w of W; gram.T is Fortran-ordered, so BLAS
                # updates it in place
                dgemm(1.0, rows.T, scaled.T, 1.0, self.gram.T, trans_b=1, overwrite_c=1)
            order = order[done:]
        self.n_iter += 1
        self.age += 1

    def _tighten_bounds(self, tol: float) -> Array:
        """Return the bounds to project onto: hard bounds are tightened by at most a tenth."""
        bounds = self.problem.bounds
        load = float(self.duals @ bounds)
        if math.isfinite(self.problem.slack) or load == 0.0:
            return bounds
        # bounds b (1 - s share) change the dual value by about share * load, half the allowed gap
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
    """Project onto the bounds in `order` until `rows` is full, and update the dual variables.

    Returns the number of projections, the number of rows used, and the change of log det. K becomes
    gram + W' diag(factors) W for the used rows W. `per_slack` is 1/nu.
    """
    used, change = 0, 0.0
    for position in range(len(order)):
        if used == len(rows):
            return position, used, change
        k = order[position]
        i, j, s = pairs[k, 0], pairs[k, 1], signs[k]
        # p = v'K v with v = e_i - e_j; each pending row w adds b (w_i - w_j)^2
        size = gram[i, i] + gram[j, j]
        p = size - 2.0 * gram[i, j]
        for t in range(used):
            p += factors[t] * (rows[t, i] - rows[t, j]) ** 2
        if p <= 1e-15 * size:
            continue
        # At the maximum over lam_k, 1/p' = 1/p - s a equals 1/x' = 1/x + s a/nu, so a = s (1/p -
        # 1/x) nu/(nu + 1). Capping a at lam keeps lam >= 0.
        inverse_slack = 1.0 / targets[k] - s * duals[k] * per_slack
        step = min(duals[k], s * (1.0 / p - inverse_slack) / (1.0 + per_slack))
        if step == 0.0:
            continue
        # By Sherman-Morrison, K^{-1} - s a v v' has the inverse K + b w w', with w = K v and
        # b = s a / (1 - s a p), and the determinant (1 - s a p) det K^{-1}.
        _store_row(gram, rows, factors, used, i, j)
        factors[used] = s * step / (1.0 - s * step * p)
        duals[k] -= step
        change += math.log1p(-s * step * p)
        used += 1
    return len(order), used, change


@compiled
def _store_row(gram: Array, rows: Array, factors: Array, used: int, i: int, j: int) -> None:
    """Write K (e_i - e_j) to row `used` of W, for K with the pending updates of earlier rows."""
    row = rows[used]
    for c in range(len(row)):
        row[c] = gram[i, c] - gram[j, c]
    # each pending update b w w' adds b (w_i - w_j) w
    for t in range(used):
        share = factors[t] * (rows[t, i] - rows[t, j])
        for c in range(len(row)):
            row[c] += share * rows[t, c]
