"""Run a contestant without a separate process, a warm-up or measurements."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from threadpoolctl import threadpool_info

from benchmarks.harness.spec import Contestant
from benchmarks.harness.worker import prepared

threads_found_once = cache(threadpool_info)
"""Threads of this process, detected once because detection is slow."""


def computed(contestant: Contestant, params: Mapping[str, Any]) -> dict[str, Any]:
    """Return the described result of a single call of a contestant, in this process.

    The contestant's parameters override `params`, as in a measurement.
    """
    call, describe = prepared(contestant.function, {**params, **contestant.params})
    return describe(call())
