"""Estimators of scikit-learn in model files: those that need a check, and those kept otherwise."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from sklearn.compose import TransformedTargetRegressor
from sklearn.pipeline import Pipeline
from sklearn.svm import SVC, SVR

from pliant.persistence._trees import BOOSTED, FORESTS, saved_trees

SVM_KERNELS = ("linear", "poly", "rbf", "sigmoid")

SVM_SETTINGS = frozenset({"C", "nu", "epsilon", "class_weight", "random_state", "probability"})
"""Settings that a support vector machine of either kind has as attributes."""

SVM_STATE = frozenset(
    {
        *("_sparse", "n_features_in_", "feature_names_in_", "class_weight_", "classes_"),
        *("_effective_probability", "_gamma", "support_", "support_vectors_", "_n_support"),
        *("dual_coef_", "intercept_", "_dual_coef_", "_intercept_", "_probA", "_probB"),
        *("fit_status_", "_num_iter", "shape_fit_", "n_iter_", "_sklearn_version"),
    }
)
"""All attributes of a fitted support vector machine; any other one could replace a method."""


def storable(model: Any) -> Any:
    """Return a model with its trees as plain arrays; the same object if there are none."""
    if isinstance(model, (*FORESTS, *BOOSTED)) and hasattr(model, "n_features_in_"):
        return saved_trees(model)
    if type(model) is Pipeline:
        steps = [(name, storable(step)) for name, step in model.steps]
        if all(new is old for (_, new), (_, old) in zip(steps, model.steps, strict=True)):
            return model
        changed = copy.copy(model)
        changed.steps = steps
        return changed
    if type(model) is TransformedTargetRegressor and hasattr(model, "regressor_"):
        inside = storable(model.regressor_)
        if inside is model.regressor_:
            return model
        changed = copy.copy(model)
        changed.regressor_ = changed.regressor = inside
        return changed
    return model


def check_svm(model: Any) -> None:
    """Raise ValueError unless the arrays of a support vector machine fit each other.

    Compiled code reads them without a look at their sizes: the support vectors, class by class, a
    row of coefficients for each class but one, and an intercept for each pair of classes.
    """
    state = vars(model)
    settings = SVM_SETTINGS | model.get_params(deep=False).keys()
    if state.keys() <= settings:
        return  # not fitted
    if foreign := state.keys() - settings - SVM_STATE:
        raise ValueError(f"expected no attribute {sorted(foreign)[0]!r} in {type(model).__name__}")
    if model.kernel not in SVM_KERNELS:
        raise ValueError(f"expected kernel in {list(SVM_KERNELS)}, got {model.kernel!r}")
    if model._sparse is not False or type(model.degree) is not int:
        raise ValueError("expected dense support vectors and an integer degree")
    classes = len(_array("classes_", model.classes_, ndim=1)) if isinstance(model, SVC) else 2
    n, d = _array("support_vectors_", model.support_vectors_, np.float64, 2).shape
    pairs = classes * (classes - 1) // 2
    for name, dtype, shape in (
        ("support_", np.int32, (n,)),
        ("_n_support", np.int32, (classes,)),
        ("_dual_coef_", np.float64, (classes - 1, n)),
        ("_intercept_", np.float64, (pairs,)),
        ("_probA", np.float64, (0,)),
        ("_probB", np.float64, (0,)),
    ):
        part = _array(name, getattr(model, name), dtype, len(shape))
        if part.shape != shape:
            raise ValueError(f"expected {name} of shape {shape}, got {part.shape}")
    counts = model._n_support
    if classes < 2 or counts.min() < 0 or (isinstance(model, SVC) and counts.sum() != n):
        raise ValueError(f"expected {n} support vectors in {classes} classes, got {counts}")
    if model.n_features_in_ != d or tuple(model.shape_fit_)[1:] != (d,):
        raise ValueError(f"expected support vectors of {model.n_features_in_} features, got {d}")
    if not (np.isscalar(model._gamma) and np.isfinite(model._gamma)):
        raise ValueError(f"expected a finite gamma, got {model._gamma!r}")


def _array(name: str, value: Any, dtype: Any = None, ndim: int = 1) -> Any:
    """Return an array that lies in memory row by row, or raise ValueError."""
    whole = isinstance(value, np.ndarray) and value.ndim == ndim and value.flags.c_contiguous
    if not whole or (dtype is not None and value.dtype != dtype):
        raise ValueError(f"expected {name} to be an array of {ndim} dimensions, row by row")
    return value


CHECKS: Mapping[type, Callable[[Any], None]] = {SVC: check_svm, SVR: check_svm}
"""What to check of an estimator from a file, by its class."""
