"""The algorithm of the LAB-RBF paper: interpolation, centres at large residuals, Adam.

With F = K, centred targets y and v = |y|^2 / n, as in `pliant.methods.lab_rbf.objective`, the
bandwidths minimise the error of the interpolant of the support points (He et al., Eq. 9):

    |K c - y|^2 / (n v),  c = (K_cc + alpha I)^-1 y_c at the centres.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, Self

import numpy as np
import numpy.typing as npt
import scipy.linalg
from numpy.random import RandomState

from pliant.core.dask import by_partition
from pliant.core.device import Device, get_device
from pliant.core.docstrings import documented_as
from pliant.core.parameters import (
    Constraint,
    automatic,
    check_flag,
    check_job_count,
    check_parameters,
    integer,
    moderate_number,
    one_of,
    optional,
    real_number,
)
from pliant.core.progress import (
    CallbackSupport,
    Deadline,
    FitProgress,
    Progress,
    Result,
    Status,
    with_callbacks,
)
from pliant.core.state import forget_fit, reads, updates
from pliant.core.threads import blas_limited
from pliant.core.typing import Array, Indices
from pliant.methods.lab_rbf import constants
from pliant.methods.lab_rbf.collection import build_table
from pliant.methods.lab_rbf.kernel import PROFILES, Warp
from pliant.methods.lab_rbf.members import LABRBFMember, LearnedBasis
from pliant.methods.lab_rbf.model import LABRBFModel, RegressionModel
from pliant.methods.lab_rbf.objective import (
    BandwidthProblem,
    LocalFeatures,
    LocalRows,
    LocalValues,
    ObjectivePoint,
    RowObjective,
)
from pliant.methods.lab_rbf.table import Table, feature_limits
from pliant.methods.lab_rbf.trainer import (
    build_kernel,
    distinct_rows,
    draw_seeds,
    resolve_support,
)

ROUNDS = 5
"""Number of rounds that add support points."""


@documented_as(
    LABRBFModel, without=("alpha_, shrinkage_, validation_score_", "feature_relevance_spread_")
)
@dataclass(kw_only=True, eq=False, repr=False)
class LABRBFPaperRegressor(CallbackSupport, RegressionModel):
    """LAB-RBF regressor with bandwidths learned close to Algorithm 1 of the paper.

    f(t) = sum_i c_i h(|theta_i o (t - x_i)|^2) interpolates the targets of its support points:
    c = (K_cc + alpha I)^-1 y_c, where y_c has the mean of all targets subtracted. The bandwidths
    minimise the mean squared error over all samples (Eq. 9) by steps of Adam on mini-batches of 128
    samples. Half of the support points are drawn at random; five rounds add the samples with the
    largest residuals. `LABRBFRegressor` is faster and more accurate.

    Parameters
    ----------
    n_support : int or "auto", default="auto"
        Maximum number of support points. "auto" is a third of the samples, at most 200. Support
        points are distinct training samples.
    initial_bandwidth : float, default=1.0
        Initial value of all bandwidths theta, for features scaled to [-1, 1].
    learning_rate : float, default=0.01
        Learning rate of Adam, > 0.
    alpha : float, default=1e-3
        Ridge penalty of the interpolant, 1e-12 to 1e12.
    profile : {"gaussian", "laplacian", "matern32", "matern52"}, default="gaussian"
        h(D) = exp(-D) (as in the paper), exp(-sqrt(D)) (as in the authors' code), or the Matern
        function with smoothness 3/2 or 5/2. "laplacian" differs from `pliant.kernels.Laplacian`,
        as for `LABRBFRegressor`.
    max_iter : int, default=9500
        Number of steps after the last round; each round has a fifth of it.
    max_seconds : float, optional
        Time limit; the fit then stops with the result so far.
    device : str, default="cpu"
        "cpu" (NumPy), "cuda" or "cuda:N" (PyTorch on a GPU), "torch" (PyTorch on the CPU).
    dtype : {"float32", "float64"}, default="float32"
        Floating-point type used in training.
    n_jobs : int, optional
        Number of threads for predictions.
    random_state : int, RandomState instance or None, default=None
        Seed for the support points and the mini-batches.
    verbose : bool, default=False
        If True, print the progress of the fit to standard error every two seconds.

    Attributes
    ----------
    members_ : list of LABRBFMember
        The expansion, as the only member.
    target_low_, target_high_ : arrays of shape (n_outputs,)
        Minimum and maximum to which predictions are clipped.

    See Also
    --------
    LABRBFRegressor : Several expansions, with a linear part and penalties selected on held-out
        samples.

    Notes
    -----
    The printed Algorithm 1 differs: it learns theta instead of log theta^2, samples only points
    that are not support points, stops at an error tolerance, and subtracts no mean from the target;
    Appendix D ends with stochastic gradient descent. The sign of its line 8 is corrected here.

    References
    ----------
    He, He, Shi, Huang, Suykens: Enhancing Kernel Flexibility via Learning Asymmetric
    Locally-Adaptive Kernels, Eqs. 1, 8, 9 and Algorithm 1.

    Examples
    --------
    >>> import numpy as np
    >>> from pliant import LABRBFPaperRegressor
    >>> X = np.linspace(-1, 1, 200)[:, None]
    >>> y = np.sin(3 * X[:, 0])
    >>> model = LABRBFPaperRegressor(20, max_iter=300, random_state=0).fit(X, y)
    >>> bool(model.score(X, y) > 0.9)
    True
    """

    _constraints: ClassVar[Mapping[str, Constraint]] = {
        "n_support": automatic(integer(least=1), named=True),
        "initial_bandwidth": real_number(above=0),
        "learning_rate": real_number(above=0),
        "alpha": moderate_number(),
        "profile": one_of(PROFILES),
        "max_iter": integer(least=1),
        "max_seconds": optional(real_number(above=0)),
        "dtype": one_of(("float32", "float64")),
        "n_jobs": check_job_count,
        "verbose": check_flag,
    }

    n_support: int | Literal["auto"] = field(default="auto", kw_only=False)
    initial_bandwidth: float = 1.0
    learning_rate: float = 0.01
    alpha: float = 1e-3
    profile: Literal["gaussian", "laplacian", "matern32", "matern52"] = "gaussian"
    max_iter: int = 9500
    max_seconds: float | None = None
    device: str = "cpu"
    dtype: Literal["float32", "float64"] = "float32"
    n_jobs: int | None = None
    random_state: int | np.random.RandomState | None = None
    verbose: bool = False

    @blas_limited
    @updates
    @with_callbacks
    def fit(self, X: npt.ArrayLike, y: npt.ArrayLike, sample_weight: Any = None) -> Self:
        """Learn the support points, bandwidths and coefficients.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training points, dense and finite: an array, a memory map, or a Dask collection, of
            which at most 50 000 rows are drawn.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Targets.
        sample_weight : array-like of shape (n_samples,), optional
            Weights >= 0 for the squared errors. Samples with weight zero are ignored.

        Returns
        -------
        self
        """
        forget_fit(self)
        check_parameters(self)
        seed = self.random_state
        table, _ = build_table(X, y, sample_weight, self._encode_arrays, seed=seed)
        self.target_low_, self.target_high_ = table.target_range
        self.target_unit_ = None
        progress = FitProgress(self, X, y)
        rng, warp = RandomState(draw_seeds(seed, 1)[0]), Warp.learn(table.X, "raw")
        used = rng.permutation(len(table))[: constants.BANDWIDTH_ROWS].copy()
        rows, device = table.sample(used, warp), get_device(self.device, self.dtype)
        training = PaperTraining(self, rows, rng, Deadline(progress, self.max_seconds), device)
        positions, s = training.add_centres()
        objective = training.build_objective(positions)
        s = training.minimise(objective, s, self.max_iter)
        basis = self._build_basis(table, used[positions], s, warp, training.history)
        middle, half = table.scale  # the scaled targets are (y - middle) / half
        coefficients = objective.coefficients(s) * half, middle + half * rows.mean
        points = table.points(used[: constants.SLOPE_ROWS])
        self._store(table, [LABRBFMember.build(basis, coefficients, points)], np.ones(1))
        progress.end()
        return self

    def _encode_arrays(self, X: Any, y: Any, sample_weight: Any) -> tuple[Table, None]:
        """Validate arrays."""
        table = Table.from_arrays(*self._validate_arrays(X, y), sample_weight)
        self._check_varies(table)
        return table, None

    def _build_basis(
        self, table: Table, centres: Indices, s: Array, warp: Warp, history: list[float]
    ) -> LearnedBasis:
        """Build the basis with the rows `centres` as support points, and s = log theta^2."""
        return LearnedBasis(
            kernel_=build_kernel(table.points(centres), s, self.profile, warp),
            warp_=warp,
            limits_=feature_limits(table),
            linear_=False,
            support_=table.numbers[centres],
            n_learned_=len(centres),
            objective_="interpolation",
            alpha_=float(self.alpha),
            shrinkage_=0.0,
            log_penalty_=math.log(self.alpha),
            validation_score_=math.nan,
            objective_history_=np.array(history, dtype=float),
        )

    @reads
    @by_partition
    @blas_limited
    def predict(self, X: npt.ArrayLike) -> Any:
        """Predict the target of each point, clipped to the range of the training target.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples,) or (n_samples, n_outputs)
        """
        return self._clip_to_range(self._expand(X))


@dataclass(frozen=True, eq=False)
class PaperTraining:
    """Selection of the support points, and steps of Adam."""

    parameters: LABRBFPaperRegressor
    rows: Table  # with transformed features and scaled targets
    rng: RandomState
    deadline: Deadline
    device: Device
    history: list[float] = field(default_factory=list)  # objective after each step

    def add_centres(self) -> tuple[Indices, Array]:
        """Draw half of the centres, and add rows with the largest residuals (Algorithm 1).

        Return the positions of the centres among the rows, and their log theta^2.
        """
        parameters, rows = self.parameters, self.rows
        n_support = resolve_support(parameters.n_support, len(rows))
        distinct = distinct_rows(rows.X)
        n_centres = min(n_support, len(distinct))
        n_drawn = min((n_support + 1) // 2, n_centres)
        positions = distinct[np.sort(self.rng.choice(len(distinct), n_drawn, replace=False))]
        theta = parameters.initial_bandwidth
        s = np.full((len(positions), rows.X.shape[1]), 2.0 * math.log(theta))
        s = s.clip(*constants.LOG_SQUARE_RANGE)
        batch = max(1, -(-(n_centres - len(positions)) // ROUNDS))  # rounded up
        while len(positions) < n_centres:
            objective = self.build_objective(positions)
            s = self.minimise(objective, s, max(1, parameters.max_iter // ROUNDS))
            order = _by_error(objective, s)
            new = _distinct_points(rows.X, positions, order[~np.isin(order, positions)])
            new = new[: min(batch, n_centres - len(positions))]
            positions = np.concatenate([positions, new])
            s = np.vstack([s, np.tile(s.mean(axis=0), (len(new), 1))])
        return positions, s

    def build_objective(self, positions: Indices) -> Interpolation:
        """Build the objective for the rows at some positions as centres."""
        rows, parameters = self.rows, self.parameters
        profile = PROFILES[parameters.profile]
        features = LocalFeatures(rows.X[positions], profile, False, self.device)
        local = LocalRows.from_arrays(features, rows.X, rows.Y - rows.mean, rows.weights)
        y = self.device.numpy(local.target)
        scale = max(float(np.vdot(y, y)) / len(local), constants.TINY)
        return Interpolation(local, rows.Y[positions] - rows.mean, parameters.alpha, scale)

    def minimise(self, objective: Interpolation, log_squares: Array, max_iter: int) -> Array:
        """Take steps of Adam unless the fit is stopped; return log theta^2."""
        if self.deadline.stopped:
            return log_squares
        problem = BandwidthProblem(objective)
        result = adam(
            problem,
            problem.pack(log_squares, 0.0),
            n_rows=len(objective.rows),
            rng=self.rng,
            rate=self.parameters.learning_rate,
            max_iter=max_iter,
            callback=self._record,
        )
        return problem.unpack(result.x)[0]

    def _record(self, progress: Progress) -> bool:
        """Record the objective, and return True if the fit must stop."""
        self.history.append(progress.objective)
        return self.deadline(progress)


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
