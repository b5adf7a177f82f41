"""Measure how the cost of DANK grows with rows and with features.

    python docs/numbers/cost.py

Processor time of one thread, the best of three; libsvm is scikit-learn's SVC, a plain SVM with a
tolerance of 1e-3. More features are copies of the 14, scaled so
that the Gram matrix, and with it the problem, stays the same. Writes cost.csv beside this file.
"""

from __future__ import annotations

import csv
import time
from pathlib import Path

import numpy as np
from sklearn.base import clone
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from pliant import DANKClassifier, KNPLClassifier
from pliant.datasets import make_speed_problem
from pliant.kernels import Gaussian

SIZES = [(500, 1), (1000, 1), (2000, 1), (4000, 1), (2000, 10), (2000, 100)]
MACHINES = (DANKClassifier(), DANKClassifier(tau=0.0), KNPLClassifier())
HEAD = [
    "rows", "features", "Gram matrix (s)", "DANK (s)", "tau = 0 (s)", "KNPL (s)", "libsvm (s)",
    "support points", "rank of F",
]  # fmt: skip


def best_of_three(call):
    """Return the least processor time of three calls, and the last result."""
    times = []
    for _ in range(3):
        start = time.process_time()
        result = call()
        times.append(time.process_time() - start)
    return min(times), result


def measure(n, copies):
    """Return one row of the table."""
    X, y = make_speed_problem(n)
    X = np.tile(X, copies) / np.sqrt(copies)
    gram_time, _ = best_of_three(lambda: Gaussian(3.0)(X))
    machines = [clone(machine).set_params(gamma=3.0, C=8.0) for machine in MACHINES]
    fit_times = [best_of_three(lambda m=machine: m.fit(X, y))[0] for machine in machines]
    libsvm_time, _ = best_of_three(lambda: SVC(gamma=3.0, C=8.0, cache_size=1000).fit(X, y))
    seconds = [f"{seconds:.3f}" for seconds in (gram_time, *fit_times, libsvm_time)]
    return [n, X.shape[1], *seconds, len(machines[0].support_), machines[0].adaptation_.rank]


def main():
    """Write the table."""
    for machine in MACHINES:
        machine.fit(*make_speed_problem(50))  # compiles the loops
    with threadpool_limits(1):
        rows = [measure(*size) for size in SIZES]
    with Path(__file__).with_suffix(".csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows([HEAD, *rows])


if __name__ == "__main__":
    main()
