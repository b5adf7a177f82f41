"""A warning for features whose scales are so unlike that a kernel cannot see some of them."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from pliant.core.exceptions import FeatureScaleWarning
from pliant.core.kernels.base import Kernel
from pliant.core.kernels.standard import TL1, Gaussian, Laplacian, Linear, Matern, Polynomial
from pliant.core.typing import Array
from pliant.core.validation import stack_level

UNLIKE = 1000.0
"""Ratio of standard deviations above which the smaller feature is out of sight: it contributes a
millionth of squared distances and a thousandth of absolute ones, less than the default `tol` and
the noise of any target resolve. Scales of 1 to 100, as those of raw pixels or of amounts in one
unit, are common and harmless; a wrong unit (metres beside millimetres) starts at 1000."""

ROUNDING = 1e-12
"""A feature whose range is this share of its largest value is constant but for rounding."""


def warn_of_unlike_scales(
    estimator: Any, kernel: Kernel, X: Array, names: Sequence[str] | None = None
) -> None:
    """Give a FeatureScaleWarning if one feature of X, shape (n, d), dwarfs another.

    Only kernels with one width for all features are looked at: who gives a number for each
    feature, or a function, has chosen the scales. Both the standard deviations and the ranges must
    differ by `UNLIKE`: rare indicators (one-hot columns) and pixels near the edge of images vary
    little, but in the units of the others. Costs three passes over X.
    """
    weighted = np.ndim(getattr(kernel, "gamma", 0.0)) > 0
    if weighted or not isinstance(
        kernel, Gaussian | Laplacian | Linear | Matern | Polynomial | TL1
    ):
        return
    with np.errstate(over="ignore", invalid="ignore"):
        lowest, highest = X.min(axis=0), X.max(axis=0)
        widths, spreads = highest - lowest, X.std(axis=0)
        varying = widths > ROUNDING * np.maximum(np.abs(lowest), np.abs(highest))
        large = int(np.argmax(np.where(varying, spreads, -1.0)))
        unlike = varying & (widths[large] > UNLIKE * widths) & (spreads[large] > UNLIKE * spreads)
    if not unlike.any():
        return
    small = int(np.argmin(np.where(unlike, spreads, np.inf)))
    kind = type(estimator).__name__
    first, second = (_name(column, names) for column in (large, small))
    warnings.warn(
        f"{kind} got features of very unlike scale: the standard deviation of {first} is "
        f"{spreads[large] / spreads[small]:.2g} times that of {second}, which the kernel hardly "
        f"sees; scale the features, as in make_pipeline(StandardScaler(), {kind}())",
        FeatureScaleWarning,
        stacklevel=stack_level(),
    )


def _name(column: int, names: Sequence[str] | None) -> str:
    return f"column {column}" if names is None else f"{names[column]!r}"
