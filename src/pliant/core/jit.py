"""Compiled loops: the only use of numba.

`compiled` compiles a loop, caches it on disk, and lets it run without the global interpreter lock.
Sums keep their written order (no fastmath). The first call on a computer takes a few seconds to
compile; the logger "pliant" reports it once.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from typing import Any, TypeVar, cast

import numba
from numba.core import event as numba_event
from numba.core.caching import FunctionCache

from pliant.core.text import quoted

F = TypeVar("F", bound=Callable[..., Any])

_logger = logging.getLogger("pliant")


class _ReportOnce(numba_event.Listener):
    """Report the first compilation of code of pliant."""

    reported = False

    def on_start(self, event: numba_event.Event) -> None:
        """Report the first compilation at its start."""
        module = getattr(getattr(event.data.get("dispatcher"), "py_func", None), "__module__", "")
        if not self.reported and str(module).startswith("pliant."):
            self.reported = True
            _logger.warning("pliant is compiling its inner loops: some seconds, once per computer")

    def on_end(self, event: numba_event.Event) -> None:
        """Ignore the end of a compilation."""


numba_event.register("numba:compile", _ReportOnce())  # type: ignore[no-untyped-call]


class _Cache(FunctionCache):
    """numba's cache of a loop on disk, in which damaged files count as missing.

    numba writes the index of a loop before its code, and names the code by the index. Two processes
    that compile a loop at the same time can leave the code of one type under the name of another.
    Such code counts as missing, too.
    """

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the compiled loop for some types; None if the cache lacks it."""
        target_context.refresh()
        try:
            loop = self._load_overload(sig, target_context)  # type: ignore[no-untyped-call]
        except Exception:  # whatever unpickling a damaged file raises
            return None
        return loop if loop is not None and tuple(loop.signature.args) == tuple(sig) else None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Store the compiled loop for some types in a writable cache."""
        try:
            try:
                self._save_overload(sig, data)  # type: ignore[no-untyped-call]
            except OSError:
                raise
            except Exception:  # of a damaged index
                self.flush()  # type: ignore[no-untyped-call]
                self._save_overload(sig, data)  # type: ignore[no-untyped-call]
        except OSError as error:
            _report_unwritable(self.cache_path, error.strerror or str(error))


@cache
def _report_unwritable(folder: str, error: str) -> None:
    """Report, once, a folder in which compiled loops cannot be kept."""
    _logger.warning(
        "compiled loops cannot be kept in %s (%s), so that each process compiles them again: "
        "set NUMBA_CACHE_DIR to another folder",
        quoted(folder, 200),
        error,
    )


def compiled(function: F, fastmath: Any = False) -> F:
    """Compile `function` at its first call, and keep the result in a cache on disk.

    The cache lies beside the module; where that folder is read-only, in the user's cache
    folder; where neither can be written, in memory only.
    """
    loop: Any = numba.njit(nogil=True, fastmath=fastmath)(function)
    with suppress(RuntimeError):  # numba: "cannot cache function: no locator available"
        loop._cache = _Cache(function)  # type: ignore[no-untyped-call]
    return cast(F, loop)
