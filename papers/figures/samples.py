"""The samples that more than one figure shows."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from sklearn.preprocessing import minmax_scale

from benchmarks.datasets import load_local
from benchmarks.splits import random_halves
from pliant.core.typing import Array
from pliant.datasets import make_clowns


class Sample(NamedTuple):
    """Points to learn from, shape (n, d), and fresh ones to be judged by, shape (m, d)."""

    X: Array
    y: Array
    X_test: Array
    y_test: Array


def clowns(n_per_class: int, n_test_per_class: int, seed: int) -> Sample:
    """Draw training and test points of `make_clowns` together, so that they share its scaling."""
    drawn = n_per_class + n_test_per_class
    X, y = make_clowns(drawn, random_state=seed)
    train = np.arange(2 * drawn) % drawn < n_per_class
    return Sample(X[train], y[train], X[~train], y[~train])


def heart_half(data: str | None, seed: int) -> tuple[Array, Array]:
    """Return a random half of heart, features scaled to [0, 1], labels -1.0 and 1.0."""
    heart = load_local("heart_statlog", data)
    half, _ = next(random_halves(heart.y, 1, stratify=True, random_state=seed))
    return minmax_scale(heart.X[half]), heart.y[half].astype(np.float64)
