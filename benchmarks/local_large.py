"""LAB-RBF on a million generated rows: time, memory, and error beside the noise."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor

from benchmarks.harness.spec import Benchmark, Case, Contestant
from benchmarks.local_sets import NOISE, Part, generated, r_squared
from pliant import LABRBFRegressor
from pliant.comparison.run.memory import peak_memory

Params = Mapping[str, Any]
Prepared = tuple[Callable[[], Any], Callable[[Any], dict[str, Any]]]

ROWS, FEATURES = 1_000_000, 20
N_TEST = 20_000
SECONDS, GIB = 600, 4
"""What a fit may take."""


def lab_rbf(params: Params) -> Prepared:
    """Prepare a fit with all defaults."""
    return _prepare(LABRBFRegressor(random_state=0), _in_memory(params), params)


def lab_rbf_from_disk(params: Params) -> Prepared:
    """Prepare the same fit on a memory map of float32 numbers."""
    folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
    shape = params["rows"], params["features"]
    out = np.memmap(Path(folder.name) / "points", np.float32, "w+", shape=shape)
    call, describe = _prepare(
        LABRBFRegressor(random_state=0), generated(*shape, seed=0, out=out), params
    )

    def describe_and_remove(model: Any) -> dict[str, Any]:
        with folder:
            return describe(model)

    return call, describe_and_remove


def boosting(params: Params) -> Prepared:
    """Prepare default gradient boosting, to tell how hard the problem is."""
    return _prepare(HistGradientBoostingRegressor(random_state=0), _in_memory(params), params)


def _in_memory(params: Params) -> Part:
    return generated(params["rows"], params["features"], seed=0)


def _prepare(model: Any, training: Part, params: Params) -> Prepared:
    test = generated(N_TEST, params["features"], seed=1)

    def describe(fitted: Any) -> dict[str, Any]:
        largest = peak_memory()  # before the predictions below
        return {
            "whole process (GiB)": None if largest is None else largest / 2**30,
            "test R2": r_squared(fitted, test),
            "R2 of the function": 1.0 - NOISE**2 / float(np.var(test.y)),
        }

    return lambda: model.fit(*training), describe


def _cases(has_data: bool) -> list[Case]:
    del has_data
    params = {"rows": ROWS, "features": FEATURES}
    contestants = [
        Contestant("pliant", f"{__name__}:lab_rbf"),
        Contestant("pliant, float32 memory map", f"{__name__}:lab_rbf_from_disk"),
        Contestant("gradient boosting", f"{__name__}:boosting"),
    ]
    name = f"{ROWS} rows, {FEATURES} features"
    return [Case(name, contestants, params, warm_up={**params, "rows": 2000})]


BENCHMARK = Benchmark(
    name="local-large",
    title="LAB-RBF on a million rows",
    notes=(
        "Generated: uniform points in a box, a smooth function of 8 of the 20 features, noise of "
        f"standard deviation {NOISE} (`benchmarks/local_sets.py`). All settings are the defaults; "
        "gradient boosting is scikit-learn's histogram one, default too. Peak memory is what the "
        "fit adds to the data; the whole process, data and libraries included, must stay below "
        f"{GIB} GiB, and the fit below {SECONDS} s. R2 on {N_TEST} fresh rows with noise; that of "
        "the function itself cannot be passed but by chance."
    ),
    cases=_cases,
)
