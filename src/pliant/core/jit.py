"""The one door to numba.

``compiled`` marks a loop that runs as machine code: cached on disk, without the global
interpreter lock, with the floating-point rules of the written order (no fastmath).
The first call on a machine compiles for a few seconds; it is said once, on the logger "pliant".
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
from numba.core import event as numba_event

F = TypeVar("F", bound=Callable[..., Any])

_logger = logging.getLogger("pliant")


class _SayOnce(numba_event.Listener):
    """Tell that compilation has begun, the first time that it happens to code of pliant."""

    said = False

    def on_start(self, event: numba_event.Event) -> None:
        """Look at a compilation that starts."""
        module = getattr(getattr(event.data.get("dispatcher"), "py_func", None), "__module__", "")
        if not self.said and str(module).startswith("pliant."):
            self.said = True
            _logger.warning("pliant is compiling its inner loops: some seconds, once per machine")

    def on_end(self, event: numba_event.Event) -> None:
        """Nothing is to be done when it ends."""


numba_event.register("numba:compile", _SayOnce())  # type: ignore[no-untyped-call]


def compiled(function: F) -> F:
    """Compile `function` at its first call, and keep the result in a cache on disk.

    The cache lies beside the module; where that folder is read-only, in the user's cache
    folder; where neither can be written, in memory only.
    """
    try:
        return cast(F, numba.njit(cache=True, nogil=True, fastmath=False)(function))
    except RuntimeError:  # numba: "cannot cache function: no locator available"
        return cast(F, numba.njit(nogil=True, fastmath=False)(function))
