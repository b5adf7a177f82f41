"""The support vector machine that every learned kernel is judged by, and its cross-validation."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

import numpy as np
from sklearn.svm import SVC

from papers.side_information.protocol import SideSample
from pliant.core.typing import Array, Indices

__all__ = ["CS", "Fold", "Learned", "accuracies", "best", "fit", "right"]

CS = (0.1, 1.0, 10.0, 100.0, 1000.0)
"""The paper's values of C."""

MOST_STEPS = 200_000
"""The limit of libsvm's steps in one solve."""

Fold: TypeAlias = tuple[Indices, Indices]
Learned: TypeAlias = Callable[[Indices], Array]
"""Learns a kernel from the labels of some rows; returns the Gram matrix of the labelled rows."""


def fit(gram: Array, y: Indices, C: float) -> SVC:
    """Fit scikit-learn's SVC, one against one."""
    return SVC(C=C, kernel="precomputed", cache_size=500, max_iter=MOST_STEPS).fit(gram, y)


def right(machine: SVC, cross: Array, y: Indices) -> float:
    """Return the share of right answers, the rows of `cross` being the points asked for."""
    return float(np.mean(machine.predict(cross) == y))


def accuracies(
    sample: SideSample, folds: Iterable[Fold], learn: Learned, Cs: Sequence[float] = CS
) -> Array:
    """Return the accuracy at each C by cross-validation; each fold learns its own kernel."""
    score, count = np.zeros(len(Cs)), 0
    for known, judged in folds:
        gram = learn(known)
        rows, held = (np.searchsorted(sample.labelled, part) for part in (known, judged))
        inner, cross = gram[np.ix_(rows, rows)], gram[np.ix_(held, rows)]
        for k, C in enumerate(Cs):
            machine = fit(inner, sample.y[known], C)
            score[k] += len(judged) * right(machine, cross, sample.y[judged])
        count += len(judged)
    return score / count


def best(settings: Sequence[dict[str, Any]], scores: Sequence[float]) -> dict[str, Any]:
    """Return the setting of the highest accuracy, and that; of equal ones the first."""
    k = int(np.argmax(np.round(scores, 12)))
    return {**settings[k], "validation": float(scores[k])}
