"""Kernels of the LogDet learners: the base kernel, the learned one, and its principal components.

A learned kernel corrects the base kernel k0 on some points (`LogDetKernel`).
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from pliant.core.exceptions import NonPSDWarning
from pliant.core.linalg import negative_eigenvalue, top_eigenpairs
from pliant.core.text import one_line
from pliant.core.typing import Array
from pliant.core.validation import (
    check_choice,
    check_gram,
    check_points,
    check_vector,
    stack_level,
)
from pliant.kernels.base import Kernel, check_width, resolve_columns
from pliant.kernels.standard import (
    KERNEL_NAMES,
    Gaussian,
    Laplacian,
    Linear,
    Matern,
    Polynomial,
    as_kernel,
)
from pliant.methods.supervised.neighbor_graph import NeighborGraphKernel

PSD_KERNELS = (Gaussian, Laplacian, Linear, Matern, NeighborGraphKernel, Polynomial)
"""Kernels whose matrices need no check: they are symmetric and PSD."""

NEGATIVE = -1e-8
"""Eigenvalues below this multiple of the largest k0(x, x) count as negative, not as rounding."""

GRAPH_NEIGHBORS = 5
"""Neighbours of each point in the graph of kernel="graph"."""

EPSILON = float(np.finfo(np.float64).eps)

NEGLIGIBLE = 1e-12
"""Components with a smaller variance than this multiple of the first one are rounding."""


def base_kernel(
    kernel: Any, points: Array, gamma: float | str, feature_names: Sequence[str] | None = None
) -> Kernel:
    """Return the kernel for a parameter ``kernel``, if it is symmetric and PSD.

    Besides the names of `pliant.kernels.as_kernel` there is "graph", the
    `pliant.kernels.NeighborGraphKernel` of the points. Any other kernel, and one that `as_kernel`
    refuses, raises ValueError.
    """
    if isinstance(kernel, str) and kernel == "graph":
        if not (isinstance(gamma, str) and gamma == "scale"):
            raise ValueError(f"expected gamma='scale', got {gamma!r}: kernel='graph' has no gamma")
        try:
            return NeighborGraphKernel.from_points(points, GRAPH_NEIGHBORS)
        except ValueError as error:
            raise ValueError(f"kernel='graph': {error}") from None
    if isinstance(kernel, str):
        check_choice("kernel", kernel, (*KERNEL_NAMES, "graph", "precomputed"))
    base = as_kernel(kernel, points, gamma, feature_names)
    for holds, meaning in ((base.symmetric, "symmetric"), (base.psd, "positive semi-definite")):
        if not holds:
            raise ValueError(f"expected a kernel that is {meaning}, got {one_line(base)}")
    return base


def resolve_columns_of(learner: Any, outer: Any, n_features: int) -> None:
    """Give a learner's kernel positions for the feature names of the estimator that it is in.

    That estimator is fitted on a data frame, and hands on an array.
    """
    kernel = learner.get_params(deep=False).get("kernel")
    if isinstance(kernel, Kernel):
        names = getattr(outer, "feature_names_in_", None)
        learner.set_params(kernel=resolve_columns(kernel, names, n_features))


def checked_gram(base: Kernel, points: Array) -> tuple[Array, float | None]:
    """Return kernel values, shape (a, a), and their smallest eigenvalue if it is clearly negative.

    Raises ValueError for values that are not finite, or not symmetric; warns of the eigenvalue.
    """
    gram = base(points)
    if not np.isfinite(gram).all():
        raise ValueError(f"expected finite kernel values, got inf or NaN from {one_line(base)}")
    if isinstance(base, PSD_KERNELS):
        return gram, None
    check_gram(gram)
    gram = 0.5 * gram + 0.5 * gram.T
    value = negative_eigenvalue(gram, -NEGATIVE)
    if value is not None:
        warnings.warn(
            "expected positive semi-definite kernel values, as a LogDet divergence needs, got a "
            f"matrix with the eigenvalue {value:.6g}: negative eigenvalues are taken as zero",
            NonPSDWarning,
            stacklevel=stack_level(),
        )
    return gram, value


class PSDPart(NamedTuple):
    """A Gram matrix K0 with its clearly negative eigenvalues set to zero, shape (a, a).

    `vectors` and `values` are the eigenpairs that were removed, shape (a, k) and (k,).
    """

    gram: Array
    vectors: Array
    values: Array

    @classmethod
    def of(cls, base: Kernel, points: Array) -> PSDPart:
        """Return the PSD part of the kernel values between some points; see `checked_gram`."""
        gram, smallest = checked_gram(base, points)
        if smallest is None:
            return cls(gram, np.empty((len(gram), 0)), np.empty(0))
        values, vectors = np.linalg.eigh(gram)
        negative = values < NEGATIVE * float(np.abs(gram.diagonal()).max())
        values, vectors = values[negative], vectors[:, negative]
        gram = gram - (vectors * values) @ vectors.T
        return cls(0.5 * (gram + gram.T), vectors, values)

    def extend(self, Q: Array) -> Array:
        """Return Q for the whole K0, given the Q that was learned from its PSD part.

        With it, k0 + k0 Q k0 is the learned kernel on the PSD part and 0 on the removed
        eigenvectors v_i: it is P Q P - sum_i v_i v_i'/lambda_i for the projection
        P = I - sum_i v_i v_i'.
        """
        if not len(self.values):
            return Q
        projection = np.eye(len(self.gram)) - self.vectors @ self.vectors.T
        extended = projection @ Q @ projection - (self.vectors / self.values) @ self.vectors.T
        return np.asarray(0.5 * (extended + extended.T))


class LogDetKernel(Kernel):
    """k(x, y) = k0(x, y) + k0(x, P) Q k0(P, y) for the points P.

    A kernel matrix K that minimises a LogDet divergence from K0 = k0(P, P) extends to new points
    in this way with Q = K0^{-1} (K - K0) K0^{-1}, which has closed forms without inverses.

    Parameters
    ----------
    base : Kernel
        k0.
    points : array of shape (a, n_features)
        P.
    matrix : array of shape (a, a)
        Q, symmetric.

    References
    ----------
    Pan, Chen, Chen, Xu: Efficient learning of supervised kernels with a graph-based loss
    function, Eqs. 6 and 32.
    """

    def __init__(self, base: Kernel, points: npt.ArrayLike, matrix: npt.ArrayLike) -> None:
        self.base = base
        self.points = points
        self.matrix = matrix

    @property
    def symmetric(self) -> bool:  # type: ignore[override]
        """Whether the base kernel is symmetric."""
        return self.base.symmetric

    @property
    def psd(self) -> bool:  # type: ignore[override]
        """Whether the base kernel is PSD, and k on the points too, by one factorisation."""
        if not self.base.psd:
            return False
        gram = self(np.asarray(self.points))
        return negative_eigenvalue(0.5 * gram + 0.5 * gram.T) is None

    def _check_loaded(self) -> None:
        """Raise ValueError if the parameters, read from a file, are inconsistent."""
        super()._check_loaded()
        points = check_points(self.points, "points")
        matrix = check_gram(check_points(self.matrix, "matrix"))
        if len(matrix) != len(points):
            raise ValueError(f"expected a matrix for {len(points)} points, got {len(matrix)} rows")
        self.base._check_pair(points, points)

    def _check_pair(self, X: Array, Y: Array) -> None:
        self.base._check_pair(X, Y)

    def _points_and_matrix(self, X: Array) -> tuple[Array, Array]:
        """Return P and Q, once X is known to have the features of P."""
        points = check_points(self.points, "points")
        check_width(self.base, points, X)
        return points, check_points(self.matrix, "matrix")

    def _gram(self, X: Array, Y: Array) -> Array:
        points, matrix = self._points_and_matrix(X)
        left = self.base._gram(X, points)
        right = left if Y is X else self.base._gram(Y, points)
        return self.base._gram(X, Y) + (left @ matrix) @ right.T

    def _diagonal(self, X: Array) -> Array:
        points, matrix = self._points_and_matrix(X)
        cross = self.base._gram(X, points)
        return self.base._diagonal(X) + np.einsum("ij,ij->i", cross @ matrix, cross)


@dataclass(frozen=True, eq=False)
class Components:
    """f(x) = (s(x) - centre) @ coefficients, for inputs s(x) that a kernel provides.

    s(x) are the kernel values between x and n fit points; for a `LogDetKernel` those of its base
    kernel: a new point then costs O(n), not O(n^2).
    `centre`, shape (n,), is the mean of s over the fit points, zero if the kernel is not centred;
    `coefficients`, shape (n, r), has a column for each component, and `variances`, shape (r,), are
    sums of squares over the fit points, descending.
    """

    centre: Array
    coefficients: Array
    variances: Array

    @classmethod
    def of_gram(
        cls, gram: Array, n_components: int, size: float = 0.0, *, center: bool = True
    ) -> Components:
        """Return the components of a kernel matrix of the fit points, shape (n, n).

        `size` is the largest number in the computation of the matrix, if larger than its entries:
        rounding errors are relative to it. Without `center` they are those of the matrix as it is.
        """
        centre = _centre(gram, center)
        centred = gram - centre - centre[:, None] + centre.mean()
        rounding = len(gram) * EPSILON * max(size, float(np.abs(gram).max()))
        values, vectors = _largest(centred, n_components, rounding)
        return cls(centre, vectors / np.sqrt(values), values)

    def on_base(self, kernel: LogDetKernel, *, center: bool = True) -> Components:
        """Return the same components as functions of the base kernel's values k0(x, P).

        With P the points of the kernel and C the coefficients,
        k(x, P) C = (k0(x, P) + k0(x, P) Q k0(P, P)) C = k0(x, P) (C + Q k0(P, P) C).
        """
        base = kernel.base(np.asarray(kernel.points))
        coefficients = self.coefficients + np.asarray(kernel.matrix) @ (base @ self.coefficients)
        return Components(_centre(base, center), coefficients, self.variances)

    def __call__(self, inputs: Array) -> Array:
        """Return f for each row s(x) of `inputs`, shape (n_samples, n_components)."""
        return np.asarray((inputs - self.centre) @ self.coefficients)

    def _check_loaded(self) -> None:
        """Raise ValueError if attributes, read from a file, are inconsistent."""
        n, r = check_points(self.coefficients, "coefficients").shape
        check_vector("centre", self.centre, n)
        check_vector("variances", self.variances, r)


def _centre(inputs: Array, center: bool) -> Array:
    """Return the mean of the rows of s over the fit points; zeros without `center`."""
    return np.asarray(inputs.mean(axis=0)) if center else np.zeros(inputs.shape[1])


def _largest(matrix: Array, n_components: int, rounding: float) -> tuple[Array, Array]:
    """Return the largest eigenvalues and their vectors, each with its largest entry positive.

    Eigenvalues up to a multiple of `rounding` are taken as zero.
    """
    values, vectors = top_eigenpairs(matrix, min(n_components, len(matrix)))
    positive = int((values > max(NEGLIGIBLE * values[0], 64.0 * rounding)).sum())
    if positive < n_components:
        raise ValueError(
            f"expected n_components <= {positive}, the number of directions in which the learned "
            f"kernel varies over the {len(matrix)} points, got {n_components}"
        )
    peaks = vectors[np.argmax(np.abs(vectors), axis=0), np.arange(n_components)]
    return values, vectors * np.sign(peaks)


def component_inputs(kernel: Kernel, X: Array, points: Array) -> Array:
    """Return s(x) for checked samples X, given all fit points."""
    if isinstance(kernel, LogDetKernel):
        return kernel.base(X, kernel.points)
    return kernel(X, points)
