"""Cells of a comparison as tasks of a Dask cluster.

The table is scattered once; each worker keeps a copy, and runs cells in processes of their own
(`pliant.comparison.run.on_worker`). A cell whose worker is lost runs again on another one.
"""

from __future__ import annotations

import logging
import pkgutil
import re
import time
from collections.abc import Iterator
from concurrent.futures import CancelledError
from contextlib import ExitStack, contextmanager, suppress
from threading import Lock
from typing import Any
from uuid import uuid4

from pliant._version import __version__
from pliant.comparison.protocol import Cell, Protocol
from pliant.comparison.record import Record
from pliant.comparison.run.cells import cut
from pliant.comparison.run.isolation import crashed
from pliant.comparison.run.on_worker import (
    NEEDS,
    UnlikeWorker,
    check_versions,
    forget_table,
    keep_table,
    perform_on_worker,
    versions,
)
from pliant.comparison.sample import Sample
from pliant.core.dask import load
from pliant.core.progress import is_over
from pliant.core.text import bytes_of, printable, quoted
from pliant.registry import Method

ADDRESS = re.compile(r"(tcp|tls)://\S+:\d+", re.ASCII)

VERSION = pkgutil.resolve_name, "pliant:__version__"
"""What returns the version of pliant in another process, and its argument."""

PATIENCE = 10.0
"""Seconds to wait for a scheduler and its first worker."""

RESTART = 60.0
"""Seconds to wait for a new worker when all are lost."""

MOST_LOSSES = 4
"""How often the table may be lost, with the only worker that has it, before a cell fails."""

MOST_CELLS = 1024
"""Cells at a time, at most: each has a thread here that waits for it."""


@contextmanager
def connected(scheduler: Any) -> Iterator[Any]:
    """Lend a client whose scheduler and workers can run cells.

    Parameters
    ----------
    scheduler : str or distributed.Client
        An address, such as ``tcp://127.0.0.1:8786``: a client is made, and closed at the end. A
        client of the user's is left as it is.

    Raises
    ------
    ValueError
        If it is a text but no address, or an asynchronous client.
    TypeError
        If it is anything else.
    ConnectionError
        If there is no answer, no worker, or the client is closed.
    ImportError
        If a worker has other versions of pliant, Python or the packages that decide scores, or
        Dask is missing here.
    """
    if isinstance(scheduler, str) and not ADDRESS.fullmatch(scheduler):
        raise ValueError(
            "expected a scheduler as its address, such as tcp://127.0.0.1:8786, got "
            f"{quoted(scheduler, 100)}"
        )
    distributed = load("distributed", NEEDS)
    with ExitStack() as held:
        client = scheduler
        if isinstance(scheduler, str):
            client = held.enter_context(_own_client(distributed, scheduler))
        if not isinstance(client, distributed.Client):
            raise TypeError(
                "expected a scheduler as its address, such as 'tcp://127.0.0.1:8786', or as a "
                f"distributed.Client, got {type(scheduler).__name__}"
            )
        if client.asynchronous:
            raise ValueError("expected a distributed.Client(asynchronous=False), got True")
        if client.status != "running":
            raise ConnectionError(f"expected a connected client, got one that is {client.status}")
        _check_workers(client)
        yield client


@contextmanager
def _own_client(distributed: Any, address: str) -> Iterator[Any]:
    try:
        client = distributed.Client(address, timeout=PATIENCE, set_as_default=False)
    except (OSError, TimeoutError) as error:
        reason = printable(" ".join(str(error).split()), 200) or type(error).__name__
        raise ConnectionError(
            f"expected a Dask scheduler at {quoted(address, 100)}, got no answer in {PATIENCE:g} s "
            f"({reason})"
        ) from None
    try:
        yield client
    finally:
        if client.status != "running":  # it complains about the lost scheduler once more
            logging.getLogger("distributed.client").setLevel(logging.CRITICAL)
        client.close(timeout=PATIENCE)


def _check_workers(client: Any) -> None:
    """Raise an error unless there are workers, all of them with the versions of this process."""
    address = client.scheduler.address
    try:
        client.wait_for_workers(1, timeout=PATIENCE)
    except TimeoutError:
        raise ConnectionError(
            f"expected at least one worker at the scheduler {address}, got none in {PATIENCE:g} s: "
            f"start one with dask worker {address}"
        ) from None
    _check_versions(client)


def _check_versions(client: Any) -> None:
    """Raise UnlikeWorker unless the scheduler and all workers have the versions of this process.

    The version of pliant is asked for by its name: another pliant may lack a function that is sent.
    """
    places = {f"the worker {k}": v for k, v in client.run(*VERSION, on_error="return").items()}
    try:
        places[f"the scheduler {client.scheduler.address}"] = client.run_on_scheduler(*VERSION)
    except ImportError as error:
        places[f"the scheduler {client.scheduler.address}"] = error
    for place, answer in places.items():
        version = "none" if isinstance(answer, Exception) else str(answer)
        check_versions(place, {"pliant": version}, {"pliant": __version__})
    for worker, there in client.run(versions).items():
        check_versions(f"the worker {worker}", there, versions())


class Cluster:
    """The workers of a cluster as the place where the cells of one table run.

    Parameters
    ----------
    client : distributed.Client
    sample, protocol : Sample and Protocol
    """

    def __init__(self, client: Any, sample: Sample, protocol: Protocol) -> None:
        self._client, self._shared = client, (sample, protocol)
        self._killed = load("distributed", NEEDS).KilledWorker
        self._lock = Lock()
        self._table: Any = None
        self._running: set[Any] = set()
        self._stopped = False
        self._alone: float | None = None

    def slots(self) -> int:
        """Return how many cells can run at a time now: one for each thread of the workers.

        Raises
        ------
        ConnectionError
            If the scheduler is lost, or all workers are for a minute.
        """
        self._check_connection()
        try:
            threads = sum(self._client.nthreads().values())
        except OSError as error:
            raise self._lost(f"got {type(error).__name__}: {printable(error, 200)}") from None
        now = time.monotonic()
        if threads:
            self._alone = None
        elif self._alone is None:
            self._alone = now
        elif now - self._alone > RESTART:
            raise self._lost(f"got no worker in {RESTART:g} s")
        return max(1, threads)

    def perform(
        self,
        sample: Sample,
        protocol: Protocol,
        method: Method,
        cell: Cell,
        key: str,
        ends: float | None = None,
    ) -> Record:
        """Perform a cell on a worker; see `pliant.comparison.run.isolation.perform_apart`.

        Raises
        ------
        ConnectionError
            If the scheduler is lost.
        ImportError
            If a worker that joined has other versions.
        """
        try:
            packed = load("cloudpickle", NEEDS).dumps(method)
        except Exception as error:  # whatever an object of others raises
            return crashed(cell, f"{type(error).__name__}: {error}")
        for _ in range(MOST_LOSSES):
            try:
                return self._performed(packed, cell, key, ends)
            except TimeoutError:
                return cut(cell)
            except CancelledError:  # the only copy of the table was lost, or this is the end
                self._check_connection()
            except self._killed as error:
                worker, times = error.last_worker, error.allowed_failures + 1
                return crashed(cell, _death(times, worker.address, worker.memory_limit))
            except UnlikeWorker:
                raise
            except Exception as error:  # such as a class that the worker cannot import
                return crashed(cell, f"{type(error).__name__}: {error}")
        return crashed(cell, _death(MOST_LOSSES))

    def stop(self) -> None:
        """Cancel all cells; their processes on the workers end."""
        self._stopped = True
        with self._lock:
            running = [*self._running]
        with suppress(OSError, RuntimeError):  # the scheduler may be gone
            self._client.cancel(running)

    def forget(self, key: str) -> None:
        """Let the workers drop the table of a key, after all cells."""
        with suppress(OSError, RuntimeError):
            self._client.run(forget_table, key, on_error="ignore")

    def _performed(self, packed: bytes, cell: Cell, key: str, ends: float | None) -> Record:
        """Return the record of a cell; a worker that does not have the table gets it."""
        while True:
            if is_over(ends):
                raise TimeoutError
            left = None if ends is None else ends - time.time()
            task = perform_on_worker, packed, cell, key, left, versions()
            name = f"{cell.method}-{uuid4().hex}"
            answer: Record | str = self._result(left, *task, key=name)
            if not isinstance(answer, str):
                return answer
            place = {"workers": [answer], "allow_other_workers": True}
            self._result(left, keep_table, key, self._sent(), **place)

    def _result(self, left: float | None, *task: Any, **options: Any) -> Any:
        """Return the result of a task on the cluster.

        Raises TimeoutError when the time is up, and CancelledError if the table is lost.
        """
        with self._lock:
            if self._stopped:
                raise CancelledError
            future = self._client.submit(*task, pure=False, **options)
            self._running.add(future)
        try:
            return future.result(timeout=left)
        except TimeoutError:
            future.cancel()
            raise
        finally:
            with self._lock:
                self._running.discard(future)

    def _sent(self) -> Any:
        """Return the table, which is sent to a worker once; workers have it from each other."""
        with self._lock:
            if self._table is None or self._table.status != "finished":
                try:
                    [self._table] = self._client.scatter([self._shared], hash=False)
                except TimeoutError:  # the last worker was lost in this moment
                    raise CancelledError from None
            return self._table

    def _check_connection(self) -> None:
        """Raise ConnectionError if the scheduler is lost, CancelledError if cells are cancelled."""
        if self._stopped:
            raise CancelledError
        if self._client.status != "running":
            raise self._lost("the connection was lost")

    def _lost(self, what: str) -> ConnectionError:
        address = self._client.scheduler.address
        return ConnectionError(
            f"expected the Dask scheduler {address} and its workers until all cells are done, but "
            f"{what}; finished cells are kept (--cache, cache=): go on with --resume "
            "(resume=True), on a new scheduler or on this computer"
        )


def _death(times: int, address: str = "", limit: int = 0) -> str:
    """Return why a cell failed whose workers died while it ran, as often as Dask allows."""
    often = f" {times} times" if times > 1 else ""
    where = f"{', the last time' if often else ''} at {address}" if address else ""
    beyond = f" beyond its limit of {limit} bytes ({bytes_of(limit)})" if limit else ""
    return f"its worker died{often}{where}: out of memory{beyond}, or a crash"
