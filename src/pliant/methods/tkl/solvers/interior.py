"""A kernel-learning saddle point of few samples, solved by a primal-dual interior-point method.

With all integrals G_kl between m samples, each symmetrised and of shape (n_P, n_P), and the
matrices M_k = sum_l w_l G_kl, the best w of classification solves

    maximise over w, t    p'w - n_P t,    Z = t I - 1/2 sum_k w_k M_k positive semi-definite,
                          lower <= w <= upper,  1'w = 0

as t is then half the largest eigenvalue of D(w). The multiplier S of Z, of trace n_P, is the best
P. The iterates follow S Z = mu I to mu = 0 by Newton's steps (the direction of Helmberg, Kojima and
Monteiro); any S gives an upper bound of the optimum, and any w a lower one.

In a basis of the range of all D(w), of r columns, a step takes O(m r^3 + m^2 r^2). Ten to thirty
steps suffice for any rank of K_P, where the search of `low_rank` takes tens to hundreds of SVMs.
The S of an interior point has full rank: its small eigenvalues are left out at the end, where the
gap of the SVM at the rest allows it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pliant.core.progress import Result, Status
from pliant.core.typing import Array, Callback
from pliant.methods.svm.dual import MarginDual
from pliant.methods.tkl.problem import KernelLearning
from pliant.methods.tkl.solvers.low_rank import INNER_SHARE, Lower, Saddle, Search, factor_of

FEW_SAMPLES = 64
"""Largest number of samples of a problem."""

MOST_STEPS = 100
"""Largest number of steps; twenty are usual."""

SHORTEST = 1e-6
"""Share of Newton's step below which the method has stalled."""


class NewtonStep(NamedTuple):
    """A change of w, shape (m,), t, S and Z, shape (r, r), and the multipliers of the box."""

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
    problem: KernelLearning,
    *,
    tol: float = 1e-3,
    max_iter: int = 500,
    callback: Callback | None = None,
) -> Result[Saddle] | None:
    """Learn P from few samples; return None for a problem of another kind, or a larger one.

    Parameters and result are those of `low_rank.solve`. Each step counts as one SVM. The status is
    IDLE where rounding ends the steps too early.
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
    except np.linalg.LinAlgError:  # numbers out of the range of floats
        return None
    return search.result()


def _is_suitable(problem: KernelLearning, dual: MarginDual) -> bool:
    """Return True for classification with few samples, a moderate n_P and no floor of P."""
    small = len(problem.points) <= FEW_SAMPLES and problem.size <= 512 and problem.fits
    signs = np.sign(dual.upper) + np.sign(dual.lower)  # 0 for regression, or for C = 0
    classes = bool((signs != 0.0).all() and len(np.unique(signs)) == 2)
    plain = not np.any(dual.epsilon) and not problem.floor
    return small and classes and plain


def _integrate(problem: KernelLearning) -> tuple[Array, Array] | None:
    """Compute U'G_kl U as rows, shape (m, m, r^2), and U, shape (n_P, r), orthonormal columns.

    As 1'w = 0, every D(w) is in the range of sum_k D(e_k - 1/m), of which U is a basis: the best P
    is U S U'. For tessellated kernels r <= 2 m, for any number of features. None if there are too
    many integrals.
    """
    m = len(problem.points)
    unit = np.eye(m)
    own = [problem.quadratic(e) for e in unit]
    # sum_k D(e_k - 1/m) = sum_k D(e_k) - D(1)/m, as D is a quadratic form
    centred = np.sum(own, axis=0) - problem.quadratic(np.ones(m)) / m
    values, vectors = np.linalg.eigh(centred)
    U = np.ascontiguousarray(vectors[:, values > 1e-14 * values[-1]])
    r = U.shape[1]
    if r == 0 or (m * r) ** 2 > 5_000_000:  # 40 MB
        return None
    G = np.empty((m, m, r * r))
    for k in range(m):
        G[k, k] = (U.T @ own[k] @ U).ravel()
        for j in range(k):
            # G_jk + G_kj = D(e_j + e_k) - D(e_j) - D(e_k)
            both = (U.T @ problem.quadratic(unit[j] + unit[k]) @ U).ravel()
            G[j, k] = G[k, j] = 0.5 * (both - G[j, j] - G[k, k])
    return G, U


class InteriorMethod:
    """The steps of the method on the integrals `G` in a `basis`; a search keeps the bounds."""

    def __init__(
        self, problem: KernelLearning, dual: MarginDual, G: Array, basis: Array, search: Search
    ) -> None:
        self.problem, self.dual, self.search = problem, dual, search
        self.G, self.basis = G, basis
        self.m, self.rank = len(dual.linear), basis.shape[1]
        self.identity: Array = np.eye(self.rank)

    def advance(self, here: InteriorPoint | None) -> None:
        """Take steps until the gap is closed or the search is over; then reduce the rank of P."""
        search, best = self.search, self.identity
        for _ in range(MOST_STEPS):
            if here is None:
                break
            # M_k, half of the derivatives of D(w)
            M = (here.w @ self.G).reshape(self.m, self.rank, self.rank)
            if self._update_bounds(here, M):
                best = here.S
            # a fifth of the gap leaves room for P without its small eigenvalues
            if search.gap <= 0.2 * search.tol * abs(search.upper) or self._is_over():
                break
            here = self._step(here, M)
        self._certify()
        search.factor = self.problem.scaled(self.basis @ factor_of(best))
        if search.status is Status.CONVERGED:
            self._reduce(best)

    def _is_over(self) -> bool:
        """Return True if a callback or the limit of steps ends the search."""
        return self.search.stopped or 0 <= self.search.max_iter <= self.search.n_svms

    def start(self) -> InteriorPoint:
        """Return the best multiple of a balanced w, a t, and the multipliers of S Z = mu I."""
        dual, size = self.dual, self.dual.upper - self.dual.lower
        positive = dual.upper > 0.0
        # half of the smaller class's sum of bounds in each class: 1'w = 0, inside the box
        sums = size[positive].sum(), size[~positive].sum()
        w = 0.5 * min(sums) * np.where(positive, size / sums[0], -size / sums[1])
        D = self._quadratic(w)
        gain, trace = dual.gain(w), self.problem.size
        top = float(np.linalg.eigvalsh(D)[-1])
        # s gain - s^2/2 n_P lambda_max(D) is largest at this s <= 1
        share = min(1.0, gain / max(trace * max(top, 0.0), gain))
        w, half = share * w, 0.5 * share**2 * top
        t = half + max(half, 0.1 * share * gain / trace)  # beyond lambda_max(D)/2: Z is definite
        inverse = np.linalg.inv(t * self.identity - 0.5 * share**2 * D)
        mu = trace / inverse.trace()  # S = mu Z^-1 has the trace n_P
        S = 0.5 * mu * (inverse + inverse.T)
        return InteriorPoint(w, t, S, mu / (w - dual.lower), mu / (dual.upper - w))

    def _quadratic(self, w: Array) -> Array:
        """Compute D(w) in the basis, shape (r, r)."""
        return (w @ (w @ self.G)).reshape(self.rank, self.rank)

    def _gram(self, S: Array) -> Array:
        """Compute K_P for P = U S U', shape (m, m): entries <G_kl, S>."""
        return (self.G @ S.ravel()).reshape(self.m, self.m)

    def _update_bounds(self, here: InteriorPoint, M: Array) -> bool:
        """Update the bounds of the search; return True if the upper bound improves."""
        dual, w = self.dual, here.w
        gain, D = dual.gain(w), np.tensordot(w, M, 1)
        # f = K_P w for the multiple P of S with trace n_P: f_k = <M_k, P>
        f = (M.reshape(self.m, -1) @ here.S.ravel()) * (self.problem.size / np.trace(here.S))
        upper = dual.bound(w, gain - 0.5 * float(w @ f), f)
        lower = Lower(self.problem.lower_bound(D, gain), w, gain, D)
        better = self.search.add_bounds(upper, lower)
        self.search.report()
        return better

    def _certify(self) -> None:
        """Compute the best lower bound from the whole D(w): the basis omits small eigenvalues."""
        best = self.search.best_lower
        assert best is not None
        D = self.problem.quadratic(best.w)
        exact = self.problem.lower_bound(D, best.gain)
        self.search.best_lower = best._replace(value=exact, matrix=D)

    def _step(self, here: InteriorPoint, M: Array) -> InteriorPoint | None:
        """Return the next point, None if the method stalls.

        The reach of a predictor, Newton's step to mu = 0, gives the mu of the step itself.
        """
        dual, w = self.dual, here.w
        Z = here.t * self.identity - 0.5 * np.tensordot(w, M, 1)
        low, high = w - dual.lower, dual.upper - w
        count = 2 * self.m + self.rank  # complementary pairs, whose mean product is mu
        mu = (np.vdot(here.S, Z) + here.below @ low + here.above @ high) / count
        try:
            system = CondensedSystem(dual, here, M, Z, self._gram(here.S), self.problem.size)
            reach = self._reach_of_predictor(system, Z)
            change = system.newton_step(float(np.clip((1.0 - reach) ** 2, 0.01, 0.8)) * mu)
            # nine tenths of the way to the boundary
            primal, other = (min(1.0, 0.9 * length) for length in system.reach(change))
        except np.linalg.LinAlgError:  # rounding near the boundary
            return None
        if not min(primal, other) > SHORTEST:
            return None
        # Z(w + a dw) = Z + a dZ - D(a dw)/2: the quadratic term can make it indefinite
        bent, lift = 0.5 * self._quadratic(primal * change.w), 0.0
        if not _is_definite(Z + primal * change.Z - bent):
            lift = float(np.linalg.eigvalsh(bent)[-1])  # a larger t is always feasible
        return InteriorPoint(
            w + primal * change.w, here.t + primal * change.t + lift, here.S + other * change.S,
            here.below + other * change.below, here.above + other * change.above,
        )  # fmt: skip

    def _reach_of_predictor(self, system: CondensedSystem, Z: Array) -> float:
        """Return the largest feasible share of the step to mu = 0, at most 1."""
        ahead = system.newton_step(0.0)
        primal, other = (min(1.0, length) for length in system.reach(ahead))
        bent = 0.5 * self._quadratic(ahead.w)
        while primal > SHORTEST and not _is_definite(Z + primal * (ahead.Z - primal * bent)):
            primal *= 0.7
        return min(primal, other)

    def _reduce(self, S: Array) -> None:
        """Solve SVMs at P without its small eigenvalues, until one closes the gap."""
        search = self.search
        before = search.upper, search.factor, search.best
        accuracy = INNER_SHARE * search.tol * abs(search.lower)
        values, vectors = np.linalg.eigh(S)
        # shares of the largest eigenvalue of P below which others are left out
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
    """Newton's equations at a point for any mu, condensed to dw, dt and the multiplier of 1'w = 0.

    With W = Z^-1, dZ = dt I - sum_k dw_k M_k and dS = mu W - S - (S dZ W + W dZ S)/2, and likewise
    for the multipliers of the box, the stationarity in w and in t (tr S = n_P) and 1'w = 0 are

        [H + K + B   -c     1] [dw]   [p + mu (1/low - 1/high - tr M_k W)]
        [  -c'     tr S W   0] [dt] = [mu tr W - n_P                     ]
        [   1'       0      0] [ l]   [0                                 ]

    H_kl = tr M_k S M_l W, symmetrised; K = K_S, by which <S, M_k> changes with w; c_k = tr M_k S W;
    B = diag(below/low + above/high), `low` and `high` the distances of w from its bounds.
    """

    def __init__(
        self, dual: MarginDual, here: InteriorPoint, M: Array, Z: Array, K: Array, trace: int
    ) -> None:
        self.here, self.M = here, M
        self.low, self.high = here.w - dual.lower, dual.upper - here.w
        # inverses of the Cholesky factors of Z and S; W = root_Z' root_Z
        self.roots = [np.linalg.inv(np.linalg.cholesky(matrix)) for matrix in (Z, here.S)]
        self.inverse = self.roots[0].T @ self.roots[0]
        m, flat = len(M), M.reshape(len(M), -1)
        left, right = M @ here.S, M @ self.inverse
        square = left.reshape(m, -1) @ right.transpose(0, 2, 1).reshape(m, -1).T  # tr M_k S M_l W
        both = here.S @ self.inverse  # S W
        H = np.zeros((m + 2, m + 2))
        H[:m, :m] = 0.5 * (square + square.T) + K
        H[np.arange(m), np.arange(m)] += here.below / self.low + here.above / self.high
        H[m, :m] = H[:m, m] = -(flat @ both.T.ravel())
        H[m, m] = both.trace()
        H[m + 1, :m] = H[:m, m + 1] = 1.0  # 1'w = 0
        # the right-hand side is linear in mu: one column without mu, one for its factor
        centre = 1.0 / self.low - 1.0 / self.high - flat @ self.inverse.ravel()
        sides = np.zeros((m + 2, 2))
        sides[:m, 0], sides[m, 0] = dual.linear, -trace
        sides[:m, 1], sides[m, 1] = centre, self.inverse.trace()
        self.solutions = np.linalg.solve(H, sides)

    def newton_step(self, mu: float) -> NewtonStep:
        """Return the step to S Z = mu I."""
        here, m = self.here, len(self.low)
        solution = self.solutions[:, 0] + mu * self.solutions[:, 1]
        w, t = solution[:m], float(solution[m])
        Z = -np.tensordot(w, self.M, 1)
        Z[np.diag_indices_from(Z)] += t  # dZ = dt I - sum_k dw_k M_k
        moved = here.S @ Z @ self.inverse
        S = mu * self.inverse - here.S - 0.5 * (moved + moved.T)
        # (below + d below)(low + dw) = mu to first order, and likewise above
        below = (mu - here.below * w) / self.low - here.below
        above = (mu + here.above * w) / self.high - here.above
        return NewtonStep(w, t, S, Z, below, above)

    def reach(self, change: NewtonStep) -> tuple[float, float]:
        """Return the largest feasible multiples of a change: for w and t, for the multipliers."""
        here = self.here
        box = min(_reach(self.low, change.w), _reach(self.high, -change.w))
        others = min(_reach(here.below, change.below), _reach(here.above, change.above))
        of_Z, of_S = (
            _reach_psd(root, matrix)
            for root, matrix in zip(self.roots, (change.Z, change.S), strict=True)
        )
        return min(box, of_Z), min(others, of_S)


def _reach(room: Array, change: Array) -> float:
    """Return the largest a with room + a change >= 0."""
    most = float((-change / room).max())
    return 1.0 / most if most > 0.0 else np.inf


def _reach_psd(root: Array, change: Array) -> float:
    """Return the largest a with A + a change positive semi-definite; `root` A root' = I."""
    least = float(np.linalg.eigvalsh(root @ change @ root.T)[0])
    return -1.0 / least if least < 0.0 else np.inf


def _is_definite(matrix: Array) -> bool:
    """Return True if a symmetric matrix is positive definite in floating point."""
    try:
        np.linalg.cholesky(matrix)
    except np.linalg.LinAlgError:
        return False
    return True
