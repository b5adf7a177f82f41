"""The KNPL paper's algorithms (AAAI 2018); the regularisation gamma is called eta here.

Algorithm 1: ADMM for G = argmin |G - Gamma|_F over the PSD matrices with G1 = n1.
Algorithm 2: G by Algorithm 1 and alpha by an SVM, alternating best responses.
An additional use of Algorithm 1: projected gradient on h(alpha) = min_G H(alpha, G).

Equation (18) projects each column xi onto 1'q = n: q = xi + (n - 1'xi)/n. (19) agrees, although it
divides by n - 1'xi; (20) prints -2 tau instead of -tau/2 (`printed_column`). Intermediate Q are not
symmetric, so the positive part applies to the symmetric half. The paper does not give the first
penalty; here it is 1.
"""

import time
from dataclasses import dataclass

import numpy as np
from sklearn.svm import SVC

from tests.reference.dank_algorithm1 import Trajectory, gamma_matrix, gradient
from tests.reference.naive_hadamard import classification, positive_part, project_alpha


def project_columns(Xi):
    """Return the nearest matrix with column sums n."""
    return Xi + (len(Xi) - Xi.sum(axis=0)) / len(Xi)


def printed_column(xi, multiplier=None):
    """Return equation (20) with multiplier tau, by default the tau with 1'q = n."""
    n = len(xi)
    direction = 1 + n * xi / (n - xi.sum())
    return direction * n / direction.sum() if multiplier is None else -2 * multiplier * direction


def admm(Gamma, *, max_iter=15, eps=1e-4, rho=1.1, penalty=1.0):
    """Run Algorithm 1; return G and the history of Diff."""
    G = Q = Z = np.ones_like(Gamma)
    history = []
    for _ in range(max_iter):
        G = positive_part((penalty * Q + Z + Gamma) / (1 + penalty))
        new_Q = project_columns((penalty * G - Z + Gamma) / (1 + penalty))
        new_Z = Z - penalty * (G - new_Q)
        history.append(max(np.linalg.norm(new_Q - Q), np.linalg.norm(new_Z - Z)))
        Q, Z, penalty = new_Q, new_Z, min(rho * penalty, 1e8)
        if history[-1] <= eps:
            break
    return G, history


def objective(K, y, alpha, G, eta):
    """Return H(alpha, G) minus the constant eta n^2."""
    quadratic = (y * alpha) @ (G * K) @ (y * alpha)
    return alpha.sum() - quadratic / 2 + eta * ((G**2).sum() - G.size)


def certificate(problem, alpha, slope):
    """Return the gap at alpha, from the gradient 1 - y f."""
    y = problem.p
    f = y * (1 - slope)
    return alpha @ (y * f) + problem.C * problem.slack(f + problem.intercept(f)).sum() - alpha.sum()


def projected_gradient(K, y, C, eta, *, tol=1e-6, max_iter=10_000):
    """Ascend on h from alpha = 0, with G by Algorithm 1 at every trial point, until the gap
    with that G is <= tol (1 + |h|). The step grows by 1.2 and is halved until the gradient changes
    by at most |move|^2/step along the move. The clock excludes only h.
    """
    y = np.asarray(y, dtype=float)
    problem = classification(K, y, C, eta, rule="knpl")
    started = time.perf_counter()
    alpha, step = np.zeros(len(y)), 1.0
    G, _ = admm(gamma_matrix(K, y, alpha, eta))
    slope = gradient(K, y, alpha, G)
    elapsed = time.perf_counter() - started
    run = Trajectory(alpha, G, values=[objective(K, y, alpha, G, eta)])
    for _ in range(max_iter):
        started = time.perf_counter()
        if certificate(problem, alpha, slope) <= tol * (1 + abs(run.values[-1])):
            break
        step *= 1.2
        while True:
            new = project_alpha(alpha + step * slope, y, C)
            G, _ = admm(gamma_matrix(K, y, new, eta))
            new_slope, move = gradient(K, y, new, G), new - alpha
            if (slope - new_slope) @ move <= move @ move / step:
                break
            step /= 2
        alpha, slope = new, new_slope
        elapsed += time.perf_counter() - started
        run.seconds.append(elapsed)
        run.moves.append(np.linalg.norm(move))
        run.values.append(objective(K, y, alpha, G, eta))
    run.alpha, run.adaptation = alpha, G
    return run


@dataclass
class Alternation:
    """H(alpha, G) minus eta n^2 in each round: with the new G (which is h(alpha)), then with the
    new alpha (the optimum of the SVM with the kernel G).
    """

    alpha: np.ndarray
    after_adaptation: list
    after_svm: list


def svm(M, y, C):
    """Return the alpha of an SVM with the Gram matrix M."""
    model = SVC(kernel="precomputed", C=C, tol=1e-8).fit(M, y)
    alpha = np.zeros(len(y))
    alpha[model.support_] = np.abs(model.dual_coef_[0])
    return alpha


def alternate(K, y, C, eta, *, rounds=10):
    """Run Algorithm 2 from the SVM with the kernel K."""
    y = np.asarray(y, dtype=float)
    run = Alternation(svm(K, y, C), [], [])
    for _ in range(rounds):
        G, _ = admm(gamma_matrix(K, y, run.alpha, eta))
        run.after_adaptation.append(objective(K, y, run.alpha, G, eta))
        run.alpha = svm(G * K, y, C)
        run.after_svm.append(objective(K, y, run.alpha, G, eta))
    return run
