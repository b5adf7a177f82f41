"""Explicit features of a kernel from its values at some of the points."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pliant.core.blocks import in_blocks
from pliant.core.kernels.base import Kernel
from pliant.core.typing import Array
from pliant.methods.side_information.base_gram import checked_gram

__all__ = ["Nystroem"]

RANK = 1e-12
"""Eigenvalues of the landmarks' matrix below this share of the largest are rounding."""


class Nystroem(NamedTuple):
    """f(x) = M' k0(P, x) with M M' = k0(P, P)^+, so that f(x)'f(y) is k0(x, y) for x in P.

    Attributes
    ----------
    landmarks : array of shape (m, d)
        P.
    projection : array of shape (m, r)
        M.
    values : array of shape (n, r)
        f at all points.
    missing : float
        The share of the trace of K0 that f misses.
    """

    landmarks: Array
    projection: Array
    values: Array
    missing: float

    @classmethod
    def of(
        cls, base: Kernel, points: Array, n_landmarks: int, rng: np.random.RandomState
    ) -> Nystroem:
        """Return the features from landmarks drawn without repetition. O(n m^2 + m^3)."""
        chosen = np.sort(rng.choice(len(points), n_landmarks, replace=False))
        landmarks = points[chosen]
        values, vectors = np.linalg.eigh(checked_gram(base, landmarks))
        kept = values > RANK * max(float(values[-1]), 0.0)
        if not kept.any():
            raise ValueError(
                "expected landmarks whose kernel matrix has a positive eigenvalue, got "
                f"{values[-1]:.3g} as the largest"
            )
        projection = vectors[:, kept] / np.sqrt(values[kept])
        features = in_blocks(points, n_landmarks, lambda block: base(block, landmarks) @ projection)
        trace = float(base.diag(points).sum())
        missing = 1.0 - float(np.vdot(features, features)) / trace
        return cls(landmarks, projection, features, max(0.0, missing))
