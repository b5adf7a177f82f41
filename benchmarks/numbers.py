"""Measure a small table of the documentation: ``python -m benchmarks numbers NAME``.

``cost`` (DANK against rows and features) and ``features`` (many rows, against features) write
docs/numbers/NAME.csv, with times of one thread. More features are copies of the 14 of the
speed problem, scaled such that the Gram matrix and the problem do not change.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from benchmarks.harness.calls import processor_seconds
from benchmarks.harness.measuring import ROOT
from benchmarks.problems import make_speed_problem
from pliant import DANKClassifier, KMeansPartition, KNPLClassifier
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


TABLES: dict[str, Callable[[], Iterator[list[Any]]]] = {
    "cost": cost, "features": features,
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
    return 0


def _wide(rows: int, copies: int) -> tuple[Array, Array]:
    X, y = make_speed_problem(rows)
    return np.tile(X, copies) / np.sqrt(copies), y
