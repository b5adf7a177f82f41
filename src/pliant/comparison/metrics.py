"""Metrics of predictions for test rows: pliant's own, and any scorer of scikit-learn."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.metrics import (
    accuracy_score,
    balanced_accuracy_score,
    get_scorer,
    get_scorer_names,
    log_loss,
    mean_absolute_error,
    r2_score,
    roc_auc_score,
    root_mean_squared_error,
)
from sklearn.utils.metaestimators import available_if

from pliant.core.text import meant
from pliant.core.typing import Array
from pliant.core.validation import plain


@dataclass(frozen=True, eq=False)
class Predictions:
    """The predictions of a model for test rows.

    Parameters
    ----------
    values : array of shape (n_rows,)
        Labels or numbers.
    decision : array of shape (n_rows,) or (n_rows, n_classes), or None
        Decision values; higher means the second class, or that class.
    probability : array of shape (n_rows, n_classes) or None
    classes : array of shape (n_classes,) or None
        The classes of the model.
    """

    values: npt.NDArray[Any]
    decision: Array | None = None
    probability: Array | None = None
    classes: npt.NDArray[Any] | None = None


@dataclass(frozen=True)
class Metric:
    """A number for the quality of predictions.

    Parameters
    ----------
    name : str
        Its name in options and in data.
    title : str
        Its heading in tables.
    task : {"classification", "regression", ""}
        "" for a scorer of scikit-learn, whose task is not known.
    measure : callable
        From the true values and `Predictions` to the number; None where it is not defined.
    scorer : str or callable
        Scikit-learn's scorer, for the search.
    """

    name: str
    title: str
    task: str
    measure: Callable[[npt.NDArray[Any], Predictions], float | None]
    scorer: str | Callable[..., float]

    @property
    def range(self) -> tuple[float, float]:
        """The least and the largest value that it can have."""
        return RANGES.get(self.name, (-np.inf, np.inf))

    @property
    def higher_is_better(self) -> bool:
        """Whether larger numbers are better; scorers of scikit-learn negate the others."""
        return self.name not in ("log_loss", "rmse", "mae")

    def finite(self, y: npt.NDArray[Any], predictions: Predictions) -> float | None:
        """Return the number; None where it is not defined, or not finite."""
        value = self.measure(y, predictions)
        return value if value is not None and np.isfinite(value) else None


def _log_loss(y: npt.NDArray[Any], predictions: Predictions) -> float | None:
    probability, classes = predictions.probability, predictions.classes
    if probability is None or classes is None or not np.isin(y, classes).all():
        return None
    return float(log_loss(y, probability, labels=classes))


def _auc(y: npt.NDArray[Any], predictions: Predictions) -> float | None:
    """Area under the ROC curve; of more than two classes the mean over each against the rest."""
    classes, probability = predictions.classes, predictions.probability
    if classes is None or len(np.unique(y)) < len(classes) or not np.isin(y, classes).all():
        return None
    if len(classes) == 2:
        scores = predictions.decision
        if scores is None and probability is not None:
            scores = np.asarray(probability[:, 1])
        return None if scores is None else float(roc_auc_score(y == classes[1], scores))
    if probability is None:
        return None
    return float(roc_auc_score(y, probability, multi_class="ovr", labels=classes))


def _of_values(
    function: Callable[..., Any],
) -> Callable[[npt.NDArray[Any], Predictions], float]:
    """Return a measure that needs the predicted values only."""
    return lambda y, predictions: float(function(y, predictions.values))


CLASSIFICATION, REGRESSION = "classification", "regression"

METRICS: dict[str, Metric] = {
    name: Metric(name, title, task, measure, scorer)
    for name, title, task, measure, scorer in (
        ("accuracy", "accuracy", CLASSIFICATION, _of_values(accuracy_score), "accuracy"),
        (
            "balanced_accuracy",
            "balanced accuracy",
            CLASSIFICATION,
            _of_values(balanced_accuracy_score),
            "balanced_accuracy",
        ),
        ("log_loss", "log loss", CLASSIFICATION, _log_loss, "neg_log_loss"),
        ("auc", "AUC", CLASSIFICATION, _auc, "roc_auc"),
        ("r2", "R2", REGRESSION, _of_values(r2_score), "r2"),
        (
            "rmse",
            "RMSE",
            REGRESSION,
            _of_values(root_mean_squared_error),
            "neg_root_mean_squared_error",
        ),
        ("mae", "MAE", REGRESSION, _of_values(mean_absolute_error), "neg_mean_absolute_error"),
    )
}
"""All metrics, by name; the first of a task is the default for the search and the ranks."""


RANGES = {
    **dict.fromkeys(("accuracy", "balanced_accuracy", "auc"), (0.0, 1.0)),
    **dict.fromkeys(("log_loss", "rmse", "mae"), (0.0, np.inf)),
    "r2": (-np.inf, 1.0),
}
"""The ranges of metrics."""

SCORERS = {metric.scorer: metric.name for metric in METRICS.values()}
"""The metrics by the names that scikit-learn gives to their scorers."""


class _Stored(BaseEstimator):
    """Stands for a model whose predictions are known, so that a scorer can ask for them."""

    def __init__(self, predictions: Predictions) -> None:
        self.predictions = predictions

    def predict(self, X: object) -> npt.NDArray[Any]:
        return self.predictions.values


class _StoredRegressor(RegressorMixin, _Stored):
    pass


class _StoredClassifier(ClassifierMixin, _Stored):
    def __init__(self, predictions: Predictions) -> None:
        super().__init__(predictions)
        self.classes_ = predictions.classes

    @available_if(lambda self: self.predictions.probability is not None)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: object) -> Array | None:
        return self.predictions.probability

    @available_if(lambda self: self.predictions.decision is not None)  # type: ignore[untyped-decorator]
    def decision_function(self, X: object) -> Array | None:
        return self.predictions.decision


def _scored(
    scorer: Callable[..., float], y: npt.NDArray[Any], predictions: Predictions
) -> float | None:
    """Return what a scorer of scikit-learn gives; None where it cannot score."""
    kind = _StoredRegressor if predictions.classes is None else _StoredClassifier
    try:
        return float(scorer(kind(predictions), np.empty((len(y), 0)), y))
    except (AttributeError, ValueError):  # a model without the values that it takes
        return None


def _scorer_name(scorer: Callable[..., float]) -> str:
    """Return the name of a scorer's function; never that of a metric with another direction."""
    function = getattr(scorer, "_score_func", scorer)
    name = str(getattr(function, "__name__", type(function).__name__))
    name = f"neg_{name}" if getattr(scorer, "_sign", 1) < 0 else name
    return f"{name} (scorer)" if name in METRICS or name in SCORERS else name


def metric_of(given: str | Callable[..., float] | None, task: str | None = None) -> Metric:
    """Return a metric from its name, or from scikit-learn's name of a scorer or a scorer itself.

    Parameters
    ----------
    given : str, callable or None
        A scorer is called with a model, features and targets; higher is better. None stands for
        the first metric of the task.
    task : str, optional
        Refuse a metric of another task.

    Raises
    ------
    ValueError
        If there is no such metric; the message has close matches, or all names.

    Examples
    --------
    >>> metric_of("roc_auc").name, metric_of("neg_mean_absolute_error").name
    ('auc', 'mae')
    >>> metric_of("f1_macro", "classification").title
    'f1_macro'
    """
    if given is None:
        return metrics_of(str(task))[0]
    if callable(given):
        name = _scorer_name(given)
        return Metric(name, name, "", partial(_scored, given), given)
    plain_name = str(given)
    plain_name = SCORERS.get(plain_name, plain_name)
    if plain_name in METRICS:
        metric = METRICS[plain_name]
    elif plain_name in get_scorer_names():
        scorer = get_scorer(plain_name)
        metric = Metric(plain_name, plain_name, "", partial(_scored, scorer), plain_name)
    else:
        known = [*METRICS, *get_scorer_names()]
        raise ValueError(f"unknown metric {plain(given)!r}; {meant(plain_name, known)}")
    if task is not None and metric.task not in ("", task):
        names = ", ".join(each.name for each in metrics_of(task))
        raise ValueError(f"expected a metric out of {names} to rank by, got {metric.name!r}")
    return metric


def metrics_of(task: str) -> tuple[Metric, ...]:
    """Return the metrics of a task, the default first."""
    return tuple(metric for metric in METRICS.values() if metric.task == task)
