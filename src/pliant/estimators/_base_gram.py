"""The base kernel of a learner, and its matrix, checked for what a LogDet divergence needs."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from pliant._exceptions import NonPSDWarning
from pliant._typing import Array
from pliant._validation import check_choice, check_gram, stack_level
from pliant.kernels import (
    KERNEL_NAMES,
    Gaussian,
    Kernel,
    Laplacian,
    Linear,
    Matern,
    NeighborGraphKernel,
    Polynomial,
    as_kernel,
)
from pliant.linalg import negative_eigenvalue

__all__ = ["GRAPH_NEIGHBORS", "SURE", "base_kernel", "checked_gram"]

SURE = (Gaussian, Laplacian, Linear, Matern, NeighborGraphKernel, Polynomial)
"""Kernels whose matrices are PSD without a look."""

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
    gram = base(points)
    if not np.isfinite(gram).all():
        raise ValueError(f"expected finite kernel values, got inf or NaN from {base!r}")
    if not isinstance(base, SURE):
        check_gram(gram)
        gram = 0.5 * (gram + gram.T)
        value = negative_eigenvalue(gram)
        if value is not None:
            warnings.warn(
                "expected positive semi-definite kernel values, as a LogDet divergence needs, got "
                f"a matrix with the eigenvalue {value:.6g}: the learned kernel need not be optimal",
                NonPSDWarning,
                stacklevel=stack_level(),
            )
    return gram
