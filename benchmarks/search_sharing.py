"""The search of a comparison, with kernels shared between candidates and with each by itself."""

from __future__ import annotations

from contextlib import nullcontext
from importlib import import_module
from typing import Any
from unittest.mock import patch

import numpy as np

from benchmarks.harness.spec import Case, Contestant, Params, Prepared
from benchmarks.problems import two_classes
from benchmarks.supervised_sets import generated
from pliant.comparison import Protocol, Sample
from pliant.comparison.run.search import SearchResult
from pliant.comparison.run.sharing import shared
from pliant.registry import METHODS

SETS = {"sonar": 166, "breast_cancer_wdbc": 455, "german_numeric": 800}
"""Rows: those that an outer fold of five learns from."""

GENERATED = "generated"

GOALS = {"ldk": 1.3, "osk": 1.3, "scg-osk": 1.3, "scg-ldk": 1.0}
"""Speed-ups that were asked for, by method."""


def whole_search(params: Params) -> Prepared:
    """Prepare the search for the settings of a method, as a cell of a comparison makes it."""
    module = import_module("pliant.comparison.run.search")
    sample, method = _sample(params), METHODS[params["method"]]
    protocol = Protocol(inner_folds=params["inner_folds"])
    rows, lend = np.arange(len(sample.y)), shared if params["shared"] else nullcontext

    def call() -> SearchResult:
        with patch.object(module, "shared", lend):
            search_result: SearchResult = module.search(
                method, sample, rows, protocol, params["seed"]
            )
        return search_result

    return call, _describe


def _describe(search_result: SearchResult) -> dict[str, Any]:
    chosen = ", ".join(f"{k.rpartition('__')[2]}={v:.3g}" for k, v in search_result.chosen.items())
    return {"candidates": search_result.candidates, "score": search_result.score, "chosen": chosen}


def _sample(params: Params) -> Sample:
    if params["problem"] == GENERATED:
        points = generated(params["rows"], params["seed"], classes=2)
        return Sample.of(points.X, points.y, task="classification")
    return Sample.of(*two_classes(params), task="classification")


def cases(has_data: bool) -> list[Case]:
    """Return each method on each set, or on a generated one."""
    sets = SETS if has_data else {GENERATED: 300}
    return [_case(method, name, rows) for method in GOALS for name, rows in sets.items()]


def _case(method: str, problem: str, rows: int) -> Case:
    alone = Contestant("each by itself", whole_search, {"shared": False})
    together = Contestant("shared", whole_search, {"shared": True}, alone.name, GOALS[method])
    return Case(
        f"{method}, {problem}, {rows} rows",
        (alone, together),
        {"method": method, "problem": problem, "rows": rows, "seed": 0, "inner_folds": 5},
        warm_up={"rows": 60, "inner_folds": 2},
    )
