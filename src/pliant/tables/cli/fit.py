"""``pliant fit``: fit a model to a table and evaluate it by cross-validation."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from pliant.core.estimators import BaseEstimator
from pliant.core.exceptions import TableError
from pliant.core.text import count, quoted
from pliant.methods.summary import summarize
from pliant.persistence import check_saving, save
from pliant.records.estimators import last_step
from pliant.tables.cli.options import (
    Json,
    Seed,
    TableOptions,
    Target,
    Text,
    Texts,
    check_names,
    flag,
    option,
    parse_parameters,
    single_target,
    with_table_options,
)
from pliant.tables.cli.outputs import STDOUT, check_outputs, print_result, print_status, write_json
from pliant.tables.cli.report import (
    describe_functions,
    describe_kernel,
    format_fit,
    plain_parameters,
    summarize_scores,
)
from pliant.tables.comparison.baselines import available
from pliant.tables.comparison.contenders import named
from pliant.tables.comparison.folds import check_folds
from pliant.tables.comparison.journal import package_versions
from pliant.tables.comparison.protocol import Protocol
from pliant.tables.comparison.reading import from_frames, read_sample
from pliant.tables.comparison.sample import Sample
from pliant.tables.comparison.search import around, cross_validate, names_after
from pliant.tables.registry import Method


@with_table_options
def fit(
    context: typer.Context,
    table: Annotated[
        Path,
        typer.Argument(
            metavar="TABLE",
            help="CSV with header (also .gz, .tsv), Parquet or LIBSVM; or a folder or 'pattern'.",
        ),
    ],
    *,
    target: Target,
    method: Annotated[Text, option("NAME", "Default: lab-rbf; pliant methods lists all.")] = None,
    options: TableOptions,
    out: Annotated[Path | None, option("MODEL", "Save the model to this file.")] = None,
    param: Annotated[Texts, option("NAME=VALUE", "Set a parameter (C=10); repeatable.")] = None,
    cv: Annotated[int, option("K", "Cross-validation folds, at least 2; 0 for none.")] = 5,
    budget: Annotated[Text, option("TIME", "Race methods for 5m, 90s, ...; save a blend.")] = None,
    single: Annotated[bool, flag("--single", "With --budget: save the best method.")] = False,
    seed: Seed = 0,
    json: Json = None,
) -> None:
    """Learn a model from a table.

    Dates, categories and free text are encoded as numbers, missing values are imputed, and ids are
    dropped. For methods that do not scale their inputs, features and regression targets are
    standardised to mean 0 and standard deviation 1. The table is read into memory.

    With --budget LAB-RBF is fitted first. The time left goes to a race, as in pliant compare, and
    the recommended model is saved.

    Example:  pliant fit patients.csv --target diagnosis --out model.pliant
    """
    if out == STDOUT:
        raise ValueError("expected --out FILE, got '-': a model cannot be written to stdout")
    check_outputs([out, json], inputs=[table])
    if budget is not None:
        if method or param:
            raise ValueError("--budget selects methods and parameters: drop --method and --param")
        if not cv:
            raise ValueError("--budget compares methods by folds: expected --cv K >= 2, got 0")
        from pliant.tables.cli.budget import fit_within_budget

        fit_within_budget(
            table, single_target(target), options, budget, Protocol(folds=cv, seed=seed),
            single=single, out=out, json=json, command=context.obj,
        )  # fmt: skip
        return
    if single:
        raise ValueError("--single needs --budget: add --budget TIME, or drop --single")
    result = train(table, single_target(target), options, method, param or [], cv, seed, out)
    if json is not None:
        write_json(json, result)
    if json != STDOUT:
        print_result(format_fit(result))


def train(
    table: Path,
    target: str,
    options: TableOptions,
    method_name: str | None,
    words: list[str],
    cv: int,
    seed: int,
    out: Path | None,
) -> dict[str, Any]:
    """Cross-validate, fit and save a model; return the full result as plain data.

    The default method is LAB-RBF. `words` are parameters as NAME=VALUE; `cv` is the number of
    folds, or 0 to skip the cross-validation.
    """
    given = parse_parameters(words)
    method = named(method_name or "lab-rbf")
    _check_installed(method)
    if isinstance(given.get("unlabeled"), str):  # a word among numbers is a label, too
        texts = (*options.form.texts, target)
        options = replace(options, form=replace(options.form, texts=texts))
    sample = read_sample(
        table, target, folds=cv or None, most_rows=method.max_rows, **vars(options)
    )
    schema = sample.schema
    assert schema is not None
    for note in sample.notes:
        print_status(f"Note: {note}")
    learner = _make_learner(method, given, sample, seed)
    sample = replace(sample, unlabeled=learner.get_params(deep=False).get("unlabeled"))
    _check_labels(sample)
    protocol = Protocol(folds=cv, repeats=1, seed=seed) if cv else None
    if protocol is not None:
        check_folds(sample, protocol)
    model = around(learner, method, sample, for_new_rows=True)
    classes = np.unique(sample.y[sample.labelled(sample.y)]).tolist()
    if out is not None:
        check_saving(model, len(classes) if sample.task == "classification" else 0)
    start, n_rows = time.perf_counter(), len(sample.y)
    print_status(f"Learning from {n_rows} rows: {count(cv + 1, 'fit')}")
    folds = [] if protocol is None else cross_validate(model, sample, protocol)
    begun = time.perf_counter()
    model.fit(sample.X, sample.y)
    seconds = time.perf_counter() - begun
    fitted, names = last_step(model), names_after(model, schema.feature_names)
    result = {
        "method": method.name,
        "seed": seed,
        "data": {
            "target": sample.target,
            "task": sample.task,
            "classes": classes if sample.task == "classification" else None,
            "most_frequent": _most_frequent(sample),
            "rows": n_rows,
            "columns": {column.name: column.kind for column in schema.columns},
            "left_out": {column.name: column.reason for column in schema.left_out},
            "features": len(names),
        },
        "parameters": plain_parameters(fitted),
        "cross_validation": summarize_scores(folds),
        "fit": {
            "n_support": summarize(fitted).n_support,
            "functions": describe_functions(fitted, names),
            "kernel": describe_kernel(fitted, names),
            "seconds": seconds,
            "seconds_total": time.perf_counter() - start,
        },
        "versions": package_versions(),
        "model_file": None if out is None else str(out),
    }
    if out is not None:
        save(from_frames(model, schema), out, metadata=result)
    return result


def _check_installed(method: Method) -> None:
    """Raise ImportError if a method is not installed."""
    if not available(method):
        raise ImportError(f"{method.name} is not installed: pip install {method.package}")


def _make_learner(
    method: Method, given: dict[str, Any], sample: Sample, seed: int
) -> BaseEstimator:
    """Make an unfitted estimator with the given parameters; raise ValueError for unknown ones."""
    parameters = method.learner(sample.task)().get_params(deep=True).items()
    known = [name for name, value in parameters if not isinstance(value, BaseEstimator)]
    check_names(given, known, f"{method.name} for {sample.task}")
    n_rows = len(sample.y)
    if method.many is not None and n_rows >= method.many[0]:
        fewest, many = method.many
        if chosen := [f"{name}={value}" for name, value in many.items() if name not in given]:
            print_status(f"Note: {', '.join(chosen)} is the default for {fewest} or more rows")
    return replace(method, given=given).make_estimator(sample.task, seed=seed, n_rows=n_rows)


def _most_frequent(sample: Sample) -> dict[str, Any] | None:
    """Return the most frequent class and its share of the labelled rows; None for regression."""
    if sample.task == "regression":
        return None
    labels, counts = np.unique(sample.y[sample.labelled(sample.y)], return_counts=True)
    most = int(counts.argmax())
    return {"class": labels[most].item(), "share": float(counts[most] / counts.sum())}


def _check_labels(sample: Sample) -> None:
    """Raise TableError unless the target has `unlabeled` cells and at least two known classes."""
    if sample.unlabeled is None:
        return
    known = sample.labelled(sample.y)
    target, classes = quoted(sample.target), len(np.unique(sample.y[known]))
    if known.all():
        raise TableError(
            f"column {target} never contains {quoted(sample.unlabeled)}: expected some rows with "
            "the value that marks an unknown class"
        )
    if classes < 2:
        raise TableError(f"column {target}: expected at least two known classes, got {classes}")
