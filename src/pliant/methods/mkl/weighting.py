"""What every rule for kernel weights returns."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from pliant.core.exceptions import UniformWeightsWarning
from pliant.core.typing import Array
from pliant.core.validation import stack_level


class Weighting(NamedTuple):
    """Weights of M kernels.

    Attributes
    ----------
    weights : array of shape (M,)
        Each >= 0; their sum is 1.
    value : float
        The objective of the rule, as its function states it.
    gap : float
        How far the value can be from the optimum at most; 0 where the weights have a formula.
    """

    weights: Array
    value: float
    gap: float


def normalised(raw: Array, reason: str) -> Array:
    """Return `raw` >= 0 divided by its sum; where all are zero, uniform weights and a warning.

    Parameters
    ----------
    raw : array of shape (M,)
    reason : str
        Why all weights are zero, for the message.
    """
    largest = raw.max()
    if largest > 0.0:
        scaled = raw / largest  # the sum of tiny numbers could be zero
        return np.asarray(scaled / scaled.sum())
    warnings.warn(
        f"{reason}: all kernels get the same weight",
        UniformWeightsWarning,
        stacklevel=stack_level(),
    )
    return np.full(len(raw), 1.0 / len(raw))


def shared(several: Sequence[Weighting]) -> Weighting:
    """Return the mean of weights, values and gaps: one set of weights for all pairs of classes."""
    weights = np.mean([each.weights for each in several], axis=0)
    value = float(np.mean([each.value for each in several]))
    return Weighting(weights, value, float(np.mean([each.gap for each in several])))
