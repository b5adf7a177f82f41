"""The search of a comparison, with kernels shared between candidates and with each by itself."""

from __future__ import annotations

from contextlib import nullcontext
from importlib import import_module
from typing import Any
from unittest.mock import patch

import numpy as np

from benchmarks.harness.spec import Params, Prepared
from benchmarks.problems import two_classes
from benchmarks.supervised_sets import generated
from pliant.comparison import Protocol, Sample
from pliant.comparison.run.search import SearchResult
from pliant.comparison.run.sharing import shared
from pliant.registry import METHODS

GENERATED = "generated"


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
