"""Measure how the cost of DANK for many rows grows with features.

    python docs/numbers/features.py

Processor time of one thread, one run each, for 20 000 rows: the exact problem, and parts. More
features are copies of the 14, scaled so that the Gram matrix, and with it the problem, stays the
same. Writes features.csv beside this file.
"""

from __future__ import annotations

import csv
import time
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from pliant import DANKClassifier
from pliant.datasets import make_speed_problem

ROWS, NEW = 20_000, 2000
COPIES = (1, 10, 50)
SETTINGS = {"gamma": 3.0, "C": 8.0, "eta": 1e5, "tau": 0.0, "random_state": 0}
HEAD = [
    "features", "exact (s)", "in parts (s)", "exact: a new row (ms)", "in parts: a new row (ms)",
    "support points",
]  # fmt: skip


def timed(call):
    """Return the processor time of a call, and its result."""
    start = time.process_time()
    result = call()
    return time.process_time() - start, result


def measure(copies):
    """Return one row of the table."""
    X, y = make_speed_problem(ROWS + NEW)
    X = np.tile(X, copies) / np.sqrt(copies)
    machines = [DANKClassifier(**SETTINGS), DANKClassifier(**SETTINGS, partition="kmeans")]
    fits = [timed(lambda m=machine: m.fit(X[:ROWS], y[:ROWS]))[0] for machine in machines]
    for machine in machines:
        machine.predict(X[:1])  # looks at the training points once
    new = [timed(lambda m=machine: m.predict(X[ROWS:]))[0] / NEW for machine in machines]
    times = [f"{seconds:.2f}" for seconds in fits] + [f"{1000 * each:.2f}" for each in new]
    return [X.shape[1], *times, len(machines[0].support_)]


def main():
    """Write the table."""
    X, y = make_speed_problem(300)
    DANKClassifier(**SETTINGS, partition="kmeans", refine=True).fit(X, y)  # compiles the loops
    with threadpool_limits(1):
        rows = [measure(copies) for copies in COPIES]
    with Path(__file__).with_suffix(".csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows([HEAD, *rows])


if __name__ == "__main__":
    main()
