"""Algorithm 2 of Talitckii, Colbert and Peet, written plainly from its pseudo-code.

    minimise over P, maximise over w   kappa(w) - 1/2 sum_ij P_ij D_ij(w),   tr P = n_P
    D_ij(w) = sum_kl w_k w_l G_ij(x_k, x_l)

by Frank-Wolfe steps: OPT_A (a support vector machine at P_k, by libsvm), OPT_P (the best P for
its w), and the best of a fixed number of step sizes, at the cost of one support vector machine
each. The kernel and the oracle are those of the paper, corrected: monomials of x of degree 1 at
most, block (2, 1) of Corollary 12, and the eigenvector of the largest eigenvalue of D. Each D_ij is
one product with a matrix of the size of the Gram matrix, n_P^2 of them in all.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from time import process_time
from typing import Any, TypeAlias

import numpy as np
from sklearn.svm import SVC, SVR

from pliant.core.typing import Array

GRIDS = {"even": np.linspace(0.1, 1.0, 10), "fine": np.geomspace(1e-3, 1.0, 10)}
"""Step sizes tried in each iteration; the paper gives neither their number nor their
values. The second has small ones, which the last iterations need."""

VIOLATION = 1e-4
"""libsvm's tolerance. Its default, 1e-3, keeps some gaps from closing."""

Blocks: TypeAlias = tuple[tuple[Array, Array], tuple[Array, Array]]
"""A Gram-size matrix for each quarter of P."""


def measures(X: Array, lower: float, upper: float) -> tuple[Array, Array]:
    """Return p and B: the measure of {z >= x_k}, and of {z >= x_k and z >= x_l}, in the box.

    B is made feature by feature: one array (m, m, n) would not fit.
    """
    p = np.prod((upper - X) / (upper - lower), axis=1)
    both = np.ones((len(X), len(X)), dtype=X.dtype)
    for x in X.T:
        both *= (upper - np.maximum(x[:, None], x)) / (upper - lower)
    return p, both


def tessellated_blocks(X: Array, lower: float, upper: float) -> tuple[Array, Blocks]:
    """Return Z and T with G_ij(x_k, x_l) = Z_ki Z_lj T_kl, T of the block that (i, j) is in.

    Z has the columns 1, x_1, ..., x_n, and T the measure of {z >= x_k or not, z >= x_l or not} in
    the box [lower, upper]^n, whose whole measure is 1.
    """
    Z = np.column_stack([np.ones(len(X)), X])
    p, both = measures(X, lower, upper)
    rows, columns = p[:, None], p[None, :]
    return Z, ((both, rows - both), (columns - both, 1.0 - rows - columns + both))


@dataclass(frozen=True)
class Machine:
    """A support vector machine in w: its model, and its objectives."""

    model: Callable[[], Any]
    """Makes an unfitted estimator of scikit-learn with a precomputed kernel."""
    y: Array
    gain: Callable[[Array], float]
    """w -> kappa(w)."""
    loss: Callable[[Array], float]
    """The values of the decision function -> C times the sum of the losses."""


def classifier(y: Array, C: float) -> Machine:
    """Return the classifier of labels -1 and 1: w = alpha y, kappa = sum(alpha)."""
    return Machine(
        lambda: SVC(C=C, kernel="precomputed", tol=VIOLATION, cache_size=1000),
        y,
        lambda w: float(y @ w),
        lambda f: C * float(np.maximum(0.0, 1.0 - y * f).sum()),
    )


def regressor(y: Array, C: float, epsilon: float = 0.1) -> Machine:
    """Return the epsilon-regression: kappa = y'w - epsilon |w|_1."""
    return Machine(
        lambda: SVR(C=C, epsilon=epsilon, kernel="precomputed", tol=VIOLATION, cache_size=1000),
        y,
        lambda w: float(y @ w) - epsilon * float(np.abs(w).sum()),
        lambda f: C * float(np.maximum(0.0, np.abs(y - f) - epsilon).sum()),
    )


@dataclass(frozen=True)
class _Solved:
    """A support vector machine at a P: w, and OPT_A(P) from below and from above."""

    w: Array
    dual: float
    primal: float


@dataclass
class Algorithm2:
    """The iteration, and its state so far: ``P``, its bounds and its counts."""

    Z: Array
    blocks: Blocks
    """From `tessellated_blocks`, as Z."""
    machine: Machine
    steps: Array
    """The candidates of the line search."""
    tol: float = 1e-3
    """Stop when upper - lower <= tol * upper: upper is the objective of the primal at (P_k, w),
    lower is kappa(w) - n_P/2 lambda_max(D(w)), the best so far of each."""
    max_iter: int = 100
    seconds: float = 600.0
    """Stop after so long, too, by the processor's clock."""
    upper: float = field(default=np.inf, init=False)
    lower: float = field(default=-np.inf, init=False)
    n_iter: int = field(default=0, init=False)
    n_machines: int = field(default=0, init=False)
    seconds_in_D: float = field(default=0.0, init=False)
    """Spent on D and its eigenvector."""
    stopped: str = field(default="", init=False)
    """Why: "gap", "iterations" or "time"."""

    def __post_init__(self) -> None:
        self.size = 2 * self.Z.shape[1]
        self.P = np.eye(self.size)

    @property
    def gap(self) -> float:
        """The certified gap, relative to the upper bound."""
        return (self.upper - self.lower) / abs(self.upper)

    def run(self) -> Algorithm2:
        """Iterate from P = I until one of the three limits is met."""
        end = process_time() + self.seconds
        K = self.gram(self.P)
        at = self.solve(K)
        while not self._finished(at, end):
            v = self.largest_eigenvector(at.w)
            if self._finished(at, end):
                break
            S = self.size * np.outer(v, v)
            step, K, at = self.line_search(K, self.gram(S), end)
            self.P += step * (S - self.P)
            self.n_iter += 1
        return self

    def _finished(self, at: _Solved, end: float) -> bool:
        self.upper = min(self.upper, at.primal)
        if self.gap <= self.tol:
            self.stopped = "gap"
        elif process_time() >= end:
            self.stopped = "time"
        elif self.n_iter >= self.max_iter:
            self.stopped = "iterations"
        return bool(self.stopped)

    def gram(self, P: Array) -> Array:
        """Return K_P = sum_ij P_ij G_ij."""
        q, Z = self.Z.shape[1], self.Z
        halves = (slice(0, q), slice(q, None))
        return sum(
            (Z @ P[halves[i], halves[j]] @ Z.T) * self.blocks[i][j] for i in (0, 1) for j in (0, 1)
        )

    def solve(self, K: Array) -> _Solved:
        """Return OPT_A: the support vector machine with the Gram matrix K."""
        model = self.machine.model().fit(K, self.machine.y)
        self.n_machines += 1
        w = np.zeros(len(K))
        w[model.support_] = model.dual_coef_[0]
        Kw = K @ w
        half_norm = 0.5 * float(w @ Kw)
        loss = self.machine.loss(Kw + model.intercept_[0])
        return _Solved(w, self.machine.gain(w) - half_norm, half_norm + loss)

    def largest_eigenvector(self, w: Array) -> Array:
        """Return OPT_P: the v of the best P = n_P v v', and note the bound that it gives."""
        start = process_time()
        values, vectors = np.linalg.eigh(self.quadratic(w))
        self.lower = max(self.lower, self.machine.gain(w) - 0.5 * self.size * values[-1])
        self.seconds_in_D += process_time() - start
        return np.asarray(vectors[:, -1])

    def quadratic(self, w: Array) -> Array:
        """Return D(w), entry by entry."""
        q = self.Z.shape[1]
        weighted = self.Z * w[:, None]
        D = np.empty((self.size, self.size))
        for i in range(self.size):
            for j in range(self.size):
                block = self.blocks[i // q][j // q]
                D[i, j] = weighted[:, i % q] @ block @ weighted[:, j % q]
        return D

    def line_search(self, K: Array, K_S: Array, end: float) -> tuple[float, Array, _Solved]:
        """Return the best step, its Gram matrix and its solution; at `end`, the best so far."""
        best = None
        for step in self.steps:
            mixed = (1.0 - step) * K + step * K_S
            at = self.solve(mixed)
            if best is None or at.dual < best[2].dual:
                best = (float(step), mixed, at)
            if process_time() >= end:
                break
        assert best is not None
        return best
