"""One task for each part, on any backend of joblib, the largest parts first."""

from __future__ import annotations

import os
import pickle
import threading
import time
import traceback
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple, TypeAlias
from uuid import uuid4

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs

from pliant.core.threads import blas_limited
from pliant.methods.svm.parts.store import PartResult, Store

UNFINISHED = "STOPPED"
"""The status of a result that is not stored, because the time limit came first."""

_RUNNING: set[str] = set()
_THREAD = threading.local()


Work: TypeAlias = Callable[..., PartResult]
"""Solves a part; a function of a module, so that other processes can find it."""

Arguments: TypeAlias = Sequence[tuple[Any, ...]]
"""The arguments of `Work`, a tuple for each part; read from the sequence only when needed."""


class Failure(NamedTuple):
    """The error of a part, and its traceback."""

    error: Exception
    trace: str


Outcome: TypeAlias = tuple[int, PartResult | Failure]

Outcomes: TypeAlias = Generator[Outcome, None, None]


class Stop(BaseException):
    """Ends joblib's generator without the warning that closing it gives."""


def run_parts(
    work: Work,
    arguments: Arguments,
    *,
    sizes: Sequence[int],
    n_jobs: int | None = None,
    store: Store | None = None,
    stage: str = "plain",
    report: Callable[[int, int], object] | None = None,
) -> list[PartResult | None]:
    """Solve each part that is not in the store yet, and store each result when it arrives.

    Tasks go to joblib: to threads, or to the backend that ``joblib.parallel_config`` sets. The
    largest parts start first. At any time, fewer than twice as many tasks are active as the backend
    has workers, so that the data of no more parts are copied at once. Backends that cannot return
    results one by one (multiprocessing, Ray) run as many parts as they have workers, then the next.

    Parameters
    ----------
    work : callable
        Solves a part. Other processes must be able to import it by its name; it must not write
        into its arguments, which may be shared.
    arguments : sequence of tuples
        The arguments of `work`, one tuple for each part. An item is read only when its task starts,
        perhaps from another thread.
    sizes : sequence of int
        The number of rows of each part.
    n_jobs : int or None
        As in joblib: None is 1, or the value of ``parallel_config``; -1 is all processors.
    store : Store, optional
        Parts in the store are not run again; others are saved there, unless their status is
        "STOPPED".
    stage : str
        The name of these results in the store.
    report : callable, optional
        Called as ``report(done, total)`` after each part that was run. If it returns True, the
        run ends and unfinished parts are dropped.

    Returns
    -------
    list of PartResult or None
        In the order of the parts; None only for parts that were not run because `report` asked
        to stop.

    Raises
    ------
    Exception
        The first error of a part ends the run. It is raised again in its own type if that takes a
        message, else as RuntimeError, and begins "part 3 of 17 (412 rows): ". Finished parts
        stay in the store.
    """
    total = len(arguments)
    if len(sizes) != total:
        raise ValueError(f"expected {total} sizes, one for each part, got {len(sizes)}")
    results: list[PartResult | None] = [None] * total
    if store is not None:
        results = [store.load(stage, part, int(sizes[part])) for part in range(total)]
    missing = [part for part in _largest_first(sizes) if results[part] is None]
    done = total - len(missing)
    with _running() as key, _ending(_outcomes(work, arguments, missing, n_jobs, key)) as outcomes:
        for part, outcome in outcomes:
            if isinstance(outcome, Failure):
                raise _named(outcome, f"part {part + 1} of {total} ({sizes[part]} rows)")
            if store is not None and outcome.status != UNFINISHED:
                store.save(stage, part, outcome)
            results[part], done = outcome, done + 1
            if report is not None and report(done, total):
                break
    return results


def _largest_first(sizes: Sequence[int]) -> list[int]:
    order: list[int] = np.argsort(-np.asarray(sizes, dtype=np.intp), kind="stable").tolist()
    return order


def _outcomes(
    work: Work, arguments: Arguments, parts: list[int], n_jobs: int | None, key: str
) -> Outcomes:
    """Yield the outcomes as they arrive, or in rounds from a backend that cannot do that."""
    options: dict[str, Any] = {
        "n_jobs": n_jobs,
        "prefer": "threads",
        "batch_size": 1,
        "pre_dispatch": "n_jobs",
    }
    try:
        parallel = Parallel(return_as="generator_unordered", **options)
    except ValueError:
        yield from _rounds(work, arguments, parts, Parallel(**options), n_jobs, key)
    else:
        yield from parallel(_tasks(work, arguments, parts, key))


def _rounds(
    work: Work,
    arguments: Arguments,
    parts: list[int],
    parallel: Parallel[Any],
    n_jobs: int | None,
    key: str,
) -> Outcomes:
    """Yield the outcomes of as many parts as there are workers, failures last; then of the next."""
    with parallel as pool:
        step = effective_n_jobs(n_jobs)  # type: ignore[arg-type]  # None is fine
        for low in range(0, len(parts), step):
            outcomes = pool(_tasks(work, arguments, parts[low : low + step], key))
            yield from sorted(outcomes, key=lambda outcome: isinstance(outcome[1], Failure))


@contextmanager
def _ending(outcomes: Outcomes) -> Iterator[Outcomes]:
    """End the unfinished tasks when the block ends."""
    try:
        yield outcomes
    finally:
        with suppress(Stop):
            outcomes.throw(Stop())


def _named(failure: Failure, where: str) -> Exception:
    """Return the error of a part with the name of the part, caused by the error itself."""
    cause = failure.error
    if cause.__traceback__ is None:  # it comes from another process
        cause.add_note(failure.trace)
    text = f"{where}: {cause}"
    named = _same_type(cause, text)
    named.__cause__ = cause
    return named


def _same_type(error: Exception, text: str) -> Exception:
    """Return an error of the same type with another text, or a RuntimeError."""
    try:
        same = type(error)(text)
    except Exception:
        return RuntimeError(text)
    return same if str(same) == text else RuntimeError(text)


def halted() -> bool:
    """Return whether the run that this thread works for has ended, so that work may end too.

    True in threads of the process that called `run_parts`, once it has returned or raised: nobody
    needs what such a thread still computes. Elsewhere False: backends end other processes.
    """
    key = getattr(_THREAD, "key", None)
    return key is not None and key not in _RUNNING


@contextmanager
def _running() -> Iterator[str]:
    """Yield the key of a run, by which `halted` recognises its threads in this process."""
    key = f"{os.getpid()} {uuid4().hex}"
    _RUNNING.add(key)
    try:
        yield key
    finally:
        _RUNNING.discard(key)


def _tasks(work: Work, arguments: Arguments, parts: Iterable[int], key: str) -> Iterator[Any]:
    """Yield joblib's tasks; the arguments of each are read when it starts."""
    for part in parts:
        try:
            given = arguments[part]
        except Exception as error:  # joblib may iterate in a thread where it would be lost
            yield delayed(_failed)(part, error, traceback.format_exc())
        else:
            yield delayed(_attempt)(work, part, given, key)


def _failed(part: int, error: Exception, trace: str) -> Outcome:
    return part, Failure(error, trace)


@blas_limited
def _attempt(work: Work, part: int, given: tuple[Any, ...], key: str) -> Outcome:
    """Return the number of a part with its result and processor time, or with its error."""
    local = key.startswith(f"{os.getpid()} ")
    before, _THREAD.key = getattr(_THREAD, "key", None), key if local else None
    try:
        start = time.thread_time()
        result = work(*given)
        return part, result._replace(seconds=time.thread_time() - start)
    except Exception as error:
        return part, Failure(error if local else _portable(error), traceback.format_exc())
    finally:
        _THREAD.key = before


def _portable(error: Exception) -> Exception:
    """Return the error, or a RuntimeError with its text if it cannot be pickled."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error
