"""Metrics of predictions for test rows: pliant's own, and any scorer of scikit-learn."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn import metrics
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.metrics import get_scorer, get_scorer_names
from sklearn.utils.metaestimators import available_if

from pliant.core.text import suggest
from pliant.core.typing import Array
from pliant.core.validation import plain


@dataclass(frozen=True, eq=False)
class Predictions:
    """The predictions of a model for n test rows: labels or numbers, for k classes also scores.

    Decision values have the shape (n,), higher means the second class, or (n, k); probabilities
    have the shape (n, k).
    """

    values: npt.NDArray[Any]
    decision: Array | None = None
    probability: Array | None = None
    classes: npt.NDArray[Any] | None = None


@dataclass(frozen=True)
class Metric:
    """A number for the quality of predictions.

    It has a `name` in options and data, and a `title` in tables. The `task` is "" for a scorer of
    scikit-learn. `measure` takes the true values and predictions, and returns None for an undefined
    number. Searches use scikit-learn's `scorer`.
    """

    name: str
    title: str
    task: str
    measure: Callable[[npt.NDArray[Any], Predictions], float | None]
    scorer: str | Callable[..., float]

    @property
    def range(self) -> tuple[float, float]:
        """The least and the largest possible value."""
        shares = ("accuracy", "balanced_accuracy", "auc")
        bounded = self.name in shares or not self.higher_is_better
        return 0.0 if bounded else -np.inf, 1.0 if self.name in (*shares, "r2") else np.inf

    @property
    def higher_is_better(self) -> bool:
        """True if larger numbers are better; scorers of scikit-learn negate the others."""
        return self.name not in ("log_loss", "rmse", "mae")

    def finite(self, y: npt.NDArray[Any], predictions: Predictions) -> float | None:
        """Return the number; None if it is undefined or not finite."""
        value = self.measure(y, predictions)
        return value if value is not None and np.isfinite(value) else None


def _log_loss(y: npt.NDArray[Any], predictions: Predictions) -> float | None:
    probability, classes = predictions.probability, predictions.classes
    if probability is None or classes is None or not np.isin(y, classes).all():
        return None
    return float(metrics.log_loss(y, probability, labels=classes))


def _auc(y: npt.NDArray[Any], predictions: Predictions) -> float | None:
    """Area under the ROC curve; of more than two classes the mean over each against the rest."""
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
    """Return a measure that needs the predicted values only."""
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
"""All metrics, by name; the first of a task is the default for the search and the ranks."""

SCORERS = {metric.scorer: metric.name for metric in METRICS.values()}
"""The metrics by the names that scikit-learn gives to their scorers."""


class _Stored(BaseEstimator):
    """Model with stored predictions, for scorers, which call models."""

    def __init__(self, predictions: Predictions) -> None:
        self.predictions = predictions

    def predict(self, X: object) -> npt.NDArray[Any]:
        return self.predictions.values


class _StoredRegressor(RegressorMixin, _Stored):
    pass


class _StoredClassifier(ClassifierMixin, _Stored):
    @property
    def classes_(self) -> npt.NDArray[Any] | None:
        return self.predictions.classes

    @available_if(lambda self: self.predictions.probability is not None)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: object) -> Array | None:
        return self.predictions.probability

    @available_if(lambda self: self.predictions.decision is not None)  # type: ignore[untyped-decorator]
    def decision_function(self, X: object) -> Array | None:
        return self.predictions.decision


def _of_scorer(scorer: Callable[..., float], name: str | None = None) -> Metric:
    """Return a scorer of scikit-learn as a metric; None if the model lacks what it needs."""

    def measure(y: npt.NDArray[Any], predictions: Predictions) -> float | None:
        kind = _StoredRegressor if predictions.classes is None else _StoredClassifier
        try:
            return float(scorer(kind(predictions), np.empty((len(y), 0)), y))
        except (AttributeError, ValueError):  # a model without the values that it takes
            return None

    if name is not None:
        return Metric(name, name, "", measure, name)
    function = getattr(scorer, "_score_func", scorer)
    name = str(getattr(function, "__name__", type(function).__name__))
    name = f"neg_{name}" if getattr(scorer, "_sign", 1) < 0 else name
    if name in METRICS or name in SCORERS:  # whose direction is another one
        name = f"{name} (scorer)"
    return Metric(name, name, "", measure, scorer)


def metric_of(given: str | Callable[..., float] | None, task: str | None = None) -> Metric:
    """Return a metric from its name, from scikit-learn's name of a scorer, or from a scorer.

    None stands for the first metric of the task. Raises ValueError if there is no such metric, or
    it is one of another task.

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
        raise ValueError(f"expected a metric out of {names} to rank by, got {metric.name!r}")
    return metric


def metrics_of(task: str) -> tuple[Metric, ...]:
    """Return the metrics of a task, the default first."""
    return tuple(metric for metric in METRICS.values() if metric.task == task)
