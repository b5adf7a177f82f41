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

# Penalties that the held-out rows choose from, for rows of weight 1.
PENALTIES = np.array([100.0, 10.0, 1.0, 0.1, 0.01])
# Penalty of the intercept for each row, so that it is finite where a class has no rows.
FREE = 1e-6
# Maximum number of steps, and the largest entry of the scaled gradient that ends them, by row.
STEPS, GRADIENT = 100, 3e-4
SMALL = 2_000_000  # Number of products in a Hessian, n (p q)^2, up to which steps by it save time.
SHARES = 0.5 ** np.arange(12)  # Shares of Newton's step that are tried, one after the other.


Coefficients = tuple[Array, Array]
"""W, shape (p, q), and b, shape (q,); q is 1 for two classes, else their number."""


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
    """Return the minimisers for falling penalties, each found from the one before."""
    n, k = shares.shape
    A, weight = np.hstack([F, np.ones((n, 1))]), np.ones(n) if weights is None else weights
    W, path = np.zeros((A.shape[1], 1 if k == 2 else k)), []
    small = n * W.size**2 <= SMALL
    gram = None if small else (A * weight[:, None]).T @ A / 4.0
    for penalty in penalties:
        ridge = np.full((A.shape[1], 1), penalty)
        ridge[-1] = FREE * float(weight.sum())
        penalised = _Penalised(A, shares, weight, ridge)
        W = _newton(penalised, W) if gram is None else _quasi_newton(penalised, W, gram)
        path.append((W[:-1], W[-1]))
    return path


class _Point(NamedTuple):
    """The objective, its gradient, shape (p, q), and the probabilities of q classes, (n, q)."""

    value: float
    gradient: Array
    probabilities: Array


class _Penalised(NamedTuple):
    """The objective for one penalty, as a function of W; its last row is b."""

    A: Array
    shares: Array
    weight: Array
    ridge: Array

    def at(self, W: Array) -> _Point:
        """Return the objective and its gradient."""
        logs, q = log_softmax(columns(self.A @ W)), W.shape[1]
        probabilities = np.exp(logs)[:, -q:]
        slopes = self.weight[:, None] * (probabilities - self.shares[:, -q:])
        value = 0.5 * float((self.ridge * W * W).sum())
        value -= float(self.weight @ (self.shares * logs).sum(axis=1))
        return _Point(value, self.A.T @ slopes + self.ridge * W, probabilities)

    def hessian(self, probabilities: Array) -> Array:
        """Return the Hessian without the penalty, by the columns of W one below the other."""
        p, q = self.A.shape[1], probabilities.shape[1]
        blocks = np.empty((q, p, q, p))
        for a in range(q):
            for b in range(a + 1):  # d P_a / d Z_b = P_a (1_ab - P_b)
                curvature = self.weight * probabilities[:, a] * ((a == b) - probabilities[:, b])
                blocks[a, :, b] = (self.A * curvature[:, None]).T @ self.A
                blocks[b, :, a] = blocks[a, :, b]
        return blocks.reshape(q * p, q * p)


def _newton(penalised: _Penalised, W: Array) -> Array:
    """Return the minimiser, by Newton's steps from W; the last one gains little for each row."""
    at, (p, q) = penalised.at(W), W.shape
    ridge, least = np.tile(penalised.ridge[:, 0], q), GRADIENT * float(penalised.weight.sum())
    for _ in range(STEPS):
        factor = cholesky_factor(penalised.hessian(at.probabilities), ridge)
        right = at.gradient.T.ravel()
        step = scipy.linalg.lapack.dpotrs(factor, right, lower=1)[0].reshape(q, p).T
        slope = float(np.vdot(step, at.gradient))
        tried = ((W - share * step, 1e-4 * share * slope) for share in SHARES)
        lower = (
            (V, here) for V, gain in tried if (here := penalised.at(V)).value <= at.value - gain
        )
        better = next(lower, None)
        if better is None:  # rounding errors hide what is left
            break
        W, at = better
        if slope <= least:
            break
    return W


def _quasi_newton(penalised: _Penalised, W: Array, gram: Array) -> Array:
    """Return the minimiser, by quasi-Newton steps from W; `gram` is F'F / 4."""
    # With R R' = F'F / 4 + penalty I, the Hessian of R'W is about the identity at first.
    R = cholesky_factor(gram, penalised.ridge[:, 0])

    def coefficients(z: Array) -> Array:
        """Return W = R'^-1 z."""
        return _solve(R, z.reshape(len(R), -1), transpose=1)

    def scaled(z: Array) -> tuple[float, Array]:
        """Return the objective and its gradient as functions of z = R'W."""
        at = penalised.at(coefficients(z))
        return at.value, _solve(R, at.gradient, transpose=0).ravel()

    tolerance = GRADIENT * math.sqrt(float(penalised.weight.sum()))
    options: Any = {"maxiter": STEPS, "gtol": tolerance, "ftol": 1e-10}
    start = (R.T @ W).ravel()
    result = minimize(scaled, start, method="L-BFGS-B", jac=True, options=options)
    return coefficients(result.x)


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
