"""A fitted model and some samples to draw it on.

Samples are chosen without chance and seen as the estimator sees them, after the preprocessing of
its pipeline. With more than two classes, an estimator that learns a kernel for each pair of them is
represented by that of the first pair.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import is_classifier

from pliant.core.summary import Summary, summarize
from pliant.core.typing import Array, Indices

MOST_ROWS = 160
"""About the most rows that figures show."""


@dataclass(frozen=True, eq=False)
class ModelView:
    """A fitted estimator of one function, and samples to show it on.

    Attributes
    ----------
    model, estimator : fitted estimators
        The whole model, and the last step of its pipeline; with more than two classes, that of the
        first pair where there is one for each.
    X : array of shape (n_shown, n_columns)
        Rows of the table.
    points : array of shape (n_shown, n_features)
        The same as the estimator sees them.
    y, all_y : arrays of shape (n_shown,) and (n_rows,)
        The targets of these rows, and of all rows.
    n : int
        Rows that these were chosen from: those of the classes of the estimator.
    names, own_names : list of str
        Of the features that the estimator sees, and of the columns.
    note : str
        The pair of classes that is shown; empty where there is no choice.
    X_test, y_test : arrays or None
        Rows of the table that the model has not learned from, and their targets.
    """

    model: Any
    estimator: Any
    X: Array
    points: Array
    y: npt.NDArray[Any]
    all_y: npt.NDArray[Any]
    n: int
    names: list[str]
    own_names: list[str]
    note: str
    X_test: Array | None = None
    y_test: npt.NDArray[Any] | None = None

    @classmethod
    def of(
        cls,
        model: Any,
        X: Array,
        y: npt.NDArray[Any],
        feature_names: Sequence[str],
        X_test: Array | None = None,
        y_test: npt.NDArray[Any] | None = None,
    ) -> Self:
        """Choose the estimator of a model, and rows."""
        inside = getattr(model, "regressor_", model)
        steps, estimator, note = inside[:-1], inside[-1], ""
        eligible = np.arange(len(y))
        summary = summarize(estimator)
        if summary.kernel is None and len(summary.functions) > 1:
            estimator = summary.functions[0].estimator
            first, second = estimator.classes_
            eligible = np.flatnonzero(np.isin(y, estimator.classes_))
            note = f"{first} against {second}, the first of {len(summary.functions)} pairs"
        rows = _spread(y, eligible, is_classifier(estimator))
        points = np.asarray(steps.transform(X[rows]) if len(steps) else X[rows], dtype=np.float64)
        own = [str(name) for name in feature_names]
        names = _names_after(steps, own, points.shape[1])
        n = len(eligible)
        return cls(
            model, estimator, X[rows], points, y[rows], y, n, names, own, note, X_test, y_test
        )

    @cached_property
    def summary(self) -> Summary:
        """The summary of the estimator."""
        return summarize(self.estimator)

    @property
    def solved(self) -> Any:
        """The estimator with the coefficients: that on top of a learned kernel, or itself."""
        return self.summary.functions[0].estimator

    @property
    def two_classes(self) -> bool:
        """Whether it is a classifier of two classes."""
        return is_classifier(self.estimator) and len(self.estimator.classes_) == 2

    def titled(self, title: str) -> str:
        """Return a title with the pair of classes that is shown."""
        return f"{title} ({self.note})" if self.note else title


def _spread(y: npt.NDArray[Any], eligible: Indices, by_class: bool) -> Indices:
    """Return at most MOST_ROWS rows in rising order: of each class in proportion, or by target."""
    share = min(1.0, MOST_ROWS / len(eligible))
    if by_class:
        groups = [eligible[y[eligible] == label] for label in np.unique(y[eligible])]
    else:
        groups = [eligible[np.argsort(y[eligible], kind="stable")]]
    chosen = [
        group[np.linspace(0, len(group) - 1, max(1, int(share * len(group)))).astype(np.intp)]
        for group in groups
    ]
    return np.sort(np.concatenate(chosen))


def _names_after(steps: Any, names: list[str], width: int) -> list[str]:
    """Return the names of the features after the preprocessing, as far as it has them."""
    if not len(steps):
        return names
    try:
        after = [str(name) for name in steps.get_feature_names_out(names)]
    except (AttributeError, ValueError):
        after = names
    prefixed = any(hasattr(step, "transformers_") for _, step in steps.steps)
    after = [name.partition("__")[2] if prefixed else name for name in after]
    return after if len(after) == width else [f"feature {j}" for j in range(width)]
