"""Fits of LAB-RBF: beside the Adam steps of the paper's Algorithm 1, and on a million rows."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor

from benchmarks.harness.calls import fitting, whole_process
from benchmarks.harness.spec import Params, Prepared
from benchmarks.local_gradient import torch_threads
from benchmarks.local_sets import NOISE, Part, generated, parkinsons, r_squared
from pliant import LABRBFRegressor

N_SUPPORT = 110


N_TEST = 20_000


def lab_rbf(params: Params) -> Prepared:
    """Prepare a fit with all defaults but the options, and no transforms unless asked for."""
    training, test = parkinsons(params)
    plain = {} if params.get("transforms") else {"transforms": None}
    return fitting(
        LABRBFRegressor(random_state=0, n_jobs=1, **plain, **params["options"]),
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
    return _large(LABRBFRegressor(random_state=0, n_jobs=1), _in_memory(params), params)


def large_fit_from_disk(params: Params) -> Prepared:
    """Prepare the same fit on a memory map of float32 numbers."""
    folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
    shape = params["rows"], params["features"]
    out = np.memmap(Path(folder.name) / "points", np.float32, "w+", shape=shape)
    training = generated(*shape, seed=0, out=out)
    call, describe = _large(LABRBFRegressor(random_state=0, n_jobs=1), training, params)

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
