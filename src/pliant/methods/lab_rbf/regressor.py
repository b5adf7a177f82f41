"""Regression with locally adaptive bandwidths."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
import scipy.sparse
from sklearn.base import MultiOutputMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from pliant.core.dask import by_partition
from pliant.core.threads import blas_limited
from pliant.core.typing import Array, Indices
from pliant.core.validation import (
    Constraint,
    check_random_state,
    check_share,
    check_targets,
    check_vector,
    is_collection,
    optional,
    plain,
    validate_data,
)
from pliant.methods.lab_rbf.base import _FLOATS, BaseLABRBF, documented
from pliant.methods.lab_rbf.collection import Encode, as_columns, draw
from pliant.methods.lab_rbf.features import Table
from pliant.methods.lab_rbf.intervals import LABRBFErrorModel, learn_errors
from pliant.methods.lab_rbf.kernel import SMALLEST, skewness
from pliant.methods.lab_rbf.members import LABRBFMember, mean_over
from pliant.methods.lab_rbf.trainer import Run

SKEWED_TARGET = 0.9  # Skewness of a positive target from which on its logarithm is tried,
LEAST_ROWS = 1000  # ... with at least this many rows, so that held-out losses are reliable,
# ... and learned if it lowers the held-out loss, in the units of y, to below this share.
GAIN = 0.95


@documented
@dataclass(kw_only=True, eq=False, repr=False)
class LABRBFRegressor(MultiOutputMixin, RegressorMixin, BaseLABRBF):
    """Regression by a mean of LAB-RBF expansions: each support point has bandwidths of its own.

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
        **BaseLABRBF._constraints,
        "calibration": optional(check_share),
    }

    calibration: float | None = None

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

    def predict_interval(self, X: npt.ArrayLike, coverage: float = 0.9) -> Array:
        """Return an interval for each point that holds its target with a given probability.

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
            The lower and the upper end. With calibration samples, an end is infinite where there
            are too few of them: both are finite from 2 / (1 - coverage) - 1 samples on.

        Notes
        -----
        By default, intervals come from errors on the samples that members held out, scaled by how
        much the members disagree. They are approximate, because these samples also chose the
        penalties of the members. With ``calibration=0.2``, or after `calibrate`, they come from
        samples that nothing else has seen (split conformal prediction): they then hold the target
        of a new point with at least the requested probability, on average over samples that are
        exchangeable with the calibration samples, whatever their distribution is.

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
        """Return quantiles of the distribution of each point's target.

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
            # A target that has no logarithm is below all others: it needs an infinite interval.
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
            X, y, _ = draw(self, X, y, None).arrays
        self._calibrate(*self._checked(X, y, reset=False))
        return self

    @property
    def _drawings(self) -> frozenset[str]:
        intervals = set() if self.error_model_ is None else {"intervals"}
        return super()._drawings | intervals

    def _set_coefficients(
        self, members: list[LABRBFMember], table: Table, runs: Sequence[Run] = ()
    ) -> None:
        super()._set_coefficients(members, table, runs)
        if not runs and self.error_model_ is not None and self.error_model_.exact:
            self.error_model_ = None

    def _calibrate(self, X: Array, Y: Array) -> None:
        """Take the errors on these samples."""
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
        """Return the distribution of the errors, or raise ValueError if there is none."""
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
        """Return mean and standard deviation over the members, (n_samples, n_outputs)."""
        used = self._used

        def outputs(block: Array) -> Array:
            each = np.stack([member.expand(block) for member in used])
            return np.stack([mean_over(each), (each / unit).std(axis=0) * unit], axis=1)

        mean, spread = np.moveaxis(self._in_blocks(points, outputs), 1, 0)
        return mean, spread

    def _reserve(self, table: Table) -> tuple[Table, Table | None]:
        """Return the samples to learn from, and the calibration samples."""
        if self.calibration is None:
            return table, None
        n = len(table)
        n_reserved = min(max(1, int(self.calibration * n)), n - 2)
        if n_reserved < 1:
            raise ValueError(
                f"expected calibration=None with fewer than 3 samples, got {self.calibration:g}"
            )
        order = check_random_state(self.random_state).permutation(n)
        reserved, rest = np.sort(order[:n_reserved]), np.sort(order[n_reserved:])
        return table.rows(rest), table.rows(reserved)

    def _in_range(self, mean: Array) -> Array:
        """Return predictions in the units of y."""
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
