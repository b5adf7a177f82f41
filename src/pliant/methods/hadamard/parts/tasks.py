"""One part's task in a worker: its arguments, its result or its error, and the word to stop."""

from __future__ import annotations

import os
import pickle
import threading
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple, TypeAlias
from uuid import uuid4

from joblib import delayed

from pliant.methods.hadamard.parts.result import PartResult

__all__ = ["Arguments", "Failure", "Outcome", "Work", "attempt", "halted", "running", "tasks"]

Work: TypeAlias = Callable[..., PartResult]
"""Solves a part; a function of a module, so that other processes can find it."""

Arguments: TypeAlias = Sequence[tuple[Any, ...]]
"""What `Work` is called with, a tuple for each part; taken from the sequence only when needed."""

_RUNNING: set[str] = set()
_THREAD = threading.local()


class Failure(NamedTuple):
    """What a part raised, and the lines that tell where."""

    error: Exception
    trace: str


Outcome: TypeAlias = tuple[int, "PartResult | Failure"]


def halted() -> bool:
    """Return whether the run that this thread works for has ended, so that work may end too.

    True in threads of the process that called `run_parts`, once it has returned or raised: what
    the thread still computes is for nobody. Elsewhere False: other processes are ended by their
    backend.
    """
    key = getattr(_THREAD, "key", None)
    return key is not None and key not in _RUNNING


@contextmanager
def running() -> Iterator[str]:
    """Yield the key of a run, which `halted` asks for in the threads of this process."""
    key = f"{os.getpid()} {uuid4().hex}"
    _RUNNING.add(key)
    try:
        yield key
    finally:
        _RUNNING.discard(key)


def tasks(work: Work, arguments: Arguments, parts: Iterable[int], key: str) -> Iterator[Any]:
    """Yield joblib's tasks; the arguments of each are taken when its turn has come."""
    for part in parts:
        try:
            given = arguments[part]
        except Exception as error:  # joblib may be asking from a thread where it would be lost
            yield delayed(_failed)(part, error, traceback.format_exc())
        else:
            yield delayed(attempt)(work, part, given, key)


def _failed(part: int, error: Exception, trace: str) -> Outcome:
    return part, Failure(error, trace)


def attempt(work: Work, part: int, given: tuple[Any, ...], key: str) -> Outcome:
    """Return the number of a part with its result and processor time, or with what it raised."""
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
    """Return the error, or one that tells of it if it cannot travel to another process."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error
