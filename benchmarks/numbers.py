"""Measure a small table of the documentation: ``python -m benchmarks numbers NAME``.

Each name writes docs/numbers/NAME.csv, with processor times of one thread, and its command,
computer and date to docs/numbers/records.json. ``cost`` and ``features`` measure DANK against rows
and features; more features are copies of the 14 of the speed problem, scaled such that the Gram
matrix and the problem do not change. ``example`` is the first example of the README on ten splits,
``half_million`` a fit of DANK in parts, ``million`` one of LAB-RBF, and ``predictions`` has times
of predictions by pliant and ONNX Runtime.
"""

from __future__ import annotations

import argparse
import csv
import json
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.datasets import make_friedman1
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import RidgeCV
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from benchmarks.harness.calls import processor_seconds
from benchmarks.harness.measuring import ROOT
from benchmarks.lines import provenance
from benchmarks.local_sets import generated as smooth
from benchmarks.local_sets import r_squared
from benchmarks.problems import make_speed_problem
from benchmarks.scale_sets import generated
from pliant import DANKClassifier, KMeansPartition, KNPLClassifier, LABRBFRegressor, to_onnx
from pliant.core.typing import Array
from pliant.kernels import Gaussian

FOLDER = ROOT / "docs" / "numbers"

SIZES = [(500, 1), (1000, 1), (2000, 1), (4000, 1), (2000, 10), (2000, 100)]
"""Rows, and copies of the features, of ``cost``."""

ROWS, NEW, COPIES = 20_000, 2000, (1, 10, 50)
"""Training rows, new rows, and copies of the features, of ``features``."""

SETTINGS = {"gamma": 3.0, "C": 8.0, "eta": 1e5, "tau": 0.0}


def cost() -> Iterator[list[Any]]:
    """Yield header and rows of cost.csv: the best of three times; libsvm's tolerance is 1e-3."""
    yield [
        "rows", "features", "Gram matrix (s)", "DANK (s)", "tau = 0 (s)", "KNPL (s)", "libsvm (s)",
        "support points", "rank of F",
    ]  # fmt: skip
    ours = (DANKClassifier(), DANKClassifier(tau=0.0), KNPLClassifier())
    for model in ours:
        model.fit(*make_speed_problem(50))  # compiles the loops
    for rows, copies in SIZES:
        X, y = _wide(rows, copies)
        models = [clone(model).set_params(gamma=3.0, C=8.0) for model in ours]
        libsvm = SVC(gamma=3.0, C=8.0, cache_size=1000)
        fits = [partial(model.fit, X, y) for model in (*models, libsvm)]
        calls = [partial(Gaussian(3.0), X), *fits]
        times = [f"{min(processor_seconds(call) for _ in range(3)):.3f}" for call in calls]
        yield [rows, X.shape[1], *times, len(models[0].support_), models[0].adaptation_.rank]


def features() -> Iterator[list[Any]]:
    """Yield header and rows of features.csv: one run of the exact problem, and one in parts."""
    yield [
        "features", "exact (s)", "in parts (s)", "exact: a new row (ms)",
        "in parts: a new row (ms)", "support points",
    ]  # fmt: skip
    refined = DANKClassifier(**SETTINGS, partition=KMeansPartition(refine=True))
    refined.fit(*make_speed_problem(300))  # compiles the loops
    for copies in COPIES:
        X, y = _wide(ROWS + NEW, copies)
        models = [DANKClassifier(**SETTINGS), DANKClassifier(**SETTINGS, partition="kmeans")]
        fits = [processor_seconds(partial(m.fit, X[:ROWS], y[:ROWS])) for m in models]
        for model in models:
            model.predict(X[:1])  # the first prediction prepares the training points
        new = [processor_seconds(partial(m.predict, X[ROWS:])) / NEW for m in models]
        times = [f"{each:.2f}" for each in (*fits, *(1000 * seconds for seconds in new))]
        yield [X.shape[1], *times, len(models[0].support_)]


def example() -> Iterator[list[Any]]:
    """Yield header and rows of example.csv: R2 on ten splits of the README's first example."""
    yield ["split", "LAB-RBF", "ridge regression"]
    X, y = make_friedman1(500, noise=1.0, random_state=0)
    ridge = make_pipeline(StandardScaler(), RidgeCV(np.logspace(-3, 3, 13)))
    scores = []
    for seed in range(10):
        train, test, y_train, y_test = train_test_split(X, y, test_size=200, random_state=seed)
        models = (LABRBFRegressor(random_state=seed), ridge)
        scores.append([each.fit(train, y_train).score(test, y_test) for each in models])
        yield [seed, *(f"{score:.4f}" for score in scores[-1])]
    yield ["mean", *(f"{score:.4f}" for score in np.mean(scores, axis=0))]
    yield ["standard deviation", *(f"{score:.4f}" for score in np.std(scores, axis=0, ddof=1))]


def half_million() -> Iterator[list[Any]]:
    """Yield header and row of half_million.csv: DANK in parts on the generated set of `scale`."""
    yield ["rows", "parts", "seconds", "accuracy (%)"]
    X, y = generated(500_000, 0)
    new, labels = generated(20_000, 1)
    model = DANKClassifier(gamma=2.0, C=10.0, tau=0.0, partition="kmeans")
    model.fit(*generated(2000, 2))  # compiles the loops
    seconds = processor_seconds(partial(model.fit, X, y))
    accuracy = 100 * model.score(new, labels)
    yield [len(X), len(model.part_centres_), f"{seconds:.1f}", f"{accuracy:.2f}"]


def million() -> Iterator[list[Any]]:
    """Yield header and rows of million.csv: default fits to the problem of `local-large`."""
    yield ["method", "rows", "features", "seconds", "R2"]
    training, new = smooth(1_000_000, 20, 0), smooth(20_000, 20, 1)
    ours = LABRBFRegressor(random_state=0, n_jobs=1)
    for name, model in (
        ("LAB-RBF", ours),
        ("boosting", HistGradientBoostingRegressor(random_state=0)),
    ):
        seconds = processor_seconds(partial(model.fit, *training))
        yield [name, *training.X.shape, f"{seconds:.0f}", f"{r_squared(model, new):.3f}"]


def predictions() -> Iterator[list[Any]]:
    """Yield header and rows of predictions.csv: milliseconds, the medians of five runs.

    The model is LAB-RBF on 5000 rows of ten features, with default settings.
    """
    import onnxruntime

    yield ["rows", "support points", "predict (ms)", "ONNX, float64 (ms)", "ONNX, float32 (ms)"]
    X, y = make_friedman1(5000, noise=1.0, random_state=0)
    model = LABRBFRegressor(random_state=0).fit(X, y)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    calls = [model.predict]
    for dtype in (np.float64, np.float32):
        text = to_onnx(model, dtype=np.dtype(dtype).name).SerializeToString()
        session = onnxruntime.InferenceSession(text, options)
        calls.append(lambda x, s=session, d=dtype: s.run(None, {"X": x.astype(d)}))
    for rows, repeats in ((1, 200), (1000, 5)):
        times = [_median(partial(_many, call, X[:rows], repeats)) / repeats for call in calls]
        yield [rows, len(model.support_vectors_), *(f"{1000 * each:.3f}" for each in times)]


def _many(call: Callable[[Array], Any], X: Array, repeats: int) -> None:
    for _ in range(repeats):
        call(X)


def _median(call: Callable[[], Any]) -> float:
    call()
    return float(np.median([processor_seconds(call) for _ in range(5)]))


TABLES: dict[str, Callable[[], Iterator[list[Any]]]] = {
    "cost": cost, "features": features, "example": example, "half_million": half_million,
    "million": million, "predictions": predictions,
}  # fmt: skip


def main(arguments: Sequence[str]) -> int:
    """Measure and write one table; return 0."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks numbers")
    parser.add_argument("name", choices=TABLES)
    name = parser.parse_args(arguments).name
    with threadpool_limits(1):
        rows = list(TABLES[name]())
    with (FOLDER / f"{name}.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows(rows)
    path = FOLDER / "records.json"
    records = json.loads(path.read_text("utf-8")) if path.exists() else {}
    records[name] = {"command": f"python -m benchmarks numbers {name}", **provenance()}
    path.write_text(json.dumps(records, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    return 0


def _wide(rows: int, copies: int) -> tuple[Array, Array]:
    X, y = make_speed_problem(rows)
    return np.tile(X, copies) / np.sqrt(copies), y
