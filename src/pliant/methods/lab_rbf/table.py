"""Training tables of a LAB-RBF model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from typing import Self, TypeAlias

import numpy as np
import numpy.typing as npt
from joblib import Parallel, delayed

from pliant.core.blocks import BLOCK_ENTRIES, row_blocks
from pliant.core.threads import blas_limited, threads_for
from pliant.core.typing import Array, Indices
from pliant.core.validation import check_weights, positive_rows
from pliant.methods.lab_rbf import constants
from pliant.methods.lab_rbf.constants import MIN_THREADED
from pliant.methods.lab_rbf.kernel import Warp

Sums: TypeAlias = list[tuple[Array, Array]]
"""F'F, shape (p, p), and F'y, shape (p, q), of each member."""


@dataclass(frozen=True, eq=False)
class Table:
    """Training data: n rows of positive weight."""

    X: Array  # shape (n, d); if a memory map, only blocks and samples are copied
    Y: Array  # targets on the scale of the fit, shape (n, q): asinh(y / unit) if unit is given
    numbers: Indices  # row numbers in the user's data
    weights: Array | None = None  # None if all are 1
    unit: Array | None = None  # shape (q,)
    row_weight: float = 1.0  # that of each row, if equal weights were left out

    @classmethod
    def from_arrays(cls, X: Array, Y: Array, sample_weight: npt.ArrayLike | None) -> Table:
        """Build the table of the rows with positive weight."""
        if sample_weight is None:
            return cls(X, Y, np.arange(len(X)))
        rows, weights, X, Y = positive_rows(check_weights(sample_weight, X), X, Y)
        mean = float((weights / len(weights)).sum())
        if not 1e-20 <= mean <= 1e20:  # weighted sums must be finite in float32
            raise ValueError(
                "expected sample_weight with a mean from 1e-20 to 1e+20, got a mean of "
                f"{mean:.3g}; divide the weights by their mean"
            )
        return cls(X, Y, rows, weights)

    def without_equal_weights(self) -> Self:
        """Return the table without weights if all are equal; `row_weight` is then their value."""
        weights = self.weights
        if weights is None or (weights != weights[0]).any():
            return self
        return replace(self, weights=None, row_weight=float(weights[0]))

    def __len__(self) -> int:
        return len(self.X)

    @property
    def n_rows(self) -> int:
        """Number of rows to which the coefficients are fitted."""
        return min(len(self), constants.COEFFICIENT_ROWS)

    def random_rows(self, limit: int) -> Indices:
        """Return the positions of all rows, or of `limit` random ones, sorted."""
        from sklearn.utils.random import sample_without_replacement

        if len(self) <= limit:
            return np.arange(len(self))
        return np.sort(sample_without_replacement(len(self), limit, random_state=0))

    @cached_property
    def scale(self) -> tuple[Array, Array]:
        """Middle and half-range of each target, shape (q,); the half-range of a constant is 1."""
        low, high = self.Y.min(axis=0), self.Y.max(axis=0)
        half = (high - low) / 2
        return np.asarray(low + half), np.where(half > 0, half, 1.0)

    @property
    def mean_weight(self) -> float:
        """Mean weight of the rows."""
        return 1.0 if self.weights is None else float(self.weights.mean())

    @cached_property
    def mean(self) -> Array:
        """Weighted mean of the targets, shape (q,)."""
        return np.asarray(np.average(self.Y, axis=0, weights=self.weights))

    @property
    def root(self) -> Array | None:
        """Square roots of the weights, shape (n, 1), or None if all weights are 1."""
        return None if self.weights is None else np.sqrt(self.weights)[:, None]

    @property
    def feature_range(self) -> tuple[Array, Array]:
        """Minimum and maximum of each feature, float64."""
        return np.asarray(self.X.min(axis=0), float), np.asarray(self.X.max(axis=0), float)

    @property
    def target_range(self) -> tuple[Array, Array]:
        """Minimum and maximum of each target, on the scale of Y."""
        return self.Y.min(axis=0), self.Y.max(axis=0)

    def rows(self, rows: Indices) -> Table:
        """Return the table of the rows at the given positions."""
        weights, numbers = self.weights_of(rows), self.numbers[rows]
        return replace(self, X=self.X[rows], Y=self.Y[rows], numbers=numbers, weights=weights)

    def points(self, rows: Indices) -> Array:
        """Return the points in the given rows, float64."""
        return np.asarray(self.X[rows], dtype=np.float64)

    def weights_of(self, rows: Indices) -> Array | None:
        """Return the weights of the given rows, or None if all are 1."""
        return None if self.weights is None else self.weights[rows]

    def sample(self, rows: Indices, warp: Warp) -> Table:
        """Return the table of the given rows, with transformed features and targets on [-1, 1]."""
        middle, half = self.scale
        scaled = np.asarray((self.Y[rows] - middle) / half)
        return Table(warp(self.X[rows]), scaled, self.numbers[rows], self.weights_of(rows))

    def with_asinh(self, unit: Array | None) -> Self:
        """Return the table with targets asinh(y / unit), or this table if `unit` is None."""
        return self if unit is None else replace(self, Y=np.arcsinh(self.Y / unit), unit=unit)

    def sum_blocks(self, summand: Callable[[Table], Sums], width: int, n_jobs: int | None) -> Sums:
        """Sum a function of blocks of the `n_rows` rows, with `width` numbers each, by threads."""
        threads = threads_for(n_jobs, worth_it=self.n_rows * width >= MIN_THREADED)
        rows = self.random_rows(constants.COEFFICIENT_ROWS)
        parts = Parallel(n_jobs=threads, require="sharedmem", return_as="generator")(
            delayed(_sum_block)(summand, self, rows[block])
            # a block has at least as many rows as the matrix of its sum
            for block in row_blocks(self.n_rows, width, max(BLOCK_ENTRIES, width * width))
        )
        return reduce(add_sums, parts)


def feature_limits(table: Table) -> Array:
    """Compute the range of each feature, extended at both ends, shape (2, n_features)."""
    low, high = table.feature_range
    margin = (high - low) / 8
    return np.stack([low - margin, high + margin])


@blas_limited
def _sum_block(summand: Callable[[Table], Sums], table: Table, rows: Indices) -> Sums:
    """Compute the summand of one block of rows, float64."""
    block = table.rows(rows)
    return summand(replace(block, X=np.asarray(block.X, float)))


def add_sums(one: Sums, other: Sums) -> Sums:
    """Add the normal equations of two blocks."""
    return [(A + C, b + d) for (A, b), (C, d) in zip(one, other, strict=True)]
