"""Multinomial logistic regression with a ridge penalty, for one penalty or several.

With features F, class indicators t_ik, weights w_i and Z = F W + b, the objective is

    - sum_i w_i sum_k t_ik log softmax(Z_i)_k + (penalty / 2) |W|^2.

For two classes, W has one column, F W + b is the log-odds, and Z = [0, F W + b].
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from itertools import count
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.linalg.lapack import dpotrs, dtrtrs
from scipy.optimize import minimize

from pliant.core.linalg import InverseHessian
from pliant.core.typing import Array
from pliant.methods.lab_rbf import constants
from pliant.methods.lab_rbf.objective import cholesky_factor
from pliant.methods.lab_rbf.scores import class_scores
from pliant.methods.lab_rbf.table import Table

INTERCEPT_PENALTY = 1e-6  # Per row; keeps the intercept finite if a class has no rows.
GRADIENT_TOLERANCE = 3e-4  # For g'H^-1 g / n (Newton) and |scaled gradient| / sqrt(n) (L-BFGS-B).
LEAST_STEPS = 15  # L-BFGS-B steps after the time limit; 10 lose .003 of accuracy, 25 gain none.
MAX_NEWTON = 2_000_000  # Largest cost n (p q)^2 of a Hessian for Newton's method; else L-BFGS-B.
MANY_COEFFICIENTS = 30_000  # Above this size p q of W, products and steps are in float32.
PATH_STEPS = 12  # Maximum number of these steps for each of several penalties,
FEW_PATH_STEPS = 6  # and with more than MANY_CLASSES classes.
SINGLE_DECREASE = 1e-6  # Smallest relative decrease by such a step that continues them.

HELD_OUT_RISE = 1.5  # A path of penalties ends at this multiple of the lowest held-out log loss.

SingleArray: TypeAlias = npt.NDArray[np.float32]


def class_indicators(signs: Array) -> Array:
    """Convert signs to indicators: 1 in the column of each row's class, 0 elsewhere."""
    positive = signs > 0
    indicators = np.hstack([~positive, positive]) if signs.shape[1] == 1 else positive
    return indicators.astype(np.float64)


def logistic_path(
    F: Array,
    indicators: Array,
    weights: Array | None,
    penalties: Array,
    is_over: Callable[[], bool] | None = None,
) -> list[tuple[Array, Array]]:
    """Minimise the objective for decreasing penalties, with warm starts; return each W and b.

    After `is_over` returns True, a minimisation ends after `LEAST_STEPS` steps, and smaller
    penalties get the W and b of the last one.
    """
    path = list(logistic_steps(F, indicators, weights, penalties, is_over))
    return path + path[-1:] * (len(penalties) - len(path))


def held_out_scores(
    F: Array, rows: Table, penalties: Array, G: Array, held_out: Table, is_over: Callable[[], bool]
) -> Array:
    """Compute the scores of held-out rows with features G for each penalty, (n_penalties, n, q).

    The path ends once the log loss of these rows has risen to `HELD_OUT_RISE` times the lowest, or
    the time is over; smaller penalties get nan.
    """
    steps = logistic_steps(F, class_indicators(rows.Y), rows.weights, penalties, is_over)
    indicators, path, lowest = class_indicators(held_out.Y), list[Array](), math.inf
    for W, intercept in steps:
        path.append(G @ W + intercept)
        logs = (indicators * log_softmax(class_scores(path[-1]))).sum(axis=1)
        loss = -float(np.average(logs, weights=held_out.weights))
        lowest = min(lowest, loss)
        if loss > HELD_OUT_RISE * lowest:
            break
    untried = [np.full_like(path[-1], np.nan)] * (len(penalties) - len(path))
    return np.stack(path + untried)


def best_penalty(penalties: Array, losses: Array) -> float:
    """Return the penalty at the minimum of the parabola through the lowest loss and its neighbours.

    The parabola is one in log(penalty), with equal steps.
    """
    best = int(np.nanargmin(losses))
    if not 0 < best < len(losses) - 1 or not np.isfinite(losses[best - 1 : best + 2]).all():
        return float(penalties[best])
    before, middle, after = losses[best - 1 : best + 2]
    bend = before - 2.0 * middle + after
    step = 0.5 * (before - after) / bend if bend > 0 else 0.0
    return float(penalties[best] * (penalties[best + 1] / penalties[best]) ** step)


def logistic_steps(
    F: Array,
    indicators: Array,
    weights: Array | None,
    penalties: Array,
    is_over: Callable[[], bool] | None = None,
) -> Iterator[tuple[Array, Array]]:
    """Iterate over the W and b of decreasing penalties until `is_over` returns True."""
    n, k = indicators.shape
    if n < F.shape[1]:  # F' = Q R: the minimiser is Q V, with |Q V| = |V| and F Q V = R'V
        Q, R = np.linalg.qr(F.T)
        for V, intercept in logistic_steps(R.T, indicators, weights, penalties, is_over):
            yield Q @ V, intercept
        return
    A, weight = np.hstack([F, np.ones((n, 1))]), np.ones(n) if weights is None else weights
    if k > 2 and A.shape[1] * k > MANY_COEFFICIENTS:
        yield from _steps_of_many_classes(A, indicators, weight, penalties, is_over)
        return
    W = np.zeros((A.shape[1], 1 if k == 2 else k))
    use_newton = n * W.size**2 <= MAX_NEWTON
    # Since p (1 - p) <= 1/4, F'F / 4 is an upper bound on the diagonal blocks of the Hessian.
    gram = None if use_newton else weighted_gram(A, weight) / 4.0
    for step, penalty in enumerate(penalties):
        if step and is_over is not None and is_over():
            return
        ridge = np.full((A.shape[1], 1), penalty)
        ridge[-1] = INTERCEPT_PENALTY * float(weight.sum())
        loss = PenalisedLogLoss(A, indicators, weight, ridge)
        W = _newton(loss, W) if gram is None else _quasi_newton(loss, W, gram, is_over)
        yield W[:-1], W[-1]


def weighted_gram(A: Array, weight: Array) -> Array:
    """Compute A' diag(weight) A as B'B, for which NumPy computes one triangle."""
    B = A * np.sqrt(weight)[:, None]
    return np.asarray(B.T @ B)


class LogisticPoint(NamedTuple):
    """Objective, gradient of shape (p, q), and probabilities of q classes, shape (n, q)."""

    value: float
    gradient: Array
    probabilities: Array


class PenalisedLogLoss(NamedTuple):
    """Objective for one penalty as a function of W, with b in the last row."""

    A: Array
    indicators: Array
    weight: Array
    ridge: Array

    def evaluate(self, W: Array) -> LogisticPoint:
        """Compute the objective and its gradient."""
        logs, q = log_softmax(class_scores(self.A @ W)), W.shape[1]
        probabilities = np.exp(logs)[:, -q:]
        slopes = self.weight[:, None] * (probabilities - self.indicators[:, -q:])
        value = 0.5 * float((self.ridge * W * W).sum())
        value -= float(self.weight @ (self.indicators * logs).sum(axis=1))
        return LogisticPoint(value, self.A.T @ slopes + self.ridge * W, probabilities)

    def hessian(self, probabilities: Array) -> Array:
        """Compute the Hessian without the penalty, with respect to the stacked columns of W."""
        p, q = self.A.shape[1], probabilities.shape[1]
        blocks = np.empty((q, p, q, p))
        for a in range(q):
            for b in range(a + 1):
                # d P_a / d Z_b = P_a (1_ab - P_b): block (a, b) is F' diag(w P_a (1_ab - P_b)) F
                curvature = self.weight * probabilities[:, a] * ((a == b) - probabilities[:, b])
                blocks[a, :, b] = (self.A * curvature[:, None]).T @ self.A
                blocks[b, :, a] = blocks[a, :, b]
        return blocks.reshape(q * p, q * p)


def _newton(loss: PenalisedLogLoss, W: Array) -> Array:
    """Minimise by Newton steps from W until the decrease per row is small."""
    point, (p, q) = loss.evaluate(W), W.shape
    ridge, tolerance = np.tile(loss.ridge[:, 0], q), GRADIENT_TOLERANCE * float(loss.weight.sum())
    for _ in range(100):
        # (H + diag(ridge)) step = gradient, with the columns of W stacked
        factor = cholesky_factor(loss.hessian(point.probabilities), ridge)
        right = point.gradient.T.ravel()
        step = dpotrs(factor, right, lower=1)[0].reshape(q, p).T
        slope = float(np.vdot(step, point.gradient))
        for length in 0.5 ** np.arange(12):  # Armijo's condition
            candidate = loss.evaluate(W - length * step)
            if candidate.value <= point.value - 1e-4 * length * slope:
                break
        else:  # the remaining decrease is below the rounding error
            break
        W, point = W - length * step, candidate
        if slope <= tolerance:
            break
    return W


def _quasi_newton(
    loss: PenalisedLogLoss, W: Array, gram: Array, is_over: Callable[[], bool] | None
) -> Array:
    """Minimise by quasi-Newton steps from W; `gram` is F'F / 4."""
    # With R R' = F'F / 4 + penalty I, the Hessian with respect to R'W is near the identity.
    R = cholesky_factor(gram, loss.ridge[:, 0])

    def coefficients(z: Array) -> Array:
        """Compute W = R'^-1 z."""
        return np.asarray(dtrtrs(R, z.reshape(len(R), -1), lower=1, trans=1)[0])

    def scaled(z: Array) -> tuple[float, Array]:
        """Compute the objective and its gradient as functions of z = R'W."""
        point = loss.evaluate(coefficients(z))
        return point.value, np.ravel(dtrtrs(R, point.gradient, lower=1)[0])

    tolerance = GRADIENT_TOLERANCE * math.sqrt(float(loss.weight.sum()))
    options = {"maxiter": 100, "gtol": tolerance, "ftol": 1e-10}
    steps = count(1)

    def end_in_time(z: Array) -> None:
        if next(steps) >= LEAST_STEPS and is_over is not None and is_over():
            raise StopIteration

    method: Any = {"method": "L-BFGS-B", "jac": True, "options": options, "callback": end_in_time}
    result = minimize(scaled, (R.T @ W).ravel(), **method)
    return coefficients(result.x)


class WhitenedLogLoss(NamedTuple):
    """The objective for one penalty as a function of z = R'W, with R R' = s F'F + ridge.

    `B` is F R'^{-1}, shape (n, p), and `share` is s. As ridge |W|^2 = |z|^2 - s |B z|^2, the value
    and the gradient need two products with B, in float32, and no triangular solve.
    """

    B: SingleArray
    indicators: SingleArray
    weight: Array
    share: float

    def evaluate(self, z: SingleArray) -> tuple[float, SingleArray]:
        """Compute the objective, and its gradient for z of shape (p, q)."""
        scores = self.B @ z
        shifted = scores - scores.max(axis=1, keepdims=True)
        logs = (self.indicators * shifted).sum(axis=1)
        slopes = np.exp(shifted)
        sums = slopes.sum(axis=1, keepdims=True)
        # sum_i w_i (log sum_k exp Z_ik - Z_i,true) + (|z|^2 - s sum_i w_i |Z_i|^2) / 2
        losses = np.log(sums[:, 0]) - logs
        losses -= np.float32(0.5 * self.share) * np.einsum("ij,ij->i", scores, scores)
        value = float(self.weight @ losses.astype(np.float64)) + 0.5 * float(np.vdot(z, z))
        slopes /= sums
        slopes -= self.indicators
        scores *= np.float32(self.share)
        slopes -= scores
        slopes *= self.weight[:, None].astype(np.float32)
        return value, self.B.T @ slopes + z

    def minimise(self, z: SingleArray, tolerance: float, max_steps: int) -> SingleArray:
        """Return z after L-BFGS steps until each slope is at most `tolerance`."""
        inverse, (value, gradient) = InverseHessian(5), self.evaluate(z)
        for _ in range(max_steps):
            if float(np.abs(gradient).max()) <= tolerance:
                break
            step = -inverse.dot(gradient)
            slope = float(np.vdot(step, gradient))
            for length in 0.5 ** np.arange(12):  # Armijo's condition
                candidate = z + np.float32(length) * step
                new = self.evaluate(candidate)
                if new[0] <= value + 1e-4 * length * slope:
                    break
            else:  # the remaining decrease is below the rounding error
                break
            inverse.update(candidate - z, new[1] - gradient)
            settled = value - new[0] <= SINGLE_DECREASE * abs(value)
            z, (value, gradient) = candidate, new
            if settled:
                break
        return z


def _steps_of_many_classes(
    A: Array,
    indicators: Array,
    weight: Array,
    penalties: Array,
    is_over: Callable[[], bool] | None = None,
) -> Iterator[tuple[Array, Array]]:
    """Iterate as `logistic_steps`, for q classes with many coefficients.

    Probabilities near 1/q have the mean curvature s = (q - 1)/q^2, which is 1/4 for two classes.
    """
    q, total = indicators.shape[1], float(weight.sum())
    share = (q - 1) / q**2
    gram = weighted_gram(A, weight) * share
    tolerance = GRADIENT_TOLERANCE * math.sqrt(total)
    n_steps = PATH_STEPS if q <= constants.MANY_CLASSES else FEW_PATH_STEPS
    # a single penalty gets the steps of a path, as the penalty was chosen along one
    path_of = penalties if len(penalties) > 1 else penalties * [[100.0], [10.0], [1.0]]
    W: Array = np.zeros((A.shape[1], q))
    for step, penalty in enumerate(path_of.ravel()):
        if step and len(penalties) > 1 and is_over is not None and is_over():
            return
        ridge = np.full(A.shape[1], penalty)
        ridge[-1] = INTERCEPT_PENALTY * total
        R = np.tril(cholesky_factor(gram, ridge))
        B = np.ascontiguousarray(dtrtrs(R, A.T, lower=1)[0].T, dtype=np.float32)
        loss = WhitenedLogLoss(B, indicators.astype(np.float32), weight, share)
        z = loss.minimise((R.T @ W).astype(np.float32), tolerance, n_steps)
        W = np.asarray(dtrtrs(R, z, lower=1, trans=1)[0])
        if penalty in penalties:
            yield W[:-1], W[-1]


def log_softmax(scores: Array) -> Array:
    """Compute the log-softmax of each row."""
    # scipy.special.log_softmax is slower for small arrays.
    shifted = scores - scores.max(axis=1, keepdims=True)
    shifted -= np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    return np.asarray(shifted)
