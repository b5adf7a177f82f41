"""Summarise measurements as medians and ratios."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from statistics import geometric_mean, median
from typing import Any

from benchmarks.harness.spec import Benchmark, Case, Contestant, Quantity

Measurement = Mapping[str, Any]


def summarise(
    case: Case, measurements: Sequence[Measurement], quantity: Quantity, clock: str = "wall"
) -> list[dict[str, Any]]:
    """Summarise the measurements of a case, one dictionary for each contestant.

    Each has the median ``seconds``, the median ``clock_seconds`` (if the
    seconds are processor time) and ``peak_bytes``, the last ``result``, the first ``error`` and
    the number of failures. Against the baseline it has the baseline's median seconds, the
    ``ratio_of_medians`` and the ``median_ratio`` within a repeat. Unavailable values are None.
    """
    if clock == "processor":
        measurements = [_by_processor(m) for m in measurements]
    done = {c.name: _by_repeat(measurements, c.name) for c in case.contestants}
    return [
        {
            **_describe(contestant, measurements, done[contestant.name]),
            **_compare(done[contestant.name], done.get(contestant.baseline or "", {}), quantity),
        }
        for contestant in case.contestants
    ]


def overall(
    benchmark: Benchmark, summaries: Sequence[Sequence[Mapping[str, Any]]]
) -> list[dict[str, Any]]:
    """Return the means over cases of the median ratio of each contestant with a baseline."""
    rows = [row for summary in summaries for row in summary if row["baseline"] is not None]
    names = dict.fromkeys(row["contestant"] for row in rows)
    return [_over_cases(name, rows, benchmark) for name in names]


def goal_met(value: float | None, goal: float | None, quantity: Quantity) -> bool | None:
    """Return True if a time ratio or speed-up meets its goal, or None if unknown."""
    if value is None or goal is None:
        return None
    return value <= goal if quantity == "time ratio" else value >= goal


def _by_processor(measurement: Measurement) -> Measurement:
    """Return the measurement with processor time as its seconds, and wall time as clock_seconds."""
    if "error" in measurement:
        return measurement
    clock = measurement["seconds"]
    return {**measurement, "seconds": measurement["processor_seconds"], "clock_seconds": clock}


def _by_repeat(measurements: Sequence[Measurement], name: str) -> dict[int, Measurement]:
    return {m["repeat"]: m for m in measurements if m["contestant"] == name and "error" not in m}


def _describe(
    contestant: Contestant, measurements: Sequence[Measurement], done: Mapping[int, Measurement]
) -> dict[str, Any]:
    own = [m for m in measurements if m["contestant"] == contestant.name]
    errors = [m["error"] for m in own if "error" in m]
    seconds = [m["seconds"] for m in done.values()]
    clock = [m["clock_seconds"] for m in done.values() if "clock_seconds" in m]
    peaks = [m["peak_bytes"] for m in done.values() if m["peak_bytes"] is not None]
    return {
        "contestant": contestant.name,
        "paper": contestant.paper,
        "baseline": contestant.baseline,
        "goal": contestant.goal,
        "seconds": _or_none(median, seconds),
        "clock_seconds": _or_none(median, clock),
        "peak_bytes": _or_none(median, peaks),
        "result": done[max(done)]["result"] if done else {},
        "error": errors[0] if errors else None,
        "failures": len(errors),
    }


def _compare(
    mine: Mapping[int, Measurement], baseline: Mapping[int, Measurement], quantity: Quantity
) -> dict[str, Any]:
    ours = [m["seconds"] for m in mine.values()]
    theirs = [m["seconds"] for m in baseline.values()]
    paired = [
        _ratio(mine[k]["seconds"], baseline[k]["seconds"], quantity) for k in mine if k in baseline
    ]
    both = ours and theirs
    return {
        "baseline_seconds": _or_none(median, theirs),
        "ratio_of_medians": _ratio(median(ours), median(theirs), quantity) if both else None,
        "median_ratio": _or_none(median, paired),
    }


def _ratio(mine: float, baseline: float, quantity: Quantity) -> float:
    return mine / baseline if quantity == "time ratio" else baseline / mine


def _over_cases(
    name: str, rows: Sequence[Mapping[str, Any]], benchmark: Benchmark
) -> dict[str, Any]:
    own = [row for row in rows if row["contestant"] == name]
    ratios = [row["median_ratio"] for row in own if row["median_ratio"] is not None]
    means = {
        "median_ratio": _or_none(median, ratios),
        "geometric_mean_ratio": _or_none(geometric_mean, ratios),
    }
    geometric = benchmark.goals_over == "geometric mean of cases"
    value, goal = means["geometric_mean_ratio" if geometric else "median_ratio"], own[0]["goal"]
    return {
        "contestant": name,
        "baseline": own[0]["baseline"],
        "cases": len(ratios),
        **means,
        "goal": goal,
        "met": goal_met(value, goal, benchmark.quantity),
    }


def _or_none(of: Callable[[list[float]], float], values: list[float]) -> float | None:
    return of(values) if values else None
