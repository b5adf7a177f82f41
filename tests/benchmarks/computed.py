"""What a contestant computes, without a process of its own and without a rehearsal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchmarks.harness.spec import Contestant
from benchmarks.harness.worker import described, prepared


def computed(contestant: Contestant, params: Mapping[str, Any]) -> dict[str, Any]:
    """Return the described result of a single call of a contestant, in this process.

    The contestant's own parameters win over `params`, as they do in a measurement.
    """
    return described(*prepared(contestant.function, {**params, **contestant.params}))["result"]
