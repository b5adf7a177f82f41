"""LAB-RBF on Dask collections: a sample learns the bandwidths, all rows give the coefficients.

A `DaskTable` holds a sample, drawn across all partitions, like any `Table`. Its ranges, its mean
and its normal equations belong to all rows, as sums over partitions. Where all rows fit into the
sample, the result is the same as in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import KW_ONLY, dataclass, replace
from functools import reduce
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from pliant.core.dask import DaskBlock, DaskRows, DaskSample, load, reduce_tree
from pliant.core.typing import Array
from pliant.core.validation import check_random_state
from pliant.methods.lab_rbf.constants import SAMPLED
from pliant.methods.lab_rbf.members import LABRBFMember, Sums, Table, added

Encode: TypeAlias = Callable[[npt.NDArray[Any]], Array]
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
class DaskTable(Table):
    """A sample of a collection, with the ranges, mean and normal equations of all rows."""

    _: KW_ONLY
    all_rows: (
        DaskRows  # their y are the targets that are learned; calibration rows have the weight 0
    )
    extent: Extent

    @property
    def ends(self) -> tuple[Array, Array]:
        """The lowest and the highest value of each feature, float64."""
        return self.extent.low, self.extent.high

    @property
    def target_ends(self) -> tuple[Array, Array]:
        """The lowest and the highest value of each target, without a logarithm."""
        return self.extent.target_low, self.extent.target_high

    @property
    def mean(self) -> Array:
        """The weighted mean of the targets, shape (q,)."""
        return np.asarray(self.extent.log_mean if self.log_target else self.extent.mean)

    def normal_equations(
        self, members: list[LABRBFMember], n_jobs: int | None, mean: Array | None = None
    ) -> Sums:
        """Sum F'F and F'(y - mean) of each member over all partitions, on a tree."""
        mean = self.mean if mean is None else mean
        tasks = self.all_rows.map_blocks(_partition_sums, members, mean, self.log_target)
        return reduce_tree(tasks, _added)


class Drawn(NamedTuple):
    """A sample of a collection in memory, and the collection."""

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

    def attached(self, table: Table, reserved: Table | None) -> DaskTable:
        """Attach all rows but the `reserved` ones to the table of the sample."""
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
        all_rows = replace(self.rows, y=Y, weights=weights)
        sample = (table.X, table.Y, numbers[table.numbers], table.weights, table.log_target)
        return DaskTable(*sample, all_rows=all_rows, extent=extent)


def draw(
    X: Any, y: Any, sample_weight: Any, *, seed: Any, encoder: Callable[[Any], Encode] | None
) -> Drawn:
    """Draw a sample; `encoder` builds the encoding from labels, None stands for real targets."""
    labelled = encoder is not None
    rows = DaskRows.from_collection(X, y, sample_weight, labelled=labelled)
    used = rows.y if rows.weights is None else rows.y[rows.weights > 0]
    encode = encoder(np.unique(used)) if encoder is not None else _as_columns
    numbers = rows.draw(SAMPLED, check_random_state(seed), labelled=labelled)
    return Drawn(rows.take(numbers, _ends), rows, encode)


def _as_columns(y: npt.NDArray[Any]) -> Array:
    """Return targets with a column for each output."""
    return y[:, None] if y.ndim == 1 else y


def _ends(block: DaskBlock) -> tuple[Array, Array] | None:
    """Compute the lowest and the highest value of each feature; None for no rows."""
    return Table(block.X, block.X, np.arange(len(block.X))).ends if len(block.X) else None


def _partition_sums(
    block: DaskBlock, members: list[LABRBFMember], mean: Array, log_target: bool
) -> Sums:
    """Sum the normal equations of one partition; none of a partition without rows."""
    X, Y, weights = block.rows(block.weighted_rows)
    if not len(X):
        return []
    table = Table(X, np.log(Y) if log_target else Y, np.arange(len(X)), weights)
    return table.normal_equations(members, 1, mean)


def _added(parts: Iterable[Sums]) -> Sums:
    """Add up the normal equations of several partitions."""
    some = [part for part in parts if part]
    return reduce(added, some) if some else []
