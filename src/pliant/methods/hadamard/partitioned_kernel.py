"""A base kernel times adaptive matrices that were learned part by part.

The training points are divided into parts, each with a centre; pi(x) is the part of the nearest
centre. Each part p has its own adaptive matrix F_p, in the quartic form of
`pliant.methods.hadamard.kernel`, with its own rule for new points, as in
`pliant.kernels.HadamardKernel`:

    k_new(x, y) = k(x, y) F_p(x, y)        where pi(x) = pi(y) = p
                  k(x, y), or 0            between different parts

The first choice is the minimiser F = 1 between parts of the block problem (Liu et al. 2020,
problem (20)); the second makes each part a model of its own, and is what the paper prints as the
block-diagonal F. Both are PSD if k is: F - 11' is block-diagonal and PSD. For KNPL each block of
F - 11' is centred by itself, so that the rows of F sum to n_p within a part of n_p points and, with
F = 1 between parts, to n.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from pliant.core.kernels.base import Kernel
from pliant.core.linalg import nearest_rows
from pliant.core.typing import Array, Indices, Mask
from pliant.core.validation import check_choice, check_points
from pliant.methods.hadamard.kernel import AdaptedKernel, HadamardKernel

BETWEEN = ("one", "zero")
"""F between points of different parts."""


class PartitionedKernel(AdaptedKernel):
    """The kernel that DANK or KNPL learns part by part: k(x, y) F(x, y).

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
    centred : bool
        Whether the rows of F sum to the number of points within each part (KNPL).
    """

    _cached = ("parts", "support", "_within")
    _kept = ("support_sums",)

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
        centred: bool = False,
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
        self.centred = centred

    def place(self, X: Array) -> Indices:
        """Return the part of each row of X, shape (m,): that of the nearest centre."""
        return nearest_rows(check_points(X, "X", n_features=self.centres.shape[1]), self.centres)

    @cached_property
    def parts(self) -> list[HadamardKernel]:
        """The kernel of each part."""
        return [self._part(self.labels == p) for p in range(len(self.centres))]

    def _part(self, mine: Mask) -> HadamardKernel:
        part = HadamardKernel(
            self.base, self.points[mine], self.beta[mine], self.eta, self.extension,
            self.n_neighbors, centred=self.centred,
        )  # fmt: skip
        if "support_sums" in vars(self):
            part.__dict__["support_sums"] = self.support_sums[mine[self.support]]
        return part

    @cached_property
    def support_sums(self) -> Array:
        """K beta at the support points, summed within their parts, shape (s,), for KNPL."""
        sums, owners = np.zeros(len(self.support)), self.labels[self.support]
        for p, part in enumerate(self.parts):
            sums[owners == p] = part.support_sums
        return sums

    def prepare(self) -> None:
        """Compute now what takes long, so that the first prediction need not."""
        if self.centred and self.extension != "none" and self.support.size and self.quartic:
            _ = self.support_sums

    @cached_property
    def _within(self) -> Indices:
        """The number of each training point within its part, shape (n,)."""
        within = np.empty(len(self.points), dtype=np.intp)
        for p in range(len(self.centres)):
            mine = np.flatnonzero(self.labels == p)
            within[mine] = np.arange(len(mine))
        return within

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
    def rank(self) -> None:
        """Unknown, without a decomposition of F."""
        return None

    @property
    def groups(self) -> Indices:
        """The part of each point, shape (n,): those of one part without beta share a row of F."""
        return self.labels

    def change_between(self, rows: Indices, columns: Indices) -> Array:
        """Return F - 1 between training points: zero between parts, whatever `between` is."""
        change = np.zeros((len(rows), len(columns)))
        left, right = self.labels[rows], self.labels[columns]
        for p in np.intersect1d(left, right):
            mine, others = np.flatnonzero(left == p), np.flatnonzero(right == p)
            change[np.ix_(mine, others)] = self.parts[p].change_between(
                self._within[rows[mine]], self._within[columns[others]]
            )
        return change

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
            self.base, self.points, self.beta, self.eta, self.extension, self.n_neighbors,
            centred=self.centred,
        )  # fmt: skip
        whole._check_loaded()
        if "support_sums" in vars(self):
            self._check_sums(vars(self)["support_sums"])

    def _check_sums(self, sums: Any) -> None:
        """Raise ValueError unless `sums`, read from a file, are right at some support points."""
        sums, owners = np.asarray(sums), self.labels[self.support]
        if sums.shape != owners.shape:
            raise ValueError(f"expected {len(owners)} support_sums, got shape {sums.shape}")
        for p, part in enumerate(self.parts):
            part._check_sums(sums[owners == p])
        self._forget(self.__dict__, self._cached)
