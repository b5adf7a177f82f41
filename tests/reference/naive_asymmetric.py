"""Asymmetric ridge regression with intercepts: the objective, and one system for each model."""

import numpy as np


def objective(w, v, b, c, phi, psi, y, alpha, weights):
    """alpha w'v + sum_i s_i e_i r_i, for features in the columns of phi and psi."""
    total = alpha * sum(w * v)
    for i in range(len(y)):
        e = y[i] - phi[:, i] @ w - b
        r = y[i] - psi[:, i] @ v - c
        total += weights[i] * e * r
    return total


def augmented(K, y, alpha, weights):
    """a and b of (K + alpha/S) a + b 1 = y, 1'a = 0: one matrix with one row and column more."""
    n = len(y)
    A = np.zeros((n + 1, n + 1))
    for i in range(n):
        for j in range(n):
            A[i, j] = K[i, j] + (alpha / weights[i] if i == j else 0.0)
        A[i, n] = A[n, i] = 1.0
    solution = np.linalg.solve(A, np.concatenate([y, np.zeros((1, *y.shape[1:]))]))
    return solution[:n], solution[n]
