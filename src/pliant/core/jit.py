"""Compile loops with numba, which no other module imports.

`compiled` compiles a loop and caches it on disk. The loop releases the global interpreter lock
while it runs, and raises KeyboardInterrupt after Ctrl-C. Without fastmath, it evaluates sums in
source order. The first call on a computer spends a few seconds on compilation; the logger "pliant"
reports this once.
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
from numba.core.registry import CPUDispatcher

from pliant.core.text import quoted

F = TypeVar("F", bound=Callable[..., Any])

_logger = logging.getLogger("pliant")


class _ReportOnce(numba_event.Listener):
    """Report the first compilation of a pliant loop."""

    reported = False

    def on_start(self, event: numba_event.Event) -> None:
        """Report the start of the first compilation."""
        loop: Any = event.data.get("dispatcher")
        module = getattr(getattr(loop, "py_func", None), "__module__", "")
        if self.reported or not str(module).startswith("pliant."):
            return
        self.reported = True
        often = "once per computer"
        if not isinstance(loop._cache, _Cache):
            often = "in each process, as no folder for them is writable: set NUMBA_CACHE_DIR to one"
        _logger.warning("pliant is compiling its loops (a few seconds, %s)", often)

    def on_end(self, event: numba_event.Event) -> None:
        """Ignore the end of compilation."""


numba_event.register("numba:compile", _ReportOnce())  # type: ignore[no-untyped-call]


class _Cache(FunctionCache):
    """Disk cache of a compiled loop that treats damaged files as missing, and empties their index.

    Two processes that compile a loop at the same time can store the code for one signature under
    the name of another. The cache treats such code as missing too.
    """

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the compiled loop for a signature, or None if it is not cached."""
        target_context.refresh()
        try:
            loop = self._load_overload(sig, target_context)  # type: ignore[no-untyped-call]
        except Exception:  # unpickling a damaged file can raise anything
            with suppress(OSError):
                self.flush()  # type: ignore[no-untyped-call]
            return None
        return loop if loop is not None and tuple(loop.signature.args) == tuple(sig) else None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Store the compiled loop for a signature if the cache is writable."""
        try:
            self._save_overload(sig, data)  # type: ignore[no-untyped-call]
        except OSError as error:
            _report_unwritable(self.cache_path, error.strerror or str(error))


@cache
def _report_unwritable(folder: str, error: str) -> None:
    """Report once that compiled loops cannot be cached in a folder."""
    _logger.warning(
        "compiled loops cannot be cached in %s (%s), so each process compiles them again: "
        "set NUMBA_CACHE_DIR to another folder",
        quoted(folder, 200),
        error,
    )


class _Loop(CPUDispatcher):
    """A compiled loop that raises the exception of a signal handler, such as KeyboardInterrupt.

    If a handler raises while numba converts several results, Python replaces its exception by a
    SystemError, with the exception as the cause.
    """

    def __call__(self, *args: Any) -> Any:
        try:
            return CPUDispatcher.__call__(self, *args)
        except SystemError as error:
            first: BaseException = error
            while isinstance(first, SystemError) and first.__cause__ is not None:
                first = first.__cause__
            raise first from None


def compiled(function: F, fastmath: Any = False) -> F:
    """Compile `function` on its first call, and cache the result on disk.

    The cache is next to the module, in the user's cache folder, or in memory if both are read-only.
    """
    loop: Any = numba.njit(nogil=True, fastmath=fastmath)(function)
    if isinstance(loop, CPUDispatcher):  # not with NUMBA_DISABLE_JIT
        loop.__class__ = _Loop
    with suppress(RuntimeError):  # numba: "cannot cache function: no locator available"
        loop._cache = _Cache(function)  # type: ignore[no-untyped-call]
    return cast(F, loop)
