"""What must hold of scikit-learn's estimators in a file; pliant's own classes check themselves.

Compiled code reads and writes where shapes and indices say, those of sparse matrices as well.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.isotonic import IsotonicRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder
from sklearn.svm import SVC, SVR

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


def _check_one_vs_rest(model: Any) -> None:
    """Raise ValueError unless there is an estimator for each of several classes."""
    classes = _array("classes_", model.label_binarizer_.classes_)
    if model.label_binarizer_.y_type_ != "multiclass" or len(model.estimators_) != len(classes):
        raise ValueError(f"expected an estimator for each of {len(classes)} classes")


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


def _check_categories(encoder: Any) -> None:
    """Raise ValueError unless each feature has a vector of categories, sorted if they are numbers.

    Values are looked up by bisection among numbers.
    """
    if len(encoder.categories_) != encoder.n_features_in_:
        raise ValueError(f"expected categories of {encoder.n_features_in_} features")
    for categories in encoder.categories_:
        if not isinstance(categories, np.ndarray) or categories.ndim != 1:
            raise ValueError("expected the categories of each feature as a vector")
        if categories.dtype.kind not in "OUS":
            known = categories[categories == categories]  # a missing value, nan, comes last
            if len(known) < len(categories) - 1 or not (known[1:] > known[:-1]).all():
                raise ValueError("expected categories in increasing order")


def _check_one_hot(encoder: Any) -> None:
    """Raise ValueError unless every category has a column of its own among those there are."""
    _check_categories(encoder)
    n_features = encoder.n_features_in_
    absent = [None] * n_features
    dropped = encoder._drop_idx_after_grouping
    grouped = encoder._default_to_infrequent_mappings if encoder._infrequent_enabled else absent
    columns = zip(
        encoder.categories_,
        absent if dropped is None else dropped,
        grouped,
        encoder._n_features_outs,
        strict=True,
    )
    for categories, drop, groups, n_columns in columns:
        n_codes = len(categories)
        if groups is not None:
            if np.shape(groups) != (n_codes,) or min(groups, default=0) < 0:
                raise ValueError(f"expected a group >= 0 for each of {n_codes} categories")
            n_codes = int(max(groups, default=-1)) + 1
        if drop is not None and not 0 <= drop < n_codes:
            raise ValueError(f"expected to drop one of {n_codes} categories, got {drop}")
        if n_columns != n_codes - (drop is not None):
            raise ValueError(f"expected a column for each of {n_codes} categories, got {n_columns}")


def _check_calibrated(model: Any) -> None:
    """Raise ValueError unless each part has the classes of the whole, and maps for them."""
    if not isinstance(model.calibrated_classifiers_, list) or not model.calibrated_classifiers_:
        raise ValueError("expected a list of calibrated classifiers")
    n_classes = len(model.classes_)
    for part in model.calibrated_classifiers_:
        if len(part.classes) != n_classes or len(part.calibrators) not in (1, n_classes):
            raise ValueError(f"expected a calibrator for each of {n_classes} classes")
        for each in part.calibrators:
            if isinstance(each, IsotonicRegression) and each.out_of_bounds != "clip":
                raise ValueError(f"expected out_of_bounds='clip', got {each.out_of_bounds!r:.80}")


def _check_isotonic(model: Any) -> None:
    """Raise ValueError unless inputs are clipped to a range in which the steps are known.

    Beyond the outermost thresholds scikit-learn's interpolation is NaN.
    """
    if "X_thresholds_" not in vars(model):
        return  # not fitted
    known = _array("X_thresholds_", model.X_thresholds_, ndim=1)
    if not len(known) or not (known[1:] > known[:-1]).all():
        raise ValueError("expected increasing thresholds")
    if not known[0] <= model.X_min_ <= model.X_max_ <= known[-1]:
        raise ValueError(
            f"expected X_min_ and X_max_ within the thresholds {known[0]:g} to {known[-1]:g}, "
            f"got {model.X_min_:g} and {model.X_max_:g}"
        )


def _check_columns(transformer: Any) -> None:
    """Raise ValueError unless the parts are triples of a name, a transformer and columns."""
    parts = [*transformer.transformers, *transformer.transformers_]
    if not all(isinstance(part, tuple) and len(part) == 3 for part in parts):
        raise ValueError("expected transformers as triples of name, transformer and columns")


def _check_pipeline(pipeline: Any) -> None:
    """Raise ValueError unless the steps are pairs of a name and an estimator."""
    steps = pipeline.steps
    fits = isinstance(steps, list) and len(steps) > 0
    fits = fits and all(isinstance(step, tuple) and len(step) == 2 for step in steps)
    if not fits or not all(isinstance(name, str) for name, _ in steps):
        raise ValueError("expected steps as pairs of a name and an estimator")
    for _, step in steps:
        if isinstance(step, str) and step != "passthrough":
            raise ValueError(f"expected an estimator as a step, got {step!r:.80}")


CHECKS: Mapping[type, Callable[[Any], None]] = {
    CalibratedClassifierCV: _check_calibrated,
    ColumnTransformer: _check_columns,
    IsotonicRegression: _check_isotonic,
    OneHotEncoder: _check_one_hot,
    OneVsRestClassifier: _check_one_vs_rest,
    OrdinalEncoder: _check_categories,
    Pipeline: _check_pipeline,
    SVC: check_svm,
    SVR: check_svm,
}
"""What to check of an estimator from a file, by its class."""
