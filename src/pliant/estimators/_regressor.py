"""Regression: one real function, on a scaled target if asked for."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import RegressorMixin
from sklearn.utils.validation import validate_data

from pliant._typing import Array
from pliant._validation import check_weights
from pliant.estimators._base import KernelMachine, Task
from pliant.rows import DenseRows

__all__ = ["KernelRegressor"]


class KernelRegressor(RegressorMixin, KernelMachine):
    """A kernel machine that predicts a number."""

    scale_target: bool

    def _prepare(self, X: Any, y: Any, sample_weight: Any) -> list[Task]:
        X, y = validate_data(self, X, y, dtype=np.float64, y_numeric=True, ensure_min_samples=2)
        y = np.asarray(y, dtype=np.float64)
        weights = check_weights(sample_weight, X)
        members = np.flatnonzero(weights > 0)
        centre, spread = float(y[members].mean()), float(y[members].std())
        if spread <= 1e-12 * abs(centre):
            raise ValueError(
                f"expected a target that varies, got y = {centre:g} in all {len(members)} rows"
            )
        if not self.scale_target:
            centre, spread = 0.0, 1.0
        kernel = self._base_kernel(X)
        gram, psd = self._gram(kernel, X)
        rows = DenseRows(gram)
        task = Task(
            kernel,
            self._points(X, members),
            members,
            (y[members] - centre) / spread,
            weights[members],
            rows if len(members) == len(X) else DenseRows(rows.square(members)),
            psd,
            centre,
            spread,
        )
        return [task]

    def predict(self, X: npt.ArrayLike) -> Array:
        """Return the predicted target of each point, shape (m,), in the units of y.

        Parameters
        ----------
        X : array-like of shape (m, d), or (m, n) for kernel="precomputed"
        """
        return self._expand(self._checked_input(X))
