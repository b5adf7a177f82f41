"""Fit a method on a split of a table; a line of JSON for each, in a file that grows."""

from __future__ import annotations

import json
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.intervals.methods import INTERVALS, PROBABILITIES
from benchmarks.intervals.scores import interval_scores, probability_scores
from benchmarks.tables.running import MOST_TRAIN, TABLES, TRAIN_SHARE, load, read, split, task_of
from pliant.core.typing import Array

LEVELS = (0.5, 0.8, 0.9, 0.95)
"""Nominal coverages."""

REGRESSION, CLASSIFICATION = "regression", "classification"

SEEDS = {REGRESSION: (100, 101, 102), CLASSIFICATION: (100,)}
"""Seeds of the splits."""

METHODS = {REGRESSION: tuple(INTERVALS), CLASSIFICATION: tuple(PROBABILITIES)}

Line = dict[str, Any]


class Cell(NamedTuple):
    """A fit: what identifies a line of the results."""

    method: str
    table: str
    seed: int


def cells(methods: Sequence[str], tables: Sequence[str], folder: Path) -> Iterator[Cell]:
    """Yield the fits of these methods; without tables, on all of them.

    Tables of classification with more than MOST_TRAIN rows to learn from are left out.
    """
    for task, halves in TABLES.items():
        names = [name for half in halves.values() for name in half if name in tables or not tables]
        if task == CLASSIFICATION:
            names = [n for n in names if TRAIN_SHARE * len(load(n, folder)[1]) <= MOST_TRAIN]
        for seed in SEEDS[task]:
            for method in (name for name in METHODS[task] if name in methods):
                yield from (Cell(method, name, seed) for name in names)


def measure(cell: Cell, folder: Path) -> Line:
    """Return the scores of one fit, and the processor seconds of fit and predictions."""
    train, y_train, test, y_test = split(cell.table, cell.seed, folder)
    scored = _of_intervals if task_of(cell.table) == REGRESSION else _of_probabilities
    line: Line = {**cell._asdict(), "rows": len(y_train), "test_rows": len(y_test)}
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        line |= scored(cell, train, y_train, test, y_test)
    short: Line = rounded(line)
    return short


def _of_intervals(cell: Cell, X: Array, y: Array, points: Array, target: Array) -> Line:
    began = time.process_time()
    intervals = INTERVALS[cell.method](X, y, cell.seed)
    ends = [intervals(points, level) for level in LEVELS]
    seconds = time.process_time() - began
    unit = float(np.std(y))
    levels = zip(LEVELS, ends, strict=True)
    scores = [interval_scores(target, each, level, unit) for level, each in levels]
    return {"seconds": seconds} | {key: [each[key] for each in scores] for key in scores[0]}


def _of_probabilities(cell: Cell, X: Array, y: Array, points: Array, target: Array) -> Line:
    model = PROBABILITIES[cell.method](True, cell.seed)
    began = time.process_time()
    shares = model.fit(X, y).predict_proba(points)
    seconds = time.process_time() - began
    return {"seconds": seconds} | probability_scores(target, shares, model.classes_)


def rounded(value: Any) -> Any:
    """Return the value with five digits of each number."""
    if isinstance(value, float):
        return float(f"{value:.5g}")
    if isinstance(value, dict):
        return {key: rounded(each) for key, each in value.items()}
    return [rounded(each) for each in value] if isinstance(value, list) else value


def run_all(
    chosen: Iterator[Cell], path: Path, folder: Path, log: Callable[[str], None] = print
) -> None:
    """Measure the cells that the file lacks, and add a line for each."""
    done = {Cell(line["method"], line["table"], line["seed"]) for line in read(path)}
    for cell in chosen:
        if cell not in done:
            line = measure(cell, folder)
            with path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(line, allow_nan=False) + "\n")
            log(f"{cell.table} | {cell.seed} | {cell.method}: {line['seconds']:.1f} s")
