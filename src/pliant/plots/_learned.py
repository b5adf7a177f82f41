"""What a picture needs of a fitted estimator: its summary, points and coefficients."""

from __future__ import annotations

from typing import Any

import numpy as np

from pliant.core.summary import Summary, summarize
from pliant.core.typing import Array
from pliant.kernels import Kernel, Precomputed
from pliant.plots._common import inner_points


def summary_for(drawing: str, machine: Any, learns: str, example: str) -> Summary:
    """Return the summary of an estimator that has a drawing.

    Raises
    ------
    ValueError
        If it has none, or one for each pair of classes.
    """
    summary, name = summarize(machine), type(machine).__name__
    if drawing not in summary.drawings:
        raise ValueError(f"expected a model that learns {learns}, such as {example}, got {name}")
    if summary.kernel is None and len(summary.functions) > 1:
        raise ValueError(
            f"expected an estimator of one kernel, got {name} with {len(summary.functions)}: "
            "draw one of its estimators_"
        )
    return summary


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
    functions = summarize(machine).functions
    if len(functions) != 1 or functions[0].n_support is None:
        return np.zeros(len(points))
    fitted, support = functions[0].estimator, machine.support_vectors_
    if fitted is not machine:  # its coefficients belong to some of the points of the learned kernel
        support = support[getattr(fitted, "support_", slice(0))]
    coefficients = np.atleast_2d(fitted.dual_coef_)
    sizes = np.abs(coefficients).sum(axis=0)
    known = {(point + 0.0).tobytes(): size for point, size in zip(support, sizes, strict=False)}
    return np.array([known.get(point.tobytes(), 0.0) for point in points + 0.0], dtype=np.float64)
