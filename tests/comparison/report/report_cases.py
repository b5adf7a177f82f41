"""Synthetic results for the tests of the report."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from pliant.tables.comparison.cells import failed
from pliant.tables.comparison.protocol import Cell, Entry, Protocol
from pliant.tables.comparison.result import ComparisonResult
from tests.comparison.comparison_cases import record

HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "</script><script>alert(2)</script>",
    "safe\u202eevil\u2066\x1b[31m\x00",
    "{{constructor}}${7*7}&lt;b&gt;",
)

LEARNED, BASELINE = "learned kernel", "baseline"

METHODS = (
    Entry("dank", "DANK", LEARNED, "a base kernel times a matrix", "done"),
    Entry("lab-rbf", "LAB-RBF", LEARNED, "a bandwidth for each support point", "done"),
    Entry("tkl", "TKL", LEARNED, "a piecewise kernel", "cut", "3 of 10 folds: the budget ran out"),
    Entry("scg-ldk", "SCG-LDK", LEARNED, "a kernel near a given one", "error", "ValueError: no"),
    Entry("svm", "Gaussian SVM", BASELINE, "", "done"),
    Entry("forest", "Random forest", BASELINE, "", "done"),
    Entry("boosting", "Gradient boosting", BASELINE, "", "done"),
    Entry("linear", "Logistic regression", BASELINE, "", "done"),
    Entry("gp", "Gaussian process", BASELINE, "", "skipped", "takes at most 100 training rows"),
    Entry("dummy", "Dummy", BASELINE, "", "done"),
)

GOODNESS = {"dank": 0.952, "lab-rbf": 0.957, "tkl": 0.949, "svm": 0.948}
GOODNESS |= {"forest": 0.951, "boosting": 0.944, "linear": 0.921, "dummy": 0.58}

SCORES = {
    "classification": lambda s: {
        "accuracy": s,
        "balanced_accuracy": s - 0.008,
        "log_loss": 1.9 * (1 - s),
        "auc": min(1.0, s + 0.02),
    },
    "regression": lambda s: {"r2": s, "rmse": 40 * (1 - s), "mae": 30 * (1 - s)},
}


def scored(method, repeat, fold, task, truth, rng):
    """Return a finished cell with scores and predictions of the method's level."""
    level = GOODNESS[method] + 0.012 * rng.standard_normal()
    rows = range(fold, len(truth), 5)
    if task == "regression":
        errors = 60 * (1 - GOODNESS[method]) * rng.standard_normal(len(rows))
        values = [truth[str(row)] + error for row, error in zip(rows, errors, strict=True)]
    else:
        codes = [sorted(set(truth.values())).index(truth[str(row)]) for row in rows]
        true = np.where(rng.random(len(rows)) < level, codes, rng.integers(0, 3, len(rows)))
        values = (0.1 + 0.7 * np.eye(3)[true]).tolist()
    facts = {
        "chosen": {} if method == "dummy" else {"C": 8.0, "gamma": 2.0 ** -(fold % 2)},
        "kept": {"rows": [*rows], "values": values},
        "support": 80 + 7 * fold if method != "dummy" else None,
        "gap": 10.0 ** -(5 + fold) if method in ("dank", "tkl", "svm") else None,
        "warnings": ["ConvergenceWarning: raise max_iter"] if method == "tkl" else [],
    }
    return record(method, repeat, fold, SCORES[task](level), train=400, test=100, **facts)


def result(
    task="classification",
    *,
    name="iris-like",
    methods=METHODS,
    error="ValueError: no",
    warning=None,
    seed=0,
    **changes,
):
    """Return a comparison of ten methods over ten folds; two methods have no score."""
    rng = np.random.default_rng(seed)
    if task == "regression":
        truth = {str(row): float(50 + 20 * rng.standard_normal()) for row in range(500)}
    else:
        truth = {str(row): ("ham", "eggs", "spam")[row % 3] for row in range(500)}
    records = []
    for entry in methods:
        places = [(repeat, fold) for repeat in range(2) for fold in range(5)]
        if entry.name == "scg-ldk":
            records += [failed(Cell(entry.name, 0, fold), error) for fold in range(5)]
        elif entry.name in GOODNESS:
            records += [
                scored(entry.name, *place, task, truth, rng)
                for place in places[: 7 if entry.status == "cut" else None]
            ]
    if warning is not None:
        records[0]["warnings"] = [warning]
    sample = {
        "name": name,
        "target": "kind",
        "task": task,
        "rows": 500,
        "columns": 13,
        "features": 13,
        "feature_names": [f"feature {j}" for j in range(13)],
        "classes": ["eggs", "ham", "spam"] if task == "classification" else None,
        "counts": [167, 167, 166] if task == "classification" else None,
        "categorical": 2,
        "missing": {"cells": 17, "columns": 2, "largest": 0.03},
        "groups": None,
        "ordered": False,
        "notes": [],
    }
    made = ComparisonResult(
        sample=sample,
        truth=truth,
        protocol=Protocol(),
        methods=tuple(methods),
        records=tuple(records),
        seconds=583.2,
        budget=600.0,
        interrupted=False,
        environment={"pliant": "0.1.0", "python": "3.11.2", "cores": "2"},
        command="pliant compare table.csv --target kind --report report.html",
    )
    return replace(made, **changes)


def hostile(text, task="classification", **changes):
    """Return a result with `text` in all places that may hold text."""
    methods = tuple(
        replace(entry, title=text, reason=entry.reason and text, summary=text) for entry in METHODS
    )
    case = result(task, name=text, methods=methods, error=text, warning=text)
    sample = {**case.sample, "target": text, "feature_names": [text] * 13, "notes": [text]}
    if task == "classification":
        sample["classes"] = sorted(["eggs", "ham", text])
        changes["truth"] = {row: text if y == "spam" else y for row, y in case.truth.items()}
    chosen = [{**each, "chosen": {text: text}} for each in case.records]
    changes = {"environment": {text: text}, "command": text, "records": tuple(chosen), **changes}
    return replace(case, sample=sample, **changes)
