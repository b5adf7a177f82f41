"""The contenders of a race: LAB-RBF and methods of scikit-learn and of boosting packages.

Packages that need not be installed are imported where they are used.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.gaussian_process import GaussianProcessClassifier, GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import train_test_split
from sklearn.svm import SVC, SVR

from pliant.comparison.record import DUMMY, REFERENCE
from pliant.core.text import meant, quoted
from pliant.core.typing import Array
from pliant.methods import SketchedKernelRidge, SketchedKernelRidgeClassifier
from pliant.registry import METHODS, SVM_GRID, Maker, Method

DECADES = tuple(10.0**power for power in range(-3, 4))
SCIKIT = "scikit-learn"

WIDTH = 5.0
"""The first width of a Gaussian process: about the distance of standardised points in 12 features.
From a width of 1, all points are far apart in many features, and the evidence is flat."""

GP_ROWS = 1000
"""Training rows beyond which kernel ridge regression takes the place of a Gaussian process."""

NOT_SAVED = ("xgboost", "lightgbm", "catboost", "xrfm")
"""Baselines of packages of their own, whose models no model file holds: they are compiled code."""

LIGHTGBM = {"n_jobs": 1, "deterministic": True, "force_row_wise": True, "verbose": -1}
"""Parameters with which LightGBM has one thread, is repeatable and silent."""

CATBOOST = {"thread_count": 1, "verbose": False, "allow_writing_files": False}
"""Parameters with which CatBoost has one thread, is silent and writes no files."""


class _XGBoostClassifier(ClassifierMixin, BaseEstimator):
    """XGBoost's classifier for labels of any kind; it takes only 0, 1, 2 and so on."""

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
        from xgboost import XGBClassifier

        self.classes_, codes = np.unique(y, return_inverse=True)
        self.machine_ = XGBClassifier(n_jobs=1, **self.get_params()).fit(X, codes)
        return self

    def predict_proba(self, X: Array) -> Array:
        probability = np.asarray(self.machine_.predict_proba(X), dtype=np.float64)
        return probability / probability.sum(axis=1, keepdims=True)

    def predict(self, X: Array) -> npt.NDArray[Any]:
        labels: npt.NDArray[Any] = self.classes_[self.predict_proba(X).argmax(axis=1)]
        return labels


class _XRFMRegressor(RegressorMixin, BaseEstimator):
    """XRFM on the processor; a fifth of the rows chooses the iteration."""

    def __init__(
        self, bandwidth: float = 10.0, reg: float = 1e-3, random_state: int | None = None
    ) -> None:
        self.bandwidth = bandwidth
        self.reg = reg
        self.random_state = random_state

    def fit(self, X: Array, y: Array) -> Self:
        from xrfm import xRFM

        parts = train_test_split(X, y[:, None], test_size=0.2, random_state=self.random_state)
        X, validation, y, truth = map(_tensor, parts)
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
        return np.asarray(self.machine_.predict(_tensor(X)), dtype=np.float64).ravel()


def _tensor(values: Array) -> Any:
    import torch

    return torch.tensor(values, dtype=torch.float32)


def _imported(package: str, name: str, **parameters: Any) -> Maker:
    """Return a function that imports an estimator's class from a package and makes one."""
    return lambda: getattr(import_module(package), name)(**parameters)


def _boosting(
    size: str, sizes: tuple[float, ...] = (7, 31), rounds: str = "n_estimators"
) -> Mapping[str, tuple[float | str, ...]]:
    """Return the grid of gradient boosting: its learning rate, the size of trees, the rounds."""
    return {"learning_rate": (0.03, 0.1), size: sizes, rounds: (100, 300)}


BASELINES: dict[str, Method] = {
    method.name: method
    for method in (
        Method(
            DUMMY, "Dummy", SCIKIT, DummyClassifier, DummyRegressor, {}, 10_000_000,
            "the most frequent class or the mean, whatever the features",
        ),
        Method(
            "linear", "Linear", SCIKIT, lambda: LogisticRegression(max_iter=2000), Ridge,
            {"C": DECADES, "alpha": DECADES}, 1_000_000, "logistic or ridge regression",
        ),
        Method(
            REFERENCE, "Gaussian SVM", SCIKIT, SVC, SVR, SVM_GRID, 100_000,
            "a support vector machine with one Gaussian kernel, its C and width tuned",
            rough={"max_iter": 30_000},
        ),
        Method(
            "kernel-ridge", "Kernel ridge", SCIKIT, None, lambda: KernelRidge(kernel="rbf"),
            {"alpha": tuple(10.0**power for power in range(-6, 2)), "gamma": SVM_GRID["gamma"]},
            10_000, "ridge regression with one Gaussian kernel",
        ),
        Method(
            "sketched-ridge", "Sketched ridge",
            "Rudi, Carratino, Rosasco: FALKON: An Optimal Large Scale Kernel Method, NIPS (2017)",
            SketchedKernelRidgeClassifier, SketchedKernelRidge,
            {"alpha": tuple(10.0**power for power in range(-4, 2)), "gamma": SVM_GRID["gamma"]},
            1_000_000, "ridge regression with one Gaussian kernel on 1000 rows as centres",
            rough={"n_centers": 300, "tol": 1e-3},
        ),
        Method(
            "gp", "Gaussian process", SCIKIT,
            lambda: GaussianProcessClassifier(ConstantKernel() * RBF(WIDTH)),
            lambda: GaussianProcessRegressor(
                ConstantKernel() * RBF(WIDTH) + WhiteKernel(0.1, (1e-6, 1e2))
            ),
            {}, 1_500,
            "one width and the noise chosen by the marginal likelihood",
        ),
        Method(
            "forest", "Random forest", SCIKIT, partial(RandomForestClassifier, 200),
            partial(RandomForestRegressor, 200),
            {"max_features": ("sqrt", 0.4, 1.0), "min_samples_leaf": (1, 4)}, 1_000_000,
            "200 randomised trees, 100 from 20 000 rows on",
            streams=True, many=(20_000, {"n_estimators": 100}), searched=False,
        ),
        Method(
            "extra-trees", "Extra trees", SCIKIT,
            partial(ExtraTreesClassifier, 200, min_samples_leaf=2),
            partial(ExtraTreesRegressor, 200),
            {"max_features": ("sqrt", 0.4, 1.0), "min_samples_leaf": (1, 4)}, 1_000_000,
            "200 extremely randomised trees, 100 from 20 000 rows on",
            streams=True, many=(20_000, {"n_estimators": 100}), searched=False,
        ),
        Method(
            "boosting", "Gradient boosting", SCIKIT, HistGradientBoostingClassifier,
            HistGradientBoostingRegressor, _boosting("max_leaf_nodes", rounds="max_iter"),
            1_000_000, "histogram-based gradient boosting", streams=True, searched=False,
        ),
        Method(
            "xgboost", "XGBoost", "xgboost", _XGBoostClassifier,
            _imported("xgboost", "XGBRegressor", n_jobs=1), _boosting("max_depth", (3, 6)),
            1_000_000, "gradient boosting of the package xgboost", streams=True, searched=False,
        ),
        Method(
            "lightgbm", "LightGBM", "lightgbm", _imported("lightgbm", "LGBMClassifier", **LIGHTGBM),
            _imported("lightgbm", "LGBMRegressor", **LIGHTGBM), _boosting("num_leaves"),
            1_000_000, "gradient boosting of the package lightgbm", streams=True, searched=False,
        ),
        Method(
            "catboost", "CatBoost", "catboost",
            _imported("catboost", "CatBoostClassifier", **CATBOOST),
            _imported("catboost", "CatBoostRegressor", **CATBOOST),
            {"learning_rate": (0.03, 0.1), "depth": (4, 6)}, 1_000_000,
            "gradient boosting of the package catboost", streams=True, searched=False,
        ),
        Method(
            "xrfm", "xRFM", "xrfm", None, _XRFMRegressor,
            {"bandwidth": (2.5, 5.0, 10.0, 20.0), "reg": (1e-5, 1e-3, 1e-1)}, 100_000,
            "a kernel method with a learned metric, of the package xrfm",
        ),
    )
}  # fmt: skip
"""All baselines, by name. The packages of some are installed by themselves."""


def available(method: Method) -> bool:
    """Return whether the package of a method is installed."""
    return method.paper not in NOT_SAVED or find_spec(method.paper) is not None


def named(name: str) -> Method:
    """Return the method or baseline of this name, or raise ValueError with close matches."""
    known = METHODS | BASELINES
    if name in known:
        return known[name]
    raise ValueError(f"unknown method {quoted(name)}; {meant(name, known)}")


def contenders_for(task: str, n_rows: int) -> list[Method]:
    """Return the methods of a race for some training rows, those of installed packages among them.

    On 23 tables, blends with a forest were better for classes than those with extremely randomised
    trees, and worse for numbers; both together gained nothing.
    """
    names = ["lab-rbf", REFERENCE, "linear", "boosting", DUMMY]
    if task == "classification":
        names += ["forest"]
    else:
        names += ["extra-trees", "gp" if n_rows <= GP_ROWS else "kernel-ridge"]
    names += [name for name in ("catboost", "xgboost", "lightgbm") if available(named(name))]
    return [named(name) for name in names]
