"""``pliant fit``: learn a model from a table, and test it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pliant.cli import table_options as options
from pliant.cli.console import show
from pliant.cli.fit.training import Order, train
from pliant.cli.outputs import STDOUT, check_outputs, write_json
from pliant.cli.parameters import whole
from pliant.cli.report import fit_report


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

    Example:  pliant fit patients.csv --target diagnosis --tune --out model.pliant
    """
    if out == STDOUT:
        raise ValueError("expected --out FILE, got '-': a model does not go to stdout")
    check_outputs([out, json], inputs=[table])
    form = options.table_format(sep, decimal, thousands, encoding, na_values)
    order = Order(
        method=method,
        target=target,
        task=task,
        table=options.TableOptions.of(missing, drop, keep, categorical, date_order, form),
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
