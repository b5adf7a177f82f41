"""A plane through data of any dimension, and the way there and back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from sklearn.decomposition import PCA

from pliant.core.typing import Array


@dataclass(frozen=True, eq=False)
class Plane:
    """The plane in which a picture shows its points.

    Two features are their own plane. More are standardised, and the plane is that of their first
    two principal directions.

    Attributes
    ----------
    centre, scale : arrays of shape (d,)
        Mean and standard deviation of the features; 0 and 1 for two features.
    directions : array of shape (2, d)
        Orthonormal.
    names : tuple of two str
        What the two axes show.
    """

    centre: Array
    scale: Array
    directions: Array
    names: tuple[str, str]

    @classmethod
    def of(cls, points: Array, features: list[str]) -> Self:
        """Return the plane of points of shape (n, d).

        Raises
        ------
        ValueError
            If n < 2 or d < 2.
        """
        n, d = points.shape
        if n < 2 or d < 2:
            raise ValueError(f"expected X with at least 2 rows and 2 features, got shape {(n, d)}")
        if d == 2:
            return cls(np.zeros(2), np.ones(2), np.eye(2), (features[0], features[1]))
        centre, scale = points.mean(axis=0), points.std(axis=0)
        scale[scale == 0] = 1.0
        pca = PCA(n_components=2, svd_solver="full").fit((points - centre) / scale)
        shares = pca.explained_variance_ratio_
        names = [f"principal direction {k} ({shares[k - 1]:.0%} of the variance)" for k in (1, 2)]
        return cls(centre, scale, pca.components_, (names[0], names[1]))

    def project(self, points: Array) -> Array:
        """Return the places of points in the plane, shape (n, 2)."""
        return ((points - self.centre) / self.scale) @ self.directions.T

    def lift(self, places: Array) -> Array:
        """Return the points that places in the plane stand for, shape (m, d)."""
        return (places @ self.directions) * self.scale + self.centre


def grid_points(horizontal: Array, vertical: Array) -> Array:
    """Return all pairs of positions on two axes, shape (r * s, 2), line by line."""
    return np.stack(np.meshgrid(horizontal, vertical), axis=-1).reshape(-1, 2)
