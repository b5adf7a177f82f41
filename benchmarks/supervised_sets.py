"""Generated points and labels for benchmarks of learning from side information."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pliant.core.typing import Array, Indices

UNKNOWN = -1


class Labelled(NamedTuple):
    """Points, shape (n, d), and their classes 0, 1, ..., shape (n,)."""

    X: Array
    y: Indices


def generated(rows: int, seed: int, features: int = 20, classes: int = 10) -> Labelled:
    """Return points of overlapping classes, each with three normal clusters."""
    rng = np.random.default_rng(seed)
    centres = 1.5 * np.random.default_rng(0).standard_normal((3 * classes, features))
    cluster = rng.integers(3 * classes, size=rows)
    return Labelled(centres[cluster] + rng.standard_normal((rows, features)), cluster % classes)
