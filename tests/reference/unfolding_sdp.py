"""Coloured maximum variance unfolding as its semidefinite program, for a generic solver."""

import cvxpy as cp
import numpy as np

from tests.reference import conic


def unfold(V, y, edges, squares, penalty):
    """Return K = V A V' and the optimum of tr(K H L H)/n^2 - penalty * mean squared error."""
    n, r = V.shape
    H = np.eye(n) - 1.0 / n
    L = np.array([[1.0 if a == b else 0.0 for a in y] for b in y])
    A = cp.Variable((r, r), PSD=True)
    K = V @ A @ V.T
    lengths = cp.hstack([K[i, i] + K[j, j] - 2 * K[i, j] for i, j in edges])
    gain = cp.trace(A @ (V.T @ H @ L @ H @ V)) / n**2
    problem = cp.Problem(
        cp.Maximize(gain - penalty * cp.sum_squares(lengths - squares) / len(edges))
    )
    conic.solve(problem)
    return V @ A.value @ V.T, problem.value
