"""What a contestant computes, without a process of its own, a rehearsal or measurements."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from threadpoolctl import threadpool_info

from benchmarks.harness.spec import Contestant
from benchmarks.harness.worker import prepared
from pliant.comparison.run.memory import reset_peak_memory

threads_found_once = cache(threadpool_info)
"""What each measurement tells of the threads of this process; to ask takes a third of a second."""


def computed(contestant: Contestant, params: Mapping[str, Any]) -> dict[str, Any]:
    """Return the described result of a single call of a contestant, in this process.

    The contestant's own parameters win over `params`, as they do in a measurement.
    """
    call, describe = prepared(contestant.function, {**params, **contestant.params})
    reset_peak_memory()
    return describe(call())
