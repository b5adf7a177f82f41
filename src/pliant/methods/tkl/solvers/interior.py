"""A kernel-learning saddle point of few samples, solved by a primal-dual interior-point method.

With all integrals G_kl between m samples, each symmetrised and of shape (n_P, n_P), and the
matrices M_k = sum_l w_l G_kl, the best w of classification solves

    maximise over w, t    p'w - n_P t,    Z = t I - 1/2 sum_k w_k M_k positive semi-definite,
                          lower <= w <= upper,  1'w = 0

as t is then half the largest eigenvalue of D(w). The multiplier S of Z, of trace n_P, is the best
P. An iterate follows S Z = mu I to mu = 0 by Newton's steps (the direction of Helmberg, Kojima and
Monteiro); any S gives an upper bound of the optimum, and any w a lower one.

In a basis of the range of all D(w), of r columns, a step takes O(m r^3 + m^2 r^2), and ten to
thirty of them suffice whatever the rank of K_P, where the search of `low_rank` takes tens to
hundreds of SVMs. The S of an interior point has full rank: its small eigenvalues are left out at
the end, where the gap of the SVM at the rest allows it.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np

from pliant.core.progress import Result, Status
from pliant.core.typing import Array
from pliant.methods.svm.dual import MarginDual
from pliant.methods.tkl.problem import KernelLearning
from pliant.methods.tkl.solvers.search import INNER_SHARE, Lower, Saddle, Search, factor_of

FEW_SAMPLES, LARGEST_SHAPE, LARGEST_TENSOR = 64, 512, 5_000_000
"""Most samples, largest n_P, and most integrals between samples (40 MB) of a problem."""

RANK = 1e-14
"""Eigenvalues below this multiple of the largest count as zero in the range of all D(w)."""

SHARE = 0.2
"""Gap at which the steps end, as a share of the gap that is asked for."""

INSIDE, SHORTEST = 0.9, 1e-6
"""Largest share of the way to the boundary that a step takes; the method stalls below the second
share of Newton's step."""

MOST_STEPS = 100
"""Largest number of steps; twenty are usual."""

DROPPED = (0.1, 0.01, 1e-3, 1e-4, 1e-6, 1e-9, 0.0)
"""Shares of the largest eigenvalue of P below which others are left out, in order of trial."""


class _Newton(NamedTuple):
    """A change of w, shape (m,), t, S and Z, shape (r, r), and the multipliers of the box."""

    w: Array
    t: float
    S: Array
    Z: Array
    below: Array
    above: Array


class _Point(NamedTuple):
    """An interior point: w, t, the multipliers S of Z and `below`, `above` of the box."""

    w: Array
    t: float
    S: Array
    below: Array
    above: Array


class _Integrals(NamedTuple):
    """U'G_kl U as rows, shape (m, m, r^2), and U, shape (n_P, r), orthonormal columns.

    As 1'w = 0, every D(w) is in the range of sum_k D(e_k - 1/m), of which U is a basis: the best P
    is U S U'. For tessellated kernels r <= 2 m, however many features there are.
    """

    values: Array
    basis: Array

    @classmethod
    def of(cls, problem: KernelLearning) -> Self | None:
        """Return the integrals; None if they are too many.

        As D(w) is quadratic, G_kl + G_lk = D(e_k + e_l) - D(e_k) - D(e_l).
        """
        m = len(problem.points)
        unit = np.eye(m)
        own = [problem.quadratic(e) for e in unit]
        centred = np.sum(own, axis=0) - problem.quadratic(np.ones(m)) / m
        values, vectors = np.linalg.eigh(centred)
        U = np.ascontiguousarray(vectors[:, values > RANK * values[-1]])
        r = U.shape[1]
        if r == 0 or (m * r) ** 2 > LARGEST_TENSOR:
            return None
        G = np.empty((m, m, r * r))
        for k in range(m):
            G[k, k] = (U.T @ own[k] @ U).ravel()
            for j in range(k):
                both = (U.T @ problem.quadratic(unit[j] + unit[k]) @ U).ravel()
                G[j, k] = G[k, j] = 0.5 * (both - G[j, j] - G[k, k])
        return cls(G, U)


def solve(problem: KernelLearning, **options: Any) -> Result[Saddle] | None:
    """Learn P from few samples; None where `problem` is not of this kind, or too large.

    The parameters are those of `search.Search`, the result is that of `low_rank.solve`. Each step
    counts as one SVM. The status is IDLE where rounding ends the steps too early.
    """
    dual = problem.dual(np.empty((0, 0)))
    if not _suitable(problem, dual):
        return None
    integrals = _Integrals.of(problem)
    if integrals is None:
        return None
    search = Search(problem, **options)
    steps = _Steps(problem, dual, integrals, search)
    try:
        steps.advance(steps.start())
    except np.linalg.LinAlgError:  # of numbers out of the range of floats
        return None
    return search.result()


def _suitable(problem: KernelLearning, dual: MarginDual) -> bool:
    """Return whether this is classification, with few enough samples, without a floor of P."""
    small = len(problem.points) <= FEW_SAMPLES and problem.size <= LARGEST_SHAPE and problem.fits
    signs = np.sign(dual.upper) + np.sign(dual.lower)  # 0 for regression, or for C = 0
    classes = bool((signs != 0.0).all() and len(np.unique(signs)) == 2)
    plain = not np.any(dual.epsilon) and not problem.floor
    return small and classes and plain


class _Steps:
    """The steps of the method, and the bounds that they give to a search."""

    def __init__(
        self, problem: KernelLearning, dual: MarginDual, integrals: _Integrals, search: Search
    ) -> None:
        self.problem, self.dual, self.search = problem, dual, search
        self.G, self.basis = integrals
        self.m, self.rank = len(dual.linear), self.basis.shape[1]
        self.identity: Array = np.eye(self.rank)

    def advance(self, here: _Point | None) -> None:
        """Take steps until the gap is closed or the search is over; then reduce the rank of P."""
        search, best = self.search, self.identity
        for _ in range(MOST_STEPS):
            if here is None:
                break
            M = self._halves(here.w)
            if self._bound(here, M):
                best = here.S
            closed = search.gap <= SHARE * search.tol * abs(search.upper)
            if closed or search.stopped or search.n_svms >= search.limit:
                break
            here = self._step(here, M)
        self._certify()
        search.factor = self.problem.scaled(self.basis @ factor_of(best))
        if search.status is Status.CONVERGED:
            self._reduce(best)

    def start(self) -> _Point:
        """Return the best multiple of a balanced w, a t, and the multipliers of S Z = mu I."""
        dual, size = self.dual, self.dual.upper - self.dual.lower
        positive = dual.upper > 0.0
        sums = size[positive].sum(), size[~positive].sum()
        w = 0.5 * min(sums) * np.where(positive, size / sums[0], -size / sums[1])
        D = self._quadratic(w)
        gain, trace = dual.gain(w), self.problem.size
        top = float(np.linalg.eigvalsh(D)[-1])
        share = min(1.0, gain / max(trace * max(top, 0.0), gain))
        w, half = share * w, 0.5 * share**2 * top
        t = half + max(half, 0.1 * share * gain / trace)
        inverse = np.linalg.inv(t * self.identity - 0.5 * share**2 * D)
        mu = trace / inverse.trace()  # S = mu Z^-1 has the trace n_P
        S = 0.5 * mu * (inverse + inverse.T)
        return _Point(w, t, S, mu / (w - dual.lower), mu / (dual.upper - w))

    def _halves(self, w: Array) -> Array:
        """Return the M_k, half of the derivatives of D(w), shape (m, r, r)."""
        return (w @ self.G).reshape(self.m, self.rank, self.rank)

    def _quadratic(self, w: Array) -> Array:
        """Return D(w) in the basis, shape (r, r)."""
        return (w @ (w @ self.G)).reshape(self.rank, self.rank)

    def _gram(self, S: Array) -> Array:
        """Return K_P for P = U S U', shape (m, m)."""
        return (self.G @ S.ravel()).reshape(self.m, self.m)

    def _bound(self, here: _Point, M: Array) -> bool:
        """Update the bounds of the search; return whether the upper one is better than before."""
        dual, w = self.dual, here.w
        gain, D = dual.gain(w), np.tensordot(w, M, 1)
        f = (M.reshape(self.m, -1) @ here.S.ravel()) * (self.problem.size / np.trace(here.S))
        upper = dual.bound(w, gain - 0.5 * float(w @ f), f)
        lower = Lower(self.problem.lower_bound(D, gain), w, gain, D)
        return self.search.add_bounds(upper, lower)

    def _certify(self) -> None:
        """Compute the best lower bound from D(w) itself: the basis leaves out what is rounding."""
        best = self.search.best_lower
        assert best is not None
        D = self.problem.quadratic(best.w)
        exact = best._replace(value=self.problem.lower_bound(D, best.gain), matrix=D)
        self.search.best_lower = exact

    def _step(self, here: _Point, M: Array) -> _Point | None:
        """Return the next point: a predictor to mu = 0 gives the mu of the step itself."""
        dual, w = self.dual, here.w
        Z = here.t * self.identity - 0.5 * np.tensordot(w, M, 1)
        low, high = w - dual.lower, dual.upper - w
        count = 2 * self.m + self.rank
        mu = (np.vdot(here.S, Z) + here.below @ low + here.above @ high) / count
        try:
            system = _System(dual, here, M, Z, self._gram(here.S), self.problem.size)
            reach = self._reach_ahead(system, Z)
            change = system.newton(float(np.clip((1.0 - reach) ** 2, 0.01, 0.8)) * mu)
            primal, other = (min(1.0, INSIDE * length) for length in system.reach(change))
        except np.linalg.LinAlgError:  # so close to the boundary that rounding is in the way
            return None
        if not min(primal, other) > SHORTEST:
            return None
        # Z is quadratic in w, and below its tangent after a change of w
        bent, lift = 0.5 * self._quadratic(primal * change.w), 0.0
        if not _definite(Z + primal * change.Z - bent):
            lift = float(np.linalg.eigvalsh(bent)[-1])  # a larger t is always feasible
        return _Point(
            w + primal * change.w, here.t + primal * change.t + lift, here.S + other * change.S,
            here.below + other * change.below, here.above + other * change.above,
        )  # fmt: skip

    def _reach_ahead(self, system: _System, Z: Array) -> float:
        """Return how far the step to mu = 0 can go, at most 1."""
        ahead = system.newton(0.0)
        primal, other = (min(1.0, length) for length in system.reach(ahead))
        bent = 0.5 * self._quadratic(ahead.w)
        while primal > SHORTEST and not _definite(Z + primal * (ahead.Z - primal * bent)):
            primal *= 0.7
        return min(primal, other)

    def _reduce(self, S: Array) -> None:
        """Solve SVMs at P without its small eigenvalues, until one closes the gap."""
        search = self.search
        before = search.upper, search.factor, search.best
        accuracy = INNER_SHARE * search.tol * abs(search.lower)
        values, vectors = np.linalg.eigh(S)
        for share in DROPPED:
            if search.stopped or search.n_svms >= search.limit:
                break
            kept = values > share * values[-1]
            factor = self.problem.scaled(vectors[:, kept] * np.sqrt(values[kept]))
            dual = self.problem.dual(self._gram(factor @ factor.T))
            search.upper, search.best = np.inf, None
            search.of_dual(dual, dual, self.basis @ factor, accuracy=accuracy)
            if search.status is Status.CONVERGED:
                return
        search.upper, search.factor, search.best = before


class _System:
    """Newton's equations at a point, for any mu; M as in `_Steps`, K is K_S."""

    def __init__(
        self, dual: MarginDual, here: _Point, M: Array, Z: Array, K: Array, trace: int
    ) -> None:
        self.dual, self.here, self.M, self.trace = dual, here, M, trace
        self.low, self.high = here.w - dual.lower, dual.upper - here.w
        # the inverses of the Cholesky factors of Z and S
        self.roots = [np.linalg.inv(np.linalg.cholesky(matrix)) for matrix in (Z, here.S)]
        self.inverse = self.roots[0].T @ self.roots[0]
        m, flat = len(M), M.reshape(len(M), -1)
        left, right = M @ here.S, M @ self.inverse
        square = left.reshape(m, -1) @ right.transpose(0, 2, 1).reshape(m, -1).T  # tr M_k S M_l W
        both = here.S @ self.inverse
        H = np.zeros((m + 2, m + 2))
        H[:m, :m] = 0.5 * (square + square.T) + K
        H[np.arange(m), np.arange(m)] += here.below / self.low + here.above / self.high
        H[m, :m] = H[:m, m] = -(flat @ both.T.ravel())
        H[m, m] = both.trace()
        H[m + 1, :m] = H[:m, m + 1] = 1.0  # 1'w = 0
        # the right-hand sides are linear in mu
        centre = 1.0 / self.low - 1.0 / self.high - flat @ self.inverse.ravel()
        sides = np.zeros((m + 2, 2))
        sides[:m, 0], sides[m, 0] = dual.linear, -trace
        sides[:m, 1], sides[m, 1] = centre, self.inverse.trace()
        self.solutions = np.linalg.solve(H, sides)

    def newton(self, mu: float) -> _Newton:
        """Return the step to S Z = mu I."""
        here, m = self.here, len(self.low)
        solution = self.solutions[:, 0] + mu * self.solutions[:, 1]
        w, t = solution[:m], float(solution[m])
        Z = -np.tensordot(w, self.M, 1)
        Z[np.diag_indices_from(Z)] += t
        moved = here.S @ Z @ self.inverse
        S = mu * self.inverse - here.S - 0.5 * (moved + moved.T)
        below = (mu - here.below * w) / self.low - here.below
        above = (mu + here.above * w) / self.high - here.above
        return _Newton(w, t, S, Z, below, above)

    def reach(self, change: _Newton) -> tuple[float, float]:
        """Return how far w and t, and the multipliers, can go in units of the change."""
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


def _definite(matrix: Array) -> bool:
    try:
        np.linalg.cholesky(matrix)
    except np.linalg.LinAlgError:
        return False
    return True
