"""Measure once in a separate process: ``python -m benchmarks.harness.worker OUT < REQUEST``.

The request is a JSON object with ``function``, ``params`` and ``warm_up``. The outcome, written to
the file OUT, has ``seconds``, ``processor_seconds``, ``peak_bytes``, ``result`` and ``threads``, or
``error``.
"""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

from threadpoolctl import threadpool_info  # type: ignore[import-untyped]

from benchmarks.harness.memory import peak_memory, reset_peak_memory
from benchmarks.harness.spec import Params, Prepare, Prepared


def measure(request: Mapping[str, Any]) -> dict[str, Any]:
    """Prepare a contestant and measure one call.

    The outcome has ``seconds``, ``processor_seconds`` and ``peak_bytes`` of the measured call alone
    (memory in addition to the previous peak, None if unknown), its described ``result``, and the
    ``threads`` of each numerical library.
    """
    call, describe = prepared(request["function"], request["params"])
    rehearse = call
    if request["warm_up"] is not None:
        rehearse = prepared(request["function"], request["warm_up"])[0]
    rehearse()
    reset_peak_memory()
    before = peak_memory()
    start, busy = perf_counter(), process_time()
    returned = call()
    seconds, busy = perf_counter() - start, process_time() - busy
    after = peak_memory()
    peak = None if before is None or after is None else after - before
    return {
        "seconds": seconds,
        "processor_seconds": busy,
        "peak_bytes": peak,
        "result": describe(returned),
        "threads": {pool["internal_api"]: pool["num_threads"] for pool in threadpool_info()},
    }


def prepared(function: str, params: Params) -> Prepared:
    """Prepare a contestant, given as "package.module:function"."""
    module, _, name = function.partition(":")
    prepare: Prepare = getattr(importlib.import_module(module), name)
    return prepare(params)


def main(out: str) -> None:
    """Measure the request from standard input, and write the outcome to `out`."""
    try:
        text = json.dumps(measure(json.load(sys.stdin)), default=lambda number: number.item())
    except Exception as error:
        text = json.dumps({"error": f"{type(error).__name__}: {error}"})
    Path(out).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
