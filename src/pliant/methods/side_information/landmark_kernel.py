"""Kernels with explicit features: linear functions of the kernel values at some landmarks."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from pliant.core.kernels.base import Kernel, check_width
from pliant.core.typing import Array
from pliant.core.validation import check_points

__all__ = ["LandmarkKernel"]


class LandmarkKernel(Kernel):
    """k(x, y) = f(x)'f(y), f(x) = M' k0(P, x), for the landmarks P.

    With M M' = k0(P, P)^{-1} it is the Nystroem approximation of k0.

    Parameters
    ----------
    base : Kernel
        k0, symmetric.
    landmarks : array of shape (m, d)
        P.
    projection : array of shape (m, r)
        M.
    """

    def __init__(self, base: Kernel, landmarks: npt.ArrayLike, projection: npt.ArrayLike) -> None:
        self.base = base
        self.landmarks = landmarks
        self.projection = projection

    def _check_loaded(self) -> None:
        """Raise ValueError if the parameters, read from a file, do not belong together."""
        super()._check_loaded()
        landmarks = check_points(self.landmarks, "landmarks")
        projection = check_points(self.projection, "projection")
        if len(projection) != len(landmarks):
            raise ValueError(
                f"expected a projection for {len(landmarks)} landmarks, got {len(projection)} rows"
            )

    def features(self, X: npt.ArrayLike) -> Array:
        """Return f at each row of X, shape (n, r)."""
        return self._features(check_points(X, "X"))

    def _features(self, X: Array) -> Array:
        landmarks = check_points(self.landmarks, "landmarks")
        check_width(self.base, landmarks, X)
        return self.base._gram(X, landmarks) @ check_points(self.projection, "projection")

    def _check_pair(self, X: Array, Y: Array) -> None:
        self.base._check_pair(X, Y)

    def _gram(self, X: Array, Y: Array) -> Array:
        left = self._features(X)
        return left @ (left if Y is X else self._features(Y)).T

    def _diagonal(self, X: Array) -> Array:
        features = self._features(X)
        return np.einsum("ij,ij->i", features, features)
