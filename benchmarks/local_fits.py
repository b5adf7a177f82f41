"""Fits of LAB-RBF on a million rows."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor

from benchmarks.harness.calls import fitting, whole_process
from benchmarks.harness.spec import Params, Prepared
from benchmarks.local_sets import NOISE, Part, generated, r_squared
from pliant import LABRBFRegressor

N_TEST = 20_000


def large_fit(params: Params) -> Prepared:
    """Prepare a fit with default settings."""
    return _large(LABRBFRegressor(random_state=0, n_jobs=1), _in_memory(params), params)


def large_fit_from_disk(params: Params) -> Prepared:
    """Prepare the same fit on a float32 memory map."""
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
    """Prepare gradient boosting with default settings, as a measure of the problem's difficulty."""
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
