"""A search for the best P: support vector machines (SVMs) for one P each, and the bounds.

The symbols are those of `pliant.methods.tkl.problem`. Each P that a solver tries costs one
SVM. Its solution w gives an upper bound of the optimum, and D(w) a lower
bound; a search keeps the best of both.

Lower bounds are combined: kappa(w) - n_P/2 lambda_max(D(w)) is concave in w, and steep in the
directions that K_P does not reach, so the w of a good P can give a bad bound. Between it and the w
of the best bound so far there is a better one. D is quadratic in w, so one more D, of their sum,
gives D along the whole segment.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from pliant.core.progress import Progress, Result, Status
from pliant.core.typing import Array
from pliant.methods.svm import smo
from pliant.methods.svm.dual import Certificate, MarginDual
from pliant.methods.tkl.generalized_kernel import blended
from pliant.methods.tkl.problem import KernelLearning

COARSEST = 0.03
"""Largest gap to which an SVM is solved, as a share of what is known of its objective."""

INNER_SHARE, FINEST = 0.1, 0.2
"""SVMs are solved to the first share of the gap of the search, but not beyond both shares of the
accuracy that is asked for."""

PATIENT = 0.01
"""A step that promises less than this share of the gap is not worth more accuracy."""

SVM_STEPS = 1000
"""Steps of the inner solver for each sample of an SVM; bounds hold even if it stops early."""

PATIENCE, LAP = 100, 50
"""SVMs without a better bound after which a search gives up; after which its pace is measured."""

SMALL_GAP = 1e-3
"""Relative gap from which on a search may be slow: whoever asks for less asks for a long search."""

TRIES = 4
"""Number of points of a segment at which the lower bound is evaluated."""

BLENDS = (0.1, 0.3)
"""Shares of the identity in P, in the order in which `solve_given` tries them."""


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
        """The most by which the objective may be too large."""
        return max(0.0, self.upper - self.lower)


class Prox(NamedTuple):
    """The proximal term -rho/2 |w - centre|^2, rho > 0."""

    rho: float
    centre: Array


class Evaluation(NamedTuple):
    """The outcome of one SVM: its solution w, shape (n_samples,).

    `value` is kappa(w) - w'K_P w/2, less the proximal term if there is one. `slack` is a bound on
    the distance of w from the optimum of the SVM without the proximal term. `matrix` is D(w), shape
    (n_P, n_P); `vectors`, shape (n_P, k), and `values` are its k largest eigenpairs.
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


class Search:
    """SVMs solved one after the other, each from the solution of the last; the best bounds.

    The search stops when gap <= tol * abs(upper bound), or after `max_iter` SVMs; -1 for no limit.
    `callback` is called with a `Progress` as SVMs advance; returning True stops. A search gives up
    where `LAP` SVMs leave a larger share of the gap than `pace`; 1 for never. `at_zero` is the gap
    of w = 0, which all its SVMs share.
    """

    def __init__(
        self,
        problem: KernelLearning,
        *,
        tol: float = 1e-3,
        max_iter: int = 500,
        callback: Callable[[Progress], Any] | None = None,
        pace: float = 1.0,
    ) -> None:
        self.problem = problem
        self.tol = tol
        self.limit = max_iter if max_iter >= 0 else int(np.iinfo(np.int64).max)
        self.callback = callback
        self.pace = pace
        self.upper = np.inf
        self.best_lower: Lower | None = None
        self.w: Array | None = None
        self.factor: Array | None = None
        self.best: tuple[Array, Certificate] | None = None
        self.at_zero: float | None = None
        self.n_svms = 0
        self.idle = 0
        self.stopped = False
        self.history: list[Progress] = []

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
        """Why the search is over; None if it is not."""
        if self.gap <= self.tol * abs(self.upper):
            return Status.CONVERGED
        if self.stopped:
            return Status.STOPPED
        if self.n_svms >= self.limit:
            return Status.MAX_ITER
        return Status.IDLE if self.idle >= PATIENCE or self._slow else None

    @property
    def _slow(self) -> bool:
        """Whether the gap falls more slowly than `pace`."""
        before = self.history[-LAP].gap if len(self.history) >= LAP else np.inf
        return self.gap > max(self.pace * before, SMALL_GAP * abs(self.upper))

    def accuracy(self, promise: float = np.inf) -> float:
        """Return the gap to which the next SVM is worth solving, given its expected gain."""
        if not np.isfinite(self.upper):
            return np.inf
        worth = np.clip(promise, PATIENT * self.gap, self.gap)
        return INNER_SHARE * max(float(worth), FINEST * self.tol * abs(self.upper))

    def at(
        self,
        factor: Array,
        prox: Prox | None = None,
        *,
        gram: Array | None = None,
        promise: float = np.inf,
        count: int = 1,
    ) -> Evaluation:
        """Solve the SVM at P = factor factor', scaled to its trace, and update the bounds.

        Or at a factor with the right trace and its Gram matrix, which a proximal term overwrites.
        """
        if gram is None:
            factor = self.problem.scaled(factor)
            gram = self.problem.gram(factor)
        plain = self.problem.dual(gram)
        dual = plain if prox is None else self.problem.smoothed(gram, *prox)
        accuracy = self.accuracy(promise)
        return self.of_dual(dual, plain, factor, prox, accuracy=accuracy, count=count)

    def of_dual(
        self,
        dual: MarginDual,
        plain: MarginDual,
        factor: Array,
        prox: Prox | None = None,
        *,
        accuracy: float = np.inf,
        count: int = 1,
    ) -> Evaluation:
        """Solve an SVM to an absolute accuracy, or to COARSEST times its known gap if that is less.

        `plain` is the same SVM without its proximal term.
        """
        zero = np.zeros_like(plain.linear)
        if self.at_zero is None:
            self.at_zero = plain.bound(zero, 0.0, zero).gap
        known = min(self.upper, self.at_zero)
        accuracy = min(accuracy, COARSEST * known)
        start = zero if self.w is None else self.w
        result = smo.solve(
            dual,
            start,
            tol=accuracy / (1.0 + known),
            max_iter=SVM_STEPS * len(start),
            callback=self._report,
        )
        self.n_svms += 1
        self.w = w = result.x
        certificate = result.certificate
        assert certificate is not None
        f = certificate.decision - certificate.intercept
        value, penalty = certificate.value, 0.0
        if prox is not None:
            # The smoothed dual has K_P + rho I and leaves out -rho/2 |centre|^2: take rho w from
            # its f, add the constant to its value, and the whole term to that of the plain SVM.
            f = f - prox.rho * w
            value = value - 0.5 * prox.rho * float(prox.centre @ prox.centre)
            penalty = 0.5 * prox.rho * float(((w - prox.centre) ** 2).sum())
        bound = plain.bound(w, value + penalty, f)
        gain = plain.gain(w)
        matrix, vectors, values, lower = self.problem.oracle(w, gain, count)
        self._update(factor, w, bound, Lower(lower, w, gain, matrix))
        return Evaluation(w, value, bound.gap, matrix, vectors, values)

    def add_bounds(self, upper: Certificate, lower: Lower) -> bool:
        """Update the bounds by a step that counts as an SVM; return whether the upper is better."""
        self.n_svms += 1
        self.idle += 1
        if self.best_lower is None or lower.value > self.lower:
            self.best_lower, self.idle = lower, 0
        value = upper.value + upper.gap
        better = value < self.upper
        if better:
            self.upper, self.best, self.idle = value, (lower.w, upper), 0
        self.history.append(Progress(self.n_svms, self.upper, self.gap))
        self._report(self.history[-1])
        return better

    def _update(self, factor: Array, w: Array, bound: Certificate, lower: Lower) -> None:
        """Keep the better bounds."""
        self.idle += 1
        upper = bound.value + bound.gap
        if self.best is None and not math.isfinite(upper):
            raise ValueError(f"expected a finite objective, got {upper}; lower C or the weights")
        if upper < self.upper:
            self.upper, self.factor, self.best, self.idle = upper, factor, (w, bound), 0
        known, best = self.lower, self.best_lower
        self.best_lower = lower if lower.value > known or best is None else best
        if best is not None and self.status is None:
            self.best_lower = _best_between(self.problem, best, lower)
        if self.lower > known:
            self.idle = 0
        self.history.append(Progress(self.n_svms, self.upper, self.gap))

    def _report(self, progress: Progress) -> bool:
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
            gap=proof.gap,
            n_iter=self.n_svms,
            status=self.status or Status.IDLE,
            history=self.history,
            certificate=proof,
        )


def _best_between(problem: KernelLearning, best: Lower, new: Lower) -> Lower:
    """Return the better of two lower bounds, or a still better one from between them.

    For s + t = 1, D(s w + t v) = s^2 D(w) + t^2 D(v) + s t (D(w + v) - D(w) - D(v)), and
    s kappa(w) + t kappa(v) is at most kappa(s w + t v).
    """
    cross = problem.quadratic(best.w + new.w) - best.matrix - new.matrix

    def at(t: float) -> Lower:
        s = 1.0 - t
        gain = s * best.gain + t * new.gain
        matrix = s * s * best.matrix + t * t * new.matrix + s * t * cross
        return Lower(problem.lower_bound(matrix, gain), best.w, gain, matrix)

    t, between = _peak(at, best, new)
    between = between._replace(w=(1.0 - t) * best.w + t * new.w)
    return max(best, new, between, key=lambda lower: lower.value)


def _peak(at: Callable[[float], Lower], first: Lower, last: Lower) -> tuple[float, Lower]:
    """Return the best t in (0, 1) of `TRIES`, and its bound, from the bounds at 0 and 1.

    The bound is concave in t. The next point is the peak of the parabola through the best point so
    far and its neighbours.
    """
    seen = {0.0: first, 0.5: at(0.5), 1.0: last}
    while len(seen) < 2 + TRIES:
        points = sorted(seen)
        k = max(range(len(points)), key=lambda i: seen[points[i]].value)
        low, middle, high = points[min(max(k, 1), len(points) - 2) - 1 :][:3]
        t = _vertex(low, middle, high, *(seen[x].value for x in (low, middle, high)))
        if t in seen:
            break
        seen[t] = at(t)
    t = max((t for t in seen if 0.0 < t < 1.0), key=lambda t: seen[t].value)
    return t, seen[t]


def _vertex(a: float, b: float, c: float, fa: float, fb: float, fc: float) -> float:
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
    """Return F with F F' = P, without columns that are due to rounding."""
    values, vectors = np.linalg.eigh(P)
    kept = values > 1e-14 * values[-1]
    return np.asarray(vectors[:, kept] * np.sqrt(values[kept]))


def solve_given(problem: KernelLearning, start: Array, **options: Any) -> Result[Saddle]:
    """Solve the SVM at P = start start', learned elsewhere; bound its distance from the optimum.

    Where P has a low rank, w is arbitrary in the directions that K_P does not reach, and bounds the
    optimum badly. Where that leaves the gap open, SVMs at (1 - s) P + s I give better bounds.
    Parameters and result are those of `low_rank.solve`, without `max_iter`.
    """
    search = Search(problem, max_iter=2 + len(BLENDS), **options)
    factor = problem.scaled(start)
    dual = problem.svm(factor)
    search.of_dual(dual, dual, factor)
    if search.status is None:
        search.of_dual(dual, dual, factor, accuracy=INNER_SHARE * search.tol * search.upper)
    for share in BLENDS:
        if search.status is None:
            del dual  # its memory for kernel values goes before the next one's comes
            blend = blended(factor, share)
            dual = problem.svm(blend)
            search.of_dual(dual, dual, blend, accuracy=search.accuracy())
    return search.result()
