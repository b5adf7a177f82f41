"""A primal-dual interior-point method for kernel learning with few samples.

For m samples, let G_kl be the symmetrised integrals for samples k and l, shape (n_P, n_P), and
M_k = sum_l w_l G_kl. For classification, the best w solves

    maximise over w, t    p'w - n_P t,    Z = t I - 1/2 sum_k w_k M_k positive semi-definite,
                          lower <= w <= upper,  1'w = 0

as the optimal t is half the largest eigenvalue of D(w). The multiplier S of Z, of trace n_P, is the
best P. The iterates follow the central path S Z = mu I to mu = 0 by Newton steps in the direction
of Helmberg, Kojima and Monteiro. Any S gives an upper bound on the optimum, and any w a lower one.

In a basis of r vectors for the range of all D(w), a step takes O(m r^3 + m^2 r^2). Ten to thirty
steps suffice for any rank of K_P, while the search in `low_rank` takes tens to hundreds of SVMs.
At an interior point, S has full rank. Finally, the solver drops as many small eigenvalues of S as
it can while the SVM at the truncated P still closes the gap.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pliant.core.progress import Result, Status
from pliant.core.typing import Array, Callback
from pliant.methods.svm.dual import MarginDual
from pliant.methods.tkl.problem import SaddleProblem
from pliant.methods.tkl.solvers.search import INNER_SHARE, LowerBound, Saddle, Search, factorize

MAX_SAMPLES = 64
"""Maximum number of samples of a problem."""

MAX_STEPS = 100
"""Maximum number of steps; about twenty are typical."""

MIN_STEP = 1e-6
"""Step size, relative to the Newton step, below which the method has stalled."""

LEAST_SHARE = 0.01
"""Minimum factor of a step on mu, and on the gap per complementary pair.

The gap is larger than on the central path while <S, M_k> is not linear in the step. A smaller mu
would then stall the method at a gap that rounding errors decide.
"""


class NewtonStep(NamedTuple):
    """Changes of w, shape (m,), t, S and Z, shape (r, r), and the multipliers of the box."""

    w: Array
    t: float
    S: Array
    Z: Array
    below: Array
    above: Array


class InteriorPoint(NamedTuple):
    """An interior point: w, t, the multipliers S of Z and `below`, `above` of the box."""

    w: Array
    t: float
    S: Array
    below: Array
    above: Array


def solve(
    problem: SaddleProblem,
    *,
    tol: float = 1e-3,
    max_iter: int = 500,
    callback: Callback | None = None,
) -> Result[Saddle] | None:
    """Learn P from few samples; return None if the problem is too large or unsuitable.

    The parameters and the result are as for `low_rank.solve`. Each step counts as one SVM. The
    status is IDLE if rounding errors stop the iteration too early.
    """
    dual = problem.dual(np.empty((0, 0)))
    if not _is_suitable(problem, dual):
        return None
    integrals = _integrate(problem)
    if integrals is None:
        return None
    search = Search(problem, tol, max_iter, callback)
    method = InteriorMethod(problem, dual, *integrals, search)
    try:
        method.advance(method.start())
    except np.linalg.LinAlgError:
        return None
    return search.result()


def _is_suitable(problem: SaddleProblem, dual: MarginDual) -> bool:
    """Return True for classification with few samples, a moderate n_P and no floor."""
    small = len(problem.points) <= MAX_SAMPLES and problem.size <= 512 and problem.fits
    signs = np.sign(dual.upper) + np.sign(dual.lower)  # 0 for regression, or for C = 0
    two_classes = bool((signs != 0.0).all() and len(np.unique(signs)) == 2)
    return small and two_classes and not np.any(dual.epsilon) and not problem.floor


def _integrate(problem: SaddleProblem) -> tuple[Array, Array] | None:
    """Compute U'G_kl U as rows, shape (m, m, r^2), and U, shape (n_P, r), with orthonormal columns.

    As 1'w = 0, every D(w) is in the range of sum_k D(e_k - 1/m). U is a basis of this range, and
    the best P is U S U'. For tessellated kernels r <= 2 m, for any number of features. Return None
    if there are too many integrals.
    """
    m = len(problem.points)
    # sum_k D(e_k - 1/m) = sum_k D(e_k) - D(1)/m, as D is a quadratic form
    centred = sum(map(problem.quadratic, np.eye(m))) - problem.quadratic(np.ones(m)) / m
    values, vectors = np.linalg.eigh(centred)
    U = np.ascontiguousarray(vectors[:, values > 1e-14 * values[-1]])
    r = U.shape[1]
    if r == 0 or (m * r) ** 2 > 5_000_000:  # 40 MB
        return None
    return problem.integrals(U).reshape(m, m, r * r), U


class InteriorMethod:
    """The interior-point iteration on integrals `G` in a `basis`; `search` stores the bounds."""

    problem: SaddleProblem
    dual: MarginDual
    search: Search
    G: Array
    basis: Array
    m: int
    rank: int
    identity: Array

    def __init__(
        self, problem: SaddleProblem, dual: MarginDual, G: Array, basis: Array, search: Search
    ) -> None:
        self.problem, self.dual, self.search = problem, dual, search
        self.G, self.basis = G, basis
        self.m, self.rank = len(dual.linear), basis.shape[1]
        self.identity = np.eye(self.rank)

    def advance(self, point: InteriorPoint | None) -> None:
        """Iterate until the gap closes or the search stops; then reduce the rank of P."""
        search, best = self.search, self.identity
        for _ in range(MAX_STEPS):
            if point is None:
                break
            # M_k = 1/2 dD/dw_k
            M = (point.w @ self.G).reshape(self.m, self.rank, self.rank)
            if self._update_bounds(point, M):
                best = point.S
            # stop at a fifth of the tolerance: dropping small eigenvalues of P increases the gap
            if search.gap <= 0.2 * search.tol * abs(search.upper) or self._is_over():
                break
            point = self._step(point, M)
        self._certify()
        search.factor = self.problem.scaled(self.basis @ factorize(best))
        if search.status is Status.CONVERGED:
            self._reduce(best)

    def _is_over(self) -> bool:
        """Return True if a callback or the step limit stops the search."""
        return self.search.stopped or 0 <= self.search.max_iter <= self.search.n_svms

    def start(self) -> InteriorPoint:
        """Return a point with S Z = mu I at the best multiple of a balanced w."""
        dual, size = self.dual, self.dual.upper - self.dual.lower
        positive = dual.upper > 0.0
        # each class gets half the smaller sum of bounds, so that 1'w = 0 inside the box
        sums = size[positive].sum(), size[~positive].sum()
        w = 0.5 * min(sums) * np.where(positive, size / sums[0], -size / sums[1])
        D = self._quadratic(w)
        gain, trace = dual.gain(w), self.problem.size
        top = float(np.linalg.eigvalsh(D)[-1])
        # s gain - s^2/2 n_P lambda_max(D) is largest at this s <= 1
        share = min(1.0, gain / max(trace * max(top, 0.0), gain))
        w, half = share * w, 0.5 * share**2 * top
        t = half + max(half, 0.1 * share * gain / trace)  # t > lambda_max(D)/2: Z is definite
        inverse = np.linalg.inv(t * self.identity - 0.5 * share**2 * D)
        mu = trace / inverse.trace()  # S = mu Z^-1 has the trace n_P
        S = 0.5 * mu * (inverse + inverse.T)
        return InteriorPoint(
            w=w, t=t, S=S, below=mu / (w - dual.lower), above=mu / (dual.upper - w)
        )

    def _quadratic(self, w: Array) -> Array:
        """Compute D(w) in the basis, shape (r, r)."""
        return (w @ (w @ self.G)).reshape(self.rank, self.rank)

    def _gram(self, S: Array) -> Array:
        """Compute K_P for P = U S U', shape (m, m), with entries <G_kl, S>."""
        return (self.G @ S.ravel()).reshape(self.m, self.m)

    def _update_bounds(self, point: InteriorPoint, M: Array) -> bool:
        """Update the bounds of the search; return True if the upper bound improves."""
        dual, w = self.dual, point.w
        gain, D = dual.gain(w), np.tensordot(w, M, 1)
        # f = K_P w, f_k = <M_k, P>, for P proportional to S with trace n_P
        f = (M.reshape(self.m, -1) @ point.S.ravel()) * (self.problem.size / np.trace(point.S))
        upper = dual.bound(w, gain - 0.5 * float(w @ f), f)
        lower = LowerBound(self.problem.lower_bound(D, gain), w, gain, D)
        better = self.search.add_bounds(upper, lower)
        self.search.report()
        return better

    def _certify(self) -> None:
        """Recompute the best lower bound from D(w), as the basis omits small eigenvalues."""
        best = self.search.best_lower
        assert best is not None
        D = self.problem.quadratic(best.w)
        exact = self.problem.lower_bound(D, best.gain)
        self.search.best_lower = best._replace(value=exact, matrix=D)

    def _step(self, point: InteriorPoint, M: Array) -> InteriorPoint | None:
        """Return the next point, or None if the method stalls.

        The maximum feasible size of the predictor, the Newton step to mu = 0, determines mu.
        """
        dual, w = self.dual, point.w
        Z = point.t * self.identity - 0.5 * np.tensordot(w, M, 1)
        low, high = w - dual.lower, dual.upper - w
        count = 2 * self.m + self.rank  # number of complementary pairs; mu is their mean product
        mu = (np.vdot(point.S, Z) + point.below @ low + point.above @ high) / count
        try:
            system = CondensedSystem(
                dual=dual, point=point, M=M, Z=Z, K=self._gram(point.S), trace=self.problem.size
            )
            reach = self._predictor_reach(system, Z)
            centred = float(np.clip((1.0 - reach) ** 2, LEAST_SHARE, 0.8) * mu)
            # on the central path, the gap is count * mu
            step = system.newton_step(max(centred, LEAST_SHARE * self.search.gap / count))
            # nine tenths of the distance to the boundary
            primal, dual_size = (min(1.0, 0.9 * length) for length in system.reach(step))
        except np.linalg.LinAlgError:  # rounding near the boundary
            return None
        if not min(primal, dual_size) > MIN_STEP:
            return None
        # Z(w + a dw) = Z + a dZ - D(a dw)/2 can be indefinite because of the quadratic term
        curvature, shift = 0.5 * self._quadratic(primal * step.w), 0.0
        if not _is_definite(Z + primal * step.Z - curvature):
            shift = float(np.linalg.eigvalsh(curvature)[-1])  # a larger t is always feasible
        return InteriorPoint(
            w=w + primal * step.w,
            t=point.t + primal * step.t + shift,
            S=point.S + dual_size * step.S,
            below=point.below + dual_size * step.below,
            above=point.above + dual_size * step.above,
        )

    def _predictor_reach(self, system: CondensedSystem, Z: Array) -> float:
        """Return the maximum feasible size of the Newton step to mu = 0, at most 1."""
        step = system.newton_step(0.0)
        primal, dual_size = (min(1.0, length) for length in system.reach(step))
        curvature = 0.5 * self._quadratic(step.w)
        while primal > MIN_STEP and not _is_definite(Z + primal * (step.Z - primal * curvature)):
            primal *= 0.7
        return min(primal, dual_size)

    def _reduce(self, S: Array) -> None:
        """Drop as many small eigenvalues of P as possible while the gap remains closed."""
        search = self.search
        before = search.upper, search.factor, search.best
        accuracy = INNER_SHARE * search.tol * abs(search.lower)
        values, vectors = np.linalg.eigh(S)
        # thresholds on the eigenvalues, relative to the largest one
        for share in (0.1, 0.01, 1e-3, 1e-4, 1e-6, 1e-9, 0.0):
            if self._is_over():
                break
            kept = values > share * values[-1]
            factor = self.problem.scaled(vectors[:, kept] * np.sqrt(values[kept]))
            dual = self.problem.dual(self._gram(factor @ factor.T))
            search.upper, search.best = np.inf, None
            search.solve_svm(dual, dual, self.basis @ factor, accuracy=accuracy)
            if search.status is Status.CONVERGED:
                return
        search.upper, search.factor, search.best = before


class CondensedSystem:
    """The Newton system at a point for any mu, condensed to dw, dt and the multiplier of 1'w = 0.

    Eliminate dZ = dt I - sum_k dw_k M_k, dS = mu W - S - (S dZ W + W dZ S)/2 with W = Z^-1, and
    similarly the multipliers of the box. Stationarity in w and t (tr S = n_P) and 1'w = 0 give

        [H + K + B   -c     1] [dw]   [p + mu (1/low - 1/high - tr M_k W)]
        [  -c'     tr S W   0] [dt] = [mu tr W - n_P                     ]
        [   1'       0      0] [ l]   [0                                 ]

    H_kl = tr M_k S M_l W, symmetrised; K = K_S, the derivative of <S, M_k> in w; c_k = tr M_k S W;
    B = diag(below/low + above/high), with `low` and `high` the distances of w from its bounds.
    """

    point: InteriorPoint
    M: Array
    low: Array
    high: Array
    roots: list[Array]  # inverses of the Cholesky factors of Z and S
    inverse: Array  # W
    solutions: Array  # of the system, shape (m + 2, 2): a constant and the coefficient of mu

    def __init__(
        self, dual: MarginDual, point: InteriorPoint, M: Array, Z: Array, K: Array, trace: int
    ) -> None:
        self.point, self.M = point, M
        self.low, self.high = point.w - dual.lower, dual.upper - point.w
        # W = root_Z' root_Z
        self.roots = [np.linalg.inv(np.linalg.cholesky(matrix)) for matrix in (Z, point.S)]
        self.inverse = self.roots[0].T @ self.roots[0]
        m, flat = len(M), M.reshape(len(M), -1)
        left, right = M @ point.S, M @ self.inverse
        square = left.reshape(m, -1) @ right.transpose(0, 2, 1).reshape(m, -1).T  # tr M_k S M_l W
        SW = point.S @ self.inverse
        H = np.zeros((m + 2, m + 2))
        H[:m, :m] = 0.5 * (square + square.T) + K
        H[np.arange(m), np.arange(m)] += point.below / self.low + point.above / self.high
        H[m, :m] = H[:m, m] = -(flat @ SW.T.ravel())
        H[m, m] = SW.trace()
        H[m + 1, :m] = H[:m, m + 1] = 1.0  # 1'w = 0
        # the right-hand side is linear in mu: a constant column and the coefficients of mu
        centre = 1.0 / self.low - 1.0 / self.high - flat @ self.inverse.ravel()
        sides = np.zeros((m + 2, 2))
        sides[:m, 0], sides[m, 0] = dual.linear, -trace
        sides[:m, 1], sides[m, 1] = centre, self.inverse.trace()
        self.solutions = np.linalg.solve(H, sides)

    def newton_step(self, mu: float) -> NewtonStep:
        """Return the Newton step to S Z = mu I."""
        point, m = self.point, len(self.low)
        solution = self.solutions[:, 0] + mu * self.solutions[:, 1]
        w, t = solution[:m], float(solution[m])
        Z = -np.tensordot(w, self.M, 1)
        Z[np.diag_indices_from(Z)] += t  # dZ = dt I - sum_k dw_k M_k
        product = point.S @ Z @ self.inverse
        S = mu * self.inverse - point.S - 0.5 * (product + product.T)
        # (below + d below)(low + dw) = mu to first order, and similarly for above
        below = (mu - point.below * w) / self.low - point.below
        above = (mu + point.above * w) / self.high - point.above
        return NewtonStep(w=w, t=t, S=S, Z=Z, below=below, above=above)

    def reach(self, step: NewtonStep) -> tuple[float, float]:
        """Return the maximum feasible step sizes for w and t, and for the multipliers."""
        point = self.point
        box = min(_max_step(self.low, step.w), _max_step(self.high, -step.w))
        multipliers = min(_max_step(point.below, step.below), _max_step(point.above, step.above))
        size_Z, size_S = (
            _max_step_psd(root, matrix)
            for root, matrix in zip(self.roots, (step.Z, step.S), strict=True)
        )
        return min(box, size_Z), min(multipliers, size_S)


def _max_step(values: Array, change: Array) -> float:
    """Return the largest a with values + a change >= 0."""
    rate = float((-change / values).max())
    return 1.0 / rate if rate > 0.0 else np.inf


def _max_step_psd(root: Array, change: Array) -> float:
    """Return the largest a with A + a change positive semi-definite, given `root` A root' = I."""
    least = float(np.linalg.eigvalsh(root @ change @ root.T)[0])
    return -1.0 / least if least < 0.0 else np.inf


def _is_definite(matrix: Array) -> bool:
    """Return True if a symmetric matrix is numerically positive definite."""
    try:
        np.linalg.cholesky(matrix)
    except np.linalg.LinAlgError:
        return False
    return True
