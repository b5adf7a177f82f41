"""One cell of a comparison: tune, fit, predict, measure; the result is plain data.

All draws of a cell come from `pliant.comparison.folds.cell_seed`: its candidates, its inner folds,
its machine's ``random_state``. So a cell has the same scores whatever ran before or beside it.
"""

from __future__ import annotations

import pickle
import time
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import clone

from pliant._files import printable
from pliant._typing import Indices
from pliant.comparison.calibration import said, spoken
from pliant.comparison.folds import cell_seed, outer_split
from pliant.comparison.memory import peak_memory, reset_peak_memory
from pliant.comparison.metrics import METRICS, Metric, Said, metrics_of
from pliant.comparison.pipeline import fitted_machine, pipeline
from pliant.comparison.portraits import portraits
from pliant.comparison.protocol import Cell, Protocol
from pliant.comparison.sample import Sample
from pliant.comparison.search import search
from pliant.registry import Method

__all__ = ["Record", "failed", "perform"]

Record = dict[str, Any]
"""What a cell gave, as plain data; see `perform`."""

SHARES = (0.1, 0.25, 0.5)
"""Shares of the training rows on a learning curve, before the whole."""

FEWEST_ON_CURVE = 20
"""Rows of a point on a learning curve at least."""

MOST_PREDICTIONS = 500
"""Predictions that are kept of a fold at most."""

MEGABYTE = 1024**2


def perform(sample: Sample, protocol: Protocol, method: Method, cell: Cell) -> Record:
    """Learn a method on a fold's training rows and measure it on its test rows.

    Returns
    -------
    dict
        ``method``, ``repeat``, ``fold``, ``status`` ("done" or "error") and ``error`` (its text or
        None); ``rows`` (of train and test), ``scores`` by metric (None where one is not defined),
        ``chosen`` settings, ``inner_score``, ``candidates``; ``support`` (points with a
        coefficient) and ``gap`` (largest relative) where the machine has them; ``curve``, pairs of
        training rows and the metric; ``predictions`` of at most 500 test rows (first repeat);
        ``seconds``, ``memory_mb`` at the most beyond what was there before, ``size_bytes`` of the
        pickled model; ``warnings``, and ``pictures`` (first cell of a method).
    """
    reset_peak_memory()
    start = time.perf_counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            record = _performed(sample, protocol, method, cell, start)
        except Exception as error:
            record = failed(cell, f"{type(error).__name__}: {error}")
    told = dict.fromkeys(printable(" ".join(str(each.message).split()), 300) for each in caught)
    return {**record, "warnings": list(told)}


def failed(cell: Cell, error: str) -> Record:
    """Return the record of a cell that came to nothing."""
    place = {"method": cell.method, "repeat": cell.repeat, "fold": cell.fold}
    text = printable(" ".join(error.split()), 400)
    return {**place, "status": "error", "error": text, "scores": {}, "warnings": []}


def _performed(
    sample: Sample, protocol: Protocol, method: Method, cell: Cell, start: float
) -> Record:
    train, test = outer_split(sample, protocol, *cell.place)
    _check_size(method, len(train))
    seed = cell_seed(protocol, cell)
    before = peak_memory()
    found = search(method, sample, train, protocol, seed)
    model = pipeline(method, sample, len(train), seed).set_params(**found.chosen)
    searched = time.perf_counter()
    model.fit(sample.X[train], sample.y[train])
    fitted = time.perf_counter()
    predicted = model.predict(sample.X[test])
    seconds = {
        "search": searched - start,
        "fit": fitted - searched,
        "predict": time.perf_counter() - fitted,
    }
    answers = said(model, predicted, sample, train, test, protocol, seed)
    scores = {
        metric.name: _score(metric, sample.y[test], answers) for metric in metrics_of(sample.task)
    }
    metric = METRICS[protocol.metric or metrics_of(sample.task)[0].name]
    curve = _curve(model, sample, train, test, metric.name, seed)
    record = {
        "method": cell.method,
        "repeat": cell.repeat,
        "fold": cell.fold,
        "status": "done",
        "error": None,
        "rows": {"train": len(train), "test": len(test)},
        "scores": scores,
        "chosen": {_short(name): value for name, value in found.chosen.items()},
        "inner_score": found.score,
        "candidates": found.candidates,
        "curve": [*curve, [len(train), scores[metric.name]]],
        "predictions": _kept(test, predicted, seed) if cell.repeat == 0 else None,
        **_facts(fitted_machine(model)),
        "memory_mb": _beyond(before),
        "size_bytes": _size(model),
    }
    first = cell.place == (0, 0)
    shown = (
        portraits(model, sample.X[train], sample.y[train], sample.feature_names) if first else []
    )
    total = time.perf_counter() - start
    return {**record, "seconds": {**seconds, "total": total}, "pictures": shown}


def _short(name: str) -> str:
    """Return what a parameter of a pipeline is called in its machine."""
    return name.removeprefix("regressor__").removeprefix("machine__")


def _check_size(method: Method, n_rows: int) -> None:
    if n_rows > method.max_rows:
        raise ValueError(f"takes at most {method.max_rows} training rows, got {n_rows}")


def _curve(
    model: Any,
    sample: Sample,
    train: Indices,
    test: Indices,
    metric: str,
    seed: int,
) -> list[list[float]]:
    """Return the metric after learning from shares of the training rows, with settings as chosen.

    The shares are the first rows of one random order; one that cannot be learned from is left out.
    """
    order = np.random.default_rng(seed).permutation(train)
    points: list[list[float]] = []
    for share in SHARES:
        rows = np.sort(order[: round(share * len(order))])
        if len(rows) < FEWEST_ON_CURVE or len(np.unique(sample.y[rows])) < 2:
            continue
        try:
            smaller = clone(model).fit(sample.X[rows], sample.y[rows])
            answers = spoken(smaller, smaller.predict(sample.X[test]), sample.X[test])
            value = _score(METRICS[metric], sample.y[test], answers)
        except ValueError:
            continue
        if value is not None:
            points.append([len(rows), value])
    return points


def _score(metric: Metric, y: npt.NDArray[Any], answers: Said) -> float | None:
    """Return a metric; None where it is not defined, or not finite."""
    value = metric.measure(y, answers)
    return value if value is not None and np.isfinite(value) else None


def _kept(test: Indices, predicted: npt.NDArray[Any], seed: int) -> dict[str, list[Any]]:
    """Return the predictions of at most 500 test rows, drawn at random, in ascending order."""
    places = np.random.default_rng(seed).permutation(len(test))[:MOST_PREDICTIONS]
    places.sort()
    return {"rows": test[places].tolist(), "values": predicted[places].tolist()}


def _facts(machine: Any) -> Mapping[str, float | None]:
    """Return the number of support points, and the largest relative gap, of a fitted machine."""
    machine = getattr(machine, "machine_", machine)
    parts = getattr(machine, "estimators_", [machine])
    support = gap = None
    if all(hasattr(part, "support_") for part in parts):
        support = int(np.unique(np.concatenate([part.support_ for part in parts])).size)
    if all(hasattr(part, "relative_gap_") for part in parts):
        gap = float(max(part.relative_gap_ for part in parts))
    return {"support": support, "gap": gap if gap is not None and np.isfinite(gap) else None}


class _Counter:
    """A file that forgets what is written, and knows how much it was."""

    def __init__(self) -> None:
        self.size = 0

    def write(self, data: Any) -> int:
        written = memoryview(data).nbytes
        self.size += written
        return written


def _size(model: Any) -> int:
    """Return the bytes of a model's pickle, without making one in memory."""
    counter = _Counter()
    pickle.Pickler(counter, protocol=5).dump(model)
    return counter.size


def _beyond(before: int | None) -> float | None:
    """Return the megabytes that were held at the most beyond those of before."""
    after = peak_memory()
    return None if before is None or after is None else max(0, after - before) / MEGABYTE
