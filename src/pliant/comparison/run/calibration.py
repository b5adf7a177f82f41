"""Probabilities for machines that have decision values only.

The training rows of a cell are put into the inner folds of its search; a sigmoid (Platt) is fitted
to the decision values that each fold has when the others are learned from, by scikit-learn's
``CalibratedClassifierCV``. Beyond ``search_rows`` training rows, a random part of them is taken.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.calibration import CalibratedClassifierCV

from pliant.comparison.metrics import Said
from pliant.comparison.protocol import Protocol
from pliant.comparison.run.folds import inner_count, inner_splits
from pliant.comparison.sample import Sample
from pliant.core.typing import Array, Indices

__all__ = ["said", "spoken"]


class _DecisionValues(ClassifierMixin, BaseEstimator):
    """A classifier whose features are its decision values; there is nothing to learn."""

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
        found: npt.NDArray[Any] = self.classes_[
            (decision > 0).astype(int) if decision.ndim == 1 else decision.argmax(axis=1)
        ]
        return found


def spoken(model: Any, predicted: npt.NDArray[Any], X: Array) -> Said:
    """Return what a fitted model says of rows by itself, without calibration."""
    classes = getattr(model, "classes_", None)
    if classes is None:
        return Said(predicted)
    if hasattr(model, "predict_proba"):
        return Said(predicted, None, model.predict_proba(X), classes)
    return Said(predicted, model.decision_function(X), None, classes)


def said(
    model: Any,
    rough: Any,
    predicted: npt.NDArray[Any],
    sample: Sample,
    train: Indices,
    test: Indices,
    protocol: Protocol,
    seed: int,
) -> Said:
    """Return what a fitted model says of the test rows, its probabilities calibrated if need be.

    They are None where the inner folds cannot hold every class. What is learned in these folds is
    `rough`, the model as its search judged it, not fitted.
    """
    found = spoken(model, predicted, sample.X[test])
    if found.classes is None or found.probability is not None or found.decision is None:
        return found
    if len(train) > protocol.search_rows:
        order = np.random.default_rng(seed).permutation(train)
        train = np.sort(order[: protocol.search_rows])
    values, rows = _out_of_fold(rough, sample, train, protocol, seed)
    if len(np.unique(sample.y[rows])) < len(found.classes):
        return found
    every = np.arange(len(rows))
    machine = _DecisionValues(found.classes)
    sigmoid = CalibratedClassifierCV(machine, cv=[(every, every)], ensemble=False)
    sigmoid.fit(values, sample.y[rows])
    probability = sigmoid.predict_proba(_wide(found.decision))
    return Said(predicted, found.decision, probability, found.classes)


def _out_of_fold(
    model: Any, sample: Sample, rows: Indices, protocol: Protocol, seed: int
) -> tuple[Array, Indices]:
    """Return decision values of rows by machines that did not see them, and these rows."""
    n_folds = inner_count(sample, rows, protocol)
    values, tested = [], []
    for learn, test in inner_splits(sample, rows, n_folds, seed) if n_folds > 1 else []:
        learn, test = rows[learn], rows[test]
        if len(np.unique(sample.y[learn])) == len(np.unique(sample.y[rows])):
            part = clone(model).fit(sample.X[learn], sample.y[learn])
            values.append(_wide(part.decision_function(sample.X[test])))
            tested.append(test)
    if not values:
        return np.empty((0, 1)), np.empty(0, dtype=np.intp)
    return np.concatenate(values), np.concatenate(tested)


def _wide(values: Array) -> Array:
    return values[:, None] if values.ndim == 1 else values
