"""``pliant compare``: methods tested beside each other on one table or several."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pliant.cli import table_options as options
from pliant.cli.compare.fitting import fit_best as fit
from pliant.cli.compare.plan import BUDGET, Plan, method_names
from pliant.cli.compare.running import run_plan
from pliant.cli.compare.text import all_as_data, all_as_text, ending
from pliant.cli.console import show, tell
from pliant.cli.exit_codes import INTERRUPTED
from pliant.cli.outputs import STDOUT, write_json
from pliant.cli.parameters import whole
from pliant.comparison.protocol import Protocol
from pliant.comparison.report import write_report
from pliant.comparison.result import ComparisonResult
from pliant.core.text import count, quoted


def compare(
    tables: Annotated[
        list[Path],
        typer.Argument(
            metavar="TABLE",
            help="CSV (also .gz, .tsv) or Parquet, or a folder of such; one or more.",
        ),
    ],
    target: Annotated[str, typer.Option(metavar="COLUMN", help="The column to learn.")],
    methods: Annotated[
        str | None,
        typer.Option(metavar="NAME,NAME", help="Default: all for the task; see pliant methods."),
    ] = None,
    budget: Annotated[
        str, typer.Option(metavar="TIME|none", help="Such as 90s, 10m, 1h; for all tables.")
    ] = BUDGET,
    folds: Annotated[
        int, typer.Option(parser=whole(2, 100), metavar="K", help="Folds to test on.")
    ] = 5,
    repeats: Annotated[
        int, typer.Option(parser=whole(1, 100), metavar="N", help="How often folds are drawn.")
    ] = 2,
    group: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Rows of one group stay together in every fold."),
    ] = None,
    time: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Test on later rows only, by number or date."),
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
    metric: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="What to choose and rank by: accuracy, r2, ..."),
    ] = None,
    seed: Annotated[
        int, typer.Option(parser=whole(0, 2**32 - 1), metavar="N", help="Decides all draws.")
    ] = 0,
    jobs: Annotated[
        int | None,
        typer.Option(parser=whole(1, 1024), metavar="N", help="Default: one for each core."),
    ] = None,
    report: Annotated[
        Path | None, typer.Option(metavar="FILE.html", help="Write a report to read and share.")
    ] = None,
    json: Annotated[
        Path | None, typer.Option(metavar="FILE|-", help="Write the full result; - is stdout.")
    ] = None,
    fit_best: Annotated[
        bool, typer.Option("--fit-best", help="Fit the method to use on all rows, into --out.")
    ] = False,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE.pliant", help="Where --fit-best puts the model.")
    ] = None,
    cache: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Finished folds; default: TABLE.compare.jsonl, here."),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with what the cache holds.")
    ] = False,
) -> None:
    """Compare methods on one table or several, by nested cross-validation.

    All methods, and plain ones beside them, learn from the same rows and are
    tested on the same others: first with default settings, then with settings
    that are searched in each fold. Ctrl-C keeps finished folds.

    Example:  pliant compare patients.csv --target diagnosis --report report.html
    """
    form = options.table_format(sep, decimal, thousands, encoding, na_values)
    plan = Plan(
        tables=tuple(tables),
        target=target,
        methods=method_names(methods),
        budget=budget,
        protocol=Protocol(folds=folds, repeats=repeats, metric=metric, seed=seed),
        task=task,
        table=options.TableOptions.of(missing, drop, keep, categorical, date_order, form),
        group=group,
        time=time,
        jobs=jobs,
        cache=cache,
        resume=resume,
        report=report,
        json=json,
        fit_best=fit_best,
        out=out,
    )
    results = run_plan(plan)
    if json != STDOUT:
        show(all_as_text(results))
    if json is not None:
        write_json(json, all_as_data(results))
    if report is not None:
        write_report(results, report)
    if json != STDOUT:
        show(f"\n{ending(plan, results)}")
    if fit_best:
        tell(_fitted(plan, results[0]))
    if results[-1].interrupted:
        raise typer.Exit(INTERRUPTED)


def _fitted(plan: Plan, result: ComparisonResult) -> str:
    """Fit the method to use; return what was done."""
    learned = fit(plan, result)
    if learned is None:
        return "Note: no method can be recommended, so no model was fitted"
    rows = count(learned["data"]["rows"], "row")
    return f"Note: {quoted(plan.out, 200)} has a model by {learned['method']}, learned from {rows}"
