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
        new = _copy(self)
        result = method(new, *args, **kwargs)
        self.__dict__ = dict(vars(new))  # one statement, which no signal or thread can divide
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
        return method(_copy(self), *args, **kwargs)

    return cast(F, read)


def forget_fit(model: object) -> None:
    """Delete the fitted attributes of a model."""
    for name in [name for name in vars(model) if name.endswith("_") and name[0] != "_"]:
        delattr(model, name)


def _copy(model: Any) -> Any:
    """Return a shallow copy."""
    new = object.__new__(type(model))
    new.__dict__ = dict(vars(model))
    return new
