"""Logistic regression on the features of a LAB-RBF expansion.

With F = [K, X], targets of class k in row i t_ik and Z = F W + b, the objective is

    - sum_i w_i sum_k t_ik log softmax(Z_i)_k + (penalty / 2) |W|^2.

For two classes, W has one column, whose scores are log-odds: the columns of Z are [0, F W + b].
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import scipy.linalg
from scipy.optimize import minimize

from pliant.core.typing import Array
from pliant.methods.lab_rbf.objective import cholesky_factor

PENALTIES = np.array([100.0, 10.0, 1.0, 0.1, 0.01])
"""Penalties that the held-out rows choose from, for rows of weight 1."""

FREE = 1e-6
"""Penalty of the intercept for each row, so that it is finite where a class has no rows."""

STEPS, GRADIENT = 100, 3e-4
"""Maximum number of steps, and the largest entry of the scaled gradient that ends them, by row."""


class Coefficients(NamedTuple):
    """W, shape (p, q), and b, shape (q,); q is 1 for two classes, else their number."""

    W: Array
    intercept: Array

    def scores(self, F: Array) -> Array:
        """Return F W + b, shape (n, q)."""
        return F @ self.W + self.intercept


def columns(scores: Array) -> Array:
    """Return a column for each class: [0, score] where there is one score, the log-odds."""
    return np.hstack([np.zeros_like(scores), scores]) if scores.shape[1] == 1 else scores


def shares_of(signs: Array) -> Array:
    """Return 1 in the column of each row's class, 0 elsewhere, from the +1 and -1 of the scores."""
    member = signs > 0
    whole = np.hstack([~member, member]) if signs.shape[1] == 1 else member
    return whole.astype(np.float64)


def logistic_path(
    F: Array, shares: Array, weights: Array | None, penalties: Array
) -> list[Coefficients]:
    """Return the minimisers for falling penalties, each found from the one before.

    Quasi-Newton steps in coordinates where the Hessian of the first iterate is about the identity:
    with R R' = F'F / 4 + penalty I, those of R'W.
    """
    n, k = shares.shape
    A, weight = np.hstack([F, np.ones((n, 1))]), np.ones(n) if weights is None else weights
    gram = (A * weight[:, None]).T @ A / 4.0
    total = float(weight.sum())
    options: Any = {"maxiter": STEPS, "gtol": GRADIENT * math.sqrt(total), "ftol": 1e-10}
    W, path = np.zeros((A.shape[1], 1 if k == 2 else k)), []
    for penalty in penalties:
        ridge = np.full((A.shape[1], 1), penalty)
        ridge[-1] = FREE * total
        R = cholesky_factor(gram, ridge[:, 0])
        problem = _Problem(A, shares, weight, ridge, R)
        start = (R.T @ W).ravel()
        result = minimize(problem.at, start, method="L-BFGS-B", jac=True, options=options)
        W = problem.coefficients(result.x)
        path.append(Coefficients(W[:-1], W[-1]))
    return path


class _Problem(NamedTuple):
    """The objective for one penalty, as a function of z = R'W; the last row of W is b."""

    A: Array
    shares: Array
    weight: Array
    ridge: Array
    R: Array

    def coefficients(self, z: Array) -> Array:
        """Return W."""
        return _solve(self.R, z.reshape(len(self.R), -1), transpose=1)

    def at(self, z: Array) -> tuple[float, Array]:
        """Return the objective and its gradient."""
        W = self.coefficients(z)
        logs = log_softmax(columns(self.A @ W))
        slopes = self.weight[:, None] * (np.exp(logs) - self.shares)[:, -W.shape[1] :]
        value = 0.5 * float((self.ridge * W * W).sum())
        value -= float(self.weight @ (self.shares * logs).sum(axis=1))
        gradient = self.A.T @ slopes + self.ridge * W
        return value, _solve(self.R, gradient, transpose=0).ravel()


def _solve(R: Array, right: Array, *, transpose: int) -> Array:
    """Return R^-1 or R'^-1 times `right`, R lower triangular."""
    return np.asarray(scipy.linalg.lapack.dtrtrs(R, right, lower=1, trans=transpose)[0])


def log_softmax(scores: Array) -> Array:
    """Return the logarithms of the softmax of each row; SciPy's takes longer for small arrays."""
    shifted = scores - scores.max(axis=1, keepdims=True)
    shifted -= np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    return np.asarray(shifted)


def log_loss(scores: Array, shares: Array, weights: Array | None) -> float:
    """Return the mean log loss of the softmax of the columns of scores."""
    logs = log_softmax(columns(scores))
    return -float(np.average((shares * logs).sum(axis=1), weights=weights))
