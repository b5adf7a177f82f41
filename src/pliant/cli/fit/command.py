"""``pliant fit``: learn a model from a table, and test it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pliant.cli import table_options as options
from pliant.cli.console import show
from pliant.cli.exit_codes import INTERRUPTED
from pliant.cli.fit.training import Order, train
from pliant.cli.outputs import STDOUT, check_outputs, write_json
from pliant.cli.parameters import whole
from pliant.cli.report import fit_report
from pliant.comparison.protocol import Protocol


def fit(
    table: Annotated[
        Path,
        typer.Argument(
            metavar="TABLE",
            help="CSV (also .gz, .tsv) or Parquet, with a header; a folder or 'pattern' of such.",
        ),
    ],
    target: Annotated[str, typer.Option(metavar="COLUMN", help="The column to learn.")],
    method: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Default: lab-rbf; pliant methods lists all."),
    ] = None,
    task: Annotated[
        str | None,
        typer.Option(metavar="classification|regression", help="Default: guessed from the target."),
    ] = None,
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
            parser=whole(),
            metavar="K",
            help="Folds of the cross-validation, 2 or more; 0 for none.",
        ),
    ] = 5,
    tune: Annotated[
        bool,
        typer.Option(
            "--tune", help="Choose settings from the method's grid, as in pliant compare."
        ),
    ] = False,
    metric: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="What --tune chooses by: accuracy, r2, ..."),
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
    seed: Annotated[
        int,
        typer.Option(
            parser=whole(0, 2**32 - 1), metavar="N", help="Decides which rows are in which fold."
        ),
    ] = 0,
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
    if out == STDOUT:
        raise ValueError("expected --out FILE, got '-': a model does not go to stdout")
    check_outputs([out, json], inputs=[table])
    form = options.table_format(sep, decimal, thousands, encoding, na_values, no_header)
    table_options = options.TableOptions.of(missing, drop, keep, categorical, date_order, form)
    if budget is not None:
        _check_alone(method, param, tune)
        race_and_save(
            table, target, task, table_options, budget, cv, metric, seed, out, json, single
        )
        return
    if single:
        raise ValueError("--single belongs to --budget: add --budget TIME, or leave it out")
    order = Order(
        method=method,
        target=target,
        task=task,
        table=table_options,
        words=tuple(param or ()),
        cv=cv,
        tune=tune,
        metric=metric,
        seed=seed,
    )
    result = train(table, order, out)
    if json is not None:
        write_json(json, result)
    if json != STDOUT:
        show(fit_report(result))


def _check_alone(method: str | None, param: list[str] | None, tune: bool) -> None:
    """Refuse options of a single method beside a budget."""
    given = {"--method": method, "--param": param, "--tune": tune or None}
    if wrong := [name for name, value in given.items() if value]:
        raise ValueError(f"expected --budget without {wrong[0]}: a race chooses the methods itself")


def race_and_save(
    table: Path,
    target: str,
    task: str | None,
    table_options: options.TableOptions,
    budget: str,
    folds: int,
    metric: str | None,
    seed: int,
    out: Path | None,
    json: Path | None,
    single: bool,
) -> None:
    """Race methods on a table under a budget, and save the blend or the best single method."""
    from pliant.cli.compare import Plan, all_as_text, ending, run_plan, save_best

    plan = Plan(
        (table,),
        target,
        budget=budget,
        protocol=Protocol(folds=folds, metric=metric, seed=seed),
        task=task,
        table=table_options,
        json=json,
        out=out,
        journal=False,
    )
    results = run_plan(plan)
    if json is not None:
        write_json(json, results[0].to_dict())
    if json != STDOUT:
        show(all_as_text(results))
    if out is not None:
        save_best(results[0], out, single=single)
    if json != STDOUT:
        show(f"\n{ending(plan, results)}")
    if results[0].interrupted:
        raise typer.Exit(INTERRUPTED)
