"""Cells in processes of their own: one thread each, killed at a deadline, a crash is an error.

A process serves many cells, one at a time; after a minute without work it ends. Where no process
can be started (inside a process that may have no children), cells run where they are.
"""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeAlias

from joblib.externals.loky import ProcessPoolExecutor, process_executor
from joblib.externals.loky.process_executor import TerminatedWorkerError

from pliant.comparison.protocol import Cell, Protocol
from pliant.comparison.record import Record
from pliant.comparison.run.cells import cut, failed, perform
from pliant.comparison.sample import Sample
from pliant.core.progress import is_over
from pliant.registry import Method

THREADS = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
MOST_GROWTH = 2 * 10**9
"""Bytes by which a process may grow before it is replaced; loky's own limit is 3e8."""

IDLE = 60.0
"""Seconds after which a process without work ends."""

GUARDED = 0.2
"""Seconds between two calls of a `Guard`."""

Guard: TypeAlias = Callable[[int], str]
"""Called several times a second with the id of a cell's process; a text is why to end it."""

_KEPT: dict[str, tuple[Sample, Protocol]] = {}
"""In a process that serves cells: the table and the protocol."""


class _Refused(Exception):
    """A guard ends the process of a cell, for a reason."""


class _Server:
    """A process that serves cells of one table at a time."""

    def __init__(self) -> None:
        self.executor = ProcessPoolExecutor(
            max_workers=1,
            timeout=IDLE,
            env=THREADS,
            initializer=_begin,
            initargs=(os.getpid(),),
        )
        self.ends: float | None = None
        self.guard: Guard | None = None

    def serve(
        self, sample: Sample, protocol: Protocol, key: str, method: Method, cell: Cell
    ) -> Record:
        """Return the record of a cell; the table is handed over first, if need be.

        The process may be a new one: one ends after a minute without work, or when it has grown.
        """
        for _ in range(2):
            record: Record | None = self._ask(_serve, key, method, cell, self.ends)
            if record is not None:
                return record
            self._ask(_keep, key, sample, protocol)
        raise RuntimeError("a process lost its table twice")

    def _ask(self, task: Callable[..., Any], *arguments: Any) -> Any:
        if self.guard is None:
            return self.executor.submit(task, *arguments).result(timeout=self._left())
        process = self.executor.submit(os.getpid).result(timeout=self._left())
        future = self.executor.submit(task, *arguments)
        while (left := self._left()) is None or left > 0:
            with suppress(TimeoutError):
                return future.result(timeout=GUARDED if left is None else min(GUARDED, left))
            if reason := self.guard(process):
                raise _Refused(reason)
        raise TimeoutError

    def _left(self) -> float | None:
        return None if self.ends is None else max(0.0, self.ends - time.time())

    def kill(self) -> None:
        """End the process at once."""
        self.executor.shutdown(wait=True, kill_workers=True)

    def start(self) -> None:
        """Start the process, without waiting for it."""
        self.executor.submit(os.getpid)


_LOCK = threading.Lock()
_FREE: list[_Server] = []
_BUSY: set[_Server] = set()


def perform_apart(
    sample: Sample,
    protocol: Protocol,
    method: Method,
    cell: Cell,
    key: str,
    ends: float | None = None,
    guard: Guard | None = None,
) -> Record:
    """Perform a cell in another process.

    Parameters
    ----------
    key : str
        Names the sample and the protocol: a process that has served this key has them.
    ends : float or None
        When to kill it, by ``time.time``.
    guard : callable, optional
        See `Guard`; the cell fails for the reason that it gives.

    Returns
    -------
    Record
        Of the cell; its status is "cut" if the time was up.
    """
    if multiprocessing.current_process().daemon:
        return perform(sample, protocol, method, cell, ends)
    if is_over(ends):
        return cut(cell)
    server = _borrowed()
    try:
        server.ends, server.guard = ends, guard
        record = server.serve(sample, protocol, key, method, cell)
    except TimeoutError:
        _drop(server)
        return cut(cell)
    except TerminatedWorkerError:
        _drop(server)
        return crashed(cell, "the process died: out of memory, or a crash")
    except _Refused as reason:
        _drop(server)
        return crashed(cell, str(reason))
    except Exception as error:  # such as a method that cannot be sent, or no memory for a process
        _drop(server)
        return crashed(cell, f"{type(error).__name__}: {error}")
    with _LOCK:
        _BUSY.discard(server)
        _FREE.append(server)
    return record


def crashed(cell: Cell, error: str) -> Record:
    """Return the record of a cell that may succeed another time."""
    return failed(cell, error) | {"crashed": True}


def warm_up(n_processes: int) -> None:
    """Start processes that import what cells need, while this one does something else."""
    if multiprocessing.current_process().daemon:
        return
    with _LOCK:
        wanted = n_processes - len(_FREE) - len(_BUSY)
        fresh = [_Server() for _ in range(wanted)]
        _FREE.extend(fresh)
    for server in fresh:
        server.start()


def close_all() -> None:
    """End all processes, at once; the cells that they serve are lost."""
    with _LOCK:
        servers = [*_BUSY, *_FREE]
        _BUSY.clear()
        _FREE.clear()
    for server in servers:
        server.kill()


def _borrowed() -> _Server:
    with _LOCK:
        server = _FREE.pop() if _FREE else _Server()
        _BUSY.add(server)
    return server


def _drop(server: _Server) -> None:
    with _LOCK:
        _BUSY.discard(server)
    server.kill()


def _begin(parent: int) -> None:
    """Prepare a process: leave Ctrl-C to the parent, and end when the parent is gone.

    What is imported is left out of the collections of garbage that cells make. A process that has
    grown is not ended as soon as by default: the next one would import everything again.
    """
    gc.freeze()
    process_executor._MAX_MEMORY_LEAK_SIZE = MOST_GROWTH
    with suppress(ValueError):
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_watch, args=(parent,), daemon=True).start()


def _watch(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(1.0)
    os._exit(1)


def _keep(key: str, sample: Sample, protocol: Protocol) -> None:
    """Keep what all cells of a table need, in place of another one."""
    _KEPT.clear()
    _KEPT[key] = sample, protocol


def _serve(key: str, method: Method, cell: Cell, ends: float | None) -> Record | None:
    """Perform a cell; None if this process does not have the table."""
    if key not in _KEPT:
        return None
    sample, protocol = _KEPT[key]
    return perform(sample, protocol, method, cell, ends)
