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
from pliant.methods.lab_rbf.features import Evaluated, LocalRows, NormalEquations

LOWEST, HIGHEST = math.log(1e-6), math.log(1e4)  # Bounds on log theta^2, for features on [-1, 1].
# Bound on the absolute value of log lam: lam and its inverse must be numbers.
LARGEST_LEVEL = 690.0
LEAST_ENERGY = 1e-36  # Lower bound on R, for targets on [-1, 1]: its inverse must fit into float32.
# Share of the largest eigenvalue of F'F below which a ridge penalty makes no difference.
NEGLIGIBLE = 1e-18
JITTER = 1e-9  # Added to lam, relative to the mean diagonal of F'F: its Cholesky factor must exist.


class Point(NamedTuple):
    """An objective, its gradient with respect to log theta^2, and to log lam (0 if not learned)."""

    value: float
    gradient: Array
    level: float = 0.0


class _Fit(NamedTuple):
    """An objective at some bandwidths, and what its gradient is computed from."""

    value: float
    evaluated: Evaluated
    a: Array
    residual: Any  # F a - y, on the device
    factor: Any  # of the matrix that is solved with
    lam: float = 0.0
    energy: float = 0.0  # R
    centres: Evaluated | None = None  # kernel values among the centres


@dataclass(frozen=True, eq=False)
class _OnRows:
    """A function of the bandwidths, averaged over rows."""

    rows: LocalRows
    # Where it was evaluated last, and its value: a stage starts where the one before has ended.
    known: list[tuple[Array, float, Point]] = field(default_factory=list, init=False, repr=False)

    def at(self, log_squares: Array, level: float = 0.0) -> Point:
        """Return value and gradients; `level` is log lam, which only the evidence depends on."""
        for s, given, point in self.known:
            # The first entries of two of them mostly differ: compare these before all others.
            same = given == level and s.item(0) == log_squares.item(0)
            if same and np.array_equal(s, log_squares):
                return point
        point = self._point(self._fit(log_squares, level), log_squares, level)
        self.known[:] = [(log_squares.copy(), level, point)]
        return point

    def value(self, log_squares: Array, level: float = 0.0) -> float:
        """Return the value alone."""
        return self._fit(log_squares, level).value

    @abstractmethod
    def _fit(self, log_squares: Array, level: float) -> _Fit:
        """Return the value, with coefficients and residual."""

    @abstractmethod
    def _point(self, fit: _Fit, log_squares: Array, level: float) -> Point:
        """Return value and gradients."""

    def sample(self, indices: Indices) -> Self:
        """Return the objective on some of the rows."""
        return replace(self, rows=self.rows.take(indices))

    def _pulled(self, fit: _Fit, log_squares: Array) -> Any:
        """Return (F a - y) c', shape (n, m): d (|F a - y|^2 / 2) / dK."""
        return fit.residual @ self.rows.features.device.array(fit.a[: len(log_squares)].T)


@dataclass(frozen=True, eq=False)
class Ridge(_OnRows):
    """(|F a - y|^2 + alpha |a|^2) / (n v), a its minimiser."""

    alpha: float  # ridge penalty, > 0
    scale: float  # v

    @property
    def _factor(self) -> float:
        return 1.0 / (len(self.rows) * self.scale)

    def _fit(self, log_squares: Array, level: float) -> _Fit:
        evaluated = self.rows.at(log_squares)
        equations, factor, _ = _factored(self.rows, evaluated.features, self.alpha, 0.0)
        a, residual = _coefficients(self.rows, evaluated.features, equations, factor, self.alpha)
        energy = _square(self.rows, residual) + self.alpha * float(np.vdot(a, a))
        return _Fit(self._factor * energy, evaluated, a, residual, factor)

    def _point(self, fit: _Fit, log_squares: Array, level: float) -> Point:
        """Return value and gradient; by the envelope theorem, a counts as constant."""
        pulled = self._pulled(fit, log_squares)
        gradient = self.rows.gradient(fit.evaluated, pulled, log_squares)
        return Point(fit.value, 2.0 * self._factor * gradient)


@dataclass(frozen=True, eq=False)
class Evidence(_OnRows):
    """log(R / (n q v)) + (log det A - p log lam) / n, lam learned."""

    scale: float  # v

    def _fit(self, log_squares: Array, level: float) -> _Fit:
        rows, evaluated = self.rows, self.rows.at(log_squares)
        equations, factor, lam = _factored(rows, evaluated.features, math.exp(level), JITTER)
        a, residual = _coefficients(rows, evaluated.features, equations, factor, lam)
        energy = max(_square(rows, residual) + lam * float(np.vdot(a, a)), LEAST_ENERGY)
        complexity = 2.0 * float(np.log(factor.diagonal()).sum()) - len(a) * math.log(lam)
        spread = energy / (len(rows) * rows.outputs * self.scale)
        value = math.log(spread) + complexity / len(rows)
        return _Fit(value, evaluated, a, residual, factor, lam, energy)

    def _point(self, fit: _Fit, log_squares: Array, level: float) -> Point:
        """Return value and gradients; `level` is log lam."""
        n, a, lam, inverse = len(self.rows), fit.a, fit.lam, _inverse(fit.factor)
        weights = self.rows.features.device.array(inverse[:, : len(log_squares)] * (2.0 / n))
        # d log R = 2 (F a - y) c' / R by the envelope theorem; d log det A = 2 F A^-1.
        pulled = self._pulled(fit, log_squares)
        pulled *= 2.0 / fit.energy
        pulled += fit.evaluated.features @ weights
        gradient = self.rows.gradient(fit.evaluated, pulled, log_squares)
        slope = lam * float(np.vdot(a, a)) / fit.energy
        slope += (lam * float(inverse.trace()) - len(a)) / n
        return Point(fit.value, gradient, math.exp(level) / lam * slope)


@dataclass(frozen=True, eq=False)
class Interpolation(_OnRows):
    """|K c - y|^2 / (n v), c = (K_cc + alpha I)^-1 y_c: He et al., Eq. 9; no linear features."""

    target: Array  # the centred targets y_c of the centres, shape (m, q)
    alpha: float  # ridge penalty, > 0
    scale: float  # v

    def coefficients(self, log_squares: Array) -> Array:
        """Return c, shape (m, q)."""
        return self._solved(log_squares)[0]

    def _solved(self, log_squares: Array) -> tuple[Array, Any, Evaluated]:
        """Return c, the LU factors of K_cc + alpha I, which is not symmetric, and K_cc."""
        features = self.rows.features
        centres = features.at(features.moments(features.centres), log_squares)
        matrix = features.device.numpy(centres.kernel).copy()
        matrix[np.diag_indices_from(matrix)] = 1.0 + self.alpha  # exact
        factor = scipy.linalg.lu_factor(matrix, check_finite=False)
        return np.asarray(scipy.linalg.lu_solve(factor, self.target)), factor, centres

    def _fit(self, log_squares: Array, level: float) -> _Fit:
        c, factor, centres = self._solved(log_squares)
        evaluated = self.rows.at(log_squares)
        residual = _residual(self.rows, evaluated.features, c)
        value = _square(self.rows, residual) / (len(self.rows) * self.scale)
        return _Fit(value, evaluated, c, residual, factor, centres=centres)

    def _point(self, fit: _Fit, log_squares: Array, level: float) -> Point:
        """Return value and gradient, by the adjoint of the linear system."""
        local, c, centres = self.rows.features, fit.a, fit.centres
        assert centres is not None
        pulled = self._pulled(fit, log_squares)
        gradient = self.rows.gradient(fit.evaluated, pulled, log_squares)
        # c depends on K_cc: with the adjoint z = (K_cc + alpha I)^-T K'(K c - y), dL/dK_cc = -z c'.
        right = local.device.numpy(fit.evaluated.features.T @ fit.residual)
        derivative = local.device.array(-scipy.linalg.lu_solve(fit.factor, right, trans=1) @ c.T)
        derivative *= local.slopes(centres)
        derivative[range(len(c)), range(len(c))] = 0.0  # a centre is at distance 0 from itself
        gradient += local.pull_back(derivative.T @ local.moments(local.centres), log_squares)
        return Point(fit.value, 2.0 / (len(self.rows) * self.scale) * gradient)


Objective = Ridge | Evidence | Interpolation
"""A function of the bandwidths, averaged over rows."""


def _residual(rows: LocalRows, F: Any, a: Array) -> Any:
    """Return F a - y, shape (n, q), on the device."""
    return F @ rows.features.device.array(a) - rows.target


def _square(rows: LocalRows, residual: Any) -> float:
    """Return |F a - y|^2."""
    r = rows.features.device.numpy(residual)
    return float(np.vdot(r, r))


def _coefficients(
    rows: LocalRows, F: Any, equations: NormalEquations, factor: Array, alpha: float
) -> tuple[Array, Any]:
    """Return a = (F'F + alpha I)^-1 F'y, and F a - y."""
    a = _solved(factor, equations.right)
    residual = _residual(rows, F, a)
    if not equations.rounded:
        return a, residual
    # One step of iterative refinement removes most of the error of rounded products.
    a = a - _solved(factor, rows.features.device.numpy(F.T @ residual) + alpha * a)
    return a, _residual(rows, F, a)


def _factored(
    rows: LocalRows, F: Any, alpha: float, jitter: float
) -> tuple[NormalEquations, Array, float]:
    """Return F'F and F'y, the Cholesky factor of F'F + lam I, and lam = alpha + the jitter."""

    def factored(equations: NormalEquations) -> tuple[NormalEquations, Array, float]:
        lam = alpha + jitter * float(equations.gram.diagonal().mean())
        return equations, cholesky_factor(equations.gram, lam), lam

    equations = rows.normal_equations(F, alpha)
    try:
        return factored(equations)
    except ValueError:
        if not equations.rounded:
            raise
    return factored(rows.normal_equations(F, 0.0))  # in float64


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
    """Return (L L')^-1 times `right`."""
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


@dataclass(frozen=True, eq=False)
class Bandwidths:
    """An objective as a function of one vector: log theta^2, all of them, and log lam.

    They are regularised: plus shrinkage * mean((s_ij - mean_i s_ij)^2). With a shrinkage of inf,
    the vector has one bandwidth for each feature, which all centres share.
    """

    objective: Objective
    shrinkage: float = 0.0
    learns_level: bool = False  # whether log lam is learned

    @property
    def shared(self) -> bool:
        """Whether all centres share their bandwidths."""
        return math.isinf(self.shrinkage)

    def pack(self, log_squares: Array, level: float) -> Array:
        """Return the vector; that of shared bandwidths has their mean."""
        return self._joined(log_squares.mean(axis=0) if self.shared else log_squares, level)

    def _joined(self, values: Array, level: float) -> Array:
        return np.append(values, level) if self.learns_level else values.ravel()

    def unpack(self, x: Array) -> tuple[Array, float]:
        """Return log theta^2 within its bounds, shape (m, d), and log lam."""
        m, d = self.objective.rows.features.centres.shape
        s = np.tile(x[:d], (m, 1)) if self.shared else x[: m * d].reshape(m, d)
        level = min(max(float(x[-1]), -LARGEST_LEVEL), LARGEST_LEVEL) if self.learns_level else 0.0
        return s.clip(LOWEST, HIGHEST), level

    def value_and_gradient(self, x: Array) -> tuple[float, Array]:
        """Return the penalised objective and its gradient."""
        s, level = self.unpack(x)
        point = self.objective.at(s, level)
        if self.shared:
            return point.value, self._joined(point.gradient.sum(axis=0), point.level)
        spread = s - s.sum(axis=0) / len(s)
        gradient = point.gradient + (2.0 * self.shrinkage / s.size) * spread
        value = point.value + self.shrinkage * float(np.vdot(spread, spread)) / s.size
        return value, self._joined(gradient, point.level)

    def sample(self, indices: Indices) -> Bandwidths:
        """Return the problem on some of the rows."""
        return replace(self, objective=self.objective.sample(indices))
