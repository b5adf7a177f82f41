"""Default fits of every estimator beside a busy process, with and without OMP_NUM_THREADS=1."""

from __future__ import annotations

import multiprocessing
import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from multiprocessing.connection import Connection
from types import MappingProxyType
from typing import Any
from unittest.mock import patch

import numpy as np
from sklearn.base import is_regressor
from sklearn.datasets import make_friedman1

import pliant
from benchmarks.harness.calls import fitting
from benchmarks.harness.machine import load_average
from benchmarks.harness.measuring import THREAD_VARIABLES, Measurement, Settings, turns
from benchmarks.harness.spec import Case, Contestant, Params, Prepared
from benchmarks.harness.worker import described, prepared

FEATURES, FEW = 10, 100
"""Features of the table, and rows of the fit that compiles the loops."""

UNSET = "unset"
"""The value of `threads` for a process without OMP_NUM_THREADS."""

_processes = multiprocessing.get_context("spawn")


def default_fit(params: Params) -> Prepared:
    """Prepare a fit with all defaults but the seed."""
    model = getattr(pliant, params["estimator"])()
    if "random_state" in model.get_params():
        model.set_params(random_state=0)
    X, y = make_friedman1(params["rows"], FEATURES, noise=1.0, random_state=0)
    target = y if is_regressor(model) else (y > np.median(y)).astype(np.intp)
    model.fit(X[:FEW], target[:FEW])
    return fitting(
        model,
        X,
        target,
        describe=lambda fitted: {"rows": params["rows"], "load": (load_average() or (None,))[0]},
    )


def beside_a_busy_process(
    case: Case, settings: Settings, log: Callable[[str], None] = lambda line: None
) -> list[Measurement]:
    """Return a measurement for each repeat and contestant, as `measure_case` does.

    Each contestant has one process for all repeats, which measures on demand, so that contestants
    take turns within seconds; one more process computes all the time. The parameter `threads` of a
    contestant is the value of OMP_NUM_THREADS, or "unset"; other variables are unset.
    """
    measurements = []
    with ExitStack() as stack:
        stack.enter_context(_process(_spin))
        workers = {c.name: stack.enter_context(_worker(c, case)) for c in case.contestants}
        for worker in workers.values():
            _ask(worker, settings.timeout)  # the first fit is not measured
        for repeat, position, contestant in turns(case, settings.repeats):
            outcome = _ask(workers[contestant.name], settings.timeout)
            place = {"repeat": repeat, "position": position, "contestant": contestant.name}
            measurements.append({**place, **outcome})
            text = outcome.get("error") or f"{outcome['seconds']:.4g} s"
            log(f"{case.name} | {repeat + 1}/{settings.repeats} | {contestant.name}: {text}")
    return measurements


@contextmanager
def _process(
    target: Callable[..., None],
    *connections: Connection,
    arguments: tuple[Any, ...] = (),
    variables: Mapping[str, str] = MappingProxyType({}),
) -> Iterator[None]:
    """Run a function in a separate process, with these variables for threads and no other.

    Its arguments are the connections, which are closed here, and then the other arguments.
    """
    running = _processes.Process(target=target, args=(*connections, *arguments), daemon=True)
    with patch.dict(os.environ):
        for name in THREAD_VARIABLES:
            os.environ.pop(name, None)
        os.environ.update(variables)
        running.start()
    for each in connections:
        each.close()  # the process has its own, whose end is noticed at the other side
    try:
        yield
    finally:
        running.kill()
        running.join()


@contextmanager
def _worker(contestant: Contestant, case: Case) -> Iterator[Connection]:
    """Start a process that measures a contestant whenever it is asked to."""
    params = {**case.params, **contestant.params}
    threads = params["threads"]
    variables = {} if threads == UNSET else {"OMP_NUM_THREADS": str(threads)}
    ours, theirs = _processes.Pipe()
    arguments = contestant.function, params
    with ours, _process(serve, theirs, arguments=arguments, variables=variables):
        yield ours


def _ask(worker: Connection, timeout: float) -> Measurement:
    """Return the outcome of one measurement, or why there is none."""
    try:
        worker.send(None)
        if not worker.poll(timeout):
            worker.close()  # a late answer would be that of another request
            return {"error": f"not done after {timeout:g} s"}
        outcome: Measurement = worker.recv()
    except (EOFError, OSError) as error:
        return {"error": f"the process has ended: {type(error).__name__}"}
    return outcome


def serve(requests: Connection, function: str, params: Params) -> None:
    """Measure a contestant at each request until nobody asks; an error is an outcome, too."""
    made: Prepared | None = None
    with suppress(EOFError, OSError):
        while True:
            requests.recv()
            try:
                made = made or prepared(function, params)
                outcome = described(*made)
            except Exception as error:
                outcome = {"error": f"{type(error).__name__}: {error}"}
            requests.send(outcome)


def _spin() -> None:
    """Compute for ever."""
    while True:
        time.perf_counter()
