"""The first minutes of ``pliant compare``: when it answers, and on how many folds it ranks."""

from __future__ import annotations

from statistics import median
from typing import Any

from sklearn.datasets import make_friedman1

from benchmarks.datasets import load_local
from benchmarks.harness.spec import Params, Prepared
from pliant.comparison import ComparisonResult, Sample
from pliant.comparison.comparing import compare_sample
from pliant.comparison.protocol import SEARCHED
from pliant.comparison.record import DUMMY
from pliant.comparison.workers import close_all
from pliant.comparison.race import Moment

GENERATED = "generated"

METHODS = {"all": None, "quick": ["dummy", "linear", "svm"]}
"""The methods that a case names."""


class Clock:
    """Notes when every method has its first answer."""

    def __init__(self) -> None:
        self.answered: float | None = None

    def __call__(self, moment: Moment) -> None:
        """Take note of a moment."""
        if self.answered is None and moment.answered:
            self.answered = moment.seconds


def first_minutes(params: Params) -> Prepared:
    """Prepare a comparison of all methods on a table, in processes that are started for it."""
    sample, clock = _sample(params), Clock()

    def call() -> ComparisonResult:
        close_all()
        return compare_sample(
            sample,
            METHODS[params["methods"]],
            budget=params["budget"],
            n_jobs=params["jobs"],
            watch=clock,
        )

    def describe(result: ComparisonResult) -> dict[str, Any]:
        return {"first answers": clock.answered, **described(result)}

    return call, describe


def described(result: ComparisonResult) -> dict[str, Any]:
    """Return how many methods are ranked on how many folds, and what is recommended."""
    standings = result.standings()
    ranked = [each for each in standings if each.rank is not None]
    tried = [entry.name for entry in result.methods if entry.status != "skipped"]
    advice = result.recommendation()
    unranked = [each.method.name for each in standings if each.rank is None]
    below = [name for name in unranked if name in tried]
    return {
        "methods": len(tried),
        "ranked": len(ranked),
        "common folds": ranked[0].folds if ranked else 0,
        "searched": sum(each.stage == SEARCHED for each in ranked),
        "rows": result.records[0]["rows"]["train"] if result.records else 0,
        "cells": len(result.records),
        "dummy": _dummy(result),
        "use": advice.standing.method.name if advice else "none",
        "mean": advice.standing.mean if advice else None,
        "below": ", ".join(below) or "none",
    }


def _dummy(result: ComparisonResult) -> float | None:
    """Return the median seconds of a cell of the dummy, which has nothing to compute."""
    costs = [r["seconds"]["total"] for r in result.records if r["method"] == DUMMY]
    return median(costs) if costs else None


def _sample(params: Params) -> Sample:
    if params["problem"] == GENERATED:
        X, y = make_friedman1(params["rows"], 20, noise=1.0, random_state=params["seed"])
        return Sample.of(X, y, name=GENERATED)
    data = load_local(params["problem"])
    task = "regression" if data.task == "regression" else "classification"
    return Sample.of(data.X, data.y, task=task, name=data.name)
