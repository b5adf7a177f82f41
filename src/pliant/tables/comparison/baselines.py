"""Baselines from scikit-learn and boosting packages, which are imported when they are used."""

from __future__ import annotations

from functools import partial
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from sklearn import dummy, gaussian_process
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.svm import SVC, SVR

from pliant.methods import SketchedKernelRidge, SketchedKernelRidgeClassifier
from pliant.tables.comparison.protocol import DUMMY, REFERENCE
from pliant.tables.comparison.wrappers import XGBoostClassifier
from pliant.tables.registry import SVM_GRID, Maker, Method

DECADES = tuple(10.0**power for power in range(-3, 4))
SCIKIT = "scikit-learn"

GP_WIDTH = 5.0
"""Initial length scale of a Gaussian process: the typical distance between standardised points in
12 dimensions. With length scale 1 and many features, the marginal likelihood is flat."""

LIGHTGBM: dict[str, object] = {
    "n_jobs": 1,
    "deterministic": True,
    "force_row_wise": True,
    "verbose": -1,
}
CATBOOST: dict[str, object] = {"thread_count": 1, "verbose": False, "allow_writing_files": False}
"""Settings for one thread, no output, no files and reproducible models."""


def _imported(package: str, name: str, **parameters: Any) -> Maker:
    """Return a factory that imports a class from a package and instantiates it."""
    return lambda: getattr(import_module(package), name)(**parameters)


_trees = partial(_imported, "sklearn.ensemble")


BASELINES: dict[str, Method] = {
    method.name: method
    for method in (
        Method(
            DUMMY, "Dummy", SCIKIT, dummy.DummyClassifier, dummy.DummyRegressor, {}, 10_000_000,
            "the most frequent class, or the mean of the target",
        ),
        Method(
            "linear", "Linear", SCIKIT, lambda: LogisticRegression(max_iter=2000), Ridge,
            {"C": DECADES, "alpha": DECADES}, 1_000_000, "logistic or ridge regression",
        ),
        Method(
            REFERENCE, "Gaussian SVM", SCIKIT, SVC, SVR, SVM_GRID, 100_000,
            "a support vector machine with a Gaussian kernel, C and bandwidth tuned",
            rough={"max_iter": 30_000},
        ),
        Method(
            "kernel-ridge", "Kernel ridge", SCIKIT, None, lambda: KernelRidge(kernel="rbf"),
            {"alpha": tuple(10.0**power for power in range(-6, 2)), "gamma": SVM_GRID["gamma"]},
            10_000, "ridge regression with a Gaussian kernel",
        ),
        Method(
            "sketched-ridge", "Sketched ridge",
            "Rudi, Carratino, Rosasco: FALKON: An Optimal Large Scale Kernel Method, NIPS (2017)",
            SketchedKernelRidgeClassifier, SketchedKernelRidge,
            {"alpha": tuple(10.0**power for power in range(-4, 2)), "gamma": SVM_GRID["gamma"]},
            1_000_000, "ridge regression with a Gaussian kernel and 1000 training rows as centres",
            rough={"n_centers": 300, "tol": 1e-3},
        ),
        Method(
            "gp", "Gaussian process", SCIKIT,
            lambda: gaussian_process.GaussianProcessClassifier(ConstantKernel() * RBF(GP_WIDTH)),
            lambda: gaussian_process.GaussianProcessRegressor(
                ConstantKernel() * RBF(GP_WIDTH) + WhiteKernel(0.1, (1e-6, 1e2))
            ),
            {}, 1_500,
            "bandwidth and noise variance maximise the marginal likelihood",
        ),
        Method(
            "forest", "Random forest", SCIKIT, _trees("RandomForestClassifier", n_estimators=200),
            _trees("RandomForestRegressor", n_estimators=200),
            {}, 1_000_000,
            "200 randomised trees (100 for 20 000 or more rows)",
            any_scale=True, many=(20_000, {"n_estimators": 100}),
        ),
        Method(
            "extra-trees", "Extra trees", SCIKIT,
            _trees("ExtraTreesClassifier", n_estimators=200, min_samples_leaf=2),
            _trees("ExtraTreesRegressor", n_estimators=200),
            {}, 1_000_000,
            "200 extremely randomised trees (100 for 20 000 or more rows)",
            any_scale=True, many=(20_000, {"n_estimators": 100}),
        ),
        Method(
            "boosting", "Gradient boosting", SCIKIT, _trees("HistGradientBoostingClassifier"),
            _trees("HistGradientBoostingRegressor"), {}, 1_000_000,
            "histogram-based gradient boosting", any_scale=True,
        ),
        Method(
            "xgboost", "XGBoost", "xgboost", XGBoostClassifier,
            _imported("xgboost", "XGBRegressor", n_jobs=1), {}, 1_000_000,
            "gradient boosting from the package xgboost", package="xgboost",
            any_scale=True,
        ),
        Method(
            "lightgbm", "LightGBM", "lightgbm", _imported("lightgbm", "LGBMClassifier", **LIGHTGBM),
            _imported("lightgbm", "LGBMRegressor", **LIGHTGBM), {}, 1_000_000,
            "gradient boosting from the package lightgbm", package="lightgbm",
            any_scale=True,
        ),
        Method(
            "catboost", "CatBoost", "catboost",
            _imported("catboost", "CatBoostClassifier", **CATBOOST),
            _imported("catboost", "CatBoostRegressor", **CATBOOST),
            {}, 1_000_000,
            "gradient boosting from the package catboost", package="catboost",
            any_scale=True,
        ),
    )
}  # fmt: skip
"""All baselines by name."""


def available(method: Method) -> bool:
    """Return True if the package of a method is installed."""
    return not method.package or find_spec(method.package) is not None
