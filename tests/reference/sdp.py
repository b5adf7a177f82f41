"""DANK as the semidefinite program that the paper states, for a generic solver."""

import cvxpy as cp
import numpy as np


def dank_by_sdp(K, y, C, eta):
    """Return the optimum of min_F max_alpha for tau = 0, and its F.

    The inner maximum over alpha is an SVM dual; its own dual, for the kernel F o K = Z'Z, reads
    min t/2 + C sum(xi) with [[F o K, g], [g', t]] PSD and g = y(1 - xi) + nu - b 1 componentwise:
    the margin constraints in the form of Lanckriet et al. (2004).
    """
    n = len(y)
    F = cp.Variable((n, n), PSD=True)
    t, b = cp.Variable(), cp.Variable()
    nu, xi = cp.Variable(n, nonneg=True), cp.Variable(n, nonneg=True)
    signs = np.asarray(y, dtype=float)
    g = cp.reshape(cp.multiply(signs, 1 + nu - xi) - b, (n, 1), order="C")
    block = cp.bmat([[cp.multiply(F, K), g], [g.T, cp.reshape(t, (1, 1), order="C")]])
    objective = 0.5 * t + C * cp.sum(xi) + eta * cp.sum_squares(F - np.ones((n, n)))
    problem = cp.Problem(cp.Minimize(objective), [0.5 * (block + block.T) >> 0])
    value = problem.solve(solver=cp.CLARABEL)
    return value, F.value
