"""Baselines of packages that need not be installed; they are imported where they are used."""

from __future__ import annotations

from importlib import import_module
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.model_selection import train_test_split

from pliant.core.typing import Array
from pliant.registry import Maker

PACKAGES = ("xgboost", "lightgbm", "catboost", "xrfm")

LIGHTGBM = {"n_jobs": 1, "deterministic": True, "force_row_wise": True, "verbose": -1}
"""Parameters with which LightGBM has one thread, is repeatable and silent."""

CATBOOST = {"thread_count": 1, "verbose": False, "allow_writing_files": False}
"""Parameters with which CatBoost has one thread, is silent and writes no files."""


def imported(package: str, name: str, **parameters: Any) -> Maker:
    """Return a function that imports an estimator's class from a package and makes one."""
    return lambda: getattr(import_module(package), name)(**parameters)


class XGBoostClassifier(ClassifierMixin, BaseEstimator):
    """XGBoost's classifier for labels of any kind; it takes only 0, 1, 2 and so on.

    Parameters
    ----------
    n_estimators, learning_rate, max_depth, random_state
        As there.
    """

    def __init__(
        self,
        n_estimators: int = 100,
        learning_rate: float = 0.1,
        max_depth: int = 6,
        random_state: int | None = None,
    ) -> None:
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.max_depth = max_depth
        self.random_state = random_state

    def fit(self, X: Array, y: npt.NDArray[Any]) -> Self:
        """Learn from rows."""
        from xgboost import XGBClassifier

        self.classes_, codes = np.unique(y, return_inverse=True)
        self.machine_ = XGBClassifier(n_jobs=1, **self.get_params()).fit(X, codes)
        return self

    def predict_proba(self, X: Array) -> Array:
        """Return probabilities, shape (n, k)."""
        single = self.machine_.predict_proba(X)
        probability = np.asarray(single, dtype=np.float64)
        return probability / probability.sum(axis=1, keepdims=True)

    def predict(self, X: Array) -> npt.NDArray[Any]:
        """Return labels, shape (n,)."""
        labels: npt.NDArray[Any] = self.classes_[self.predict_proba(X).argmax(axis=1)]
        return labels


class XRFMRegressor(RegressorMixin, BaseEstimator):
    """XRFM on the processor; a fifth of the rows chooses the iteration.

    Parameters
    ----------
    bandwidth, reg : float
        As there.
    random_state : int or None
        Of that fifth, and of the package.
    """

    def __init__(
        self, bandwidth: float = 10.0, reg: float = 1e-3, random_state: int | None = None
    ) -> None:
        self.bandwidth = bandwidth
        self.reg = reg
        self.random_state = random_state

    def fit(self, X: Array, y: Array) -> Self:
        """Learn from rows."""
        from xrfm import xRFM

        parts = train_test_split(X, y[:, None], test_size=0.2, random_state=self.random_state)
        X, validation, y, truth = (_tensor(part) for part in parts)
        model = {"kernel": "l2", "bandwidth": self.bandwidth, "exponent": 1.0, "diag": False}
        fit = {"reg": self.reg, "iters": 5, "early_stop_rfm": True, "verbose": False}
        self.machine_ = xRFM(
            rfm_params={"model": {**model, "bandwidth_mode": "constant"}, "fit": fit},
            device="cpu",
            tuning_metric="mse",
            random_state=self.random_state,
            verbose=False,
        )
        self.machine_.fit(X, y, validation, truth)
        return self

    def predict(self, X: Array) -> Array:
        """Return predictions, shape (n,)."""
        return np.asarray(self.machine_.predict(_tensor(X)), dtype=np.float64).ravel()


def _tensor(values: Array) -> Any:
    import torch

    return torch.tensor(values, dtype=torch.float32)
