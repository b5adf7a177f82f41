"""A kernel-learning saddle point, solved on a factor of P by support vector machines (SVMs).

    minimise over V    f(V) = max_w kappa(w) - 1/2 <D(w), P>,    P = n_P V V'/|V|^2

with the symbols of `pliant.methods.tkl.problem`. The optimal P has a rank of one to three, so V has
only a few columns. f has the gradient -(n_P/|V|^2) (D V - V <V, D V>/|V|^2) at the maximising w
(Danskin), and a step costs one SVM; L-BFGS takes 5 to 20 of them. At a stationary V with an open
gap, the top eigenvector of D is a direction of descent outside the columns of V, and becomes one.

Where K_P itself has a low rank (many features, small C), w jumps and f has kinks. A proximal term
-rho/2 |w - centre|^2 smooths f; its centre moves to w, and rho decreases, whenever the term keeps
the gap open.

The solution w of each SVM gives an upper bound of the optimum, and D(w) a lower bound; a `Search`
keeps the best of both. Lower bounds are combined: kappa(w) - n_P/2 lambda_max(D(w)) is concave in
w, and steep in the directions that K_P does not reach, so the w of a good P can give a bad bound.
Between it and the w of the best bound so far lies a better one. D is quadratic in w: one more D, of
their sum, gives D along the whole segment.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from pliant.core.linalg import InverseHessian
from pliant.core.progress import Progress, Result, Status
from pliant.core.typing import Array, Callback
from pliant.methods.svm import smo
from pliant.methods.svm.dual import Certificate, MarginDual
from pliant.methods.tkl.generalized_kernel import blended
from pliant.methods.tkl.problem import KernelLearning

INNER_SHARE = 0.1
"""Gap of an SVM, as a share of the gap of the search."""

SVM_STEPS = 1000
"""Steps of the inner solver for each sample of an SVM; bounds hold even if it stops early."""

LAP = 50
"""SVMs over which the pace of a search is measured; ordinary searches end within a lap."""

PROX, ANNEAL = 0.3, 0.5
"""Initial rho/2 |w|^2, as a share of the objective; factor of rho when the centre moves."""


@dataclass(frozen=True, eq=False)
class Saddle:
    """Two bounds of the optimum, of the primal at (P, w, b) and of the dual at some other w.

    With the coefficients w, shape (n_samples,), and the intercept b of the upper bound.
    """

    upper: float
    lower: float
    w: Array
    intercept: float

    @property
    def value(self) -> float:
        """The objective: the upper bound."""
        return self.upper

    @property
    def gap(self) -> float:
        """The largest possible error of the objective."""
        return max(0.0, self.upper - self.lower)


class Prox(NamedTuple):
    """The proximal term -rho/2 |w - centre|^2, rho > 0."""

    rho: float
    centre: Array


class Evaluation(NamedTuple):
    """The solution w of one SVM, shape (n_samples,).

    `value` is kappa(w) - w'K_P w/2, with the proximal term. `slack` bounds the distance of w from
    the optimum of the SVM without that term. `matrix` is D(w), shape (n_P, n_P); `vectors`, shape
    (n_P, k), and `values` are its k largest eigenpairs.
    """

    w: Array
    value: float
    slack: float
    matrix: Array
    vectors: Array
    values: Array


class Lower(NamedTuple):
    """The lower bound from a feasible w, a `gain` of at most kappa(w), and the `matrix` D(w)."""

    value: float
    w: Array
    gain: float
    matrix: Array


@dataclass(eq=False)
class Search:
    """A sequence of SVMs, each started from the solution of the last, and the best bounds.

    The search stops when gap <= tol * abs(upper bound), or after `max_iter` SVMs; -1 for no limit.
    `callback` is called with a `Progress` as SVMs advance; returning True stops. A search gives up
    where `LAP` SVMs leave a larger share of the gap than `pace`; 1 for never.

    State: `w` is the last solution, `factor` that of the best P, `best` its coefficients and
    certificate, `at_zero` the gap at w = 0, common to all SVMs, and `idle` the number of SVMs since
    a bound improved.
    """

    problem: KernelLearning
    tol: float = 1e-3
    max_iter: int = 500
    callback: Callback | None = None
    pace: float = 1.0
    upper: float = np.inf
    best_lower: Lower | None = None
    w: Array | None = None
    factor: Array | None = None
    best: tuple[Array, Certificate] | None = None
    at_zero: float | None = None
    n_svms: int = 0
    idle: int = 0
    stopped: bool = False
    history: list[Progress] = field(default_factory=list)

    @property
    def lower(self) -> float:
        """The best lower bound."""
        return -np.inf if self.best_lower is None else self.best_lower.value

    @property
    def gap(self) -> float:
        """The difference of the best bounds."""
        return max(0.0, self.upper - self.lower)

    @property
    def status(self) -> Status | None:
        """The reason for the end of the search, None before it."""
        if self.gap <= self.tol * abs(self.upper):
            return Status.CONVERGED
        if self.stopped:
            return Status.STOPPED
        if 0 <= self.max_iter <= self.n_svms:
            return Status.MAX_ITER
        # a relative gap of 1e-3 or less takes long searches: they may be slow
        before = self.history[-LAP].gap if len(self.history) >= LAP else np.inf
        slow = self.gap > max(self.pace * before, 1e-3 * abs(self.upper))
        return Status.IDLE if self.idle >= 100 or slow else None

    def accuracy(self, promise: float = np.inf) -> float:
        """Return the gap to which the next SVM is worth solving, given its expected gain."""
        if not np.isfinite(self.upper):
            return np.inf
        # steps that promise less than 1 % of the gap are not worth more accuracy
        worth = np.clip(promise, 0.01 * self.gap, self.gap)
        return INNER_SHARE * max(float(worth), 0.2 * self.tol * abs(self.upper))

    def solve_at(
        self,
        factor: Array,
        prox: Prox | None = None,
        *,
        gram: Array | None = None,
        promise: float = np.inf,
        count: int = 1,
    ) -> Evaluation:
        """Solve the SVM at P = factor factor', scaled to trace n_P, and update the bounds.

        A `gram` is K_P for a factor of the right scale; a proximal term overwrites it.
        """
        if gram is None:
            factor = self.problem.scaled(factor)
            gram = self.problem.gram(factor)
        dual = plain = self.problem.dual(gram)
        if prox is not None:
            # -rho/2 |w - centre|^2 = -1/2 w'(rho I)w + rho centre'w - rho/2 |centre|^2: the first
            # two terms change K_P and p, the constant is left out
            gram[np.diag_indices_from(gram)] += prox.rho
            dual = self.problem.dual(gram).shifted(prox.rho * prox.centre)
        accuracy = self.accuracy(promise)
        return self.solve_svm(dual, plain, factor, prox, accuracy=accuracy, count=count)

    def solve_svm(
        self,
        dual: MarginDual,
        plain: MarginDual,
        factor: Array,
        prox: Prox | None = None,
        *,
        accuracy: float = np.inf,
        count: int = 1,
    ) -> Evaluation:
        """Solve an SVM to an absolute accuracy, or to 3 % of its known gap if that is less.

        `plain` is the same SVM without its proximal term.
        """
        zero = np.zeros_like(plain.linear)
        if self.at_zero is None:
            self.at_zero = plain.bound(zero, 0.0, zero).gap
        known = min(self.upper, self.at_zero)
        start = zero if self.w is None else self.w
        result = smo.solve(
            dual,
            start,
            tol=min(accuracy, 0.03 * known) / (1.0 + known),
            max_iter=SVM_STEPS * len(start),
            callback=self.report,
        )
        self.w = w = result.x
        certificate = result.certificate
        assert certificate is not None
        f = certificate.decision - certificate.intercept  # K w, with or without rho I
        value, penalty = certificate.value, 0.0
        if prox is not None:
            # The smoothed dual has K_P + rho I and leaves out -rho/2 |centre|^2: take rho w from
            # its f, add the constant to its value, and the whole term to that of the plain SVM.
            f = f - prox.rho * w
            value = value - 0.5 * prox.rho * float(prox.centre @ prox.centre)
            penalty = 0.5 * prox.rho * float(((w - prox.centre) ** 2).sum())
        bound = plain.bound(w, value + penalty, f)
        if self.best is None and not math.isfinite(bound.value + bound.gap):
            raise ValueError(
                f"expected a finite objective, got {bound.value + bound.gap}; lower C or the "
                "weights"
            )
        gain = plain.gain(w)
        matrix, vectors, values, lower = self.problem.oracle(w, gain, count)
        self.add_bounds(bound, Lower(lower, w, gain, matrix), factor)
        return Evaluation(w, value, bound.gap, matrix, vectors, values)

    def add_bounds(self, upper: Certificate, lower: Lower, factor: Array | None = None) -> bool:
        """Update the bounds at one w; return True if the upper bound improves.

        The w is the solution of the SVM at a factor of P, or a step that counts as an SVM.
        """
        self.n_svms += 1
        self.idle += 1
        value = upper.value + upper.gap
        better = value < self.upper
        if better:
            self.upper, self.factor, self.best, self.idle = value, factor, (lower.w, upper), 0
        known, best = self.lower, self.best_lower
        if best is None or lower.value > known:
            self.best_lower = lower
        if factor is not None and best is not None and self.status is None:
            self.best_lower = _best_between(self.problem, best, lower)
        if self.lower > known:
            self.idle = 0
        self.history.append(Progress(self.n_svms, self.upper, self.gap))
        return better

    def report(self, _progress: object = None) -> bool:
        """Report the bounds to the callback; return True if it stops the search."""
        if self.callback is None:
            return False
        seen = Progress(self.n_svms, self.upper, self.gap)
        self.stopped = self.callback(seen) is True or self.stopped
        return self.stopped

    def result(self) -> Result[Saddle]:
        """Return the solution with the best upper bound; `x` is its factor of P."""
        assert self.best is not None
        assert self.factor is not None
        w, bound = self.best
        proof = Saddle(self.upper, self.lower, w, bound.intercept)
        return Result(
            x=self.factor,
            value=self.upper,
            gap=self.gap,
            n_iter=self.n_svms,
            status=self.status or Status.IDLE,
            history=self.history,
            certificate=proof,
        )


def solve(
    problem: KernelLearning,
    start: Array | None = None,
    *,
    tol: float = 1e-3,
    max_iter: int = 500,
    callback: Callback | None = None,
) -> Result[Saddle]:
    """Learn P to a certified gap by L-BFGS on a factor of low rank.

    Parameters
    ----------
    problem : KernelLearning
    start : array of shape (n_P, r), optional
        Initial factor. By default the top two eigenvectors of D(w), with w from P = I.
    tol : float
        Gap at which the search stops, relative to the upper bound.
    max_iter : int
        Largest number of SVMs; -1 for no limit.
    callback : callable, optional
        Called with a `Progress` as SVMs advance; returning True stops the search.

    Returns
    -------
    Result
        `x` is a factor of P with the squared norm n_P, `value` the upper bound, and `certificate`
        a `Saddle`.
    """
    # Searches that keep 80 % of the gap over a lap have kernel values of very different sizes:
    # hundreds of further steps do not help.
    search = Search(problem, tol, max_iter, callback, pace=0.8)
    descent = LowRankDescent(search)
    V = descent.first_factor(start)
    while search.status is None:
        V = descent.next_factor(descent.find_stationary(V))
    return search.result()


def solve_given(
    problem: KernelLearning,
    start: Array,
    *,
    tol: float = 1e-3,
    callback: Callback | None = None,
) -> Result[Saddle]:
    """Solve the SVM at P = start start', learned elsewhere; bound its distance from the optimum.

    Where P has a low rank, w is arbitrary in the directions that K_P does not reach, and bounds the
    optimum badly. If that leaves the gap open, SVMs at (1 - s) P + s I give better bounds.
    Parameters and result are those of `solve`.
    """
    shares = (0.1, 0.3)
    search = Search(problem, tol, 2 + len(shares), callback)
    factor = problem.scaled(start)
    dual = problem.svm(factor)
    search.solve_svm(dual, dual, factor)
    if search.status is None:
        search.solve_svm(dual, dual, factor, accuracy=INNER_SHARE * search.tol * search.upper)
    for share in shares:
        if search.status is None:
            del dual  # frees its kernel values before those of the next SVM
            blend = blended(factor, share)
            dual = problem.svm(blend)
            search.solve_svm(dual, dual, blend, accuracy=search.accuracy())
    return search.result()


class LowRankPoint(NamedTuple):
    """V, the value and gradient of f there, and the SVM that gave them."""

    V: Array
    value: float
    gradient: Array
    evaluation: Evaluation


@dataclass(eq=False)
class LowRankDescent:
    """Steps of L-BFGS, with the current proximal term; `postponed` if it is not used yet."""

    search: Search
    prox: Prox | None = None
    postponed: bool = False

    def first_factor(self, start: Array | None) -> Array:
        """Solve a first SVM, centre the proximal term at its solution; return the initial V."""
        problem = self.search.problem
        factor: Array = np.eye(problem.size)
        if start is not None:
            # some identity in P: else w is arbitrary where K_P does not reach, and a bad centre
            factor = blended(problem.scaled(start), 0.1)
        first = self.search.solve_at(factor, count=min(2, problem.size))
        # The w of few samples has few directions to jump in: mostly a third fewer SVMs close the
        # gap without the term. Not where K_P has a low rank for every P.
        self.postponed = len(first.w) <= 10 and not problem.kernel.finite_rank
        if not self.postponed:
            self._smooth(first.w)
        if start is not None:
            return start / np.linalg.norm(start)
        # V V' = the top two terms of D(w), each of at least 1e-3 of the first
        values, vectors = first.values, first.vectors
        largest = max(values[0], np.finfo(np.float64).tiny)
        V = vectors * np.sqrt(np.maximum(values / largest, 1e-3))
        return np.asarray(V / np.linalg.norm(V))

    def find_stationary(self, V: Array) -> LowRankPoint:
        """Take steps of L-BFGS until |gradient| |V| is .3 of the gap, or the search is over."""
        search, memory = self.search, InverseHessian()
        here = self._evaluate(V)
        while search.status is None:
            # the gradient is proportional to 1/|V|: the product does not depend on the scale of V
            slope = np.linalg.norm(here.gradient) * np.linalg.norm(here.V)
            if slope < 0.3 * search.gap:
                break
            if self.postponed and search.idle >= 5:
                self.postponed = False
                self._smooth(here.evaluation.w)
            new = self._search_line(here, self._direction(here, memory))
            if new is not None:
                memory.update(new.V - here.V, new.gradient - here.gradient)
                here = new
            elif memory.pairs:
                memory.pairs.clear()
            else:
                break
            # the term may cause .3 of the gap before its centre moves
            hidden = here.evaluation.slack > 0.3 * search.gap
            if self.prox is not None and hidden and search.status is None:
                self.prox = Prox(ANNEAL * self.prox.rho, here.evaluation.w)
                here = self._evaluate(here.V)
        return here

    def next_factor(self, here: LowRankPoint) -> Array:
        """Move the proximal term's centre, or add a column to V, whichever causes more of the gap.

        The gap due to V is n_P/2 (lambda_max(D) - <V, D V>/|V|^2).
        """
        unit = here.V / np.linalg.norm(here.V)
        last, size = here.evaluation, self.search.problem.size
        missing = 0.5 * size * (last.values[0] - np.vdot(unit, last.matrix @ unit))
        if self.prox is not None and last.slack > missing:
            self.prox = Prox(ANNEAL * self.prox.rho, last.w)
        elif unit.shape[1] < size:
            unit = np.hstack([unit, 0.15 * last.vectors[:, :1]])
        return unit

    def _smooth(self, w: Array) -> None:
        """Begin with a proximal term, centred at w: rho/2 |w|^2 = PROX times the objective."""
        squares = float(w @ w)
        if squares > 0.0:
            self.prox = Prox(2.0 * PROX * abs(self.search.upper) / squares, w)

    def _evaluate(self, V: Array, promise: float = np.inf) -> LowRankPoint:
        """Solve the SVM at V; compute f and its gradient there."""
        evaluation = self.search.solve_at(V, self.prox, promise=promise)
        norm = np.linalg.norm(V)
        unit = V / norm
        product = evaluation.matrix @ unit
        # f does not change along V: the gradient is the part of D V orthogonal to V
        slope = product - unit * np.vdot(unit, product)
        gradient = -(self.search.problem.size / norm) * slope
        return LowRankPoint(V, evaluation.value, gradient, evaluation)

    def _direction(self, here: LowRankPoint, memory: InverseHessian) -> Array:
        """Return a direction of descent, at most .7 |V| long; .3 |V| for the first step."""
        size, steepness = np.linalg.norm(here.V), np.linalg.norm(here.gradient)
        direction = -memory.dot(here.gradient)
        if not memory.pairs or np.vdot(direction, here.gradient) >= 0.0:
            memory.pairs.clear()
            direction = -here.gradient * (0.3 * size / steepness)
        length = float(np.linalg.norm(direction))
        return np.asarray(direction * min(1.0, 0.7 * float(size) / length))

    def _search_line(self, here: LowRankPoint, direction: Array) -> LowRankPoint | None:
        """Find a point with a sufficient decrease of f; return None after six failed tries."""
        slope, step = float(np.vdot(direction, here.gradient)), 1.0
        for _ in range(6):
            promise = -step * slope
            noise = self.search.accuracy(promise)
            new = self._evaluate(here.V + step * direction, promise)
            if self.search.status is not None:
                return new
            rise = new.value - here.value
            if rise <= 1e-4 * step * slope + noise:
                return new
            # the next step minimises the parabola through f, its slope at 0 and f at this step
            step *= float(np.clip(-slope * step / (2.0 * (rise - slope * step)), 0.1, 0.5))
        return None


def _best_between(problem: KernelLearning, best: Lower, new: Lower) -> Lower:
    """Return the better of two lower bounds, or a still better one from between them.

    For s + t = 1, D(s w + t v) = s^2 D(w) + t^2 D(v) + s t (D(w + v) - D(w) - D(v)), and
    s kappa(w) + t kappa(v) is at most kappa(s w + t v). The bound is concave in t: each of up to
    four points is the peak of the parabola through the best point so far and its neighbours.
    """
    cross = problem.quadratic(best.w + new.w) - best.matrix - new.matrix

    def bound_at(t: float) -> Lower:
        s = 1.0 - t
        gain = s * best.gain + t * new.gain
        matrix = s * s * best.matrix + t * t * new.matrix + s * t * cross
        return Lower(problem.lower_bound(matrix, gain), best.w, gain, matrix)

    bounds = {0.0: best, 1.0: new, 0.5: bound_at(0.5)}

    def value(t: float) -> float:
        return bounds[t].value

    while len(bounds) < 6:
        points = sorted(bounds)
        k = points.index(max(points, key=value))
        low, middle, high = points[min(max(k, 1), len(points) - 2) - 1 :][:3]
        t = _parabola_peak(low, middle, high, value(low), value(middle), value(high))
        if t in bounds:
            break
        bounds[t] = bound_at(t)
    t = max(bounds, key=value)  # the ends come first: a point between them must be better
    return bounds[t]._replace(w=(1.0 - t) * best.w + t * new.w) if 0.0 < t < 1.0 else bounds[t]


def _parabola_peak(a: float, b: float, c: float, fa: float, fb: float, fc: float) -> float:
    """Return the peak of the parabola through three points, a < b < c, but not close to one."""
    left, right = (b - a) * (fb - fc), (c - b) * (fb - fa)
    total = left + right  # > 0 where the points are concave
    t = b
    if 0.0 < total < np.inf:
        t = b + 0.5 * ((c - b) * right - (b - a) * left) / total
    margin = 0.1 * (c - a)
    t = min(max(t, a + margin), c - margin)
    if abs(t - b) < 0.1 * margin:
        t = b + margin if c - b > b - a else b - margin
    return t


def factor_of(P: Array) -> Array:
    """Return F with F F' = P, without columns of rounding."""
    values, vectors = np.linalg.eigh(P)
    kept = values > 1e-14 * values[-1]
    return np.asarray(vectors[:, kept] * np.sqrt(values[kept]))
