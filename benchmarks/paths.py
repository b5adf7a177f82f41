"""Warm-started paths beside cold ones: C along one Gram matrix, and the width of the kernel."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from benchmarks.harness.spec import Benchmark, Case, Contestant
from benchmarks.problems import SPEED, gaussian_gram, two_classes
from pliant.core.typing import Array
from pliant.methods.svm.dual import MarginDual, better_start, svc_dual
from pliant.methods.svm.rows import DenseRows
from pliant.methods.svm.smo import solve

Params = Mapping[str, Any]
Prepared = tuple[Callable[[], Any], Callable[[Any], dict[str, Any]]]

STEPS = 11

PROBLEMS = {
    SPEED: (2000, 3.0),
    "german_numeric": (1000, 0.03),
    "pima_diabetes": (768, 0.3),
    "spambase": (3000, 1.0),
}
"""Rows and first gamma; with C = 8 those of the sets are near the best in cross-validation."""


def c_path(params: Params) -> Prepared:
    """Prepare the path C, 1.2 C, ... of the plain SVM on one Gram matrix."""
    X, y = two_classes(params)
    rows = DenseRows(gaussian_gram(X, params["gamma"]))
    factor = params["factor"]
    duals = [svc_dual(rows, y, params["C"] * factor**k) for k in range(STEPS)]
    return lambda: _follow(duals, params, factor), _describe


def gamma_path(params: Params) -> Prepared:
    """Prepare the path gamma, 1.1 gamma, ... of the plain SVM, with all Gram matrices given."""
    X, y = two_classes(params)
    gammas = [params["gamma"] * params["factor"] ** k for k in range(STEPS)]
    duals = [svc_dual(DenseRows(gaussian_gram(X, g)), y, params["C"]) for g in gammas]
    return lambda: _follow(duals, params, 1.0), _describe


def _follow(duals: Iterable[MarginDual], params: Params, factor: float) -> list[tuple[float, int]]:
    """Solve one problem after the other; return their objectives and steps."""
    beta: Array | None = None
    seen = []
    for dual in duals:
        start = None
        if params["warm"] and beta is not None:
            start = better_start(dual, beta, factor)
        found = solve(dual, start, violation=params["violation"])
        beta = found.x
        seen.append((found.value, found.n_iter))
    return seen


def _describe(seen: list[tuple[float, int]]) -> dict[str, Any]:
    return {"sum of objectives": sum(v for v, _ in seen), "steps": sum(n for _, n in seen)}


def _cases(has_data: bool) -> list[Case]:
    fixed = {"seed": 0, "C": 8.0, "violation": 1e-3}
    return [
        Case(name, _contestants(), {**fixed, "problem": name, "rows": rows, "gamma": gamma})
        for name, (rows, gamma) in PROBLEMS.items()
        if has_data or name == SPEED
    ]


def _contestants() -> list[Contestant]:
    return [
        *_cold_and_warm("C path", f"{__name__}:c_path", factor=1.2, goal=1.5),
        *_cold_and_warm("gamma path", f"{__name__}:gamma_path", factor=1.1, goal=1.8),
    ]


def _cold_and_warm(label: str, function: str, factor: float, goal: float) -> list[Contestant]:
    cold, warm = f"{label}, cold", f"{label}, warm"
    return [
        Contestant(cold, function, {"factor": factor, "warm": False}),
        Contestant(warm, function, {"factor": factor, "warm": True}, baseline=cold, goal=goal),
    ]


BENCHMARK = Benchmark(
    name="paths",
    title="Warm-started paths",
    notes=(
        f"Total over {STEPS} problems, Gram matrices given, solved to a violation of 1e-3: C "
        "multiplied by 1.2, or gamma by 1.1, from one to the next, beginning where "
        "cross-validation would look (C = 8; gamma = 3, .03, .3, 1 in the order of the table); "
        "each solved from zero (cold), or started from the one before (warm)."
    ),
    cases=_cases,
    quantity="speed-up",
    goals_over="median of cases",
)
