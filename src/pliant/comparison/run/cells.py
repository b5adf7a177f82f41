"""One cell of a comparison: tune, fit, predict, measure; the result is plain data.

`pliant.comparison.run.folds.cell_seed` decides all draws of a cell: candidates, inner folds, the
``random_state`` of the estimator. So its scores do not depend on what runs before or beside it.
"""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from pliant.comparison.metrics import METRICS, metrics_of
from pliant.comparison.protocol import DEFAULT, SEARCHED, Cell, Protocol
from pliant.comparison.record import Kept, Picture, Record
from pliant.comparison.run.calibration import calibrated, predictions_of
from pliant.comparison.run.figures import figures
from pliant.comparison.run.folds import CellFold
from pliant.comparison.run.memory import (
    peak_memory,
    pickled_size,
    reset_peak_memory,
    shortage,
)
from pliant.comparison.run.pipeline import last_step, pipeline
from pliant.comparison.run.search import (
    Deadline,
    OutOfTime,
    SearchResult,
    defaults,
    is_searched,
    planned_fits,
    search,
)
from pliant.comparison.sample import Sample
from pliant.comparison.text import known
from pliant.core.summary import Summary, summarize
from pliant.core.text import printable
from pliant.registry import Method

MOST_PREDICTIONS = 500
"""The most predictions that are kept of a fold."""

SHARES = (0.1, 0.25, 0.5)
"""Shares of the training rows on a learning curve, before the whole."""

FEWEST_ON_CURVE = 20
"""The fewest rows of a point on a learning curve."""

FIRST, DRAWN = (0, 0), (0, 1)
"""The fold of the first answers, which has no learning curve, and the one that has pictures."""

PROBABILITIES = "log_loss"
"""The metric that asks for probabilities."""

MEGABYTE = 1024**2

CUT: Final = "cut"
"""The status of a cell whose time was up."""


def perform(
    sample: Sample, protocol: Protocol, method: Method, cell: Cell, ends: float | None = None
) -> Record:
    """Learn a method on a fold's training rows and measure it on its test rows.

    A search that cannot be expected to end before `ends`, by ``time.time``, is given up: the cell
    is cut. Nothing else depends on the time.
    """
    start = time.perf_counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            record = _performed(sample, protocol, method, cell, ends)
            record["seconds"]["total"] = time.perf_counter() - start
        except OutOfTime as reason:
            record = cut(cell, str(reason))
        except MemoryError as error:
            record = failed(cell, shortage(error))
        except Exception as error:
            record = failed(cell, f"{type(error).__name__}: {error}")
    texts = dict.fromkeys(printable(" ".join(str(each.message).split()), 300) for each in caught)
    record["warnings"] = list(texts)
    return record


def failed(cell: Cell, error: str) -> Record:
    """Return the record of a cell that failed."""
    return {
        "method": cell.method,
        "repeat": cell.repeat,
        "fold": cell.fold,
        "stage": cell.stage,
        "status": "error",
        "error": printable(" ".join(error.split()), 400),
        "scores": {},
        "warnings": [],
    }


def cut(cell: Cell, reason: str = "the time was up") -> Record:
    """Return the record of a cell that is not finished, for a reason."""
    return failed(cell, reason) | {"status": CUT}


@dataclass(frozen=True, eq=False)
class _Learned:
    """A model that was tuned and fitted, its predictions, and what that took."""

    choice: SearchResult
    model: Any
    rough: Any
    predicted: npt.NDArray[Any]
    seconds: dict[str, float]
    memory: float | None


def _performed(
    sample: Sample, protocol: Protocol, method: Method, cell: Cell, ends: float | None
) -> Record:
    fold = CellFold.of(sample, protocol, cell)
    if len(fold.train) > method.max_rows:
        raise ValueError(f"takes at most {method.max_rows} training rows, got {len(fold.train)}")
    learned = _learn(method, fold, _choose(method, fold, cell, ends))
    last = _is_last(method, cell, sample)
    scores, curve = _measured(learned, fold, last=last, curve=last and cell.place != FIRST)
    summary = summarize(last_step(learned.model))
    return {
        "method": cell.method,
        "repeat": cell.repeat,
        "fold": cell.fold,
        "stage": cell.stage,
        "status": "done",
        "error": None,
        "rows": {"train": len(fold.train), "test": len(fold.test)},
        "scores": scores,
        "chosen": {_short(name): value for name, value in learned.choice.chosen.items()},
        "inner_score": learned.choice.score,
        "candidates": learned.choice.candidates,
        "curve": curve,
        "predictions": _kept(fold, learned.predicted) if cell.repeat == 0 else None,
        "support": summary.n_support,
        "gap": largest_gap(summary),
        "seconds": learned.seconds,
        "memory_mb": learned.memory,
        "size_bytes": pickled_size(learned.model),
        "pictures": _pictures(learned.model, fold) if last and cell.place == DRAWN else [],
    }


def _is_last(method: Method, cell: Cell, sample: Sample) -> bool:
    """Return whether this is the last stage of a method.

    It has learning curves, pictures, and probabilities even of a classifier without them.
    """
    return cell.stage == SEARCHED or (cell.stage == DEFAULT and not is_searched(method, sample))


def _choose(
    method: Method, fold: CellFold, cell: Cell, ends: float | None
) -> tuple[SearchResult, float]:
    """Return the settings that the stage of a cell asks for, and the seconds of the search."""
    if cell.stage != SEARCHED:
        return defaults(method, fold.sample), 0.0
    start = time.perf_counter()
    asked = method, fold.sample, fold.train, fold.protocol, fold.seed
    tick = None if ends is None else Deadline(ends, planned_fits(*asked))
    return search(*asked, tick), time.perf_counter() - start


def _pictures(model: Any, fold: CellFold) -> list[Picture]:
    return figures(model, *fold.learned, fold.sample.feature_names, *fold.tested)


def _learn(method: Method, fold: CellFold, choice: tuple[SearchResult, float]) -> _Learned:
    """Fit a method with chosen settings, and let it predict."""
    chosen, searching = choice
    model, rough = (
        pipeline(method, fold.sample, len(fold.train), fold.seed, rough=each).set_params(**settings)
        for each, settings in ((False, chosen.chosen), (True, chosen.on_part))
    )
    reset_peak_memory()
    before, start = peak_memory(), time.perf_counter()
    model.fit(*fold.learned)
    fitted = time.perf_counter()
    predicted = model.predict(fold.tested[0])
    seconds = {
        "search": searching,
        "fit": fitted - start,
        "predict": time.perf_counter() - fitted,
    }
    return _Learned(chosen, model, rough, predicted, seconds, _beyond(before))


def _measured(
    learned: _Learned, fold: CellFold, *, last: bool, curve: bool
) -> tuple[dict[str, float | None], list[list[float]]]:
    """Return the scores on the test rows by metric, and the learning curve."""
    metrics = metrics_of(fold.sample.task)
    name = fold.protocol.metric or metrics[0].name
    X, y = fold.tested
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the model itself has warned
        predictions = predictions_of(learned.model, learned.predicted, X)
        if last or name == PROBABILITIES:
            predictions = calibrated(predictions, learned.rough, fold)
        points = _learning_curve(learned.model, fold, name) if curve else []
    scores = {metric.name: metric.finite(y, predictions) for metric in metrics}
    whole = scores[name]
    return scores, points if whole is None or not curve else [*points, [len(fold.train), whole]]


def _learning_curve(model: Any, fold: CellFold, metric: str) -> list[list[float]]:
    """Return the metric after learning from shares of the training rows, with settings as chosen.

    The shares are the first rows of one random order; one that cannot be learned from is left out.
    """
    sample, (X, y) = fold.sample, fold.tested
    order = np.random.default_rng(fold.seed).permutation(fold.train)
    points: list[list[float]] = []
    for share in SHARES:
        rows = np.sort(order[: round(share * len(order))])
        if len(rows) < FEWEST_ON_CURVE or len(np.unique(sample.y[rows])) < 2:
            continue
        try:
            smaller = clone(model).fit(sample.features(rows), sample.y[rows])
            value = METRICS[metric].finite(y, predictions_of(smaller, smaller.predict(X), X))
        except ValueError:
            continue
        if value is not None:
            points.append([len(rows), value])
    return points


def _short(name: str) -> str:
    """Return the name of a parameter of a pipeline in its last step."""
    return name.removeprefix("regressor__").removeprefix("machine__")


def _kept(fold: CellFold, predicted: npt.NDArray[Any]) -> Kept:
    """Return the predictions of at most 500 test rows, drawn at random, in ascending order."""
    places = np.random.default_rng(fold.seed).permutation(len(fold.test))[:MOST_PREDICTIONS]
    places.sort()
    return {"rows": fold.test[places].tolist(), "values": predicted[places].tolist()}


def largest_gap(summary: Summary) -> float | None:
    """Return the largest relative gap of the functions; None if one has no certificate."""
    gaps = [function.relative_gap for function in summary.functions]
    return float(max(filter(known, gaps))) if gaps and all(map(known, gaps)) else None


def _beyond(before: int | None) -> float | None:
    """Return the megabytes that were held at the most beyond those of before."""
    after = peak_memory()
    return None if before is None or after is None else max(0, after - before) / MEGABYTE
