"""``pliant fit``: learn a model from a table, and test it."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
import typer
from sklearn.base import clone

from pliant.cli import table_options as options
from pliant.cli.console import progress, show, tell
from pliant.cli.model_facts import (
    functions,
    kernel,
    plain_parameters,
    settings,
    summarised,
    versions,
)
from pliant.cli.outputs import STDOUT, check_outputs, write_json
from pliant.cli.parameters import check_names, parse_parameters, whole
from pliant.cli.report import fit_report
from pliant.comparison.contenders import NOT_SAVED, available, named
from pliant.comparison.folds import most_folds
from pliant.comparison.protocol import Protocol
from pliant.comparison.reading import read_sample
from pliant.comparison.sample import Sample
from pliant.comparison.search import (
    Maker,
    Tick,
    Tuned,
    around,
    cross_validate,
    last_step,
    names_after,
)
from pliant.core.exceptions import TableError
from pliant.core.text import count, listed, quoted
from pliant.core.typing import Indices, Mask
from pliant.methods.summary import summarize
from pliant.persistence import save_model
from pliant.registry import Method, is_gamma
from pliant.tables import TableSchema

DEFAULT_FOLDS = 5
"""The folds of a protocol without a cross-validation, which asks for none of them."""

DEFAULT_METHOD = "lab-rbf"
"""The most accurate method on most tables, and one that needs no search."""

WITHOUT_GAMMA = ("linear", "graph", "precomputed")
"""Kernels that have no gamma to tune."""


def fit(
    table: Annotated[
        Path,
        typer.Argument(
            metavar="TABLE",
            help="CSV (also .gz, .tsv) or Parquet, with a header; a folder or 'pattern' of such.",
        ),
    ],
    target: options.Target,
    method: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Default: lab-rbf; pliant methods lists all."),
    ] = None,
    task: options.Task = None,
    missing: options.Missing = "impute",
    drop: options.Drop = None,
    keep: options.Keep = None,
    categorical: options.Categorical = None,
    date_order: options.DateOrder = None,
    sep: options.Sep = None,
    decimal: options.Decimal = None,
    thousands: options.Thousands = None,
    encoding: options.Encoding = None,
    na_values: options.NaValues = None,
    no_header: options.NoHeader = False,
    out: Annotated[Path | None, typer.Option(metavar="MODEL", help="Save the model here.")] = None,
    param: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=VALUE", help="Set a parameter, such as C=10; repeatable."),
    ] = None,
    cv: Annotated[
        int,
        typer.Option(
            parser=whole(), metavar="K", help="Folds of the cross-validation, 2 or more; 0: none."
        ),
    ] = DEFAULT_FOLDS,
    tune: Annotated[
        bool, typer.Option("--tune", help="Choose settings from the method's grid.")
    ] = False,
    metric: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="What --tune or a race chooses by: accuracy, r2, ..."),
    ] = None,
    budget: Annotated[
        str | None,
        typer.Option(
            metavar="TIME", help="Race several methods for 5m, 90s, ...; save their blend."
        ),
    ] = None,
    single: Annotated[
        bool, typer.Option("--single", help="With --budget: save the best single method.")
    ] = False,
    seed: options.Seed = 0,
    json: Annotated[
        Path | None, typer.Option(metavar="FILE|-", help="Write the full result; - is stdout.")
    ] = None,
) -> None:
    """Learn a model from a table.

    Dates, categories and free text become numbers, gaps are filled in, ids are left out. Features,
    and the target of a regression, are brought to mean 0 and standard deviation 1 for methods that
    do not scale them. The table is read into memory.

    With --budget several methods race, as in pliant compare, and their blend is saved.

    Example:  pliant fit patients.csv --target diagnosis --out model.pliant
    """
    read = options.TableOptions.of(locals())
    if out == STDOUT:
        raise ValueError("expected --out FILE, got '-': a model does not go to stdout")
    check_outputs([out, json], inputs=[table])
    if budget is None:
        if single:
            raise ValueError("--single belongs to --budget: add --budget TIME, or leave it out")
        if metric is not None and not tune:
            raise ValueError(
                "--metric is what --tune chooses by: add --tune, or leave --metric out"
            )
        result = train(
            table,
            options.only(target),
            read,
            method,
            task,
            param or [],
            cv,
            tune,
            metric,
            seed,
            out,
        )
        if json is not None:
            write_json(json, result)
        if json != STDOUT:
            show(fit_report(result))
        return
    from pliant.cli.compare import Plan, carry_out

    given = {"--method": method, "--param": param, "--tune": tune}
    if wrong := [name for name, value in given.items() if value]:
        raise ValueError(f"expected --budget without {wrong[0]}: a race chooses the methods itself")
    plan = Plan(
        (table,),
        options.only(target),
        budget=budget,
        protocol=Protocol(folds=cv, metric=metric, seed=seed),
        task=task,
        table=read,
        json=json,
        out=out,
        single=single,
        journal=False,
    )
    carry_out(plan)


def train(
    table: Path,
    target: str,
    read: options.TableOptions,
    method_name: str | None,
    task: str | None,
    words: list[str],
    cv: int,
    tune: bool,
    metric: str | None,
    seed: int,
    out: Path | None,
) -> dict[str, Any]:
    """Tune, test, fit and save a model; return the full result as plain data.

    Without `method_name` it is `DEFAULT_METHOD`. `words` are parameters, each NAME=VALUE; `cv` is
    the number of folds, 0 for no scores; `tune` chooses the settings that `words` leaves open.
    """
    given = parse_parameters(words)
    method = named(method_name or _default_method(given))
    check_method(method, out)
    sample = read_sample(
        table, target, task=task, folds=cv or None, most_rows=method.max_rows, **read.choices
    )
    schema = sample.schema
    assert schema is not None
    for note in sample.notes:
        tell(f"Note: {note}")
    learner = _learner(method, given, sample, seed)
    sample = replace(sample, unlabeled=learner.get_params(deep=False).get("unlabeled"))
    known = sample.labelled(sample.y)
    _check_labels(sample, known)
    if cv:
        check_folds(sample.y[known], sample.task, cv)
    protocol = Protocol(folds=cv or DEFAULT_FOLDS, repeats=1, metric=metric, seed=seed)
    protocol.metric_for(sample.task)
    maker = _fixed(method, learner)
    if tune:
        method = _opened(method, given, sample.task)
        maker = Tuned(method, protocol)
    start = time.perf_counter()
    with _progress(sample, maker, cv) as tick:
        folds = cross_validate(maker, sample, protocol, tick) if cv else []
        model = maker(sample, np.arange(len(sample.y)), None, tick)
        begun = time.perf_counter()
        model.fit(sample.X, sample.y)
        seconds = time.perf_counter() - begun
        tick(1)
    fitted, names = last_step(model), names_after(model, schema.feature_names)
    result = {
        "method": method.name,
        "seed": seed,
        "data": {**_described(sample, schema, known), "features": len(names)},
        "parameters": plain_parameters(fitted),
        "tuned": {name: settings(fitted)[name] for name in method.grid} if tune else None,
        "cross_validation": summarised(folds),
        "fit": {
            "n_support": summarize(fitted).n_support,
            "functions": functions(fitted, names),
            "kernel": kernel(fitted, names),
            "seconds": seconds,
            "seconds_total": time.perf_counter() - start,
        },
        "versions": versions(),
        "model_file": None if out is None else str(out),
    }
    if out is not None:
        save_model(model, out, schema=schema.to_dict(), metadata=result)
    return result


def _described(sample: Sample, schema: TableSchema, known: Mask) -> dict[str, Any]:
    """Return the facts of a table as plain data; classes are those of the known rows."""
    classes = np.unique(sample.y[known]).tolist() if sample.task == "classification" else None
    return {
        "target": sample.target,
        "task": sample.task,
        "classes": classes,
        "rows": len(sample.y),
        "columns": {column.name: column.kind for column in schema.columns},
        "left_out": {column.name: column.reason for column in schema.left_out},
    }


def _check_labels(sample: Sample, known: Mask) -> None:
    """Raise TableError unless, where some class is unknown, it occurs and others do too."""
    if sample.unlabeled is None:
        return
    target, classes = quoted(sample.target), len(np.unique(sample.y[known]))
    if known.all():
        raise TableError(
            f"column {target} holds {quoted(sample.unlabeled)} nowhere: expected some rows with "
            "the value that stands for an unknown class"
        )
    if classes < 2:
        raise TableError(f"column {target}: expected two known classes at least, got {classes}")


def _learner(method: Method, given: dict[str, Any], sample: Sample, seed: int) -> Any:
    """Return the estimator with the given parameters, not fitted; refuse those it cannot take."""
    check_names(given, settings(method.learner(sample.task)()), f"{method.name} for {sample.task}")
    n_rows = len(sample.y)
    if method.many is not None and n_rows >= method.many[0]:
        fewest, many = method.many
        if chosen := [f"{name}={value}" for name, value in many.items() if name not in given]:
            tell(f"Note: {', '.join(chosen)} is set for {method.name} from {fewest} rows on")
    return replace(method, given=given).machine(sample.task, seed=seed, n_rows=n_rows)


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
    """Return a maker of the same estimator for all rows."""

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
    fits = len(places) + searched
    text = f"Learning from {len(sample.y)} rows: {count(fits, 'fit')}"
    return progress(text, fits)


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
