"""Fits of support vector machines to many classes of few rows: one small problem per pair."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.svm import SVC

from benchmarks.harness.calls import fitting
from benchmarks.harness.spec import Params, Prepared
from pliant import DANKClassifier, KNPLClassifier, MKLClassifier

SPREAD = 0.7
"""Standard deviation of a class around its centre; the centres have 2."""

METHODS = {"SVC": SVC, "DANK": DANKClassifier, "KNPL": KNPLClassifier, "MKL": MKLClassifier}


def few_rows(params: Params) -> Prepared:
    """Prepare a fit of ``method`` with default settings to ``rows`` rows of each class."""
    count, rows, features = params["classes"], params["rows"], params["features"]
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(count), rows)
    X = 2.0 * rng.normal(size=(count, features))[y] + SPREAD * rng.normal(size=(len(y), features))

    def describe(fitted: Any) -> dict[str, Any]:
        facts: dict[str, Any] = {"pairs": count * (count - 1) // 2}
        if isinstance(fitted, SVC):
            return facts
        gaps = [each.relative_gap_ for each in fitted.estimators_]
        return facts | {"largest relative gap": f"{max(gaps):.1e}"}

    return fitting(METHODS[params["method"]](), X, y, describe=describe)
