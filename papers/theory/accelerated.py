"""Algorithms 1 and 2 of the DANK paper: projected gradient with Nesterov's acceleration.

Both maximise h(z) = min_F H(z, F) over 0 <= z <= C, s'z = 0 (Liu et al. 2020, problem (15) and
section 5). In classification z = alpha and s = y. In regression z = (alpha^, alpha-check) holds
two coefficients of each sample, and s = (1, ..., 1, -1, ..., -1). With beta_i the sum of s z over
the entries of sample i and f = (F o K) beta,

    h(z) = l'z - 1/2 beta'f + eta (|F - 11'|^2 + tau trace F),   grad h = l - s o f,

where l is 1 (classes), or s o y - epsilon (targets), and F = (11' + A/(4 eta) - (tau/2) I)_+. The
printed algorithms are corrected in four places:

* line 7 of both adds the weighted sum of gradients; the printed minus sign is for minimisation;
* equation (25) has +(F o K)(alpha^ - alpha-check) in the derivative by alpha-check, not minus;
* the constraint of regression is 1'(alpha^ - alpha-check) = 0, not y';
* the projection onto the feasible set is exact; to clip and to subtract in turn ends elsewhere.

The steps are those of Theorems 4 and 10 unless a smaller constant L is given.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pliant.core.typing import Array
from pliant.methods.svm.smo.steps import project_box_hyperplane


@dataclass(eq=False)
class Trajectory:
    """What a run did: iterate t = 0, 1, ... has h values[t] and was left after seconds[t].

    The clock stands still while the objective is computed. `moves` holds |z(t+1) - z(t)|_2, and
    `beta`, shape (n,), the signed coefficients at the end.
    """

    beta: Array
    values: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    moves: list[float] = field(default_factory=list)


@dataclass(frozen=True, eq=False)
class Saddle:
    """The problem of the module's first lines, for a dense K of shape (n, n)."""

    K: Array
    signs: Array
    """s, shape (n,) or (2n,)."""
    linear: Array
    """l, of the same shape."""
    C: float
    eta: float
    tau: float

    def beta(self, z: Array) -> Array:
        """Return the signed coefficient of each sample, shape (n,)."""
        total: Array = (self.signs * z).reshape(-1, len(self.K)).sum(axis=0)
        return total

    def adaptation(self, beta: Array) -> Array:
        """Return the minimiser F, shape (n, n)."""
        S = 1.0 + np.outer(beta, beta) * self.K / (4.0 * self.eta)
        if not self.tau:
            return S  # positive semi-definite already, as K is
        values, vectors = np.linalg.eigh(S)
        return np.asarray((vectors * np.maximum(values - 0.5 * self.tau, 0.0)) @ vectors.T)

    def slope(self, beta: Array, F: Array) -> Array:
        """Return grad h, of the shape of z."""
        f = (F * self.K) @ beta
        return np.asarray(self.linear - self.signs * np.tile(f, len(self.signs) // len(f)))

    def value(self, z: Array, F: Array) -> float:
        """Return H(z, F), which is h(z) for the minimiser F."""
        beta = self.beta(z)
        penalty = ((F - 1.0) ** 2).sum() + self.tau * np.trace(F)
        return float(self.linear @ z - 0.5 * beta @ (F * self.K) @ beta + self.eta * penalty)

    def project(self, z: Array) -> Array:
        """Return the nearest feasible point."""
        bounds = np.zeros_like(z), np.full_like(z, self.C)
        return project_box_hyperplane(z, *bounds, normal=self.signs)


def classification(K: Array, y: Array, C: float, eta: float, tau: float) -> Saddle:
    """Return problem (4), for labels -1 and +1."""
    return Saddle(K, np.asarray(y, dtype=np.float64), np.ones(len(K)), C, eta, tau)


def regression(K: Array, y: Array, C: float, epsilon: float, eta: float, tau: float) -> Saddle:
    """Return problem (22), for real targets."""
    signs = np.repeat([1.0, -1.0], len(K))
    return Saddle(K, signs, signs * np.tile(y, 2) - epsilon, C, eta, tau)


def lipschitz_of_theorem_4(K: Array, C: float, eta: float) -> float:
    """Return L = kappa (n + 3 n C^2 |K|_F/(4 eta)), kappa the largest entry of K in size."""
    n = len(K)
    return float(np.abs(K).max() * (n + 3.0 * n * C**2 * np.linalg.norm(K) / (4.0 * eta)))


def lipschitz_of_theorem_10(K: Array, C: float, eta: float) -> float:
    """Return 2 L with L = 2 kappa (n + 9 n C^2 |K|_F/(4 eta)): Algorithm 2 has steps of 1/(2 L)."""
    n = len(K)
    return float(4.0 * np.abs(K).max() * (n + 9.0 * n * C**2 * np.linalg.norm(K) / (4.0 * eta)))


def lipschitz_of_equation_17(K: Array, C: float, eta: float, tau: float) -> float:
    """Return L = n - tau/2 + n C^2 lambda_max(K)/(4 eta), the paper's for plain steps."""
    return float(len(K) * (1.0 + C**2 * np.linalg.eigvalsh(K)[-1] / (4.0 * eta)) - 0.5 * tau)


def algorithm_1(
    K: Array, y: Array, C: float, eta: float, tau: float, *, L: float | None = None, **limits: Any
) -> Trajectory:
    """Run Algorithm 1 from alpha = 0; `limits` are those of `accelerated`."""
    L = lipschitz_of_theorem_4(K, C, eta) if L is None else L
    return accelerated(classification(K, y, C, eta, tau), L, **limits)


def algorithm_2(
    K: Array, y: Array, C: float, epsilon: float, eta: float, tau: float, *,
    L: float | None = None, **limits: Any,
) -> Trajectory:  # fmt: skip
    """Run Algorithm 2, for regression, from zero; `limits` are those of `accelerated`."""
    L = lipschitz_of_theorem_10(K, C, eta) if L is None else L
    return accelerated(regression(K, y, C, epsilon, eta, tau), L, **limits)


def projected_gradient(
    K: Array, y: Array, C: float, eta: float, tau: float, **limits: Any
) -> Trajectory:
    """Run the plain method of equation (17) and Figure 4 from alpha = 0."""
    L = lipschitz_of_equation_17(K, C, eta, tau)
    problem = classification(K, y, C, eta, tau)
    return _run(problem, lambda _, z, slope: problem.project(z + slope / L), **limits)


def accelerated(
    problem: Saddle, L: float, *, max_iter: int = 2000, eps: float = 1e-4
) -> Trajectory:
    """Run lines 3 to 10 of the algorithms, up to the first move of a length <= eps."""
    weighted = np.zeros_like(problem.linear)

    def step(t: int, z: Array, slope: Array) -> Array:
        nonlocal weighted
        theta = problem.project(z + slope / L)
        weighted = weighted + (t + 1) * slope
        ahead = problem.project(weighted / (2.0 * L))
        return np.asarray((t + 1) / (t + 3) * theta + 2 / (t + 3) * ahead)

    return _run(problem, step, max_iter=max_iter, eps=eps)


def _run(
    problem: Saddle, step: Callable[[int, Array, Array], Array], max_iter: int = 2000,
    eps: float = 1e-4,
) -> Trajectory:  # fmt: skip
    z, elapsed = np.zeros_like(problem.linear), 0.0
    run = Trajectory(problem.beta(z))
    for t in range(max_iter):
        started = time.perf_counter()
        beta = problem.beta(z)
        F = problem.adaptation(beta)
        new = step(t, z, problem.slope(beta, F))
        elapsed += time.perf_counter() - started
        run.values.append(problem.value(z, F))
        run.seconds.append(elapsed)
        run.moves.append(float(np.linalg.norm(new - z)))
        z = new
        if run.moves[-1] <= eps:
            break
    run.beta = problem.beta(z)
    run.values.append(problem.value(z, problem.adaptation(run.beta)))
    return run
