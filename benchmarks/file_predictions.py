"""Predictions of `pliant predict` for a folder of Parquet files: time, and memory against rows."""

from __future__ import annotations

import atexit
import os
import resource
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter
from typing import Any

import pandas as pd
from sklearn.pipeline import make_pipeline

from benchmarks.harness.machine import load_average
from benchmarks.harness.spec import Params, Prepared
from benchmarks.local_sets import generated
from pliant import LABRBFRegressor
from pliant.cli.predict import TablePredictor
from pliant.persistence import save_model
from pliant.tables import TableSchema

FILE_ROWS = 500_000
"""Rows of one Parquet file at most; each has a seed of its own."""

LEARNED = 10_000
"""Rows that the model learns from."""


def predicted(params: Params) -> Prepared:
    """Prepare a call of `pliant predict` from a folder of Parquet files to a Parquet file."""
    place = Path(tempfile.mkdtemp(prefix="predictions"))
    atexit.register(shutil.rmtree, place, ignore_errors=True)
    rows, features = params["rows"], params["features"]
    saved, out = place / "model.pliant", place / "predictions.parquet"
    X, y = generated(params.get("learned", LEARNED), features, seed=0)
    frame = pd.DataFrame(X, columns=_names(features)).assign(target=y)
    schema = TableSchema.fit(frame, "target")
    learner = LABRBFRegressor(random_state=0, n_jobs=1, **params.get("options", {}))
    save_model(make_pipeline(schema.encoder(), learner).fit(X, y), saved, schema=schema.to_dict())
    known = _write(place / "rows", rows, features, TablePredictor(saved))
    command = [sys.executable, "-m", "pliant.cli", "predict", str(saved), str(place / "rows")]
    command += ["--out", str(out)]

    def call() -> dict[str, Any]:
        began = perf_counter()
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise RuntimeError(f"expected pliant predict to end well, got {process.returncode}")
        return _facts(used, perf_counter() - began)

    def describe(facts: dict[str, Any]) -> dict[str, Any]:
        size = sum(path.stat().st_size for path in (place / "rows").iterdir())
        return {
            "read (MB)": size / 1e6,
            "written (MB)": out.stat().st_size / 1e6,
            "support points": sum(len(member.dual_coef_) for member in learner.members_),
            **facts,
            "largest difference": _difference(out, known),
            "load": (load_average() or (None,))[0],
        }

    return call, describe


def _facts(used: resource.struct_rusage, seconds: float) -> dict[str, float]:
    return {
        "predict (s)": seconds,
        "processor (s)": used.ru_utime + used.ru_stime,
        "peak of the process (MB)": used.ru_maxrss * 1024 / 1e6,
    }


def _names(features: int) -> list[str]:
    return [f"x{j}" for j in range(features)]


def _write(folder: Path, rows: int, features: int, predictor: TablePredictor) -> dict[int, float]:
    """Write the files; return the prediction in memory for the first row of each, by its number."""
    folder.mkdir()
    known = {}
    for number, low in enumerate(range(0, rows, FILE_ROWS)):
        X, _ = generated(min(FILE_ROWS, rows - low), features, seed=number + 1)
        frame = pd.DataFrame(X, columns=_names(features))
        frame.to_parquet(folder / f"part-{number:05d}.parquet")
        known[low] = float(predictor(frame[:1])["prediction"].iloc[0])
    return known


def _difference(out: Path, known: dict[int, float]) -> float:
    """Return the largest difference between predictions from files and in memory."""
    from pyarrow import parquet

    written = parquet.read_table(out, columns=["prediction"])["prediction"]
    return max(abs(written[row].as_py() - value) for row, value in known.items())
