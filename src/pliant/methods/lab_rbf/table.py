"""Training rows in memory, perhaps a sample of those of a Dask collection."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.stats import rankdata

from pliant.core.typing import Array, Indices
from pliant.core.validation import check_weights
from pliant.methods.lab_rbf.kernel import Warp

# Bound on the mean sample weight, and on its inverse: squares of it must fit into float32.
LARGEST_WEIGHT = 1e20


@dataclass(frozen=True, eq=False)
class Table:
    """Training data: n rows of positive weight.

    X, shape (n, d), may be a memory map; only blocks and samples of it are ever copied. Y, shape
    (n, q), holds the targets on the scale that is learned: their logarithms if `log_target`.
    `numbers`, shape (n,), are the row numbers in the user's data. `weights` are None if all are 1.
    `whole` is None, or the `collection.Whole` that these rows are a sample of.
    """

    X: Array
    Y: Array
    numbers: Indices
    weights: Array | None = None
    log_target: bool = False
    whole: Any = None

    @classmethod
    def of(cls, X: Array, Y: Array, sample_weight: Any) -> Table:
        """Return the table of the rows of positive weight."""
        if sample_weight is None:
            return cls(X, Y, np.arange(len(X)))
        weights = check_weights(sample_weight, X)
        mean = float((weights / len(weights)).sum())
        if not 1.0 / LARGEST_WEIGHT <= mean <= LARGEST_WEIGHT:
            raise ValueError(
                f"expected sample_weight with a mean from {1.0 / LARGEST_WEIGHT:g} to "
                f"{LARGEST_WEIGHT:g}, got {mean:.3g}; divide them by their mean"
            )
        rows = np.flatnonzero(weights)
        if len(rows) == len(X):  # no copy of X
            return cls(X, Y, rows, weights)
        return cls(X[rows], Y[rows], rows, weights[rows])

    def __len__(self) -> int:
        """Return n."""
        return len(self.X)

    @cached_property
    def middle(self) -> Array:
        """The middle of the targets' range, shape (q,)."""
        low, high = self.Y.min(axis=0), self.Y.max(axis=0)
        return np.asarray(low + (high / 2 - low / 2))

    @cached_property
    def spread(self) -> Array:
        """Half the targets' range, shape (q,); 1 where it is 0."""
        half = self.Y.max(axis=0) / 2 - self.Y.min(axis=0) / 2
        return np.where(half > 0, half, 1.0)

    @property
    def mean_weight(self) -> float:
        """The mean weight of a row."""
        return 1.0 if self.weights is None else float(self.weights.mean())

    @property
    def mean(self) -> Array:
        """The weighted mean of the targets, shape (q,)."""
        return np.asarray(np.average(self.Y, axis=0, weights=self.weights))

    @property
    def whole_mean(self) -> Array:
        """The same of all rows that coefficients are fitted to."""
        if self.whole is None:
            return self.mean
        extent = self.whole.extent
        return np.asarray(extent.log_mean if self.log_target else extent.mean)

    @property
    def ends(self) -> tuple[Array, Array]:
        """The lowest and the highest value of each feature, float64, over all rows."""
        if self.whole is not None:
            return self.whole.extent.low, self.whole.extent.high
        return np.asarray(self.X.min(axis=0), float), np.asarray(self.X.max(axis=0), float)

    @property
    def target_ends(self) -> tuple[Array, Array]:
        """The lowest and the highest value of each target, no logarithm, over all rows."""
        if self.whole is not None:
            return self.whole.extent.target_low, self.whole.extent.target_high
        return self.Y.min(axis=0), self.Y.max(axis=0)

    def places(self, support: Any, n_samples: int) -> Indices:
        """Return the places of support points, given by their row numbers of 0 to n_samples - 1."""
        chosen = np.asarray(support, dtype=np.intp)
        if not len(chosen) or chosen.min() < 0 or chosen.max() >= n_samples:
            raise ValueError(
                f"expected row numbers from 0 to {n_samples - 1} as support, got {support!r:.200}"
            )
        absent = ~np.isin(chosen, self.numbers)
        if absent.any():
            raise ValueError(f"expected a support point of weight > 0, got row {chosen[absent][0]}")
        return np.searchsorted(self.numbers, chosen)

    def rows(self, rows: Indices) -> Table:
        """Return the table of some rows."""
        return replace(
            self,
            X=self.X[rows],
            Y=self.Y[rows],
            numbers=self.numbers[rows],
            weights=self.weights_of(rows),
        )

    def points(self, rows: Indices) -> Array:
        """Return some of the points, float64."""
        return np.asarray(self.X[rows], dtype=np.float64)

    def weights_of(self, rows: Indices) -> Array | None:
        """Return the weights of some rows."""
        return None if self.weights is None else self.weights[rows]

    def sample(self, rows: Indices, warp: Warp) -> Table:
        """Return some rows with mapped features and targets on [-1, 1]."""
        scaled = np.asarray((self.Y[rows] - self.middle) / self.spread)
        return Table(warp(self.X[rows]), scaled, self.numbers[rows], self.weights_of(rows))

    def with_logarithms(self) -> Table:
        """Return the table with the logarithms of the targets."""
        low = float(self.target_ends[0].min())
        if low <= 0:
            raise ValueError(f"expected y > 0, since its logarithm was learned, got {low:g}")
        return replace(self, Y=np.log(self.Y), log_target=True)


CORRELATED = 0.8  # Absolute rank correlation from which on two features count as correlated.
# Maximum numbers of rows and of features that are compared, and of pairs that are kept.
COMPARED, MOST_PAIRS = 1000, 1000


def correlated_pairs(X: Array) -> Indices:
    """Return the pairs of columns with abs(Spearman's correlation) > .8, shape (n_pairs, 2).

    The strongest come first, the smaller column of each pair too.
    """
    ranks = rankdata(X, axis=0)
    ranks -= ranks.mean(axis=0)
    size = np.sqrt((ranks * ranks).sum(axis=0))
    ranks /= np.where(size > 0, size, 1.0)
    strength = np.triu(np.abs(ranks.T @ ranks), k=1)
    pairs = np.argwhere(strength > CORRELATED)
    order = np.argsort(-strength[pairs[:, 0], pairs[:, 1]], kind="stable")
    return np.asarray(pairs[order[:MOST_PAIRS]], dtype=np.intp)


def correlated_features(table: Table, relevance: Array) -> Indices:
    """Return the pairs of correlated features among the most relevant ones, in training rows."""
    rows = np.linspace(0, len(table) - 1, min(len(table), COMPARED)).astype(np.intp)
    features = np.sort(np.argsort(-relevance, kind="stable")[:COMPARED])
    return np.asarray(features[correlated_pairs(table.points(rows)[:, features])])


def check_pairs(pairs: Any, d: int) -> None:
    """Raise ValueError unless `pairs`, read from a file, are pairs out of d features."""
    pairs = np.asarray(pairs)
    if pairs.dtype.kind != "i" or pairs.ndim != 2 or pairs.shape[1] != 2:
        raise ValueError(f"expected correlated_features_ of shape (n_pairs, 2), got {pairs.shape}")
    first, second = pairs.T
    if not ((first >= 0) & (first < second) & (second < d)).all():
        raise ValueError(f"expected correlated_features_ of pairs of {d} features")
