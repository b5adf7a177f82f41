"""LAB-RBF on Dask collections: learned from a sample of the rows, coefficients from all of them.

A `Table` of a sample, drawn across all partitions, takes the way of any other. `Whole`, which the
table keeps, stands for all rows: their ranges and means, and the normal equations of the
coefficients, which are sums over partitions. Where all rows fit into the sample, the result is that
of a fit in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.base import is_classifier

from pliant.core.dask import DaskBlock, DaskRows, DaskSample, load, reduced
from pliant.core.typing import Array
from pliant.core.validation import check_random_state
from pliant.methods.lab_rbf.features import Table
from pliant.methods.lab_rbf.members import LABRBFMember, Sums, added, normal_equations

# Number of rows that support points and bandwidths are learned from, held-out rows included. Each
# member holds out at most 10 000 of them and learns from 3000 by default; a million rows in memory
# leave four members 52 000 different ones.
SAMPLED = 50_000

Encode = Callable[[npt.NDArray[Any]], Array]
"""Targets or labels -> the targets that are learned, shape (n, q), float64."""


class Extent(NamedTuple):
    """Ranges of features and targets, means of targets and of their logarithms (else nan)."""

    low: Array
    high: Array
    target_low: Array
    target_high: Array
    mean: Array
    log_mean: Array


@dataclass(frozen=True, eq=False)
class Whole:
    """All rows of a collection that a `Table` is a sample of, and their extent."""

    rows: DaskRows  # their y are the targets that are learned; calibration rows have the weight 0
    extent: Extent

    def __len__(self) -> int:
        """Return the number of rows of the collection."""
        return len(self.rows)

    def sums(self, members: list[LABRBFMember], table: Table) -> Sums:
        """Return the normal equations of each member, summed over all partitions on a tree."""
        shared = members, table.whole_mean, table.log_target
        return reduced(self.rows.each(_block_sums, *shared), _added)


class Drawn(NamedTuple):
    """A sample of a collection, as arrays in memory, and what the other rows have."""

    sample: DaskSample
    rows: DaskRows
    encode: Encode

    @property
    def arrays(self) -> tuple[Any, npt.NDArray[Any], Array | None]:
        """X, y and the weights of the sample; X is a data frame where the columns have names."""
        X, y, weights = self.sample.rows
        if self.rows.columns is None:
            return X, y, weights
        return load("pandas").DataFrame(X, columns=self.rows.columns), y, weights

    def attached(self, table: Table, reserved: Table | None) -> Table:
        """Return the table of the sample with all rows, but the `reserved` ones, behind it."""
        numbers, weights, Y = self.sample.numbers, self.rows.weights, self.encode(self.rows.y)
        if reserved is not None:
            weights = np.ones(len(Y)) if weights is None else weights.copy()
            weights[numbers[reserved.numbers]] = 0.0
        kept = np.full(len(Y), True) if weights is None else weights > 0
        ends = [_ends(self.sample.rows.rows(np.flatnonzero(kept[numbers]))), *self.sample.rest]
        low, high = zip(*(pair for pair in ends if pair is not None), strict=True)
        targets = Table(
            Y[kept], Y[kept], np.flatnonzero(kept), weights if weights is None else weights[kept]
        )
        log_mean = np.full(Y.shape[1], np.nan)
        if (targets.Y > 0).all():
            log_mean = targets.with_logarithms().mean
        extent = Extent(
            np.min(low, axis=0), np.max(high, axis=0), *targets.target_ends, targets.mean, log_mean
        )
        whole = Whole(replace(self.rows, y=Y, weights=weights), extent)
        return replace(table, numbers=numbers[table.numbers], whole=whole)


def draw(model: Any, X: Any, y: Any, sample_weight: Any) -> Drawn:
    """Draw the sample that a model is learned from, by its parameters."""
    if y is None:
        raise ValueError(f"expected y, the targets of {type(model).__name__}, got None")
    labelled = is_classifier(model)
    rows = DaskRows.of(X, y, sample_weight, labelled=labelled)
    used = rows.y if rows.weights is None else rows.y[rows.weights > 0]
    encode = model._encoder(np.unique(used).tolist() if labelled else [])
    numbers = rows.draw(SAMPLED, check_random_state(model.random_state), labelled=labelled)
    return Drawn(rows.take(numbers, _ends), rows, encode)


def as_columns(y: npt.NDArray[Any]) -> Array:
    """Return targets with a column for each output."""
    return y[:, None] if y.ndim == 1 else y


def _ends(block: DaskBlock) -> tuple[Array, Array] | None:
    """Return the lowest and the highest value of each feature; None for no rows."""
    return Table(block.X, block.X, np.arange(len(block.X))).ends if len(block.X) else None


def _block_sums(
    block: DaskBlock, members: list[LABRBFMember], mean: Array, log_target: bool
) -> Sums:
    """Return the normal equations of one partition; none of a partition without rows."""
    X, Y, weights = block.rows(block.counted)
    if not len(X):
        return []
    table = Table(X, np.log(Y) if log_target else Y, np.arange(len(X)), weights)
    return normal_equations(members, table, mean, n_jobs=1)


def _added(parts: Iterable[Sums]) -> Sums:
    """Return the sum of the normal equations of several partitions."""
    some = [part for part in parts if part]
    return reduce(added, some) if some else []
