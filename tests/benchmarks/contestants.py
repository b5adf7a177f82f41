"""Contestants that run in a separate process, and some that fail."""

from __future__ import annotations

import os
import sys

import numpy as np


def count(params):
    """Add up numbers."""
    return lambda: sum(range(params["n"])), lambda total: {"total": total, "n": params["n"]}


NAMES = ("OMP_NUM_THREADS", "NUMBA_NUM_THREADS", "PLIANT_DATA")


def witness(params):
    """Allocate a block of memory, print, and return the environment and a NumPy scalar."""

    def call():
        print("hello")
        return len(b"x" * params["bytes"])

    def describe(size):
        numbers = {"value": np.float32(0.5), "count": np.int64(size)}
        return numbers | {name: os.environ.get(name) for name in NAMES}

    return call, describe


def calls(params):
    """Count the measured calls."""
    seen = []
    return lambda: seen.append(1), lambda _: {"calls": len(seen)}


def undefined(params):
    """Return numbers that JSON cannot represent."""
    return lambda: None, lambda _: {"gap": float("nan"), "bound": float("inf")}


def unprepared(params):
    """Fail before the measurement."""
    raise ValueError("expected n > 0, got -1")


def failing(params):
    """Fail during the measurement."""
    return lambda: 1 // params["zero"], lambda _: {}


def dying(params):
    """Terminate the process."""

    def call():
        print("going down", file=sys.stderr, flush=True)
        os._exit(3)

    return call, lambda _: {}
