"""The base kernel of a learner, and its matrix, checked for what a LogDet divergence needs."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np

from pliant.core.exceptions import NonPSDWarning
from pliant.core.kernels.base import Kernel
from pliant.core.kernels.standard import (
    KERNEL_NAMES,
    Gaussian,
    Laplacian,
    Linear,
    Matern,
    Polynomial,
    as_kernel,
)
from pliant.core.linalg import negative_eigenvalue
from pliant.core.typing import Array
from pliant.core.validation import check_choice, check_gram, stack_level
from pliant.methods.side_information.neighbor_graph_kernel import NeighborGraphKernel

__all__ = ["GRAPH_NEIGHBORS", "PSDPart", "base_kernel", "checked_gram"]

SURE = (Gaussian, Laplacian, Linear, Matern, NeighborGraphKernel, Polynomial)
"""Kernels whose matrices are PSD without a look."""

NEGATIVE = -1e-8
"""Eigenvalues below this share of the largest k0(x, x) are clearly negative."""

GRAPH_NEIGHBORS = 5
"""Neighbours of each point in the graph of kernel="graph"."""


def base_kernel(kernel: Any, points: Array, gamma: float | str) -> Kernel:
    """Return the kernel that a user names, if it is symmetric and positive semi-definite.

    Beside the names of `pliant.kernels.as_kernel` there is "graph", the
    `pliant.kernels.NeighborGraphKernel` of the points.

    Raises
    ------
    ValueError
        If it is not, or for what `pliant.kernels.as_kernel` refuses.
    """
    if isinstance(kernel, str) and kernel == "graph":
        if gamma != "scale":
            raise ValueError(f"expected gamma='scale', got {gamma!r}: kernel='graph' has no gamma")
        return _graph_kernel(points)
    if isinstance(kernel, str) and kernel not in ("rbf", "poly"):  # as_kernel knows these
        check_choice("kernel", kernel, (*KERNEL_NAMES, "graph", "precomputed"))
    base = as_kernel(kernel, points, gamma)
    for name, meaning in (("symmetric", "symmetric"), ("psd", "positive semi-definite")):
        if not getattr(base, name):
            raise ValueError(f"expected a kernel that is {meaning}, got {base!r}")
    return base


def _graph_kernel(points: Array) -> Kernel:
    try:
        return NeighborGraphKernel.from_points(points, GRAPH_NEIGHBORS)
    except ValueError as error:
        raise ValueError(f"kernel='graph': {error}") from None


def checked_gram(base: Kernel, points: Array) -> Array:
    """Return the kernel values between some points, shape (a, a).

    Raises
    ------
    ValueError
        If they are not finite, or not symmetric.

    Warns
    -----
    NonPSDWarning
        They have a clearly negative eigenvalue.
    """
    return _checked(base, points)[0]


class PSDPart(NamedTuple):
    """A Gram matrix K0 with its clearly negative eigenvalues taken as zero, shape (a, a).

    `vectors` and `values` are what is left out, shape (a, k) and (k,).
    """

    gram: Array
    vectors: Array
    values: Array

    @classmethod
    def of(cls, base: Kernel, points: Array) -> PSDPart:
        """Return it for the kernel values between some points; see `checked_gram`."""
        gram, smallest = _checked(base, points)
        if smallest is None:
            return cls(gram, np.empty((len(gram), 0)), np.empty(0))
        values, vectors = np.linalg.eigh(gram)
        out = values < NEGATIVE * float(np.abs(gram.diagonal()).max())
        values, vectors = values[out], vectors[:, out]
        gram = gram - (vectors * values) @ vectors.T
        return cls(0.5 * (gram + gram.T), vectors, values)

    def extend(self, matrix: Array) -> Array:
        """Return Q for which k0 + k0 Q k0 is what `matrix` makes of the part kept, 0 on the rest.

        With the projection P on the part kept it is P Q P - sum_i v_i v_i'/lambda_i.
        """
        if not len(self.values):
            return matrix
        kept = np.eye(len(self.gram)) - self.vectors @ self.vectors.T
        extended = kept @ matrix @ kept - (self.vectors / self.values) @ self.vectors.T
        return np.asarray(0.5 * (extended + extended.T))


def _checked(base: Kernel, points: Array) -> tuple[Array, float | None]:
    """Return kernel values, and their smallest eigenvalue if it is clearly negative."""
    gram = base(points)
    if not np.isfinite(gram).all():
        raise ValueError(f"expected finite kernel values, got inf or NaN from {base!r}")
    if isinstance(base, SURE):
        return gram, None
    check_gram(gram)
    gram = 0.5 * (gram + gram.T)
    value = negative_eigenvalue(gram, -NEGATIVE)
    if value is not None:
        warnings.warn(
            "expected positive semi-definite kernel values, as a LogDet divergence needs, got a "
            f"matrix with the eigenvalue {value:.6g}: negative eigenvalues are taken as zero",
            NonPSDWarning,
            stacklevel=stack_level(),
        )
    return gram, value
