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

from pliant.core.collections import Block, Rows, Sample, load, reduced
from pliant.core.threads import blas_limited
from pliant.core.typing import Array, Indices
from pliant.core.validation import check_random_state
from pliant.methods.lab_rbf.members import LABRBFMember, Sums, added, row_blocks, sums_of
from pliant.methods.lab_rbf.table import Table, check_moderate

SAMPLED = 50_000
"""Number of rows that support points and bandwidths are learned from, held-out rows included. Each
member holds out at most 10 000 of them and learns from 3000 by default; a million rows in memory
leave four members 52 000 different ones."""

Encode = Callable[[npt.NDArray[Any]], Array]
"""Targets or labels -> the targets that are learned, shape (n, q), float64."""


class Extent(NamedTuple):
    """Ranges and means of some rows; of none, a weight of 0 and ranges from inf to -inf.

    Attributes
    ----------
    weight : float
        The sum of the weights.
    low, high : arrays of shape (d,)
        The range of each feature.
    target_low, target_high, mean, log_mean : arrays of shape (q,)
        The range of each target, its weighted mean, and that of its logarithm (nan where a target
        has none).
    """

    weight: float
    low: Array
    high: Array
    target_low: Array
    target_high: Array
    mean: Array
    log_mean: Array

    @classmethod
    def of(cls, X: Array, Y: Array, weights: Array | None) -> Extent:
        """Return the extent of rows of positive weight."""
        d, q = X.shape[1], Y.shape[1]
        if not len(X):
            none, nothing = np.full(d, np.inf), np.full(q, np.inf)
            return cls(0.0, none, -none, nothing, -nothing, np.zeros(q), np.zeros(q))
        table = Table(X, Y, np.arange(len(X)), weights)
        positive = bool((Y > 0).all())
        log_mean = table.with_logarithms().mean if positive else np.full(q, np.nan)
        weight = float(len(X)) if weights is None else float(weights.sum())
        low, high = np.asarray(X.min(axis=0), float), np.asarray(X.max(axis=0), float)
        return cls(weight, low, high, Y.min(axis=0), Y.max(axis=0), table.mean, log_mean)

    def joined(self, other: Extent) -> Extent:
        """Return the extent of both sets of rows."""
        weight = self.weight + other.weight
        share = other.weight / weight if weight else 0.0
        return Extent(
            weight,
            np.minimum(self.low, other.low),
            np.maximum(self.high, other.high),
            np.minimum(self.target_low, other.target_low),
            np.maximum(self.target_high, other.target_high),
            self.mean + share * (other.mean - self.mean),
            self.log_mean + share * (other.log_mean - self.log_mean),
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
        offsets = self.rows.offsets
        places = np.searchsorted(self.left_out, offsets)
        left_out = [
            self.left_out[a:b] - first
            for a, b, first in zip(places[:-1], places[1:], offsets[:-1], strict=True)
        ]
        shared = members, table.whole_mean, table.log_target, self.encode
        packed = reduced(self.rows.each(_block_sums, *shared, apart=left_out), _added)
        return [(_unpacked(triangle), right) for triangle, right in packed]


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
        extents = [_extent(self.encode, own), *self.sample.rest]
        whole = Whole(self.rows, self.encode, reduce(Extent.joined, extents), numbers[left_out])
        extent = whole.extent
        check_moderate("X", np.stack([extent.low, extent.high]))
        check_moderate("y", np.stack([extent.target_low, extent.target_high]))
        low = whole.extent.target_low
        if table.log_target and not (low > 0).all():
            raise ValueError(f"expected y > 0, since its logarithm was learned, got {low.min():g}")
        return replace(table, numbers=numbers[table.numbers], whole=whole)


def draw(model: Any, X: Any, y: Any, sample_weight: Any) -> Drawn:
    """Draw the sample that a model is learned from, by its parameters."""
    if y is None:
        raise ValueError(f"expected y, the targets of {type(model).__name__}, got None")
    rows = Rows.of(X, y, sample_weight, labelled=is_classifier(model))
    groups = rows.groups()
    encode = model._encoder([group.label for group in groups])
    places = rows.draw(groups, SAMPLED, check_random_state(model.random_state))
    support = [] if isinstance(model.support, str) else model.support
    also = np.asarray(support, dtype=np.intp)
    return Drawn(rows.take(places, also, partial(_extent, encode)), rows, encode)


def as_columns(y: npt.NDArray[Any]) -> Array:
    """Return targets with a column for each output."""
    return y[:, None] if y.ndim == 1 else y


def _extent(encode: Encode, block: Block) -> Extent:
    return Extent.of(block.X, encode(block.y), block.weights)


@blas_limited
def _block_sums(
    block: Block,
    members: list[LABRBFMember],
    mean: Array,
    log_target: bool,
    encode: Encode,
    left_out: Indices,
) -> Sums:
    """Return the normal equations of one partition; none of a partition without rows.

    F'F is symmetric: its upper triangle, as a vector, is half as much to send.
    """
    X, y, weights = block.rows(np.setdiff1d(block.counted, left_out, assume_unique=True))
    if not len(X):
        return []
    table = Table(X, encode(y), np.arange(len(X)), weights)
    if log_target:
        table = table.with_logarithms()
    width = max(len(member.support_) for member in members) + X.shape[1]
    slices = row_blocks(len(X), width)
    sums = reduce(added, (sums_of(members, table, mean, rows) for rows in slices))
    return [(gram[np.triu_indices(len(gram))], right) for gram, right in sums]


def _unpacked(triangle: Array) -> Array:
    """Return the symmetric matrix of p rows with this upper triangle, p (p + 1) / 2 numbers."""
    p = int(np.sqrt(2 * len(triangle)))
    gram = np.zeros((p, p))
    gram[np.triu_indices(p)] = triangle
    return np.asarray(gram + np.triu(gram, k=1).T)


def _added(parts: Iterable[Sums]) -> Sums:
    """Return the sum of the normal equations of several partitions."""
    some = [part for part in parts if part]
    return reduce(added, some) if some else []
