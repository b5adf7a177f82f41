"""The interface that scikit-learn's Gaussian processes ask of a kernel.

`pliant.kernels.Kernel` is registered as a virtual subclass of scikit-learn's kernels for Gaussian
processes. So ``GaussianProcessRegressor(kernel)`` and ``ConstantKernel() * kernel`` accept it, and
`sklearn.metrics.pairwise.pairwise_kernels` passes it whole matrices, where any other callable
gets one pair of rows at a time.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import clone

from pliant.core.typing import Array


class GaussianProcessInterface:
    """A kernel without hyper-parameters that a Gaussian process could tune.

    ``ConstantKernel() * kernel + WhiteKernel()`` tunes a scale and the noise.
    """

    requires_vector_input = True
    """Points are rows of numbers."""

    n_dims = 0
    """The number of hyper-parameters that a Gaussian process tunes."""

    @property
    def hyperparameters(self) -> list[Any]:
        """The hyper-parameters that a Gaussian process tunes: none."""
        return []

    @property
    def theta(self) -> Array:
        """Their values, shape (0,)."""
        return np.empty(0)

    @theta.setter
    def theta(self, theta: npt.ArrayLike) -> None:
        if np.size(theta):
            raise ValueError(f"expected theta of shape (0,), got {np.shape(theta)}")

    @property
    def bounds(self) -> Array:
        """Their bounds, shape (0, 2)."""
        return np.empty((0, 2))

    def clone_with_theta(self, theta: npt.ArrayLike) -> Self:
        """Return a copy; theta has shape (0,)."""
        copy: Self = clone(self)
        copy.theta = np.asarray(theta)
        return copy

    def is_stationary(self) -> bool:
        """Return whether k depends on x - y alone; not known, so False."""
        return False
