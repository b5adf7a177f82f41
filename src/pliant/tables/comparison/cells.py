"""Run cells of a comparison, and final fits, in single-threaded processes.

A cell tunes a method, fits it, predicts and scores. `folds.cell_seed` seeds all its random
draws, so that its scores do not depend on other cells. A loky process runs many cells,
one at a time; it is killed at a cell's deadline, and ends after a minute without work or when this
process ends. Where no process can be started, this process runs the cells one after another. A
user's executor, such as a Dask client, runs them on its workers.
"""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import asdict, dataclass, field, replace
from functools import cache, partial
from multiprocessing.connection import Connection
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from joblib import cpu_count
from joblib.externals.loky import ProcessPoolExecutor
from joblib.externals.loky.backend.reduction import dumps
from joblib.externals.loky.process_executor import TerminatedWorkerError
from sklearn.base import is_classifier
from sklearn.calibration import CalibratedClassifierCV
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from pliant.core.progress import is_over
from pliant.core.text import printable
from pliant.core.typing import Array, Indices
from pliant.methods.summary import summarize
from pliant.records.estimators import last_step
from pliant.tables.comparison.folds import (
    cell_seed,
    inner_count,
    inner_splits,
    outer_split,
)
from pliant.tables.comparison.metrics import Predictions, as_predictions, metrics_of
from pliant.tables.comparison.protocol import DEFAULT, Cell, Kept, Place, Protocol, Record
from pliant.tables.comparison.sample import Sample
from pliant.tables.comparison.search import around, predict_all, search
from pliant.tables.comparison.text import known, shortage
from pliant.tables.registry import METHODS, Method

_LOCK = threading.Lock()
_FREE: list[ProcessPoolExecutor] = []
_BUSY: set[ProcessPoolExecutor] = set()

LEAST_HELD_OUT = 10
"""Smallest number of rows of a fold that LAB-RBF's members predict in place of a fold."""

CALIBRATION_FOLDS = 3
"""Number of inner folds for Platt scaling of decision values."""


@dataclass(frozen=True, eq=False)
class FittedMethod:
    """A fitted model, its settings, and the seconds spent on "search" and "fit".

    A classifier has ``predict_proba`` if there are enough rows for inner folds.
    """

    model: Any
    settings: dict[str, Any] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)

    @property
    def own(self) -> Any:
        """The model without probability calibration."""
        if isinstance(self.model, CalibratedClassifierCV):
            return self.model.calibrated_classifiers_[0].estimator
        return self.model


def fit_method(
    method: Method,
    sample: Sample,
    rows: Indices,
    protocol: Protocol,
    seed: int,
    *,
    for_new_rows: bool = False,
) -> FittedMethod:
    """Tune a method on the given rows, then fit preprocessing, learner and calibration.

    With `for_new_rows`, missing values in new rows are imputed even if the sample has none.
    """
    start = time.perf_counter()
    chosen = search(method, sample, rows, protocol, seed)
    searched_at = time.perf_counter()
    learner = method.make_estimator(sample.task, seed=seed, n_rows=len(rows))
    model = around(learner, method, sample, for_new_rows=for_new_rows).set_params(**chosen)
    model = _with_probabilities(model, sample, rows, protocol, seed)
    # the features of all rows are not copied
    whole = np.array_equal(rows, np.arange(len(sample.y)))
    model.fit(sample.X if whole else sample.X[rows], sample.y[rows])
    if isinstance(model, CalibratedClassifierCV):
        model.cv = CALIBRATION_FOLDS  # keep the row numbers of folds out of model files
    seconds = {"search": searched_at - start, "fit": time.perf_counter() - searched_at}
    return FittedMethod(model, chosen, seconds)


def fit_default(
    sample: Sample, protocol: Protocol, seconds: float | None, n_jobs: int | None
) -> FittedMethod:
    """Fit LAB-RBF to all rows in this process, for at most the given seconds."""
    given = {"max_seconds": seconds, "n_jobs": n_jobs}
    method, rows = replace(METHODS[DEFAULT], given=given), np.arange(len(sample.y))
    return fit_method(method, sample, rows, protocol, protocol.seed, for_new_rows=True)


def _with_probabilities(
    model: Any, sample: Sample, rows: Indices, protocol: Protocol, seed: int
) -> Any:
    """Return the model, calibrated if it lacks probabilities and there are enough rows."""
    if not is_classifier(model) or hasattr(model, "predict_proba"):
        return model
    n_folds = min(CALIBRATION_FOLDS, inner_count(sample, rows, protocol))
    if n_folds < 2 or not hasattr(model, "decision_function"):
        return model
    splits, y = inner_splits(sample, rows, n_folds, seed), sample.y[rows]
    complete = all(len(np.unique(y[learn])) == len(np.unique(y)) for learn, _ in splits)
    if not complete or sum(len(test) for _, test in splits) < len(rows):
        return model  # a class is missing, or time-ordered folds never predict the first rows
    return CalibratedClassifierCV(model, cv=splits, ensemble=False)


def perform(sample: Sample, protocol: Protocol, method: Method, cell: Cell) -> Record:
    """Fit a method on the training rows of a fold and score it on the test rows."""
    start = time.perf_counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            record = _finished(sample, protocol, method, cell)
            record["seconds"]["total"] = time.perf_counter() - start
        except MemoryError as error:
            record = failed(cell, shortage(error)) | {"crashed": True}
        except Exception as error:
            record = failed(cell, f"{type(error).__name__}: {error}")
    texts = dict.fromkeys(printable(" ".join(str(each.message).split()), 300) for each in caught)
    record["warnings"] = list(texts)
    return record


def failed(cell: Cell, error: str, status: Literal["error", "cut"] = "error") -> Record:
    """Return the record of a cell that failed or missed its deadline."""
    return _record(cell, status=status, error=printable(" ".join(error.split()), 400))


def _record(cell: Cell, **facts: Any) -> Record:
    """Return the record of a finished cell, or with other facts."""
    record: Any = {**asdict(cell), "status": "done", "error": None, "scores": {}, "warnings": []}
    return record | facts


def _finished(sample: Sample, protocol: Protocol, method: Method, cell: Cell) -> Record:
    train, test = outer_split(sample, protocol, *cell.place)
    if len(train) > method.max_rows:
        raise ValueError(f"expected at most {method.max_rows} training rows, got {len(train)}")
    fitted = fit_method(method, sample, train, protocol, cell_seed(protocol, cell))
    start = time.perf_counter()
    predictions = predictions_of(fitted, sample.X[test])
    predicted = time.perf_counter() - start
    summary = summarize(last_step(fitted.own))
    gaps = [function.relative_gap for function in summary.functions]
    certified = gaps and all(map(known, gaps))
    return _record(
        cell,
        rows={"train": len(train), "test": len(test)},
        scores=scores_of(sample, protocol, sample.y[test], predictions),
        chosen={
            name.removeprefix("regressor__").removeprefix("machine__"): value
            for name, value in fitted.settings.items()
        },
        kept=_stored_predictions(sample, protocol, cell.place, test, predictions),
        support=summary.n_support,
        gap=float(max(filter(known, gaps))) if certified else None,
        seconds={**fitted.seconds, "predict": predicted},
        # loky's pickle contains classes of the user's script or notebook; Python's cannot.
        size_bytes=len(dumps(fitted.model, protocol=5)),
    )


def held_out_records(
    sample: Sample, protocol: Protocol, fitted: FittedMethod, at: float
) -> list[Record]:
    """Return the records of LAB-RBF for the first repeat from a fit to all rows that ended `at`.

    Its members predict rows that they hold out, so no fold is fitted. The list is empty if rows are
    grouped or ordered, as members hold out random rows, or if a fold has less than ten rows that
    members predict.
    """
    held_out = last_step(fitted.own)._held_out
    if held_out is None or sample.groups is not None or sample.ordered:
        return []
    place_of = dict(zip(held_out.rows.tolist(), held_out.values, strict=True))
    records = list[Record]()
    for fold in range(protocol.folds):
        cell = Cell(DEFAULT, 0, fold)
        train, test = outer_split(sample, protocol, *cell.place)
        stored = test[kept_rows(protocol, cell.place, test)]
        rows = np.array([row for row in stored.tolist() if row in place_of], dtype=np.intp)
        if len(rows) < LEAST_HELD_OUT:
            return []
        values = np.stack([place_of[row] for row in rows.tolist()])
        values = values[:, 0] if sample.task == "regression" else values
        classes = None if sample.task == "regression" else np.array(sample.classes)
        scores = scores_of(sample, protocol, sample.y[rows], as_predictions(values, classes))
        records.append(
            _record(
                cell,
                rows={"train": len(train), "test": len(rows)},
                scores=scores,
                kept={"rows": rows.tolist(), "values": values.tolist()},
                seconds={**fitted.seconds, "total": fitted.seconds["fit"]},
                at=at,
            )
        )
    return records


def predictions_of(fitted: FittedMethod, X: Array) -> Predictions:
    """Return a fitted method's predictions for X."""
    return predict_all(fitted.model, fitted.own, X)


def scores_of(
    sample: Sample, protocol: Protocol, y: npt.NDArray[Any], predictions: Predictions
) -> dict[str, float | None]:
    """Score predictions by the task's metrics and the protocol's metric."""
    wanted = protocol.metric_for(sample.task)
    metrics = {metric.name: metric for metric in (*metrics_of(sample.task), wanted)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return {name: metric.finite(y, predictions) for name, metric in metrics.items()}


def kept_rows(protocol: Protocol, place: Place, test: Indices) -> Indices:
    """Return the sorted positions of the test rows with stored predictions, at most 2000."""
    order = np.random.default_rng([protocol.seed, *place]).permutation(len(test))
    return np.sort(order[:2000])


def _stored_predictions(
    sample: Sample, protocol: Protocol, place: Place, test: Indices, predictions: Predictions
) -> Kept | None:
    """Return the predictions to store; None if one is not finite or probabilities are missing."""
    chosen = kept_rows(protocol, place, test)
    values = predictions.values
    if sample.task == "classification":
        if predictions.probability is None or predictions.classes is None:
            return None
        classes = np.array(sample.classes)
        values = np.zeros((len(test), len(classes)))  # 0 for classes without training rows
        values[:, np.searchsorted(classes, predictions.classes)] = predictions.probability
    kept = values[chosen]
    if not np.isfinite(kept).all():
        return None
    written = [[float(f"{v:.7g}") for v in np.atleast_1d(row)] for row in kept]
    flat = [row[0] for row in written] if sample.task == "regression" else written
    return {"rows": test[chosen].tolist(), "values": flat}


def perform_apart(
    sample: Sample,
    protocol: Protocol,
    method: Method,
    cell: Cell,
    ends: float | None = None,
    executor: Any = None,
) -> Record:
    """Run a cell in another process, or in an executor with ``submit``.

    At `ends`, a ``time.monotonic`` value, the process is killed; the record has the status "cut".
    Where no process can be started, the cell runs in this one, to its end.
    """
    try:
        record: Record = _apart(ends, executor, perform, sample, protocol, method, cell)
    except TimeoutError:
        return failed(cell, "the deadline passed", "cut")
    except TerminatedWorkerError:
        reason = "the process died (out of memory, or a crash)"
        return failed(cell, reason) | {"crashed": True}
    except Exception as error:  # e.g. the method cannot be pickled, or a process cannot start
        return failed(cell, f"{type(error).__name__}: {error}") | {"crashed": True}
    return record


def fit_whole(
    sample: Sample,
    protocol: Protocol,
    method: Method,
    ends: float | None = None,
    executor: Any = None,
) -> FittedMethod | None:
    """Fit a method to all rows as `perform_apart` runs a cell; return None if that fails."""
    given = method, sample, np.arange(len(sample.y)), protocol, protocol.seed
    try:
        fitted: FittedMethod = _apart(ends, executor, fit_method, *given, for_new_rows=True)
    except Exception:  # the method has run on all folds, so its error is not new
        return None
    return fitted


def _apart(
    ends: float | None, executor: Any, task: Callable[..., Any], *given: Any, **options: Any
) -> Any:
    """Call a function in another process; raise TimeoutError and kill the process at `ends`."""
    if is_over(ends):
        raise TimeoutError
    if executor is None and not starts_processes():
        return task(*given, **options)
    with _lent_process() if executor is None else nullcontext(executor) as process:
        future = process.submit(task, *given, **options)
        left = None if ends is None else max(0.0, ends - time.monotonic())
        try:
            return future.result(left)
        except TimeoutError:
            future.cancel()
            raise


def fit_apart(
    sample: Sample,
    protocol: Protocol,
    methods: Sequence[Method],
    rows: Indices,
    n_jobs: int | None = None,
) -> list[FittedMethod]:
    """Fit methods on the given rows, in parallel if there are several methods and jobs."""
    given = sample, rows, protocol, protocol.seed
    at_a_time = min(len(methods), cpu_count() if n_jobs in (None, -1) else n_jobs)
    if at_a_time < 2 or not starts_processes():
        fit = partial(ThisProcess().submit, fit_method)
        return [fit(method, *given, for_new_rows=True).result() for method in methods]

    def fit_one(method: Method) -> Any:
        return _apart(None, None, fit_method, method, *given, for_new_rows=True)

    with ThreadPoolExecutor(at_a_time) as threads:
        try:
            return list(threads.map(fit_one, methods))
        except BaseException:
            close_all()
            raise


@contextmanager
def _lent_process() -> Iterator[ProcessPoolExecutor]:
    """Reserve a process for a ``with`` block; kill it if the block raises."""
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


class ThisProcess:
    """An executor that runs a task when it is submitted, with BLAS and OpenMP on one thread.

    Two threads of BLAS wait for each other: on a busy computer, small matrices took 100 times as
    long.
    """

    def submit(self, task: Callable[..., Any], *given: Any, **options: Any) -> Future[Any]:
        """Run a task; return a future with its result or its error."""
        future: Future[Any] = Future()
        try:
            with threadpool_limits(1):
                future.set_result(task(*given, **options))
        except Exception as error:
            future.set_exception(error)
        return future

    def shutdown(self) -> None:
        """Do nothing, as no task is running."""


def warm_up(n_processes: int) -> list[Future[Any]]:
    """Start processes, including their imports, in the background; return a future of each."""
    if not starts_processes():
        return []
    with _LOCK:
        fresh = [_started() for _ in range(n_processes - len(_FREE) - len(_BUSY))]
        _FREE.extend(fresh)
    return [process.submit(os.getpid) for process in fresh]


def await_processes(n_processes: int, seconds: float | None) -> None:
    """Start processes, also for those that have died, and wait for them, for at most some time."""
    starting = []
    with _LOCK:
        for process in [*_FREE]:
            try:
                starting.append(process.submit(os.getpid))
            except BrokenExecutor:
                _FREE.remove(process)
    wait([*starting, *warm_up(n_processes)], seconds)


def close_all() -> None:
    """Kill all processes and the cells they run."""
    with _LOCK:
        processes = [*_BUSY, *_FREE]
        _BUSY.clear()
        _FREE.clear()
    for process in processes:
        process.shutdown(wait=True, kill_workers=True)


def starts_processes() -> bool:
    """Return True unless this process is daemonic or the computer has no semaphores."""
    if multiprocessing.current_process().daemon:
        return False
    try:
        multiprocessing.Semaphore()
    except (ImportError, OSError):
        return False
    return True


@cache
def _lifeline() -> tuple[Connection, Connection]:
    """Return a pipe whose second end only this process holds, until it ends."""
    return multiprocessing.Pipe(duplex=False)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_lifeline.cache_clear)


def _started() -> ProcessPoolExecutor:
    """Start a single-threaded process that ends after 60 s without work or with this process."""
    env = {f"{library}_NUM_THREADS": "1" for library in ("OMP", "OPENBLAS", "MKL")}
    begin = {"initializer": _begin, "initargs": (_lifeline()[0],)}
    return ProcessPoolExecutor(max_workers=1, timeout=60.0, env=env, **begin)


def _begin(lifeline: Connection) -> None:
    """Ignore Ctrl-C, which the parent handles, and exclude imports from garbage collection."""
    threading.Thread(target=_end_with_parent, args=[lifeline], daemon=True).start()
    gc.freeze()
    with suppress(ValueError):
        signal.signal(signal.SIGINT, signal.SIG_IGN)


def _end_with_parent(lifeline: Connection) -> None:
    """Wait until the end of the parent closes the pipe, then end this process."""
    with suppress(EOFError, OSError):
        lifeline.recv_bytes()
    os._exit(1)
