"""Contestants that a process of their own can run at once, and some that cannot."""

from __future__ import annotations

import os
import sys

import numpy as np


def count(params):
    """Add up numbers."""
    return lambda: sum(range(params["n"])), lambda total: {"total": total, "n": params["n"]}


NAMES = ("OMP_NUM_THREADS", "NUMBA_NUM_THREADS", "PLIANT_DATA")


def witness(params):
    """Hold a block of memory, print, and tell the environment and what only numpy knows."""

    def call():
        print("hello")
        return len(b"x" * params["bytes"])

    def describe(size):
        numbers = {"value": np.float32(0.5), "count": np.int64(size)}
        return numbers | {name: os.environ.get(name) for name in NAMES}

    return call, describe


def calls(params):
    """Tell how often the measured call ran."""
    seen = []
    return lambda: seen.append(1), lambda _: {"calls": len(seen)}


def undefined(params):
    """Return numbers that JSON has no name for."""
    return lambda: None, lambda _: {"gap": float("nan"), "bound": float("inf")}


def unprepared(params):
    """Fail before anything is measured."""
    raise ValueError("expected n > 0, got -1")


def failing(params):
    """Fail while being measured."""
    return lambda: 1 // params["zero"], lambda _: {}


def dying(params):
    """End the process."""

    def call():
        print("going down", file=sys.stderr, flush=True)
        os._exit(3)

    return call, lambda _: {}
