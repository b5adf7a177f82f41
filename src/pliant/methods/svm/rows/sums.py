"""Compiled loops over rows of a Gram matrix. Sums are float64 whatever the rows are."""

from __future__ import annotations

import numpy as np

from pliant.core.jit import compiled
from pliant.core.typing import Array, Indices

__all__ = ["add_both", "add_rows", "part", "place"]


@compiled
def part(gram: Array, rows: Indices, columns: Indices) -> Array:
    """Return some rows and columns of a matrix."""
    chosen = np.empty((rows.size, columns.size), gram.dtype)
    for a in range(rows.size):
        row = gram[rows[a]]
        for b in range(columns.size):
            chosen[a, b] = row[columns[b]]
    return chosen


@compiled
def place(
    target: Array,
    rows: Indices,
    columns: Indices,
    source: Array,
    source_rows: Indices,
    source_columns: Indices,
) -> None:
    """Write some rows and columns of a matrix into the symmetric `target`, on both sides."""
    for a in range(rows.size):
        values = source[source_rows[a]]
        for b in range(columns.size):
            target[rows[a], columns[b]] = values[source_columns[b]]
            target[columns[b], rows[a]] = values[source_columns[b]]


@compiled
def add_rows(total: Array, rows: Array, numbers: Indices, weights: Array) -> None:
    """Add sum_a weights_a rows[numbers_a] to `total`."""
    for a in range(numbers.size):
        row = rows[numbers[a]]
        for s in range(total.size):
            total[s] += weights[a] * row[s]


@compiled
def add_both(
    total: Array,
    squared: Array,
    rows: Array,
    numbers: Indices,
    weights: Array,
    square_weights: Array,
) -> None:
    """Add sum_a weights_a rows[numbers_a] to `total`, and the same of squared rows to `squared`.

    The rows are squared entrywise and have weights of their own; each is read once.
    """
    for a in range(numbers.size):
        row = rows[numbers[a]]
        for s in range(total.size):
            total[s] += weights[a] * row[s]
            squared[s] += square_weights[a] * row[s] * row[s]
