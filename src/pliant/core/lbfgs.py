"""Limited-memory BFGS: the curvature pairs of quasi-Newton methods."""

from __future__ import annotations

import math

import numpy as np

from pliant.core.typing import Array

CURVED = 1e-12
"""Pairs with s'y below this share of |s| |y| carry no curvature and are dropped."""


class InverseHessian:
    """The limited-memory BFGS approximation of an inverse Hessian (Nocedal 1980).

    It keeps `memory` pairs of steps and gradient changes.
    """

    def __init__(self, memory: int = 10) -> None:
        self.memory = memory
        self.pairs: list[tuple[Array, Array, float]] = []

    def __len__(self) -> int:
        """Return the number of pairs."""
        return len(self.pairs)

    def learn(self, step: Array, change: Array) -> None:
        """Remember that the gradient changed by `change` along `step`, arrays of one shape."""
        curvature = float(np.vdot(step, change))
        lengths = math.sqrt(np.vdot(step, step)) * math.sqrt(np.vdot(change, change))
        if curvature > CURVED * lengths:
            self.pairs = [*self.pairs, (step, change, curvature)][-self.memory :]

    def forget(self) -> None:
        """Drop all pairs."""
        self.pairs = []

    def times(self, gradient: Array) -> Array:
        """Return the approximation times `gradient`; of the size of `gradient` without pairs."""
        product = gradient.copy()
        shares = []
        for step, change, curvature in reversed(self.pairs):
            share = np.vdot(step, product) / curvature
            product -= share * change
            shares.append(share)
        if self.pairs:
            _, change, curvature = self.pairs[-1]
            product *= curvature / np.vdot(change, change)
        for (step, change, curvature), share in zip(self.pairs, reversed(shares), strict=True):
            product += step * (share - np.vdot(change, product) / curvature)
        return product
