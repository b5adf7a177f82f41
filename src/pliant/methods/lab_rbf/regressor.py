"""Regression with locally adaptive bandwidths."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import scipy.sparse
from sklearn.base import MultiOutputMixin, RegressorMixin

from pliant.core.dask import by_partition
from pliant.core.threads import blas_limited
from pliant.core.typing import Array, Indices
from pliant.core.validation import (
    Constraint,
    check_integer,
    check_random_state,
    check_share,
    check_targets,
    check_vector,
    optional,
    plain,
    validate_data,
)
from pliant.methods.lab_rbf.base import _FLOATS
from pliant.methods.lab_rbf.collection import Encode, as_columns
from pliant.methods.lab_rbf.ensemble import Run
from pliant.methods.lab_rbf.features import Table
from pliant.methods.lab_rbf.intervals import IntervalRegressor, LABRBFErrorModel, learn_errors
from pliant.methods.lab_rbf.kernel import SMALLEST, skewness

SKEWED_TARGET = 0.9  # Skewness of a positive target from which on its logarithm is tried,
LEAST_ROWS = 1000  # ... with at least this many rows, so that held-out losses are reliable,
# ... and learned if it lowers the held-out loss, in the units of y, to below this share.
GAIN = 0.95


class LABRBFRegressor(MultiOutputMixin, RegressorMixin, IntervalRegressor):
    """Regression by a mean of LAB-RBF expansions: each support point has bandwidths of its own.

    f(t) = sum_i c_i h(|theta_i o (t - x_i)|^2) + v't + b. Bandwidths theta_i, one for each
    support point x_i and feature, minimise an objective from which the coefficients c and v are
    eliminated (variable projection); none of the objectives is convex, so there is no certificate.
    Coefficients are then the ridge fit to all samples. The mean of the members is one such
    expansion, ``kernel_(X, support_vectors_) @ dual_coef_ + X @ coef_ + intercept_``; predictions
    are clipped to the range of the training target.

    Parameters
    ----------
    n_support : int or "auto", default="auto"
        Maximum number of support points of a member; "auto": a third of the samples up to 200, and
        400 from 4000 samples on. At most the number of different samples to learn from.
    profile : {"gaussian", "laplacian", "matern52"}, default="gaussian"
        h(D) = exp(-D) (the paper's text), exp(-sqrt(D)) (the authors' code), or the Matern
        function of smoothness 5/2.
    n_members : int, default=4
        Number of expansions that are averaged. Each has its own support points and its own
        held-out samples; one whose held-out loss is more than twice the median is left out.
    objective : {"mixed", "ridge", "evidence", "interpolation"}, default="mixed"
        Objective of the bandwidths, see `pliant.methods.lab_rbf.objective`: the penalised squared
        error of the ridge fit to all samples; the Gaussian marginal likelihood; the error of a
        function that interpolates the support points (the paper, Eq. 9). "mixed": "ridge" and
        "evidence" take turns; from 4000 samples on, where the evidence does worse, "ridge".
    linear : bool or "auto", default="auto"
        Whether the features themselves join the kernel values; "auto": in all members but every
        fourth, and never with "interpolation".
    transforms : "auto" or None, default="auto"
        "auto": skewed features (skewness > 1) are tried on the scales log(x + offset) and asinh
        as well, and a positive skewed target as its logarithm (from 1000 samples on); members take
        turns with the scales that a small expansion does about equally well on. None: none of
        these is tried.
    alpha : float or "auto", default="auto"
        Ridge penalty > 0, for features on [-1, 1] and a sum over samples. "auto": .1, or .01 with
        fewer than 150 support points, while bandwidths are learned (times the mean sample weight;
        1e-3 with "interpolation"), then the best on the held-out samples. With "evidence", which
        learns its own while bandwidths are learned, a number is the penalty of the coefficients.
    shrinkage : float or "auto", default="auto"
        Penalty parameter >= 0 of the variance of log theta^2 over the support points; inf: one
        bandwidth for each feature. "auto": the best of a falling path on the held-out samples.
    support : {"kmeans++", "residual", "sorted", "random"} or array of int, default="kmeans++"
        How support points are chosen: far apart in features and target; half at random, then
        where errors are largest (the paper, Algorithm 1); evenly along the sorted target; at
        random; or the samples with these indices.
    initial_bandwidth : float or "auto", default="auto"
        First theta of all support points and features, for features on [-1, 1]; "auto": the best
        of seven, then one for each feature is learned.
    validation_fraction : float, default=0.2
        Share of the samples, in [0, 1), that each member holds out. 0 needs numbers for `alpha`
        and `shrinkage`.
    solver : {"lbfgs", "adam"}, default="lbfgs"
        Quasi-Newton steps on all samples, capped; or Adam on mini-batches of 128 samples.
    max_iter : int, default=30
        Maximum number of steps of each stage, the last one half as many; Adam needs some thousand.
    learning_rate : float, default=0.01
        Learning rate of Adam, in (0, 1].
    max_seconds : float, optional
        Time limit, after which the best result so far is kept.
    dtype : {"float32", "float64"}, default="float32"
        Floating-point type that bandwidths are learned with. float32 takes about half the time, and
        is as accurate: sums of products that rounding would spoil are taken in float64.
    device : str, default="cpu"
        "cpu" (NumPy), "cuda" or "cuda:N" (PyTorch on a GPU), "torch" (PyTorch on the CPU).
    n_jobs : int, optional
        Number of threads, over members and blocks of samples; None: all cores where the table is
        large enough for that to save time (one in a worker of joblib or another child process).
        Members are learned in processes, or on a cluster, where ``joblib.parallel_config`` says so.
    calibration : float, optional
        Share of the samples, in (0, 1), that nothing else sees and whose errors calibrate the
        prediction intervals, see `predict_interval`.
    warm_start : bool, default=False
        Whether `fit` goes on from the members of an earlier fit: they keep their support points,
        scales and penalties of the bandwidths, take up to `max_iter` more steps and get new
        coefficients, all on the samples given now. A larger `n_members` adds members.
    random_state : int, RandomState instance or None, default=None
        Seed of the support points, the held-out samples and the mini-batches.
    verbose : bool, default=False
        Whether to print a line about the progress of the fit every two seconds, to standard error.

    Attributes
    ----------
    kernel_ : LocalRBFKernel
        The learned kernel, against the support points of all members. Not there (nor are
        ``dual_coef_``, ``coef_``, ``intercept_``, ``bandwidths_``) where members map the features
        to different scales: use ``members_``.
    support_ : array of shape (n_support,)
        Indices of the support points, all members one after the other.
    support_vectors_ : array of shape (n_support, n_features)
        The support points in the units of the features.
    bandwidths_ : array of shape (n_support, n_features)
        theta, in inverse units of the features; > 0 for features that vary.
    dual_coef_ : array of shape (n_support,) or (n_support, n_outputs)
        c, divided by the number of members.
    coef_ : array of shape (n_features,) or (n_features, n_outputs)
        v; 0 without a linear part.
    intercept_ : float or array of shape (n_outputs,)
        b.
    alpha_, shrinkage_, validation_score_ : arrays of shape (n_members,)
        The penalties that the held-out samples chose, and R2 on them, in the units of y.
    objective_history_ : list of arrays
        The objective of each member after each step, one stage after the other.
    feature_relevance_ : array of shape (n_features,)
        How much f changes if a feature is permuted among at most 200 training points, as a share:
        the mean squared change, divided by the variance of f for each output; sums to 1.
    feature_relevance_spread_ : array of shape (n_features,)
        The standard deviation of this share over the members; nan for a single member.
    support_relevance_ : array of shape (n_support, n_features)
        The share of each feature in the mean squared slope of each support point's own term.
    correlated_features_ : array of int of shape (n_pairs, 2)
        Pairs of features with an absolute rank correlation above .8 in at most 1000 training
        samples, the strongest first: either feature of a pair may get the relevance of both.
    members_ : list of LABRBFMember
        The expansions.
    averaged_ : array of bool of shape (n_members,)
        Which of them predict.
    error_model_ : LABRBFErrorModel or None
        The distribution of the errors; None without held-out samples.
    limits_ : array of shape (2, n_features)
        Lowest and highest values of the features: points beyond are moved there first. The range
        of the training points, extended by an eighth of it on both sides.
    target_transform_ : {None, "log"}
        "log": the expansion is log y.
    target_low_, target_high_ : arrays of shape (n_outputs,)
        The range of predictions.
    n_iter_ : int
        Number of steps of the solver, over all members and stages.

    See Also
    --------
    AsymmetricKernelRidge : Ridge regression with any asymmetric kernel.

    Notes
    -----
    One evaluation of value and gradient costs O(n m (4 d + m)) for n samples with d features and m
    support points; a member takes some hundred of them. `sample_weight` multiplies squared errors;
    held-out samples are drawn without regard to weights, so that a weight of two is not the same
    as a sample given twice.

    X and y may be Dask collections, whose rows need not fit into memory. Support points, bandwidths
    and all else that a fit learns come from a seeded sample of at most 50 000 rows of
    all partitions, coefficients from all rows.
    Predictions of a collection are dask arrays, computed partition by partition when they are
    asked for.

    The paper's own algorithm is the setting ``n_members=1, objective="interpolation",
    solver="adam", support="residual", transforms=None, linear=False, alpha=1e-3, shrinkage=0.0,
    initial_bandwidth=..., validation_fraction=0, max_iter=9500``.

    References
    ----------
    He, He, Shi, Huang, Suykens: Enhancing Kernel Flexibility via Learning Asymmetric
    Locally-Adaptive Kernels, Eqs. 1, 8, 9 and Algorithm 1 (with the sign of its line 8
    corrected, and bandwidths on a logarithmic scale).

    Examples
    --------
    >>> import numpy as np
    >>> from pliant import LABRBFRegressor
    >>> X = np.linspace(-2, 2, 300)[:, None]
    >>> y = np.sin(2 * X[:, 0] ** 3)
    >>> model = LABRBFRegressor(random_state=0).fit(X, y)
    >>> bool(model.score(X, y) > 0.99)
    True
    """

    _constraints: ClassVar[Mapping[str, Constraint]] = {
        **IntervalRegressor._constraints,
        "calibration": optional(check_share),
    }

    target_low_: Array
    target_high_: Array
    single_output_: bool

    def __init__(
        self,
        n_support: int | str = "auto",
        *,
        profile: str = "gaussian",
        n_members: int = 4,
        objective: str = "mixed",
        linear: bool | str = "auto",
        transforms: str | None = "auto",
        alpha: float | str = "auto",
        shrinkage: float | str = "auto",
        support: Any = "kmeans++",
        initial_bandwidth: float | str = "auto",
        validation_fraction: float = 0.2,
        solver: str = "lbfgs",
        max_iter: int = 30,
        learning_rate: float = 0.01,
        max_seconds: float | None = None,
        dtype: str = "float32",
        device: str = "cpu",
        n_jobs: int | None = None,
        calibration: float | None = None,
        warm_start: bool = False,
        random_state: Any = None,
        verbose: bool = False,
    ) -> None:
        self.n_support = n_support
        self.profile = profile
        self.n_members = n_members
        self.objective = objective
        self.linear = linear
        self.transforms = transforms
        self.alpha = alpha
        self.shrinkage = shrinkage
        self.support = support
        self.initial_bandwidth = initial_bandwidth
        self.validation_fraction = validation_fraction
        self.solver = solver
        self.max_iter = max_iter
        self.learning_rate = learning_rate
        self.max_seconds = max_seconds
        self.dtype = dtype
        self.device = device
        self.n_jobs = n_jobs
        self.calibration = calibration
        self.warm_start = warm_start
        self.random_state = random_state
        self.verbose = verbose

    def _prepare(
        self, X: Any, y: Any, sample_weight: Any, *, again: bool
    ) -> tuple[Table, Table | None]:
        X, Y = self._checked(X, y, reset=not again)
        table = Table.of(X, Y, sample_weight)
        if again:
            return table, None
        table, reserved = self._reserve(table)
        low, high = table.Y.min(axis=0), table.Y.max(axis=0)
        for k in np.flatnonzero(high / 2 - low / 2 <= SMALLEST):
            which = "y" if self.single_output_ else f"y[:, {k}]"
            ends = plain(low[k]), plain(high[k])
            got = f"{which} = {ends[0]}" if low[k] == high[k] else f"{which} from %s to %s" % ends
            raise ValueError(f"expected a target that varies, got {got} in all {len(table)} rows")
        return table, reserved

    def _checked(self, X: Any, y: Any, *, reset: bool = True) -> tuple[Array, Array]:
        """Return checked points, and targets of shape (n_samples, n_outputs)."""
        if np.asarray(y).dtype.kind in "SUmM" or scipy.sparse.issparse(y):
            check_targets(y)  # with an error that names y
        X, y = validate_data(
            self,
            X,
            y,
            dtype=_FLOATS,
            y_numeric=True,
            multi_output=True,
            ensure_min_samples=2,
            reset=reset,
        )
        Y = check_targets(y)
        if reset:
            self.single_output_, self.n_outputs_ = Y.ndim == 1, Y[:1].size
        Y = Y.reshape(len(Y), -1)
        if Y.shape[1] != self.n_outputs_:
            raise ValueError(f"expected y with {self.n_outputs_} outputs, got {Y.shape[1]}")
        return X, Y

    def _encoder(self, labels: list[Any]) -> Encode:
        return as_columns

    def _set_range(self, table: Table) -> None:
        self.target_low_, self.target_high_ = table.target_ends

    @property
    def _single_output(self) -> bool:
        return self.single_output_

    @property
    def _n_outputs(self) -> int:
        return self.n_outputs_

    def _choose_target(self, table: Table, probe: Callable[[Table], float]) -> Table:
        """Learn log y, if that lowers the held-out loss in the units of y enough."""
        if len(table) < LEAST_ROWS or (self.target_low_ <= 0).any():
            return table
        if not (skewness(table.Y) > SKEWED_TARGET).all():
            return table
        # The target as it is comes first: once learning is to stop, a probe returns inf.
        loss, logarithmic = probe(table), table.with_logarithms()
        return logarithmic if probe(logarithmic) < GAIN * loss else table

    def _loss(self, table: Table, rows: Indices) -> Callable[[Array], float]:
        """Return the mean squared error in the units of y, relative to a constant's."""
        weights, in_units = table.weights_of(rows), np.exp if table.log_target else np.asarray
        spread = self.target_high_ / 2 - self.target_low_ / 2
        y = in_units(table.Y[rows]) / spread
        errors = (y - np.average(y, axis=0, weights=weights)) ** 2
        size = float(np.average(errors, axis=0, weights=weights).sum()) or 1.0

        def loss(predicted: Array) -> float:
            p = in_units(table.middle + table.spread * predicted.clip(-1.0, 1.0))
            squares = (p / spread - y) ** 2
            return float(np.average(squares, axis=0, weights=weights).sum()) / size

        return loss

    def _store(self, table: Table, runs: list[Run]) -> None:
        self.target_transform_ = "log" if table.log_target else None
        super()._store(table, runs)
        used = [run for run, is_used in zip(runs, self.averaged_, strict=True) if is_used]
        self.error_model_ = learn_errors(table, used)

    @by_partition
    @blas_limited
    def predict(self, X: npt.ArrayLike, return_std: bool = False) -> Any:
        """Return the predicted target of each point, in the units of y and within its range.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        return_std : bool, default=False
            Whether to return the standard deviations of the targets, too: those of the errors that
            `predict_interval` uses.

        Returns
        -------
        array of shape (n_samples,) or (n_samples, n_outputs)
            The predictions; with `return_std`, a pair of predictions and standard deviations.
        """
        if not return_std:
            return self._in_range(self._mean(X))
        errors = self._checked_errors()
        mean, spread = self._mean_and_spread(self._points(X), errors.unit)
        scale, z = errors.scale(spread), errors.sample()
        if self.target_transform_ == "log":
            centre = np.exp(mean)
            apart = (np.exp(mean + scale * each) - centre for each in z)
            deviations = np.sqrt(sum(each**2 for each in apart) / len(z))
        else:
            deviations = scale * np.sqrt((z**2).mean(axis=0))
        return self._in_range(mean), self._shaped(deviations)

    def _reserve(self, table: Table) -> tuple[Table, Table | None]:
        """Return the samples to learn from, and the calibration samples."""
        if self.calibration is None:
            return table, None
        n = len(table)
        n_reserved = min(max(1, int(self.calibration * n)), n - 2)
        if not isinstance(self.support, str) or n_reserved < 1:
            raise ValueError(
                "expected calibration=None with chosen support points or fewer than 3 samples, got "
                f"calibration={self.calibration:g}"
            )
        order = check_random_state(self.random_state).permutation(n)
        reserved, rest = np.sort(order[:n_reserved]), np.sort(order[n_reserved:])
        return table.rows(rest), table.rows(reserved)

    def _in_range(self, mean: Array) -> Array:
        """Return predictions in the units of y."""
        predicted = np.exp(mean) if self.target_transform_ == "log" else mean
        return self._shaped(predicted.clip(self.target_low_, self.target_high_))

    def _response(self, values: Array) -> Array:
        """Return predictions in the units of y, shape (n_samples, n_outputs)."""
        return self._in_range(values).reshape(len(values), -1)

    def _check_loaded(self) -> None:
        """Raise ValueError if attributes, read from a file, do not belong together."""
        errors: object = self.error_model_
        if errors is not None:
            if not isinstance(errors, LABRBFErrorModel):
                raise ValueError(f"expected error_model_ of errors or None, got {errors!r:.80}")
            if errors.errors.shape[1] != self.n_outputs_:
                raise ValueError(f"expected error_model_ of {self.n_outputs_} outputs")
        if self.target_transform_ not in (None, "log"):
            raise ValueError(
                f"expected target_transform_ None or 'log', got {self.target_transform_!r:.80}"
            )
        check_integer("n_outputs_", self.n_outputs_, least=1)
        single: object = self.single_output_
        if not isinstance(single, bool) or (single and self.n_outputs_ != 1):
            raise ValueError(f"expected single_output_ True or False, got {single!r:.80}")
        super()._check_loaded()
        low = check_vector("target_low_", self.target_low_, self.n_outputs_)
        high = check_vector("target_high_", self.target_high_, self.n_outputs_)
        if not (low <= high).all():
            raise ValueError("expected target_low_ <= target_high_")
