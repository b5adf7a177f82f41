"""The search of a comparison, with kernels shared between candidates and with each by itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import nullcontext
from importlib import import_module
from typing import Any
from unittest.mock import patch

import numpy as np

from benchmarks.harness.spec import Benchmark, Case, Contestant
from benchmarks.problems import two_classes
from benchmarks.supervised_sets import generated
from pliant.comparison import Protocol, Sample
from pliant.comparison.run.search import SearchResult
from pliant.comparison.run.sharing import shared
from pliant.registry import METHODS

Params = Mapping[str, Any]
Prepared = tuple[Callable[[], Any], Callable[[Any], dict[str, Any]]]

LEARNERS = ("ldk", "osk", "scg-osk", "scg-ldk")
SETS = {"sonar": 166, "breast_cancer_wdbc": 455, "german_numeric": 800}
"""Rows: those that an outer fold of five learns from."""

GENERATED = "generated"

GOALS = {"ldk": 1.3, "osk": 1.3, "scg-osk": 1.3, "scg-ldk": 1.0}


def whole_search(params: Params) -> Prepared:
    """Prepare the search for the settings of a method, as a cell of a comparison makes it."""
    module = import_module("pliant.comparison.run.search")
    sample, method = _sample(params), METHODS[params["method"]]
    protocol = Protocol(inner_folds=params["inner_folds"])
    rows, lend = np.arange(len(sample.y)), shared if params["shared"] else nullcontext

    def call() -> SearchResult:
        with patch.object(module, "shared", lend):
            found: SearchResult = module.search(method, sample, rows, protocol, params["seed"])
        return found

    return call, _describe


def _describe(found: SearchResult) -> dict[str, Any]:
    chosen = ", ".join(f"{k.rpartition('__')[2]}={v:.3g}" for k, v in found.chosen.items())
    return {"candidates": found.candidates, "score": found.score, "chosen": chosen}


def _sample(params: Params) -> Sample:
    if params["problem"] == GENERATED:
        points = generated(params["rows"], params["seed"], classes=2)
        return Sample.of(points.X, points.y, task="classification")
    return Sample.of(*two_classes(params), task="classification")


def _cases(has_data: bool) -> list[Case]:
    sets = SETS if has_data else {GENERATED: 300}
    return [_case(method, name, rows) for method in LEARNERS for name, rows in sets.items()]


def _case(method: str, problem: str, rows: int) -> Case:
    params = {"method": method, "problem": problem, "rows": rows, "seed": 0, "inner_folds": 5}
    alone, together = "each by itself", "shared"
    contestants = (
        Contestant(alone, f"{__name__}:whole_search", {"shared": False}),
        Contestant(
            together,
            f"{__name__}:whole_search",
            {"shared": True},
            baseline=alone,
            goal=GOALS[method],
        ),
    )
    warm_up = {**params, "rows": 60, "inner_folds": 2}
    return Case(f"{method}, {problem}, {rows} rows", contestants, params, warm_up)


BENCHMARK = Benchmark(
    name="search-sharing",
    title="The search of a comparison, with and without shared kernels",
    notes=(
        "The whole search for the settings of one method on the rows of one outer fold, as "
        "`pliant compare` makes it: at most 32 candidates on five inner folds, in rounds of more "
        "and more rows from 450 rows on. Candidates with the same learner share the kernel "
        "that it learns (`pliant.comparison.run.sharing`), or learn it each by itself. Both "
        "find the same, with the same score. The machines and their predictions remain."
    ),
    cases=_cases,
    quantity="speed-up",
    clock="processor",
)
