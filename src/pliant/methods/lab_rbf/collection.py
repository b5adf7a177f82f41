"""LAB-RBF on Dask collections: learned from a sample of the rows, coefficients from all of them.

Support points, bandwidths and penalties are learned as in memory, from a sample that is drawn
across all partitions: a `Table` of it takes the way of any other. `Whole`, which the table keeps,
stands for all rows: their ranges and means, and the normal equations of the coefficients, which are
sums over partitions. The result is that of a fit in memory whose coefficients see all rows; where
all rows fit into the sample, it is that of a fit in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial, reduce
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.base import is_classifier

from pliant.core.dask import Block, Rows, Sample, load, reduced
from pliant.core.typing import Array, Indices
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
    """Sum of weights, ranges of features and targets, means of targets and of their logarithms."""

    weight: float
    low: Array
    high: Array
    target_low: Array
    target_high: Array
    mean: Array
    log_mean: Array  # nan where a target has no logarithm

    @classmethod
    def of(cls, encode: Encode, block: Block) -> Extent | None:
        """Return the extent of rows of positive weight; None if there are none."""
        X, Y, weights = block.X, encode(block.y), block.weights
        if not len(X):
            return None
        table = Table(X, Y, np.arange(len(X)), weights)
        positive = bool((Y > 0).all())
        log_mean = table.with_logarithms().mean if positive else np.full(Y.shape[1], np.nan)
        weight = len(X) * table.mean_weight
        return cls(weight, *table.ends, *table.target_ends, table.mean, log_mean)

    @classmethod
    def joined(cls, extents: list[Extent | None]) -> Extent:
        """Return the extent of all rows."""
        parts = zip(*(extent for extent in extents if extent is not None), strict=True)
        weights, low, high, target_low, target_high, means, log_means = map(np.stack, parts)
        shares = weights / weights.sum()
        return cls(
            float(weights.sum()),
            low.min(axis=0),
            high.max(axis=0),
            target_low.min(axis=0),
            target_high.max(axis=0),
            shares @ means,
            shares @ log_means,
        )


@dataclass(frozen=True, eq=False)
class Whole:
    """All rows of a collection that a `Table` is a sample of.

    `extent` is that of the rows that coefficients are learned from: those of positive weight but
    the calibration rows, whose numbers are `left_out`.
    """

    rows: Rows
    encode: Encode
    extent: Extent
    left_out: Indices

    def __len__(self) -> int:
        """Return the number of rows of the collection."""
        return len(self.rows)

    def sums(self, members: list[LABRBFMember], table: Table) -> Sums:
        """Return the normal equations of each member, summed over all partitions on a tree."""
        firsts = self.rows.offsets[:-1]
        parts = np.split(self.left_out, np.searchsorted(self.left_out, firsts[1:]))
        left_out = [part - first for part, first in zip(parts, firsts, strict=True)]
        shared = members, table.whole_mean, table.log_target, self.encode
        return reduced(self.rows.each(_block_sums, *shared, apart=left_out), _added)


class Drawn(NamedTuple):
    """A sample of a collection, as arrays in memory, and what the other rows have."""

    sample: Sample
    rows: Rows
    encode: Encode

    @property
    def arrays(self) -> tuple[Any, npt.NDArray[Any], Array | None]:
        """X, y and the weights of the sample; X is a data frame where the columns have names."""
        X, y, weights = self.sample.rows
        if self.rows.columns is None:
            return X, y, weights
        return load("pandas").DataFrame(X, columns=self.rows.columns), y, weights

    def attached(self, table: Table, reserved: Table | None) -> Table:
        """Return the table of the sample with its row numbers, and with all rows behind it.

        `reserved` are calibration rows of the sample, which the coefficients must not see.
        """
        numbers, rows = self.sample.numbers, self.sample.rows
        left_out = np.zeros(0, dtype=np.intp) if reserved is None else reserved.numbers
        own = rows.rows(np.setdiff1d(rows.counted, left_out, assume_unique=True))
        extent = Extent.joined([Extent.of(self.encode, own), *self.sample.rest])
        whole = Whole(self.rows, self.encode, extent, numbers[left_out])
        return replace(table, numbers=numbers[table.numbers], whole=whole)


def draw(model: Any, X: Any, y: Any, sample_weight: Any) -> Drawn:
    """Draw the sample that a model is learned from, by its parameters."""
    if y is None:
        raise ValueError(f"expected y, the targets of {type(model).__name__}, got None")
    labelled = is_classifier(model)
    rows = Rows.of(X, y, sample_weight, labelled=labelled)
    used = rows.y if rows.weights is None else rows.y[rows.weights > 0]
    encode = model._encoder(np.unique(used).tolist() if labelled else [])
    numbers = rows.draw(SAMPLED, check_random_state(model.random_state), labelled=labelled)
    if not isinstance(model.support, str):
        numbers = np.union1d(numbers, np.intersect1d(model.support, np.arange(len(rows))))
    return Drawn(rows.take(numbers, partial(Extent.of, encode)), rows, encode)


def as_columns(y: npt.NDArray[Any]) -> Array:
    """Return targets with a column for each output."""
    return y[:, None] if y.ndim == 1 else y


def _block_sums(
    block: Block,
    members: list[LABRBFMember],
    mean: Array,
    log_target: bool,
    encode: Encode,
    left_out: Indices,
) -> Sums:
    """Return the normal equations of one partition; none of a partition without rows."""
    X, y, weights = block.rows(np.setdiff1d(block.counted, left_out, assume_unique=True))
    if not len(X):
        return []
    table = Table(X, encode(y), np.arange(len(X)), weights)
    if log_target:
        table = table.with_logarithms()
    return normal_equations(members, table, mean, n_jobs=1)


def _added(parts: Iterable[Sums]) -> Sums:
    """Return the sum of the normal equations of several partitions."""
    some = [part for part in parts if part]
    return reduce(added, some) if some else []
