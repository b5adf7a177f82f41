"""The learned kernel of a fitted estimator, its base kernel, and coefficients."""

from __future__ import annotations

from typing import Any

import numpy as np

from pliant.core.typing import Array
from pliant.kernels import Kernel, Precomputed
from pliant.plots._common import inner_points


def kernel_and_base(machine: Any) -> tuple[Kernel, Kernel | None]:
    """Return the learned kernel of an estimator, and the base kernel if there is one."""
    kernel = getattr(machine, "kernel_", None)
    name = type(machine).__name__
    if isinstance(kernel, Kernel) and kernel.symmetric:
        base = getattr(getattr(kernel, "kernel", kernel), "base", None)
        return kernel, base
    parts = getattr(machine, "estimators_", None)
    if isinstance(parts, list) and hasattr(parts[0], "kernel_"):
        raise ValueError(
            f"expected an estimator of one kernel, got {name} with {len(parts)}: draw one of its "
            "estimators_"
        )
    raise ValueError(
        f"expected a model that learns a symmetric kernel, such as DANKClassifier, got {name}"
    )


def kernel_points(model: Any, base: Kernel | None, X: Any) -> Array:
    """Return points as the kernel takes them: row numbers, if it is known as a matrix only."""
    points = inner_points(model, X)
    if not isinstance(base, Precomputed):
        return points
    if points.shape != base.gram.shape:
        raise ValueError(
            f"expected the training Gram matrix of shape {base.gram.shape}, got {points.shape}"
        )
    return np.arange(float(len(points)))[:, None]


def coefficient_sizes(machine: Any, points: Array) -> Array:
    """Return abs(coefficient) of each point; 0 for points that are no support points."""
    support = getattr(machine, "support_vectors_", points[:0])
    inner = getattr(machine, "machine_", None)
    if inner is not None:  # its coefficients belong to some of the points of the learned kernel
        support = support[getattr(inner, "support_", slice(0))]
    coefficients = np.atleast_2d(getattr(inner or machine, "dual_coef_", np.empty((1, 0))))
    sizes = np.abs(coefficients).sum(axis=0)
    known = {(point + 0.0).tobytes(): size for point, size in zip(support, sizes, strict=False)}
    return np.array([known.get(point.tobytes(), 0.0) for point in points + 0.0], dtype=np.float64)
