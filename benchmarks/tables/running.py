"""Fit a contestant on a split of a table; a line of JSON for each, in a file that grows."""

from __future__ import annotations

import gzip
import json
import time
import tomllib
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.datasets import load_diabetes, make_friedman1
from sklearn.metrics import log_loss, r2_score
from sklearn.model_selection import train_test_split

from benchmarks.tables.contestants import CONTESTANTS

TRAIN_SHARE, MOST_TRAIN, MOST_TEST = 0.7, 3000, 5000
"""Share of the rows to learn from, and the largest numbers of rows of both parts."""

TABLES: dict[str, dict[str, list[str]]] = tomllib.loads(
    Path(__file__).with_name("tables.toml").read_text(encoding="utf-8")
)
"""Names of tables by task, then half."""

SMALL = TABLES.pop("small")
"""Names of the tables of at most 500 rows, by task."""


class Cell(NamedTuple):
    """One fit: what identifies a line of the results."""

    label: str
    table: str
    seed: int


def task_of(name: str) -> str:
    """Return "regression" or "classification"."""
    for task, halves in TABLES.items():
        if any(name in names for names in halves.values()):
            return task
    raise ValueError(f"expected the name of a table of tables.toml, got {name!r}")


def load(name: str, folder: Path) -> tuple[Any, Any]:
    """Return features and target of a table."""
    if name == "diabetes":
        return load_diabetes(return_X_y=True)
    if name == "friedman1":
        return make_friedman1(2000, noise=1.0, random_state=0)
    with gzip.open(folder / f"{name}.csv.gz", "rt", encoding="utf-8") as file:
        values = np.loadtxt(file, delimiter=",", skiprows=1, ndmin=2)
    y = values[:, -1]
    return values[:, :-1], y if task_of(name) == "regression" else np.unique(
        y, return_inverse=True
    )[1]


def split(name: str, seed: int, folder: Path) -> tuple[Any, Any, Any, Any]:
    """Return X and y to learn from and to test on."""
    X, y = load(name, folder)
    strata = None if task_of(name) == "regression" else y
    parts = train_test_split(X, y, train_size=TRAIN_SHARE, random_state=seed, stratify=strata)
    train, test, y_train, y_test = parts
    return train[:MOST_TRAIN], y_train[:MOST_TRAIN], test[:MOST_TEST], y_test[:MOST_TEST]


def run(cell: Cell, contestant: str, folder: Path) -> dict[str, Any]:
    """Return the scores and processor seconds of one fit."""
    train, y_train, test, y_test = split(cell.table, cell.seed, folder)
    classification = task_of(cell.table) == "classification"
    model = CONTESTANTS[contestant](classification, cell.seed)
    line: dict[str, Any] = cell._asdict()
    started, clock = time.process_time(), time.perf_counter()
    model.fit(train, y_train)
    line["fit_s"] = round(time.process_time() - started, 3)
    line["wall_s"] = round(time.perf_counter() - clock, 3)
    started = time.process_time()
    predicted = model.predict(test)
    line["predict_s"] = round(time.process_time() - started, 4)
    if not classification:
        return line | {"score": round(float(r2_score(y_test, predicted)), 5)}
    line["score"] = round(float((np.asarray(predicted).ravel() == y_test).mean()), 5)
    shares = np.clip(np.asarray(model.predict_proba(test), dtype=np.float64), 1e-7, None)
    shares /= shares.sum(axis=1, keepdims=True)
    line["log_loss"] = round(float(log_loss(y_test, shares, labels=np.unique(y_train))), 5)
    return line


def read(path: Path) -> list[dict[str, Any]]:
    """Return the lines of a file of results; none if there is no file."""
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line]


def run_all(cells: Iterator[tuple[Cell, str]], path: Path, folder: Path) -> None:
    """Run the cells that the file lacks, and add a line for each."""
    done = {Cell(r["label"], r["table"], r["seed"]) for r in read(path)}
    for cell, contestant in cells:
        if cell in done:
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            line = json.dumps(run(cell, contestant, folder))
        with path.open("a", encoding="utf-8") as file:
            file.write(line + "\n")
