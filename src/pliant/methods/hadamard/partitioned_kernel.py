"""A base kernel times adaptive matrices that were learned part by part.

The training points are divided into parts, each with a centre; pi(x) is the part of the nearest
centre. Each part p has its own adaptive matrix F_p, in the quartic form of
`pliant.methods.hadamard.kernel`, with its own rule for new points, as in
`pliant.kernels.HadamardKernel`:

    k_new(x, y) = k(x, y) F_p(x, y)        where pi(x) = pi(y) = p
                  k(x, y), or 0            between different parts

The first choice is the minimiser F = 1 between parts of the block problem (Liu et al. 2020,
problem (20)); the second makes each part a model of its own, and is what the paper prints as the
block-diagonal F. Both are PSD if k is: F - 11' is block-diagonal and PSD.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from pliant.core.kernels.base import Kernel
from pliant.core.linalg import nearest_rows
from pliant.core.typing import Array, Indices, Mask
from pliant.core.validation import check_choice, check_points
from pliant.methods.hadamard.forms import QuarticForm
from pliant.methods.hadamard.kernel import AdaptedKernel, HadamardKernel

BETWEEN = ("one", "zero")
"""F between points of different parts."""


class PartitionedKernel(AdaptedKernel):
    """The kernel that DANK learns part by part: k(x, y) F(x, y).

    Parameters
    ----------
    base : Kernel
        k, positive semi-definite, of points with coordinates.
    points : array of shape (n, d)
        The training points, float64.
    beta : array of shape (n,)
        Their signed dual coefficients.
    labels : array of shape (n,)
        The part of each, 0 to v - 1.
    centres : array of shape (v, d)
        The centres of the parts.
    eta : float
        >= 1e-300, may be inf: the weight of the penalty of F.
    extension : {"smooth", "nearest", "reciprocal", "none"}
        The rule for new points, among the training points of their part.
    n_neighbors : int
        >= 1, for "smooth".
    between : {"one", "zero"}
        F between different parts.
    """

    _cached = ("parts", "support")

    def __init__(
        self,
        base: Kernel,
        points: Array,
        beta: Array,
        labels: Indices,
        centres: Array,
        eta: float = np.inf,
        extension: str = "smooth",
        n_neighbors: int = 5,
        between: str = "one",
    ) -> None:
        self.base = base
        self.points = points
        self.beta = beta
        self.labels = labels
        self.centres = centres
        self.eta = eta
        self.extension = extension
        self.n_neighbors = n_neighbors
        self.between = between

    def place(self, X: Array) -> Indices:
        """Return the part of each row of X, shape (m,): that of the nearest centre."""
        return nearest_rows(check_points(X, "X", n_features=self.centres.shape[1]), self.centres)

    @cached_property
    def parts(self) -> list[HadamardKernel]:
        """The kernel of each part."""
        return [self._part(self.labels == p) for p in range(len(self.centres))]

    def _part(self, mine: Mask) -> HadamardKernel:
        points, beta = self.points[mine], self.beta[mine]
        return HadamardKernel(self.base, points, beta, self.eta, self.extension, self.n_neighbors)

    def _gram(self, X: Array, Y: Array) -> Array:
        if check_choice("between", self.between, BETWEEN) == "one":
            gram = self.base._gram(X, Y)
        else:
            gram = np.zeros((len(X), len(Y)))
        left = self.place(X)
        right = left if Y is X else self.place(Y)
        for p in np.intersect1d(left, right):
            rows, columns = np.flatnonzero(left == p), np.flatnonzero(right == p)
            own = X[rows]
            others = own if Y is X else Y[columns]
            gram[np.ix_(rows, columns)] = self.parts[p]._gram(own, others)
        return gram

    def _diagonal(self, X: Array) -> Array:
        diagonal, place = np.empty(len(X)), self.place(X)
        for p in np.unique(place):
            diagonal[place == p] = self.parts[p]._diagonal(X[place == p])
        return diagonal

    @property
    def form(self) -> QuarticForm:
        """The closed form of F within a part."""
        return QuarticForm(self.quartic)

    def learned(self, rows: Indices, columns: Indices) -> Array:
        """Return A_ij = beta_i K_ij beta_j within parts, zero between them."""
        gram = self.base._gram(self.points[rows], self.points[columns])
        gram *= self.labels[rows, None] == self.labels[columns]
        return np.asarray(self.beta[rows, None] * gram * self.beta[columns])

    def profiles(self, indices: Indices) -> Array:
        """Return empty profiles: the quartic form needs none."""
        return np.empty((len(indices), 0))

    def _check_loaded(self) -> None:
        """Raise ValueError if attributes, read from a file, do not belong together."""
        super()._check_loaded()
        self._forget(self.__dict__, self._cached)
        points = check_points(self.points, "points")
        centres = check_points(self.centres, "centres", n_features=points.shape[1])
        labels = np.asarray(self.labels)
        if labels.shape != (len(points),) or not np.issubdtype(labels.dtype, np.integer):
            raise ValueError(
                f"expected {len(points)} labels, got shape {labels.shape} of type {labels.dtype}"
            )
        wrong = labels[(labels < 0) | (labels >= len(centres))]
        if wrong.size:
            raise ValueError(f"expected labels from 0 to {len(centres) - 1}, got {wrong[0]}")
        check_choice("between", self.between, BETWEEN)
        whole = HadamardKernel(
            self.base, self.points, self.beta, self.eta, self.extension, self.n_neighbors
        )
        whole._check_loaded()
