"""LAB-RBF on Dask collections: bandwidths from a sample of the rows, coefficients from more rows.

A `DaskTable` is a `Table` of rows sampled from all partitions. Its ranges and mean are computed
from all rows, and its normal equations from the rows of the coefficients, one partition at a time.
If the sample contains all rows, the model is the same as that of a fit in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import KW_ONLY, dataclass, replace
from functools import cached_property, reduce
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from pliant.core.dask import DaskBlock, DaskRows, DaskSample, load, reduce_tree
from pliant.core.parameters import check_random_state
from pliant.core.typing import Array, Indices
from pliant.core.validation import check_targets, is_collection
from pliant.methods.lab_rbf import constants
from pliant.methods.lab_rbf.constants import SAMPLE_ROWS
from pliant.methods.lab_rbf.table import Sums, Table, add_sums

Encode: TypeAlias = Callable[[npt.NDArray[Any]], Array]
"""Convert targets or labels to training targets, shape (n, q), float64."""


@dataclass(frozen=True, eq=False)
class DaskTable(Table):
    """Sample of a collection, with the ranges, mean and normal equations of all rows."""

    _: KW_ONLY
    all_rows: DaskRows
    ranges: tuple[Array, Array]  # minimum and maximum of each feature
    targets: Table  # targets of the rows with positive weight

    @property
    def n_rows(self) -> int:
        """Number of rows to which the coefficients are fitted."""
        return self.targets.n_rows

    @property
    def feature_range(self) -> tuple[Array, Array]:
        """Minimum and maximum of each feature, float64."""
        return self.ranges

    @property
    def target_range(self) -> tuple[Array, Array]:
        """Minimum and maximum of each target, before any transform."""
        return self.targets.target_range

    @cached_property
    def mean(self) -> Array:
        """Weighted mean of the targets, shape (q,)."""
        return self.targets.with_asinh(self.unit).mean

    def sum_blocks(self, summand: Callable[[Table], Sums], width: int, n_jobs: int | None) -> Sums:
        """Sum a function of blocks of rows over all partitions, by tree reduction."""
        used = self.targets.numbers[self.targets.random_rows(constants.COEFFICIENT_ROWS)]
        options = summand, width, self.unit
        tasks = self.all_rows.map_blocks(
            _partition_sums, *options, items=self.all_rows.divide(used)
        )
        return reduce_tree(tasks, _add_partitions)


class DrawnSample(NamedTuple):
    """In-memory sample of a collection, and all rows of the collection."""

    sample: DaskSample
    rows: DaskRows
    encode: Encode
    row_weight: float

    @property
    def arrays(self) -> tuple[Any, npt.NDArray[Any], Array | None]:
        """X, y and weights of the sample; X is a data frame if the columns have names."""
        X, y, weights = self.sample.rows
        if self.rows.columns is None:
            return X, y, weights
        return load("pandas").DataFrame(X, columns=self.rows.columns), y, weights

    def with_shares(self) -> DrawnSample:
        """Weight the rows of rare classes, of which more are drawn than their share."""
        (X, y, weights), all_rows = self.sample.rows, self.rows
        used = all_rows.y if all_rows.weights is None else all_rows.y[all_rows.weights > 0]
        sizes, drawn = (np.unique(labels, return_counts=True)[1] for labels in (used, y))
        shares = len(y) * sizes / len(used)
        factors = np.where(drawn > shares + 1.0, shares / drawn, 1.0)
        if (factors == 1.0).all():
            return self
        own = factors[np.unique(y, return_inverse=True)[1]]
        rows = DaskBlock(X, y, own if weights is None else own * weights)
        return self._replace(sample=self.sample._replace(rows=rows))

    def attach_rows(self, table: Table, reserved: Table | None) -> DaskTable:
        """Attach all rows except the `reserved` ones to the table of the sample."""
        numbers, weights, Y = self.sample.numbers, self.rows.weights, self.encode(self.rows.y)
        left_out = numbers[:0] if reserved is None else np.sort(numbers[reserved.numbers])
        kept = np.full(len(Y), True) if weights is None else weights > 0
        kept[left_out] = False
        sampled = self.sample.rows.rows(np.flatnonzero(kept[numbers]))
        ranges = [_feature_range(sampled), *self.sample.rest]
        low, high = zip(*(pair for pair in ranges if pair is not None), strict=True)
        feature_range = np.min(low, axis=0), np.max(high, axis=0)
        Y_kept, kept_weights = Y[kept], weights if weights is None else weights[kept]
        targets = Table(Y_kept, Y_kept, np.flatnonzero(kept), kept_weights)
        return DaskTable(
            table.X,
            table.Y,
            numbers[table.numbers],
            table.weights,
            table.unit,
            self.row_weight,
            all_rows=self.rows,
            ranges=feature_range,
            targets=targets,
        )


def build_table(
    X: Any,
    y: Any,
    sample_weight: Any,
    encode_arrays: Callable[..., tuple[Table, Table | None]],
    *,
    seed: Any,
    encoder: Callable[[Any], Encode] | None = None,
    relative: bool = False,
    balanced: bool = False,
) -> tuple[Table, Table | None]:
    """Build the tables of the training rows and the calibration rows of arrays or a collection.

    `encode_arrays` validates arrays and splits them; for the others, see `draw_sample`. Automatic
    penalties are proportional to the mean weight: only the ratios of the weights matter then.
    Unless the class weights are `balanced`, the classes of a sample have their shares.
    """
    if not is_collection(X):
        table, reserved = encode_arrays(X, y, sample_weight)
        return table.without_equal_weights() if relative else table, reserved
    if y is None:
        raise ValueError("expected targets y for the Dask collection X, got None")
    drawn = draw_sample(X, y, sample_weight, seed=seed, encoder=encoder, relative=relative)
    if encoder is not None and not balanced:
        drawn = drawn.with_shares()
    table, reserved = encode_arrays(*drawn.arrays)
    return drawn.attach_rows(table, reserved), reserved


def draw_sample(
    X: Any,
    y: Any,
    sample_weight: Any,
    *,
    seed: Any,
    encoder: Callable[[Any], Encode] | None,
    relative: bool = False,
) -> DrawnSample:
    """Draw a sample; `encoder` builds the label encoding, or is None for numeric targets.

    If only the ratios of the weights matter (`relative`), equal weights become 1.
    """
    labelled = encoder is not None
    rows = DaskRows.from_collection(X, y, sample_weight, labelled=labelled)
    row_weight = 1.0
    if relative and rows.weights is not None:
        positive = rows.weights > 0
        if (rows.weights[positive] == rows.weights.max()).all():
            row_weight = float(rows.weights.max())
            weights, lazy = None, None
            if not positive.all():
                weights = positive.astype(np.float64)
                lazy = None if rows.lazy_weights is None else rows.lazy_weights > 0
            rows = replace(rows, weights=weights, lazy_weights=lazy)
    used = rows.y if rows.weights is None else rows.y[rows.weights > 0]
    encode = encoder(np.unique(used)) if encoder is not None else _as_matrix
    numbers = rows.draw(SAMPLE_ROWS, check_random_state(seed), labelled=labelled)
    return DrawnSample(rows.take(numbers, _feature_range), rows, encode, row_weight)


def _as_matrix(y: npt.NDArray[Any]) -> Array:
    """Return targets with one column per output."""
    return y[:, None] if y.ndim == 1 else y


def _feature_range(block: DaskBlock) -> tuple[Array, Array] | None:
    """Compute the minimum and maximum of each feature, or return None if there are no rows."""
    return Table(block.X, block.X, np.arange(len(block.X))).feature_range if len(block.X) else None


def _partition_sums(
    block: DaskBlock,
    summand: Callable[[Table], Sums],
    width: int,
    unit: Array | None,
    used: Indices,
) -> Sums:
    """Sum a function of some rows of one partition; return [] if there are none."""
    if not len(used):
        return []
    X, y, weights = block.rows(used)
    Y = _as_matrix(check_targets(y))
    table = Table(X, Y, np.arange(len(X)), weights).with_asinh(unit)
    return table.sum_blocks(summand, width, 1)


def _add_partitions(parts: Iterable[Sums]) -> Sums:
    """Add the normal equations of several partitions."""
    nonempty = [part for part in parts if part]
    return reduce(add_sums, nonempty) if nonempty else []
