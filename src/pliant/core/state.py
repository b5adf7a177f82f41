"""Replace the state of a model in one assignment.

A model that serves predictions is either the old one or the new one. A method that trains it works
on a copy, whose attributes replace the model's at the end. If it fails or is interrupted, the model
stays as it was. A method that reads a model works on a copy of its attributes, too, as another
thread may replace them meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

F = TypeVar("F", bound=Callable[..., Any])


def updates(method: F) -> F:
    """Decorate a method that changes a model: it changes a copy, which then replaces the model.

    The copy shares the values of the attributes, so the method replaces values and never changes
    them in place.
    """

    @wraps(method)
    def updated(self: Any, *args: Any, **kwargs: Any) -> Any:
        before, new = dict(vars(self)), snapshot(self)
        result = method(new, *args, **kwargs)
        after = vars(new)
        changed = {k: v for k, v in after.items() if k not in before or before[k] is not v}
        # another thread may have changed parameters, and trained the model, meanwhile
        others = {k: v for k, v in dict(vars(self)).items() if not _is_fitted(k)}
        fitted = {k: v for k, v in after.items() if _is_fitted(k)}
        state = {**others, **changed, **fitted}
        self.__dict__ = state  # one statement, which no signal or thread can divide
        return self if result is new else result

    return cast(F, updated)


def trains(method: F) -> F:
    """Decorate a method that trains a model anew: as `updates`, without the fitted attributes."""

    @wraps(method)
    def trained(self: Any, *args: Any, **kwargs: Any) -> Any:
        forget_fit(self)
        return method(self, *args, **kwargs)

    return updates(cast(F, trained))


def reads(method: F) -> F:
    """Decorate a method that reads a model: it reads the attributes as they are when it starts."""

    @wraps(method)
    def read(self: Any, *args: Any, **kwargs: Any) -> Any:
        return method(snapshot(self), *args, **kwargs)

    return cast(F, read)


def forget_fit(model: object) -> None:
    """Delete the fitted attributes of a model."""
    for name in filter(_is_fitted, list(vars(model))):
        delattr(model, name)


def _is_fitted(name: str) -> bool:
    """Return True for names of fitted attributes, such as ``kernel_``."""
    return name.endswith("_") and name[0] != "_"


def snapshot(model: Any) -> Any:
    """Return a shallow copy, whose attributes no other thread replaces."""
    new = object.__new__(type(model))
    new.__dict__ = dict(vars(model))
    return new
