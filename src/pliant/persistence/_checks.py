"""What must hold of scikit-learn's estimators in a file; pliant's own classes check themselves.

Whatever indexes into a sparse matrix needs a check, as compiled code writes where an index says.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np


def check_sklearn(value: object) -> None:
    """Raise ValueError if attributes of one of scikit-learn's estimators do not belong together."""
    kind = type(value)
    check = CHECKS.get(f"{kind.__module__}.{kind.__name__}")
    if check is not None:
        check(value)


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


def _check_columns(transformer: Any) -> None:
    """Raise ValueError unless the parts are triples of a name, a transformer and columns."""
    parts = [*transformer.transformers, *transformer.transformers_]
    if not all(isinstance(part, tuple) and len(part) == 3 for part in parts):
        raise ValueError("expected transformers as triples of name, transformer and columns")


CHECKS: Mapping[str, Callable[[Any], None]] = {
    "sklearn.calibration.CalibratedClassifierCV": _check_calibrated,
    "sklearn.compose._column_transformer.ColumnTransformer": _check_columns,
    "sklearn.preprocessing._encoders.OneHotEncoder": _check_one_hot,
    "sklearn.preprocessing._encoders.OrdinalEncoder": _check_categories,
}
"""The check of each of scikit-learn's types that needs one."""
