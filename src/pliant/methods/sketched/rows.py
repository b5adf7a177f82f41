"""Sums over all rows, block by block, of what the kernel values of a block give."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import wraps
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np
from scipy.linalg.blas import dsyrk, dtrsm

from pliant.core.typing import Array
from pliant.methods.sketched.kernel_rows import Device, KernelRows

Terms: TypeAlias = tuple[Array, ...]

BLOCK_MB = 8.0
"""Memory of the kernel values of one block: they should stay in the processor's third cache. From
256 to 1024 rows of 2000 centres took the same time, a few times more rows a third longer."""


class Block(NamedTuple):
    """Kernel values of some rows, shape (b, m), on their device, with targets and weights."""

    values: Any
    targets: Array
    weights: Array
    device: Device


Summand: TypeAlias = Callable[..., Terms]
"""What a block contributes to a sum: takes the block and further arguments."""

Total: TypeAlias = Callable[..., Terms]
"""Takes an iterator of blocks, at least one, and further arguments, and returns sums over them."""


class Rows(Protocol):
    """All rows of a problem."""

    def total(self, sums: Total, *arguments: Any) -> Terms:
        """Return `sums(blocks, *arguments)` for the blocks of all rows."""


def over_blocks(summand: Summand) -> Total:
    """Return the function that adds up what the blocks contribute."""

    @wraps(summand)
    def total(blocks: Iterator[Block], *arguments: Any) -> Terms:
        totals = summand(next(blocks), *arguments)
        for block in blocks:
            for each, more in zip(totals, summand(block, *arguments), strict=True):
                each += more
        return totals

    return total


def block_rows(block_mb: float, width: int, itemsize: int) -> int:
    """Return how many rows make a block of kernel values of at most `block_mb` MiB; >= 1."""
    return max(1, int(block_mb * 2**20 / (itemsize * max(1, width))))


class MemoryRows:
    """Rows in memory, or in a memory map; the values of the first ones are kept.

    Parameters
    ----------
    X : array of shape (n, d)
    targets : array of shape (n, t)
    weights : array of shape (n,)
    kernel_rows : KernelRows
    block_mb : float
        Memory of the kernel values of one block, in MiB.
    cache_mb : float
        Memory of kernel values that are kept, in MiB.
    """

    def __init__(
        self,
        X: Array,
        targets: Array,
        weights: Array,
        kernel_rows: KernelRows,
        block_mb: float = BLOCK_MB,
        cache_mb: float = 0.0,
    ) -> None:
        self.X, self.targets, self.weights, self.kernel_rows = X, targets, weights, kernel_rows
        width, device = kernel_rows.width, kernel_rows.device
        self._step = min(len(X), block_rows(block_mb, width, device.itemsize))
        fits = int(cache_mb * 2**20 / (device.itemsize * max(1, width)))
        self.n_kept = len(X) if fits >= len(X) else fits // self._step * self._step
        self._kept = device.empty(self.n_kept, width)
        self._known = 0
        self._room = device.empty(self._step, width) if self.n_kept < len(X) else None

    def total(self, sums: Total, *arguments: Any) -> Terms:
        """Return `sums(blocks, *arguments)` for the blocks of all rows."""
        return sums(self._blocks(), *arguments)

    def _blocks(self) -> Iterator[Block]:
        for low in range(0, len(self.X), self._step):
            rows = slice(low, min(low + self._step, len(self.X)))
            yield Block(
                self._values(rows),
                self.targets[rows],
                self.weights[rows],
                self.kernel_rows.device,
            )

    def _values(self, rows: slice) -> Any:
        """Return the kernel values of some rows; the first time, keep them if there is room."""
        if rows.stop > self.n_kept:
            room = None if self._room is None else self._room[: rows.stop - rows.start]
            return self.kernel_rows(self.X[rows], room)
        kept = self._kept[rows]
        if rows.stop > self._known:
            values = self.kernel_rows(self.X[rows], kept)
            if values is not kept:
                kept[:] = values
            self._known = rows.stop
        return kept


@over_blocks
def column_sums(block: Block) -> Terms:
    """Return K's and K'S y of a block, with the weights s = diag S."""
    columns = np.column_stack([block.weights, block.weights[:, None] * block.targets])
    return (_back(block, columns),)


@over_blocks
def product(block: Block, coefficients: Array, offsets: Array) -> Terms:
    """Return K'S r and 1'S r of a block for r = K a - c, with the coefficients a and offsets c."""
    weighted = _forward(block, coefficients, offsets)
    weighted *= block.weights[:, None]
    return _back(block, weighted), weighted.sum(axis=0)


@over_blocks
def residual(block: Block, coefficients: Array, offsets: Array) -> Terms:
    """Return K'S e, 1'S e and the sums of s e^2 of a block for e = y - (K a - c)."""
    errors = block.targets - _forward(block, coefficients, offsets)
    weighted = block.weights[:, None] * errors
    return _back(block, weighted), weighted.sum(axis=0), np.einsum("ij,ij->j", weighted, errors)


def normal_matrix(blocks: Iterator[Block], factor: Array, means: Array, scale: float) -> Terms:
    """Return Z'S Z for Z = (K - 1 means') U^{-1} / scale, with U the upper triangle `factor`.

    Its lower triangle is zero.
    """
    total = np.zeros(factor.shape, order="F")
    for block in blocks:
        values = block.device.numpy(block.values) - means
        values *= np.sqrt(block.weights)[:, None] / scale
        features = dtrsm(1.0, factor, values.T, trans_a=1, overwrite_b=1)
        total = dsyrk(1.0, features, beta=1.0, c=total, overwrite_c=1)
    return (total,)


def _forward(block: Block, coefficients: Array, offsets: Array) -> Array:
    """Return K a - c, shape (b, t), float64."""
    device = block.device
    return device.numpy(block.values @ device.array(coefficients)) - offsets


def _back(block: Block, columns: Array) -> Array:
    """Return K' times some columns, shape (m, t), float64."""
    device = block.device
    return device.numpy(block.values.T @ device.array(columns))
