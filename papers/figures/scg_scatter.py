"""Points in two dimensions, coloured by class, and how well neighbours tell the classes there."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.metrics import silhouette_score
from sklearn.neighbors import KNeighborsClassifier

from pliant.core.typing import Array, Indices

__all__ = ["COLORS", "NEIGHBOURS", "accuracy_among", "accuracy_of_new", "scatter", "separation"]

NEIGHBOURS = 5

COLORS = (
    "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9",
    "#E69F00", "#000000", "#8C564B", "#999999", "#7B3FA0",
)  # fmt: skip
"""Seven of Okabe and Ito, and three more, for classes 0 to 9."""


def scatter(ax: Any, points: Array, y: Indices, size: float = 6.0, marker: str = "o") -> None:
    """Draw the points without axes' numbers: the scale of coordinates means nothing.

    Small ones have plain edges, so that pictures of many stay small.
    """
    order = np.random.default_rng(0).permutation(len(y))  # no class lies on top of another
    colors = np.array(COLORS)[y[order]]
    ax.scatter(
        *points[order].T, s=size, c=colors, marker=marker, linewidths=0, antialiased=size > 5
    )
    ax.set(xticks=[], yticks=[])


def accuracy_among(points: Array, y: Indices) -> float:
    """Return the share of points that their 5 nearest, other ones classify rightly."""
    near = KNeighborsClassifier(NEIGHBOURS).fit(points, y).kneighbors(return_distance=False)
    votes = np.apply_along_axis(np.bincount, 1, y[near], minlength=y.max() + 1)
    return float(np.mean(votes.argmax(axis=1) == y))


def accuracy_of_new(points: Array, y: Indices, new: Array, y_new: Indices) -> float:
    """Return the share of new points that the 5 nearest of the others classify rightly."""
    machine = KNeighborsClassifier(NEIGHBOURS).fit(points, y)
    return float(np.mean(machine.predict(new) == y_new))


def separation(points: Array, y: Indices) -> float:
    """Return the mean silhouette of the classes, from -1 to 1: 1 are tight and far apart."""
    return float(silhouette_score(points, y))
