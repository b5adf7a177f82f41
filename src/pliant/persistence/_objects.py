"""Check the objects built from a model file against the forms that their classes declare."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any

import numpy as np

from pliant.core.estimators import BaseEstimator
from pliant.core.form import check_loaded
from pliant.core.sparse import is_sparse
from pliant.records import Pipeline
from pliant.records.estimators import Record


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
    if id(value) in seen or is_sparse(value):
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
    """Check the form of an object of pliant, except for an estimator that is not fitted."""
    if not hasattr(value, "__dict__"):
        return
    kind: Any = type(value)
    for name in _parameters(kind):
        if name not in vars(value):  # a class attribute may hide the missing parameter
            raise AttributeError(name)
    fitted = any(name.endswith("_") for name in vars(value))
    if hasattr(value, "fit") and not fitted and not isinstance(value, Record | Pipeline):
        return
    check_loaded(value)


@cache
def _parameters(kind: Any) -> list[str]:
    """Return the names of the attributes that the constructor of a class sets."""
    if issubclass(kind, BaseEstimator):
        return list(kind._get_param_names())
    return [field.name for field in fields(kind) if field.init] if is_dataclass(kind) else []


def _check_attributes(value: Any) -> None:
    """Raise ValueError for an attribute that hides a method or constant of its class."""
    kind: Any = type(value)
    state = getattr(value, "__dict__", None)
    if state is None or isinstance(value, type):
        return
    parameters = _parameters(kind)
    for name in state:
        if not isinstance(name, str) or (hasattr(kind, name) and name not in parameters):
            raise ValueError(f"attribute {name!r:.80} hides a class attribute of {kind.__name__}")
