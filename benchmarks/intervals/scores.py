"""Scores of prediction intervals and of probabilities."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.metrics import log_loss

from pliant.core.typing import Array

BINS = 15
"""Intervals of equal length that [0, 1] is divided into for the calibration error."""

LEAST = 1e-7
"""Lower bound on probabilities, for the log loss."""


def interval_scores(y: Array, ends: Array, coverage: float, unit: float) -> dict[str, float | None]:
    """Return coverage, mean width and mean interval score of intervals.

    The interval score of Gneiting and Raftery (2007) is the width, plus 2 / (1 - coverage) times
    the distance of a target from the interval. Width and score are divided by `unit`, and None
    where an interval is infinite.

    Parameters
    ----------
    y : array of shape (n,)
    ends : array of shape (n, 2)
        Lower and upper ends; those that cross are exchanged.
    coverage : float
        The nominal one.
    unit : float
    """
    low, high = np.sort(ends, axis=1).T
    inside = float(np.mean((low <= y) & (y <= high)))
    if not np.isfinite(ends).all():
        return {"coverage": inside, "width": None, "score": None}
    beyond = np.maximum(low - y, 0.0) + np.maximum(y - high, 0.0)
    width = high - low
    score = width + 2.0 / (1.0 - coverage) * beyond
    return {
        "coverage": inside,
        "width": float(width.mean() / unit),
        "score": float(score.mean() / unit),
    }


def probability_scores(y: Array, shares: Array, classes: Array) -> dict[str, Any]:
    """Return accuracy, log loss, expected calibration error, and what is in each bin.

    The confidence of a prediction is the probability of its class. In each of `BINS` bins of
    confidence, the calibration error compares the mean confidence with the share of correct
    predictions; it is the mean of the absolute differences, each with the share of samples in the
    bin as its weight (Guo et al. 2017). ``bins`` holds, for each bin, this share, the sum of the
    confidences, and the number of correct predictions, both divided by the number of samples.

    Parameters
    ----------
    y : array of shape (n,)
    shares : array of shape (n, n_classes)
        Probabilities, in the order of the classes.
    classes : array of shape (n_classes,)
    """
    shares = np.clip(np.asarray(shares, dtype=np.float64), LEAST, None)
    shares /= shares.sum(axis=1, keepdims=True)
    confidence, correct = shares.max(axis=1), classes[shares.argmax(axis=1)] == y
    place = np.minimum((confidence * BINS).astype(np.intp), BINS - 1)
    of_bin = [
        np.bincount(place, weights, BINS) / len(y)
        for weights in (np.ones(len(y)), confidence, correct.astype(np.float64))
    ]
    return {
        "accuracy": float(correct.mean()),
        "log_loss": float(log_loss(y, shares, labels=classes)),
        "calibration_error": float(np.abs(of_bin[1] - of_bin[2]).sum()),
        "bins": np.transpose(of_bin).tolist(),
    }
