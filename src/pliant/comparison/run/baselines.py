"""The methods to compare with: plain ones of scikit-learn, and boosted trees where installed."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import (
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

from pliant.comparison.record import DUMMY, REFERENCE
from pliant.comparison.run import installed
from pliant.core.files import quoted
from pliant.core.text import meant
from pliant.registry import METHODS, SVM_GRID, Method

__all__ = ["BASELINES", "available", "installed_for", "is_baseline", "named"]

DECADES = tuple(10.0**power for power in range(-3, 4))
SCIKIT = "scikit-learn"

WIDTH = 5.0
"""The first width of a Gaussian process: about the distance of standardised points in 12 features.
From a width of 1, all points are far apart in many features, and the evidence is flat."""


def _linear_classifier() -> Any:
    return LogisticRegression(max_iter=2000)


def _forest(kind: type) -> Any:
    return lambda: kind(n_estimators=200)


def _process_classifier() -> Any:
    return GaussianProcessClassifier(ConstantKernel() * RBF(WIDTH))


def _process_regressor() -> Any:
    noise = WhiteKernel(0.1, (1e-6, 1e2))
    return GaussianProcessRegressor(ConstantKernel() * RBF(WIDTH) + noise)


def _boosted(
    name: str,
    title: str,
    package: str,
    summary: str,
    *,
    size: str,
    sizes: tuple[float, ...] = (7, 31),
    rounds: str = "n_estimators",
    **makers: Any,
) -> Method:
    return Method(
        name=name,
        title=title,
        paper=package,
        grid={"learning_rate": (0.03, 0.1), size: sizes, rounds: (100, 300)},
        max_rows=1_000_000,
        summary=summary,
        streams=True,
        **makers,
    )


BASELINES: dict[str, Method] = {
    method.name: method
    for method in (
        Method(
            name=DUMMY,
            title="Dummy",
            paper=SCIKIT,
            classifier=DummyClassifier,
            regressor=DummyRegressor,
            grid={},
            max_rows=10_000_000,
            summary="the most frequent class or the mean, whatever the features",
        ),
        Method(
            name="linear",
            title="Linear",
            paper=SCIKIT,
            classifier=_linear_classifier,
            regressor=Ridge,
            grid={"C": DECADES, "alpha": DECADES},
            max_rows=1_000_000,
            summary="logistic or ridge regression",
        ),
        Method(
            name=REFERENCE,
            title="Gaussian SVM",
            paper=SCIKIT,
            classifier=SVC,
            regressor=SVR,
            grid=SVM_GRID,
            max_rows=100_000,
            summary="a support vector machine with one Gaussian kernel, its C and width tuned",
        ),
        Method(
            name="kernel-ridge",
            title="Kernel ridge",
            paper=SCIKIT,
            classifier=None,
            regressor=lambda: KernelRidge(kernel="rbf"),
            grid={
                "alpha": tuple(10.0**power for power in range(-6, 2)),
                "gamma": SVM_GRID["gamma"],
            },
            max_rows=10_000,
            summary="ridge regression with one Gaussian kernel",
        ),
        Method(
            name="gp",
            title="Gaussian process",
            paper=SCIKIT,
            classifier=_process_classifier,
            regressor=_process_regressor,
            grid={},
            max_rows=1_500,
            summary="one width and the noise chosen by the evidence",
        ),
        Method(
            name="forest",
            title="Random forest",
            paper=SCIKIT,
            classifier=_forest(RandomForestClassifier),
            regressor=_forest(RandomForestRegressor),
            grid={"max_features": ("sqrt", 0.4, 1.0), "min_samples_leaf": (1, 4)},
            max_rows=1_000_000,
            summary="200 randomised trees, 100 from 20 000 rows on",
            streams=True,
            rough={"n_estimators": 50},
            many=(20_000, {"n_estimators": 100}),
        ),
        _boosted(
            "boosting",
            "Gradient boosting",
            SCIKIT,
            "histogram-based gradient boosting",
            size="max_leaf_nodes",
            rounds="max_iter",
            classifier=HistGradientBoostingClassifier,
            regressor=HistGradientBoostingRegressor,
        ),
        _boosted(
            "xgboost",
            "XGBoost",
            "xgboost",
            "gradient boosting of the package xgboost",
            size="max_depth",
            sizes=(3, 6),
            classifier=installed.XGBoostClassifier,
            regressor=installed.xgboost_regressor,
        ),
        _boosted(
            "lightgbm",
            "LightGBM",
            "lightgbm",
            "gradient boosting of the package lightgbm",
            size="num_leaves",
            classifier=installed.lightgbm_classifier,
            regressor=installed.lightgbm_regressor,
        ),
        Method(
            name="xrfm",
            title="xRFM",
            paper="xrfm",
            classifier=None,
            regressor=installed.XRFMRegressor,
            grid={"bandwidth": (2.5, 5.0, 10.0, 20.0), "reg": (1e-5, 1e-3, 1e-1)},
            max_rows=100_000,
            summary="a kernel method with a learned metric, of the package xrfm",
        ),
    )
}
"""All baselines, by name. That of three is installed by itself."""


def is_baseline(name: str) -> bool:
    """Return whether this is a method to compare with, and none that learns a kernel."""
    return name in BASELINES


def available(method: Method) -> bool:
    """Return whether the package of a method is installed."""
    return method.paper not in installed.PACKAGES or find_spec(method.paper) is not None


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


def installed_for(task: str) -> list[Method]:
    """Return all methods and baselines for a task that are installed; baselines first."""
    known = [*BASELINES.values(), *METHODS.values()]
    return [method for method in known if task in method.tasks and available(method)]
