"""The methods to compare with: plain ones of scikit-learn, and boosted trees where installed."""

from __future__ import annotations

from collections.abc import Mapping
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
from pliant.registry import METHODS, SVM_GRID, Maker, Method

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


def _baseline(
    name: str,
    title: str,
    classifier: Maker | None,
    regressor: Maker | None,
    grid: Mapping[str, tuple[float | str, ...]],
    max_rows: int,
    summary: str,
    **more: Any,
) -> Method:
    """Return a baseline, of scikit-learn unless `more` has another ``paper``, its package."""
    package = {"paper": SCIKIT} | more
    return Method(
        name=name,
        title=title,
        classifier=classifier,
        regressor=regressor,
        grid=grid,
        max_rows=max_rows,
        summary=summary,
        **package,
    )


def _boosting(
    size: str, sizes: tuple[float, ...] = (7, 31), rounds: str = "n_estimators"
) -> Mapping[str, tuple[float | str, ...]]:
    """Return the grid of gradient boosting: its learning rate, the size of trees, the rounds."""
    return {"learning_rate": (0.03, 0.1), size: sizes, rounds: (100, 300)}


BASELINES: dict[str, Method] = {
    method.name: method
    for method in (
        _baseline(
            DUMMY, "Dummy", DummyClassifier, DummyRegressor, {}, 10_000_000,
            "the most frequent class or the mean, whatever the features",
        ),
        _baseline(
            "linear", "Linear", _linear_classifier, Ridge, {"C": DECADES, "alpha": DECADES},
            1_000_000, "logistic or ridge regression",
        ),
        _baseline(
            REFERENCE, "Gaussian SVM", SVC, SVR, SVM_GRID, 100_000,
            "a support vector machine with one Gaussian kernel, its C and width tuned",
        ),
        _baseline(
            "kernel-ridge", "Kernel ridge", None, lambda: KernelRidge(kernel="rbf"),
            {"alpha": tuple(10.0**power for power in range(-6, 2)), "gamma": SVM_GRID["gamma"]},
            10_000, "ridge regression with one Gaussian kernel",
        ),
        _baseline(
            "gp", "Gaussian process", _process_classifier, _process_regressor, {}, 1_500,
            "one width and the noise chosen by the marginal likelihood",
        ),
        _baseline(
            "forest", "Random forest", _forest(RandomForestClassifier),
            _forest(RandomForestRegressor),
            {"max_features": ("sqrt", 0.4, 1.0), "min_samples_leaf": (1, 4)}, 1_000_000,
            "200 randomised trees, 100 from 20 000 rows on",
            streams=True, rough={"n_estimators": 50}, many=(20_000, {"n_estimators": 100}),
        ),
        _baseline(
            "boosting", "Gradient boosting", HistGradientBoostingClassifier,
            HistGradientBoostingRegressor, _boosting("max_leaf_nodes", rounds="max_iter"),
            1_000_000, "histogram-based gradient boosting", streams=True,
        ),
        _baseline(
            "xgboost", "XGBoost", installed.XGBoostClassifier, installed.xgboost_regressor,
            _boosting("max_depth", (3, 6)), 1_000_000,
            "gradient boosting of the package xgboost", paper="xgboost", streams=True,
        ),
        _baseline(
            "lightgbm", "LightGBM", installed.lightgbm_classifier, installed.lightgbm_regressor,
            _boosting("num_leaves"), 1_000_000,
            "gradient boosting of the package lightgbm", paper="lightgbm", streams=True,
        ),
        _baseline(
            "xrfm", "xRFM", None, installed.XRFMRegressor,
            {"bandwidth": (2.5, 5.0, 10.0, 20.0), "reg": (1e-5, 1e-3, 1e-1)}, 100_000,
            "a kernel method with a learned metric, of the package xrfm", paper="xrfm",
        ),
    )
}  # fmt: skip
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
