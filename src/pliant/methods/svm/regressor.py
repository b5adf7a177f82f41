"""Regression: one real function, on a scaled target if asked for."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import RegressorMixin
from sklearn.utils.validation import validate_data

from pliant.core.typing import Array
from pliant.core.validation import check_weights
from pliant.methods.svm.machine import KernelMachine, Task

__all__ = ["KernelRegressor"]


class KernelRegressor(RegressorMixin, KernelMachine):
    """A kernel machine that predicts a number."""

    scale_target: bool

    def _prepare(self, X: Any, y: Any, sample_weight: Any) -> list[Task]:
        X, y = validate_data(self, X, y, dtype=np.float64, y_numeric=True, ensure_min_samples=2)
        y = np.asarray(y, dtype=np.float64)
        weights = check_weights(sample_weight, X)
        members = np.flatnonzero(weights > 0)
        target, centre, scale = self._scaled(y[members])
        kernel, rows, psd = self._common(X, weights > 0)
        points = self._points(X, members)
        return [Task(kernel, points, members, target, weights[members], rows, psd, centre, scale)]

    def _scaled(self, y: Array) -> tuple[Array, float, float]:
        """Return target, centre and scale such that y = centre + scale * target.

        Centring changes the intercept only, and keeps large offsets out of the sums.
        """
        size = math.ldexp(0.5, math.frexp(float(np.abs(y).max()))[1])
        unit = y / size  # in (-2, 2), to the last bit: squares neither overflow nor vanish
        centre, spread = float(unit.mean()), float(unit.std())
        if spread <= 1e-12 * abs(centre):
            raise ValueError(
                f"expected a target that varies, got y = {size * centre:g} in all {len(y)} rows"
            )
        scale = size * spread if self.scale_target else 1.0
        return (unit - centre) / (scale / size), size * centre, scale

    def predict(self, X: npt.ArrayLike) -> Array:
        """Return the predicted target of each point, shape (m,), in the units of y.

        Parameters
        ----------
        X : array-like of shape (m, d), or (m, n) for kernel="precomputed"
        """
        return self._expand(self._checked_input(X))
