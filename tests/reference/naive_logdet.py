"""Slow references for learning with distance bounds from the definition, without the library.

min_{K, xi}  D_ld(K, K0) + nu sum_k (xi_k/b_k - log(xi_k/b_k) - 1)
with v'K v <= xi_k (sign +1) or >= xi_k (sign -1), v = e_i - e_j; nu = inf: xi = b
"""

import cvxpy as cp
import numpy as np

from tests.reference import conic
from tests.reference.naive_supervision import divergence


def differences(pairs, n):
    """Return the vectors e_i - e_j, shape (m, n)."""
    return np.eye(n)[pairs[:, 0]] - np.eye(n)[pairs[:, 1]]


def distances(K, pairs):
    """Return v'K v of each pair."""
    V = differences(pairs, len(K))
    return np.einsum("ka,ab,kb->k", V, K, V)


def objective(K, K0, pairs, signs, bounds, slack):
    """Return the objective of K with the best slack; inf if hard bounds are violated by > 1e-9."""
    p = distances(K, pairs)
    ratio = np.where(signs > 0, np.maximum(p, bounds), np.minimum(p, bounds)) / bounds
    if np.isinf(slack):
        return divergence(K, K0) if np.all(abs(ratio - 1) < 1e-9) else np.inf
    return divergence(K, K0) + slack * np.sum(ratio - np.log(ratio) - 1)


def dual(duals, K0, pairs, signs, bounds, slack):
    """Return the dual function from the inverse of K0."""
    V = differences(pairs, len(K0))
    L = V.T @ np.diag(signs * duals) @ V
    log_det = np.linalg.slogdet(np.linalg.inv(K0) + L)[1] + np.linalg.slogdet(K0)[1]
    if np.isinf(slack):
        return log_det - np.sum(signs * duals * bounds)
    return log_det + slack * np.sum(np.log(1 - signs * duals * bounds / slack))


def projections(K0, pairs, signs, bounds, slack, sweeps):
    """Return K and the duals after projections on the bounds in turn, as in the paper."""
    K, duals, slacks = K0.copy(), np.zeros(len(pairs)), np.array(bounds, dtype=float)
    share = 1.0 if np.isinf(slack) else slack / (slack + 1)
    for _ in range(sweeps):
        for k, v in enumerate(differences(pairs, len(K0))):
            s, p = signs[k], v @ K @ v
            a = min(duals[k], s * share * (1 / p - 1 / slacks[k]))
            duals[k] -= a
            slacks[k] = 1 / (1 / slacks[k] + s * a / slack)
            K = K + s * a / (1 - s * a * p) * np.outer(K @ v, K @ v)
    return K, duals


def by_cvxpy(K0, pairs, signs, bounds, slack):
    """Return K and the optimum by a generic solver, with K = R'Z R and K0 = R'R."""
    n = len(K0)
    R = np.linalg.cholesky(K0).T
    W = differences(pairs, n) @ R.T
    Z = cp.Variable((n, n), PSD=True)
    p = cp.hstack([w @ Z @ w for w in W])
    cost, ratio = cp.trace(Z) - cp.log_det(Z) - n, np.ones(len(pairs))
    if not np.isinf(slack):
        ratio = cp.Variable(len(pairs))
        cost = cost + slack * cp.sum(ratio - cp.log(ratio) - 1)
    constraints = [cp.multiply(signs / bounds, p) <= cp.multiply(signs, ratio)]
    problem = cp.Problem(cp.Minimize(cost), constraints)
    conic.solve(problem, (1e-9, 1e-8))
    return R.T @ Z.value @ R, problem.value
