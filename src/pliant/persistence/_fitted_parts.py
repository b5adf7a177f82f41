"""What a model file holds of an estimator that is made of others: the fitted parts only.

A search becomes its best estimator, and trees become plain arrays. Elsewhere a fitted part takes
the place of the estimator that it is a fitted copy of; since ``fit`` copies it again, the loaded
model can be fitted as before.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import Any, TypeAlias

from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor
from sklearn.frozen import FrozenEstimator
from sklearn.gaussian_process import GaussianProcessClassifier, GaussianProcessRegressor
from sklearn.model_selection._search import BaseSearchCV
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from pliant.core.exceptions import ModelFileError
from pliant.persistence._trees import BOOSTED, FORESTS, saved_trees

Convert: TypeAlias = Callable[[Any], Any]
"""Returns what a file holds of a part; for the same part always the same object."""

DRAWS = ("rng", "_rng")
"""The random states of a Gaussian process."""


def fitted_parts(model: Any) -> Any:
    """Return a model as a file holds it; the given one stays as it is.

    Raises
    ------
    ModelFileError
        For a search without a best estimator.
    NotFittedError
        For another estimator that is made of others, before it is fitted.
    """
    known: dict[int, Any] = {}

    def convert(part: Any) -> Any:
        if id(part) not in known:
            rule = next((rule for kind, rule in _RULES if isinstance(part, kind)), None)
            known[id(part)] = part if rule is None else rule(part, convert)
        return known[id(part)]

    return convert(model)


def _best_estimator(search: Any, convert: Convert) -> Any:
    if "best_estimator_" not in vars(search):
        raise ModelFileError(
            f"expected a fitted {type(search).__name__} with refit=True, as a file holds its best "
            "estimator, got one without best_estimator_"
        )
    return convert(search.best_estimator_)


def _trees(model: Any, convert: Convert) -> Any:
    return saved_trees(model) if hasattr(model, "n_features_in_") else model


def _process(model: Any, convert: Convert) -> Any:
    """Return a Gaussian process without its random states, which only a fit needs."""
    return _without_draws(model)


def _without_draws(model: Any) -> Any:
    changed = copy(model)
    for name in DRAWS:
        vars(changed).pop(name, None)
    if hasattr(model, "base_estimator_"):
        changed.base_estimator_ = _without_draws(model.base_estimator_)
    if hasattr(model, "estimators_"):
        changed.estimators_ = [_without_draws(each) for each in model.estimators_]
        changed.estimator = changed.estimators_[0]
    return changed


def _pipeline(pipeline: Any, convert: Convert) -> Any:
    steps = [(name, convert(step)) for name, step in pipeline.steps]
    return _changed(pipeline, steps=steps)


def _frozen(frozen: Any, convert: Convert) -> Any:
    return FrozenEstimator(convert(frozen.estimator))


def _scaled_target(model: Any, convert: Convert) -> Any:
    check_is_fitted(model)
    regressor, transformer = convert(model.regressor_), model.transformer_
    given = {} if model.transformer is None else {"transformer": transformer}
    return _changed(model, regressor=regressor, regressor_=regressor, **given)


def _calibrated(model: Any, convert: Convert) -> Any:
    check_is_fitted(model)
    parts = [
        _changed(part, estimator=convert(part.estimator)) for part in model.calibrated_classifiers_
    ]
    return _changed(model, estimator=parts[0].estimator, calibrated_classifiers_=parts)


def _columns(transformer: Any, convert: Convert) -> Any:
    check_is_fitted(transformer)
    fitted = [(name, convert(part), columns) for name, part, columns in transformer.transformers_]
    given = fitted[: len(transformer.transformers)]  # the last one is the remainder
    return _changed(transformer, transformers=given, transformers_=fitted)


def _changed(part: Any, **attributes: Any) -> Any:
    """Return a copy of a part with other attributes."""
    other = copy(part)
    for name, value in attributes.items():
        setattr(other, name, value)
    return other


_RULES: tuple[tuple[Any, Callable[[Any, Convert], Any]], ...] = (
    (BaseSearchCV, _best_estimator),
    ((*FORESTS, *BOOSTED), _trees),
    ((GaussianProcessClassifier, GaussianProcessRegressor), _process),
    (Pipeline, _pipeline),
    (FrozenEstimator, _frozen),
    (TransformedTargetRegressor, _scaled_target),
    (CalibratedClassifierCV, _calibrated),
    (ColumnTransformer, _columns),
)
"""For each kind of estimator that is made of others, what a file holds of it."""
