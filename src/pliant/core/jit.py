"""Compiled loops: the only use of numba.

`compiled` compiles a loop, caches it on disk, and lets it run without the global interpreter lock.
Sums keep their written order (no fastmath). The first call on a computer takes a few seconds to
compile; the logger "pliant" reports it once.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
from numba.core import event as numba_event

F = TypeVar("F", bound=Callable[..., Any])

_logger = logging.getLogger("pliant")


class _ReportOnce(numba_event.Listener):
    """Report the first compilation of code of pliant."""

    reported = False

    def on_start(self, event: numba_event.Event) -> None:
        """Report a compilation that starts, if it is the first."""
        module = getattr(getattr(event.data.get("dispatcher"), "py_func", None), "__module__", "")
        if not self.reported and str(module).startswith("pliant."):
            self.reported = True
            _logger.warning("pliant is compiling its inner loops: some seconds, once per computer")

    def on_end(self, event: numba_event.Event) -> None:
        """Do nothing when it ends."""


numba_event.register("numba:compile", _ReportOnce())  # type: ignore[no-untyped-call]


def compiled(function: F) -> F:
    """Compile `function` at its first call, and keep the result in a cache on disk.

    The cache lies beside the module; where that folder is read-only, in the user's cache
    folder; where neither can be written, in memory only.
    """
    return _cached(function, fastmath=False)


def compiled_fused(function: F) -> F:
    """Compile `function` as `compiled` does; a product may be added without being rounded first.

    For loops over single numbers whose result does not depend on how these two are rounded.
    """
    return _cached(function, fastmath={"contract"})


def _cached(function: F, fastmath: Any) -> F:
    try:
        return cast(F, numba.njit(cache=True, nogil=True, fastmath=fastmath)(function))
    except RuntimeError:  # numba: "cannot cache function: no locator available"
        return cast(F, numba.njit(nogil=True, fastmath=fastmath)(function))
