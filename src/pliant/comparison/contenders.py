"""The contenders of a race: LAB-RBF and methods of scikit-learn and of boosting packages."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any

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
from sklearn.svm import SVC, SVR

from pliant.comparison.installed import (
    CATBOOST,
    LIGHTGBM,
    PACKAGES,
    XGBoostClassifier,
    XRFMRegressor,
    imported,
)
from pliant.comparison.record import DUMMY, REFERENCE
from pliant.core.text import meant, quoted
from pliant.methods import SketchedKernelRidge, SketchedKernelRidgeClassifier
from pliant.registry import METHODS, SVM_GRID, Method

DECADES = tuple(10.0**power for power in range(-3, 4))
SCIKIT = "scikit-learn"

WIDTH = 5.0
"""The first width of a Gaussian process: about the distance of standardised points in 12 features.
From a width of 1, all points are far apart in many features, and the evidence is flat."""


GP_ROWS = 1000
"""Training rows beyond which kernel ridge regression takes the place of a Gaussian process."""


def _forest(kind: type, **parameters: Any) -> Any:
    return lambda: kind(n_estimators=200, **parameters)


def _process_regressor() -> Any:
    noise = WhiteKernel(0.1, (1e-6, 1e2))
    return GaussianProcessRegressor(ConstantKernel() * RBF(WIDTH) + noise)


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
            _process_regressor, {}, 1_500,
            "one width and the noise chosen by the marginal likelihood",
        ),
        Method(
            "forest", "Random forest", SCIKIT, _forest(RandomForestClassifier),
            _forest(RandomForestRegressor),
            {"max_features": ("sqrt", 0.4, 1.0), "min_samples_leaf": (1, 4)}, 1_000_000,
            "200 randomised trees, 100 from 20 000 rows on",
            streams=True, many=(20_000, {"n_estimators": 100}), searched=False,
        ),
        Method(
            "extra-trees", "Extra trees", SCIKIT,
            _forest(ExtraTreesClassifier, min_samples_leaf=2), _forest(ExtraTreesRegressor),
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
            "xgboost", "XGBoost", "xgboost", XGBoostClassifier,
            imported("xgboost", "XGBRegressor", n_jobs=1), _boosting("max_depth", (3, 6)),
            1_000_000, "gradient boosting of the package xgboost", streams=True, searched=False,
        ),
        Method(
            "lightgbm", "LightGBM", "lightgbm", imported("lightgbm", "LGBMClassifier", **LIGHTGBM),
            imported("lightgbm", "LGBMRegressor", **LIGHTGBM), _boosting("num_leaves"),
            1_000_000, "gradient boosting of the package lightgbm", streams=True, searched=False,
        ),
        Method(
            "catboost", "CatBoost", "catboost",
            imported("catboost", "CatBoostClassifier", **CATBOOST),
            imported("catboost", "CatBoostRegressor", **CATBOOST),
            {"learning_rate": (0.03, 0.1), "depth": (4, 6)}, 1_000_000,
            "gradient boosting of the package catboost", streams=True, searched=False,
        ),
        Method(
            "xrfm", "xRFM", "xrfm", None, XRFMRegressor,
            {"bandwidth": (2.5, 5.0, 10.0, 20.0), "reg": (1e-5, 1e-3, 1e-1)}, 100_000,
            "a kernel method with a learned metric, of the package xrfm",
        ),
    )
}  # fmt: skip
"""All baselines, by name. The packages of some are installed by themselves."""


NOT_SAVED = PACKAGES
"""Baselines whose models no model file holds: they are objects of compiled code."""


def available(method: Method) -> bool:
    """Return whether the package of a method is installed."""
    return method.paper not in PACKAGES or find_spec(method.paper) is not None


def named(name: str) -> Method:
    """Return the method or baseline of this name.

    Raises
    ------
    ValueError
        If there is none; the message has close matches, or all names.
    """
    known = METHODS | BASELINES
    if name in known:
        return known[name]
    raise ValueError(f"unknown method {quoted(name)}; {meant(name, known)}")


def contenders_for(task: str, n_rows: int) -> list[Method]:
    """Return the methods of a race, those of installed packages among them.

    On 23 tables, blends with a forest were better for classes than those with extremely randomised
    trees, and worse for numbers; both together gained nothing.

    Parameters
    ----------
    task : {"classification", "regression"}
    n_rows : int
        Training rows of a fold.
    """
    names = ["lab-rbf", REFERENCE, "linear", "boosting", DUMMY]
    if task == "classification":
        names += ["forest"]
    else:
        names += ["extra-trees", "gp" if n_rows <= GP_ROWS else "kernel-ridge"]
    names += [name for name in ("catboost", "xgboost", "lightgbm") if available(named(name))]
    return [named(name) for name in names]


def installed_for(task: str) -> list[Method]:
    """Return all methods and baselines for a task that are installed; baselines first."""
    known = [*BASELINES.values(), *METHODS.values()]
    return [method for method in known if task in method.tasks and available(method)]
