"""Objectives for the bandwidths of a LAB-RBF expansion f = K c + X v + b.

Let F = [K, X], or K without a linear part, with the rows of F and y multiplied by the square roots
of their weights. Variable projection eliminates the coefficients a = [c; v]: each objective is a
function of s = log(theta o theta), shape (m, d).

* ridge: (|F a - y|^2 + alpha |a|^2) / (n v), a = (F'F + alpha I)^-1 F'y
* evidence: log(R / (n q v)) + (log det A - p log lam) / n with A = F'F + lam I, a = A^-1 F'y,
  R = |y - F a|^2 + lam |a|^2: minus twice the log of the Gaussian marginal likelihood per row, with
  the noise variance and lam learned

v = |y|^2 / n, so that ridge is 1 at f = b. Neither objective is convex.

Squared distances are matrix products: with z(x) = [x o x, x, 1], W = theta o theta and
w_i = [W_i, -2 W_i o c_i, W_i'(c_i o c_i)], |theta_i o (x - c_i)|^2 = z(x)'w_i. A gradient needs one
more product. Large arrays are stored on a `pliant.core.device.Device`, small ones as NumPy arrays.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Self, TypeAlias

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotri, dpotrs

from pliant.core.device import Device
from pliant.core.typing import Array, Indices
from pliant.methods.lab_rbf.constants import JITTER, LOG_SQUARE_RANGE
from pliant.methods.lab_rbf.kernel import Profile, centre_products, point_products

DeviceArray: TypeAlias = Any
"""NumPy or PyTorch array with the floating-point type of the device."""


class LocalValues(NamedTuple):
    """Kernel values between n rows and m centres, and p weighted features."""

    distances: DeviceArray | None  # squared distances, shape (n, m), if the slope needs them
    kernel: DeviceArray  # shape (n, m)
    features: DeviceArray  # F times the square roots of the weights, shape (n, p)


@dataclass(frozen=True, eq=False)
class LocalFeatures:
    """Features of a LAB-RBF expansion: kernel values for m centres, and x if `linear`."""

    centres: Array  # shape (m, d), near the origin, where products give accurate distances
    profile: Profile
    linear: bool
    device: Device

    def moments(self, X: Array) -> DeviceArray:
        """Return z(x) = [x o x, x, 1] for each row, shape (n, 2 d + 1)."""
        return self.device.array(point_products(X))

    def evaluate(
        self, moments: DeviceArray, log_squares: Array, root: DeviceArray | None = None
    ) -> LocalValues:
        """Compute features of rows with moments z(x), at log W; `root` scales the rows."""
        xp, profile = self.device.xp, self.profile
        parameters = self.device.array(centre_products(np.exp(log_squares), self.centres))
        distances = moments @ parameters.T  # D = z W', shape (n, m)
        xp.clip(distances, 0.0, None, out=distances)
        if profile.cusp:
            # Rounding errors in D are proportional to |theta_i o c_i|^2, the last column of w.
            noise = 16.0 * float(xp.finfo(distances.dtype).eps) * parameters[:, -1]
            distances[distances < noise] = 0.0
        if profile.needs_distance:
            kernel = profile.value(xp, distances * 1.0)  # a copy, which the profile overwrites
        else:
            kernel, distances = profile.value(xp, distances), None
        features = kernel
        if self.linear:  # F = [K, X]; x is in the middle columns of z
            m, d = self.centres.shape
            features = self.device.empty(len(kernel), m + d)
            features[:, :m] = kernel
            features[:, m:] = moments[:, d : 2 * d]
        if root is not None:
            features = features * root
        return LocalValues(distances, kernel, features)

    def pull_back(self, derivative: DeviceArray, log_squares: Array) -> Array:
        """Compute dL/d log W, shape (m, d), from (dL/dD / factor)'z, shape (m, 2 d + 1)."""
        # dD_i/d log W_ij = W_ij (x_j^2 - 2 c_ij x_j + c_ij^2); x_j^2, x_j and 1 are columns of z.
        C, d = self.centres, self.centres.shape[1]
        sums = self.device.numpy(derivative)
        squares, points, ones = sums[:, :d], sums[:, d : 2 * d], sums[:, 2 * d :]
        outer = self.profile.factor * np.exp(log_squares)
        return np.asarray(outer * (squares - 2.0 * C * points + C * C * ones))


class NormalEquations(NamedTuple):
    """F'F, shape (p, p), F'y, shape (p, q), and True if they were computed in float32."""

    gram: Array
    right: Array
    rounded: bool


@dataclass(frozen=True, eq=False)
class LocalRows:
    """Training rows for the bandwidths, on a device."""

    features: LocalFeatures
    moments: DeviceArray  # z(x), shape (n, 2 d + 1)
    target: DeviceArray  # centred targets times the square roots of the weights, shape (n, q)
    root: DeviceArray | None  # square roots of the weights, shape (n, 1); None if all are 1

    @classmethod
    def from_arrays(
        cls, features: LocalFeatures, X: Array, target: Array, weights: Array | None = None
    ) -> LocalRows:
        """Copy points (n, d), centred targets (n, q) and weights (n,) to the device."""
        array, root = features.device.array, None if weights is None else np.sqrt(weights)[:, None]
        target = array(target if root is None else root * target)
        return cls(features, features.moments(X), target, None if root is None else array(root))

    def __len__(self) -> int:
        return len(self.moments)

    def take(self, indices: Indices) -> LocalRows:
        """Return the rows at given positions."""
        arrays = self.moments, self.target, self.root
        return LocalRows(self.features, *(None if a is None else a[indices] for a in arrays))

    def evaluate(self, log_squares: Array) -> LocalValues:
        """Compute the weighted features at log W."""
        return self.features.evaluate(self.moments, log_squares, self.root)

    def normal_equations(self, F: DeviceArray, ridge: float = 0.0) -> NormalEquations:
        """Sum F'F and F'y of weighted features, shape (n, p), in float64."""
        # Products in float32 suffice if the penalty exceeds 2e-5 times the mean diagonal of F'F,
        # estimated from 256 rows: the rounding errors of F'F are then below the penalty.
        device, (n, p) = self.features.device, F.shape
        gram, right = np.zeros((p, p)), np.zeros((p, self.target.shape[1]))
        sample = F[:: max(1, n // 256)]
        exact = n <= 256 or ridge < 2e-5 * (n * float((sample * sample).mean()))
        for start in range(0, n, 1024):
            block, y = F[start : start + 1024], self.target[start : start + 1024]
            if exact:
                block, y = device.double(block), device.double(y)
            gram += device.numpy(block.T @ block)
            right += device.numpy(block.T @ y)
        return NormalEquations(gram, right, not exact and device.single)

    def gradient(self, values: LocalValues, derivative: DeviceArray, log_squares: Array) -> Array:
        """Compute dL/d log W, shape (m, d), from dL/dK for the weighted K, shape (n, m)."""
        # Chain rule: dL/dD = dL/dK o h'(D), times the square root of the weight of each row.
        local = self.features
        derivative *= local.profile.slope(local.device.xp, values.distances, values.kernel)
        if self.root is not None:
            derivative *= self.root
        return local.pull_back(derivative.T @ self.moments, log_squares)


class ObjectivePoint(NamedTuple):
    """Value and gradients of an objective."""

    value: float
    gradient: Array  # with respect to log theta^2, shape (m, d); empty if not computed
    log_penalty: float = 0.0  # derivative with respect to the log penalty; 0 if not learned


@dataclass(frozen=True, eq=False)
class RowObjective:
    """Function of the bandwidths, averaged over rows."""

    rows: LocalRows
    # Arguments and result of the last call: each stage starts where the previous one ended.
    cache: list[tuple[Array, float, ObjectivePoint]] = field(default_factory=list, init=False)

    def at(self, log_squares: Array, log_penalty: float = 0.0) -> ObjectivePoint:
        """Compute the value and gradients; only the evidence depends on `log_penalty`."""
        for s, cached_penalty, point in self.cache:
            # Different points usually differ in the first entry, which is cheap to compare.
            same = cached_penalty == log_penalty and s.item(0) == log_squares.item(0)
            if same and np.array_equal(s, log_squares):
                return point
        point = self._compute(log_squares, log_penalty, gradient=True)
        self.cache[:] = [(log_squares.copy(), log_penalty, point)]
        return point

    def value(self, log_squares: Array, log_penalty: float = 0.0) -> float:
        """Compute the value without gradients."""
        return self._compute(log_squares, log_penalty, gradient=False).value

    @abstractmethod
    def _compute(self, log_squares: Array, log_penalty: float, *, gradient: bool) -> ObjectivePoint:
        """Compute the value, and the gradients if `gradient` is True."""

    def sample(self, indices: Indices) -> Self:
        """Return the objective restricted to the rows at given positions."""
        return replace(self, rows=self.rows.take(indices))


@dataclass(frozen=True, eq=False)
class Ridge(RowObjective):
    """(|F a - y|^2 + alpha |a|^2) / (n v), minimised over a."""

    alpha: float  # ridge penalty, > 0
    scale: float  # v

    def _compute(self, log_squares: Array, log_penalty: float, *, gradient: bool) -> ObjectivePoint:
        rows, values = self.rows, self.rows.evaluate(log_squares)
        a, residual, _, _, energy = ridge_solution(rows, values.features, self.alpha)
        factor = 1.0 / (len(rows) * self.scale)
        if not gradient:
            return ObjectivePoint(factor * energy, np.empty(0))
        # Envelope theorem: a is treated as constant, d (|F a - y|^2 / 2) / dK = (F a - y) c'.
        derivative = residual @ rows.features.device.array(a[: len(log_squares)].T)
        slopes = rows.gradient(values, derivative, log_squares)
        return ObjectivePoint(factor * energy, 2.0 * factor * slopes)


@dataclass(frozen=True, eq=False)
class MarginalLikelihood(RowObjective):
    """log(R / (n q v)) + (log det A - p log lam) / n, also a function of lam."""

    scale: float  # v

    def _compute(self, log_squares: Array, log_penalty: float, *, gradient: bool) -> ObjectivePoint:
        rows, values = self.rows, self.rows.evaluate(log_squares)
        n, device = len(rows), rows.features.device
        a, residual, factor, lam, energy = ridge_solution(
            rows, values.features, math.exp(log_penalty), JITTER
        )
        # Bound R from below to keep its inverse finite in float32 (targets are on [-1, 1]).
        energy = max(energy, 1e-36)
        # log(R / (n q v)) measures the fit at the best noise level. log det A - p log lam is the
        # complexity, sum log(1 + w / lam) over the eigenvalues w of F'F, or of F F': it penalises
        # directions determined by the data (w > lam). With A = L L', log det A = 2 sum log L_ii.
        complexity = 2.0 * float(np.log(factor.diagonal()).sum()) - len(factor) * math.log(lam)
        relative_noise = energy / (n * self.rows.target.shape[1] * self.scale)
        value = math.log(relative_noise) + complexity / n
        if not gradient:
            return ObjectivePoint(value, np.empty(0))
        # dpotri returns only the lower triangle of A^-1.
        triangle, _ = dpotri(factor, lower=1)
        inverse = triangle + triangle.T
        np.fill_diagonal(inverse, triangle.diagonal())
        m = len(log_squares)
        # d log R / dK = 2 (F a - y) c' / R (envelope theorem), d log det A / dF = 2 F A^-1, which
        # equals 2 (F F' + lam I)^-1 F.
        derivative = residual @ device.array(a[:m].T)
        derivative *= 2.0 / energy
        if len(factor) == n < values.features.shape[1]:
            derivative += device.array(inverse * (2.0 / n)) @ values.features[:, :m]
        else:
            derivative += values.features @ device.array(inverse[:, :m] * (2.0 / n))
        slopes = rows.gradient(values, derivative, log_squares)
        # d/d log lam = lam |a|^2 / R + (lam tr A^-1 - p) / n (A^-1 and p, or (F F' + lam I)^-1 and
        # n, give the same difference), and with the jitter in lam,
        # d log lam / d log_penalty = exp(log_penalty) / lam.
        slope = lam * float(np.vdot(a, a)) / energy
        slope += (lam * float(inverse.trace()) - len(factor)) / n
        return ObjectivePoint(value, slopes, math.exp(log_penalty) / lam * slope)


class RidgeSolution(NamedTuple):
    """Minimum over a of the energy |F a - y|^2 + lam |a|^2, for F of shape (n, p)."""

    coefficients: Array  # a, shape (p, q)
    residual: DeviceArray  # F a - y, shape (n, q)
    factor: Array  # Cholesky factor of F'F + lam I, or of F F' + lam I if n < p
    lam: float
    energy: float


def ridge_solution(
    rows: LocalRows, F: DeviceArray, alpha: float, jitter: float = 0.0
) -> RidgeSolution:
    """Solve A a = F'y with A = F'F + lam I, lam = alpha + jitter times the mean diagonal of F'F."""
    if len(F) < F.shape[1]:
        return _dual_ridge_solution(rows, F, alpha, jitter)
    device = rows.features.device
    for ridge in (alpha, 0.0):  # a ridge of 0 selects float64
        gram, right, rounded = rows.normal_equations(F, ridge)
        lam = alpha + jitter * float(gram.diagonal().mean())
        try:
            factor = cholesky_factor(gram, lam)
            break
        except ValueError:
            if not rounded:
                raise
    a = np.asarray(dpotrs(factor, right, lower=1)[0])
    residual = F @ device.array(a) - rows.target
    if rounded:
        # One step of iterative refinement, a - A^-1 (F'(F a - y) + lam a), removes most of the
        # rounding error of float32.
        error = device.numpy(F.T @ residual) + lam * a
        a = a - np.asarray(dpotrs(factor, error, lower=1)[0])
        residual = F @ device.array(a) - rows.target
    r = device.numpy(residual)
    energy = float(np.vdot(r, r)) + lam * float(np.vdot(a, a))
    return RidgeSolution(a, residual, factor, lam, energy)


def _dual_ridge_solution(
    rows: LocalRows, F: DeviceArray, alpha: float, jitter: float
) -> RidgeSolution:
    """Solve for fewer rows than features, with a matrix of the order of the rows."""
    # a = F'u with (F F' + lam I) u = y, so that F a - y = F F'u - y and |a|^2 = u'F F'u.
    device = rows.features.device
    F, y = device.numpy(device.double(F)), device.numpy(device.double(rows.target))
    gram = F @ F.T
    lam = alpha + jitter * float(gram.trace()) / F.shape[1]
    factor = cholesky_factor(gram, lam)
    u = np.asarray(dpotrs(factor, y, lower=1)[0])
    fitted = gram @ u
    r = fitted - y
    energy = float(np.vdot(r, r)) + lam * float(np.vdot(u, fitted))
    return RidgeSolution(F.T @ u, device.array(r), factor, lam, energy)


def cholesky_factor(gram: Array, alpha: Array | float) -> Array:
    """Compute the lower Cholesky factor of F'F + diag(alpha), with jitter if it is singular."""
    for jitter in (0.0, 1e-12, 1e-9, 1e-6):
        diagonal = alpha + jitter * float(gram.diagonal().mean()) if jitter else alpha
        # LAPACK overwrites only column-major arrays, such as the transpose of this copy.
        matrix = gram.copy().T
        matrix.T.reshape(-1)[:: len(gram) + 1] += diagonal
        factor, failed = dpotrf(matrix, lower=1, overwrite_a=1)
        if not failed:
            return np.asarray(factor)
    raise ValueError(
        "expected features and weights of moderate size, got a mean sum of squares of "
        f"{float(gram.diagonal().mean()):.3g}; scale the data"
    )


def ridge_path(gram: Array, right: Array, alphas: Array) -> Array:
    """Compute (G + alpha I)^-1 R for each alpha, shape (len(alphas), *R.shape).

    With G = F'F and R = F'y, these are the coefficients of ridge regression.
    """
    # With the eigendecomposition G = V diag(w) V', the solutions are V (w + alpha)^-1 V'R.
    values, vectors = np.linalg.eigh(gram)
    rotated, solutions = vectors.T @ right, []
    # Smaller penalties are below the rounding error of the largest eigenvalue.
    min_alpha = 1e-18 * max(float(values[-1]), 0.0)
    for alpha in alphas:
        damped = np.maximum(values, 0.0) + max(alpha, min_alpha)
        solutions.append(vectors @ (rotated / damped[:, None]))
    return np.stack(solutions)


def dual_ridge_path(F: Array, y: Array, alphas: Array) -> Array:
    """Compute F'(F F' + alpha I)^-1 y for each alpha: ridge coefficients for n < p."""
    return np.stack([F.T @ u for u in ridge_path(F @ F.T, y, alphas)])


@dataclass(frozen=True, eq=False)
class BandwidthProblem:
    """Objective as a function of one vector: log theta^2 of all centres, and a learned log penalty.

    The regulariser is shrinkage * mean((s_ij - mean_i s_ij)^2). A shrinkage of inf means one
    bandwidth per feature, shared by all centres and stored once.
    """

    objective: RowObjective
    shrinkage: float = 0.0
    learns_penalty: bool = False

    @property
    def shared(self) -> bool:
        """True if all centres have the same bandwidths."""
        return math.isinf(self.shrinkage)

    def pack(self, log_squares: Array, log_penalty: float) -> Array:
        """Build the vector; shared bandwidths are means over the centres."""
        s = log_squares.mean(axis=0) if self.shared else log_squares
        return np.append(s, log_penalty) if self.learns_penalty else s.ravel()

    def unpack(self, x: Array) -> tuple[Array, float]:
        """Split the vector into clipped log theta^2, shape (m, d), and the log penalty."""
        m, d = self.objective.rows.features.centres.shape
        s = np.tile(x[:d], (m, 1)) if self.shared else x[: m * d].reshape(m, d)
        # Keep lam and its inverse finite: exp(690) is 1e299.
        log_penalty = min(max(float(x[-1]), -690.0), 690.0) if self.learns_penalty else 0.0
        return s.clip(*LOG_SQUARE_RANGE), log_penalty

    def value_and_gradient(self, x: Array) -> tuple[float, Array]:
        """Compute the regularised objective and its gradient."""
        s, log_penalty = self.unpack(x)
        point = self.objective.at(s, log_penalty)
        if self.shared:
            value, gradient = point.value, point.gradient.sum(axis=0)
        else:  # deviations sum to zero, so the terms from the mean vanish
            spread = s - s.sum(axis=0) / len(s)
            gradient = point.gradient + (2.0 * self.shrinkage / s.size) * spread
            value = point.value + self.shrinkage * float(np.vdot(spread, spread)) / s.size
        if self.learns_penalty:
            return value, np.append(gradient, point.log_penalty)
        return value, gradient.ravel()

    def sample(self, indices: Indices) -> BandwidthProblem:
        """Return the problem restricted to the rows at given positions."""
        return replace(self, objective=self.objective.sample(indices))
