"""Classification with locally adaptive bandwidths."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax, softmax
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from pliant._typing import Array, Indices
from pliant._validation import check_real, plain
from pliant.estimators._local_data import Table
from pliant.estimators._local_machine import LocalMachine, Run

__all__ = ["LABRBFClassifier"]

SHARPEST = 4.0
"""Bounds on the logarithm of the factor of the scores."""


class LABRBFClassifier(ClassifierMixin, LocalMachine):
    """PLACEHOLDER."""

    classes_: npt.NDArray[Any]
    sharpness_: float

    def _prepare(self, X: Any, y: Any, sample_weight: Any) -> tuple[Table, Indices]:
        X, y = validate_data(self, X, y, dtype=(np.float64, np.float32), ensure_min_samples=2)
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        table, rows = self._weighted(X, self._signs(codes), sample_weight)
        seen = np.unique(codes[rows])
        if len(seen) < 2:
            raise ValueError(
                f"expected at least two classes, got one class: {plain(self.classes_[seen[0]])!r}"
            )
        return table, rows

    def _signs(self, codes: Indices) -> Array:
        """Return +1 in the column of the class, -1 elsewhere; one column for two classes."""
        signs = np.where(codes[:, None] == np.arange(len(self.classes_)), 1.0, -1.0)
        return signs[:, 1:] if len(self.classes_) == 2 else signs

    @property
    def _flat(self) -> bool:
        return len(self.classes_) == 2

    @property
    def _width(self) -> int:
        return 1 if self._flat else len(self.classes_)

    def _check_loaded(self) -> None:
        """Raise ValueError if attributes, read from a file, do not belong together."""
        classes = np.asarray(self.classes_)
        if classes.ndim != 1 or len(classes) < 2 or len(np.unique(classes)) != len(classes):
            raise ValueError(f"expected at least two different classes_, got {classes!r:.80}")
        super()._check_loaded()
        check_real("sharpness_", self.sharpness_, above=0)

    def _loss(self, table: Table, rows: Indices) -> Callable[[Array], float]:
        """Return the squared error of the signs, relative to that of the class shares."""
        signs = table.Y[rows]
        weights = None if table.weights is None else table.weights[rows]
        chance = np.average(
            (signs - np.average(signs, axis=0, weights=weights)) ** 2, axis=0, weights=weights
        )
        size = float(chance.sum()) or 1.0
        return lambda scores: float(
            np.average((scores - signs) ** 2, axis=0, weights=weights).sum() / size
        )

    def _conclude(self, table: Table, runs: list[Run]) -> None:
        """Choose the sharpness on all held-out rows, each scored by its own member."""
        judged = [(run.judges, run.predicted) for run in runs if run.judges is not None]
        self.sharpness_ = 1.0
        if judged:
            rows = np.concatenate([judges for judges, _ in judged])
            scores = np.vstack([np.asarray(predicted) for _, predicted in judged])
            weights = None if table.weights is None else table.weights[rows]
            self.sharpness_ = _sharpness(scores, table.Y[rows], weights)

    def _again(self, X: Any, y: Any, sample_weight: Any) -> Table:
        X, y = validate_data(self, X, y, dtype=(np.float64, np.float32), reset=False)
        strange = np.setdiff1d(y, self.classes_)
        if len(strange):
            raise ValueError(f"expected y out of {list(self.classes_)}, got {plain(strange[0])!r}")
        codes = np.searchsorted(self.classes_, y)
        return self._weighted(X, self._signs(codes), sample_weight)[0]

    def decision_function(self, X: npt.ArrayLike) -> Array:
        """Return the scores of each point: about +1 in the column of its class, -1 elsewhere.

        Parameters
        ----------
        X : array-like of shape (m, d)

        Returns
        -------
        array of shape (m,), positive for ``classes_[1]``, or (m, n_classes) for more than two
        """
        return self._shaped(self._line(X))

    def predict_log_proba(self, X: npt.ArrayLike) -> Array:
        """Return the logarithms of `predict_proba`, shape (m, n_classes)."""
        return np.asarray(log_softmax(self._sharpened(X), axis=1))

    def predict_proba(self, X: npt.ArrayLike) -> Array:
        """Return the probability of each class: softmax(sharpness_ * scores).

        Parameters
        ----------
        X : array-like of shape (m, d)

        Returns
        -------
        array of shape (m, n_classes)
        """
        return np.asarray(softmax(self._sharpened(X), axis=1))

    def _sharpened(self, X: npt.ArrayLike) -> Array:
        columns = _columns(self._line(X))
        return self.sharpness_ * columns

    def predict(self, X: npt.ArrayLike) -> npt.NDArray[Any]:
        """Return the class of each point, shape (m,).

        Parameters
        ----------
        X : array-like of shape (m, d)
        """
        best = _columns(self._line(X)).argmax(axis=1)
        return np.asarray(self.classes_[best])


def _columns(scores: Array) -> Array:
    """Return a column for each class, also for two."""
    return np.hstack([-scores, scores]) if scores.shape[1] == 1 else scores


def _sharpness(scores: Array, signs: Array, weights: Array | None) -> float:
    """Return the factor of the scores with the least log loss.

    As in Platt's calibration, a row counts a little for the other classes, so that the factor
    stays finite where all rows are told apart.
    """
    columns, classes = _columns(scores), _columns(signs) > 0
    doubt = 1.0 / (len(columns) + 2.0)
    shares = np.where(classes, 1.0 - doubt, doubt / (classes.shape[1] - 1))

    def log_loss(logarithm: float) -> float:
        logs = log_softmax(np.exp(logarithm) * columns, axis=1)
        return -float(np.average((shares * logs).sum(axis=1), weights=weights))

    found = minimize_scalar(log_loss, bounds=(-SHARPEST, SHARPEST), method="bounded")
    return float(np.exp(found.x))
