"""Regression with locally adaptive bandwidths, and its prediction intervals.

The error of the mean f of m members at a point t is modelled as s(t) z, with
s(t)^2 = noise^2 + (ratio spread(t))^2. The spread is the standard deviation of the members'
predictions at t, and z is drawn from the errors on held-out rows, each divided by its own s.

With E the mean squared error of one member, and C the mean product of the errors of two members on
rows that both hold out, the mean of k members has a mean squared error of C + (E - C) / k: of its
k^2 products of errors, k have the mean E and k (k - 1) the mean C. `ratio` compares differences of
members on rows that two of them hold out with the spread of all members there. Rows that nothing
else has seen make intervals split-conformal (Vovk, Gammerman and Shafer 2005; Lei et al. 2018).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, Self

import numpy as np
import numpy.typing as npt
import scipy.sparse
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from pliant.core.dask import by_partition
from pliant.core.progress import FitProgress, with_callbacks
from pliant.core.threads import blas_limited
from pliant.core.typing import Array, Indices
from pliant.core.validation import (
    Constraint,
    check_parameters,
    check_random_state,
    check_share,
    check_targets,
    check_vector,
    fresh,
    is_collection,
    optional,
    plain,
    validate_data,
)
from pliant.methods.lab_rbf.algorithm import LABRBFAlgorithm
from pliant.methods.lab_rbf.base import FLOATS, BaseLABRBF, documented
from pliant.methods.lab_rbf.collection import draw
from pliant.methods.lab_rbf.constants import (
    ERROR_ROWS,
    FEWEST_PAIRS,
    GAIN,
    LARGEST_RATIO,
    LEAST_NOISE,
    LEAST_ROWS,
    LEAST_SHARED,
    SKEWED_TARGET,
    SMALLEST,
    TINY,
)
from pliant.methods.lab_rbf.kernel import Warp, skewness
from pliant.methods.lab_rbf.members import LABRBFMember, Table, mean_over
from pliant.methods.lab_rbf.objective import ridge_path
from pliant.methods.lab_rbf.trainer import FitState, Trainer


@documented
@dataclass(kw_only=True, eq=False, repr=False)
class LABRBFRegressor(MultiOutputMixin, RegressorMixin, BaseLABRBF):
    """Regression by a mean of LAB-RBF expansions, with separate bandwidths of each support point.

    f(t) = sum_i c_i h(|theta_i o (t - x_i)|^2) + v't + b. Bandwidths theta_i, one for each
    support point x_i and feature, minimise an objective from which the coefficients c and v are
    eliminated (variable projection); none of the objectives is convex, so there is no certificate.
    Coefficients are then the ridge fit to all samples. The mean of the members is one such
    expansion, ``kernel_(X, support_vectors_) @ dual_coef_ + X @ coef_ + intercept_``; predictions
    are clipped to the range of the training target.

    Parameters
    ----------
    %(parameters)s
    calibration : float, optional
        Share of the samples, in (0, 1), that nothing else sees and whose errors calibrate the
        prediction intervals, see `predict_interval`.

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
        Change of f if a feature is permuted among at most 200 training points, as a share: the
        mean squared change, divided by the variance of f for each output; sums to 1.
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
        True for the members that predict.
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

    X and y may be Dask collections, whose rows need not fit into memory. Coefficients come from all
    rows, everything else from a seeded sample of at most 50 000 rows of all partitions. Predictions
    of a collection are lazy dask arrays, computed partition by partition.

    `from_paper` has the paper's own algorithm.

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
        **BaseLABRBF._constraints,
        "calibration": optional(check_share),
    }

    calibration: float | None = None

    target_low_: Array = field(init=False)
    target_high_: Array = field(init=False)
    target_transform_: Literal["log"] | None = field(init=False)
    error_model_: LABRBFErrorModel | None = field(init=False)
    single_output_: bool = field(init=False)
    n_outputs_: int = field(init=False)

    @classmethod
    def from_paper(
        cls,
        n_support: int | Literal["auto"] = "auto",
        *,
        initial_bandwidth: float = 1.0,
        learning_rate: float = 0.01,
        **parameters: Any,
    ) -> Self:
        """Build the regressor with the paper's own algorithm.

        One member interpolates its support points (Eq. 9), Adam takes steps on mini-batches, and
        support points are added at the largest errors (Algorithm 1).

        Parameters
        ----------
        n_support : int or "auto", default="auto"
            Number of support points.
        initial_bandwidth : float, default=1.0
            First theta of all support points and features, for features on [-1, 1].
        learning_rate : float, default=0.01
            Learning rate of Adam.
        **parameters
            Other parameters of the class; ``max_iter`` is 9500 by default, ``alpha`` 1e-3.

        Returns
        -------
        LABRBFRegressor
        """
        algorithm = LABRBFAlgorithm(
            objective="interpolation",
            linear=False,
            shrinkage=0.0,
            support="residual",
            initial_bandwidth=initial_bandwidth,
            solver="adam",
            learning_rate=learning_rate,
        )
        paper = {"n_members": 1, "transforms": None, "alpha": 1e-3, "validation_fraction": 0.0}
        return cls(n_support, algorithm=algorithm, **{**paper, "max_iter": 9500, **parameters})

    @blas_limited
    @with_callbacks
    def fit(self, X: npt.ArrayLike, y: npt.ArrayLike, sample_weight: Any = None) -> Self:
        """Learn support points, bandwidths and coefficients.

        With ``warm_start=True``, members of an earlier fit continue from their support points and
        bandwidths, on the samples given now.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training points; dense, finite; may be a memory map, or a dask.array or dask.dataframe.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Targets.
        sample_weight : array-like of shape (n_samples,), optional
            Weights >= 0 of the squared errors. Samples of weight zero are left out.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            For a parameter out of range, or data that cannot be learned from.
        ImportError
            If `device` needs PyTorch and it is not installed.
        """
        state = self._warm_start_state()
        with fresh(self):
            check_parameters(self)
            table, calibration = self._table(X, y, sample_weight)
            self.target_low_, self.target_high_ = table.target_ends
            if state is not None:
                self._check_warm_start(state)
            progress = FitProgress(self, X, y)
            trainer = self._trainer(table, progress, self._loss)
            if state is None:
                scales = trainer.choose_scales(table)
                table = self._choose_target(table, trainer, scales[0])
                starts = trainer.choose_starts(table, [Warp.learn(table.X, s) for s in scales])
            else:
                table = table.with_logarithms() if state.log_target else table
                starts = trainer.continue_members(table, state.members)
            fits = trainer.train(table, starts)
            if self._algorithm.objective != "interpolation":  # whose training gives coefficients
                self._solve_coefficients([fit.member for fit in fits], table)
            self._store(table, fits)
            self.target_transform_ = "log" if table.log_target else None
            used = [fit for fit, is_used in zip(fits, self.averaged_, strict=True) if is_used]
            self.error_model_ = learn_errors(table, used)
            if calibration is not None:
                self._calibrate(calibration.X, calibration.Y)
            progress.end()
        return self

    def _prepare(
        self, X: Any, y: Any, sample_weight: Any, *, again: bool
    ) -> tuple[Table, Table | None]:
        X, Y = self._checked(X, y, reset=not again)
        table, reserved = Table.of(X, Y, sample_weight), None
        if again:
            return table, None
        if self.calibration is not None:
            table, reserved = self._reserve(table, self.calibration)
        low, high = table.Y.min(axis=0), table.Y.max(axis=0)
        for k in np.flatnonzero(high / 2 - low / 2 <= SMALLEST):
            which = "y" if self.single_output_ else f"y[:, {k}]"
            ends = plain(low[k]), plain(high[k])
            got = f"{which} = {ends[0]}" if low[k] == high[k] else f"{which} from %s to %s" % ends
            raise ValueError(f"expected a target that varies, got {got} in all {len(table)} rows")
        return table, reserved

    def _checked(self, X: Any, y: Any, *, reset: bool = True) -> tuple[Array, Array]:
        """Validate points, and targets of shape (n_samples, n_outputs)."""
        if np.asarray(y).dtype.kind in "SUmM" or scipy.sparse.issparse(y):
            check_targets(y)  # with an error that names y
        X, y = validate_data(
            self,
            X,
            y,
            dtype=FLOATS,
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

    @property
    def _single_output(self) -> bool:
        return self.single_output_

    @property
    def _n_outputs(self) -> int:
        return self.n_outputs_

    def _choose_target(self, table: Table, trainer: Trainer, scale: str) -> Table:
        """Take log y, if that lowers the held-out loss in the units of y enough."""
        skewed = len(table) >= LEAST_ROWS and not (self.target_low_ <= 0).any()
        if not skewed or not trainer.tries_scales or not (skewness(table.Y) > SKEWED_TARGET).all():
            return table
        # The unchanged target is probed first: once the fit has to stop, a probe returns inf.
        loss, logarithmic = trainer.probe(table, scale), table.with_logarithms()
        return logarithmic if trainer.probe(logarithmic, scale) < GAIN * loss else table

    def _loss(self, table: Table, rows: Indices) -> Callable[[Array], float]:
        """Build the mean squared error in the units of y, relative to a constant."""
        weights, in_units = table.weights_of(rows), np.exp if table.log_target else np.asarray
        spread = self.target_high_ / 2 - self.target_low_ / 2
        y, (middle, half) = in_units(table.Y[rows]) / spread, table.scale
        errors = (y - np.average(y, axis=0, weights=weights)) ** 2
        size = float(np.average(errors, axis=0, weights=weights).sum()) or 1.0

        def loss(predicted: Array) -> float:
            """Compute the error of predictions on [-1, 1], shape (n, q)."""
            p = in_units(middle + half * predicted.clip(-1.0, 1.0))
            squares = (p / spread - y) ** 2
            return float(np.average(squares, axis=0, weights=weights).sum()) / size

        return loss

    def _solve_coefficients(self, members: list[LABRBFMember], table: Table) -> None:
        """Set c and v of members to ridge fits on all rows in one pass; b is the mean of Y."""
        sums = table.normal_equations(members, self.n_jobs)
        for member, (gram, right) in zip(members, sums, strict=True):
            a = ridge_path(gram, right, np.array([member.alpha_]))[0]
            member.set_coefficients(a, table.mean)

    def _take_target(self, table: Table) -> Table:
        """Take the range of new targets, on the scale of the fit; drop a calibration."""
        taken = table.with_logarithms() if self.target_transform_ == "log" else table
        self.target_low_, self.target_high_ = table.target_ends
        if self.error_model_ is not None and self.error_model_.exact:
            self.error_model_ = None
        return taken

    @by_partition
    @blas_limited
    def predict(self, X: npt.ArrayLike, return_std: bool = False) -> Any:
        """Predict the target of each point, in the units of y and within its range.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        return_std : bool, default=False
            If True, also return the standard deviations of the errors that `predict_interval` uses.

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
            # sd of exp(f + s z) around exp(f), over a sample of z; else s times the rms of z
            centre = np.exp(mean)
            apart = (np.exp(mean + scale * each) - centre for each in z)
            deviations = np.sqrt(sum(each**2 for each in apart) / len(z))
        else:
            deviations = scale * np.sqrt((z**2).mean(axis=0))
        return self._in_range(mean), self._shaped(deviations)

    def predict_interval(self, X: npt.ArrayLike, coverage: float = 0.9) -> Array:
        """Predict an interval for each point that holds its target with a given probability.

        The ends are the quantiles (1 - coverage) / 2 and (1 + coverage) / 2, see
        `predict_quantile`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        coverage : float, default=0.9
            Probability, in (0, 1).

        Returns
        -------
        array of shape (n_samples, 2) or (n_samples, n_outputs, 2)
            The lower and the upper end. With too few calibration samples an end is infinite: both
            are finite from 2 / (1 - coverage) - 1 samples on.

        Notes
        -----
        By default, intervals come from errors on the samples that members held out, scaled by the
        disagreement of the members. They are approximate, because these samples also chose the
        penalties of the members. With ``calibration=0.2``, or after `calibrate`, they come from
        samples that nothing else has seen (split conformal prediction). They then hold the target
        of a new point with at least the requested probability, on average over samples that are
        exchangeable with the calibration samples, for any distribution.

        References
        ----------
        Lei, G'Sell, Rinaldo, Tibshirani, Wasserman: Distribution-free predictive inference for
        regression, Journal of the American Statistical Association 113 (2018), Algorithm 2.
        """
        check_share("coverage", coverage)
        tails = ((1.0 - coverage) / 2.0, (1.0 + coverage) / 2.0)
        return self.predict_quantile(X, tails)

    @by_partition
    @blas_limited
    def predict_quantile(self, X: npt.ArrayLike, q: npt.ArrayLike = 0.5) -> Array:
        """Predict quantiles of the distribution of each point's target.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        q : float or array-like of shape (n_quantiles,), default=0.5
            Probabilities, in (0, 1).

        Returns
        -------
        array of shape (n_samples,), or (n_samples, n_quantiles) for several probabilities
            With several outputs, (n_samples, n_outputs) or (n_samples, n_outputs, n_quantiles).
        """
        check_is_fitted(self)
        probabilities = np.asarray(q, dtype=np.float64)
        if probabilities.ndim > 1 or not ((probabilities > 0) & (probabilities < 1)).all():
            raise ValueError(f"expected q in (0, 1), a number or a list of numbers, got {q!r:.200}")
        errors = self._checked_errors()
        mean, spread = self._mean_and_spread(self._points(X), errors.unit)
        scale = errors.scale(spread)
        z = [errors.quantile(float(p)) for p in probabilities.ravel()]
        quantiles = np.stack([mean + scale * each for each in z], axis=-1)
        if self.target_transform_ == "log":
            # A calibration target without a logarithm is below all others: an infinite interval.
            quantiles = np.where(np.isinf(quantiles), quantiles, np.exp(quantiles))
        if probabilities.ndim == 0:
            quantiles = quantiles[..., 0]
        return np.asarray(self._shaped(quantiles))

    @blas_limited
    def calibrate(self, X: npt.ArrayLike, y: npt.ArrayLike) -> Self:
        """Calibrate the prediction intervals on samples that the model has not learned from.

        Predictions do not change. The guarantee of `predict_interval` holds only if these samples
        were not used in any other way, for example to choose parameters.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)

        Returns
        -------
        self
        """
        check_is_fitted(self)
        if is_collection(X):
            X, y, _ = draw(X, y, None, seed=self.random_state, encoder=None).arrays
        self._calibrate(*self._checked(X, y, reset=False))
        return self

    @property
    def _drawings(self) -> frozenset[str]:
        intervals = set() if self.error_model_ is None else {"intervals"}
        return super()._drawings | intervals

    def _calibrate(self, X: Array, Y: Array) -> None:
        """Take the errors on calibration rows."""
        errors = self.error_model_
        if errors is None:
            half = self.target_high_ / 2 - self.target_low_ / 2
            unit, ones = np.where(half > 0, half, 1.0), np.ones_like(half)
            none = np.zeros((0, len(half)))  # of the same size everywhere
            errors = LABRBFErrorModel(unit, ones, 0.0 * ones, none, None, exact=False)
        if self.target_transform_ == "log":
            with np.errstate(divide="ignore"):
                Y = np.log(np.maximum(Y, 0.0))
        mean, spread = self._mean_and_spread(X, errors.unit)
        self.error_model_ = errors.calibrated(Y - mean, spread)

    def _checked_errors(self) -> LABRBFErrorModel:
        """Return the distribution of the errors, or raise ValueError without one."""
        check_is_fitted(self)
        if self.error_model_ is None:
            raise ValueError(
                "expected held-out samples, whose errors intervals are made of: set "
                "validation_fraction > 0 or calibration, or call calibrate(X, y), once more after "
                "refit_coefficients; got "
                f"validation_fraction={self.validation_fraction:g} and no calibration samples"
            )
        return self.error_model_

    def _mean_and_spread(self, points: Array, unit: Array) -> tuple[Array, Array]:
        """Compute mean and standard deviation over the members, (n_samples, n_outputs)."""
        used = self._used

        def outputs(block: Array) -> Array:
            each = np.stack([member.expand(block) for member in used])
            return np.stack([mean_over(each), (each / unit).std(axis=0) * unit], axis=1)

        mean, spread = np.moveaxis(self._in_blocks(points, outputs), 1, 0)
        return mean, spread

    def _reserve(self, table: Table, share: float) -> tuple[Table, Table]:
        """Split the rows at random into training rows and a share of calibration rows."""
        n = len(table)
        n_reserved = min(max(1, int(share * n)), n - 2)
        if n_reserved < 1:
            raise ValueError(f"expected calibration=None with fewer than 3 samples, got {share:g}")
        order = check_random_state(self.random_state).permutation(n)
        reserved, rest = np.sort(order[:n_reserved]), np.sort(order[n_reserved:])
        return table.rows(rest), table.rows(reserved)

    def _in_range(self, mean: Array) -> Array:
        """Convert means to predictions in the units of y, within the range of the target."""
        predicted = np.exp(mean) if self.target_transform_ == "log" else mean
        return self._shaped(predicted.clip(self.target_low_, self.target_high_))

    def _check_loaded(self) -> None:
        """Raise ValueError if attributes, read from a file, do not belong together."""
        errors: object = self.error_model_
        shape = np.shape(getattr(errors, "errors", ()))
        if errors is not None and shape[1:] != (self.n_outputs_,):
            raise ValueError(f"expected error_model_ of {self.n_outputs_} outputs or None")
        transform, single = self.target_transform_, self.single_output_
        if transform not in (None, "log"):
            raise ValueError(f"expected target_transform_ None or 'log', got {transform!r:.80}")
        if single not in (False, self.n_outputs_ == 1):
            raise ValueError(f"expected single_output_ True or False, got {single!r:.80}")
        super()._check_loaded()
        low = check_vector("target_low_", self.target_low_, self.n_outputs_)
        high = check_vector("target_high_", self.target_high_, self.n_outputs_)
        if not (low <= high).all():
            raise ValueError("expected target_low_ <= target_high_")


@dataclass(eq=False, repr=False)
class LABRBFErrorModel(BaseEstimator):
    """The distribution of the errors of a regressor, for each output.

    Parameters
    ----------
    unit : array of shape (n_outputs,)
        Half the range of the training target, > 0: errors in this unit have finite squares.
    noise : array of shape (n_outputs,)
        The part of s that is the same at all points, > 0, in this unit.
    ratio : array of shape (n_outputs,)
        The factor of the members' spread.
    errors : array of shape (n_errors, n_outputs)
        The errors z, sorted in each column; -inf for a calibration sample whose target has no
        logarithm, where that was learned.
    weights : array of shape (n_errors, n_outputs) or None
        Weights of the errors; None if all are 1.
    exact : bool
        True if the errors belong to calibration rows, which nothing else has seen.
    """

    unit: Array
    noise: Array
    ratio: Array
    errors: Array
    weights: Array | None
    exact: bool

    def calibrated(self, errors: Array, spread: Array) -> Self:
        """Replace the errors by errors of calibration rows; both arguments are (n, n_outputs)."""
        z = np.sort(errors / self.scale(spread), axis=0)
        return type(self)(self.unit, self.noise, self.ratio, z, None, exact=True)

    def scale(self, spread: Array) -> Array:
        """Compute s at points with these spreads, shape (n_samples, n_outputs)."""
        return np.hypot(self.noise * self.unit, self.ratio * spread)

    def quantile(self, probability: float) -> Array:
        """Compute the quantile of z for each output.

        With calibration rows it is an order statistic, farther from the median than the plain
        quantile, and infinite with too few rows: below 1/2, a new z is smaller with at most this
        probability; above, with at least this probability.
        """
        n = len(self.errors)
        if self.exact:
            rank = probability * (n + 1)
            # A tolerance, since (1 - .9) / 2 * 20 is slightly less than 1 in floating point.
            k = math.floor(rank + 1e-9) if probability < 0.5 else math.ceil(rank - 1e-9)
            if not 1 <= k <= n:
                return np.full(self.errors.shape[1], -np.inf if k < 1 else np.inf)
            return np.asarray(self.errors[k - 1])
        method: Any = "median_unbiased" if self.weights is None else "inverted_cdf"
        return np.asarray(
            np.quantile(self.errors, probability, axis=0, weights=self.weights, method=method)
        )

    def sample(self) -> Array:
        """Represent the distribution of z by errors, shape (at most 199, n_outputs)."""
        middles = (np.arange(199) + 0.5) / 199
        if self.weights is not None:
            return np.stack([self.quantile(p) for p in middles])
        n = len(self.errors)
        return self.errors if n <= 199 else self.errors[(middles * n).astype(np.intp)]

    def _check_loaded(self) -> None:
        """Raise ValueError if the parameters, read from a file, do not belong together."""
        errors = np.asarray(self.errors)
        if errors.dtype != np.float64 or errors.ndim != 2 or not len(errors):
            raise ValueError(f"expected errors of shape (n, n_outputs), got {errors.shape}")
        q = errors.shape[1]
        unit, noise = check_vector("unit", self.unit, q), check_vector("noise", self.noise, q)
        if not (unit > 0).all() or not (noise > 0).all():
            raise ValueError("expected unit > 0 and noise > 0")
        if not (check_vector("ratio", self.ratio, q) >= 0).all():
            raise ValueError("expected ratio >= 0")
        if not (errors[:-1] <= errors[1:]).all() or not (errors < np.inf).all():
            raise ValueError("expected sorted errors, none of them nan or inf")
        weights = self.weights
        if weights is not None and (np.shape(weights) != errors.shape or np.min(weights) < 0):
            raise ValueError(f"expected weights >= 0 of shape {errors.shape}")
        if not isinstance(self.exact, bool):
            raise ValueError(f"expected exact True or False, got {self.exact!r:.80}")


def learn_errors(table: Table, fits: list[FitState]) -> LABRBFErrorModel | None:
    """Learn the error model from rows that members held out; None without such rows."""
    held_out = [f.split.held_out[:ERROR_ROWS] for f in fits if f.split.held_out is not None]
    if not held_out:
        return None
    (middle, half), rows = table.scale, np.unique(np.concatenate(held_out))
    # Predictions from before a member learned from a row, shape (m, n, q); nan for its other rows.
    predicted = np.full((len(fits), len(rows), table.Y.shape[1]), np.nan)
    for k, fit in enumerate(fits):
        scaled = np.asarray(fit.predicted)[:ERROR_ROWS].clip(-1.0, 1.0)
        predicted[k, np.searchsorted(rows, held_out[k])] = scaled
    points, target = table.points(rows), (table.Y[rows] - middle) / half
    after = np.stack([fit.member.expand(points) - middle for fit in fits]) / half
    outputs = range(target.shape[1])
    models = [_scaled_errors(target[:, j], predicted[..., j], after[..., j]) for j in outputs]
    noise, ratio, errors = zip(*models, strict=True)
    z, weights = np.stack(errors, axis=1), table.weights_of(rows)
    order = np.argsort(z, axis=0, kind="stable")
    z = np.take_along_axis(z, order, axis=0)
    weights = None if weights is None else weights[order]
    return LABRBFErrorModel(half, np.array(noise), np.array(ratio), z, weights, exact=False)


def _scaled_errors(target: Array, predicted: Array, after: Array) -> tuple[float, float, Array]:
    """Compute noise, ratio and scaled errors of n held-out rows of one output.

    `target` has the shape (n,), `predicted` and the final predictions `after` (m, n).
    """
    known = ~np.isnan(predicted)
    count = known.sum(axis=0)  # k, the number of members that hold each row out, >= 1
    m = len(known)
    errors = np.where(known, target - predicted, 0.0)
    total, squares = errors.sum(axis=0), (errors**2).sum(axis=0)
    # Sums over all pairs of members follow from sums over members: 2 sum_{a<b} e_a e_b =
    # (sum e)^2 - sum e^2, and sum_{a<b} (e_a - e_b)^2 = k sum e^2 - (sum e)^2.
    pairs = count * (count - 1) / 2
    single = squares.sum() / count.sum()  # E
    spread, ratio, common = after.std(axis=0), 1.0, single  # common is C
    if pairs.sum() >= FEWEST_PAIRS:
        common = (total**2 - squares).sum() / 2 / pairs.sum()
        common = min(max(common, LEAST_SHARED * single), single)
        apart = (count * squares - total**2).sum() / 2 / pairs.sum()
        near = (pairs * after.var(axis=0, ddof=1)).sum() / pairs.sum()
        if near > 0:
            ratio = min(max(math.sqrt(apart / near), 1.0), LARGEST_RATIO)
    # The mean of k members has the squared error C + (E - C)/k, that of all m members
    # C + (E - C)/m: the root of their ratio turns errors of the one into errors of the other.
    own = single - common
    shrunk = np.sqrt((common + own / m) / np.maximum(common + own / count, TINY))
    mean_errors = shrunk * total / count
    size = float(np.mean(mean_errors**2))
    # The mean of s^2 = noise^2 + (ratio spread)^2 is the mean squared error.
    noise = max(size - float(np.mean((ratio * spread) ** 2)), LEAST_NOISE * size, TINY)
    return math.sqrt(noise), ratio, mean_errors / np.sqrt(noise + (ratio * spread) ** 2)
