"""Objectives of the bandwidths of a LAB-RBF expansion f = K c + X v + b.

With F = [K, X] (X only if asked for), rows of F and targets y times the roots of their weights, the
coefficients a = [c; v] are eliminated (variable projection): each objective is a function of
s = log(theta o theta), shape (m, d), alone.

* ridge: (|F a - y|^2 + alpha |a|^2) / (n v), a = (F'F + alpha I)^-1 F'y
* evidence: log(R / (n q v)) + (log det A - p log lam) / n with A = F'F + lam I, a = A^-1 F'y,
  R = |y - F a|^2 + lam |a|^2: minus twice the logarithm of the Gaussian marginal likelihood per
  row, the noise and lam learned as well
* interpolation: |K c - y|^2 / (n v), c = (K_cc + alpha I)^-1 y_c, c the centres (He et al., Eq. 9)

v is the mean square of y, so that all are about 1 at f = b. None is convex.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Self

import numpy as np
import scipy.linalg

from pliant.core.typing import Array, Indices
from pliant.methods.lab_rbf.rows import Block, Evaluated, Evaluation, LocalRows, NormalEquations

LOWEST, HIGHEST = math.log(1e-6), math.log(1e4)
"""Bounds on log theta^2, for features on [-1, 1]."""

LARGEST_LEVEL = 690.0
"""Bound on the absolute value of log lam: lam and its inverse must be numbers."""

LEAST_ENERGY = 1e-36
"""Lower bound on R, for targets on [-1, 1]: its inverse must fit into float32."""

NEGLIGIBLE = 1e-18
"""Share of the largest eigenvalue of F'F below which a ridge penalty makes no difference."""

JITTER = 1e-9
"""Added to lam, relative to the mean diagonal of F'F: its Cholesky factor must exist."""


class Point(NamedTuple):
    """An objective, its gradient with respect to log theta^2, and to log lam (0 if not learned)."""

    value: float
    gradient: Array
    level: float = 0.0


@dataclass(frozen=True, eq=False)
class _OnRows:
    """A function of the bandwidths, averaged over rows.

    `known` is where it was evaluated last, and what it was there: a stage starts where the one
    before has ended.
    """

    rows: LocalRows
    known: list[tuple[Array, float, Point]] = field(default_factory=list, init=False, repr=False)

    def at(self, log_squares: Array, level: float = 0.0) -> Point:
        """Return value and gradients; `level` is log lam, which only the evidence depends on."""
        for s, given, point in self.known:
            # The first entries of two of them mostly differ: compare these before all others.
            same = given == level and s.item(0) == log_squares.item(0)
            if same and np.array_equal(s, log_squares):
                return point
        point = self._at(log_squares, level)
        self.known[:] = [(log_squares.copy(), level, point)]
        return point

    def value(self, log_squares: Array, level: float = 0.0) -> float:
        """Return the value alone."""
        return self.at(log_squares, level).value

    @abstractmethod
    def _at(self, log_squares: Array, level: float) -> Point:
        """Return value and gradients."""

    def sample(self, indices: Indices) -> Self:
        """Return the objective on some of the rows."""
        return replace(self, rows=self.rows.take(indices))


@dataclass(frozen=True, eq=False)
class Ridge(_OnRows):
    """(|F a - y|^2 + alpha |a|^2) / (n v), a its minimiser.

    Parameters
    ----------
    rows : LocalRows
        n rows.
    alpha : float
        Ridge penalty, > 0.
    scale : float
        v.
    """

    alpha: float
    scale: float

    def value(self, log_squares: Array, level: float = 0.0) -> float:
        """Return the value alone."""
        return self._valued(self.rows.evaluated(log_squares))[0]

    def _at(self, log_squares: Array, level: float) -> Point:
        """Return value and gradient; by the envelope theorem, a counts as constant."""
        features = self.rows.evaluated(log_squares)
        value, residual = self._valued(features)
        gradient = features.gradient(residual.times_coefficients)
        return Point(value, 2.0 * self._factor * gradient)

    @property
    def _factor(self) -> float:
        return 1.0 / (len(self.rows) * self.scale)

    def _valued(self, features: Evaluation) -> tuple[float, _Residual]:
        """Return the value, and the residual."""
        equations, factor, _ = _factored(features, self.alpha, 0.0)
        a, residual = _coefficients(equations, features, factor, self.alpha)
        energy = residual.square() + self.alpha * float(np.vdot(a, a))
        return self._factor * energy, residual


class _Valued(NamedTuple):
    """The evidence, R, lam with its jitter, the coefficients, and the factor of A = L L'."""

    value: float
    energy: float
    lam: float
    a: Array
    residual: _Residual
    factor: Array


@dataclass(frozen=True, eq=False)
class Evidence(_OnRows):
    """log(R / (n q v)) + (log det A - p log lam) / n, lam learned.

    Parameters
    ----------
    rows : LocalRows
        n rows.
    scale : float
        v.
    """

    scale: float

    def _at(self, log_squares: Array, level: float) -> Point:
        """Return value and gradients; `level` is log lam."""
        n, features = len(self.rows), self.rows.evaluated(log_squares)
        value, energy, lam, a, residual, factor = self._valued(features, level)
        inverse, small = _inverse(factor), float(np.vdot(a, a))
        weights = self.rows.features.device.array(inverse[:, : len(log_squares)] * (2.0 / n))

        def upstream(each: Evaluated) -> Any:
            # d log R = 2 (F a - y) c' / R by the envelope theorem; d log det A = 2 F A^-1.
            direct = residual.times_coefficients(each)
            direct *= 2.0 / energy
            direct += each.features @ weights
            return direct

        gradient = features.gradient(upstream)
        slope = lam * small / energy + (lam * float(inverse.trace()) - len(a)) / n
        return Point(value, gradient, math.exp(level) / lam * slope)

    def value(self, log_squares: Array, level: float = 0.0) -> float:
        """Return the value alone."""
        return self._valued(self.rows.evaluated(log_squares), level).value

    def _valued(self, features: Evaluation, level: float) -> _Valued:
        """Return the value, and what it was computed from."""
        equations, factor, lam = _factored(features, math.exp(level), JITTER)
        a, residual = _coefficients(equations, features, factor, lam)
        energy = max(residual.square() + lam * float(np.vdot(a, a)), LEAST_ENERGY)
        complexity = 2.0 * float(np.log(factor.diagonal()).sum()) - len(a) * math.log(lam)
        spread = energy / (len(self.rows) * self.rows.outputs * self.scale)
        value = math.log(spread) + complexity / len(self.rows)
        return _Valued(value, energy, lam, a, residual, factor)


@dataclass(frozen=True, eq=False)
class Interpolation(_OnRows):
    """|K c - y|^2 / (n v), c = (K_cc + alpha I)^-1 y_c: He et al., Eq. 9.

    Parameters
    ----------
    rows : LocalRows
        n rows, without linear features.
    target : array of shape (m, q)
        The centred targets y_c of the centres.
    alpha : float
        Ridge penalty, > 0.
    scale : float
        v.
    """

    target: Array
    alpha: float
    scale: float

    def coefficients(self, log_squares: Array) -> Array:
        """Return c, shape (m, q)."""
        factor = self._factor(self._centres(log_squares))
        return np.asarray(scipy.linalg.lu_solve(factor, self.target))

    def _centres(self, log_squares: Array) -> Evaluated:
        """Return the kernel values among the centres."""
        features = self.rows.features
        block = Block(features.moments(features.centres), None, None)
        return features.evaluate(block, features.parameters(log_squares))

    def _factor(self, centres: Evaluated) -> Any:
        """Return the LU factors of K_cc + alpha I, its diagonal exact; K_cc is not symmetric."""
        matrix = self.rows.features.device.numpy(centres.kernel).copy()
        matrix[np.diag_indices_from(matrix)] = 1.0 + self.alpha
        return scipy.linalg.lu_factor(matrix, check_finite=False)

    def _at(self, log_squares: Array, level: float) -> Point:
        """Return value and gradient, by the adjoint of the linear system."""
        local, device = self.rows.features, self.rows.features.device
        centres = self._centres(log_squares)
        factor = self._factor(centres)
        c = scipy.linalg.lu_solve(factor, self.target)
        features = self.rows.evaluated(log_squares)
        residual = _Residual(c, features)
        gradient = features.gradient(residual.times_coefficients)
        # c depends on K_cc: with the adjoint z = (K_cc + alpha I)^-T K'(K c - y), dL/dK_cc = -z c'.
        adjoint = scipy.linalg.lu_solve(factor, residual.pulled(), trans=1)
        derivative = device.array(-adjoint @ c.T)
        derivative *= local.slopes(centres)
        derivative[range(len(c)), range(len(c))] = 0.0  # a centre is at distance 0 from itself
        gradient += local.pull_back(derivative.T @ centres.block.moments, log_squares)
        scale = len(self.rows) * self.scale
        return Point(residual.square() / scale, 2.0 / scale * gradient)


Objective = Ridge | Evidence | Interpolation
"""A function of the bandwidths, averaged over rows."""


class _Residual:
    """F a - y of each block, and what follows from it."""

    def __init__(self, a: Array, features: Evaluation) -> None:
        self.features = features
        self._device = features.features.device
        self._a = self._device.array(a)
        self._c = self._device.array(a[: len(features.log_squares)].T)
        self._kept: tuple[Evaluated | None, Any] = (None, None)

    def of(self, each: Evaluated) -> Any:
        """Return F a - y, shape (rows, q); that of the last block is kept."""
        if each is not self._kept[0]:
            self._kept = each, each.features @ self._a - each.block.target
        return self._kept[1]

    def times_coefficients(self, each: Evaluated) -> Any:
        """Return (F a - y) c', shape (rows, m)."""
        return self.of(each) @ self._c

    def pulled(self) -> Array:
        """Return F'(F a - y), shape (p, q)."""
        parts = (self._device.numpy(each.features.T @ self.of(each)) for each in self.features)
        return np.asarray(sum(parts))

    def square(self) -> float:
        """Return |F a - y|^2 over all rows."""
        residuals = (self._device.numpy(self.of(each)) for each in self.features)
        return sum(float(np.vdot(r, r)) for r in residuals)


def _coefficients(
    equations: NormalEquations, features: Evaluation, factor: Array, alpha: float
) -> tuple[Array, _Residual]:
    """Return (F'F + alpha I)^-1 F'y, and the residual.

    Where products were rounded, one step of iterative refinement removes most of the error.
    """
    a = _solved(factor, equations.right)
    residual = _Residual(a, features)
    if not equations.rounded:
        return a, residual
    a = a - _solved(factor, residual.pulled() + alpha * a)
    return a, _Residual(a, features)


def _factored(
    features: Evaluation, alpha: float, jitter: float
) -> tuple[NormalEquations, Array, float]:
    """Return F'F and F'y, the Cholesky factor of F'F + lam I, and lam.

    lam is alpha and the jitter, which is relative to the mean diagonal of F'F. Where the rounding
    errors of products in float32 are larger than lam, the products are computed in float64.
    """

    def factored(equations: NormalEquations) -> tuple[NormalEquations, Array, float]:
        lam = alpha + jitter * float(equations.gram.diagonal().mean())
        return equations, cholesky_factor(equations.gram, lam), lam

    equations = features.normal_equations(alpha)
    try:
        return factored(equations)
    except ValueError:
        if not equations.rounded:
            raise
    return factored(features.normal_equations(0.0))  # nothing is rounded for a penalty of zero


def cholesky_factor(gram: Array, alpha: Array | float) -> Array:
    """Return the lower Cholesky factor of F'F + diag(alpha); a little more if rounding needs it."""
    for lift in (0.0, 1e-12, 1e-9, 1e-6):
        more = alpha + lift * float(gram.diagonal().mean()) if lift else alpha
        # LAPACK stores columns one after the other: the transpose of a symmetric matrix is itself.
        lifted = gram.copy().T
        lifted.T.reshape(-1)[:: len(gram) + 1] += more
        factor, failed = scipy.linalg.lapack.dpotrf(lifted, lower=1, overwrite_a=1)
        if not failed:
            return np.asarray(factor)
    raise ValueError(
        "expected features and weights of moderate size, got sums of squares of "
        f"{float(gram.diagonal().mean()):.3g} on average; scale the data"
    )


def _solved(factor: Array, right: Array) -> Array:
    return np.asarray(scipy.linalg.lapack.dpotrs(factor, right, lower=1)[0])


def _inverse(factor: Array) -> Array:
    """Return the inverse of L L'; LAPACK fills its lower triangle only."""
    inverse, _ = scipy.linalg.lapack.dpotri(factor, lower=1)
    whole = inverse + inverse.T  # the upper triangle is zero
    np.fill_diagonal(whole, inverse.diagonal())
    return np.asarray(whole)


def ridge_path(gram: Array, right: Array, alphas: Array) -> Array:
    """Return (F'F + alpha I)^-1 F'y for each alpha, shape (len(alphas), p, q).

    One eigendecomposition F'F = V diag(w) V' serves all: the solution is V (w + alpha)^-1 V'F'y.
    """
    values, vectors = np.linalg.eigh(gram)
    rotated = vectors.T @ right
    # Smaller penalties than this are hidden by rounding, and could leave nothing to divide by.
    least = NEGLIGIBLE * max(float(values[-1]), 0.0)
    damped = (np.maximum(values, 0.0) + max(alpha, least) for alpha in alphas)
    scaled = [rotated / each[:, None] for each in damped]
    return np.stack([vectors @ each for each in scaled])


def _level(x: Array) -> float:
    """Return log lam within its bounds, the last entry of a packed vector."""
    return min(max(float(x[-1]), -LARGEST_LEVEL), LARGEST_LEVEL)


@dataclass(frozen=True, eq=False)
class Bandwidths:
    """An objective as a function of one vector: log theta^2, all of them, and log lam.

    They are regularised: plus shrinkage * mean((s_ij - mean_i s_ij)^2).

    Parameters
    ----------
    objective : Objective
        The function to minimise.
    shrinkage : float
        Penalty parameter, >= 0.
    learns_level : bool
        Whether log lam is learned.
    """

    objective: Objective
    shrinkage: float = 0.0
    learns_level: bool = False

    def pack(self, log_squares: Array, level: float) -> Array:
        """Return the vector."""
        return np.append(log_squares, level) if self.learns_level else log_squares.ravel()

    def unpack(self, x: Array) -> tuple[Array, float]:
        """Return log theta^2 within its bounds, shape (m, d), and log lam."""
        shape = self.objective.rows.features.centres.shape
        s = x[: shape[0] * shape[1]].reshape(shape)
        return s.clip(LOWEST, HIGHEST), _level(x) if self.learns_level else 0.0

    def value_and_gradient(self, x: Array) -> tuple[float, Array]:
        """Return the penalised objective and its gradient."""
        s, level = self.unpack(x)
        point = self.objective.at(s, level)
        spread = s - s.sum(axis=0) / len(s)
        gradient = point.gradient + (2.0 * self.shrinkage / s.size) * spread
        value = point.value + self.shrinkage * float(np.vdot(spread, spread)) / s.size
        return value, self.pack(gradient, point.level)

    def sample(self, indices: Indices) -> Bandwidths:
        """Return the problem on some of the rows."""
        return replace(self, objective=self.objective.sample(indices))


@dataclass(frozen=True, eq=False)
class Shared:
    """An objective as a function of one bandwidth per feature, for all centres, and log lam."""

    objective: Objective
    learns_level: bool = False

    def pack(self, log_squares: Array, level: float) -> Array:
        """Return the vector for bandwidths that all centres share: their mean."""
        row = log_squares.mean(axis=0)
        return np.append(row, level) if self.learns_level else row

    def unpack(self, x: Array) -> tuple[Array, float]:
        """Return log theta^2 within its bounds, shape (m, d), and log lam."""
        m, d = self.objective.rows.features.centres.shape
        s = np.tile(x[:d].clip(LOWEST, HIGHEST), (m, 1))
        return s, _level(x) if self.learns_level else 0.0

    def value_and_gradient(self, x: Array) -> tuple[float, Array]:
        """Return the objective and its gradient."""
        point = self.objective.at(*self.unpack(x))
        row = point.gradient.sum(axis=0)
        return point.value, np.append(row, point.level) if self.learns_level else row


Problem = Bandwidths | Shared
"""What a solver minimises."""
