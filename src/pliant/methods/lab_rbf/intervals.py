"""Prediction intervals of a LAB-RBF regressor, from errors on rows that its members held out.

The error of the mean f of m members at a point t is modelled as s(t) z, with
s(t)^2 = noise^2 + (ratio spread(t))^2. The spread is the standard deviation of the members'
predictions at t, and z is drawn from the errors on held-out rows, each divided by its own s.

With E the mean squared error of one member, and C the mean product of the errors of two members on
rows that both hold out, the mean of k members has a mean squared error of C + (E - C) / k. Errors
of rows that k < m members hold out are multiplied by the root of the ratio of this for m and for k.
`ratio` compares differences of members on rows that two of them hold out with the spread of all
members there. Rows that nothing else has seen (`LABRBFErrorModel.calibrated`) make intervals
split-conformal (Vovk, Gammerman and Shafer 2005; Lei et al. 2018).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator

from pliant.core.typing import Array
from pliant.core.validation import check_vector
from pliant.methods.lab_rbf.features import Table
from pliant.methods.lab_rbf.members import TINY
from pliant.methods.lab_rbf.trainer import Run

# Number of rows held out by two members from which on their agreement is measured.
FEWEST_PAIRS = 10
# Lower bound on the share of one member's squared error that all members have in common.
LEAST_SHARED = 0.3
# Lower bound on the share of the squared error that does not come from the members' spread.
LEAST_NOISE = 0.25
LARGEST_RATIO = 10.0  # Upper bound on the ratio of spreads, which few rows determine badly.
MOST_ROWS = 1000  # Maximum number of held-out rows of each member that errors are learned from.
# Number of quantiles that stand for the distribution of the errors in a standard deviation.
STEPS = 199


@dataclass(eq=False, repr=False)
class LABRBFErrorModel(BaseEstimator):
    """The distribution of the errors of a regressor, for each output.

    Parameters
    ----------
    unit : array of shape (n_outputs,)
        Half the range of the training target, > 0: squares of its size would not be finite.
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
        Whether the errors belong to calibration rows, which nothing else has seen.
    """

    unit: Array
    noise: Array
    ratio: Array
    errors: Array
    weights: Array | None
    exact: bool

    @classmethod
    def of(
        cls, target: Array, predicted: Array, after: Array, unit: Array, weights: Array | None
    ) -> Self:
        """Return the model of errors on n held-out rows of q outputs, given in this unit.

        `target` has the shape (n, q). `predicted`, (m, n, q), is from before a member learned from
        a row, nan where it did not hold it out; `after` has the final predictions.
        """
        parts = (np.moveaxis(part, -1, 0) for part in (target, predicted, after))
        noise, ratio, errors = zip(*map(_scaled_errors, *parts), strict=True)
        z = np.stack(errors, axis=1)
        order = np.argsort(z, axis=0, kind="stable")
        z = np.take_along_axis(z, order, axis=0)
        weights = None if weights is None else weights[order]
        return cls(unit, np.array(noise), np.array(ratio), z, weights, exact=False)

    def calibrated(self, errors: Array, spread: Array) -> Self:
        """Return the model with the errors of calibration rows, both of shape (n, n_outputs)."""
        z = np.sort(errors / self.scale(spread), axis=0)
        return type(self)(self.unit, self.noise, self.ratio, z, None, exact=True)

    def scale(self, spread: Array) -> Array:
        """Return s at points with these spreads, shape (n_samples, n_outputs)."""
        return np.hypot(self.noise * self.unit, self.ratio * spread)

    def quantile(self, probability: float) -> Array:
        """Return the quantile of z for each output.

        With calibration rows, it is an order statistic of them, farther from the median than the
        plain quantile, and infinite where there are too few rows: below 1/2, a new z is smaller
        with at most this probability; above, with at least this probability.
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
        """Return errors that stand for the distribution of z, shape (at most STEPS, n_outputs)."""
        middles = (np.arange(STEPS) + 0.5) / STEPS
        if self.weights is not None:
            return np.stack([self.quantile(p) for p in middles])
        n = len(self.errors)
        return self.errors if n <= STEPS else self.errors[(middles * n).astype(np.intp)]

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


def _scaled_errors(target: Array, predicted: Array, after: Array) -> tuple[float, float, Array]:
    """Return the noise, the ratio, and the scaled errors of held-out rows."""
    known = ~np.isnan(predicted)
    count = known.sum(axis=0)  # the number of members that hold each row out, >= 1
    m = len(known)
    errors = np.where(known, target - predicted, 0.0)
    total, squares = errors.sum(axis=0), (errors**2).sum(axis=0)
    # Sums over all pairs of members follow from sums over members: 2 sum_{a<b} e_a e_b =
    # (sum e)^2 - sum e^2, and sum_{a<b} (e_a - e_b)^2 = k sum e^2 - (sum e)^2.
    pairs = count * (count - 1) / 2
    single = squares.sum() / count.sum()
    spread, ratio, common = after.std(axis=0), 1.0, single
    if pairs.sum() >= FEWEST_PAIRS:
        common = (total**2 - squares).sum() / 2 / pairs.sum()
        common = min(max(common, LEAST_SHARED * single), single)
        apart = (count * squares - total**2).sum() / 2 / pairs.sum()
        near = (pairs * after.var(axis=0, ddof=1)).sum() / pairs.sum()
        if near > 0:
            ratio = min(max(math.sqrt(apart / near), 1.0), LARGEST_RATIO)
    own = single - common
    shrunk = np.sqrt((common + own / m) / np.maximum(common + own / count, TINY))
    mean_errors = shrunk * total / count
    size = float(np.mean(mean_errors**2))
    noise = max(size - float(np.mean((ratio * spread) ** 2)), LEAST_NOISE * size, TINY)
    return math.sqrt(noise), ratio, mean_errors / np.sqrt(noise + (ratio * spread) ** 2)


def learn_errors(table: Table, runs: list[Run]) -> LABRBFErrorModel | None:
    """Return the errors of members on rows that they held out; None if they held out none."""
    mine = [run.split.held_out[:MOST_ROWS] for run in runs if run.split.held_out is not None]
    if not mine:
        return None
    rows = np.unique(np.concatenate(mine))
    predicted = np.full((len(runs), len(rows), table.Y.shape[1]), np.nan)
    for k, run in enumerate(runs):
        scaled = np.asarray(run.learned.stage.predicted)[:MOST_ROWS].clip(-1.0, 1.0)
        predicted[k, np.searchsorted(rows, mine[k])] = scaled
    points, target = table.points(rows), (table.Y[rows] - table.middle) / table.spread
    after = np.stack([run.member.expand(points) - table.middle for run in runs]) / table.spread
    return LABRBFErrorModel.of(target, predicted, after, table.spread, table.weights_of(rows))
