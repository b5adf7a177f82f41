"""The training data of LAB-RBF machines, and what may end their learning."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from pliant.core.typing import Array, Indices
from pliant.methods.lab_rbf.recipe import Sample
from pliant.methods.lab_rbf.warp import Warp

__all__ = ["Table", "Watch"]


@dataclass(frozen=True, eq=False)
class Table:
    """Training data: points in the user's units, targets in the units of the expansion.

    Attributes
    ----------
    X : array of shape (n, d)
        May be a memory map; only blocks and samples of it are ever copied.
    Y : array of shape (n, q)
    weights : array of shape (n,) or None
    """

    X: Array
    Y: Array
    weights: Array | None = None

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
    def weight(self) -> float:
        """The mean weight of a row."""
        return 1.0 if self.weights is None else float(self.weights.mean())

    def points(self, rows: Indices) -> Array:
        """Return some of the points, float64."""
        return np.asarray(self.X[rows], dtype=np.float64)

    def scaled(self, rows: Indices) -> Array:
        """Return some targets on [-1, 1], shape (len(rows), q)."""
        return np.asarray((self.Y[rows] - self.middle) / self.spread)

    def sample(self, rows: Indices, warp: Warp) -> Sample:
        """Return some rows with mapped features and targets on [-1, 1]."""
        weights = None if self.weights is None else self.weights[rows]
        return Sample(warp(self.X[rows]), self.scaled(rows), weights)

    def unscaled(self, coefficients: Array, mean: Array) -> tuple[Array, Array]:
        """Return coefficients and intercept, learned from scaled targets, in units of Y."""
        return coefficients * self.spread, np.asarray(self.middle + self.spread * mean)


class Watch:
    """Asks callbacks and the clock whether to go on, from any thread."""

    def __init__(self, progress: Callable[..., Any], max_seconds: float | None) -> None:
        self._progress = progress
        self._lock = threading.Lock()
        self._end = math.inf if max_seconds is None else time.monotonic() + max_seconds
        self.stopped = False

    def __call__(self, step: object = None) -> bool:
        """Return whether to stop."""
        with self._lock:
            late = time.monotonic() > self._end
            self.stopped = self.stopped or bool(self._progress(step)) or late
        return self.stopped
