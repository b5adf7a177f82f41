"""The machines that are measured beyond the dense Gram matrix: libsvm, and DANK in three ways."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from copy import copy
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC

from benchmarks.harness.spec import Contestant
from benchmarks.scale_sets import GENERATED, SETS, Halves, prepared
from pliant import DANKClassifier
from pliant.comparison.run.memory import peak_memory
from pliant.kernels import PartitionedKernel

__all__ = [
    "DECOMPOSED",
    "EXACT",
    "LIBSVM",
    "LIMIT",
    "REFINED",
    "contestants",
    "dank",
    "libsvm",
]

Params = Mapping[str, Any]
Prepared = tuple[Callable[[], Any], Callable[[Any], dict[str, Any]]]

LIMIT = 1800
"""Seconds that a fit may take: libsvm's is ended then, DANK's keeps the best so far."""

LIBSVM, EXACT, DECOMPOSED, REFINED = "libsvm", "DANK, exact", "DANK, decomposed", "DANK, refined"


def libsvm(params: Params) -> Prepared:
    """Prepare scikit-learn's SVC."""
    chosen = SETS[params["set"]]
    return _prepare(SVC(C=chosen.C, gamma=chosen.gamma, **params["options"]), params)


def dank(params: Params) -> Prepared:
    """Prepare DANK with tau = 0, eta given unless the options say otherwise."""
    chosen = SETS[params["set"]]
    eta = chosen.eta * (params["rows"] if chosen.file == GENERATED else 1.0)
    given = {"eta": eta, "tau": 0.0, "max_seconds": LIMIT, **params["options"]}
    return _prepare(DANKClassifier(C=chosen.C, gamma=chosen.gamma, **given), params)


def _prepare(model: Any, params: Params) -> Prepared:
    data = prepared(params)

    def describe(fitted: Any) -> dict[str, Any]:
        largest = peak_memory()  # before the predictions below
        return {
            "rows": len(data.y),
            **_accuracies(fitted, data, params),
            **_other_way(fitted, data),
            "support (%)": 100.0 * len(fitted.support_) / len(data.y),
            **_proof(fitted),
            "whole process (MB)": None if largest is None else largest / 1e6,
        }

    return lambda: _fit(model, data), describe


def _fit(model: Any, data: Halves) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the table shows the gap
        return model.fit(data.X, data.y)


def _accuracies(fitted: Any, data: Halves, params: Params) -> dict[str, Any]:
    """Return the mean accuracy over the splits, of which only the first is timed."""
    found = [_percent(fitted, data)]
    for seed in range(params["seed"] + 1, params["seed"] + params["splits"]):
        other = prepared({**params, "seed": seed})
        found.append(_percent(_fit(clone(fitted), other), other))
    spread = f"{np.std(found, ddof=1):.2f}" if len(found) > 1 else None
    return {"accuracy (%)": float(np.mean(found)), "±": spread}


def _percent(fitted: Any, data: Halves) -> float:
    return 100.0 * float(fitted.score(data.X_test, data.y_test))


def _other_way(fitted: Any, data: Halves) -> dict[str, float]:
    """Return the accuracy on the first split of the other way to predict, by parts or whole."""
    kernel = getattr(fitted, "kernel_", None)
    if not isinstance(kernel, PartitionedKernel):
        return {}
    between, way = ("one", "whole") if kernel.between == "zero" else ("zero", "by parts")
    other = copy(fitted)
    other.kernel_ = PartitionedKernel(
        kernel.base, kernel.points, kernel.beta, kernel.labels, kernel.centres,
        kernel.eta, kernel.extension, kernel.n_neighbors, between,
    )  # fmt: skip
    return {f"predicted {way} (%)": _percent(other, data)}


def _proof(fitted: Any) -> dict[str, Any]:
    if isinstance(fitted, SVC):
        return {}
    numbers = {"relative gap": f"{fitted.dual_gap_ / (1.0 + fitted.objective_):.1e}"}
    if isinstance(fitted.kernel_, PartitionedKernel):
        numbers["parts"] = len(fitted.kernel_.centres)
    return numbers


def contestants(n_parts: int | str, goals: Mapping[str, float]) -> list[Contestant]:
    """Return libsvm and the three ways of DANK; `goals` are time ratios to libsvm, by name."""
    parts = {"partition": "kmeans", "n_parts": n_parts, "random_state": 0}
    given: dict[str, dict[str, Any]] = {
        EXACT: {},
        DECOMPOSED: parts,
        REFINED: {**parts, "refine": True},
    }
    ours = [
        Contestant(name, f"{__name__}:dank", {"options": options}, LIBSVM, goals.get(name))
        for name, options in given.items()
    ]
    return [Contestant(LIBSVM, f"{__name__}:libsvm", {"options": {"cache_size": 200}}), *ours]
