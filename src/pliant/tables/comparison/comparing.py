"""`compare` and `fit`: compare methods on a table under one protocol and blend the best."""

from __future__ import annotations

import math
import os
import platform
import time
import warnings
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from importlib.metadata import version
from typing import Any, Literal

import numpy as np
from joblib import cpu_count
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import get_tags

from pliant.core.exceptions import Interrupted
from pliant.core.parameters import check_integer
from pliant.core.text import count
from pliant.persistence import holds
from pliant.tables.comparison.baselines import BASELINES, available
from pliant.tables.comparison.blending import held_out_of
from pliant.tables.comparison.cells import (
    FittedMethod,
    ThisProcess,
    fit_default,
    held_out_records,
    starts_processes,
    warm_up,
)
from pliant.tables.comparison.contenders import is_given, methods_of
from pliant.tables.comparison.folds import check_folds, outer_split, settled, without_rare_classes
from pliant.tables.comparison.journal import Journal, key_of, package_versions
from pliant.tables.comparison.options import BUDGET, Progress, RunOptions
from pliant.tables.comparison.outcome import Source, for_input
from pliant.tables.comparison.protocol import (
    DEFAULT,
    HELD_OUT_NOTE,
    Entry,
    Protocol,
    Record,
    Status,
)
from pliant.tables.comparison.race import ProgressLines, Race, typical_seconds
from pliant.tables.comparison.reading import sample_of
from pliant.tables.comparison.result import ComparisonResult
from pliant.tables.comparison.sample import Sample
from pliant.tables.comparison.standings import finished, standings
from pliant.tables.comparison.text import seconds
from pliant.tables.registry import Method

SHORT, LITTLE = 10.0, 30.0
"""Budget and typical time of all folds, in seconds, below which the default methods run in this
process: others take seconds to start."""

LATE = 0.8
"""Share of the budget after which no comparison begins."""

NO_MODEL = "not in the blend, since it was not fitted to all rows in time"


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
    """Compare methods on a table by cross-validation, and blend the best of them.

    In each fold, each method is fitted on the training rows and predicts the held-out rows. These
    predictions yield the methods' scores, the weights of their blend, and the blend's expected
    score on new rows. Imputation, encoding, scaling and tuning use only the training rows of each
    fold.

    Parameters
    ----------
    X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
        Numbers, with nan for missing values; a sparse matrix, whose features are not scaled, for
        the methods that take sparse rows, without a blend; or a data frame (pandas, or any with
        ``to_pandas``) of numbers, booleans and text, parsed as on the command line.
    y : array-like of shape (n_samples,)
        Class labels, or numbers.
    methods : sequence of str, estimator or (str, estimator), or "all", optional
        Names that ``pliant methods`` lists, and estimators with scikit-learn's interface.
        Default: LAB-RBF, a tuned Gaussian SVM, a linear model, a dummy, histogram gradient boosting
        and the installed boosting packages. Classification adds a random forest; regression adds
        extremely randomised trees and a Gaussian process or kernel ridge regression. "all" means
        all installed methods and baselines. An estimator keeps its settings. Its input is imputed
        and encoded; features and target are not scaled, so add a scaler to its pipeline if it needs
        one.
    task : {"classification", "regression"}, optional
        Inferred from y by default: classification for text and for a few recurring integers.
    groups : array-like of shape (n_samples,), optional
        Group labels; samples of the same group stay in the same fold.
    time : array-like of shape (n_samples,), optional
        Times, as numbers, dates or texts of these. No test sample is earlier than a training
        sample.
    budget : float or None, default=300.0
        Time limit in seconds, including the final fit. It determines which fits run, but not
        their scores: one method after the other runs its folds, if they fit into the time left.
        None means no limit.
    folds, repeats : int, default=5 and 2
        Number of folds, and of repeats with new random folds. A repeat starts only if it is
        expected to fit into the budget.
    metric : str or callable, optional
        Metric for ranking and tuning. For regression "r2" (default), "rmse" or "mae"; for
        classification "accuracy" (default), "balanced_accuracy", "auc" or "log_loss" (default if a
        class has less than a tenth of the rows); or a scikit-learn scorer or its name. Scorers
        receive no features. The blend weights always minimise the squared error or the log loss.
    random_state : int, default=0
        Seed of all random draws.
    n_jobs : int, optional
        Number of fits (of one method on one fold) to run at the same time; None and -1 mean one per
        core. They run in reused single-threaded processes. Where no process can be started, and for
        default methods with a budget below ten seconds or few rows, they run one after another in
        this one. The end of the budget does not stop a fit there, so that a method starts only if
        it is expected to end before.
    executor : object with ``submit``, optional
        Run the fits in a ``concurrent.futures`` executor or a Dask client, at most `n_jobs` at
        the same time. A running fit is not stopped when the budget runs out.
    cache : path-like, optional
        File for the results of finished fits. Concurrent comparisons need separate files.
    resume : bool, default=False
        Reuse the results in `cache`.
    feature_names : sequence of n_features str, optional
    progress : bool or callable, default=False
        True prints a line to stderr when more methods have finished. A function is called with a
        `pliant.tables.comparison.options.RaceState` whenever a fit starts or ends.

    Returns
    -------
    ComparisonResult
        After Ctrl-C, ``interrupted`` is True, and the result contains only the fits (one per method
        and fold) that had finished.

    Raises
    ------
    ValueError
        If a parameter is invalid, or an estimator cannot be cloned and pickled; the message quotes
        the value.
    TypeError
        If an item of `methods` is neither a name nor an estimator.
    TableError
        If a column is invalid, or `cache` belongs to another comparison, has another format, or
        cannot be written.
    KeyboardInterrupt
        After Ctrl-C, if no fit had finished.

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
    if resume and cache is None:
        raise ValueError("expected cache=... with resume=True, got None")
    options = RunOptions(budget, n_jobs, executor, cache, resume, progress)
    seed = check_integer("random_state", random_state, least=0)
    result = compare_sample(
        sample_of(X, y, task=task, feature_names=feature_names, groups=groups, time=time),
        methods,
        Protocol(folds=folds, repeats=repeats, metric=metric, seed=seed),
        options,
    )
    if result.interrupted and not result.records:
        raise KeyboardInterrupt
    return result


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
    """Fit LAB-RBF to a table or, given a budget, a blend of several methods if it is better.

    With a budget, LAB-RBF is fitted to all rows first. The time left goes to a comparison, whose
    recommended model is returned. The weights of a blend are shrunk towards LAB-RBF. Rows of
    classes with fewer rows than the folds are left out, with a warning. A small table, or a budget
    below ten seconds, starts no process. Rows have no weights, here and in `compare`: for
    ``sample_weight``, fit an estimator such as `pliant.LABRBFRegressor`.

    Parameters
    ----------
    X, y, task, groups, metric, random_state, n_jobs
        As in `compare`; `groups` and `metric` require a budget. LAB-RBF uses `n_jobs` threads.
    budget : float, optional
        Time limit in seconds. If it does not suffice for a comparison with LAB-RBF, or the table
        has too few rows for one, a warning says so, and the model is LAB-RBF, stopped early if
        necessary. None fits LAB-RBF alone, without a limit.

    Returns
    -------
    estimator
        Fitted model for input of the same type as X: arrays, or data frames with the columns of X.

    Raises
    ------
    ValueError, TypeError, TableError
        As in `compare`.
    Interrupted
        After Ctrl-C, once LAB-RBF is fitted. It is a KeyboardInterrupt, and its attribute ``model``
        is the best model so far.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> rng = np.random.default_rng(0)
    >>> X = pd.DataFrame({"size": rng.normal(size=80), "colour": rng.choice(["red", "blue"], 80)})
    >>> y = X["size"] ** 2 + (X["colour"] == "red")
    >>> fit(X, y).predict_interval(X).shape
    (80, 2)
    """
    seed = check_integer("random_state", random_state, least=0)
    protocol = Protocol(metric=metric, seed=seed)
    options = RunOptions(budget, n_jobs)
    sample = sample_of(X, y, task=task, groups=groups)
    if budget is not None:
        sample, n_rows = without_rare_classes(sample, protocol.folds), len(sample.y)
        if len(sample.y) < n_rows:
            warnings.warn(sample.notes[-1], UserWarning, stacklevel=2)
        found = fit_within(sample, protocol, options)
        if found.note:
            warnings.warn(found.note, ConvergenceWarning, stacklevel=2)
        return found.model
    if groups is not None or metric is not None:
        raise ValueError("groups and metric require a budget: LAB-RBF alone does not use them")
    return for_input(fit_default(sample, protocol, None, n_jobs).own, sample)


@dataclass(frozen=True, eq=False)
class BudgetedFit:
    """The best model within a budget, and the comparison that found it.

    `name` is "blend" or the name of a method. If LAB-RBF has no score, `note` says why.
    """

    model: Any
    name: str
    result: ComparisonResult | None = None
    note: str = ""


def fit_within(
    sample: Sample, protocol: Protocol, options: RunOptions, *, single: bool = False
) -> BudgetedFit:
    """Fit LAB-RBF to all rows, compare methods in the time left, and fit the best model.

    The sample has no classes too rare for the folds. With `single`, the best single method is
    fitted too.

    Raises
    ------
    Interrupted
        After Ctrl-C during the comparison or the fit of the best model.
    """
    start, budget, n_jobs = time.monotonic(), options.budget, options.n_jobs
    problem = _no_comparison(sample, protocol)
    if _is_little(sample, protocol, budget) or not starts_processes():
        options = replace(options, n_jobs=1, executor=ThisProcess())
    elif not problem:
        with suppress(OSError, RuntimeError):  # without processes, the comparison fails
            warm_up(options.jobs)
    first = fit_default(sample, protocol, budget, n_jobs)
    alone = BudgetedFit(for_input(first.own, sample), DEFAULT, note=problem)
    result: ComparisonResult | None = None
    try:
        spent = time.monotonic() - start
        limit, given = math.inf if budget is None else budget, list[Record]()
        took = spent, limit - spent, options.jobs
        if not problem and not _has_time_for_folds(protocol.folds, *took):
            protocol = replace(protocol, folds=min(protocol.folds, 3))
            if spent < LATE * limit:
                given = held_out_records(sample, protocol, first, at=spent)
            if not given and not _has_time_for_folds(protocol.folds, *took):
                problem = (
                    f"no time is left for other methods, as LAB-RBF took {seconds(spent)}: a "
                    "comparison needs a larger budget"
                )
        if problem:
            return replace(alone, note=problem)
        result = compare_sample(
            sample, None, protocol, options,
            fitted={DEFAULT: first}, given=given, spent=spent, single=single,
        )  # fmt: skip
        if result.interrupted:
            raise KeyboardInterrupt
        return _best_of(result, alone)
    except KeyboardInterrupt:
        raise Interrupted(result, partial(_best_of, result, alone)) from None
    except Exception as error:  # for example, no thread or process can start
        return replace(alone, note=f"the comparison failed: {type(error).__name__}: {error}")


def _with_ready_members(result: ComparisonResult) -> ComparisonResult:
    """Restrict the blend to methods that are fitted to all rows; give the others the reason."""
    ready = {} if result.source is None else result.source.fitted
    late = set() if result.held_out is None else result.held_out.weights().keys() - ready.keys()
    entries = [
        replace(
            each,
            blends=each.blends and each.name in ready,
            reason=each.reason or (NO_MODEL if each.name in late else ""),
        )
        for each in result.methods
    ]
    return replace(result, methods=tuple(entries))


def _best_of(result: ComparisonResult | None, alone: BudgetedFit) -> BudgetedFit:
    """Return the recommended model, or LAB-RBF if there is no comparison with it."""
    if result is None:
        return alone
    if not any(s.rank and s.method.name == DEFAULT for s in result.standings()):
        note = "LAB-RBF has no score on all folds, so it is not compared with other methods"
        if result.interrupted:
            note = "the comparison was interrupted before LAB-RBF had a score on all folds"
        return replace(alone, result=result, note=note)
    assert result.best is not None
    return BudgetedFit(result.best_estimator_, result.best, result)


def _work(sample: Sample, protocol: Protocol) -> float:
    """Return the typical seconds of the folds of the default methods, one after another."""
    n_rows = len(sample.y)
    methods = methods_of(None, sample.task, n_rows, sample.is_sparse)
    return protocol.folds * sum(typical_seconds(method.name, n_rows) for method in methods)


def _is_little(sample: Sample, protocol: Protocol, budget: float | None) -> bool:
    """Return True if the default methods run in this process, for a short budget or few rows."""
    if budget is None:
        return False
    return budget < SHORT or _work(sample, protocol) < min(budget, LITTLE)


def _has_time_for_folds(folds: int, took: float, left: float, jobs: int) -> bool:
    """Return True if LAB-RBF's folds take at most half of the time left.

    A fit to all rows took `took` seconds, and a fit in one of k folds takes about (k - 1) / k of
    that. The first fold runs before the others. The other half is for other methods.
    """
    rounds = 1 + math.ceil((folds - 1) / jobs)
    return rounds * (folds - 1) / folds * took <= 0.5 * left


def _no_comparison(sample: Sample, protocol: Protocol) -> str:
    """Return the reason why a table is too small for the folds, or ""; refuse too few groups."""
    protocol.metric_for(sample.task)
    try:
        check_folds(sample, settled(protocol, sample))
    except ValueError as error:
        if sample.groups is not None:
            raise
        return f"LAB-RBF is not compared with other methods: {error}"
    return ""


def compare_sample(
    sample: Sample,
    methods: Sequence[Any] | Literal["all"] | None = None,
    protocol: Protocol | None = None,
    options: RunOptions | None = None,
    *,
    fitted: Mapping[str, FittedMethod] | None = None,
    given: Sequence[Record] = (),
    spent: float = 0.0,
    single: bool = False,
) -> ComparisonResult:
    """Compare methods on a sample; see `compare`.

    Parameters
    ----------
    sample : Sample
        If it has a schema, fitted models accept data frames.
    methods
        As in `compare`.
    protocol : Protocol, optional
    options : RunOptions, optional
    fitted : mapping of str to FittedMethod, optional
        Models already fitted to all rows, none of which is of a class too rare for the folds.
    given : sequence of Record, default=()
        Records of cells that are not run.
    spent : float, default=0.0
        Seconds of the budget that are over.
    single : bool, default=False
        Fit the best single method to all rows, whether or not it has weight in the blend.
    """
    start = time.perf_counter()
    protocol, options = protocol or Protocol(), options or RunOptions()
    sample = without_rare_classes(sample, protocol.folds)
    protocol = settled(protocol, sample)
    metric = protocol.metric_for(sample.task)
    check_folds(sample, protocol)
    n_train = min(len(outer_split(sample, protocol, *place)[0]) for place in protocol.places())
    chosen = methods_of(methods, sample.task, n_train, sample.is_sparse)
    little = methods is None and _is_little(sample, protocol, options.budget)
    if little and options.executor is None:
        options = replace(options, executor=ThisProcess())
    refused = {method.name: _refusal(method, sample, n_train) for method in chosen}
    if options.progress is True:
        options = replace(options, progress=ProgressLines(metric, protocol))
    key = key_of(sample, protocol)
    race = Race(
        sample,
        protocol,
        [method for method in chosen if not refused[method.name]],
        Journal(options.cache, key, resume=options.resume),
        options,
        spent=spent + time.perf_counter() - start,
        # Without a budget, members of the blend are fitted to all rows when they are asked for.
        members=None
        if options.budget is None and not fitted
        else partial(_members_of_blend, sample, protocol, chosen, single),
        fitted=dict(fitted or {}),
        given=given,
    )
    race.run()
    order = list(refused)
    cells = sorted(race.records, key=lambda cell: (order.index(cell.method), cell))
    records = tuple(race.records[cell] for cell in cells)
    rows = {row for record in records if (kept := record.get("kept")) for row in kept["rows"]}
    facts = _facts_of(sample)
    if given:
        facts["notes"].append(HELD_OUT_NOTE)
    entries = [
        _entry_of(method, sample, *_status_of(method.name, race, refused[method.name]))
        for method in chosen
    ]
    result = ComparisonResult(
        sample=facts,
        truth={str(row): sample.y[row].item() for row in sorted(rows)},
        protocol=protocol,
        methods=tuple(entries),
        records=records,
        seconds=spent + time.perf_counter() - start,
        spent=spent,
        budget=options.budget,
        interrupted=race.interrupted,
        environment={
            **package_versions(),
            "joblib": version("joblib"),
            "cores": str(cpu_count()),
            "system": f"{platform.system()} {platform.machine()}",
            "key": key,
        },
        command=options.command,
        source=Source(sample, tuple(chosen), options.n_jobs, race.fitted),
    )
    return _with_ready_members(result) if race.members and race.fitted else result


def _members_of_blend(
    sample: Sample,
    protocol: Protocol,
    methods: Sequence[Method],
    single: bool,
    records: Sequence[Record],
) -> Collection[str]:
    """Return the methods with weight in the blend of those with these records.

    Without a blend, as for sparse rows, it is the best method; with `single`, that one too.
    """
    names, metric = {record["method"] for record in records}, protocol.metric_for(sample.task)
    entries = [_entry_of(method, sample) for method in methods if method.name in names]
    places = standings(entries, records, metric, protocol)
    cells = finished(entries, records)
    held_out = held_out_of(places, cells, sample.y, sample.classes, metric)
    best = [place.method.name for place in places if place.rank][:1]
    if held_out is None:
        return best
    return held_out.weights().keys() | (best if single else ())


def _refusal(method: Method, sample: Sample, n_train: int) -> str:
    if sample.task not in method.tasks:
        return f"supports {' and '.join(method.tasks)} only"
    if n_train > method.max_rows:
        return f"accepts at most {method.max_rows} training rows, got {n_train}"
    if not available(method):
        return f"is not installed: pip install {method.package}"
    if sample.is_sparse and not is_given(method):
        learner = method.make_estimator(sample.task, seed=0, n_rows=n_train)
        if not get_tags(learner).input_tags.sparse:
            return "needs dense rows: use sklearn.decomposition.TruncatedSVD first"
    return ""


def _entry_of(method: Method, sample: Sample, status: Status = "done", reason: str = "") -> Entry:
    baseline = method.name in BASELINES or is_given(method)
    blends = status != "skipped" and _blends(method, sample)
    kind: Literal["baseline", "learned kernel"] = "baseline" if baseline else "learned kernel"
    return Entry(method.name, method.title, kind, method.summary, status, reason, blends)


def _blends(method: Method, sample: Sample) -> bool:
    """Return True if a method can be a member of a blend: model files hold its models.

    A blend permutes each feature, so it takes no sparse rows.
    """
    if sample.is_sparse:
        return False
    return not is_given(method) or holds(method.make_estimator(sample.task, seed=0, n_rows=0))


def _status_of(name: str, race: Race, refused: str) -> tuple[Status, str]:
    """Return a method's status and the reason for missing folds."""
    if refused:
        return "skipped", refused
    records = [record for cell, record in sorted(race.records.items()) if cell.method == name]
    failed = [record["error"] or "" for record in records if record["status"] == "error"]
    if failed and len(failed) == len(records):
        return "error", failed[0]
    some = f"{count(len(failed), 'fold')} failed: {failed[0]}" if failed else ""
    if race.is_done(name):
        return "done", some
    status: Status = "unfinished" if race.is_unfinished(name) else "cut"
    return status, "; ".join(filter(None, [race.reason(name), some]))


def _facts_of(sample: Sample) -> dict[str, Any]:
    """Summarise a sample as plain data."""
    classes, shares = sample.classes, sample.missing_shares
    return {
        "name": sample.name,
        "target": sample.target,
        "task": sample.task,
        "rows": len(sample.y),
        "columns": len(shares),
        "features": sample.X.shape[1],
        "feature_names": list(sample.feature_names),
        "classes": classes,
        "counts": None if classes is None else np.unique(sample.y, return_counts=True)[1].tolist(),
        "categorical": len(sample.categories),
        "missing": {
            "cells": round(float(shares.sum()) * len(sample.y)),
            "columns": int(np.count_nonzero(shares)),
            "largest": float(shares.max()),
        },
        "groups": None if sample.groups is None else len(np.unique(sample.groups)),
        "ordered": sample.ordered,
        "notes": list(sample.notes),
    }
