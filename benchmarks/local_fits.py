"""Fits of LAB-RBF: beside the Adam steps of the paper's Algorithm 1, and on a million rows."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor

from benchmarks.harness.calls import fitting, whole_process
from benchmarks.harness.spec import Case, Contestant, Params, Prepared
from benchmarks.local_gradient import torch_threads
from benchmarks.local_sets import NOISE, Part, generated, parkinsons, r_squared
from benchmarks.problems import named
from pliant import LABRBFRegressor

N_SUPPORT, STEPS = 110, 9500
GOAL = 5.0
AUTOMATIC = 400
"""The default number of support points for this number of rows."""

PRINTED = 0.9950
"""R2 of the paper's Table 1."""

ROWS, FEATURES = 1_000_000, 20
N_TEST = 20_000
SECONDS, GIB = 600, 4
"""What a fit on a million rows may take."""


def lab_rbf(params: Params) -> Prepared:
    """Prepare a fit with all defaults but the options."""
    training, test = parkinsons(params)
    return fitting(
        LABRBFRegressor(random_state=0, **params["options"]),
        *training,
        describe=lambda fitted: {
            "test R2": r_squared(fitted, test),
            "support": len(fitted.support_vectors_),
        },
    )


def algorithm_1(params: Params) -> Prepared:
    """Prepare the paper's algorithm, in float32."""
    from benchmarks.algorithm1 import Algorithm1

    torch = torch_threads()
    training, test = parkinsons(params)
    options = {"n_support": N_SUPPORT, "steps": params["steps"], "seed": 0, **params["options"]}
    return lambda: Algorithm1(*training, **options).run(), lambda run: {
        "test R2": r_squared(run, test),
        "support": len(run.chosen),
        "Adam steps": run.n_steps,
        "PyTorch": torch.__version__,
    }


def large_fit(params: Params) -> Prepared:
    """Prepare a fit with all defaults."""
    return _large(LABRBFRegressor(random_state=0), _in_memory(params), params)


def large_fit_from_disk(params: Params) -> Prepared:
    """Prepare the same fit on a memory map of float32 numbers."""
    folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
    shape = params["rows"], params["features"]
    out = np.memmap(Path(folder.name) / "points", np.float32, "w+", shape=shape)
    training = generated(*shape, seed=0, out=out)
    call, describe = _large(LABRBFRegressor(random_state=0), training, params)

    def describe_and_remove(model: Any) -> dict[str, Any]:
        with folder:
            return describe(model)

    return call, describe_and_remove


def boosting(params: Params) -> Prepared:
    """Prepare default gradient boosting, which shows how hard the problem is."""
    return _large(HistGradientBoostingRegressor(random_state=0), _in_memory(params), params)


def _in_memory(params: Params) -> Part:
    return generated(params["rows"], params["features"], seed=0)


def _large(model: Any, training: Part, params: Params) -> Prepared:
    test = generated(N_TEST, params["features"], seed=1)
    return fitting(
        model,
        *training,
        describe=lambda fitted: {
            **whole_process("GiB"),  # before the predictions below
            "test R2": r_squared(fitted, test),
            "R2 of the function": 1.0 - NOISE**2 / float(np.var(test.y)),
        },
    )


PEER, AT_ONCE = "Algorithm 1", "Algorithm 1, no growth"
ONE = {"n_support": N_SUPPORT, "n_members": 1}
PLAIN = {**ONE, "transforms": None}

BESIDE_ALGORITHM_1 = (
    Contestant(PEER, algorithm_1, {"options": {}}),
    Contestant("pliant", lab_rbf, {"options": PLAIN}, PEER, GOAL),
    Contestant("pliant, float32", lab_rbf, {"options": {**PLAIN, "dtype": "float32"}}, PEER, GOAL),
    Contestant(AT_ONCE, algorithm_1, {"options": {"first": N_SUPPORT}}),
    Contestant("pliant, once more", lab_rbf, {"options": PLAIN}, AT_ONCE, GOAL),
    Contestant("Algorithm 1, rate .01", algorithm_1, {"options": {"rate": 0.01}}),
    Contestant("pliant, transforms too", lab_rbf, {"options": ONE}, PEER),
    Contestant("pliant, defaults", lab_rbf, {"options": {}}, PEER),
)
"""Both kinds of peer, and pliant once beside each: their ratios are paired."""

A_MILLION_ROWS = (
    Contestant("pliant", large_fit),
    Contestant("pliant, float32 memory map", large_fit_from_disk),
    Contestant("gradient boosting", boosting),
)


def cases(has_data: bool) -> list[Case]:
    """Return the real set, or a made-up one."""
    name, warm_up = named("parkinsons_total", has_data), {"rows": 300, "steps": 30}
    params = {"data": has_data, "seed": 100, "steps": STEPS}
    return [Case(name, BESIDE_ALGORITHM_1, params, warm_up)]


def large(has_data: bool) -> list[Case]:
    """Return the generated problem."""
    params = {"rows": ROWS, "features": FEATURES}
    name = f"{ROWS} rows, {FEATURES} features"
    return [Case(name, A_MILLION_ROWS, params, warm_up={"rows": 2000})]
