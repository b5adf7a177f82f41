"""Fits of estimators in k-means parts, compared with fits to all samples."""

from __future__ import annotations

from typing import Any

from benchmarks.harness.calls import fitting, whole_process
from benchmarks.harness.spec import Params, Prepared
from benchmarks.scale_sets import generated as labelled
from pliant import KNPLClassifier, TKLClassifier

ESTIMATORS: dict[str, Any] = {
    "KNPL": KNPLClassifier(C=10.0, gamma=2.0),
    "TKL": TKLClassifier(C=10.0, random_state=0),
}

N_TEST = 20_000


def fit(params: Params) -> Prepared:
    """Prepare a fit of ``method`` with ``options`` to ``rows`` generated samples.

    TKL gets the first four features, since each feature doubles its cost.
    """
    few = slice(None, 4 if params["method"] == "TKL" else None)
    X, y = labelled(params["rows"], 0)
    X_test, y_test = labelled(N_TEST, 1)
    model = ESTIMATORS[params["method"]].set_params(**params["options"])

    def describe(fitted: Any) -> dict[str, Any]:
        memory = whole_process("MB")  # before the predictions below
        return {
            "parts": len(getattr(fitted, "part_gaps_", [0])),
            "support points": len(fitted.support_),
            "accuracy (%)": 100.0 * float(fitted.score(X_test[:, few], y_test)),
            **memory,
        }

    return fitting(model, X[:, few], y, describe=describe)
