"""What a worker of a Dask cluster does for a comparison: cells, each in a process of its own.

The limits of a cell hold on a worker as they do without a cluster: it has one thread, is killed
when its time is up, and a crash is its own. Dask measures the memory of the worker alone, so the
memory of cells is measured here.
"""

from __future__ import annotations

import multiprocessing
import sys
import time
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from multiprocessing.util import Finalize
from threading import Lock
from typing import Any, TypeAlias

from pliant._version import __version__
from pliant.comparison.protocol import Cell, Protocol
from pliant.comparison.record import Record
from pliant.comparison.run import installed
from pliant.comparison.run.isolation import close_all, perform_apart
from pliant.comparison.run.journal import PACKAGES
from pliant.comparison.run.memory import ADVICE
from pliant.comparison.sample import Sample
from pliant.core.dask import load
from pliant.core.text import bytes_of, count, quoted

NEEDS = "comparisons on a cluster"
"""What needs the distributed scheduler, in the error of a missing package."""

TERMINATE = "distributed.worker.memory.terminate"
"""Dask's setting: the share of its memory limit at which a worker is killed; False for never."""


Table: TypeAlias = tuple[Sample, Protocol]
"""What all cells of a table share."""

MOST_TABLES = 2
"""Tables that a worker keeps at most, where several comparisons share a cluster."""

_TABLES: dict[str, Table] = {}
_LOCK = Lock()


class UnlikeWorker(ImportError):
    """A worker, or the scheduler, lacks a package or has another version of it."""


@cache
def versions() -> dict[str, str]:
    """Return the versions of Python, pliant, and the packages on which the bytes of a cell depend.

    One that is not installed has the version "none".
    """
    here = {"Python": f"{sys.version_info.major}.{sys.version_info.minor}", "pliant": __version__}
    for package in (*PACKAGES, "matplotlib", *installed.PACKAGES):
        try:
            here[package] = version(package)
        except PackageNotFoundError:
            here[package] = "none"
    return here


def check_versions(place: str, there: dict[str, str], here: dict[str, str]) -> None:
    """Raise UnlikeWorker unless a worker, or the scheduler, has the versions of this process."""
    unlike = [name for name, own in here.items() if own not in ("none", there.get(name))]
    if unlike:
        name = unlike[0]
        raise UnlikeWorker(
            f"expected {name} {here[name]} on {place}, as here, got "
            f"{quoted(there.get(name, 'none'))}: install the same versions on the scheduler and on "
            "all workers"
        )


def keep_table(key: str, table: Table) -> None:
    """Keep on this worker what all cells of a table share."""
    with _LOCK:
        _TABLES[key] = table
        while len(_TABLES) > MOST_TABLES:
            del _TABLES[next(iter(_TABLES))]


def forget_table(key: str) -> None:
    """Drop a table at the end of its comparison."""
    with _LOCK:
        _TABLES.pop(key, None)


def perform_on_worker(
    packed: bytes, cell: Cell, key: str, left: float | None, expected: dict[str, str]
) -> Record | str:
    """Perform a cell in a process of its own on this worker.

    Parameters
    ----------
    packed : bytes
        The pickled method.
    cell, key : Cell and str
        The key names the table.
    left : float or None
        Seconds that the cell may take; a time of the day would need clocks that agree.
    expected : dict of str to str
        The versions of the process that compares.

    Returns
    -------
    Record or str
        The address of the worker if it does not have the table.
    """
    worker = load("distributed", NEEDS).get_worker()
    check_versions(f"the worker {worker.address}", versions(), expected)
    table = _TABLES.get(key)
    if table is None:
        return str(worker.address)
    _allow_processes()
    ends = None if left is None else time.time() + left
    method = load("cloudpickle", NEEDS).loads(packed)
    return perform_apart(*table, method, cell, key, ends, _Limits(worker))


def _allow_processes() -> None:
    """Let this process have others, which Dask forbids its workers, since they could stay behind.

    Those of cells do not: they end when this one does, and at the latest when it is gone.
    """
    here = multiprocessing.current_process()
    if here.daemon:
        here.daemon = False
        Finalize(None, close_all, exitpriority=100)


class _Limits:
    """Why to end the process of the task that runs in this thread, if there is a reason.

    The task was cancelled; or the process has more than its share of the worker's memory limit:
    what the worker itself leaves of it, divided by the threads.
    """

    def __init__(self, worker: Any) -> None:
        self._worker, self._task = worker, worker.get_current_task()
        terminate = load("dask").config.get(TERMINATE)
        self._limit = int((worker.memory_manager.memory_limit or 0) * (terminate or 0.0))

    def __call__(self, process: int) -> str:
        """Return the reason, or ""."""
        task = self._worker.state.tasks.get(self._task)
        if task is None or task.state == "cancelled":
            return "cancelled"
        return self._shortage(process) if self._limit else ""

    def _shortage(self, process: int) -> str:
        psutil = load("psutil", NEEDS)
        try:
            held = psutil.Process(process).memory_info().rss
        except psutil.Error:  # it ended in this moment
            return ""
        threads = self._worker.state.nthreads
        share = max(0, self._limit - psutil.Process().memory_info().rss) // threads
        if held <= share:
            return ""
        whole = self._worker.memory_manager.memory_limit
        return (
            f"not enough memory: more than {share} bytes ({bytes_of(share)}), which the memory "
            f"limit of the worker {self._worker.address}, {whole} bytes ({bytes_of(whole)}), "
            f"leaves for each of its {count(threads, 'thread')}; {ADVICE}"
        )
