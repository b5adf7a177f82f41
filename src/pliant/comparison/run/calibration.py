"""Probabilities for classifiers that have decision values only.

The training rows of a cell are put into the inner folds of its search; a sigmoid (Platt) is fitted
to the decision values of each fold from a model of the others, by scikit-learn's
``CalibratedClassifierCV``. Beyond ``search_rows`` training rows, a random part of them is taken.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.calibration import CalibratedClassifierCV

from pliant.comparison.metrics import Predictions
from pliant.comparison.run.folds import CellFold, inner_count, inner_splits
from pliant.core.typing import Array


class _DecisionValues(ClassifierMixin, BaseEstimator):
    """A classifier whose features are its decision values; it has nothing to learn."""

    def __init__(self, classes: Any = None) -> None:
        self.classes = classes

    def fit(self, X: Array, y: npt.NDArray[Any]) -> Self:
        self.classes_ = np.asarray(self.classes)
        self.n_features_in_ = X.shape[1]
        return self

    def decision_function(self, X: Array) -> Array:
        return X[:, 0] if len(self.classes_) == 2 else X

    def predict(self, X: Array) -> npt.NDArray[Any]:
        decision = self.decision_function(X)
        places = (decision > 0).astype(int) if decision.ndim == 1 else decision.argmax(axis=1)
        labels: npt.NDArray[Any] = self.classes_[places]
        return labels


def predictions_of(model: Any, values: npt.NDArray[Any], X: Array) -> Predictions:
    """Return the predicted values of X with what the model has beside them, not calibrated."""
    classes = getattr(model, "classes_", None)
    if classes is None:
        return Predictions(values)
    if hasattr(model, "predict_proba"):
        return Predictions(values, None, model.predict_proba(X), classes)
    if hasattr(model, "decision_function"):
        return Predictions(values, model.decision_function(X), None, classes)
    return Predictions(values, classes=classes)


def calibrated(predictions: Predictions, rough: Any, fold: CellFold) -> Predictions:
    """Return the predictions for the test rows with probabilities, calibrated if need be.

    They are None where the inner folds cannot hold every class. The estimator that learns in these
    folds is `rough`: the model as its search fitted it, not fitted.
    """
    classes, decision = predictions.classes, predictions.decision
    if classes is None or decision is None or predictions.probability is not None:
        return predictions
    values, y = _out_of_fold(rough, fold)
    if len(np.unique(y)) < len(classes):
        return predictions
    every = np.arange(len(y))
    sigmoid = CalibratedClassifierCV(
        _DecisionValues(classes), cv=[(every, every)], ensemble=False
    ).fit(values, y)
    return replace(predictions, probability=sigmoid.predict_proba(_wide(decision)))


def _out_of_fold(model: Any, fold: CellFold) -> tuple[Array, npt.NDArray[Any]]:
    """Return decision values of training rows that the model did not see, and their targets."""
    sample, protocol, rows = fold.sample, fold.protocol, fold.train
    if len(rows) > protocol.search_rows:
        order = np.random.default_rng(fold.seed).permutation(rows)
        rows = np.sort(order[: protocol.search_rows])
    n_folds = inner_count(sample, rows, protocol)
    values: list[Array] = []
    targets = [sample.y[:0]]
    for learn, test in inner_splits(sample, rows, n_folds, fold.seed) if n_folds > 1 else []:
        learn, test = rows[learn], rows[test]
        if len(np.unique(sample.y[learn])) == len(np.unique(sample.y[rows])):
            part = clone(model).fit(sample.X[learn], sample.y[learn])
            values.append(_wide(part.decision_function(sample.X[test])))
            targets.append(sample.y[test])
    return np.concatenate(values or [np.empty((0, 1))]), np.concatenate(targets)


def _wide(values: Array) -> Array:
    return values[:, None] if values.ndim == 1 else values
