"""Helpers of contestants: fits, processor time, and memory of the process."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from time import process_time
from typing import Any

from sklearn.exceptions import ConvergenceWarning

from benchmarks.harness.memory import peak_memory
from benchmarks.harness.spec import Prepared


def fitting(
    model: Any, *data: Any, describe: Callable[[Any], dict[str, Any]] = lambda fitted: {}
) -> Prepared:
    """Prepare the fit of a model to data; `describe` is called with the fitted model."""
    return lambda: fit_quietly(model, *data), describe


def fit_quietly(model: Any, *data: Any) -> Any:
    """Fit a model without convergence warnings: tables show its gap."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(*data)


def processor_seconds(call: Callable[[], Any]) -> float:
    """Return the processor time of a call."""
    began = process_time()
    call()
    return process_time() - began


def whole_process(unit: str) -> dict[str, float | None]:
    """Return the peak memory of this process so far, in "MB" or "GiB"."""
    largest = peak_memory()
    return {
        f"whole process ({unit})": largest and largest / {"MB": 1e6, "GiB": 2**30}[unit],
    }
