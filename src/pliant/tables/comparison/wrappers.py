"""XGBoost with the interface of scikit-learn."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import numpy.typing as npt

from pliant.core.estimators import BaseEstimator, ClassifierMixin
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
