"""`compare`: nested cross-validation of methods on a table, under one protocol for all."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

import numpy as np
from joblib import cpu_count

from pliant._version import __version__
from pliant.comparison.best import Source
from pliant.comparison.frames import sample_of
from pliant.comparison.metrics import metrics_of
from pliant.comparison.protocol import DEFAULT, SEARCHED, Cell, Protocol
from pliant.comparison.record import BASELINE, LEARNED, Entry, Record, stage_of
from pliant.comparison.result import ComparisonResult
from pliant.comparison.run.baselines import BASELINES, available
from pliant.comparison.run.folds import check_folds, outer_split, settled
from pliant.comparison.run.given import is_given, methods_of
from pliant.comparison.run.journal import PACKAGES, Journal, key_of
from pliant.comparison.run.running import Progress, Run, Watch
from pliant.comparison.run.schedule import STAGES
from pliant.comparison.sample import Sample
from pliant.core.validation import check_integer, check_real
from pliant.registry import Method
from pliant.tables import TableSchema

BUDGET = 300.0
"""Seconds of a comparison by default."""


def compare(
    X: Any,
    y: Any,
    *,
    methods: Sequence[Any] | None = None,
    task: str | None = None,
    groups: Any = None,
    time: Any = None,
    budget: float | None = BUDGET,
    folds: int = 5,
    repeats: int = 2,
    metric: str | None = None,
    random_state: int = 0,
    n_jobs: int | None = None,
    cache: str | os.PathLike[str] | None = None,
    resume: bool = False,
    feature_names: Sequence[str] | None = None,
    progress: Progress | None = None,
) -> ComparisonResult:
    """Compare methods by nested cross-validation: all on the same outer folds.

    In each fold, a method is fitted on the training rows and tested on the other rows. Under a
    budget, all methods are first compared with default settings; then a search on inner folds of
    the training rows chooses settings, where these can still change the order. Imputation,
    encoding and scaling are learned from the training rows of each fold.

    Parameters
    ----------
    X : array-like or data frame of shape (n_samples, n_features)
        Numbers, nan where one is missing; or a data frame (pandas, or any with ``to_pandas``) with
        numbers, booleans and text, read as the command line reads a file.
    y : array-like of shape (n_samples,)
        Labels, or numbers to predict.
    methods : sequence of str, estimator or (str, estimator), optional
        Names of `pliant.registry.METHODS` and `pliant.comparison.BASELINES`, and estimators with
        scikit-learn's interface, with a name or without; by default all names that are installed
        and do the task. An estimator is fitted as it is in each fold, without a search, unless it
        is one (``GridSearchCV``). It gets an array in which missing values are filled in and text
        is encoded; features and target are not scaled, so put a scaler into its pipeline if it
        needs one.
    task : {"classification", "regression"}, optional
        Guessed from y: classification for text, and for few integers that recur.
    groups : array-like of shape (n_samples,), optional
        Samples of one group stay together in every fold.
    time : array-like of shape (n_samples,), optional
        Test on samples only that are later than the training samples.
    budget : float or None, default=300.0
        Seconds for everything. It decides which cells are run, and no score of a cell. None: the
        whole protocol, with a search of settings in every fold, as long as it takes.
    folds, repeats : int, default=5 and 2
        Outer folds, and how often they are drawn.
    metric : str, optional
        The metric of searches and ranks, by its name here or in scikit-learn: "accuracy"
        (default), "balanced_accuracy", "auc" or "roc_auc" (two classes), "log_loss" or
        "neg_log_loss"; "r2" (default), "rmse" or "neg_root_mean_squared_error", "mae" or
        "neg_mean_absolute_error". Methods without probabilities are searched by accuracy where
        the metric is the log loss; theirs are calibrated afterwards.
    random_state : int, default=0
        Decides all draws.
    n_jobs : int, optional
        Cells at a time; by default, and for -1, one for each core. They run in processes with one
        thread each, which serve many cells.
    cache : path-like, optional
        A file that takes each finished cell; use another one for each comparison at a time.
    resume : bool, default=False
        Whether cells that `cache` holds are taken from there.
    feature_names : sequence of n_features str, optional
    progress : callable, optional
        Called after each cell with its record, the number of cells done, and how many there will
        be by what is known so far.

    Returns
    -------
    ComparisonResult
        With Ctrl-C, of what was finished until then.

    Raises
    ------
    ValueError
        For a value that cannot be used, or an estimator that cannot be cloned and pickled; the
        message quotes it.
    TypeError
        If an item of `methods` is neither a name nor an estimator.
    TableError
        If a column cannot be used, or `cache` belongs to another comparison, is no journal, or
        cannot be written.

    Notes
    -----
    Time grows with methods x folds x (inner fits + 1); see the documentation for what one fit of
    each method costs.

    References
    ----------
    C. Nadeau and Y. Bengio, Inference for the generalization error, Machine Learning 52 (2003).

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from pliant import compare
    >>> X, y = load_iris(return_X_y=True)
    >>> result = compare(X, y, methods=["dummy", "linear"], folds=3, repeats=1, n_jobs=1)
    >>> [standing.method.name for standing in result.standings()]
    ['linear', 'dummy']
    >>> model = result.best_estimator_  # linear, fitted on all rows
    """
    sample, schema = sample_of(
        X, y, task=task, feature_names=feature_names, groups=groups, time=time
    )
    protocol = Protocol(folds=folds, repeats=repeats, metric=metric, seed=random_state)
    return compare_sample(
        sample,
        methods,
        protocol,
        budget=budget,
        n_jobs=n_jobs,
        cache=cache,
        resume=resume,
        progress=progress,
        schema=schema,
    )


def compare_sample(
    sample: Sample,
    methods: Sequence[Any] | None = None,
    protocol: Protocol | None = None,
    *,
    budget: float | None = BUDGET,
    n_jobs: int | None = None,
    cache: str | os.PathLike[str] | None = None,
    resume: bool = False,
    progress: Progress | None = None,
    watch: Watch | None = None,
    command: str | None = None,
    schema: TableSchema | None = None,
) -> ComparisonResult:
    """Compare methods on a table; see `compare`.

    Parameters
    ----------
    sample : Sample
    methods, budget, n_jobs, cache, resume, progress
        As in `compare`.
    protocol : Protocol, optional
    watch : callable, optional
        See `pliant.comparison.run.running.Watch`.
    command : str, optional
        The command that repeats it, for the report.
    schema : TableSchema, optional
        That of the data frame of the sample: estimators of the result then take data frames.
    """
    start = time.perf_counter()
    protocol = settled(protocol or Protocol(), sample)
    if budget is not None:
        budget = check_real("budget", budget, above=0)
    if n_jobs is not None and n_jobs != -1:
        check_integer("n_jobs", n_jobs, least=1)
    check_metric(protocol, sample)
    check_folds(sample, protocol)
    chosen = methods_of(methods, sample.task)
    least = min(len(outer_split(sample, protocol, *place)[0]) for place in protocol.places())
    refused = {method.name: _refusal(method, sample, least) for method in chosen}
    key = key_of(sample, protocol)
    run = Run(
        sample,
        protocol,
        [method for method in chosen if not refused[method.name]],
        Journal(cache, key, resume=resume),
        budget=None if budget is None else budget - (time.perf_counter() - start),
        n_jobs=n_jobs,
        progress=progress,
        watch=watch,
    )
    run()
    in_order = [
        Cell(method.name, *place, stage)
        for method in chosen
        for stage in STAGES
        for place in protocol.places()
    ]
    records = [run.records[cell] for cell in in_order if cell in run.records]
    return ComparisonResult(
        sample=_facts_of(sample),
        truth=_truth_of(sample, records),
        protocol=protocol,
        methods=tuple(
            _entry_of(method, refused[method.name], run, records, protocol) for method in chosen
        ),
        records=tuple(records),
        seconds=time.perf_counter() - start,
        budget=budget,
        interrupted=run.interrupted,
        environment=_environment_of(key),
        command=command,
        source=Source(sample, tuple(chosen), schema),
    )


def check_metric(protocol: Protocol, sample: Sample) -> None:
    """Raise ValueError unless a search can go by the metric."""
    known = [metric.name for metric in metrics_of(sample.task)]
    if len(sample.classes or ()) > 2:
        known.remove("auc")
    if protocol.metric is not None and protocol.metric not in known:
        raise ValueError(
            f"expected a metric out of {', '.join(known)} to search by, got {protocol.metric!r}"
        )


def _refusal(method: Method, sample: Sample, n_train: int) -> str:
    """Return why a method is not tried; "" if it is."""
    if sample.task not in method.tasks:
        return f"does {' and '.join(method.tasks)} only"
    if n_train > method.max_rows:
        return f"takes at most {method.max_rows} training rows, there are {n_train}"
    if not available(method):
        return f"is not installed: pip install {method.paper}"
    return ""


def _entry_of(
    method: Method, refused: str, run: Run, records: Sequence[Record], protocol: Protocol
) -> Entry:
    """Return the entry of a method: refused for a reason, or run."""
    kind = BASELINE if method.name in BASELINES or is_given(method) else LEARNED
    mine = [record for record in records if record["method"] == method.name]
    status, reason = ("skipped", refused) if refused else _status_of(method, run, mine, protocol)
    return Entry(method.name, method.title, kind, method.summary, status, reason)


def _status_of(
    method: Method, run: Run, records: Sequence[Record], protocol: Protocol
) -> tuple[str, str]:
    """Return the status of a method that was run, and which folds it lacks."""
    by_stage = {stage: [r for r in records if stage_of(r) == stage] for stage in STAGES}
    failed = [record["error"] or "" for record in records if record["status"] == "error"]
    if failed and len(failed) == len(records):
        return "error", failed[0]
    wanted = len(protocol.places())
    most = max(len(by_stage[DEFAULT]), len(by_stage[SEARCHED]))
    reasons = []
    if most < wanted:
        reasons.append(f"{most} of {wanted} folds: {run.reason(method.name)}")
    elif len(by_stage[SEARCHED]) < wanted and (why := run.stopped(method.name, SEARCHED)):
        reasons.append(f"default settings: {why}")
    if failed:
        reasons.append(f"{len(failed)} failed: {failed[0]}")
    return "cut" if most < wanted else "done", "; ".join(reasons)


def _facts_of(sample: Sample) -> dict[str, Any]:
    """Return the facts of a table."""
    return {
        "name": sample.name,
        "target": sample.target,
        "task": sample.task,
        "rows": len(sample.y),
        "features": sample.X.shape[1],
        "feature_names": list(sample.feature_names),
        "classes": sample.classes,
        "categorical": len(sample.categories),
        "missing": int(np.isnan(sample.X).sum()),
        "groups": None if sample.groups is None else len(np.unique(sample.groups)),
        "ordered": sample.ordered,
    }


def _truth_of(sample: Sample, records: Sequence[Record]) -> dict[str, Any]:
    """Return the target of the rows that predictions name."""
    kept = [each["rows"] for record in records if (each := record.get("predictions"))]
    return {str(row): sample.y[row].item() for row in sorted({r for rows in kept for r in rows})}


def _environment_of(key: str) -> dict[str, str]:
    """Return versions, cores, and the key of a comparison."""
    return {
        "pliant": __version__,
        "python": platform.python_version(),
        **{package: version(package) for package in (*PACKAGES, "joblib")},
        "cores": str(cpu_count()),
        "system": f"{platform.system()} {platform.machine()}",
        "key": key,
    }
