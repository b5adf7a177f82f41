"""One fold: what depends on its distances only, computed once for all parameters and rules."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.spatial.distance import cdist

from pliant.core.kernels.extension import CoordinateNeighbors, nearest, reciprocal
from pliant.core.typing import Array, Indices

__all__ = ["Fold", "Places"]


@dataclass(frozen=True, eq=False)
class Places:
    """Whose places new points take among some training points.

    Attributes
    ----------
    members : array of shape (p,)
        The training points, as rows of the fold.
    used : array of shape (q,)
        The places that are taken, as indices of `members`.
    nearest, reciprocal : arrays of shape (m,)
        For each new point its place by either rule, as an index of `used`.
    """

    members: Indices
    used: Indices
    nearest: Indices
    reciprocal: Indices


class Fold:
    """Rows to learn from and rows to predict.

    Parameters
    ----------
    task : {"classification", "regression"}
    X, y : arrays of shape (n, d), (n,)
        To learn from.
    X_new : array of shape (m, d)
        To predict.
    """

    def __init__(self, task: str, X: Array, y: npt.NDArray[Any], X_new: Array) -> None:
        self.task, self.X, self.y, self.X_new = task, X, y, X_new
        self._places: dict[tuple[Any, ...], Places] = {}

    def gram(self, gamma: float) -> Array:
        """Return the Gaussian Gram matrix of the rows to learn from, (n, n)."""
        return np.asarray(np.exp(-gamma * self._within))

    def cross_gram(self, gamma: float) -> Array:
        """Return the Gaussian kernel of the rows to predict and to learn from, (m, n)."""
        return np.asarray(np.exp(-gamma * self._between))

    def places(self, classes: tuple[Any, ...] = ()) -> Places:
        """Return the places among the rows of some classes (all rows, if none are told)."""
        if classes not in self._places:
            self._places[classes] = self._find(classes)
        return self._places[classes]

    def _find(self, classes: tuple[Any, ...]) -> Places:
        inside = np.isin(self.y, classes) if classes else np.ones(len(self.y), dtype=bool)
        members = np.flatnonzero(inside)
        neighbors = CoordinateNeighbors(self.X[members])
        both = [nearest(neighbors, self.X_new), reciprocal(neighbors, self.X_new)]
        used, order = np.unique(np.concatenate(both), return_inverse=True)
        m = len(self.X_new)
        return Places(members, used, order[:m], order[m:])

    @cached_property
    def _within(self) -> Array:
        return cdist(self.X, self.X, "sqeuclidean")

    @cached_property
    def _between(self) -> Array:
        return cdist(self.X_new, self.X, "sqeuclidean")
