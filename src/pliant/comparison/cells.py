"""One cell of a comparison: choose settings, fit, predict, score; the result is plain data.

`pliant.comparison.folds.cell_seed` decides all draws of a cell: candidates, inner folds, the
``random_state`` of the estimator. So its scores do not depend on other cells.
"""

from __future__ import annotations

import pickle
import time
import warnings
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import is_classifier
from sklearn.calibration import CalibratedClassifierCV
from sklearn.exceptions import ConvergenceWarning

from pliant.comparison.folds import cell_seed, inner_count, inner_splits, outer_split
from pliant.comparison.metrics import Predictions, metrics_of
from pliant.comparison.protocol import Cell, Kept, Place, Protocol, Record
from pliant.comparison.sample import Sample
from pliant.comparison.search import (
    defaults,
    is_searched,
    last_step,
    pipeline,
    search,
)
from pliant.comparison.text import known, shortage
from pliant.core.text import printable
from pliant.core.typing import Array, Indices
from pliant.methods.summary import Summary, summarize
from pliant.registry import Method

MOST_KEPT = 2000
"""Maximum number of test rows of a fold whose predictions are kept."""

CALIBRATION_FOLDS = 3
"""Inner folds whose decision values a sigmoid is fitted to."""


@dataclass(frozen=True, eq=False)
class FittedMethod:
    """A method fitted on some rows: the model, its settings, and seconds of "search" and "fit".

    A classifier has ``predict_proba`` if its rows make inner folds.
    """

    model: Any
    settings: dict[str, Any] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)

    @property
    def own(self) -> Any:
        """The model without the calibration of its probabilities."""
        if isinstance(self.model, CalibratedClassifierCV):
            return self.model.calibrated_classifiers_[0].estimator
        return self.model


def fit_method(
    method: Method,
    sample: Sample,
    rows: Indices,
    protocol: Protocol,
    seed: int,
    *,
    for_new_rows: bool = False,
) -> FittedMethod:
    """Fit a method on some rows: its search for settings, preprocessing, learner, probabilities.

    Decision values become probabilities by a sigmoid (Platt), fitted to held-out decision values of
    three inner folds. `for_new_rows` fills in gaps of new rows even if the sample has none.
    """
    start = time.perf_counter()
    searched = is_searched(method, sample)
    chosen = search(method, sample, rows, protocol, seed) if searched else defaults(method, sample)
    searched_at = time.perf_counter()
    model = pipeline(method, sample, len(rows), seed, for_new_rows=for_new_rows)
    model.set_params(**chosen)
    model = _with_probabilities(model, sample, rows, protocol, seed)
    model.fit(sample.features(rows), sample.y[rows])
    if isinstance(model, CalibratedClassifierCV):
        model.cv = CALIBRATION_FOLDS  # a model file needs no rows of folds
    seconds = {"search": searched_at - start, "fit": time.perf_counter() - searched_at}
    return FittedMethod(model, chosen, seconds)


def _with_probabilities(
    model: Any, sample: Sample, rows: Indices, protocol: Protocol, seed: int
) -> Any:
    """Return a classifier with calibrated probabilities if its rows allow, else the model."""
    if not is_classifier(model) or hasattr(model, "predict_proba"):
        return model
    n_folds = min(CALIBRATION_FOLDS, inner_count(sample, rows, protocol))
    if n_folds < 2 or not hasattr(model, "decision_function"):
        return model
    splits = inner_splits(sample, rows, n_folds, seed)
    n_classes = len(np.unique(sample.y[rows]))
    if any(len(np.unique(sample.y[rows][learn])) < n_classes for learn, _ in splits):
        return model
    if sum(len(test) for _, test in splits) < len(rows):  # the first rows in the order of time
        return model
    return CalibratedClassifierCV(model, cv=splits, ensemble=False)


def perform(sample: Sample, protocol: Protocol, method: Method, cell: Cell) -> Record:
    """Fit a method on a fold's training rows and score it on its test rows."""
    start = time.perf_counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            record = _finished(sample, protocol, method, cell)
            record["seconds"]["total"] = time.perf_counter() - start
        except MemoryError as error:
            record = failed(cell, shortage(error))
        except Exception as error:
            record = failed(cell, f"{type(error).__name__}: {error}")
    texts = dict.fromkeys(printable(" ".join(str(each.message).split()), 300) for each in caught)
    record["warnings"] = list(texts)
    return record


def failed(cell: Cell, error: str) -> Record:
    """Return the record of a failed cell."""
    return {
        "method": cell.method,
        "repeat": cell.repeat,
        "fold": cell.fold,
        "status": "error",
        "error": printable(" ".join(error.split()), 400),
        "scores": {},
        "warnings": [],
    }


def cut(cell: Cell) -> Record:
    """Return the record of a cell that was stopped at its deadline."""
    record = failed(cell, "the time was up")
    record["status"] = "cut"
    return record


def _finished(sample: Sample, protocol: Protocol, method: Method, cell: Cell) -> Record:
    """Return the record of a finished cell."""
    train, test = outer_split(sample, protocol, *cell.place)
    if len(train) > method.max_rows:
        raise ValueError(f"takes at most {method.max_rows} training rows, got {len(train)}")
    fitted = fit_method(method, sample, train, protocol, cell_seed(protocol, cell))
    start = time.perf_counter()
    predictions = predictions_of(fitted, sample.features(test))
    predicted = time.perf_counter() - start
    summary = summarize(last_step(fitted.own))
    return {
        "method": cell.method,
        "repeat": cell.repeat,
        "fold": cell.fold,
        "status": "done",
        "error": None,
        "rows": {"train": len(train), "test": len(test)},
        "scores": scores_of(sample, protocol, sample.y[test], predictions),
        "chosen": {_short(name): value for name, value in fitted.settings.items()},
        "kept": _kept(sample, protocol, cell.place, test, predictions),
        "support": summary.n_support,
        "gap": largest_gap(summary),
        "seconds": {**fitted.seconds, "predict": predicted},
        "size_bytes": pickled_size(fitted.model),
    }


def predictions_of(fitted: FittedMethod, X: Array) -> Predictions:
    """Return the predictions of a fitted method for rows of features."""
    model, own = fitted.model, fitted.own
    values, classes = np.ravel(own.predict(X)), getattr(own, "classes_", None)  # CatBoost: (n, 1)
    if classes is None or len(classes) == 0:  # CatBoost's regressor has no classes
        return Predictions(values)
    probability = model.predict_proba(X) if hasattr(model, "predict_proba") else None
    ranks = hasattr(own, "decision_function") and not hasattr(own, "predict_proba")
    decision = own.decision_function(X) if ranks else None
    return Predictions(values, decision, probability, classes)


def scores_of(
    sample: Sample, protocol: Protocol, y: npt.NDArray[Any], predictions: Predictions
) -> dict[str, float | None]:
    """Return the scores of predictions by all metrics of the task and that of the protocol."""
    wanted = protocol.metric_for(sample.task)
    metrics = {metric.name: metric for metric in (*metrics_of(sample.task), wanted)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return {name: metric.finite(y, predictions) for name, metric in metrics.items()}


def kept_rows(protocol: Protocol, place: Place, test: Indices) -> Indices:
    """Return the places of the kept test rows of a fold, ascending."""
    order = np.random.default_rng([protocol.seed, *place]).permutation(len(test))
    return np.sort(order[:MOST_KEPT])


def _kept(
    sample: Sample, protocol: Protocol, place: Place, test: Indices, predictions: Predictions
) -> Kept | None:
    """Return the predictions of a fold for a blend; None for classes without probabilities.

    A class that the training rows lack has the probability 0.
    """
    chosen = kept_rows(protocol, place, test)
    values = predictions.values
    if sample.task == "classification":
        if predictions.probability is None or predictions.classes is None:
            return None
        classes = np.array(sample.classes)
        values = np.zeros((len(test), len(classes)))
        values[:, np.searchsorted(classes, predictions.classes)] = predictions.probability
    kept = values[chosen]
    if not np.isfinite(kept).all():
        return None
    written = [[float(f"{v:.7g}") for v in np.atleast_1d(row)] for row in kept]
    flat = [row[0] for row in written] if sample.task == "regression" else written
    return {"rows": test[chosen].tolist(), "values": flat}


def pickled_size(value: object) -> int:
    """Return the bytes of an object's pickle, without a copy of its arrays."""
    arrays: list[pickle.PickleBuffer] = []
    rest = pickle.dumps(value, protocol=5, buffer_callback=arrays.append)
    return len(rest) + sum(array.raw().nbytes for array in arrays)


def _short(name: str) -> str:
    """Return the name of a parameter of a pipeline in its last step."""
    return name.removeprefix("regressor__").removeprefix("machine__")


def largest_gap(summary: Summary) -> float | None:
    """Return the largest relative gap of the functions; None if one has no certificate."""
    gaps = [function.relative_gap for function in summary.functions]
    return float(max(filter(known, gaps))) if gaps and all(map(known, gaps)) else None
