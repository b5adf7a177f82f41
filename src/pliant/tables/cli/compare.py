"""``pliant compare``: race methods on tables, save their blend, and write a report."""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from pliant.core.exceptions import TableError
from pliant.core.text import printable, quoted
from pliant.persistence import save
from pliant.tables.cli.exit_codes import ExitCode
from pliant.tables.cli.options import (
    Json,
    Seed,
    TableOptions,
    Target,
    Text,
    flag,
    option,
    single_target,
    with_table_options,
)
from pliant.tables.cli.outputs import (
    STDOUT,
    check_outputs,
    print_result,
    print_status,
    with_options,
    write_json,
)
from pliant.tables.cli.report import format_facts, quote_path, summarize_scores
from pliant.tables.comparison.cells import close_all, warm_up
from pliant.tables.comparison.comparing import SHORT, compare_sample
from pliant.tables.comparison.contenders import named
from pliant.tables.comparison.folds import check_folds, settled
from pliant.tables.comparison.journal import key_of, package_versions, read_journal
from pliant.tables.comparison.metrics import metric_of
from pliant.tables.comparison.options import RunOptions
from pliant.tables.comparison.outcome import across
from pliant.tables.comparison.page import write_report
from pliant.tables.comparison.protocol import BLEND, Protocol
from pliant.tables.comparison.race import ProgressLines
from pliant.tables.comparison.reading import read_sample, table_name
from pliant.tables.comparison.result import ComparisonResult
from pliant.tables.comparison.sample import Sample
from pliant.tables.comparison.text import TextColumn, text_table, wrap


@dataclass(frozen=True)
class Plan:
    """Options of `compare`.

    The budget of `run` is for all tables. Without a cache, the finished cells of each table are
    stored in the current folder.
    """

    tables: tuple[Path, ...]
    target: str
    methods: tuple[str, ...] | Literal["all"] | None = None
    protocol: Protocol = field(default_factory=Protocol)
    run: RunOptions = field(default_factory=RunOptions)
    table: TableOptions = field(default_factory=TableOptions)
    group: str | None = None
    time: str | None = None
    report: Path | None = None
    json: Path | None = None
    out: Path | None = None
    single: bool = False

    @property
    def names(self) -> list[str]:
        """Table names derived from the file names; repeated names are numbered."""
        names = [table_name(path) for path in self.tables]
        numbers = [names[: place + 1].count(name) for place, name in enumerate(names)]
        return [name if k == 1 else f"{name}-{k}" for name, k in zip(names, numbers, strict=True)]

    @property
    def caches(self) -> list[Path]:
        """The file of finished cells for each table."""
        if self.run.cache is not None:
            return [Path(self.run.cache)]
        return [Path(f"{name}.compare.jsonl") for name in self.names]


@with_table_options
def compare(
    context: typer.Context,
    tables: Annotated[
        list[Path],
        typer.Argument(
            metavar="TABLE",
            help="One or more CSV (also .gz, .tsv), Parquet or LIBSVM files, or folders of files.",
        ),
    ],
    *,
    target: Target,
    methods: Annotated[
        Text, option("NAME,NAME|all", "Default: LAB-RBF and common methods.")
    ] = None,
    budget: Annotated[str, option("TIME|none", "Total time, such as 90s, 10m or 1h.")] = "5m",
    folds: Annotated[int, option("K", "Number of test folds.", min=2, max=100)] = 5,
    repeats: Annotated[int, option("N", "Maximum CV repeats.", min=1, max=100)] = 2,
    group: Annotated[Text, option("COLUMN", "Keep the rows of each group in one fold.")] = None,
    time: Annotated[Text, option("COLUMN", "Test on later rows, by number or date.")] = None,
    options: TableOptions,
    metric: Annotated[Text, option("NAME", "Ranking metric: r2, log_loss, f1_macro, ...")] = None,
    seed: Seed = 0,
    jobs: Annotated[
        int | None, option("N", "Worker processes; default: one per core.", min=1, max=1024)
    ] = None,
    report: Annotated[Path | None, option("FILE.html", "Write an HTML report.")] = None,
    json: Json = None,
    out: Annotated[
        Path | None, option("FILE.pliant", "Save the blend, fitted to all rows.")
    ] = None,
    single: Annotated[bool, flag("--single", "Save the best single method instead.")] = False,
    cache: Annotated[
        Path | None, option("FILE", "File of finished folds; default: TABLE.compare.jsonl.")
    ] = None,
    resume: Annotated[bool, flag("--resume", "Continue from the finished folds.")] = False,
) -> None:
    """Race methods on one or more tables, and blend the best of them.

    All methods share the same training and test folds. Ctrl-C keeps finished folds.

    Example:  pliant compare patients.csv --target diagnosis --report report.html
    """
    run_plan(
        Plan(
            tables=tuple(tables),
            target=single_target(target),
            methods=parse_methods(methods),
            protocol=Protocol(folds=folds, repeats=repeats, metric=metric, seed=seed),
            run=RunOptions(
                parse_duration(budget), jobs, cache=cache, resume=resume, command=context.obj
            ),
            table=options,
            group=group,
            time=time,
            report=report,
            json=json,
            out=out,
            single=single,
        )
    )


def run_plan(plan: Plan) -> None:
    """Race the methods, show the results, and write the output files."""
    results = race(plan)
    if results[0].interrupted and results[0].best is None:
        plan = replace(plan, out=None)  # there is no model to save
    if plan.json != STDOUT:
        print_result(results_as_text(results))
    if plan.json is not None:
        write_json(plan.json, results_as_data(results))
    if plan.report is not None:
        write_report(results, plan.report)
    if plan.out is not None:
        save_best(results[0], plan.out, single=plan.single)
    if plan.json != STDOUT:
        print_result(f"\n{format_ending(plan, results)}")
    if results[-1].interrupted:
        raise typer.Exit(ExitCode.INTERRUPTED)


def parse_duration(text: str) -> float | None:
    """Return the seconds in a time such as ``90s``, ``10m`` or ``1h30m``; None for ``none``."""
    plain = text.strip().lower()
    if plain == "none":
        return None
    parts = [rf"(?:(\d+\.?\d*|\.\d+){unit})?" for unit in "hms"]
    match = re.fullmatch("".join(parts), plain, re.ASCII)
    hours, minutes, seconds = (float(part or 0) for part in match.groups()) if match else (0, 0, 0)
    found = 3600.0 * hours + 60.0 * minutes + seconds
    if not found > 0:
        raise ValueError(f"expected --budget TIME such as 90s, 10m, 1h or none, got {quoted(text)}")
    return found


def parse_methods(text: str | None) -> tuple[str, ...] | Literal["all"] | None:
    """Parse a list of methods such as ``dank,svm``; raise ValueError for unknown methods."""
    if text is None:
        return None
    if text.strip() == "all":
        return "all"
    names = [named(name.strip()).name for name in text.split(",")]
    if twice := [name for name, times in Counter(names).items() if times > 1]:
        raise ValueError(f"expected each method once in --methods, got {twice[0]} twice")
    return tuple(names)


def race(plan: Plan) -> list[ComparisonResult]:
    """Check all options and tables, then race on each table; stop after Ctrl-C.

    Tables share the budget equally; time unused by a table is added to the next ones.
    """
    budget = plan.run.budget
    ends = time.monotonic() + (budget or 0.0)  # includes the time to read the tables
    _check_options(plan)
    try:
        if budget is None or budget >= SHORT:
            warm_up(plan.run.jobs)
        tables = _read_tables(plan)
        _check_journals(plan, tables)
    except BaseException:
        close_all()
        raise
    results: list[ComparisonResult] = []
    for sample, cache in zip(tables, plan.caches, strict=True):
        share = (ends - time.monotonic()) / (len(tables) - len(results))
        # Once the budget is spent, pass a millisecond, so that all cells are listed as cut.
        seconds_left = budget and max(share, 1e-3)
        results.append(_race_table(plan, sample, cache, seconds_left))
        if results[-1].interrupted:
            break
    return results


def save_best(result: ComparisonResult, path: Path, *, single: bool = False) -> None:
    """Fit the blend or the best single method on all rows, and save it.

    Raises
    ------
    ValueError
        If all fits failed.
    """
    chosen = result.best
    if single and result.best_single is not None:
        chosen = result.best_single.method.name
    if chosen is None:
        raise ValueError("no method has a score, so there is no model to save")
    names = result.weights if chosen == BLEND else [chosen]
    fitted = result.source.fitted if result.source is not None else {}  # during the comparison
    if not all(name in fitted for name in names):
        print_status(f"Fitting {'the blend' if chosen == BLEND else chosen} on all rows")
    model = result.fit_best(chosen)
    save(model, path, metadata=describe_model(result, chosen, result.sample["rows"]))


def describe_model(result: ComparisonResult | None, chosen: str, rows: int) -> dict[str, Any]:
    """Return the metadata of a model file for a method or blend, fitted to the given rows."""
    blend = result.blend if result is not None and chosen == BLEND else None
    records = () if result is None else result.records
    folds = [each["scores"] for each in records if each["method"] == chosen]
    folds = folds if blend is None else [*blend.scores.values()]
    titled = [{metric_of(name).title: value for name, value in each.items()} for each in folds]
    recommended = result is not None and chosen == result.best
    return {
        "method": chosen,
        "weights": {} if blend is None else blend.weights,
        "data": {"rows": rows},
        "cross_validation": summarize_scores(titled),
        "sentence": result.sentence() if result is not None and recommended else None,
        "versions": package_versions(),
    }


def _check_options(plan: Plan) -> None:
    """Raise an error for conflicting options before any table is read."""
    if twice := [path for path, times in Counter(plan.tables).items() if times > 1]:
        raise TableError(f"expected each table once, got {quoted(twice[0], 200)} twice")
    if plan.run.cache is not None and len(plan.tables) > 1:
        raise ValueError("--cache applies to a single table: drop it, or give one table")
    if STDOUT in (plan.report, plan.run.cache, plan.out):
        raise ValueError("expected a file name, got '-': only --json can be written to stdout")
    if plan.group is not None and plan.time is not None:
        raise ValueError("--group and --time cannot be combined")
    if plan.single and plan.out is None:
        raise ValueError("--single needs --out: add --out FILE")
    if plan.out is not None and len(plan.tables) > 1:
        raise ValueError(f"--out saves a single model: expected one table, got {len(plan.tables)}")
    check_outputs([plan.report, plan.json, plan.out, *plan.caches], inputs=plan.tables)


def _read_tables(plan: Plan) -> list[Sample]:
    """Read and check all tables; errors name the table if there are several."""
    tables = []
    for path, name in zip(plan.tables, plan.names, strict=True):
        try:
            sample = read_sample(
                path,
                plan.target,
                group=plan.group,
                time=plan.time,
                folds=plan.protocol.folds,
                **vars(plan.table),
            )
            plan.protocol.metric_for(sample.task)
            check_folds(sample, plan.protocol)
        except ValueError as error:
            if len(plan.tables) == 1:
                raise
            raise TableError(f"{quoted(path, 200)}: {error}") from None
        notes = tuple(map(with_options, sample.notes))  # the report shows them
        tables.append(replace(sample, name=name, notes=notes))
    return tables


def _check_journals(plan: Plan, samples: Sequence[Sample]) -> None:
    """Raise an error for journals of another comparison; print notes on tables and journals."""
    for sample, cache in zip(samples, plan.caches, strict=True):
        for note in sample.notes:
            print_status(f"Note: {printable(sample.name, 40)}: {note}")
        key = key_of(sample, settled(plan.protocol, sample))
        read_journal(cache, key, resume=plan.run.resume)  # raises an error for an unusable file
        if cache.exists() and not plan.run.resume:
            print_status(f"Note: {quoted(cache, 200)} is renamed to {quoted(f'{cache}.old', 200)}")
    files = ", ".join(quoted(path, 200) for path in plan.caches)
    print_status(f"Note: finished folds are saved in {files}; --resume continues from there")
    if plan.report is not None and find_spec("matplotlib") is None:
        print_status("Note: plots in the report need matplotlib: pip install 'pliant[plots]'")


def _race_table(plan: Plan, sample: Sample, cache: Path, budget: float | None) -> ComparisonResult:
    """Race methods on one table, and print a line for each finished fold."""
    protocol = settled(plan.protocol, sample)
    title = printable(sample.name, 40)
    lines = ProgressLines(protocol.metric_for(sample.task), protocol, title)
    progress = None if plan.json == STDOUT else lines
    options = replace(plan.run, budget=budget, cache=cache, progress=progress)
    return compare_sample(sample, plan.methods, plan.protocol, options, single=plan.single)


def results_as_text(results: Sequence[ComparisonResult]) -> str:
    """Format the results for each table, then over all tables."""
    over_all = [_format_ranks(results)] if len(results) > 1 else []
    return "\n\n\n".join([*map(repr, results), *over_all])


def results_as_data(results: Sequence[ComparisonResult]) -> dict[str, Any]:
    """Return the results as plain data; several tables are listed under "tables"."""
    data = [result.to_dict() for result in results]
    if len(data) == 1:
        return data[0]
    try:
        over_all = across(results).to_dict()
    except ValueError as reason:
        over_all = {"reason": str(reason)}
    return {"tables": data, "across": over_all}


def _format_ranks(results: Sequence[ComparisonResult]) -> str:
    """Format the average ranks over all tables, or the reason why there are none."""
    title = f"Over {len(results)} tables"
    try:
        ranking = across(results)
    except ValueError as reason:
        return wrap(f"{title}: no ranks, {printable(reason, 400)}")
    rows: list[dict[str, str | float]] = [
        {"method": entry.title, "rank": float(rank)}
        for entry, rank in zip(ranking.methods, ranking.ranks, strict=True)
    ]
    columns = (TextColumn("method"), TextColumn("rank", "average rank", digits=2))
    return "\n\n".join([title, text_table(rows, columns).rstrip(), wrap(ranking.sentence())])


def format_ending(plan: Plan, results: Sequence[ComparisonResult]) -> str:
    """Format the list of written files and the next steps."""
    kept = "finished folds; --resume continues from there"
    best = results[0].best_single if plan.single else None
    model = "the model" if best is None else f"the best single method, {best.method.title}"
    written = [
        (plan.out, model),
        (plan.report, "the report: open it in a browser"),
        (plan.json, "the full result as JSON"),
    ]
    files = [*written, *((cache, kept) for cache in plan.caches[: len(results)])]
    named_files = [(printable(p, 200), what) for p, what in files if p not in (None, STDOUT)]
    steps = []
    cut = any(
        entry.status in ("cut", "unfinished") for result in results for entry in result.methods
    )
    if cut or results[-1].interrupted:
        longer = "" if results[-1].interrupted else " and a larger --budget"
        steps.append(f"the same command with --resume{longer}: runs the missing folds")
    if plan.out is not None:
        steps.append(f"pliant predict {quote_path(plan.out)} NEW_TABLE --out predictions.csv")
    elif len(results) == 1 and results[0].best is not None:
        steps.append("the same command with --resume --out model.pliant: saves the model")
    following = ["Next:\n" + "\n".join(f"  {step}" for step in steps)] if steps else []
    return "\n\n".join([*([format_facts(named_files)] if named_files else []), *following])
