"""From a table to a tested, fitted and saved model, with all that is worth reporting."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import clone

from pliant.cli.console import learning, progress, tell
from pliant.cli.fit.tables import FitTable
from pliant.cli.model_facts import (
    functions,
    kernel,
    plain_parameters,
    settings,
    versions,
)
from pliant.cli.parameters import check_names, parse_parameters
from pliant.cli.table_options import TableOptions
from pliant.comparison.contenders import NOT_SAVED, available, named
from pliant.comparison.folds import most_folds
from pliant.comparison.pipeline import around, last_step, names_after
from pliant.comparison.protocol import Protocol
from pliant.comparison.sample import Sample
from pliant.comparison.search import Tick
from pliant.comparison.validation import (
    Maker,
    TestedFold,
    Tuned,
    cross_validate,
    timed_fit,
)
from pliant.core.summary import summarize
from pliant.core.text import listed
from pliant.core.typing import Indices
from pliant.core.validation import where_equal
from pliant.persistence import save_model
from pliant.registry import Method, is_gamma

DEFAULT_FOLDS = 5
"""The folds of a protocol without a cross-validation, which asks for none of them."""

DEFAULT_METHOD = "lab-rbf"
"""The most accurate method on most tables, and one that needs no search."""

WITHOUT_GAMMA = ("linear", "graph", "precomputed")
"""Kernels that have no gamma to tune."""


@dataclass(frozen=True)
class Order:
    """The options of ``pliant fit``.

    Without `method` it is `DEFAULT_METHOD`. `words` are parameters, each NAME=VALUE; `cv` is the
    number of folds, 0 for no scores; `tune` chooses the settings that `words` leaves open, by
    `metric`. `task` and `table` say how the table is read.
    """

    method: str | None
    target: str
    task: str | None = None
    table: TableOptions = field(default_factory=TableOptions)
    words: tuple[str, ...] = ()
    cv: int = 5
    tune: bool = False
    metric: str | None = None
    seed: int = 0


def train(table: Path, order: Order, out: Path | None) -> dict[str, Any]:
    """Tune, test, fit and save a model; return the full result as plain data."""
    given = parse_parameters(order.words)
    method = named(order.method or _default_method(given))
    check_method(method, out)
    data = FitTable.read(table, order.target, method, task=order.task, **order.table.choices)
    for note in data.notes:
        tell(f"Note: {note}")
    learner = _learner(method, order, given, data)
    unlabeled = learner.get_params(deep=False).get("unlabeled")
    known = ~where_equal(data.y, unlabeled)
    data.check_labels(known, unlabeled)
    if order.cv:
        check_folds(data.y[known], data.task, order.cv)
    if order.metric is not None and not order.tune:
        raise ValueError("--metric is what --tune chooses by: add --tune, or leave --metric out")
    protocol = Protocol(
        folds=order.cv or DEFAULT_FOLDS, repeats=1, metric=order.metric, seed=order.seed
    )
    sample, maker = data.sample(unlabeled), _fixed(method, learner)
    protocol.metric_for(sample.task)
    if order.tune:
        method = _opened(method, given, data.task)
        maker = Tuned(method, protocol)
    start = time.perf_counter()
    with _progress(sample, maker, order.cv) as tick:
        folds = cross_validate(maker, sample, protocol, tick) if order.cv else []
        model = maker(sample, np.arange(len(data.y)), None, tick)
        seconds = timed_fit(model, data.X, data.y)
        tick(1)
    fitted, names = last_step(model), names_after(model, data.schema.feature_names)
    summary = summarize(fitted)
    result = {
        "method": method.name,
        "seed": order.seed,
        "data": {**data.describe(known), "features": len(names)},
        "parameters": plain_parameters(fitted),
        "tuned": {name: settings(fitted)[name] for name in method.grid} if order.tune else None,
        "cross_validation": summarise(folds),
        "fit": {
            "n_support": summary.n_support,
            "functions": functions(fitted, names),
            "kernel": kernel(fitted, names),
            "seconds": seconds,
            "seconds_total": time.perf_counter() - start,
        },
        "versions": versions(),
        "model_file": None if out is None else str(out),
    }
    if out is not None:
        save_model(model, out, schema=data.schema.to_dict(), metadata=result)
    return result


def _learner(method: Method, order: Order, given: dict[str, Any], data: FitTable) -> Any:
    """Return the estimator with the given parameters, not fitted; refuse those it cannot take."""
    check_names(given, settings(method.learner(data.task)()), f"{method.name} for {data.task}")
    n_rows = len(data.y)
    if method.many is not None and n_rows >= method.many[0]:
        fewest, many = method.many
        if chosen := [f"{name}={value}" for name, value in many.items() if name not in given]:
            tell(f"Note: {', '.join(chosen)} is set for {method.name} from {fewest} rows on")
    return replace(method, given=given).machine(data.task, seed=order.seed, n_rows=n_rows)


def _default_method(given: Mapping[str, Any]) -> str:
    """Return the method where none is named: LAB-RBF; DANK for a matrix of kernel values."""
    precomputed = isinstance(given.get("kernel"), str) and given["kernel"] == "precomputed"
    return "dank" if precomputed else DEFAULT_METHOD


def check_method(method: Method, out: Path | None) -> None:
    """Raise an error if a method is not installed, or its models cannot be saved where asked for.

    Raises
    ------
    ImportError
        If the package of a baseline is not installed.
    ValueError
        If `out` is given, and a model file cannot hold what the method learns.
    """
    if not available(method):
        raise ImportError(f"{method.name} is not installed: pip install {method.paper}")
    if out is not None and method.name in NOT_SAVED:
        raise ValueError(
            f"--out cannot save a model of {method.name}: model files hold those of every method "
            f"but {listed(list(NOT_SAVED), len(NOT_SAVED))}; leave --out away for its scores"
        )


def _fixed(method: Method, learner: Any) -> Maker:
    """Return what makes the same estimator for all rows."""

    def make(sample: Sample, rows: Indices, fold: int | None, tick: Tick) -> Any:
        return around(clone(learner), method, sample, for_new_rows=True)

    return make


def _opened(method: Method, given: dict[str, Any], task: str) -> Method:
    """Return a method with some parameters given, and the rest of its grid to choose from."""
    grid = method.param_grid(1, task)
    free = {
        name: method.grid[name]
        for name in grid
        if name not in given and not _has_no_gamma(name, given)
    }
    if not grid:
        raise ValueError(f"--tune has nothing to choose for {method.name}: leave it out")
    if not free:
        raise ValueError(f"--tune has nothing to choose: {', '.join(grid)} are given")
    return replace(method, grid=free, given=given)


def _has_no_gamma(name: str, given: dict[str, Any]) -> bool:
    """Return whether this is a gamma, and the given kernel has none."""
    kernel = given.get(f"{name.removesuffix('gamma')}kernel", "")
    return is_gamma(name) and (not isinstance(kernel, str) or kernel in WITHOUT_GAMMA)


def _progress(sample: Sample, maker: Maker, n_folds: int) -> AbstractContextManager[Tick]:
    """Show the progress of all fits, those of searches too."""
    places = [*range(n_folds), None]
    searched = maker.count_fits(sample, places) if isinstance(maker, Tuned) else 0
    n_fits = len(places) + searched
    return progress(learning(len(sample.y), n_fits), n_fits)


def check_folds(y: npt.NDArray[Any], task: str, n_folds: int) -> None:
    """Raise ValueError unless the rows can be put into `n_folds` >= 2 folds."""
    most = most_folds(y, task)
    if n_folds < 2:
        raise ValueError(f"expected --cv >= 2, or 0 for no cross-validation, got {n_folds}")
    if n_folds > most:
        needed = f"{n_folds} rows of each class" if task == "classification" else "2 rows a fold"
        there = f"the smallest has {most}" if task == "classification" else f"there are {len(y)}"
        raise ValueError(
            f"--cv {n_folds} needs {needed}, {there}: lower it, or leave the scores out (--cv 0)"
        )


def summarise(folds: Sequence[TestedFold]) -> dict[str, Any] | None:
    """Return mean, spread (sample standard deviation) and single values of each metric."""
    if not folds:
        return None
    titles = [title for title in folds[0].scores if all(title in fold.scores for fold in folds)]
    values = {title: [fold.scores[title] for fold in folds] for title in titles}
    scores = {
        title: {"mean": float(np.mean(v)), "std": float(np.std(v, ddof=1)), "folds": v}
        for title, v in values.items()
    }
    return {"folds": len(folds), "scores": scores}
