"""Metrics of predictions: built-in metrics and any scikit-learn scorer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn import metrics
from sklearn.metrics import get_scorer, get_scorer_names

from pliant.core.estimators import BaseEstimator, ClassifierMixin, RegressorMixin
from pliant.core.parameters import plain
from pliant.core.text import suggest
from pliant.core.typing import Array


@dataclass(frozen=True, eq=False)
class Predictions:
    """Predictions for n test rows: numbers, or labels of k classes with optional scores.

    Decision values have shape (n, k), or (n,) with high values for the second class. Probabilities
    have shape (n, k).
    """

    values: npt.NDArray[Any]
    decision: Array | None = None
    probability: Array | None = None
    classes: npt.NDArray[Any] | None = None


def as_predictions(values: Array, classes: npt.NDArray[Any] | None) -> Predictions:
    """Return numbers, or probabilities of classes normalised to sum 1, as predictions."""
    if classes is None:
        return Predictions(values)
    probability = values / values.sum(axis=1, keepdims=True)
    return Predictions(classes[probability.argmax(axis=1)], None, probability, classes)


@dataclass(frozen=True)
class Metric:
    """A metric, with a `name` for options and data and a `title` for tables.

    `task` is "" for a scikit-learn scorer. `measure` takes the true values and the predictions, and
    returns None if the metric is undefined. `scorer` is the scikit-learn scorer for searches.
    """

    name: str
    title: str
    task: str
    measure: Callable[[npt.NDArray[Any], Predictions], float | None]
    scorer: str | Callable[..., float]

    @property
    def range(self) -> tuple[float, float]:
        """The smallest and largest possible values."""
        shares = ("accuracy", "balanced_accuracy", "auc")
        bounded = self.name in shares or not self.higher_is_better
        return 0.0 if bounded else -np.inf, 1.0 if self.name in (*shares, "r2") else np.inf

    @property
    def higher_is_better(self) -> bool:
        """True if larger values are better, as for every scikit-learn scorer."""
        return self.name not in ("log_loss", "rmse", "mae")

    def finite(self, y: npt.NDArray[Any], predictions: Predictions) -> float | None:
        """Return the value of the metric; None if it is undefined or not finite."""
        value = self.measure(y, predictions)
        return value if value is not None and np.isfinite(value) else None


def _log_loss(y: npt.NDArray[Any], predictions: Predictions) -> float | None:
    probability, classes = predictions.probability, predictions.classes
    if probability is None or classes is None or not np.isin(y, classes).all():
        return None
    return float(metrics.log_loss(y, probability, labels=classes))


def _auc(y: npt.NDArray[Any], predictions: Predictions) -> float | None:
    """Return the area under the ROC curve; the one-vs-rest average for more than two classes."""
    classes, probability = predictions.classes, predictions.probability
    if classes is None or len(np.unique(y)) < len(classes) or not np.isin(y, classes).all():
        return None
    if len(classes) == 2:
        scores = predictions.decision
        if scores is None and probability is not None:
            scores = np.asarray(probability[:, 1])
        return None if scores is None else float(metrics.roc_auc_score(y == classes[1], scores))
    if probability is None:
        return None
    return float(metrics.roc_auc_score(y, probability, multi_class="ovr", labels=classes))


def _values(function: Callable[..., Any]) -> Callable[..., float]:
    """Wrap a function of true and predicted values as a measure."""
    return lambda y, predictions: float(function(y, predictions.values))


_BY_TASK = {
    "classification": (
        ("accuracy", "accuracy", _values(metrics.accuracy_score), "accuracy"),
        ("balanced_accuracy", "balanced accuracy", _values(metrics.balanced_accuracy_score), None),
        ("log_loss", "log loss", _log_loss, "neg_log_loss"),
        ("auc", "AUC", _auc, "roc_auc"),
    ),
    "regression": (
        ("r2", "R2", _values(metrics.r2_score), None),
        ("rmse", "RMSE", _values(metrics.root_mean_squared_error), "neg_root_mean_squared_error"),
        ("mae", "MAE", _values(metrics.mean_absolute_error), "neg_mean_absolute_error"),
    ),
}

METRICS: dict[str, Metric] = {
    name: Metric(name, title, task, measure, scorer or name)
    for task, rows in _BY_TASK.items()
    for name, title, measure, scorer in rows
}
"""All metrics by name; the first of each task is the default."""

SCORERS = {metric.scorer: metric.name for metric in METRICS.values()}
"""Metric names by scikit-learn scorer."""


def _as_model(predictions: Predictions) -> Any:
    """Wrap stored predictions in a model, which scorers require."""

    kind = RegressorMixin if predictions.classes is None else ClassifierMixin
    model: Any = type("StoredPredictions", (kind, BaseEstimator), {})()
    model.classes_ = predictions.classes
    outputs = {
        "predict": predictions.values,
        "predict_proba": predictions.probability,
        "decision_function": predictions.decision,
    }
    for name, values in outputs.items():
        if values is not None:
            method = partial(lambda values, X: values, values)
            method.__name__ = name  # type: ignore[attr-defined]  # read by scorers
            setattr(model, name, method)
    return model


def _of_scorer(scorer: Callable[..., float], name: str | None = None) -> Metric:

    def measure(y: npt.NDArray[Any], predictions: Predictions) -> float | None:
        try:
            return float(scorer(_as_model(predictions), np.empty((len(y), 0)), y))
        except (AttributeError, ValueError):  # the scorer needs values that the model lacks
            return None

    if name is not None:
        return Metric(name, name, "", measure, name)
    function = getattr(scorer, "_score_func", scorer)
    name = str(getattr(function, "__name__", type(function).__name__))
    name = f"neg_{name}" if getattr(scorer, "_sign", 1) < 0 else name
    if name in METRICS or name in SCORERS:  # its sign may differ from that of the built-in metric
        name = f"{name} (scorer)"
    return Metric(name, name, "", measure, scorer)


def metric_of(given: str | Callable[..., float] | None, task: str | None = None) -> Metric:
    """Return the metric for a metric name, a scikit-learn scorer name, or a scorer.

    None stands for the default metric of the task. Raises ValueError if the metric is unknown or
    belongs to another task.

    Examples
    --------
    >>> metric_of("roc_auc").name, metric_of("f1_macro", "classification").title
    ('auc', 'f1_macro')
    """
    if given is None:
        return metrics_of(str(task))[0]
    if callable(given):
        return _of_scorer(given)
    name = SCORERS.get(str(given), str(given))
    if name in METRICS:
        metric = METRICS[name]
    elif name in get_scorer_names():
        metric = _of_scorer(get_scorer(name), name)
    else:
        known = [*METRICS, *get_scorer_names()]
        raise ValueError(f"unknown metric {plain(given)!r}; {suggest(name, known)}")
    if task is not None and metric.task not in ("", task):
        names = ", ".join(each.name for each in metrics_of(task))
        raise ValueError(f"expected one of {names} as the metric, got {metric.name!r}")
    return metric


def metrics_of(task: str) -> tuple[Metric, ...]:
    """Return the metrics of a task, default first."""
    return tuple(metric for metric in METRICS.values() if metric.task == task)
