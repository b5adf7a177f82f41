"""The threads of BLAS while pliant computes.

A fit multiplies many small matrices. BLAS shares each product among threads that wait for each
other in busy loops: where other programs run as well, a fit of one second can take a minute. The
last digits of a product also depend on how it is shared. Methods of the public classes, and
kernels, therefore hold BLAS to one thread with `blas_limited`. What pays in parallel runs in
workers of joblib (`n_jobs`), whose tasks are limited as well: a worker may be another process, and
builds of BLAS on OpenMP have a limit for each thread.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from multiprocessing import parent_process
from typing import Any, ParamSpec, TypeVar

import threadpoolctl
from joblib import cpu_count
from joblib.parallel import get_active_backend

P = ParamSpec("P")
R = TypeVar("R")


class _Limit:
    """The limit of a process: the first Python thread that enters sets it, the last restores it.

    If each thread did both, the last one to leave could restore the limit of another.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._users = 0
        self._shared: Any = None
        self._by_thread: Any = None
        self._limiter: Any = None

    def enter(self) -> Any:
        """Hold BLAS to one thread; return what `leave` needs."""
        with self._lock:
            if self._shared is None:
                self._find_libraries()
            if self._users == 0:
                self._limiter = self._shared.limit(limits=1)
                if any(library["num_threads"] > 1 for library in self._shared.info()):
                    self._limiter = None  # the user has set a number of threads elsewhere
            self._users += 1
        return self._by_thread.limit(limits=1)

    def leave(self, own: Any) -> None:
        """Restore the number of threads, if nobody else needs the limit."""
        own.restore_original_limits()
        with self._lock:
            self._users -= 1
            if self._users == 0 and self._limiter is not None:
                _take_control()
                self._limiter.restore_original_limits()
                _take_control()

    def _find_libraries(self) -> None:
        """List the BLAS libraries: of one limit for all threads, and of a limit for each."""
        blas = threadpoolctl.ThreadpoolController().select(user_api="blas")
        libraries = blas.info()
        openmp = [x["filepath"] for x in libraries if x.get("threading_layer") == "openmp"]
        others = [x["filepath"] for x in libraries if x["filepath"] not in openmp]
        self._shared = blas.select(filepath=others)
        self._by_thread = blas.select(filepath=openmp)


def _take_control() -> None:
    """Let any thread change the number of threads of OpenBLAS, not only the one that has set it.

    threadpoolctl 3.8 and later forbid it to others.
    """
    library: Any = getattr(threadpoolctl, "OpenBLASController", None)
    if hasattr(library, "clear_controlling_thread"):
        library.clear_controlling_thread(force=True)


_limit = _Limit()


def _renew() -> None:
    """Give a forked process a limit of its own: the lock may have been held at the fork."""
    global _limit
    _limit = _Limit()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew)


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Hold BLAS to one thread within the block, in the whole process."""
    limit = _limit
    own = limit.enter()
    try:
        yield
    finally:
        limit.leave(own)


def blas_limited(function: Callable[P, R]) -> Callable[P, R]:
    """Return the function, or method, with BLAS held to one thread while it runs."""

    @wraps(function)
    def limited(*args: P.args, **kwargs: P.kwargs) -> R:
        with one_blas_thread():
            return function(*args, **kwargs)

    return limited


def threads_for(n_jobs: int | None, *, worth_it: bool) -> int | None:
    """Return the number of threads for joblib: `n_jobs`, or else all cores if that is worth it.

    What `joblib.parallel_config` sets counts as given. A child process takes one thread.
    """
    if n_jobs is not None:
        return n_jobs
    backend, configured = get_active_backend()
    if configured is not None:
        return int(configured)
    alone = backend.nesting_level == 0 and parent_process() is None
    return cpu_count() if worth_it and alone else 1
