"""Results of comparisons made by hand: entries, records of cells, tables of scores."""

from __future__ import annotations

from pliant.comparison.metrics import METRICS
from pliant.comparison.protocol import Protocol
from pliant.comparison.record import Entry
from pliant.comparison.result import ComparisonResult
from pliant.comparison.standings import standings

BASELINES = ("dummy", "linear", "svm", "forest")
TITLES = {"svm": "Gaussian SVM", "dank": "DANK", "tkl": "TKL", "forest": "Random forest"}


def entry(name, status="done", reason=""):
    kind = "baseline" if name in BASELINES else "learned kernel"
    return Entry(name, TITLES.get(name, name.title()), kind, "", status, reason)


def record(method, repeat, fold, scores, *, train=80, test=20, **facts):
    """A finished cell."""
    return {
        "method": method,
        "repeat": repeat,
        "fold": fold,
        "status": "done",
        "error": None,
        "scores": scores,
        "rows": {"train": train, "test": test},
        "seconds": {"search": 3.0, "fit": 2.0, "predict": 1.0, "total": 6.0},
        "memory_mb": None,
        "size_bytes": 100,
        "support": None,
        "gap": None,
        **facts,
    }


def staged(method, stage, scores, metric="accuracy", folds=5, **facts):
    """Finished cells of one method at one stage; None is a cell that is not there."""
    return records_of({method: scores}, metric, folds, stage=stage, **facts)


def records_of(scores, metric="accuracy", folds=5, **facts):
    """Finished cells of methods, their scores fold by fold; None is a cell that is not there."""
    return [
        record(method, k // folds, k % folds, {metric: score}, **facts)
        for method, values in scores.items()
        for k, score in enumerate(values)
        if score is not None
    ]


def ranked(scores, metric="accuracy", *, folds=5, repeats=2, status=None, **options):
    """Where methods stand whose scores come fold by fold."""
    entries = [entry(name, (status or {}).get(name, "done")) for name in scores]
    protocol = Protocol(folds=folds, repeats=repeats, metric=metric)
    records = records_of(scores, metric, folds)
    return standings(entries, records, METRICS[metric], protocol, **options)


def result_of(scores, name="table", metric="accuracy", *, folds=2, repeats=1, reasons=None):
    """A result of methods whose scores come fold by fold."""
    cut = reasons or {}
    return ComparisonResult(
        sample={"name": name, "task": METRICS[metric].task},
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
