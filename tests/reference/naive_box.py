"""Slow references for the problem without an intercept, on all points and on parts.

    max h(beta) over the box,  h(beta) = p'beta - epsilon |beta|_1 - 1/2 beta'K beta
                                         - (1/(16 eta)) sum_ij beta_i^2 K_ij^2 beta_j^2

(Liu et al. 2020, problem (18) with F = 11' + D K D/(4 eta) inserted; problem (19) is the same on
each part). Three methods without common steps: a gradient method on the box, a conic program, and
the semidefinite program of the paper. This module does not use the library.
"""

import cvxpy as cp
import numpy as np

from tests.reference import conic
from tests.reference.naive_hadamard import NaiveHadamard, soft


class NaiveBox(NaiveHadamard):
    """Dense reference for DANK without the constraint 1'beta = 0, that is, with b = 0."""

    def intercept(self, f):
        return 0.0

    def proximal(self, v, step):
        return np.clip(soft(v, step * self.epsilon), self.lower, self.upper)


def box_classification(K, y, C, eta):
    """Return problem (18) in beta = y alpha, with y in {-1, 1}."""
    y = np.asarray(y, dtype=float)
    return NaiveBox(K, y, np.minimum(0, C * y), np.maximum(0, C * y), C, eta)


def box_regression(K, target, C, epsilon, eta):
    """Return problem (18) for epsilon-regression."""
    bound = np.full(len(target), float(C))
    return NaiveBox(K, target, -bound, bound, C, eta, epsilon=epsilon, regression=True)


def restricted(problem, members):
    """Return problem (19): the same problem on a subset of the points."""
    K, p = problem.K[np.ix_(members, members)], problem.p[members]
    if problem.regression:
        return box_regression(K, p, problem.C, problem.epsilon, problem.eta)
    return box_classification(K, p, problem.C, problem.eta)


def block_problem(problem, labels):
    """Return problem (20): K with zeros between different parts."""
    K = problem.K * (labels[:, None] == labels[None, :])
    if problem.regression:
        return box_regression(K, problem.p, problem.C, problem.epsilon, problem.eta)
    return box_classification(K, problem.p, problem.C, problem.eta)


def box_by_cone(problem):
    """Return the optimum and beta by a conic program.

    As K o K has no negative entry, t'(K o K)t grows with t >= 0, so t >= beta^2 is tight.
    """
    n = len(problem.p)
    beta, t = cp.Variable(n), cp.Variable(n)
    roots = [_root(problem.K), _root(problem.K**2)]
    gain = problem.p @ beta - problem.epsilon * cp.norm1(beta)
    loss = cp.sum_squares(roots[0] @ beta) / 2 + cp.sum_squares(roots[1] @ t) / (16 * problem.eta)
    limits = [beta >= problem.lower, beta <= problem.upper, t >= cp.square(beta)]
    program = cp.Problem(cp.Maximize(gain - loss), limits)
    conic.solve(program)
    return program.value, beta.value


def _root(M):
    """Return R with R'R = M for a PSD matrix."""
    values, vectors = np.linalg.eigh((M + M.T) / 2)
    return np.sqrt(np.maximum(values, 0))[:, None] * vectors.T


def box_by_sdp(problem):
    """Return the optimum and F of (18) over PSD matrices, by the dual of the inner maximum.

    For M = F o K it is min t/2 + C sum(xi) with [[M, g], [g', t]] PSD and slacks xi of g, in the
    form of Lanckriet et al. (2004) without their intercept.
    """
    n, K = len(problem.p), problem.K
    F, g, t = cp.Variable((n, n), PSD=True), cp.Variable((n, 1)), cp.Variable((1, 1))
    xi = cp.Variable(n, nonneg=True)
    if problem.regression:
        slack = cp.abs(problem.p - g[:, 0]) <= problem.epsilon + xi
    else:
        slack = cp.multiply(problem.p, g[:, 0]) >= 1 - xi
    block = cp.bmat([[cp.multiply(F, K), g], [g.T, t]])
    penalty = problem.eta * cp.sum_squares(F - np.ones((n, n)))
    objective = cp.Minimize(0.5 * t[0, 0] + problem.C * cp.sum(xi) + penalty)
    program = cp.Problem(objective, [0.5 * (block + block.T) >> 0, slack])
    conic.solve(program)
    return program.value, F.value
