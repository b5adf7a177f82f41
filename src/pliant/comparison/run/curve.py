"""The learning curve of a fitted model: its score after learning from fewer rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone

from pliant.comparison.metrics import METRICS
from pliant.comparison.run.calibration import predictions_of
from pliant.comparison.run.folds import CellFold

SHARES = (0.1, 0.25, 0.5)
"""Shares of the training rows on a learning curve, before the whole."""

FEWEST_ON_CURVE = 20
"""The fewest rows of a point on a learning curve."""


def learning_curve(model: Any, fold: CellFold, metric: str) -> list[list[float]]:
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
