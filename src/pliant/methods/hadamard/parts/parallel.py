"""One task for each part, on any backend of joblib, the largest parts first."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, Protocol, TypeAlias

import numpy as np
from joblib import Parallel, effective_n_jobs

from pliant.methods.hadamard.parts.result import PartResult
from pliant.methods.hadamard.parts.tasks import Arguments, Failure, Outcome, Work, running, tasks

__all__ = ["Archive", "run_parts"]

UNFINISHED = "STOPPED"
"""The status of a result that is not kept: time was up before it was as good as asked for."""

Outcomes: TypeAlias = Generator[Outcome, None, None]


class Archive(Protocol):
    """Where results are kept; `Store` is one."""

    def save(self, stage: str, part: int, result: PartResult) -> None:
        """Keep the result of a part."""

    def load(self, stage: str, part: int, size: int) -> PartResult | None:
        """Return the result of a part of `size` rows; None if it is not there."""


class Stop(BaseException):
    """Ends joblib's generator without the warning that closing it gives."""


def run_parts(
    work: Work,
    arguments: Arguments,
    *,
    sizes: Sequence[int],
    n_jobs: int | None = None,
    store: Archive | None = None,
    stage: str = "plain",
    report: Callable[[int, int], object] | None = None,
) -> list[PartResult | None]:
    """Solve each part that is not in the store yet, and keep each result as soon as it is there.

    Tasks go to joblib: to threads, or to the backend that ``joblib.parallel_config`` sets. The
    largest parts are started first. Fewer than twice as many tasks are under way as the backend
    has workers, so that the data of no more parts are copied at once. Backends that cannot hand
    out results one by one (multiprocessing, Ray) run as many parts as they have workers, then
    the next.

    Parameters
    ----------
    work : callable
        Solves a part. Other processes must be able to find it by its name; it must not write
        into its arguments, which they may share.
    arguments : sequence of tuples
        What `work` is called with, one tuple for each part. An item is read only when its task is
        started, perhaps from another thread.
    sizes : sequence of int
        The rows of each part.
    n_jobs : int or None
        As in joblib: None is 1, or what ``parallel_config`` says; -1 is all processors.
    store : Store, optional
        Parts found there are not run again; others are saved there, unless their status is
        "STOPPED".
    stage : str
        The name under which the store knows these results.
    report : callable, optional
        Called as ``report(done, total)`` after each part that was run. If it returns True, the
        run ends and what is still being computed is dropped.

    Returns
    -------
    list of PartResult or None
        In the order of the parts; None only for parts that were not run because `report` asked
        to stop.

    Raises
    ------
    Exception
        The first that a part raises ends the run. It is raised again in its own type where that
        takes a message, else as RuntimeError, and begins "part 3 of 17 (412 rows): ". Parts that
        were done before stay in the store.
    """
    total = len(arguments)
    if len(sizes) != total:
        raise ValueError(f"expected {total} sizes, one for each part, got {len(sizes)}")
    results: list[PartResult | None] = [None] * total
    if store is not None:
        results = [store.load(stage, part, int(sizes[part])) for part in range(total)]
    missing = [part for part in _largest_first(sizes) if results[part] is None]
    done = total - len(missing)
    with running() as key, _ending(_outcomes(work, arguments, missing, n_jobs, key)) as found:
        for part, outcome in found:
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
    """Yield the outcomes as they come, or round by round from a backend that cannot do that."""
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
        yield from parallel(tasks(work, arguments, parts, key))


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
            found = pool(tasks(work, arguments, parts[low : low + step], key))
            yield from sorted(found, key=lambda outcome: isinstance(outcome[1], Failure))


@contextmanager
def _ending(outcomes: Outcomes) -> Iterator[Outcomes]:
    """End the tasks that are still under way when the block ends."""
    try:
        yield outcomes
    finally:
        with suppress(Stop):
            outcomes.throw(Stop())


def _named(failure: Failure, where: str) -> Exception:
    """Return the part's error with the part in front, caused by the error itself."""
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
