"""min_P max_w of the kernel-learning papers as two semidefinite programs for a generic solver.

    min_P max_w  p'w - epsilon |w|_1 - 1/2 w'K_P w,  lower <= w <= upper, 1'w = 0
    P - floor I PSD, trace n_P,  K_P = sum_ij P_ij G_ij

`by_weights` maximises over w after eliminating P, with the matrix inequality
D(w) <= t I. `by_shape_matrix` minimises over P with the dual of the SVM, as in Lanckriet et al.
(2004). G has shape (n_P, n_P, m, m).
"""

from dataclasses import astuple, dataclass
from functools import cache

import cvxpy as cp
import numpy as np

from tests.reference import conic

TOLERANCES = (1e-9, 1e-8, 1e-7)
"""Tolerances, tried in order until the solver reaches one."""

SETTINGS = {"equilibrate_enable": False, "direct_solve_method": "qdldl", "warm_start": False}
"""The problems are well scaled; the solver's scaling makes one in ten fail."""


def solve(problem):
    """Return the optimum."""
    conic.solve(problem, TOLERANCES, **SETTINGS)
    return problem.value


@dataclass(frozen=True)
class Margin:
    """Linear term, box and epsilon of an SVM in w."""

    p: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    epsilon: float = 0.0

    def gain(self, w):
        """Return p'w - epsilon |w|_1."""
        return self.p @ w - self.epsilon * np.abs(w).sum()

    def scaled(self, s):
        """Return the margin with s times the optimal w and s^2 times the optimum."""
        return Margin(s * self.p, s * self.lower, s * self.upper, s * self.epsilon)


def classification(y, C):
    """Return the margin of a classifier, y in {-1, 1}, w = alpha y."""
    y = np.asarray(y, dtype=float)
    return Margin(y, np.minimum(0, C * y), np.maximum(0, C * y))


def regression(y, C, epsilon):
    """Return the margin of an epsilon-regression."""
    bound = np.full(len(y), float(C))
    return Margin(np.asarray(y, dtype=float), -bound, bound, epsilon)


def factors(G, floor=1e-14):
    """Return A_k with G_ij(x_k, x_l) = (A_k A_l')_ij, stacked in shape (m, n_P, r)."""
    n_p, _, m, _ = G.shape
    whole = np.transpose(G, (2, 0, 3, 1)).reshape(m * n_p, m * n_p)
    values, vectors = np.linalg.eigh((whole + whole.T) / 2)
    kept = values > floor * values[-1]
    return (vectors[:, kept] * np.sqrt(values[kept])).reshape(m, n_p, -1)


def unit_of(G, margin):
    """Return the factor for targets, epsilon and box that makes the optimum at P = I 30.

    The optimum is then of the order of 10, which suits the tolerances of a solver.
    """
    return np.sqrt(30 / svm(np.trace(G), margin)[0])


def by_weights(G, margin, floor=0.0):
    """Return the optimum and w: maximise the gain minus n_P/2 t, D(w) = A(w) A(w)' <= t I.

    A(w) = sum_k w_k A_k, so the inequality says that its largest singular value is <= sqrt(t). With
    a floor f, n_P t becomes f tr D(w) + (1 - f) n_P t, and tr D(w) is the sum of squares of A(w).
    """
    unit = unit_of(G, margin)
    margin = margin.scaled(unit)
    A = factors(G)
    w, s = cp.Variable(len(A)), cp.Variable()
    combined = cp.reshape(w @ A.reshape(len(A), -1), A.shape[1:], order="C")
    cost = (1 - floor) * A.shape[1] * cp.square(s)
    if floor:
        cost += floor * cp.sum_squares(combined)
    gain = margin.p @ w - margin.epsilon * cp.norm1(w)
    problem = cp.Problem(
        cp.Maximize(gain - cost / 2),
        [cp.sigma_max(combined) <= s, w >= margin.lower, w <= margin.upper, cp.sum(w) == 0],
    )
    return solve(problem) / unit**2, w.value / unit


def by_shape_matrix(G, margin, floor=0.0):
    """Return the optimum and P: minimise t/2 plus the slacks, [[K_P, g], [g', t]] PSD.

    g + b are the values of the decision function, t its squared norm.
    """
    n_p, _, m, _ = G.shape
    unit = unit_of(G, margin)
    margin = margin.scaled(unit)
    P = cp.Variable((n_p, n_p), PSD=True)
    g, t, b = cp.Variable((m, 1)), cp.Variable((1, 1)), cp.Variable()
    above, below = cp.Variable(m, nonneg=True), cp.Variable(m, nonneg=True)
    K = cp.reshape(cp.vec(P, order="C") @ G.reshape(n_p**2, m**2), (m, m), order="C")
    block = cp.bmat([[K, g], [g.T, t]])
    residual = margin.p - g[:, 0] - b
    problem = cp.Problem(
        cp.Minimize(t[0, 0] / 2 + margin.upper @ above - margin.lower @ below),
        [
            (block + block.T) / 2 >> 0,
            cp.trace(P) == n_p,
            *([P - floor * np.eye(n_p) >> 0] if floor else []),
            residual <= margin.epsilon + above,
            residual >= -margin.epsilon - below,
        ],
    )
    return solve(problem) / unit**2, P.value


def svm(K, margin):
    """Return OPT_A, the optimum of the SVM with the Gram matrix K, and its w, by a QP solver."""
    values, vectors = np.linalg.eigh((K + K.T) / 2)
    problem, w, root, margins = _svm(len(K))
    root.value = (vectors * np.sqrt(np.maximum(values, 0))).T
    for parameter, value in zip(margins, astuple(margin), strict=True):
        parameter.value = value
    return solve(problem), w.value


@cache
def _svm(m):
    """Return the parametrised SVM on m points, compiled only once for the solver."""
    w, root, epsilon = cp.Variable(m), cp.Parameter((m, m)), cp.Parameter(nonneg=True)
    p, lower, upper = (cp.Parameter(m) for _ in range(3))
    gain = p @ w - epsilon * cp.norm1(w)
    problem = cp.Problem(
        cp.Maximize(gain - cp.sum_squares(root @ w) / 2),
        [w >= lower, w <= upper, cp.sum(w) == 0],
    )
    return problem, w, root, (p, lower, upper, epsilon)


def best_shape(D, gain):
    """Return OPT_P = gain - n_P/2 lambda_max(D), and the P = n_P v v' that attains it."""
    values, vectors = np.linalg.eigh(D)
    n_p, v = len(D), vectors[:, -1]
    return gain - n_p / 2 * values[-1], n_p * np.outer(v, v)
