"""Regression with locally adaptive bandwidths, and prediction intervals.

At a point t, the error of the mean f of m members is modelled as s(t) z, with
s(t)^2 = noise^2 + (ratio spread(t))^2. The spread is the standard deviation of the members'
predictions at t. The distribution of z is empirical: held-out errors, each divided by its s.

Let E be the mean squared error of a member, and C the mean product of the errors of two members on
rows held out by both. The mean of k members has the mean squared error C + (E - C) / k: of its k^2
error products, k have mean E and k (k - 1) have mean C. On rows held out by two members, `ratio`^2
is the variance of their held-out predictions divided by that of the final predictions of all
members. With calibration rows, intervals are split-conformal (Vovk, Gammerman and Shafer 2005; Lei
et al. 2018).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import compress
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from pliant.core import process
from pliant.core.dask import by_partition
from pliant.core.docstrings import documented_as
from pliant.core.estimators import check_is_fitted
from pliant.core.form import Object, SavedForm
from pliant.core.parameters import (
    Constraint,
    check_parameters,
    check_random_state,
    check_share,
    optional,
)
from pliant.core.progress import Deadline, FitProgress, with_callbacks
from pliant.core.state import forget_fit, reads, updates
from pliant.core.threads import blas_limited
from pliant.core.typing import Array, Indices
from pliant.core.validation import is_collection
from pliant.methods.lab_rbf import constants
from pliant.methods.lab_rbf.base import BaseLABRBF
from pliant.methods.lab_rbf.intervals import LABRBFErrorModel, fit_error_model
from pliant.methods.lab_rbf.kernel import Warp, skewness
from pliant.methods.lab_rbf.members import HeldOut, contributing, ridge_fits
from pliant.methods.lab_rbf.model import LABRBFModel, RegressionModel, from_scale

if not process.BARE:  # what a fit needs
    from pliant.methods.lab_rbf.collection import build_table, draw_sample
    from pliant.methods.lab_rbf.dense import dense_fit, learn_dense, moved_to
    from pliant.methods.lab_rbf.table import Table
    from pliant.methods.lab_rbf.trainer import Trainer


@documented_as(BaseLABRBF, LABRBFModel)
@dataclass(kw_only=True, eq=False, repr=False)
class LABRBFRegressor(RegressionModel, BaseLABRBF):
    """LAB-RBF regressor: a weighted mean of expansions with bandwidths for each support point.

    f(t) = sum_i c_i h(|theta_i o (t - x_i)|^2) + v't + b. The bandwidths theta_i, one per feature
    for each support point x_i, minimise an objective from which variable projection eliminates
    c and v. The objectives are not convex, and there is no optimality certificate. The coefficients
    are fitted to at most 200 000 samples by ridge regression. Dense members have all samples, at
    most 20 000, as support points and one learned metric. Unless members transform features
    differently, their weighted mean is again an expansion, ``kernel_(X, support_vectors_) @
    dual_coef_ + X @ linear_coef_ + intercept_``. Here X is clipped to ``limits_``, and mapped in
    the linear part if there is a transform. Predictions are f, or u sinh(f) with a ``target_unit_``
    u, clipped to the range of the training target.

    Parameters
    ----------
    calibration : float, optional
        Fraction of the samples, in (0, 1), reserved to calibrate the prediction intervals; see
        `predict_interval`. Each reserved sample counts once, whatever its weight.

    Attributes
    ----------
    error_model_ : LABRBFErrorModel or None
        Distribution of the errors; None without held-out samples.
    target_unit_ : array of shape (n_outputs,) or None
        Unit u if the model was fitted to asinh(y / u), which is about log(2 y / u) for large y.
    target_low_, target_high_ : arrays of shape (n_outputs,)
        Minimum and maximum to which predictions are clipped.

    See Also
    --------
    LABRBFPaperRegressor : The paper's algorithm.
    AsymmetricKernelRidge : Ridge regression with any asymmetric kernel.

    Notes
    -----
    Evaluating the objective and gradient costs O(n m (4 d + m)) for n samples, d features and m
    support points; a member needs about a hundred evaluations. `sample_weight` multiplies squared
    errors. Held-out samples are drawn regardless of the weights, so a weight of two is not
    equivalent to a repeated sample. Calibration counts each sample of positive weight once, so its
    guarantee is for samples drawn like the reserved ones, not for a weighted population.

    X and y may be Dask collections larger than memory. The coefficients of local members are fitted
    to at most 200 000 rows from all partitions, and the rest of the model to a random sample of at
    most 50 000 rows. Predictions for a collection are lazy dask arrays, computed by partition.

    References
    ----------
    He, He, Shi, Huang, Suykens: Enhancing Kernel Flexibility via Learning Asymmetric
    Locally-Adaptive Kernels, Eq. 1; `LABRBFPaperRegressor` follows the paper's algorithm.

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

    _constraints: ClassVar[Mapping[str, Constraint]] = {"calibration": optional(check_share)}

    calibration: float | None = None

    _form: ClassVar[SavedForm] = {
        "error_model_": Object(LABRBFErrorModel, sizes={"n_outputs": "outputs"}, optional=True)
    }
    error_model_: LABRBFErrorModel | None = field(init=False)

    @blas_limited
    @updates
    @with_callbacks
    def fit(self, X: npt.ArrayLike, y: npt.ArrayLike, sample_weight: Any = None) -> Self:
        """Learn the support points, bandwidths and coefficients.

        With ``warm_start=True``, the members of the previous fit continue from their support points
        and bandwidths, on the given samples; `calibration` is then refused.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training points, dense and finite: an array, a memory map, or a Dask collection.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Targets.
        sample_weight : array-like of shape (n_samples,), optional
            Weights >= 0 for the squared errors. Samples with weight zero are ignored. Samples
            reserved by `calibration` count once each, whatever their weights.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If a parameter is out of range, or the data are invalid.
        ImportError
            If `device` needs PyTorch and PyTorch is not installed.
        """
        state = self._warm_start_state()
        forget_fit(self)
        check_parameters(self)
        encode, seed, relative = self._encode_arrays, self.random_state, self.alpha == "auto"
        table, calibration = build_table(X, y, sample_weight, encode, seed=seed, relative=relative)
        self.target_low_, self.target_high_ = table.target_range
        if state is not None:
            self._check_warm_start(state)
            if calibration is not None:
                raise ValueError(
                    f"expected calibration=None with warm_start=True, got {self.calibration:g}: "
                    "the previous fit may have learned from the reserved samples; call calibrate "
                    "with samples that no fit used"
                )
        progress = FitProgress(self, X, y)
        deadline = Deadline(progress, self.max_seconds)
        trainer = self._build_trainer(table, deadline, self._loss, state=state)
        if state is None:
            scales = trainer.choose_scales(table)
            table = self._choose_target(table, trainer, scales[0])
            starts = trainer.choose_starts(table, [Warp.learn(table.X, s) for s in scales])
        else:
            table = table.with_asinh(state.target_unit_)
            starts = trainer.continue_members(table, state._local_members)
        fits = trainer.train(table, starts)
        dense = learn_dense(table, self._dense_sources(fits, deadline), deadline, self.n_jobs)
        coefficients = ridge_fits([fit.basis for fit in fits], table, self.n_jobs)
        if dense is not None:
            coefficients += [dense_fit(basis, table) for basis in dense.bases]
        self.target_unit_ = table.unit
        self._store_members(table, fits, dense, coefficients)
        used = list(compress(fits, contributing(fits)))
        self.error_model_ = None
        if found := fit_error_model(table, used, dense, self._member_pairs):
            self.error_model_, (rows, mean) = found
            predicted = from_scale(mean, self.target_unit_)
            self._held_out = HeldOut(rows, predicted.clip(self.target_low_, self.target_high_))
        if calibration is not None:
            self._calibrate(calibration.X, calibration.Y)
        progress.end()
        return self

    @blas_limited
    @updates
    def refit_coefficients(
        self, X: npt.ArrayLike, y: npt.ArrayLike, sample_weight: Any = None
    ) -> Self:
        """Refit the coefficients to new samples, keeping the bandwidths and metrics.

        The coefficients of each local member minimise the ridge objective with its ``alpha_``, in
        one pass over at most 200 000 samples; its support points stay. The new samples become the
        support points of the dense members. Any calibration of the intervals becomes invalid and is
        deleted; call `calibrate` again. Without a calibration, intervals keep the held-out errors
        of the previous fit.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`.

        Returns
        -------
        self
        """
        check_is_fitted(self)
        encode, seed = partial(self._encode_arrays, refit=True), self.random_state
        relative = self.alpha == "auto"
        table, _ = build_table(X, y, sample_weight, encode, seed=seed, relative=relative)
        self.target_low_, self.target_high_ = table.target_range
        if self.error_model_ is not None and self.error_model_.exact:
            self.error_model_ = None
        table, members = table.with_asinh(self.target_unit_), self._widened(table)
        local = [member for member in members if member.objective_ != "dense"]
        dense = [moved_to(member, table) for member in members if member.objective_ == "dense"]
        coefficients = ridge_fits(local, table, self.n_jobs)
        coefficients += [dense_fit(basis, table) for basis in dense]
        self._store_refit(table, local + dense, coefficients)
        return self

    def _encode_arrays(
        self, X: Any, y: Any, sample_weight: Any, *, refit: bool = False
    ) -> tuple[Table, Table | None]:
        """Validate arrays, and reserve calibration rows; `refit` keeps the number of outputs."""
        X, Y = self._validate_arrays(X, y, reset=not refit)
        table, reserved = Table.from_arrays(X, Y, sample_weight), None
        if refit:
            return table, None
        if self.calibration is not None:
            table, reserved = self._split_calibration(table, self.calibration)
        self._check_varies(table)
        return table, reserved

    def _choose_target(self, table: Table, trainer: Trainer, scale: str) -> Table:
        """Return the table, with asinh(y / u) if that lowers the held-out loss enough."""
        skew = np.abs(skewness(table.Y))
        if not (trainer.tries_scales and (skew > constants.MIN_TARGET_SKEWNESS).all()):
            return table
        typical = np.nanmedian(np.where(table.Y == 0, np.nan, np.abs(table.Y)), axis=0)
        transformed = table.with_asinh(typical)
        if not (np.abs(skewness(transformed.Y)) < skew).all():
            return table
        # Probe y before asinh(y / u): a probe returns inf if the fit must stop.
        limit = constants.MAX_ASINH_LOSS * trainer.probe(table, scale)
        return transformed if trainer.probe(transformed, scale) < limit else table

    def _loss(self, table: Table, rows: Indices) -> Callable[[Array], float]:
        """Build the mean squared error in the units of y, relative to the error of a constant."""
        weights, half_range = table.weights_of(rows), self.target_high_ / 2 - self.target_low_ / 2
        y, (middle, half) = from_scale(table.Y[rows], table.unit) / half_range, table.scale
        errors = (y - np.average(y, axis=0, weights=weights)) ** 2
        variance = float(np.average(errors, axis=0, weights=weights).sum()) or 1.0

        def loss(predicted: Array) -> float:
            """Compute the loss of predictions on [-1, 1], shape (n, q)."""
            p = from_scale(middle + half * predicted.clip(-1.0, 1.0), table.unit)
            squares = (p / half_range - y) ** 2
            return float(np.average(squares, axis=0, weights=weights).sum()) / variance

        return loss

    @reads
    @by_partition
    @blas_limited
    def predict(self, X: npt.ArrayLike, return_std: bool = False) -> Any:
        """Predict the target of each point, clipped to the range of the training target.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        return_std : bool, default=False
            If True, also return the standard deviation of the error at each point.

        Returns
        -------
        array of shape (n_samples,) or (n_samples, n_outputs)
            Predictions; with `return_std`, a tuple of predictions and standard deviations.
        """
        if not return_std:
            return self._clip_to_range(self._expand(X))
        errors = self._get_error_model()
        mean, spread = self._mean_and_spread(self._validate_points(X), errors.unit)
        scale, z = errors.scale(spread), errors.sample()
        unit = self.target_unit_
        if unit is None:
            std = scale * np.sqrt((z**2).mean(axis=0))
        else:  # rms deviation of u sinh(f + s z) from u sinh(f) over a sample of z
            centre = from_scale(mean, unit)
            deviations = (from_scale(mean + scale * each, unit) - centre for each in z)
            std = np.sqrt(sum(each**2 for each in deviations) / len(z))
        return self._clip_to_range(mean), self._squeeze(std)

    def predict_interval(self, X: npt.ArrayLike, coverage: float = 0.9) -> Array:
        """Predict an interval that contains the target of each point with a given probability.

        The endpoints are the quantiles (1 - coverage) / 2 and (1 + coverage) / 2; see
        `predict_quantile`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        coverage : float, default=0.9
            Probability, in (0, 1).

        Returns
        -------
        array of shape (n_samples, 2) or (n_samples, n_outputs, 2)
            Lower and upper endpoints. They are finite with at least 2 / (1 - coverage) - 1
            calibration samples; with fewer, an endpoint may be infinite.

        Notes
        -----
        By default, intervals use the held-out errors of the members, scaled by the disagreement
        between members. They are approximate, as the penalties are selected on the same samples.
        With ``calibration=0.2``, or after `calibrate`, intervals use samples reserved for this
        purpose (split conformal prediction). They then contain a new target with at least the
        requested probability, for any distribution. This holds on average over samples
        exchangeable with the calibration samples. These count once each, so the guarantee is not
        for a population weighted by `sample_weight`.

        Endpoints are not clipped to the range of the training target, but predictions are, so an
        interval may exclude the prediction. Clipping keeps the coverage only for a range that
        contains all targets, and new targets may be outside the training range.

        References
        ----------
        Lei, G'Sell, Rinaldo, Tibshirani, Wasserman: Distribution-free predictive inference for
        regression, Journal of the American Statistical Association 113 (2018), Algorithm 2.
        """
        check_share("coverage", coverage)
        tails = ((1.0 - coverage) / 2.0, (1.0 + coverage) / 2.0)
        return self.predict_quantile(X, tails)

    @reads
    @by_partition
    @blas_limited
    def predict_quantile(self, X: npt.ArrayLike, q: npt.ArrayLike = 0.5) -> Array:
        """Predict quantiles of the target of each point.

        Quantiles are not clipped to the range of the training target, since new targets may be
        outside. The quantile 0.5 may differ from the prediction of `predict`, which is clipped, and
        to which the median error is not added.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        q : float or array-like of shape (n_quantiles,), default=0.5
            Probabilities, in (0, 1); at least one.

        Returns
        -------
        array of shape (n_samples,), or (n_samples, n_quantiles) for several probabilities
            With several outputs, (n_samples, n_outputs) or (n_samples, n_outputs, n_quantiles).
        """
        check_is_fitted(self)
        probabilities = np.empty(0)
        with suppress(OverflowError, TypeError, ValueError):
            probabilities = np.asarray(q, dtype=np.float64)
        valid = probabilities.size and probabilities.ndim <= 1
        if not valid or not ((probabilities > 0) & (probabilities < 1)).all():
            raise ValueError(f"expected q in (0, 1), a number or a list of numbers, got {q!r:.200}")
        errors = self._get_error_model()
        mean, spread = self._mean_and_spread(self._validate_points(X), errors.unit)
        scale = errors.scale(spread)
        z = [errors.quantile(float(p)) for p in probabilities.ravel()]
        unit = self.target_unit_
        quantiles = np.stack([from_scale(mean + scale * each, unit) for each in z], axis=-1)
        if probabilities.ndim == 0:
            quantiles = quantiles[..., 0]
        return np.asarray(self._squeeze(quantiles))

    @blas_limited
    @updates
    def calibrate(self, X: npt.ArrayLike, y: npt.ArrayLike) -> Self:
        """Calibrate the prediction intervals on samples that were not used in training.

        Predictions do not change. The guarantee of `predict_interval` holds only if these samples
        have no other use, such as parameter selection. Each sample counts once, as there are no
        weights: the guarantee is for samples drawn like these, not for a weighted population.

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
            X, y, _ = draw_sample(X, y, None, seed=self.random_state, encoder=None).arrays
        self._calibrate(*self._validate_arrays(X, y, reset=False))
        return self

    @property
    def _drawings(self) -> frozenset[str]:
        intervals = set() if self.error_model_ is None else {"intervals"}
        return super()._drawings | intervals

    def _calibrate(self, X: Array, Y: Array) -> None:
        """Fit the error model to calibration rows."""
        errors = self.error_model_
        if errors is None:  # without held-out rows, s is constant
            half = self.target_high_ / 2 - self.target_low_ / 2
            unit, ones = np.where(half > 0, half, 1.0), np.ones_like(half)
            no_errors = np.zeros((0, len(half)))
            errors = LABRBFErrorModel(unit, ones, 0.0 * ones, no_errors, None, exact=False)
        if self.target_unit_ is not None:
            Y = np.arcsinh(Y / self.target_unit_)
        mean, spread = self._mean_and_spread(X, errors.unit)
        self.error_model_ = errors.calibrated(Y - mean, spread)

    def _member_pairs(self, X: Array) -> Array:
        """Compute the mean of each local member and its dense one, (n_pairs, n, n_outputs)."""
        parts = zip(self.members_, self.weights_, strict=True)
        used = [(member, weight) for member, weight in parts if weight > 0]
        local = np.stack([m.expand(X) for m, _ in used if m.objective_ != "dense"])
        share = float(sum(weight for m, weight in used if m.objective_ == "dense"))
        if share == 0.0:
            return local
        dense = np.stack([m.expand(X) for m, _ in used if m.objective_ == "dense"])
        # Dense members may be fewer than local ones: they are repeated, with the same mean.
        partners = dense[np.arange(len(local)) % len(dense)]
        partners += dense.mean(axis=0) - partners.mean(axis=0)
        return (1.0 - share) * local + share * partners

    def _get_error_model(self) -> LABRBFErrorModel:
        """Return the error model, or raise ValueError if there is none."""
        check_is_fitted(self)
        if self.error_model_ is None:
            raise ValueError(
                "expected held-out or calibration samples for intervals: set "
                "validation_fraction > 0 or calibration, or call calibrate(X, y) (again after "
                f"refit_coefficients); got validation_fraction={self.validation_fraction:g} and "
                "no calibration samples"
            )
        return self.error_model_

    def _mean_and_spread(self, points: Array, unit: Array) -> tuple[Array, Array]:
        """Compute the mean and standard deviation over the pairs, (n_samples, n_outputs)."""
        pairs = self._member_pairs

        def outputs(block: Array) -> Array:
            values = pairs(block)
            mean = sum(values) / len(values)
            return np.stack([mean, (values / unit).std(axis=0) * unit], axis=1)

        mean, spread = np.moveaxis(self._map_blocks(points, outputs), 1, 0)
        return mean, spread

    def _split_calibration(self, table: Table, share: float) -> tuple[Table, Table]:
        """Split the rows at random into training rows and calibration rows."""
        n = len(table)
        n_reserved = min(max(1, int(share * n)), n - 2)
        if n_reserved < 1:
            raise ValueError(f"expected calibration=None for fewer than 3 samples, got {share:g}")
        order = check_random_state(self.random_state).permutation(n)
        reserved, rest = np.sort(order[:n_reserved]), np.sort(order[n_reserved:])
        return table.rows(rest), table.rows(reserved)
