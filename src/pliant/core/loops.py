"""Loops that numba compiles at their first call: importing their module does not import numba."""

from __future__ import annotations

from collections.abc import Callable
from functools import update_wrapper
from typing import Any, TypeVar, cast

F = TypeVar("F", bound=Callable[..., Any])


class Loop:
    """A loop and its compiled form, which is made at the first call; see `pliant.core.jit`."""

    def __init__(self, function: Callable[..., Any], fastmath: Any) -> None:
        self._function, self._fastmath = function, fastmath
        update_wrapper(self, function)

    @property
    def compiled(self) -> Callable[..., Any]:
        """The compiled loop, which replaces this object in its module.

        numba finds the loops that a loop calls by their names, so they are replaced, too.
        """
        state = vars(self)
        if "_compiled" not in state:
            from pliant.core.jit import compiled

            state["_compiled"] = compiled(self._function, self._fastmath)
            names = self._function.__globals__
            for name, value in list(names.items()):
                if isinstance(value, Loop):
                    names[name] = value.compiled
        loop: Callable[..., Any] = state["_compiled"]
        return loop

    def __call__(self, *args: Any) -> Any:
        """Run the loop."""
        return self.compiled(*args)


def compiled(function: F, fastmath: Any = False) -> F:
    """Decorate a loop that numba compiles at its first call."""
    return cast(F, Loop(function, fastmath))
