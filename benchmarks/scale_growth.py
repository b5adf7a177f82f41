"""How time and memory of margin machines grow with the rows, from 5000 to 200 000."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from benchmarks.harness.measuring import Settings, measure_case
from benchmarks.harness.spec import Benchmark, Case, Contestant
from benchmarks.scale_machines import LIMIT, contestants
from benchmarks.scale_sets import GENERATED

Params = Mapping[str, Any]
Prepared = tuple[Callable[[], Any], Callable[[Any], dict[str, Any]]]

SIZES = (5000, 10_000, 20_000, 50_000, 100_000, 200_000)

MEMORY_FROM = 20_000
"""Below, what a fit adds to the process is little more than what its libraries need."""


def fits(params: Params) -> Prepared:
    """Prepare fits of one machine to more and more rows, each in a process of its own."""
    (machine,) = (c for c in contestants("auto", {}) if c.name == params["machine"])
    alone = Contestant(machine.name, machine.function, machine.params)
    settings = Settings(repeats=1, timeout=LIMIT)

    def call() -> list[dict[str, Any]]:
        return [measure_case(_one_size(rows, alone), settings)[0] for rows in params["sizes"]]

    return call, lambda found: grown(params["sizes"], found)


def _one_size(rows: int, machine: Contestant) -> Case:
    params = {"set": GENERATED, "rows": rows, "seed": 0, "splits": 1}
    return Case(f"{rows} rows", [machine], params, warm_up={**params, "most": 300})


def grown(sizes: Sequence[int], found: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return exponents of time and memory, and both for each size that was measured.

    An exponent is the slope of the logarithm over that of the number of rows. `found` has an
    outcome for each size; of a fit that failed or took too long, the table has no number.
    """
    done = [(n, each) for n, each in zip(sizes, found, strict=True) if "error" not in each]
    large = [(n, each) for n, each in done if n >= MEMORY_FROM and each["peak_bytes"]]
    return {
        "exponent of time": _slope([(n, each["processor_seconds"]) for n, each in done]),
        "exponent of memory": _slope([(n, each["peak_bytes"]) for n, each in large]),
        **{f"{n} rows (s)": each["processor_seconds"] for n, each in done},
        **{f"{n} rows (MB)": (each["peak_bytes"] or 0) / 1e6 for n, each in done},
        **{f"{n} rows (%)": each["result"]["accuracy (%)"] for n, each in done},
    }


def _slope(points: Sequence[tuple[int, float]]) -> float | None:
    if len(points) < 2:
        return None
    rows, values = np.log(np.array(points, dtype=np.float64)).T
    return float(np.polyfit(rows, values, 1)[0])


def _cases(has_data: bool) -> list[Case]:
    del has_data
    machines = [
        Contestant(each.name, f"{__name__}:fits", {"machine": each.name})
        for each in contestants("auto", {})
    ]
    return [Case(GENERATED, machines, {"sizes": SIZES}, warm_up={"sizes": ()})]


BENCHMARK = Benchmark(
    name="scale-growth",
    title="How time and memory grow with the rows",
    notes=(
        "The generated set and the machines of `scale`, fitted to 5000 to 200 000 rows, each fit "
        "in a process of its own. For each number of rows: seconds of the processor, memory that "
        "the fit adds to the data, and the accuracy on 20 000 fresh rows. The exponents are the "
        f"slopes of log time over log rows, and of log memory from {MEMORY_FROM} rows on. The "
        "columns of measured seconds, by the clock, and of peak memory are of the process that "
        "starts these fits: all of them together, with imports and predictions."
    ),
    cases=_cases,
)
