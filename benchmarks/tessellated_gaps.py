"""The certified gap that TKL reaches with default settings."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import Any

from sklearn.exceptions import ConvergenceWarning

from benchmarks.harness.spec import Benchmark, Case, Contestant
from benchmarks.tessellated_sets import (
    ABSENT,
    learner,
    machine_numbers,
    named,
    points_and_target,
)

Params = Mapping[str, Any]
Prepared = tuple[Callable[[], Any], Callable[[Any], dict[str, Any]]]

ASKED = {
    "airfoil": 1e-3,
    "boston_housing": 1e-3,
    "breast_cancer_original_complete": 1e-3,
    "pima_diabetes": 1e-3,
    "fourclass": 1e-3,
    "transfusion": 1e-3,
    "german_numeric": 1e-2,
    "heart_statlog": 1e-2,
    "shill_bidding": 1e-2,
    "ionosphere": 1e-2,
    "hill_valley": 1e-2,
}
"""The relative gap that each set must reach; tol is its default, 1e-3, for all."""


def tkl(params: Params) -> Prepared:
    """Prepare a fit with all defaults but C."""
    X, y, task = points_and_target(params)
    model = learner(task, C=params["C"])

    def fit() -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # the table shows the gap
            return model.fit(X, y)

    def describe(model: Any) -> dict[str, Any]:
        reached = model.dual_gap_ / model.objective_
        return {
            "rows": len(y),
            "features": X.shape[1],
            **machine_numbers(model),
            "asked": f"{params['asked']:g}",
            "reached": "yes" if reached <= params["asked"] else "no",
        }

    return fit, describe


def _cases(has_data: bool) -> list[Case]:
    cases = []
    for name, asked in ASKED.items():
        for C in (1.0, 100.0):
            params = {"problem": name, "data": has_data, "C": C, "asked": asked}
            cases.append(
                Case(
                    f"{named(name, has_data)}, C = {C:g}",
                    [Contestant("pliant", f"{__name__}:tkl")],
                    params,
                    warm_up={**params, "rows": 60, "seed": 0},
                )
            )
    return cases


BENCHMARK = Benchmark(
    name="tessellated-gaps",
    title="The certified gap of TKL with default settings",
    notes=(
        "Whole fits on all rows with all defaults (tol 1e-3, degree 1, basis 'x', delta .5, "
        "`max_iter` 500) but C. The gap is (upper - lower)/upper: the primal objective of the "
        f"machine at P, and the best kappa(w) - n_P/2 lambda_max(D(w)). {ABSENT}"
    ),
    cases=_cases,
    clock="processor",
)
