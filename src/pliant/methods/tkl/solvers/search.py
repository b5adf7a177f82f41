"""A sequence of support vector machines (SVMs) at different P, and the best bounds on the optimum.

The symbols are those of `pliant.methods.tkl.problem`.

Each solver chooses the next P. The solution w of its SVM gives an upper bound on the optimum, and
D(w) a lower bound; a `Search` stores the best ones. The lower bound kappa(w) - n_P/2
lambda_max(D(w)) is concave in w and steep in the null space of K_P, so the w of a good P can give a
bad bound. A w between that one and the w of the best bound so far gives a better bound. As D is
quadratic in w, evaluating D at the sum of both gives D on the whole segment.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from pliant.core.progress import Progress, Result, Status
from pliant.core.typing import Array, Callback
from pliant.methods.svm import smo
from pliant.methods.svm.dual import Certificate, MarginDual
from pliant.methods.tkl.generalized_kernel import blend_identity
from pliant.methods.tkl.problem import SaddleProblem

INNER_SHARE = 0.1
"""Tolerance of an SVM relative to the gap of the search."""

SVM_STEPS = 1000
"""Maximum number of SVM solver steps per sample; the bounds hold even if the solver stops early."""

WINDOW = 50
"""Number of SVMs over which slow progress is measured; most searches finish earlier."""


@dataclass(frozen=True, eq=False)
class Saddle:
    """Bounds on the optimum: `upper` from the primal at (P, w, b), `lower` from the dual.

    `w`, shape (n_samples,), and `intercept` are the coefficients and the b of the upper bound.
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
        """The maximum error of the objective."""
        return max(0.0, self.upper - self.lower)


@dataclass(eq=False)
class Search:
    """A sequence of SVMs, each warm-started from the previous solution, and the best bounds.

    The search stops when gap <= tol * abs(upper bound), or after `max_iter` SVMs; -1 for no limit.
    The SVM solvers call `callback` with a `Progress`; returning True stops the search. The search
    is IDLE if the gap exceeds `max_ratio` times the gap `WINDOW` SVMs earlier; 1 disables the test.

    `w` is the last solution, `factor` is the factor of the best P, and `best` its coefficients and
    certificate. `zero_gap` is the gap at w = 0, which is the same for all SVMs. `idle` is the
    number of SVMs since the last improvement of a bound.
    """

    problem: SaddleProblem
    tol: float = 1e-3
    max_iter: int = 500
    callback: Callback | None = None
    max_ratio: float = 1.0
    upper: float = np.inf
    best_lower: LowerBound | None = None
    w: Array | None = None
    factor: Array | None = None
    best: tuple[Array, Certificate] | None = None
    zero_gap: float | None = None
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
        """The difference between the best bounds."""
        return max(0.0, self.upper - self.lower)

    @property
    def status(self) -> Status | None:
        """The reason for stopping, or None if the search continues."""
        if self.gap <= self.tol * abs(self.upper):
            return Status.CONVERGED
        if self.stopped:
            return Status.STOPPED
        if 0 <= self.max_iter <= self.n_svms:
            return Status.MAX_ITER
        # slow progress is acceptable once the relative gap is at most 1e-3
        before = self.history[-WINDOW].gap if len(self.history) >= WINDOW else np.inf
        slow = self.gap > max(self.max_ratio * before, 1e-3 * abs(self.upper))
        return Status.IDLE if self.idle >= 100 or slow else None

    def accuracy(self, expected_gain: float = np.inf) -> float:
        """Return the absolute tolerance of the next SVM, given the expected decrease of f."""
        if not np.isfinite(self.upper):
            return np.inf
        # at least 1 % of the gap, as a smaller tolerance would not pay off for small steps
        gain = np.clip(expected_gain, 0.01 * self.gap, self.gap)
        return INNER_SHARE * max(float(gain), 0.2 * self.tol * abs(self.upper))

    def solve_at(
        self,
        factor: Array,
        prox: Prox | None = None,
        *,
        expected_gain: float = np.inf,
        count: int = 1,
    ) -> Evaluation:
        """Solve the SVM at P = factor factor', scaled to trace n_P, and update the bounds."""
        factor = self.problem.scaled(factor)
        gram = self.problem.gram(factor)
        dual = plain = self.problem.dual(gram)
        if prox is not None:
            # -rho/2 |w - centre|^2 = -1/2 w'(rho I)w + rho centre'w - rho/2 |centre|^2. The first
            # two terms change K_P and p; the constant is omitted.
            gram[np.diag_indices_from(gram)] += prox.rho
            dual = self.problem.dual(gram)
            dual = replace(dual, linear=dual.linear + prox.rho * prox.centre)
        accuracy = self.accuracy(expected_gain)
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
        """Solve an SVM to the absolute tolerance min(`accuracy`, 0.03 `upper`, 0.03 `zero_gap`).

        `plain` is the same SVM without the proximal term.
        """
        zero = np.zeros_like(plain.linear)
        if self.zero_gap is None:
            self.zero_gap = plain.bound(zero, 0.0, zero).gap
        limit = min(self.upper, self.zero_gap)
        start = zero if self.w is None else self.w
        result = smo.solve(
            dual,
            start,
            tol=min(accuracy, 0.03 * limit) / (1.0 + limit),
            max_iter=SVM_STEPS * len(start),
            callback=self.report,
        )
        self.w = w = result.x
        certificate = result.certificate
        assert certificate is not None
        f = certificate.decision - certificate.intercept  # K w, with or without rho I
        value, penalty = certificate.value, 0.0
        if prox is not None:
            # The smoothed dual has K_P + rho I and omits -rho/2 |centre|^2: subtract rho w from its
            # f, add the constant to its value, and remove the whole term for the plain SVM.
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
        self.add_bounds(bound, LowerBound(lower, w, gain, matrix), factor)
        return Evaluation(
            w=w, value=value, slack=bound.gap, matrix=matrix, vectors=vectors, values=values
        )

    def add_bounds(
        self, upper: Certificate, lower: LowerBound, factor: Array | None = None
    ) -> bool:
        """Update the bounds at one w; return True if the upper bound improves.

        w solves the SVM at `factor`, or comes from an interior-point step (`factor` is None).
        """
        self.n_svms += 1
        self.idle += 1
        value = upper.value + upper.gap
        better = value < self.upper
        if better:
            self.upper, self.factor, self.best, self.idle = value, factor, (lower.w, upper), 0
        old_lower, best = self.lower, self.best_lower
        if best is None or lower.value > old_lower:
            self.best_lower = lower
        if factor is not None and best is not None and self.status is None:
            self.best_lower = _best_between(self.problem, best, lower)
        if self.lower > old_lower:
            self.idle = 0
        self.history.append(Progress(self.n_svms, self.upper, self.gap))
        return better

    def report(self, _progress: object = None) -> bool:
        """Report the bounds to the callback; return True if the callback stops the search."""
        if self.callback is None:
            return False
        progress = Progress(self.n_svms, self.upper, self.gap)
        self.stopped = self.callback(progress) is True or self.stopped
        return self.stopped

    def result(self) -> Result[Saddle]:
        """Return the solution with the best upper bound; `x` is its factor of P."""
        assert self.best is not None
        assert self.factor is not None
        w, bound = self.best
        return Result(
            x=self.factor,
            value=self.upper,
            gap=self.gap,
            n_iter=self.n_svms,
            status=self.status or Status.IDLE,
            history=self.history,
            certificate=Saddle(self.upper, self.lower, w, bound.intercept),
        )


def solve_given(
    problem: SaddleProblem,
    start: Array,
    *,
    tol: float = 1e-3,
    callback: Callback | None = None,
) -> Result[Saddle]:
    """Solve the SVM at P = start start', learned on other samples, and certify its gap.

    If P has a low rank, w is arbitrary in the null space of K_P and gives a bad lower bound. If the
    gap remains open, SVMs at (1 - s) P + s I give better bounds. The parameters and the result are
    as for `solve`.
    """
    shares = (0.1, 0.3)
    search = Search(problem, tol, 2 + len(shares), callback)
    factor = problem.scaled(start)
    dual = problem.dual_at(factor)
    search.solve_svm(dual, dual, factor)
    if search.status is None:
        search.solve_svm(dual, dual, factor, accuracy=INNER_SHARE * search.tol * search.upper)
    for share in shares:
        if search.status is None:
            del dual  # free its kernel values before the next SVM allocates memory
            blend = blend_identity(factor, share)
            dual = problem.dual_at(blend)
            search.solve_svm(dual, dual, blend, accuracy=search.accuracy())
    return search.result()


class Evaluation(NamedTuple):
    """The solution w of one SVM, shape (n_samples,).

    `value` is kappa(w) - w'K_P w/2 with the proximal term. `slack` is the gap of w in the SVM
    without that term. `matrix` is (1 - floor) D(w), shape (n_P, n_P); `vectors`, shape (n_P, k),
    and `values` are its k largest eigenpairs.
    """

    w: Array
    value: float
    slack: float
    matrix: Array
    vectors: Array
    values: Array


class Prox(NamedTuple):
    """The proximal term -rho/2 |w - centre|^2, rho > 0."""

    rho: float
    centre: Array


class LowerBound(NamedTuple):
    """The lower bound from w, a `gain` <= kappa(w) and the `matrix` (1 - floor) D(w)."""

    value: float
    w: Array
    gain: float
    matrix: Array


def _best_between(problem: SaddleProblem, best: LowerBound, new: LowerBound) -> LowerBound:
    """Return the best lower bound found on the segment between the w of two bounds.

    For s + t = 1, D(s w + t v) = s^2 D(w) + t^2 D(v) + s t (D(w + v) - D(w) - D(v)), and
    s kappa(w) + t kappa(v) <= kappa(s w + t v). The bound is concave in t. It is evaluated
    at t = 1/2 and at up to three maxima of parabolas through the best point and its neighbours.
    """
    cross = problem.quadratic(best.w + new.w) - best.matrix - new.matrix

    def bound_at(t: float) -> LowerBound:
        s = 1.0 - t
        gain = s * best.gain + t * new.gain
        matrix = s * s * best.matrix + t * t * new.matrix + s * t * cross
        return LowerBound(problem.lower_bound(matrix, gain), best.w, gain, matrix)

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
    t = max(bounds, key=value)  # ties go to the end points, which are listed first
    return bounds[t]._replace(w=(1.0 - t) * best.w + t * new.w) if 0.0 < t < 1.0 else bounds[t]


def _parabola_peak(a: float, b: float, c: float, fa: float, fb: float, fc: float) -> float:
    """Return the maximiser of the parabola through a < b < c, moved away from these points."""
    left, right = (b - a) * (fb - fc), (c - b) * (fb - fa)
    total = left + right  # > 0 if the points are concave
    t = b
    if 0.0 < total < np.inf:
        t = b + 0.5 * ((c - b) * right - (b - a) * left) / total
    margin = 0.1 * (c - a)
    t = min(max(t, a + margin), c - margin)
    if abs(t - b) < 0.1 * margin:
        t = b + margin if c - b > b - a else b - margin
    return t


def factorize(P: Array) -> Array:
    """Return F with F F' = P, without columns for negligible eigenvalues."""
    values, vectors = np.linalg.eigh(P)
    kept = values > 1e-14 * values[-1]
    return np.asarray(vectors[:, kept] * np.sqrt(values[kept]))
