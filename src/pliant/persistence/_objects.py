"""What must hold of every object in a file, whatever its class: attributes that could be its own.

Each class checks the values of its attributes itself, see `pliant.persistence._model_file`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from numbers import Integral
from typing import Any

import numpy as np
import sklearn
from sklearn.base import BaseEstimator


def objects_in(value: object) -> list[object]:
    """Return all objects that a value holds and the value itself, inner ones first, each once."""
    seen: set[int] = set()
    ordered: list[object] = []
    pending: list[tuple[object, bool]] = [(value, False)]
    while pending:
        item, entered = pending.pop()
        if entered:
            ordered.append(item)
        elif id(item) not in seen:
            seen.add(id(item))
            pending.append((item, True))
            pending.extend((part, False) for part in _inner(item))
    return ordered


def _inner(value: object) -> Iterable[object]:
    """Return what a container or an object holds."""
    if isinstance(value, dict):
        return value.values()
    if isinstance(value, list | tuple):
        return value
    if isinstance(value, np.ndarray):
        return value.ravel().tolist() if value.dtype == object else ()
    return getattr(value, "__dict__", {}).values()


def templates_in(objects: Iterable[object]) -> set[int]:
    """Return the ids of the estimators that are parameters of others, and not fitted.

    An estimator that is to be copied and fitted holds nothing but its own parameters.
    """
    return {
        id(part)
        for value in objects
        if isinstance(value, BaseEstimator)
        for name, part in vars(value).items()
        if not name.endswith("_") and _is_template(part)
    }


def _is_template(value: object) -> bool:
    if not (isinstance(value, BaseEstimator) and hasattr(value, "fit")):
        return False
    return vars(value).keys() <= set(type(value)._get_param_names())


def check_attributes(value: object) -> None:
    """Raise ValueError if the attributes of an object cannot be those of its class.

    None may stand in front of a method, a property or a constant of the class, but for values that
    the class computes and drops itself, and the parameters of the constructor must all be there.
    ``n_features_in_``, ``feature_names_in_`` and ``classes_`` mean the same in every class.
    """
    state = getattr(value, "__dict__", None)
    if state is None or isinstance(value, type):
        return
    kind = type(value)
    computed = (*getattr(kind, "_cached", ()), *getattr(kind, "_kept", ()))
    own = {*computed, *_parameter_names(kind)}
    for name in state:
        if not isinstance(name, str) or (hasattr(kind, name) and name not in own):
            raise ValueError(
                f"expected no attribute {name!r:.80} in a file of {kind.__name__}, which has a "
                "method or a property of that name"
            )
    if isinstance(value, BaseEstimator):
        _check_parameters(value, state)
        _limit_jobs(value, state)
    _check_common(state)


def _parameter_names(kind: Any) -> list[str]:
    """Return the parameters of the constructor that no method or property hides."""
    if not issubclass(kind, BaseEstimator):
        return []
    return [name for name in kind._get_param_names() if not _is_behaviour(kind, name)]


def _is_behaviour(kind: type, name: str) -> bool:
    value = getattr(kind, name, None)
    return callable(value) or hasattr(value, "__get__")


def _check_parameters(value: BaseEstimator, state: Mapping[str, Any]) -> None:
    """Raise ValueError for a parameter that is not there, unless the versions differ."""
    theirs = state.get("_sklearn_version", sklearn.__version__)
    names = _parameter_names(type(value)) if theirs == sklearn.__version__ else []
    for name in names:
        if name not in state:
            raise ValueError(f"expected the parameter {name!r} of {type(value).__name__}")


def _limit_jobs(value: Any, state: Mapping[str, Any]) -> None:
    """Set a number of jobs to that of the processors, if it is larger.

    Some estimators start as many processes when they predict.
    """
    jobs, most = state.get("n_jobs"), os.cpu_count() or 1
    if jobs is None:
        return
    if not _is_integer(jobs) or jobs == 0:
        raise ValueError(f"expected n_jobs None or an integer other than 0, got {jobs!r:.80}")
    if jobs > most:
        value.n_jobs = most


def _check_common(state: Mapping[str, Any]) -> None:
    """Raise ValueError unless the attributes that all classes share are what they should be."""
    width: Any = state.get("n_features_in_", 1)
    if not _is_integer(width) or width < 1:
        raise ValueError(f"expected n_features_in_ >= 1, an integer, got {width!r:.80}")
    names: Any = state.get("feature_names_in_")
    if names is not None and not (_is_vector(names) and all(type(n) is str for n in names)):
        raise ValueError(f"expected feature_names_in_ to hold texts, got {names!r:.80}")
    if names is not None and len(names) != state.get("n_features_in_", len(names)):
        raise ValueError(f"expected {width} feature_names_in_, got {len(names)}")
    classes: Any = state.get("classes_")
    if isinstance(classes, np.ndarray):
        _check_classes(classes)


def _is_integer(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool | np.bool_)


def _is_vector(value: object) -> bool:
    return isinstance(value, np.ndarray) and value.ndim == 1


def _check_classes(classes: Any) -> None:
    """Raise ValueError unless an array holds different labels in increasing order."""
    try:
        fits = classes.ndim == 1 and len(classes) > 0 and bool((classes[1:] > classes[:-1]).all())
        fits = fits and not (classes.dtype.kind == "f" and not np.isfinite(classes).all())
    except TypeError:
        fits = False
    if not fits:
        raise ValueError(
            f"expected classes_ to be different labels in increasing order, got {classes!r:.80}"
        )
