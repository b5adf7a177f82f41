"""XGBoost and xRFM with the interface of scikit-learn."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.model_selection import train_test_split

from pliant.core.estimators import BaseEstimator, ClassifierMixin, RegressorMixin
from pliant.core.typing import Array
from pliant.records import Unfitted, to_record


class XGBoostClassifier(ClassifierMixin, BaseEstimator):
    """XGBoost's classifier with label encoding; XGBoost itself requires labels 0, 1, 2, ..."""

    def __init__(
        self,
        n_estimators: int = 100,
        learning_rate: float = 0.3,
        max_depth: int = 6,
        random_state: int | None = None,
    ) -> None:
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.max_depth = max_depth
        self.random_state = random_state

    def fit(self, X: Array, y: npt.NDArray[Any]) -> Self:
        """Fit the trees to labels of any type."""
        from xgboost import XGBClassifier

        self.classes_, codes = np.unique(y, return_inverse=True)
        self.machine_ = XGBClassifier(n_jobs=1, **self.get_params()).fit(X, codes)
        return self

    def predict_proba(self, X: Array) -> Array:
        """Return probabilities that sum to one in float64, shape (n_samples, n_classes)."""
        probability = np.asarray(self.machine_.predict_proba(X), dtype=np.float64)
        return probability / probability.sum(axis=1, keepdims=True)

    def predict(self, X: Array) -> npt.NDArray[Any]:
        """Return the most probable labels."""
        return np.asarray(self.classes_[self.predict_proba(X).argmax(axis=1)])

    def _to_record(self) -> Any:
        """Return the record of the fitted trees, with the labels."""
        if not hasattr(self, "machine_"):
            return Unfitted.of(self, allow_nan=True)
        record = to_record(self.machine_)
        record.origin, record.settings = type(self).__name__, self.get_params()
        record.classes_ = self.classes_
        return record


class XRFMRegressor(RegressorMixin, BaseEstimator):
    """xRFM on the CPU, with a fifth of the rows for early stopping."""

    def __init__(
        self, bandwidth: float = 10.0, reg: float = 1e-3, random_state: int | None = None
    ) -> None:
        self.bandwidth = bandwidth
        self.reg = reg
        self.random_state = random_state

    def fit(self, X: Array, y: Array) -> Self:
        """Fit the kernel and its metric to four fifths of the rows."""
        import torch
        from xrfm import xRFM

        parts = train_test_split(X, y[:, None], test_size=0.2, random_state=self.random_state)
        tensors = [torch.tensor(part, dtype=torch.float32) for part in parts]
        model = {"kernel": "l2", "bandwidth": self.bandwidth, "exponent": 1.0, "diag": False}
        fit = {"reg": self.reg, "iters": 5, "early_stop_rfm": True, "verbose": False}
        self.machine_ = xRFM(
            rfm_params={"model": {**model, "bandwidth_mode": "constant"}, "fit": fit},
            device="cpu",
            tuning_metric="mse",
            random_state=self.random_state,
            verbose=False,
        )
        self.machine_.fit(*tensors[::2], *tensors[1::2])
        return self

    def predict(self, X: Array) -> Array:
        """Return the predicted targets, shape (n_samples,)."""
        import torch

        tensor = torch.tensor(X, dtype=torch.float32)
        return np.asarray(self.machine_.predict(tensor), dtype=np.float64).ravel()
