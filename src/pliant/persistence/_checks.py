"""Check the objects built from a model file.

pliant's classes check themselves in ``_check_loaded``. Compiled code in scikit-learn and SciPy does
not check shapes and indices, so this module does.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.ensemble._forest import BaseForest
from sklearn.preprocessing import OneHotEncoder
from sklearn.svm._base import BaseLibSVM
from sklearn.tree import BaseDecisionTree

from pliant.core.estimators import BaseEstimator
from pliant.core.typing import Indices, Mask


def check_parts(model: object) -> None:
    """Check the attributes of all objects, then run the checks of their classes."""
    objects = list(iter_objects(model))
    for value in objects:
        _check_attributes(value)
    for value in objects:
        try:
            _check_class(value)
        except AttributeError as error:
            raise ValueError(f"an attribute is missing in the file: {error}") from None


def iter_objects(value: Any, seen: set[int] | None = None) -> Iterator[Any]:
    """Yield a value and each object inside it once, inner objects first."""
    seen = set() if seen is None else seen
    if id(value) in seen:
        return
    seen.add(id(value))
    parts = list(getattr(value, "__dict__", {}).values())
    if isinstance(value, dict | list | tuple):
        parts += value.values() if isinstance(value, dict) else value
    elif isinstance(value, np.ndarray) and value.dtype.kind == "O":
        parts += value.ravel().tolist()
    for part in parts:
        yield from iter_objects(part, seen)
    yield value


def _check_class(value: Any) -> None:
    """Run the checks of an object's class."""
    kind: Any = type(value)
    if isinstance(value, BaseEstimator):
        for name in kind._get_param_names():
            if name not in vars(value):  # a class attribute may hide the missing parameter
                raise AttributeError(name)
        if hasattr(value, "_parameter_constraints"):
            kind._validate_params(value)
        if hasattr(value, "fit") and not any(name.endswith("_") for name in vars(value)):
            return
    own = getattr(type(value), "_check_loaded", None)
    check = next((check for kinds, check in CHECKS if isinstance(value, kinds)), own)
    if check is not None:
        check(value)


def _check_attributes(value: Any) -> None:
    """Raise ValueError for an attribute that hides a method or constant of its class."""
    state, kind = getattr(value, "__dict__", None), type(value)
    if state is None or isinstance(value, type):
        return
    parameters = getattr(kind, "__dataclass_fields__", ())
    if isinstance(value, BaseEstimator):
        parameters = kind._get_param_names()
    for name in state:
        if not isinstance(name, str) or (hasattr(kind, name) and name not in parameters):
            raise ValueError(f"attribute {name!r:.80} hides a class attribute of {kind.__name__}")
    if isinstance(classes := state.get("classes_"), np.ndarray) and classes.ndim != 1:
        raise ValueError(f"expected classes_ to be one-dimensional, got {classes!r:.80}")
    if not isinstance(width := state.get("n_features_in_", 0), Integral):
        raise ValueError(f"expected n_features_in_ to be an integer, got {width!r:.80}")
    if isinstance(state.get("n_jobs"), int):  # some estimators start n_jobs threads in predict
        state["n_jobs"] = min(state["n_jobs"], os.cpu_count() or 1)


def _check_svm(model: BaseLibSVM) -> None:
    """Raise ValueError unless the arrays of a support vector machine are consistent."""
    if model.kernel not in (kernels := ["linear", "poly", "rbf", "sigmoid", "precomputed"]):
        raise ValueError(f"expected kernel in {kernels}, got {model.kernel!r}")
    if model._sparse is not False or type(model.degree) is not int:
        raise ValueError("expected dense support vectors and an integer degree")
    n, d, precomputed = len(model.support_), model.n_features_in_, model.kernel == "precomputed"
    classes = len(model.classes_) if is_classifier(model) else 2
    for name, dtype, shape in (
        ("support_vectors_", np.float64, (0, 0) if precomputed else (n, d)),
        ("support_", np.int32, (n,)),
        ("_n_support", np.int32, (classes,)),
        ("_dual_coef_", np.float64, (classes - 1, n)),
        ("_intercept_", np.float64, (classes * (classes - 1) // 2,)),
        ("_probA", np.float64, (0,)),
        ("_probB", np.float64, (0,)),
    ):
        part = getattr(model, name)
        rows = isinstance(part, np.ndarray) and part.flags.c_contiguous and part.dtype == dtype
        if not rows or part.shape != shape:
            raise ValueError(f"expected {name} C-contiguous, {np.dtype(dtype)}, of shape {shape}")
    counts = model._n_support
    if classes < 2 or counts.min() < 0 or (is_classifier(model) and counts.sum() != n):
        raise ValueError(f"expected {n} support vectors in {classes} classes, got {counts}")
    if tuple(model.shape_fit_)[1:] != (d,):
        raise ValueError(f"expected {d} features, got data of shape {model.shape_fit_}")
    known = range(min(d, model.shape_fit_[0]))
    if precomputed and not {*model.support_.tolist()} <= {*known}:  # columns of kernel values
        raise ValueError(f"expected support vectors among {len(known)} columns")
    if not (np.isscalar(model._gamma) and np.isfinite(model._gamma)):
        raise ValueError(f"expected a finite gamma, got {model._gamma!r}")


def _check_one_hot(encoder: OneHotEncoder) -> None:
    """Raise ValueError unless each category or group has one column of the sparse output."""
    infrequent = encoder._infrequent_enabled
    groups = encoder._default_to_infrequent_mappings if infrequent else []
    if len(encoder.categories_) != encoder.n_features_in_ or (infrequent and not groups):
        raise ValueError(f"expected categories for {encoder.n_features_in_} features")
    for j, categories in enumerate(encoder.categories_):
        if not isinstance(categories, np.ndarray) or categories.ndim != 1:
            raise ValueError("expected a one-dimensional array of categories for each feature")
        known = categories[categories == categories]  # NaN, a missing value, is last
        unsorted = categories.dtype.kind not in "OUS" and not (known[1:] > known[:-1]).all()
        if unsorted or len(known) < len(categories) - 1:
            raise ValueError("expected categories in increasing order")
        codes = np.arange(len(categories))
        if infrequent and groups[j] is not None:
            if np.shape(groups[j]) != codes.shape or np.min(groups[j]) < 0:
                raise ValueError(f"expected a group >= 0 for each of {len(codes)} categories")
            codes = groups[j]
        dropped = encoder._drop_idx_after_grouping
        n_columns = int(max(codes, default=-1)) + (dropped is None or dropped[j] is None)
        if encoder._n_features_outs[j] != n_columns:
            raise ValueError(f"expected {n_columns} columns for the categories of feature {j}")


def _check_tree(model: BaseDecisionTree) -> None:
    """Raise ValueError if a decision tree could make compiled code read out of bounds."""
    tree = model.tree_
    if not 0 < tree.node_count == tree.capacity or tree.n_features != model.n_features_in_:
        raise ValueError(f"expected a tree of {tree.capacity} nodes, got {tree.node_count}")
    left, right = tree.children_left, tree.children_right
    _check_nodes(left, right, tree.feature, left != -1, tree.n_features)
    # traverse the nodes level by level from the root
    level, depth = np.zeros(1, dtype=np.intp), 0
    while len(level := level[left[level] != -1]):
        level, depth = np.unique([left[level], right[level]]), depth + 1
    if tree.max_depth < depth:
        raise ValueError(f"expected a depth of at least {depth}, got {tree.max_depth}")


def _check_nodes(
    left: Indices, right: Indices, feature: Indices, inner: Mask, n_features: int
) -> None:
    """Raise ValueError unless nodes split known features and children have larger indices."""
    parents = np.flatnonzero(inner)
    for child in (left[parents], right[parents]):
        if not ((child > parents) & (child < len(left))).all():
            raise ValueError(f"expected children after their parents, among {len(left)} nodes")
    if not ((feature[parents] >= 0) & (feature[parents] < n_features)).all():
        raise ValueError(f"expected each node to split one of {n_features} features")


def _check_forest(model: BaseForest) -> None:
    """Raise ValueError unless all trees have the forest's number of features."""
    for tree in model.estimators_:
        if not isinstance(tree, BaseDecisionTree) or tree.n_features_in_ != model.n_features_in_:
            raise ValueError(f"expected trees with {model.n_features_in_} features")


def _check_boosted(model: HistGradientBoostingClassifier) -> None:
    """Restore the loss; raise ValueError unless compiled code stays within the boosted trees."""
    if model._preprocessor is not None or np.any(model._bin_mapper.is_categorical_):
        raise ValueError("boosted trees with categorical_features cannot be saved")
    for iteration in model._predictors:
        for predictor in iteration:
            nodes = predictor.nodes
            if not len(nodes) or nodes["is_categorical"].any():
                raise ValueError("expected nonempty trees without categorical splits")
            arrays = (nodes["left"], nodes["right"], nodes["feature_idx"], nodes["is_leaf"] == 0)
            _check_nodes(*arrays, model.n_features_in_)
    model._loss = model._get_loss(sample_weight=None)


CHECKS: tuple[tuple[Any, Callable[[Any], None]], ...] = (
    (BaseLibSVM, _check_svm),
    (OneHotEncoder, _check_one_hot),
    (BaseDecisionTree, _check_tree),
    (BaseForest, _check_forest),
    ((HistGradientBoostingClassifier, HistGradientBoostingRegressor), _check_boosted),
)
"""Checks for scikit-learn classes whose compiled code does not check their attributes."""
