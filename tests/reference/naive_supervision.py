"""Slow, dense references for supervised complete graphs and SCG-LDK, without the library.

    W = exp(beta T),  D = diag(W 1),  S = I - D^{-1/2} W D^{-1/2}
    min_K  tr(K K0^{-1}) - logdet(K K0^{-1}) - n + gamma tr(K S)

`exactly` is the minimiser of Eq. 29 and its Q with 120 digits, in a form for singular K0;
`by_cone` solves the problem with a generic solver.
"""

import cvxpy as cp
import mpmath
import numpy as np

from tests.reference import conic

DIGITS = 120


def target_of_labels(y, unlabeled=-1):
    """Return T: +1 for two labelled points of one class, -1 of two classes, 0 without labels."""
    n = len(y)
    T = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            if y[i] != unlabeled and y[j] != unlabeled:
                T[i, j] = 1.0 if y[i] == y[j] else -1.0
    return T


def target_of_pairs(n, similar, dissimilar):
    """Return T: +1 and -1 for the pairs, 0 elsewhere and on the diagonal."""
    T = np.zeros((n, n))
    for sign, pairs in ((1.0, similar), (-1.0, dissimilar)):
        for i, j in pairs:
            T[i, j] = T[j, i] = sign
    return T


def known_points(T):
    """Return the row numbers of the points in T's pairs."""
    return [i for i in range(len(T)) if any(T[i])]


def weights(T, beta=1.0):
    """Return W."""
    return np.exp(beta * T)


def laplacian(T, beta=1.0):
    """Return S by its definition."""
    W = weights(T, beta)
    scale = np.diag(1.0 / np.sqrt(W.sum(axis=1)))
    return np.eye(len(T)) - scale @ W @ scale


def loss_over_edges(K, T, beta=1.0):
    """Return 1/2 sum_ij W_ij |phi_i / sqrt(D_ii) - phi_j / sqrt(D_jj)|^2, edge by edge."""
    W = weights(T, beta)
    D = W.sum(axis=1)
    total = 0.0
    for i in range(len(T)):
        for j in range(len(T)):
            squared = K[i, i] / D[i] + K[j, j] / D[j] - 2.0 * K[i, j] / np.sqrt(D[i] * D[j])
            total += W[i, j] * squared
    return 0.5 * total


def alignment(K, Y):
    """Return <K, Y> / sqrt(<K, K> <Y, Y>)."""
    return np.sum(K * Y) / np.sqrt(np.sum(K * K) * np.sum(Y * Y))


def divergence(K, K0):
    """Return D_ld(K, K0) by inversion."""
    ratio = K @ np.linalg.inv(K0)
    return np.trace(ratio) - np.linalg.slogdet(ratio)[1] - len(K)


def objective(K, K0, S, gamma):
    """Return D_ld(K, K0) + gamma tr(K S)."""
    return divergence(K, K0) + gamma * np.trace(K @ S)


def by_cone(K0, S, gamma=None, bound=None):
    """Return the K that minimises D_ld(K, K0) + gamma tr(K S), or D_ld with tr(K S) <= bound."""
    K = cp.Variable(K0.shape, PSD=True)
    cost = cp.trace(K @ np.linalg.inv(K0)) - cp.log_det(K)
    loss = cp.trace(K @ S)
    if gamma is not None:
        cost = cost + gamma * loss
    bounds = [] if bound is None else [loss <= bound]
    conic.solve(cp.Problem(cp.Minimize(cost), bounds), (1e-11, 1e-10, 1e-9))
    return K.value


def exactly(K0, T, gamma, beta=1.0):
    """Return K = K0 (I + gamma S K0)^{-1} and Q = -gamma (I + gamma S K0)^{-1} S by 120 digits.

    S is computed from T with the same precision; K0, gamma and beta are exact.
    """
    with mpmath.workdps(DIGITS):
        K0, S = _digits(K0), _digits_of_laplacian(T, beta)
        gamma = mpmath.mpf(float(gamma))
        n = len(K0)
        inverse = _solve(_digits(np.eye(n)) + gamma * S.dot(K0), _digits(np.eye(n)))
        return _rounded(K0.dot(inverse)), _rounded(-gamma * inverse.dot(S))


def _digits(A):
    return np.array([[mpmath.mpf(float(a)) for a in row] for row in A], dtype=object)


def _rounded(A):
    return A.astype(float)


def _digits_of_laplacian(T, beta):
    W = _digits(T)
    for place in np.ndindex(W.shape):
        W[place] = mpmath.exp(mpmath.mpf(float(beta)) * W[place])
    scale = np.array([1 / mpmath.sqrt(d) for d in W.sum(axis=1)], dtype=object)
    return _digits(np.eye(len(T))) - scale[:, None] * W * scale


def _solve(A, B):
    """Return A^{-1} B by Gauss-Jordan elimination with partial pivoting."""
    A = np.concatenate([A, B], axis=1)
    n = len(A)
    for k in range(n):
        pivot = k + int(np.argmax(np.abs(A[k:, k])))
        A[[k, pivot]] = A[[pivot, k]]
        A[k, k:] = A[k, k:] / A[k, k]
        for i in range(n):
            if i != k:
                A[i, k:] = A[i, k:] - A[i, k] * A[k, k:]
    return A[:, n:]
