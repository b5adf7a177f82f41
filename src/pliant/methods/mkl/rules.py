"""The rules that give the weights of kernels without minimising the objective of the SVM."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from pliant.core.typing import Array, Callback
from pliant.methods.mkl.problem import WeightLearning

Rule = Callable[[Any, WeightLearning, list[Array], Callback], Array]
"""(estimator, problem, targets of its SVMs, callback) -> weights, shape (M,)."""


def uniform(
    estimator: Any, problem: WeightLearning, targets: list[Array], callback: Callback
) -> Array:
    """Return equal weights that sum to 1."""
    count = len(problem.grams)
    return np.full(count, 1.0 / count)


RULES: Mapping[str, Rule] = {"uniform": uniform}
"""Rules by the name of the parameter ``weights``."""

CLASSIFICATION_RULES = ("easy", "radius-margin")
"""Rules that need classes."""
