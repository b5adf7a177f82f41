"""Distribution of the errors of a LAB-RBF regressor, for prediction intervals.

An error of the mean of the members is z s, with s^2 = noise^2 + (ratio spread)^2. The spread is the
standard deviation of the members' predictions, and z has the distribution of held-out errors.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from pliant.core import process
from pliant.core.estimators import BaseEstimator
from pliant.core.form import POSITIVE, Object, SavedForm, numbers
from pliant.core.typing import Array
from pliant.methods.lab_rbf import constants

if not process.BARE:  # what a fit needs
    from pliant.methods.lab_rbf.dense import DenseFit
    from pliant.methods.lab_rbf.members import FitState, HeldOut
    from pliant.methods.lab_rbf.table import Table


@dataclass(eq=False, repr=False)
class LABRBFErrorModel(BaseEstimator):
    """Distribution of the errors of a regressor, for each output.

    Parameters
    ----------
    unit : array of shape (n_outputs,)
        Half-range of the training target, > 0; squared errors in this unit are finite.
    noise : array of shape (n_outputs,)
        Constant part of s, > 0, in this unit.
    ratio : array of shape (n_outputs,)
        Factor of the members' spread in s.
    errors : array of shape (n_errors, n_outputs)
        Errors z, each column sorted.
    weights : array of shape (n_errors, n_outputs) or None
        Weights of the errors; None if all are 1.
    exact : bool
        True if the errors come from calibration rows.
    """

    _form: ClassVar[SavedForm] = {
        "unit, noise": numbers("outputs", low=POSITIVE),
        "ratio": numbers("outputs", low=0.0),
        "errors": numbers("errors", "outputs", order=np.less_equal, least=1),
        "weights": numbers("errors", "outputs", low=0.0, optional=True),
        "exact": Object(bool),
    }

    unit: Array
    noise: Array
    ratio: Array
    errors: Array
    weights: Array | None
    exact: bool

    @property
    def n_outputs(self) -> int:
        """Number of outputs."""
        return self.errors.shape[1]

    def calibrated(self, errors: Array, spread: Array) -> Self:
        """Return a copy with calibration errors; both arguments have shape (n, n_outputs)."""
        z = np.sort(errors / self.scale(spread), axis=0)
        return type(self)(self.unit, self.noise, self.ratio, z, None, exact=True)

    def scale(self, spread: Array) -> Array:
        """Compute s from the spread at each point, shape (n_samples, n_outputs)."""
        return np.hypot(self.noise * self.unit, self.ratio * spread)

    def quantile(self, probability: float) -> Array:
        """Compute the quantile of z for each output.

        With calibration rows, this is the conformal quantile: an order statistic, or infinite if
        there are too few rows. Let p be `probability`. A new z is below this quantile with
        probability at most p if p < 1/2, and with probability at least p otherwise.
        """
        n = len(self.errors)
        if self.exact:
            rank = probability * (n + 1)
            # The tolerance corrects rounding: (1 - .9) / 2 * 20 is slightly less than 1.
            k = math.floor(rank + 1e-9) if probability < 0.5 else math.ceil(rank - 1e-9)
            if not 1 <= k <= n:
                return np.full(self.errors.shape[1], -np.inf if k < 1 else np.inf)
            return np.asarray(self.errors[k - 1])
        method: Any = "median_unbiased" if self.weights is None else "inverted_cdf"
        return np.asarray(
            np.quantile(self.errors, probability, axis=0, weights=self.weights, method=method)
        )

    def sample(self) -> Array:
        """Return at most 199 errors z that represent the distribution, shape (n, n_outputs)."""
        probabilities = (np.arange(199) + 0.5) / 199
        if self.weights is not None:
            return np.stack([self.quantile(p) for p in probabilities])
        n = len(self.errors)
        return self.errors if n <= 199 else self.errors[(probabilities * n).astype(np.intp)]


def fit_error_model(
    table: Table,
    fits: Sequence[FitState],
    dense: DenseFit | None,
    pairs: Callable[[Array], Array],
) -> tuple[LABRBFErrorModel, HeldOut] | None:
    """Fit the error model to the rows held out; return None without such rows.

    A pair is a local member with its dense one, and `pairs` computes their predictions. The errors
    of the held-out predictions, on the scale of the fit, have the size of those of the mean of all
    members.
    """
    splits = [fit.split.held_out for fit in fits]
    held_out = [rows[: constants.ERROR_ROWS] for rows in splits if rows is not None]
    if not held_out:
        return None
    (middle, half), rows = table.scale, np.unique(np.concatenate(held_out))
    # Predictions of each member for its held-out rows, shape (m, n, q); nan for the other rows.
    predicted = np.full((len(fits), len(rows), table.Y.shape[1]), np.nan)
    for k, fit in enumerate(fits):
        scaled = np.asarray(fit.predicted)[: constants.ERROR_ROWS].clip(-1.0, 1.0)
        if dense is not None:
            scaled = (1.0 - dense.weight) * scaled + dense.weight * dense.predicted[k]
        predicted[k, np.searchsorted(rows, held_out[k])] = scaled
    points, target = table.points(rows), (table.Y[rows] - middle) / half
    final = (pairs(points) - middle) / half
    outputs = range(target.shape[1])
    models = [_scaled_errors(target[:, j], predicted[..., j], final[..., j]) for j in outputs]
    noise, ratio, errors, mean_errors = zip(*models, strict=True)
    held_out_mean = middle + half * (target - np.stack(mean_errors, axis=1))
    z, weights = np.stack(errors, axis=1), table.weights_of(rows)
    z *= 1.0 + constants.OPTIMISM / len(table)
    order = np.argsort(z, axis=0, kind="stable")
    z = np.take_along_axis(z, order, axis=0)
    weights = None if weights is None else weights[order]
    model = LABRBFErrorModel(half, np.array(noise), np.array(ratio), z, weights, exact=False)
    return model, HeldOut(table.numbers[rows], held_out_mean)


def _scaled_errors(
    target: Array, predicted: Array, final: Array
) -> tuple[float, float, Array, Array]:
    """Compute noise, ratio, z and the errors from held-out and final predictions, shape (m, n)."""
    held_out = ~np.isnan(predicted)
    count = held_out.sum(axis=0)  # k, the number of members that hold out each row, >= 1
    m = len(held_out)
    errors = np.where(held_out, target - predicted, 0.0)
    total, squares = errors.sum(axis=0), (errors**2).sum(axis=0)
    # Sums over pairs of members: 2 sum_{a<b} e_a e_b = (sum e)^2 - sum e^2 and
    # sum_{a<b} (e_a - e_b)^2 = k sum e^2 - (sum e)^2.
    pairs = count * (count - 1) / 2
    single = squares.sum() / count.sum()  # E
    spread, ratio, common = final.std(axis=0), 1.0, single  # common is C
    if pairs.sum() >= constants.MIN_PAIRS:
        common = (total**2 - squares).sum() / 2 / pairs.sum()
        common = min(max(common, constants.MIN_COMMON_SHARE * single), single)
        held_out_variance = (count * squares - total**2).sum() / 2 / pairs.sum()
        final_variance = (pairs * final.var(axis=0, ddof=1)).sum() / pairs.sum()
        if final_variance > 0:
            ratio = math.sqrt(held_out_variance / final_variance)
            ratio = min(max(ratio, 1.0), constants.MAX_RATIO)
    # The mean of k members has the mean squared error C + (E - C) / k, and the mean of all m
    # members C + (E - C) / m. Errors are scaled by the square root of the ratio of the two.
    own = single - common
    factor = np.sqrt((common + own / m) / np.maximum(common + own / count, constants.TINY))
    mean_errors = factor * total / count
    mse = float(np.mean(mean_errors**2))
    # Match the mean of s^2 = noise^2 + (ratio spread)^2 to the mean squared error.
    min_noise = max(constants.MIN_NOISE_SHARE * mse, constants.TINY)
    noise = max(mse - float(np.mean((ratio * spread) ** 2)), min_noise)
    z = mean_errors / np.sqrt(noise + (ratio * spread) ** 2)
    return math.sqrt(noise), ratio, z, mean_errors
