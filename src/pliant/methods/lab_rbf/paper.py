"""The algorithm of the LAB-RBF paper: interpolation, centres at large residuals, Adam.

With F = K, centred targets y and v = |y|^2 / n, as in `pliant.methods.lab_rbf.objective`, the
bandwidths minimise the error of the interpolant of the support points (He et al., Eq. 9):

    |K c - y|^2 / (n v),  c = (K_cc + alpha I)^-1 y_c at the centres.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
import scipy.linalg
from numpy.random import RandomState

from pliant.core.device import Device
from pliant.core.estimators import BaseEstimator
from pliant.core.progress import Deadline, Progress, Result, Status
from pliant.core.typing import Array, Indices
from pliant.core.validation import Constraint, check_parameters, one_of, real_number
from pliant.methods.lab_rbf import constants
from pliant.methods.lab_rbf.kernel import PROFILES, Warp
from pliant.methods.lab_rbf.members import Coefficients, FitState, LearnedBasis, Split
from pliant.methods.lab_rbf.objective import (
    BandwidthProblem,
    LocalFeatures,
    LocalRows,
    LocalValues,
    ObjectivePoint,
    RowObjective,
)
from pliant.methods.lab_rbf.table import Table, feature_limits
from pliant.methods.lab_rbf.trainer import build_kernel, distinct_rows

ROUNDS = 5
"""Number of rounds that add support points."""


@dataclass(kw_only=True, eq=False, repr=False)
class LABRBFPaperAlgorithm(BaseEstimator):
    """Bandwidths learned close to Algorithm 1 of the paper; see `LABRBFRegressor.from_paper`.

    Half of the support points are drawn at random. Five rounds add the samples with the largest
    residuals. Steps of Adam on mini-batches of 128 samples minimise the error of the interpolant of
    the support points (Eq. 9).

    Parameters
    ----------
    initial_bandwidth : float, default=1.0
        Initial value of all bandwidths theta, for features scaled to [-1, 1].
    learning_rate : float, default=0.01
        Learning rate of Adam, > 0.
    dtype : {"float32", "float64"}, default="float32"
        Floating-point type used in training.
    """

    _constraints: ClassVar[Mapping[str, Constraint]] = {
        "initial_bandwidth": real_number(above=0),
        "learning_rate": real_number(above=0),
        "dtype": one_of(("float32", "float64")),
    }

    initial_bandwidth: float = 1.0
    learning_rate: float = 0.01
    dtype: Literal["float32", "float64"] = "float32"

    def _check_loaded(self) -> None:
        check_parameters(self)


@dataclass(frozen=True, eq=False)
class PaperTrainer:
    """Trains the members of one model by the paper's algorithm."""

    algorithm: LABRBFPaperAlgorithm
    n_support: int
    profile: str
    alpha: float  # ridge penalty of the interpolant
    max_iter: int
    seeds: Indices  # one per member
    device: Device
    deadline: Deadline

    def train(self, table: Table) -> tuple[list[FitState], list[Coefficients]]:
        """Train all members, or at least one if the fit is stopped."""
        fits, coefficients = list[FitState](), list[Coefficients]()
        for seed in self.seeds:
            if not (fits and self.deadline.stopped):
                fit, solved = self._train_member(table, RandomState(seed))
                fits.append(fit)
                coefficients.append(solved)
        return fits, coefficients

    def _train_member(self, table: Table, rng: RandomState) -> tuple[FitState, Coefficients]:
        """Train one member."""
        used = rng.permutation(len(table))[: constants.BANDWIDTH_ROWS].copy()
        warp, history = Warp.learn(table.X, "raw"), list[float]()
        rows = table.sample(used, warp)

        def record(progress: Progress) -> bool:
            history.append(progress.objective)
            return self.deadline(progress)

        positions, s = self._add_centres(rows, rng, record)
        objective = self._build_objective(rows, positions)
        s = self._minimise(objective, s, self.max_iter, rng, record)
        c, (middle, half) = objective.coefficients(s), table.scale
        centres = used[positions]
        basis = LearnedBasis(
            kernel_=build_kernel(table.points(centres), s, self.profile, warp),
            warp_=warp,
            limits_=feature_limits(table),
            linear_=False,
            support_=table.numbers[centres],
            n_learned_=len(centres),
            objective_="interpolation",
            alpha_=self.alpha,
            shrinkage_=0.0,
            log_penalty_=math.log(self.alpha),
            validation_score_=math.nan,
            objective_history_=np.array(history, dtype=float),
        )
        # The scaled targets are (y - middle) / half.
        coefficients = c * half, middle + half * rows.mean
        return FitState(basis, Split(used, None, used), None, None), coefficients

    def _add_centres(
        self, rows: Table, rng: RandomState, record: Callable[[Progress], bool]
    ) -> tuple[Indices, Array]:
        """Draw half of the centres, and add rows with the largest residuals (Algorithm 1).

        Return the positions of the centres among the rows, and their log theta^2.
        """
        distinct = distinct_rows(rows.X)
        n_centres = min(self.n_support, len(distinct))
        drawn = rng.choice(len(distinct), min((self.n_support + 1) // 2, n_centres), replace=False)
        positions = distinct[np.sort(drawn)]
        theta = self.algorithm.initial_bandwidth
        s = np.full((len(positions), rows.X.shape[1]), 2.0 * math.log(theta))
        s = s.clip(*constants.LOG_SQUARE_RANGE)
        batch = max(1, -(-(n_centres - len(positions)) // ROUNDS))  # rounded up
        while len(positions) < n_centres:
            objective = self._build_objective(rows, positions)
            s = self._minimise(objective, s, max(1, self.max_iter // ROUNDS), rng, record)
            order = _by_error(objective, s)
            new = _distinct_points(rows.X, positions, order[~np.isin(order, positions)])
            new = new[: min(batch, n_centres - len(positions))]
            positions = np.concatenate([positions, new])
            s = np.vstack([s, np.tile(s.mean(axis=0), (len(new), 1))])
        return positions, s

    def _build_objective(self, rows: Table, positions: Indices) -> Interpolation:
        """Build the objective for the rows at some positions as centres."""
        features = LocalFeatures(rows.X[positions], PROFILES[self.profile], False, self.device)
        local = LocalRows.from_arrays(features, rows.X, rows.Y - rows.mean, rows.weights)
        y = self.device.numpy(local.target)
        scale = max(float(np.vdot(y, y)) / len(local), constants.TINY)
        return Interpolation(local, rows.Y[positions] - rows.mean, self.alpha, scale)

    def _minimise(
        self,
        objective: Interpolation,
        log_squares: Array,
        max_iter: int,
        rng: RandomState,
        record: Callable[[Progress], bool],
    ) -> Array:
        """Take steps of Adam unless the fit is stopped; return log theta^2."""
        if self.deadline.stopped:
            return log_squares
        problem, rate = BandwidthProblem(objective), self.algorithm.learning_rate
        x, n = problem.pack(log_squares, 0.0), len(objective.rows)
        result = adam(problem, x, n_rows=n, rng=rng, rate=rate, max_iter=max_iter, callback=record)
        return problem.unpack(result.x)[0]


def _by_error(objective: Interpolation, log_squares: Array) -> Indices:
    """Return the positions of the rows in order of decreasing error."""
    rows, device = objective.rows, objective.rows.features.device
    c = device.array(objective.coefficients(log_squares))
    errors = device.numpy(rows.evaluate(log_squares).features @ c - rows.target)
    return np.argsort(-(errors**2).sum(axis=1), kind="stable")


def _distinct_points(X: Array, centres: Indices, order: Indices) -> Indices:
    """Return the positions in `order` of points that equal no centre and no earlier point."""
    _, first = np.unique(np.vstack([X[centres], X[order]]), axis=0, return_index=True)
    new = np.sort(first[first >= len(centres)]) - len(centres)
    return np.asarray(order[new])


@dataclass(frozen=True, eq=False)
class Interpolation(RowObjective):
    """|K c - y|^2 / (n v), c = (K_cc + alpha I)^-1 y_c (He et al., Eq. 9), with F = K."""

    target: Array  # centred targets y_c of the centres, shape (m, q)
    alpha: float  # ridge penalty, > 0
    scale: float  # v

    def coefficients(self, log_squares: Array) -> Array:
        """Compute c, shape (m, q)."""
        return self._solve(log_squares)[0]

    def _solve(self, log_squares: Array) -> tuple[Array, tuple[Any, Any], LocalValues]:
        """Compute c, the LU factors of the asymmetric K_cc + alpha I, and K_cc."""
        features = self.rows.features
        centres = features.evaluate(features.moments(features.centres), log_squares)
        matrix = features.device.numpy(centres.kernel).copy()
        matrix[np.diag_indices_from(matrix)] = 1.0 + self.alpha  # k(c, c) = 1 exactly
        factor = scipy.linalg.lu_factor(matrix, check_finite=False)
        return np.asarray(scipy.linalg.lu_solve(factor, self.target)), factor, centres

    def _compute(self, log_squares: Array, log_penalty: float, *, gradient: bool) -> ObjectivePoint:
        rows, local, device = self.rows, self.rows.features, self.rows.features.device
        c, factor, centres = self._solve(log_squares)
        values = rows.evaluate(log_squares)
        residual = values.features @ device.array(c) - rows.target  # K c - y, shape (n, q)
        r = device.numpy(residual)
        value = float(np.vdot(r, r)) / (len(rows) * self.scale)
        if not gradient:
            return ObjectivePoint(value, np.empty(0))
        slopes = rows.gradient(values, residual @ device.array(c.T), log_squares)
        # c depends on K_cc: dL/dK_cc = -z c' with the adjoint z = (K_cc + alpha I)^-T K'(K c - y).
        right = device.numpy(values.features.T @ residual)
        derivative = device.array(-scipy.linalg.lu_solve(factor, right, trans=1) @ c.T)
        derivative *= local.profile.slope(device.xp, centres.distances, centres.kernel)
        derivative[range(len(c)), range(len(c))] = 0.0  # the diagonal distances are constant
        slopes += local.pull_back(derivative.T @ local.moments(local.centres), log_squares)
        return ObjectivePoint(value, 2.0 / (len(rows) * self.scale) * slopes)


def adam(
    problem: BandwidthProblem,
    start: Array,
    *,
    n_rows: int,
    rng: RandomState,
    rate: float = 0.01,
    batch: int = 128,
    max_iter: int = 1000,
    callback: Callable[[Progress], Any] | None = None,
) -> Result[None]:
    """Minimise by Adam on mini-batches (Kingma and Ba 2015).

    Parameters
    ----------
    n_rows : int
        Number of rows; they are shuffled in each epoch.
    rate : float
        Learning rate, the approximate change of a coordinate per step.
    batch : int
        Number of rows per mini-batch.

    Returns
    -------
    Result
        ``value`` and ``history`` contain mini-batch objectives; ``gap`` is nan.
    """
    x, mean, square = start.copy(), np.zeros_like(start), np.zeros_like(start)
    history, status = [], Status.MAX_ITER
    order = rng.permutation(n_rows)
    for n_iter in range(1, max_iter + 1):
        if len(order) < min(batch, n_rows):
            order = rng.permutation(n_rows)
        rows, order = order[:batch], order[batch:]
        value, gradient = problem.sample(rows).value_and_gradient(x)
        # Moving averages start at 0; dividing by 1 - decay^n_iter removes the bias.
        mean += (1.0 - 0.9) * (gradient - mean)
        square += (1.0 - 0.999) * (gradient * gradient - square)
        size = np.sqrt(square / (1.0 - 0.999**n_iter)) + 1e-8
        x -= rate / (1.0 - 0.9**n_iter) * mean / size
        history.append(Progress(n_iter, value, math.nan))
        if callback is not None and callback(history[-1]):
            status = Status.STOPPED
            break
    value = history[-1].objective if history else math.nan
    return Result(x, value, math.nan, len(history), status, history)
