"""The time to a certified gap on the kernels of the 2008 paper; a line of JSON for each fit.

Weights are judged in the same way for all contestants: an SVM at their weights, solved to 1e-8,
gives the objective J and a lower bound of the optimum, kappa(b) - 1/2 max_m b'K_m b at its solution
b. The accuracy is that of this SVM.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from benchmarks.mkl.candidates import SETS, C, Split, split
from benchmarks.mkl.contestants import EASY, SIMPLE, timed
from benchmarks.tables.running import read
from pliant.core.typing import Array

GAPS = (1e-2, 1e-4)
SVM_TOL = 1e-3
"""Tolerance of the SVM that ends EasyMKL."""

LIMIT = 600.0
"""Seconds after which a run is stopped, and which it then counts as."""

EXACT = 1e-8
"""Tolerance of the SVM that the objective is computed with."""

Line = dict[str, Any]


class Cell(NamedTuple):
    """A fit: what identifies a line of the results."""

    table: str
    seed: int
    tol: float
    contestant: str


def cells(
    tables: Sequence[str], seeds: Iterable[int], gaps: Sequence[float], easy: bool = True
) -> Iterator[Cell]:
    """Yield the fits; contestants change places from seed to seed."""
    simple = {gap: list(SIMPLE) for gap in gaps}
    for seed in seeds:
        for table in tables:
            for tol, names in [*simple.items(), *([(SVM_TOL, list(EASY))] if easy else [])]:
                yield from (Cell(table, seed, tol, c) for c in names[:: -1 if seed % 2 else 1])


def measure(cell: Cell, given: Split, limit: float = LIMIT) -> Line:
    """Return what a contestant learns from a split, and how long that takes."""
    with threadpool_limits(1):
        learned, times = timed(cell.contestant, given.grams, given.y, C, cell.tol, limit)
        line: Line = {**cell._asdict(), "rows": len(given.y), "kernels": len(given.grams)}
        line |= {key: float(f"{value:.5g}") for key, value in times.items()}
        line |= {"selected": int((learned.weights > 1e-8).sum()), **learned.reported}
        line |= evaluated(given, learned.weights)
    if cell.contestant in EASY:
        line["weights"] = [float(f"{weight:.6g}") for weight in learned.weights]
    return line


def evaluated(given: Split, weights: Array) -> dict[str, float]:
    """Return objective, lower bound and accuracy at some weights."""
    n = len(given.y)
    gram = (weights @ given.grams.reshape(len(weights), -1)).reshape(n, n)
    model = SVC(kernel="precomputed", C=C, tol=EXACT, cache_size=1000).fit(gram, given.y)
    b = np.zeros(n)
    b[model.support_] = model.dual_coef_[0]
    quadratic = np.einsum("mi,i->m", given.grams @ b, b)
    kappa, value = np.abs(b).sum(), weights @ quadratic
    objective = kappa - 0.5 * value
    cross = np.tensordot(weights, given.cross, 1)
    return {
        "objective": float(objective),
        "lower_bound": float(kappa - 0.5 * quadratic.max()),
        "accuracy": float((model.predict(cross) == given.y_test).mean()),
    }


def run_all(
    chosen: Iterable[Cell],
    path: Path,
    folder: Path | None,
    limit: float = LIMIT,
    log: Callable[[str], None] = print,
) -> None:
    """Measure the cells that the file lacks, and add a line for each."""
    done = {_cell(line) for line in read(path)}
    for (table, seed), group in groupby(chosen, key=lambda cell: cell[:2]):
        missing = [cell for cell in group if cell not in done]
        if not missing:
            continue
        given = split(table, seed, folder)
        for contestant in {cell.contestant: None for cell in missing}:
            warm_up(contestant, given)
        for cell in missing:
            line = measure(cell, given, limit)
            with path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(line, allow_nan=False) + "\n")
            log(f"{table} | {seed} | {cell.tol:g} | {cell.contestant}: {line['seconds']:.2f} s")


def warm_up(contestant: str, given: Split) -> None:
    """Let a contestant import and compile what it needs."""
    some = np.concatenate([np.flatnonzero(given.y == label)[:20] for label in (-1.0, 1.0)])
    grams = given.grams[:5, some[:, None], some]
    timed(
        contestant, grams / grams.trace(axis1=1, axis2=2)[:, None, None], given.y[some], 1, 0.1, 9
    )


def table_names(words: str) -> list[str]:
    """Return the names in a list with commas; all for an empty one."""
    names = [name for name in words.split(",") if name]
    if unknown := [name for name in names if name not in SETS]:
        raise ValueError(f"expected names of {', '.join(SETS)}, got {unknown[0]!r}")
    return names or list(SETS)


def latest(lines: Iterable[Line]) -> list[Line]:
    """Return the last line of each fit."""
    return list({_cell(line): line for line in lines}.values())


def _cell(line: Line) -> Cell:
    return Cell(line["table"], line["seed"], line["tol"], line["contestant"])
