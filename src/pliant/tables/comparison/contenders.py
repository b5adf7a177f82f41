"""Baselines from scikit-learn and boosting packages, default methods, and user estimators.

Optional packages are imported when they are used. User estimators get imputed and encoded features;
scaling is left to their own pipelines, and their settings are not tuned.
"""

from __future__ import annotations

import pickle
from collections.abc import Collection, Mapping, Sequence
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt
from sklearn import dummy, ensemble, gaussian_process
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import train_test_split
from sklearn.pipeline import Pipeline
from sklearn.svm import SVC, SVR

from pliant.core.estimators import BaseEstimator, ClassifierMixin, RegressorMixin
from pliant.core.text import one_line, printable, quoted, suggest
from pliant.core.typing import Array
from pliant.methods import SketchedKernelRidge, SketchedKernelRidgeClassifier
from pliant.records import Unfitted, to_record
from pliant.tables.comparison.protocol import DUMMY, REFERENCE
from pliant.tables.registry import METHODS, SVM_GRID, Maker, Method

DECADES = tuple(10.0**power for power in range(-3, 4))
SCIKIT = "scikit-learn"

GP_WIDTH = 5.0
"""Initial length scale of a Gaussian process: the typical distance between standardised points in
12 dimensions. With length scale 1 and many features, the marginal likelihood is flat."""

OPTIONAL, NOT_SAVED = ("xgboost", "lightgbm", "catboost", "xrfm"), ("xrfm",)
"""Optional packages, and those whose models have no record, so that no file can hold them."""

LIGHTGBM: dict[str, object] = {
    "n_jobs": 1,
    "deterministic": True,
    "force_row_wise": True,
    "verbose": -1,
}
CATBOOST: dict[str, object] = {"thread_count": 1, "verbose": False, "allow_writing_files": False}
"""Settings for one thread, no output, no files and reproducible models."""

SHOWN = 80
"""Maximum number of characters of a value in a message."""


class _XGBoostClassifier(ClassifierMixin, BaseEstimator):
    """XGBoost's classifier with label encoding; XGBoost itself requires labels 0, 1, 2, ..."""

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
        return np.asarray(self.classes_[self.predict_proba(X).argmax(axis=1)])

    def _to_record(self) -> Any:
        """Return the record of the fitted trees, with the labels."""
        if not hasattr(self, "machine_"):
            return Unfitted.of(self, allow_nan=True)
        record = to_record(self.machine_)
        record.origin, record.settings = type(self).__name__, self.get_params()
        record.classes_ = self.classes_
        return record


class _XRFMRegressor(RegressorMixin, BaseEstimator):
    """xRFM on the CPU, with a fifth of the rows for early stopping."""

    def __init__(
        self, bandwidth: float = 10.0, reg: float = 1e-3, random_state: int | None = None
    ) -> None:
        self.bandwidth = bandwidth
        self.reg = reg
        self.random_state = random_state

    def fit(self, X: Array, y: Array) -> Self:
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
        import torch

        tensor = torch.tensor(X, dtype=torch.float32)
        return np.asarray(self.machine_.predict(tensor), dtype=np.float64).ravel()


def _imported(package: str, name: str, **parameters: Any) -> Maker:
    """Return a factory that imports a class from a package and instantiates it."""
    return lambda: getattr(import_module(package), name)(**parameters)


def _boosting(
    size: str, sizes: tuple[float, ...] = (7, 31), rounds: str = "n_estimators"
) -> Mapping[str, tuple[float | str, ...]]:
    """Return the grid for gradient boosting: learning rate, tree size, number of rounds."""
    return {"learning_rate": (0.03, 0.1), size: sizes, rounds: (100, 300)}


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
            "forest", "Random forest", SCIKIT, partial(ensemble.RandomForestClassifier, 200),
            partial(ensemble.RandomForestRegressor, 200),
            {"max_features": ("sqrt", 0.4, 1.0), "min_samples_leaf": (1, 4)}, 1_000_000,
            "200 randomised trees (100 for 20 000 or more rows)",
            streams=True, many=(20_000, {"n_estimators": 100}), searched=False,
        ),
        Method(
            "extra-trees", "Extra trees", SCIKIT,
            partial(ensemble.ExtraTreesClassifier, 200, min_samples_leaf=2),
            partial(ensemble.ExtraTreesRegressor, 200),
            {"max_features": ("sqrt", 0.4, 1.0), "min_samples_leaf": (1, 4)}, 1_000_000,
            "200 extremely randomised trees (100 for 20 000 or more rows)",
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
            1_000_000, "gradient boosting from the package xgboost", streams=True, searched=False,
        ),
        Method(
            "lightgbm", "LightGBM", "lightgbm", _imported("lightgbm", "LGBMClassifier", **LIGHTGBM),
            _imported("lightgbm", "LGBMRegressor", **LIGHTGBM), _boosting("num_leaves"),
            1_000_000, "gradient boosting from the package lightgbm", streams=True, searched=False,
        ),
        Method(
            "catboost", "CatBoost", "catboost",
            _imported("catboost", "CatBoostClassifier", **CATBOOST),
            _imported("catboost", "CatBoostRegressor", **CATBOOST),
            {"learning_rate": (0.03, 0.1), "depth": (4, 6)}, 1_000_000,
            "gradient boosting from the package catboost", streams=True, searched=False,
        ),
        Method(
            "xrfm", "xRFM", "xrfm", None, _XRFMRegressor,
            {"bandwidth": (2.5, 5.0, 10.0, 20.0), "reg": (1e-5, 1e-3, 1e-1)}, 100_000,
            "a kernel method with a learned metric, from the package xrfm",
        ),
    )
}  # fmt: skip
"""All baselines by name."""


def available(method: Method) -> bool:
    """Return True if the package of a method is installed."""
    return method.paper not in OPTIONAL or find_spec(method.paper) is not None


def named(name: str) -> Method:
    """Return the method or baseline with this name, or raise ValueError with close matches."""
    known = METHODS | BASELINES
    if name in known:
        return known[name]
    raise ValueError(f"unknown method {quoted(name)}; {suggest(name, known)}")


def contenders_for(task: str, n_rows: int) -> list[Method]:
    """Return the default methods for `n_rows` training rows, including installed boosting packages.

    On 23 tables, blends with a random forest beat blends with extremely randomised trees for
    classification, and lost to them for regression; using both did not improve the blend.
    """
    trees = ["forest"]
    if task == "regression":
        trees = ["extra-trees", "gp" if n_rows <= 1000 else "kernel-ridge"]
    names = ["lab-rbf", REFERENCE, "linear", "boosting", DUMMY, *trees]
    names += [name for name in ("catboost", "xgboost", "lightgbm") if available(named(name))]
    return [named(name) for name in names]


def methods_of(
    given: Sequence[Any] | Literal["all"] | None, task: str, n_rows: int
) -> list[Method]:
    """Convert method names, `Method` objects, estimators and (name, estimator) pairs to methods.

    None stands for the default methods, "all" for all installed methods. Raises TypeError for any
    other object, and ValueError for an empty list, a duplicate, an unknown name, or an estimator
    that cannot be cloned and pickled.
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
    chosen: dict[str, Method] = {}
    for each in given:
        method = _method_of(each, chosen)
        if method.name in chosen:
            raise ValueError(f"expected each method once, got {quoted(method.name)} twice")
        chosen[method.name] = method
    if not chosen:
        raise ValueError("expected at least one method, got none")
    return list(chosen.values())


def is_given(method: Method) -> bool:
    """Return True if a method wraps a user's estimator."""
    return getattr(method.classifier or method.regressor, "func", None) is clone


def _method_of(given: Any, taken: Collection[str]) -> Method:
    """Convert a method name, a `Method`, an estimator or a (name, estimator) pair to a `Method`.

    An unnamed estimator is named after its class; the second SVC is ``SVC-2``.
    """
    if isinstance(given, Method):
        return given
    if isinstance(given, str):
        return named(given)
    if isinstance(given, tuple) and len(given) == 2:
        name, estimator = given
        if not isinstance(name, str) or not name.strip():
            raise TypeError(
                f"expected a string as the name in ('name', estimator), got {one_line(name, SHOWN)}"
            )
        if name in METHODS | BASELINES:
            raise ValueError(
                f"{quoted(name)} is the name of a built-in method: choose another name"
            )
        return _as_method(estimator, printable(name, SHOWN))
    name = _class_name(given)
    numbered = (f"{name}-{number}" for number in range(2, len(taken) + 2))
    return _as_method(given, next(each for each in (name, *numbered) if each not in taken))


def _as_method(given: Any, name: str) -> Method:
    """Wrap an estimator as a method with no grid and no scaling."""
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
        max_rows=10_000_000,  # practically unlimited
        summary=f"{_class_name(estimator)}, a user's estimator",
        streams=True,
        given={key: seed for key, seed in seeds.items() if seed is not None},
    )


def _checked(given: Any) -> BaseEstimator:
    """Return a clone of an estimator; raise unless it can be cloned and pickled."""
    is_class = isinstance(given, type)
    try:
        learns = not is_class and hasattr(given, "fit") and hasattr(given, "get_params")
        learns = learns and (is_classifier(given) or is_regressor(given))
    except (AttributeError, TypeError, ValueError):
        learns = False
    if not learns:
        hint = f": expected {given.__name__}()" if is_class else ""
        raise TypeError(
            "expected a method name, a classifier or a regressor with scikit-learn's interface, "
            f"or a pair ('name', estimator), got {one_line(given, SHOWN)}{hint}"
        )
    try:
        copy: BaseEstimator = clone(given)
        pickle.dumps(copy)
    except Exception as error:  # user code may raise anything
        reason = printable(" ".join(str(error).split()), 200)
        raise ValueError(
            "expected an estimator that can be cloned and pickled, got "
            f"{one_line(given, SHOWN)}: {reason} (named functions can be pickled, a lambda cannot)"
        ) from None
    return copy


def _class_name(given: object) -> str:
    """Return the class name of an estimator; for a pipeline, the names of its last two steps."""
    if isinstance(given, Pipeline):
        steps = [step for _, step in given.steps if step not in (None, "passthrough")]
        return " + ".join(map(_class_name, steps[-2:]))
    return type(given).__name__
