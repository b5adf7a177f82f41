"""From a table to a tested, fitted and saved model, with all that is worth telling about it."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from pliant.cli.console import learning, progress
from pliant.cli.fit.learning import METRICS, Fold, Learner, check_folds, labelled
from pliant.cli.model_facts import (
    functions,
    last_step,
    learned_kernel,
    plain_parameters,
    settings,
    versions,
)
from pliant.cli.parameters import check_names, parse_parameters
from pliant.comparison.run.cells import support_count
from pliant.core.exceptions import TableError
from pliant.core.files import quoted
from pliant.core.typing import Array, Mask
from pliant.persistence import save_model
from pliant.registry import Method, get_method, is_gamma
from pliant.tables import TableSchema, map_table, read_table

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Order", "describe", "summarise", "train"]

DEFAULT_FOLDS = 5
"""Folds to tune on when no cross-validation is asked for."""

WITHOUT_GAMMA = ("linear", "graph", "precomputed")
"""Kernels that have no gamma to tune."""


@dataclass(frozen=True)
class Order:
    """What ``pliant fit`` is asked to do.

    Parameters
    ----------
    method : str
        A name in the registry.
    target : str
        The column to learn.
    task, missing, drop
        As in `pliant.tables.TableSchema.fit`.
    words : tuple of str
        Parameters, each NAME=VALUE.
    cv : int
        Folds, or 0 for no scores.
    tune : bool
        Whether to choose the settings that `words` leaves open.
    seed : int
    """

    method: str
    target: str
    task: str | None = None
    missing: str = "error"
    drop: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    cv: int = 5
    tune: bool = False
    seed: int = 0


def train(table: Path, order: Order, out: Path | None) -> dict[str, Any]:
    """Do what is asked; return the full result as plain data.

    Parameters
    ----------
    table : Path
        What to learn from.
    order : Order
    out : Path or None
        Where the model is saved.

    Raises
    ------
    ValueError
        For a table, a target or a parameter that cannot be used; the message quotes it.
    """
    method, given = get_method(order.method), parse_parameters(order.words)
    schema, X, y = _read(table, order, method)
    learner = _learner(method, order, given, schema, X.shape[1])
    known = labelled(y, learner.unlabeled)
    _check_labels(y, known, learner.unlabeled, order.target)
    if order.cv:
        check_folds(y[known], learner.task, order.cv)
    start = time.perf_counter()
    n_fits = learner.n_fits * (1 + order.cv)
    with progress(learning(len(y), n_fits), n_fits) as tick:
        folds = learner.cross_validate(X, y, order.cv, tick) if order.cv else []
        model, seconds = learner.learn(X, y, tick)
    result = {
        "method": method.name,
        "seed": order.seed,
        "data": {**describe(schema, X, y[known]), "rows": len(y)},
        "parameters": plain_parameters(last_step(model)),
        "tuned": _chosen(last_step(model), learner),
        "cross_validation": summarise(folds, learner.task),
        "fit": _fit(last_step(model), schema, seconds, time.perf_counter() - start),
        "versions": versions(),
        "model_file": None if out is None else str(out),
    }
    if out is not None:
        save_model(model, out, schema=schema.to_dict(), metadata=result)
    return result


def _read(table: Path, order: Order, method: Method) -> tuple[TableSchema, Array, Array]:
    """Return the schema of a table, its features and its target, if they can be learned from.

    The features are a memory map for a method that takes one.
    """
    task, missing = cast(Any, order.task), cast(Any, order.missing)  # checked where they are used
    choices = {"task": task, "missing": missing, "drop": order.drop}
    if method.streams:
        schema, X, y = map_table(table, order.target, most_rows=method.max_rows, **choices)
    else:
        frame = _whole(table, method)
        schema = TableSchema.fit(frame, order.target, **choices)
        X, y = schema.features(frame), schema.target_values(frame)
    return schema, X, y


def _check_labels(y: Array, known: Mask, unlabeled: Any, target: str) -> None:
    """Raise TableError unless the known part of a target varies, and an unknown one is there."""
    if unlabeled is not None and known.all():
        raise TableError(
            f"column {quoted(target)} holds {quoted(unlabeled)} nowhere: expected some rows with "
            "the value that stands for an unknown class"
        )
    found = np.unique(y[known])
    if len(found) < 2:
        held = f"{quoted(found[0])} in all {known.sum()} rows" if len(found) else "no known class"
        raise TableError(f"column {quoted(target)} holds {held}: expected a target that varies")


def _whole(table: Path, method: Method) -> pd.DataFrame:
    """Return a table that is short enough for a method."""
    frame = read_table(table, stop=method.max_rows + 1)
    if len(frame) > method.max_rows:
        raise TableError(
            f"the table has more than {method.max_rows} rows, the most that {method.name} takes: "
            "take a sample, or another method (see pliant methods)"
        )
    return frame


def _learner(
    method: Method, order: Order, given: dict[str, Any], schema: TableSchema, n_features: int
) -> Learner:
    """Return the pipeline to fit, with what is to be tuned."""
    assert schema.target is not None
    machine = method.learner(schema.target.task)()
    known = settings(machine)
    check_names(given, known, f"{method.name} for {schema.target.task}")
    _check_checkpoint(order, given)
    seed = {"random_state": order.seed} if "random_state" in known else {}
    machine.set_params(**{**seed, **given})
    grid = _open(method.param_grid(n_features), given) if order.tune else None
    return Learner(
        machine,
        schema.target.task,
        grid,
        n_folds=order.cv or DEFAULT_FOLDS,
        seed=order.seed,
        standardise=not method.streams,
    )


def _check_checkpoint(order: Order, given: dict[str, Any]) -> None:
    """Raise ValueError if the folder of one fit is to be that of many."""
    if given.get("checkpoint") is not None and (order.cv or order.tune):
        raise ValueError("--param checkpoint=FOLDER is for one fit: add --cv 0, without --tune")


def _open(grid: Mapping[str, Sequence[Any]], given: dict[str, Any]) -> dict[str, Sequence[Any]]:
    """Return the part of a grid that the given parameters leave open."""
    taken = {*given, *(name for name in grid if _has_no_gamma(name, given))}
    free = {name: values for name, values in grid.items() if name not in taken}
    if not free:
        raise ValueError(f"--tune has nothing to choose: {', '.join(grid)} are given")
    return free


def _has_no_gamma(name: str, given: dict[str, Any]) -> bool:
    """Return whether this is a gamma, and the given kernel has none."""
    kernel = given.get(f"{name.removesuffix('gamma')}kernel", "")
    return is_gamma(name) and (not isinstance(kernel, str) or kernel in WITHOUT_GAMMA)


def describe(schema: TableSchema, X: Array, y: Array) -> dict[str, Any]:
    """Return what a table is about."""
    assert schema.target is not None
    kinds = {column.name: column.kind for column in schema.columns}
    classes = np.unique(y).tolist() if schema.target.task == "classification" else None
    return {
        "target": schema.target.name,
        "task": schema.target.task,
        "classes": classes,
        "rows": len(y),
        "features": X.shape[1],
        "columns": kinds,
    }


def _chosen(machine: Any, learner: Learner) -> dict[str, Any] | None:
    """Return the settings that tuning chose, or None if there was none."""
    if learner.grid is None:
        return None
    chosen = settings(machine)
    return {name: chosen[name] for name in learner.grid}


def summarise(folds: Sequence[Fold], task: str) -> dict[str, Any] | None:
    """Return mean, spread (sample standard deviation) and single values of each metric."""
    if not folds:
        return None
    values = {name: [fold.scores[name] for fold in folds] for name in METRICS[task]}
    scores = {
        name: {"mean": float(np.mean(v)), "std": float(np.std(v, ddof=1)), "folds": v}
        for name, v in values.items()
    }
    return {"folds": len(folds), "scores": scores}


def _fit(machine: Any, schema: TableSchema, seconds: float, total: float) -> dict[str, Any]:
    """Return what came out of the fit on all rows."""
    return {
        "n_support": support_count(machine),
        "functions": functions(machine, schema.feature_names),
        "kernel": learned_kernel(machine),
        "seconds": seconds,
        "seconds_total": total,
    }
