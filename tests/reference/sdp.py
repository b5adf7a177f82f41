"""DANK and KNPL as the papers' semidefinite programs, for a generic solver.

The inner maximum over beta is the dual of an SVM or SVR; for the kernel M = F o K its own dual is
min t/2 + C sum(xi) with [[M, g], [g', t]] PSD, in the form of Lanckriet et al. (2004): g + b are
the values of the decision function and xi their slacks.
"""

import cvxpy as cp
import numpy as np

from tests.reference import conic


def dank_by_sdp(K, y, C, eta, tau=0.0, epsilon=None):
    """Return the optimum of min_F max_beta, and its F. With epsilon, y is a regression target."""
    F = cp.Variable(K.shape, PSD=True)
    penalty = eta * (cp.sum_squares(F - np.ones(K.shape)) + tau * cp.trace(F))
    return _optimum(F, K, y, C, epsilon, penalty, [])


def knpl_by_sdp(K, y, C, eta, epsilon=None):
    """Return the optimum minus the constant eta n^2, and its F with row sums n."""
    n = len(y)
    F = cp.Variable((n, n), PSD=True)
    penalty = eta * cp.sum_squares(F) - eta * n**2
    return _optimum(F, K, y, C, epsilon, penalty, [cp.sum(F, axis=1) == n])


def _optimum(F, K, y, C, epsilon, penalty, constraints):
    n = len(y)
    t, b, g = cp.Variable(), cp.Variable(), cp.Variable((n, 1))
    xi = cp.Variable(n, nonneg=True)
    decision = g[:, 0] + b
    if epsilon is None:
        slack = cp.multiply(np.asarray(y, dtype=float), decision) >= 1 - xi
    else:
        slack = cp.abs(y - decision) <= epsilon + xi
    block = cp.bmat([[cp.multiply(F, K), g], [g.T, cp.reshape(t, (1, 1), order="C")]])
    objective = cp.Minimize(0.5 * t + C * cp.sum(xi) + penalty)
    problem = cp.Problem(objective, [0.5 * (block + block.T) >> 0, slack, *constraints])
    conic.solve(problem)
    return problem.value, F.value
