"""What a contestant computes, without a process of its own, a rehearsal or measurements."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from threadpoolctl import threadpool_info

from benchmarks.harness.spec import Contestant
from benchmarks.harness.worker import prepared

threads_found_once = cache(threadpool_info)
"""What each measurement tells of the threads of this process, which to find takes time."""


def computed(contestant: Contestant, params: Mapping[str, Any]) -> dict[str, Any]:
    """Return the described result of a single call of a contestant, in this process.

    The contestant's own parameters win over `params`, as they do in a measurement.
    """
    call, describe = prepared(contestant.function, {**params, **contestant.params})
    return describe(call())
