"""The contenders of a race: LAB-RBF, methods of scikit-learn and of boosting packages, estimators.

Packages that need not be installed are imported where they are used. An estimator of the user's
gets numbers: missing values are filled in and text is encoded. Features and target are not scaled,
since its own pipeline may do that, and nothing is searched, unless it is a search itself.
"""

from __future__ import annotations

import pickle
from collections.abc import Mapping, Sequence
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt
from sklearn import dummy, ensemble, gaussian_process
from sklearn.base import (
    BaseEstimator,
    ClassifierMixin,
    RegressorMixin,
    clone,
    is_classifier,
    is_regressor,
)
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import train_test_split
from sklearn.pipeline import Pipeline
from sklearn.svm import SVC, SVR

from pliant.comparison.protocol import DUMMY, REFERENCE
from pliant.core.text import one_line, printable, quoted, suggest
from pliant.core.typing import Array
from pliant.methods import SketchedKernelRidge, SketchedKernelRidgeClassifier
from pliant.registry import METHODS, SVM_GRID, Maker, Method

DECADES = tuple(10.0**power for power in range(-3, 4))
SCIKIT = "scikit-learn"

GP_WIDTH = 5.0
"""First width of a Gaussian process: about the distance of standardised points in 12 features. From
a width of 1, all points are far apart in many features, and the evidence is flat."""

NOT_SAVED = ("xgboost", "lightgbm", "catboost", "xrfm")
"""Baselines of packages of their own, whose models no model file holds: they are compiled code."""

LIGHTGBM = {"n_jobs": 1, "deterministic": True, "force_row_wise": True, "verbose": -1}
CATBOOST = {"thread_count": 1, "verbose": False, "allow_writing_files": False}
"""One thread, no output, no files, and the same model in every run."""

SHOWN = 80
"""Maximum number of characters of a value in a message."""


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
    """Return the grid of gradient boosting: learning rates, sizes of trees, rounds."""
    return {"learning_rate": (0.03, 0.1), size: sizes, rounds: (100, 300)}


BASELINES: dict[str, Method] = {
    method.name: method
    for method in (
        Method(
            DUMMY, "Dummy", SCIKIT, dummy.DummyClassifier, dummy.DummyRegressor, {}, 10_000_000,
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
            lambda: gaussian_process.GaussianProcessClassifier(ConstantKernel() * RBF(GP_WIDTH)),
            lambda: gaussian_process.GaussianProcessRegressor(
                ConstantKernel() * RBF(GP_WIDTH) + WhiteKernel(0.1, (1e-6, 1e2))
            ),
            {}, 1_500,
            "one width and the noise chosen by the marginal likelihood",
        ),
        Method(
            "forest", "Random forest", SCIKIT, partial(ensemble.RandomForestClassifier, 200),
            partial(ensemble.RandomForestRegressor, 200),
            {"max_features": ("sqrt", 0.4, 1.0), "min_samples_leaf": (1, 4)}, 1_000_000,
            "200 randomised trees, 100 from 20 000 rows on",
            streams=True, many=(20_000, {"n_estimators": 100}), searched=False,
        ),
        Method(
            "extra-trees", "Extra trees", SCIKIT,
            partial(ensemble.ExtraTreesClassifier, 200, min_samples_leaf=2),
            partial(ensemble.ExtraTreesRegressor, 200),
            {"max_features": ("sqrt", 0.4, 1.0), "min_samples_leaf": (1, 4)}, 1_000_000,
            "200 extremely randomised trees, 100 from 20 000 rows on",
            streams=True, many=(20_000, {"n_estimators": 100}), searched=False,
        ),
        Method(
            "boosting", "Gradient boosting", SCIKIT, ensemble.HistGradientBoostingClassifier,
            ensemble.HistGradientBoostingRegressor, _boosting("max_leaf_nodes", rounds="max_iter"),
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
"""All baselines, by name."""


def available(method: Method) -> bool:
    """Return True if the package of a method is installed."""
    return method.paper not in NOT_SAVED or find_spec(method.paper) is not None


def named(name: str) -> Method:
    """Return the method or baseline of this name, or raise ValueError with close matches."""
    known = METHODS | BASELINES
    if name in known:
        return known[name]
    raise ValueError(f"unknown method {quoted(name)}; {suggest(name, known)}")


def contenders_for(task: str, n_rows: int) -> list[Method]:
    """Return the methods of a race on n_rows training rows, boosting packages if installed.

    On 23 tables, blends with a forest were better for classes than those with extremely randomised
    trees, and worse for numbers; both together gained nothing.
    """
    names = ["lab-rbf", REFERENCE, "linear", "boosting", DUMMY]
    if task == "classification":
        names += ["forest"]
    else:
        names += ["extra-trees", "gp" if n_rows <= 1000 else "kernel-ridge"]
    names += [name for name in ("catboost", "xgboost", "lightgbm") if available(named(name))]
    return [named(name) for name in names]


def methods_of(
    given: Sequence[Any] | Literal["all"] | None, task: str, n_rows: int
) -> list[Method]:
    """Return methods from names, methods, estimators, and pairs of a name and an estimator.

    None stands for the contenders of a race, "all" for all methods that are installed. Raises
    TypeError for any other object; ValueError for an empty list, a method given twice, an unknown
    name, or an estimator that cannot be copied or sent to another process.
    """
    if given is None:
        return contenders_for(task, n_rows)
    if isinstance(given, str) and given == "all":
        known = [*BASELINES.values(), *METHODS.values()]
        return [method for method in known if task in method.tasks and available(method)]
    if isinstance(given, str) or not isinstance(given, Sequence):
        raise TypeError(
            "expected methods to be a list of names and estimators, such as ['lab-rbf', SVC()], "
            f"got {one_line(given, SHOWN)}"
        )
    chosen: list[Method] = []
    for each in given:
        chosen.append(_method_of(each, [method.name for method in chosen]))
    names = [method.name for method in chosen]
    if not names:
        raise ValueError("expected at least one method, got none")
    if repeated := [name for name in names if names.count(name) > 1]:
        raise ValueError(f"expected each method once, got {quoted(repeated[0])} twice")
    return chosen


def is_given(method: Method) -> bool:
    """Return True if a method is an estimator of the user's."""
    return getattr(method.classifier or method.regressor, "func", None) is clone


def _method_of(given: Any, taken: Sequence[str]) -> Method:
    """Return the method of a name, a method, an estimator or a pair.

    An estimator without a name gets that of its class; the second SVC is ``SVC-2``.
    """
    if isinstance(given, Method):
        return given
    if isinstance(given, str):
        return named(given)
    if isinstance(given, tuple) and len(given) == 2:
        return _as_method(given[1], _checked_name(given[0]))
    name = _class_name(given)
    numbered = (f"{name}-{number}" for number in range(2, len(taken) + 2))
    return _as_method(given, next(each for each in (name, *numbered) if each not in taken))


def _as_method(given: Any, name: str) -> Method:
    """Return an estimator as a method without a grid, which takes features as they are."""
    estimator = _checked(given)
    parameters = estimator.get_params().items()
    seeds = {key: seed for key, seed in parameters if key.rpartition("__")[2] == "random_state"}
    return Method(
        name=name,
        title=name,
        paper="",
        classifier=partial(clone, estimator) if is_classifier(estimator) else None,
        regressor=partial(clone, estimator) if is_regressor(estimator) else None,
        grid={},
        max_rows=10_000_000,  # the user knows
        summary=f"{_class_name(estimator)}, as it was given",
        streams=True,
        given={key: seed for key, seed in seeds.items() if seed is not None},
    )


def _checked(given: Any) -> BaseEstimator:
    """Return a copy of an estimator that can be sent to another process, or raise an error."""
    is_class = isinstance(given, type)
    try:
        learns = not is_class and hasattr(given, "fit") and hasattr(given, "get_params")
        learns = learns and (is_classifier(given) or is_regressor(given))
    except (AttributeError, TypeError, ValueError):
        learns = False
    if not learns:
        hint = f": expected {given.__name__}()" if is_class else ""
        raise TypeError(
            "expected a method as its name, a classifier or a regressor with scikit-learn's "
            f"interface, or a pair ('name', estimator), got {one_line(given, SHOWN)}{hint}"
        )
    try:
        copy: BaseEstimator = clone(given)
        pickle.dumps(copy)
    except Exception as error:  # of the constructor or the parameters of others
        reason = printable(" ".join(str(error).split()), 200)
        raise ValueError(
            "expected an estimator that can be cloned and pickled, got "
            f"{one_line(given, SHOWN)}: {reason} (a named function can be pickled, a lambda "
            "cannot)"
        ) from None
    return copy


def _class_name(given: object) -> str:
    """Return the name of a class; of a pipeline, the names of its last two steps."""
    if isinstance(given, Pipeline):
        steps = [step for _, step in given.steps if step not in (None, "passthrough")]
        return " + ".join(map(_class_name, steps[-2:]))
    return type(given).__name__


def _checked_name(name: object) -> str:
    """Return a name from the user, or raise an error."""
    if not isinstance(name, str) or not name.strip():
        raise TypeError(
            f"expected a pair ('name', estimator), got the name {one_line(name, SHOWN)}"
        )
    if name in METHODS | BASELINES:
        raise ValueError(f"{quoted(name)} is the name of a method of pliant: choose another one")
    return printable(name, SHOWN)
