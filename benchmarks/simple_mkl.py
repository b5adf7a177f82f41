"""SimpleMKL as its paper has it, around scikit-learn's SVC.

    minimise over the simplex   J(d), the optimum of the dual SVM with K(d) = sum_m d_m K_m

by reduced gradients (Algorithm 1): the largest weight is the pivot; along a direction of descent,
steps to the boundary are taken while J falls, each of which removes a kernel from the direction; a
golden-section search ends the iteration. It stops at a relative duality gap,

    (J + max_m -dJ/dd_m - kappa)/J < tol,   dJ/dd_m = -1/2 b'K_m b,

where kappa is the linear part of the dual and b its solution. After steps to the boundary the
direction can be one of ascent, -1/2 b'(sum_m D_m K_m)b >= 0: then the gradient is computed again
without a search. An iteration that moves nowhere is repeated with ten times the accuracy of the
SVM.

References
----------
A. Rakotomamonjy, F. Bach, S. Canu, Y. Grandvalet, SimpleMKL, JMLR 9 (2008).
"""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter

import numpy as np
from sklearn.svm import SVC

from pliant.core.typing import Array

GOLDEN = (np.sqrt(5.0) - 1.0) / 2.0

WIDTH = 0.1
"""Width of the interval, relative to the longest step, at which a search that has improved ends."""

SHORTEST = 1e-8
"""Width at which a search that has not improved gives up."""

SVM_SHARE = 0.1
"""Tolerance of the SVM over that of the gap; scikit-learn's 1e-3 at a gap of 1e-2."""

FINEST = 1e-10
"""The smallest tolerance of the SVM."""

ZERO = 1e-12
"""Weights below this are zero."""


class OutOfTimeError(Exception):
    """The time limit has passed."""


@dataclass(frozen=True)
class Solved:
    """An SVM: signed dual coefficients b, intercept, and the dual objective J."""

    coef: Array
    intercept: float
    linear: float
    """kappa: sum |b|."""
    objective: float


@dataclass(frozen=True)
class Solution:
    """What SimpleMKL learned."""

    weights: Array
    coef: Array
    intercept: float
    objective: float
    gap: float
    """Relative to the objective."""
    n_svms: int
    n_gradients: int
    stopped: str
    """"" at the tolerance, or else why not: "time" or "no step"."""


def simple_mkl(
    grams: Array,
    y: Array,
    C: float,
    *,
    tol: float = 1e-2,
    seconds: float = np.inf,
) -> Solution:
    """Learn the weights of kernels.

    Parameters
    ----------
    grams : array of shape (M, n, n)
    y : array of shape (n,)
        Labels -1 and 1.
    C : float
    tol : float
        The relative duality gap at which to stop.
    seconds : float
        Time limit, looked at between two SVMs.
    """
    return _Descent(grams, y, C, tol, seconds).run()


class _Descent:
    def __init__(self, grams: Array, y: Array, C: float, tol: float, seconds: float) -> None:
        self.grams, self.y, self.C, self.tol = grams, y, C, tol
        self.n_kernels, self.n = grams.shape[:2]
        self.svm_tol = min(1e-3, SVM_SHARE * tol)
        self.deadline = perf_counter() + seconds
        self.n_svms = self.n_gradients = 0
        self.weights: Array = np.full(self.n_kernels, 1.0 / self.n_kernels)
        self.gram = self.combined(self.weights)
        self.solved = self.solve(self.gram)

    def run(self) -> Solution:
        """Iterate to the tolerance, the time limit, or until no step helps."""
        stopped = ""
        gradient, gap = self.gradient_and_gap()
        while gap >= self.tol:
            try:
                moved = self.iterate(gradient)
                if not moved and self.svm_tol <= FINEST:
                    stopped = "no step"
                    break
                if not moved:
                    self.svm_tol = max(FINEST, 0.1 * self.svm_tol)
                    self.solved = self.solve(self.gram)
            except OutOfTimeError:
                stopped = "time"
            gradient, gap = self.gradient_and_gap()
            if stopped:
                break
        return Solution(
            self.weights, self.solved.coef, self.solved.intercept, self.solved.objective, gap,
            self.n_svms, self.n_gradients, "" if gap < self.tol else stopped,
        )  # fmt: skip

    def iterate(self, gradient: Array) -> bool:
        """Take steps to the boundary while J falls, then search; return whether J fell at all."""
        pivot = int(np.argmax(self.weights))
        direction = -(gradient - gradient[pivot])
        direction[(self.weights <= 0.0) & (direction < 0.0)] = 0.0
        direction[pivot] = 0.0
        direction[pivot] = -direction.sum()
        slope, moved = self.combined(direction), False
        while (shrinking := direction < 0.0).any():
            steps = np.full(self.n_kernels, np.inf)
            steps[shrinking] = -self.weights[shrinking] / direction[shrinking]
            first = int(np.argmin(steps))
            longest = steps[first]
            end = self.solve(self.gram + longest * slope)
            if end.objective >= self.solved.objective:
                falling = self.solved.coef @ slope @ self.solved.coef > 0.0
                return (falling and self.search(direction, slope, longest, end)) or moved
            self.move(direction, slope, longest, end)
            self.weights[first] = 0.0
            moved = True
            if first == pivot:
                break
            # The kernel that has gone leaves its share of the direction to the pivot.
            slope -= direction[first] * (self.grams[first] - self.grams[pivot])
            direction[pivot] += direction[first]
            direction[first] = 0.0
        return moved

    def search(self, direction: Array, slope: Array, longest: float, end: Solved) -> bool:
        """Go to the lowest point that a golden-section search sees; return whether J fell."""
        start, best, step = self.solved.objective, self.solved, 0.0
        low, high = 0.0, longest
        left, right = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
        tried = {p: self.solve(self.gram + p * slope) for p in (left, right)}
        while True:
            for place, solved in tried.items():
                if solved.objective < best.objective:
                    best, step = solved, place
            improved = best.objective < start
            if high - low <= (WIDTH if improved else SHORTEST) * longest:
                break
            if tried[left].objective < tried[right].objective:
                high, right = right, left
                left = high - GOLDEN * (high - low)
                tried = {right: tried[right], left: self.solve(self.gram + left * slope)}
            else:
                low, left = left, right
                right = low + GOLDEN * (high - low)
                tried = {left: tried[left], right: self.solve(self.gram + right * slope)}
        if improved:
            self.move(direction, slope, step, best)
        return improved

    def move(self, direction: Array, slope: Array, step: float, solved: Solved) -> None:
        """Take a step, at the end of which the SVM has been solved."""
        self.weights = self.weights + step * direction
        self.weights[self.weights < ZERO] = 0.0
        self.gram = self.gram + step * slope
        self.solved = solved

    def solve(self, gram: Array) -> Solved:
        """Solve the SVM on a Gram matrix."""
        if self.n_svms and perf_counter() > self.deadline:
            raise OutOfTimeError
        self.n_svms += 1
        settings = {"kernel": "precomputed", "C": self.C, "tol": self.svm_tol, "cache_size": 1000}
        model = SVC(**settings).fit(gram, self.y)
        coef, support = model.dual_coef_[0], model.support_
        linear = np.abs(coef).sum()
        quadratic = coef @ gram[np.ix_(support, support)] @ coef
        every = np.zeros(self.n)
        every[support] = coef
        return Solved(every, float(model.intercept_[0]), linear, linear - 0.5 * quadratic)

    def gradient_and_gap(self) -> tuple[Array, float]:
        """Return dJ/dd and the relative duality gap."""
        self.n_gradients += 1
        coef = self.solved.coef
        products = (self.grams.reshape(-1, self.n) @ coef).reshape(self.n_kernels, self.n)
        gradient = -0.5 * (products @ coef)
        J = self.solved.objective
        return gradient, float((J - gradient.min() - self.solved.linear) / J)

    def combined(self, weights: Array) -> Array:
        """Return sum_m weights_m K_m, shape (n, n)."""
        return (weights @ self.grams.reshape(self.n_kernels, -1)).reshape(self.n, self.n)
