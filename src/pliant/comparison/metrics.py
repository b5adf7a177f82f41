"""What is measured on rows that a model has not seen."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.metrics import (
    accuracy_score,
    balanced_accuracy_score,
    log_loss,
    mean_absolute_error,
    r2_score,
    roc_auc_score,
    root_mean_squared_error,
)

from pliant.core.typing import Array

__all__ = ["METRICS", "Metric", "Said", "metrics_of"]


@dataclass(frozen=True, eq=False)
class Said:
    """What a model says of test rows.

    Parameters
    ----------
    predicted : array of shape (m,)
    decision : array of shape (m,) or (m, k), or None
        Decision values; higher means the second class, or that class.
    probability : array of shape (m, k) or None
    classes : array of shape (k,) or None
        The classes that the model knows.
    """

    predicted: npt.NDArray[Any]
    decision: Array | None = None
    probability: Array | None = None
    classes: npt.NDArray[Any] | None = None


@dataclass(frozen=True)
class Metric:
    """A number that says how good predictions are.

    Parameters
    ----------
    name : str
        As in options and in data.
    title : str
        As in tables.
    task : {"classification", "regression"}
    measure : callable
        Of the truth and a `Said`; None where it is not defined.
    higher_is_better : bool
    scorer : str
        The name of scikit-learn's scorer, for the search.
    """

    name: str
    title: str
    task: str
    measure: Callable[[npt.NDArray[Any], Said], float | None]
    higher_is_better: bool
    scorer: str

    def finite(self, y: npt.NDArray[Any], said: Said) -> float | None:
        """Return the number; None where it is not defined, or not finite."""
        value = self.measure(y, said)
        return value if value is not None and np.isfinite(value) else None


def _log_loss(y: npt.NDArray[Any], said: Said) -> float | None:
    if said.probability is None or said.classes is None or not np.isin(y, said.classes).all():
        return None
    return float(log_loss(y, said.probability, labels=said.classes))


def _auc(y: npt.NDArray[Any], said: Said) -> float | None:
    """Area under the ROC curve; of more than two classes the mean over each against the rest."""
    if said.classes is None or len(np.unique(y)) < len(said.classes):
        return None
    if not np.isin(y, said.classes).all():
        return None
    if len(said.classes) == 2:
        scores = said.decision if said.decision is not None else _second(said.probability)
        return None if scores is None else float(roc_auc_score(y == said.classes[1], scores))
    if said.probability is None:
        return None
    return float(roc_auc_score(y, said.probability, multi_class="ovr", labels=said.classes))


def _second(probability: Array | None) -> Array | None:
    return None if probability is None else np.asarray(probability[:, 1])


METRICS: dict[str, Metric] = {
    metric.name: metric
    for metric in (
        Metric(
            "accuracy",
            "accuracy",
            "classification",
            lambda y, said: float(accuracy_score(y, said.predicted)),
            True,
            "accuracy",
        ),
        Metric(
            "balanced_accuracy",
            "balanced accuracy",
            "classification",
            lambda y, said: float(balanced_accuracy_score(y, said.predicted)),
            True,
            "balanced_accuracy",
        ),
        Metric("log_loss", "log loss", "classification", _log_loss, False, "neg_log_loss"),
        Metric("auc", "AUC", "classification", _auc, True, "roc_auc"),
        Metric(
            "r2",
            "R2",
            "regression",
            lambda y, said: float(r2_score(y, said.predicted)),
            True,
            "r2",
        ),
        Metric(
            "rmse",
            "RMSE",
            "regression",
            lambda y, said: float(root_mean_squared_error(y, said.predicted)),
            False,
            "neg_root_mean_squared_error",
        ),
        Metric(
            "mae",
            "MAE",
            "regression",
            lambda y, said: float(mean_absolute_error(y, said.predicted)),
            False,
            "neg_mean_absolute_error",
        ),
    )
}
"""All metrics, by name; the first of a task is what it is ranked by unless another is asked for."""


def metrics_of(task: str) -> tuple[Metric, ...]:
    """Return the metrics of a task, the default first."""
    return tuple(metric for metric in METRICS.values() if metric.task == task)
