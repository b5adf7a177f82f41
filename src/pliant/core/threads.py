"""Limits on the BLAS threads used by pliant, and the silence of floating-point flags.

A fit multiplies many small matrices. BLAS splits each product among threads that wait for each
other in busy loops. If other programs run, a fit of one second can take a minute. The last digits
of a product also depend on the number of threads. `blas_limited` therefore limits BLAS to one
thread in kernels and methods of public classes. Tasks in joblib workers (`n_jobs`) set the limit
again: workers may be separate processes, and BLAS builds with OpenMP have a limit per thread.

On some processors, BLAS raises floating-point flags for products with finite results. The flags are
no property of the results, so NumPy ignores them in the same blocks; checks read the results. Each
thread has its own NumPy state, so tasks in threads ignore the flags again, too.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property, wraps
from typing import Any, TypeVar, cast

import numpy as np
import threadpoolctl

F = TypeVar("F", bound=Callable[..., Any])


class _Limit:
    """BLAS libraries of a process, and the number of active blocks that limit their threads."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.users = 0
        self.limiter: Any = None
        self.thread = threading.local()  # `limited` is True in a thread within a block

    @cached_property
    def libraries(self) -> tuple[Any, Any]:
        """Libraries with one limit for all Python threads, and libraries with one per thread."""
        blas = threadpoolctl.ThreadpoolController().select(user_api="blas")
        libraries = blas.info()
        openmp = [x["filepath"] for x in libraries if x.get("threading_layer") == "openmp"]
        others = [x["filepath"] for x in libraries if x["filepath"] not in openmp]
        return blas.select(filepath=others), blas.select(filepath=openmp)


_limit = _Limit()


def _reset_limit() -> None:
    """Create a new limit in a forked process, as another thread may have held the lock."""
    global _limit
    _limit = _Limit()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_reset_limit)

_release_control = getattr(
    getattr(threadpoolctl, "OpenBLASController", None),
    "clear_controlling_thread",  # threadpoolctl >= 3.8: only the thread that set a limit changes it
    lambda force: None,
)


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit BLAS to one thread within the block, in the whole process; ignore NumPy's flags.

    The first Python thread to enter such a block sets the limit, and the last one to leave restores
    the old number of threads. If each thread did both, the last could restore another's limit.
    """
    limit = _limit
    with limit.lock:
        shared, by_thread = limit.libraries
        if limit.users == 0:
            limit.limiter = shared.limit(limits=1)
            for library in shared.info():
                if library["num_threads"] > 1:  # set by another thread, which alone can change it
                    limit.limiter = None
        limit.users += 1
    own = by_thread.limit(limits=1)
    outer = getattr(limit.thread, "limited", False)
    limit.thread.limited = True
    try:
        with np.errstate(all="ignore"):
            yield
    finally:
        limit.thread.limited = outer
        own.restore_original_limits()
        with limit.lock:
            limit.users -= 1
            if limit.users == 0 and limit.limiter is not None:
                _release_control(force=True)
                limit.limiter.restore_original_limits()
                _release_control(force=True)


def blas_limited(function: F) -> F:
    """Decorate a function or method to run in a block of `one_blas_thread`.

    Within such a block of the same thread it runs as it is: a fit can solve thousands of problems.
    """

    @wraps(function)
    def limited(*args: Any, **kwargs: Any) -> Any:
        if getattr(_limit.thread, "limited", False):
            return function(*args, **kwargs)
        with one_blas_thread():
            return function(*args, **kwargs)

    return cast(F, limited)


def threads_for(n_jobs: int | None, *, worth_it: bool) -> int | None:
    """Return the number of threads for joblib: `n_jobs`, or a default if `n_jobs` is None.

    The default is the number set by `joblib.parallel_config`, if any. Otherwise it is one, or the
    number of cores if `worth_it` (but not in child processes or nested parallel calls).
    """
    if n_jobs is not None:
        return n_jobs
    from multiprocessing import parent_process

    from joblib import cpu_count
    from joblib.parallel import get_active_backend

    backend, configured = get_active_backend()
    if configured is not None:
        return int(configured)
    alone = backend.nesting_level == 0 and parent_process() is None
    return cpu_count() if worth_it and alone else 1
