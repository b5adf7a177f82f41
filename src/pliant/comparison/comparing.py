"""`compare` and `fit`: races of methods on a table under one protocol, which end in a blend."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable, Sequence
from importlib.metadata import version
from typing import Any, Literal

import numpy as np
from joblib import cpu_count

from pliant._version import __version__
from pliant.comparison.contenders import BASELINES, NOT_SAVED, available, is_given, methods_of
from pliant.comparison.folds import check_folds, outer_split, settled, without_rare_classes
from pliant.comparison.journal import PACKAGES, Journal, key_of
from pliant.comparison.outcome import Source, from_frames
from pliant.comparison.protocol import Entry, Protocol, Record, Status
from pliant.comparison.race import Progress, ProgressLines, Race
from pliant.comparison.reading import sample_of
from pliant.comparison.result import ComparisonResult
from pliant.comparison.sample import Sample
from pliant.comparison.workers import fit_apart
from pliant.core.validation import check_integer, check_real
from pliant.persistence import holds
from pliant.registry import Method

BUDGET = 300.0
"""Seconds of a comparison by default."""


def compare(
    X: Any,
    y: Any,
    *,
    methods: Sequence[Any] | Literal["all"] | None = None,
    task: str | None = None,
    groups: Any = None,
    time: Any = None,
    budget: float | None = BUDGET,
    folds: int = 5,
    repeats: int = 2,
    metric: str | Callable[..., float] | None = None,
    random_state: int = 0,
    n_jobs: int | None = None,
    executor: Any = None,
    cache: str | os.PathLike[str] | None = None,
    resume: bool = False,
    feature_names: Sequence[str] | None = None,
    progress: Progress | bool = False,
) -> ComparisonResult:
    """Race methods on a table by cross-validation, and blend the best of them.

    In each fold, a method is fitted on the training rows and predicts the other rows. From these
    predictions come the scores of all methods, the weights of a blend of them, and the score that
    the blend is expected to have on new rows. Imputation, encoding, scaling and the search for
    settings are learned from the training rows of each fold.

    Parameters
    ----------
    X : array-like or data frame of shape (n_samples, n_features)
        Numbers, nan where one is missing; or a data frame (pandas, or any with ``to_pandas``) with
        numbers, booleans and text, read as the command line reads a file.
    y : array-like of shape (n_samples,)
        Labels, or numbers to predict.
    methods : sequence of str, estimator or (str, estimator), or "all", optional
        Names of `pliant.registry.METHODS` and `pliant.comparison.BASELINES`, and estimators with
        scikit-learn's interface, with a name or without. By default LAB-RBF, a Gaussian SVM with
        searched settings, a linear model, histogram gradient boosting, a random forest (classes) or
        extremely randomised trees and a Gaussian process or kernel ridge regression (numbers), and
        the boosting packages that are installed. "all" adds every method of pliant, its settings
        searched in each fold. An estimator is fitted as it is in each fold. It gets an array in
        which missing values are filled in and text is encoded; features and target are not scaled,
        so put a scaler into its pipeline if it needs one.
    task : {"classification", "regression"}, optional
        Guessed from y: classification for text, and for few integers that recur.
    groups : array-like of shape (n_samples,), optional
        Samples of one group stay together in every fold.
    time : array-like of shape (n_samples,), optional
        Test on samples only that are later than the training samples.
    budget : float or None, default=300.0
        Seconds for everything, the fit of the model to use included. It decides which cells are
        run, and no score of a cell. Without `methods`, those leave after the first fold that cannot
        get weight; with any, those that are too slow. None: every fold of every method.
    folds, repeats : int, default=5 and 2
        Folds, and the number of draws of them; further draws begin as long as the budget lasts.
    metric : str or callable, optional
        The metric of ranks and searches: "r2" (default), "rmse", "mae", "accuracy" (default),
        "balanced_accuracy", "auc", "log_loss" (default where a class has less than a tenth of the
        rows), the name of a scorer of scikit-learn, or a scorer, which gets predictions and no
        features. Weights minimise the squared error or the log loss whatever the metric.
    random_state : int, default=0
        Decides all draws.
    n_jobs : int, optional
        Cells at a time; by default, and for -1, one for each core. They run in processes with one
        thread each, which serve many cells.
    executor : object with ``submit``, optional
        Runs the cells: an executor of ``concurrent.futures``, a Dask client. `n_jobs` is then how
        many it has at a time. A cell that it has begun is not stopped when the budget ends.
    cache : path-like, optional
        A file that takes each finished cell; use another one for each comparison at a time.
    resume : bool, default=False
        Take finished cells from `cache`.
    feature_names : sequence of n_features str, optional
    progress : bool or callable, default=False
        True prints a line after each fold to stderr. A function is called with a
        `pliant.comparison.race.RaceState` when a cell begins or ends.

    Returns
    -------
    ComparisonResult
        With Ctrl-C, of the cells that were finished by then.

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

    References
    ----------
    C. Nadeau and Y. Bengio, Inference for the generalization error, Machine Learning 52 (2003).
    L. Breiman, Stacked regressions, Machine Learning 24 (1996).

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from pliant import compare
    >>> X, y = load_iris(return_X_y=True)
    >>> result = compare(X, y, methods=["dummy", "linear"], folds=3, repeats=1, n_jobs=1)
    >>> [standing.method.name for standing in result.standings()]
    ['linear', 'dummy']
    >>> model = result.best_estimator_  # fitted on all rows
    """
    return compare_sample(
        sample_of(X, y, task=task, feature_names=feature_names, groups=groups, time=time),
        methods,
        Protocol(folds=folds, repeats=repeats, metric=metric, seed=random_state),
        budget=budget,
        n_jobs=n_jobs,
        executor=executor,
        cache=cache,
        resume=resume,
        progress=progress,
    )


def fit(
    X: Any,
    y: Any,
    *,
    budget: float | None = None,
    task: str | None = None,
    groups: Any = None,
    metric: str | Callable[..., float] | None = None,
    random_state: int = 0,
    n_jobs: int | None = None,
) -> Any:
    """Fit LAB-RBF to a table, or with a budget the blend of a race.

    Parameters
    ----------
    X, y, task, groups, metric, random_state, n_jobs
        As in `compare`; groups and metric only with a budget.
    budget : float, optional
        Seconds for a race and the fit of its blend. None: LAB-RBF alone, with its defaults.

    Returns
    -------
    estimator
        Fitted. It takes arrays, or data frames with the columns of X, whichever X was.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> rng = np.random.default_rng(0)
    >>> X = pd.DataFrame({"size": rng.normal(size=80), "colour": rng.choice(["red", "blue"], 80)})
    >>> y = X["size"] ** 2 + (X["colour"] == "red")
    >>> fit(X, y).predict_interval(X).shape
    (80, 2)
    """
    if budget is not None:
        result = compare(
            X,
            y,
            task=task,
            groups=groups,
            budget=budget,
            metric=metric,
            random_state=random_state,
            n_jobs=n_jobs,
        )
        return result.fit_best()
    if groups is not None or metric is not None:
        raise ValueError("expected groups and metric with a budget only: LAB-RBF is fitted alone")
    sample = sample_of(X, y, task=task)
    (method,) = methods_of(["lab-rbf"], sample.task, len(sample.y))
    rows, protocol = np.arange(len(sample.y)), Protocol(seed=random_state)
    (fitted,) = fit_apart(sample, protocol, [method], rows)
    return fitted.own if sample.schema is None else from_frames(fitted.own, sample.schema)


def compare_sample(
    sample: Sample,
    methods: Sequence[Any] | Literal["all"] | None = None,
    protocol: Protocol | None = None,
    *,
    budget: float | None = BUDGET,
    n_jobs: int | None = None,
    executor: Any = None,
    cache: str | os.PathLike[str] | None = None,
    resume: bool = False,
    progress: Progress | bool | None = False,
    command: str | None = None,
) -> ComparisonResult:
    """Race methods on a sample; see `compare`.

    Parameters
    ----------
    sample : Sample
        With a schema, estimators of the result take data frames.
    methods, budget, n_jobs, executor, cache, resume, progress
        As in `compare`.
    protocol : Protocol, optional
    command : str, optional
        The command that repeats it, for the report.
    """
    start = time.perf_counter()
    if budget is not None:
        budget = check_real("budget", budget, above=0)
    if n_jobs is not None and n_jobs != -1:
        check_integer("n_jobs", n_jobs, least=1)
    protocol = protocol or Protocol()
    sample = without_rare_classes(sample, protocol.folds)
    protocol = settled(protocol, sample)
    metric = protocol.metric_for(sample.task)
    check_folds(sample, protocol)
    n_train = min(len(outer_split(sample, protocol, *place)[0]) for place in protocol.places())
    chosen = methods_of(methods, sample.task, n_train)
    refused = {method.name: _refusal(method, sample, n_train) for method in chosen}
    key = key_of(sample, protocol)
    race = Race(
        sample,
        protocol,
        [method for method in chosen if not refused[method.name]],
        Journal(cache, key, resume=resume),
        budget=None if budget is None else budget - (time.perf_counter() - start),
        selective=methods is None and budget is not None,
        final_fits=1.25,  # a fit on all rows takes about as long as 1.25 fits of a fold
        n_jobs=n_jobs,
        executor=executor,
        progress=ProgressLines(metric, protocol) if progress is True else progress or None,
    )
    race.run()
    order = [method.name for method in chosen]
    cells = sorted(race.records, key=lambda cell: (order.index(cell.method), cell))
    records = tuple(race.records[cell] for cell in cells)
    entries = [_entry_of(method, refused[method.name], race, sample.task) for method in chosen]
    return ComparisonResult(
        sample=_facts_of(sample),
        truth=_truth_of(sample, records),
        protocol=protocol,
        methods=tuple(entries),
        records=records,
        seconds=time.perf_counter() - start,
        budget=budget,
        interrupted=race.interrupted,
        environment=_environment_of(key),
        command=command,
        source=Source(sample, tuple(chosen), n_jobs),
    )


def _refusal(method: Method, sample: Sample, n_train: int) -> str:
    """Return the reason to leave a method out; "" if it is tried."""
    if sample.task not in method.tasks:
        return f"does {' and '.join(method.tasks)} only"
    if n_train > method.max_rows:
        return f"takes at most {method.max_rows} training rows, there are {n_train}"
    if not available(method):
        return f"is not installed: pip install {method.paper}"
    return ""


def _entry_of(method: Method, refused: str, race: Race, task: str) -> Entry:
    """Return the entry of a method: refused for a reason, or run."""
    baseline = method.name in BASELINES or is_given(method)
    blends = method.name not in NOT_SAVED and not refused
    if blends and is_given(method):  # a blend is a model that a file can hold
        blends = holds(method.make_estimator(task, seed=0, n_rows=0))
    status, reason = _status_of(method.name, race, refused)
    kind: Literal["baseline", "learned kernel"] = "baseline" if baseline else "learned kernel"
    return Entry(method.name, method.title, kind, method.summary, status, reason, blends)


def _status_of(name: str, race: Race, refused: str) -> tuple[Status, str]:
    """Return the status of a method, and the reason of missing folds."""
    if refused:
        return "skipped", refused
    records = [record for cell, record in sorted(race.records.items()) if cell.method == name]
    failed = [record["error"] or "" for record in records if record["status"] == "error"]
    if failed and len(failed) == len(records):
        return "error", failed[0]
    if name in race.left:
        return "left", race.left[name]
    some = f"{len(failed)} failed: {failed[0]}" if failed else ""
    if race.is_done(name):
        return "done", some
    return "cut", "; ".join(filter(None, [race.reason(name), some]))


def _facts_of(sample: Sample) -> dict[str, Any]:
    """Return the facts of a table."""
    classes = sample.classes
    return {
        "name": sample.name,
        "target": sample.target,
        "task": sample.task,
        "rows": len(sample.y),
        "features": sample.X.shape[1],
        "feature_names": list(sample.feature_names),
        "classes": classes,
        "counts": None if classes is None else np.unique(sample.y, return_counts=True)[1].tolist(),
        "categorical": len(sample.categories),
        "missing": int(np.isnan(sample.X).sum()),
        "groups": None if sample.groups is None else len(np.unique(sample.groups)),
        "ordered": sample.ordered,
        "notes": list(sample.notes),
    }


def _truth_of(sample: Sample, records: Sequence[Record]) -> dict[str, Any]:
    """Return the targets of the rows with predictions, by row number."""
    kept = [each["rows"] for record in records if (each := record.get("kept"))]
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
