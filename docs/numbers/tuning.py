"""Measure how long it takes to choose C, gamma, eta_scale and the rule for new points together.

    PYTHONPATH=. PLIANT_DATA=folder python docs/numbers/tuning.py

scikit-learn's GridSearchCV over 300 settings, five folds, in one process and one thread: 1500
fits. Writes tuning.csv beside this file.
"""

from __future__ import annotations

import csv
import time
from pathlib import Path

from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MinMaxScaler
from threadpoolctl import threadpool_limits

from benchmarks.datasets import load_local
from pliant import DANKClassifier, KNPLClassifier
from pliant.kernels import EXTENSIONS

SETS = ("sonar", "heart_statlog", "ionosphere")
MACHINES = {
    "DANK, tau = 0": DANKClassifier(tau=0.0),
    "DANK, tau = 0.01": DANKClassifier(),
    "KNPL": KNPLClassifier(),
}
GRID = {
    "machine__C": [0.25, 1.0, 4.0, 16.0, 64.0],
    "machine__gamma": [0.03, 0.1, 0.3, 1.0, 3.0],
    "machine__eta_scale": [0.1, 1.0, 10.0],
    "machine__extension": list(EXTENSIONS),
}
HEAD = ["set", "rows", "method", "fits", "seconds", "C", "gamma", "eta_scale", "extension"]


def measure(name, method, machine):
    """Return one row of the table."""
    data = load_local(name)
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    search = GridSearchCV(
        Pipeline([("scale", MinMaxScaler()), ("machine", machine)]), GRID, cv=folds
    )
    start = time.perf_counter()
    search.fit(data.X, data.y)
    seconds = f"{time.perf_counter() - start:.0f}"
    fits = 5 * len(search.cv_results_["params"])
    chosen = [f"{search.best_params_[key]}" for key in GRID]
    return [name, len(data.y), method, fits, seconds, *chosen]


def main():
    """Write the table."""
    with threadpool_limits(1):
        rows = [measure(name, *each) for name in SETS for each in MACHINES.items()]
    with Path(__file__).with_suffix(".csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows([HEAD, *rows])


if __name__ == "__main__":
    main()
