"""``pliant fit`` and ``predict`` for DANK with many rows: partitions, refinement, chunks."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import TransformedTargetRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from pliant import DANKClassifier, DANKRegressor, KMeansPartition
from pliant.datasets import make_clowns
from pliant.methods import PartitionedKernel
from pliant.persistence import load
from pliant.records.estimators import last_step
from pliant.tables.registry import METHODS

N = 120
DANK = ("--method", "dank")


def clowns(n, seed=0, features=2):
    """Return `make_clowns` with n rows per class, a numeric target and noise features."""
    X, y = make_clowns(n, random_state=seed)
    noise = np.random.default_rng(seed).normal(size=(len(X), features - 2))
    frame = pd.DataFrame(np.hstack([X, noise]).round(6))
    frame.columns = [f"x{j}" for j in range(features)]
    return frame.assign(side=np.where(y > 0, "arch", "cloud"), height=np.sin(3 * frame.x0))


@pytest.fixture
def table(folder):
    """Write a table of 240 rows."""
    clowns(N).to_csv("t.csv", index=False)
    return "t.csv"


@pytest.fixture
def learned(pliant, table):
    """Return a function that fits, saves to ``m.pliant``, and returns model and result."""

    def run(target, *words):
        other = ({"side", "height"} - {target}).pop()
        done = pliant(
            "fit", table, "--target", target, "--drop", other, "--cv", 0, "--seed", 3, *DANK,
            *words, "--out", "m.pliant", "--json", "r.json",
        )  # fmt: skip
        assert done.code == 0, done.err
        result = json.loads(Path("r.json").read_text(encoding="utf-8"))
        return last_step(load("m.pliant")), result

    return run


@pytest.mark.parametrize("target", ["side", "height"])
def test_a_model_in_parts_is_what_python_would_learn(pliant, learned, target):
    parts = {"n_parts": 4}
    machine, result = learned(target, "--param", f"partition={json.dumps(parts)}")
    frame, loaded = pd.read_csv("t.csv"), load("m.pliant")
    X = loaded[0].transform(frame)
    partition = KMeansPartition(**parts)
    if target == "side":
        model = make_pipeline(StandardScaler(), DANKClassifier(partition=partition))
    else:
        inside = make_pipeline(StandardScaler(), DANKRegressor(partition=partition))
        model = TransformedTargetRegressor(inside, transformer=StandardScaler())
    twin = last_step(model.fit(X, frame[target]))
    assert isinstance(machine.kernel_, PartitionedKernel)
    np.testing.assert_array_equal(machine.part_labels_, twin.part_labels_)
    (function,) = result["fit"]["functions"]
    assert function["parts"] == 4
    assert function["gap"] == machine.dual_gap_
    assert pliant("predict", "m.pliant", "t.csv", "--out", "p.csv").code == 0
    found, expected = pd.read_csv("p.csv").prediction.to_numpy(), model.predict(X)
    if target == "side":
        np.testing.assert_array_equal(machine.dual_coef_, twin.dual_coef_)
        np.testing.assert_array_equal(found, expected)
    else:  # rounding differs in the standardised target, so the fits agree to their tolerance
        assert machine.objective_ == pytest.approx(twin.objective_, rel=2 * machine.tol)
        np.testing.assert_allclose(found, expected, atol=0.05 * expected.std())
        np.testing.assert_allclose(found, loaded.predict(frame), rtol=1e-12)


def test_many_rows_are_parted_as_in_comparisons(pliant, learned, monkeypatch):
    few = replace(METHODS["dank"], many=(2 * N, {"partition": "kmeans"}))
    monkeypatch.setitem(METHODS, "dank", few)
    assert learned("side")[0].partition == "kmeans"
    assert learned("side", "--param", "partition=null")[0].partition is None
    monkeypatch.setitem(METHODS, "dank", replace(few, many=(2 * N + 1, {"partition": "kmeans"})))
    assert learned("side")[0].partition is None


PEAK = """
import sys
from pliant.tables.cli import main
from pliant.tables.reading import read
from benchmarks.harness.memory import peak_memory, reset_peak_memory
read.BLOCK = 1 << 17  # Arrow reads up to 32 blocks ahead
for model, table in zip(sys.argv[1::2], sys.argv[2::2]):
    reset_peak_memory()
    code = main(["predict", model, table, "--out", f"{table}.csv"])
    print(code, peak_memory())
"""
"""Predict for several tables, and print the peak memory of each."""

FEW, MANY, FEATURES = 15_000, 45_000, 20


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="the resource module is POSIX only")
def test_memory_does_not_grow_with_the_rows_to_predict(pliant, folder):
    """Test CSV with a text column and an exact model, and Parquet with a partitioned model."""

    def table(n, seed):
        frame = clowns(n // 2, seed=seed, features=FEATURES)
        return frame.assign(colour=np.where(frame.x1 > 0, "red", "blue"))

    table(600, 0).to_parquet("train.parquet")
    words = ("--target", "side", "--drop", "height", "--cv", 0, *DANK, "--param", "tau=0")
    for name, way in (("exact", ()), ("parts", ("--param", 'partition={"n_parts": 4}'))):
        assert pliant("fit", "train.parquet", *words, *way, "--out", name).code == 0
        assert len(load(name)[-1].support_) > 100
    frame, asked = table(FEW, 1), []
    header, _, lines = frame.to_csv(index=False).partition("\n")
    for rows in (FEW, MANY):
        times = rows // FEW
        Path(f"{rows}.csv").write_text(f"{header}\n{lines * times}", encoding="utf-8")
        whole = pd.concat([frame] * times, ignore_index=True)
        whole.to_parquet(f"{rows}.parquet")  # one row group
        asked += [("exact", f"{rows}.csv", rows), ("parts", f"{rows}.parquet", rows)]
    words = [word for model, name, _ in sorted(asked) for word in (model, name)]
    command = [sys.executable, "-c", PEAK, *words]
    paths = os.pathsep.join([str(Path(__file__).parents[2]), *sys.path])
    # One thread and malloc: Arrow's own pool gives memory back after some time, not at once.
    arrow = {"ARROW_DEFAULT_MEMORY_POOL": "system", "ARROW_IO_THREADS": "1"}
    env = {**os.environ, **arrow, "OMP_NUM_THREADS": "1", "PYTHONPATH": paths}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=env)
    codes, peaks = zip(*(map(int, line.split()) for line in done.stdout.splitlines()), strict=True)
    assert codes == (0, 0, 0, 0)
    for few, many in (peaks[:2], peaks[2:]):
        assert many < 1.05 * few
    for _, name, rows in asked:
        assert Path(f"{name}.csv").read_bytes().count(b"\n") == rows + 1
