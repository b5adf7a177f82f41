"""Multiple kernel learning as a conic program, by cvxpy: an independent reference.

max  kappa(b) - 1/2 |q|_{p*},   q_m >= b' K_m b,   b in the box, 1'b = total
"""

import cvxpy as cp
import numpy as np

from tests.reference import conic


def factor(gram):
    """Return L with L L' = K, also for a singular K."""
    values, vectors = np.linalg.eigh(gram)
    return vectors * np.sqrt(np.maximum(values, 0.0))


def optimum(grams, linear, lower, upper, epsilon=0.0, norm=1.0, total=0.0):
    """Return the optimal value for kernels of shape (M, n, n)."""
    b, q = cp.Variable(len(linear)), cp.Variable(len(grams))
    squares = [cp.sum_squares(factor(K).T @ b) <= q[m] for m, K in enumerate(grams)]
    size = cp.max(q) if norm == 1.0 else cp.norm(q, norm / (norm - 1.0))
    gain = linear @ b - epsilon * cp.norm1(b)
    problem = cp.Problem(
        cp.Maximize(gain - 0.5 * size), [*squares, b >= lower, b <= upper, cp.sum(b) == total]
    )
    conic.solve(problem)
    return float(problem.value)


def svc_data(seed, n=24):
    """Return the classification data of the reference values."""
    r = np.random.default_rng(seed)
    X = r.uniform(size=(n, 3))
    noise = 0.3 * r.standard_normal(n)
    return X, np.sign(np.sin(6 * X[:, 0]) + X[:, 1] - X[:, 2] + noise - 0.3)


def svr_data(seed, n=24):
    """Return the regression data of the reference values."""
    r = np.random.default_rng(seed)
    X = r.uniform(size=(n, 2))
    return X, np.sin(5 * X[:, 0]) + X[:, 1] ** 2 + 0.1 * r.standard_normal(n)


GAMMAS = (0.1, 0.5, 2.0, 8.0, 32.0)
"""Parameters of the Gaussians of the reference values."""
