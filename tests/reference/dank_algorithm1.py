"""Algorithm 1 of the DANK paper (JMLR 2020) as printed, except the sign of its line 7.

    max_{alpha in A} h(alpha),  A = {0 <= alpha <= C, y'alpha = 0}

Line 7 descends with the printed minus sign; here it is plus, and `sign=-1` gives the printed sign.
The projections onto A are exact; `printed_projection` is the paper's clipping and shift.
"""

import time
from dataclasses import dataclass, field

import numpy as np

from tests.reference.naive_hadamard import project_alpha


def gamma_matrix(K, y, alpha, eta):
    """Return diag(alpha'Y) K diag(alpha'Y)/(4 eta), equation (7)."""
    return np.outer(alpha * y, alpha * y) * K / (4 * eta)


def adaptation(K, y, alpha, eta, tau):
    """Return F = J_{tau/2}(11' + Gamma): soft-threshold all singular values by tau/2."""
    U, values, Vt = np.linalg.svd(1 + gamma_matrix(K, y, alpha, eta))
    return (U * np.maximum(values - tau / 2, 0)) @ Vt


def gradient(K, y, alpha, F):
    """Return equation (26)."""
    return 1 - y * ((F * K) @ (y * alpha))


def objective(K, y, alpha, F, eta, tau):
    """Return H of equation (4); the nuclear norm of a PSD matrix is its trace."""
    quadratic = (y * alpha) @ (F * K) @ (y * alpha)
    return alpha.sum() - quadratic / 2 + eta * ((F - 1) ** 2).sum() + tau * eta * np.trace(F)


def lipschitz_of_theorem_4(K, C, eta):
    """Return L = kappa (n + 3 n C^2 |K|_F/(4 eta)), kappa the largest entry of K."""
    n = len(K)
    return np.abs(K).max() * (n + 3 * n * C**2 * np.linalg.norm(K) / (4 * eta))


def lipschitz_of_equation_17(K, C, eta, tau):
    """Return L = n - tau/2 + n C^2 lambda_max(K)/(4 eta), Lemma 1's bound on the eigenvalues of F.

    For a unit diagonal of K, n >= 3 and tau <= 2n it bounds the curvature of h: F o K has
    no eigenvalue above lambda_max(F) <= n - tau/2 + C^2 lambda_max(K)/(4 eta), and the change of F
    along a unit direction d adds at most 2 eta |dGamma|_F^2 <= 2 C^2 lambda_max(K)/(4 eta).
    """
    return len(K) - tau / 2 + len(K) * C**2 * np.linalg.eigvalsh(K)[-1] / (4 * eta)


def printed_projection(v, y, C, rounds=1):
    """Clip to [0, C], then subtract (y'alpha/n) y; `rounds` times."""
    for _ in range(rounds):
        v = np.clip(v, 0, C)
        v = v - (y @ v) / len(y) * y
    return v


@dataclass
class Trajectory:
    """Result of a run: iterate t = 0, 1, ... has h values[t] and ended at seconds[t].

    The clock excludes the computation of the objective, which the algorithm does not need.
    `moves` has |alpha(t+1) - alpha(t)|_2, and `thetas` the h(theta(t)) of the monotone variant.
    """

    alpha: np.ndarray
    adaptation: np.ndarray
    values: list = field(default_factory=list)
    seconds: list = field(default_factory=list)
    moves: list = field(default_factory=list)
    thetas: list = field(default_factory=list)


def nesterov(K, y, C, eta, tau, *, max_iter=2000, eps=1e-4, L=None, sign=1.0, monotone=False):
    """Run Algorithm 1 from alpha = 0 to the first move <= eps; L defaults to Theorem 4's.

    The `monotone` variant of line 6 keeps the best of the previous theta, the new one and alpha.
    """
    L = lipschitz_of_theorem_4(K, C, eta) if L is None else L
    weighted, best, thetas = np.zeros(len(y)), (-np.inf, None), []

    def step(t, alpha, slope, value):
        nonlocal weighted, best
        theta = project_alpha(alpha + slope / L, y, C)
        if monotone:
            F = adaptation(K, y, theta, eta, tau)
            new = objective(K, y, theta, F, eta, tau), theta
            best = max(best, new, (value, alpha), key=lambda pair: pair[0])
            theta = best[1]
            thetas.append(best[0])
        weighted = weighted + (t + 1) * slope
        beta = project_alpha(sign * weighted / (2 * L), y, C)
        return (t + 1) / (t + 3) * theta + 2 / (t + 3) * beta

    run = _run(step, K, y, eta, tau, max_iter, eps)
    run.thetas = thetas
    return run


def projected_gradient(K, y, C, eta, tau, *, max_iter=2000, eps=1e-4, L=None):
    """Run equation (17), the plain method of Figure 4; L defaults to the printed one."""
    L = lipschitz_of_equation_17(K, C, eta, tau) if L is None else L

    def step(t, alpha, slope, value):
        return project_alpha(alpha + slope / L, y, C)

    return _run(step, K, y, eta, tau, max_iter, eps)


def _run(step, K, y, eta, tau, max_iter, eps):
    y = np.asarray(y, dtype=float)
    alpha = np.zeros(len(y))
    run = Trajectory(alpha, np.empty(0))
    elapsed = 0.0
    for t in range(max_iter):
        started = time.perf_counter()
        F = adaptation(K, y, alpha, eta, tau)
        slope = gradient(K, y, alpha, F)
        elapsed += time.perf_counter() - started
        run.values.append(objective(K, y, alpha, F, eta, tau))
        started = time.perf_counter()
        new = step(t, alpha, slope, run.values[-1])
        move = np.linalg.norm(new - alpha)
        elapsed += time.perf_counter() - started
        run.seconds.append(elapsed)
        run.moves.append(move)
        alpha = new
        if move <= eps:
            break
    run.alpha, run.adaptation = alpha, adaptation(K, y, alpha, eta, tau)
    run.values.append(objective(K, y, alpha, run.adaptation, eta, tau))
    return run
