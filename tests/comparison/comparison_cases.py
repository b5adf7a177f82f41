"""Synthetic results of comparisons: entries, records of cells, tables of scores."""

from __future__ import annotations

from dataclasses import replace

from pliant.tables.comparison.baselines import BASELINES as METHODS
from pliant.tables.comparison.metrics import METRICS
from pliant.tables.comparison.protocol import Entry, Protocol
from pliant.tables.comparison.result import ComparisonResult
from pliant.tables.comparison.standings import standings

BASELINES = ("dummy", "linear", "svm", "forest")
TITLES = {"svm": "Gaussian SVM", "dank": "DANK", "tkl": "TKL", "forest": "Random forest"}
COSTS = ("seconds", "size_bytes", "at")
"""Keys of a record that differ between runs."""


def entry(name, status="done", reason="", **facts):
    kind = "baseline" if name in BASELINES else "learned kernel"
    return Entry(name, TITLES.get(name, name.title()), kind, "", status, reason, **facts)


def record(method, repeat, fold, scores, *, train=4000, test=1000, **facts):
    """Return the record of a finished cell."""
    return {
        "method": method,
        "repeat": repeat,
        "fold": fold,
        "status": "done",
        "error": None,
        "scores": scores,
        "rows": {"train": train, "test": test},
        "seconds": {"search": 3.0, "fit": 2.0, "predict": 1.0, "total": 6.0},
        "size_bytes": 100,
        "support": None,
        "gap": None,
        **facts,
    }


def records_of(scores, metric="accuracy", folds=5, **facts):
    """Return records for each method's scores by fold; None omits the cell."""
    return [
        record(method, k // folds, k % folds, {metric: score}, **facts)
        for method, values in scores.items()
        for k, score in enumerate(values)
        if score is not None
    ]


def ranked(scores, metric="accuracy", *, folds=5, repeats=2, status=None):
    """Return the standings for each method's scores by fold."""
    entries = [entry(name, (status or {}).get(name, "done")) for name in scores]
    protocol = Protocol(folds=folds, repeats=repeats, metric=metric)
    return standings(entries, records_of(scores, metric, folds), METRICS[metric], protocol)


def result_of(
    scores, name="table", metric="accuracy", *, folds=2, repeats=1, reasons=None, **sample
):
    """Return a result for each method's scores by fold."""
    cut = reasons or {}
    facts = {"rows": 500, "columns": 3, "features": 3, "classes": None, "ordered": False}
    return ComparisonResult(
        sample={"name": name, "task": METRICS[metric].task, **facts, **sample},
        truth={},
        protocol=Protocol(folds=folds, repeats=repeats, metric=metric),
        methods=tuple(
            entry(each, "cut" if each in cut else "done", cut.get(each, "")) for each in scores
        ),
        records=tuple(records_of(scores, metric, folds)),
        seconds=1.0,
        budget=None,
        interrupted=False,
        environment={},
    )


def run_here(patch):
    """Patch comparisons to fit in this process, with few trees and few settings."""
    patch.setattr("pliant.tables.comparison.cells.starts_processes", lambda: False)
    for name in ("forest", "extra-trees"):
        patch.setitem(METHODS, name, replace(METHODS[name], given={"n_estimators": 40}))
    grids = {"linear": {"C": (0.1, 10.0), "alpha": (0.1, 10.0)}, "svm": {"C": (1.0, 10.0)}}
    for name, grid in grids.items():
        patch.setitem(METHODS, name, replace(METHODS[name], grid=grid))


def without_costs(records):
    return [{k: v for k, v in each.items() if k not in COSTS} for each in records]
