"""Run cells in separate single-threaded processes, killed at a deadline; a crash is an error.

A loky process runs many cells, one at a time, and ends after a minute without work. A process that
cannot start children runs the cells itself. With a user's executor, such as a Dask client, cells
run on its workers.
"""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext, suppress
from typing import Any

from joblib import cpu_count
from joblib.externals.loky import ProcessPoolExecutor
from joblib.externals.loky.process_executor import TerminatedWorkerError

from pliant.comparison.cells import FittedMethod, failed, fit_method, perform
from pliant.comparison.protocol import Cell, Protocol, Record
from pliant.comparison.sample import Sample
from pliant.core.progress import is_over
from pliant.core.typing import Indices
from pliant.registry import Method

_LOCK = threading.Lock()
_FREE: list[ProcessPoolExecutor] = []
_BUSY: set[ProcessPoolExecutor] = set()


def perform_apart(
    sample: Sample,
    protocol: Protocol,
    method: Method,
    cell: Cell,
    ends: float | None = None,
    executor: Any = None,
) -> Record:
    """Run a cell in another process, or in an executor with ``submit``.

    At the time `ends`, by ``time.time``, the process is killed, and the record's status is "cut".
    """
    if executor is None and multiprocessing.current_process().daemon:
        return perform(sample, protocol, method, cell)
    try:
        if is_over(ends):
            raise TimeoutError
        with _lent_process() if executor is None else nullcontext(executor) as process:
            future = process.submit(perform, sample, protocol, method, cell)
            left = None if ends is None else max(0.0, ends - time.time())
            try:
                record: Record = future.result(left)
            except TimeoutError:
                future.cancel()
                raise
    except TimeoutError:
        return failed(cell, "the deadline passed", "cut")
    except TerminatedWorkerError:
        reason = "the process died: out of memory, or a crash"
        return failed(cell, reason) | {"crashed": True}
    except Exception as error:  # e.g. the method cannot be pickled, or no memory for a process
        return failed(cell, f"{type(error).__name__}: {error}") | {"crashed": True}
    return record


def fit_apart(
    sample: Sample,
    protocol: Protocol,
    methods: Sequence[Method],
    rows: Indices,
    n_jobs: int | None = None,
) -> list[FittedMethod]:
    """Fit methods to the given rows, in processes if there are several methods and jobs."""
    given = sample, rows, protocol, protocol.seed
    at_a_time = min(len(methods), cpu_count() if n_jobs in (None, -1) else n_jobs)
    if at_a_time < 2 or multiprocessing.current_process().daemon:
        return [fit_method(method, *given, for_new_rows=True) for method in methods]

    def fit_one(method: Method) -> FittedMethod:
        with _lent_process() as process:
            task = process.submit(fit_method, method, *given, for_new_rows=True)
            fitted: FittedMethod = task.result()
            return fitted

    with ThreadPoolExecutor(at_a_time) as threads:
        try:
            return list(threads.map(fit_one, methods))
        except BaseException:
            close_all()
            raise


@contextmanager
def _lent_process() -> Iterator[ProcessPoolExecutor]:
    """Reserve a process for a block; kill it if the block raises."""
    with _LOCK:
        process = _FREE.pop() if _FREE else _started()
        _BUSY.add(process)
    try:
        yield process
    except BaseException:
        with _LOCK:
            _BUSY.discard(process)
        process.shutdown(wait=True, kill_workers=True)
        raise
    with _LOCK:
        _BUSY.discard(process)
        _FREE.append(process)


def warm_up(n_processes: int) -> None:
    """Start processes and their imports in the background."""
    if multiprocessing.current_process().daemon:
        return
    with _LOCK:
        fresh = [_started() for _ in range(n_processes - len(_FREE) - len(_BUSY))]
        _FREE.extend(fresh)
    for process in fresh:
        process.submit(os.getpid)


def close_all() -> None:
    """Kill all processes and the cells they run."""
    with _LOCK:
        processes = [*_BUSY, *_FREE]
        _BUSY.clear()
        _FREE.clear()
    for process in processes:
        process.shutdown(wait=True, kill_workers=True)


def _started() -> ProcessPoolExecutor:
    """Start a single-threaded process that ends after 60 s without work."""
    env = {f"{library}_NUM_THREADS": "1" for library in ("OMP", "OPENBLAS", "MKL")}
    return ProcessPoolExecutor(max_workers=1, timeout=60.0, env=env, initializer=_begin)


def _begin() -> None:
    """Ignore Ctrl-C, which the parent handles, and exclude imports from garbage collection."""
    gc.freeze()
    with suppress(ValueError):
        signal.signal(signal.SIGINT, signal.SIG_IGN)
