"""Slow references for order spectral kernels, without the library.

The graph, its eigenvectors and their values at a new point use loops and dense matrices; generic
solvers solve the programs of the paper for the weights:

    max <K, T> / (|K| |T|)    as  max <K, T>  such that  <K, K> <= 1     (a QCQP)
    min sum_i s_i mu_i                                                   (a linear program)

over mu >= 0 in the given order, K = sum_i mu_i v_i v_i'.
"""

import cvxpy as cp
import numpy as np
from scipy.optimize import linprog

from tests.reference import conic


def adjacency(X, k):
    """Return A_ij = 1 if one of x_i, x_j is among the k nearest neighbours of the other."""
    n = len(X)
    A = np.zeros((n, n))
    for i in range(n):
        distance = [np.linalg.norm(X[i] - X[j]) if j != i else np.inf for j in range(n)]
        for j in np.argsort(distance, kind="stable")[:k]:
            A[i, j] = A[j, i] = 1.0
    return A


def laplacian(A):
    """Return L = I - D^{-1/2} A D^{-1/2}."""
    scale = np.diag(1.0 / np.sqrt(A.sum(axis=1)))
    return np.eye(len(A)) - scale @ A @ scale


def value_at(x, X, k, v, eigenvalue):
    """Return v(x) by the Nystroem formula, one neighbour at a time."""
    A = adjacency(X, k)
    distance = [np.linalg.norm(x - each) for each in X]
    nearest = np.argsort(distance, kind="stable")[:k]
    linked = []
    for j in range(len(X)):
        others = sorted(np.linalg.norm(X[j] - X[i]) for i in range(len(X)) if i != j)
        if j in nearest or distance[j] < others[k - 1]:
            linked.append(j)
    total = sum(v[j] / np.sqrt(len(linked) * A[j].sum()) for j in linked)
    return total / (1.0 - eigenvalue)


def order_differences(r, order, n_null=0):
    """Return rows d with d'mu >= 0: the constraints of an order besides mu >= 0."""
    first = {"strict": 0, "improved": n_null}[order]
    rows = np.zeros((max(r - 1 - first, 0), r))
    for row, i in zip(rows, range(first, r - 1), strict=True):
        row[i], row[i + 1] = 1.0, -1.0
    return rows


def matrices(V, rows):
    """Return v_i v_i' on some rows, as columns of an (a^2, r) matrix."""
    return np.stack([np.outer(v, v).ravel() for v in V[rows].T], axis=1)


def alignment(mu, V, T, rows):
    """Return the cosine between sum_i mu_i v_i v_i' and T on some rows, from the matrices."""
    K, Y = matrices(V, rows) @ mu, T[np.ix_(rows, rows)].ravel()
    return float(K @ Y / (np.linalg.norm(K) * np.linalg.norm(Y)))


def best_alignment(V, T, rows, order, n_null=0):
    """Return the largest alignment by the QCQP, at least 0."""
    E, Y = matrices(V, rows), T[np.ix_(rows, rows)].ravel()
    mu = qcqp(E.T @ E, E.T @ Y, order, n_null)
    return float((E.T @ Y) @ mu / np.linalg.norm(Y))


def qcqp(G, b, order, n_null=0):
    """Return the mu with the largest b'mu under mu'G mu <= 1."""
    mu = cp.Variable(len(b), nonneg=True)
    constraints = [cp.quad_form(mu, cp.psd_wrap(G)) <= 1.0]
    differences = order_differences(len(b), order, n_null)
    if len(differences):
        constraints.append(differences @ mu >= 0)
    conic.solve(cp.Problem(cp.Maximize(b @ mu), constraints))
    return mu.value


def least_loss(losses, order, n_null=0):
    """Return the smallest sum_i s_i mu_i, by HiGHS."""
    r = len(losses)
    differences = order_differences(r, order, n_null)
    found = linprog(
        losses,
        A_ub=-differences if len(differences) else None,
        b_ub=np.zeros(len(differences)) if len(differences) else None,
        A_eq=np.ones((1, r)),
        b_eq=[1.0],
        bounds=(0, None),
        method="highs",
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    return found.fun
