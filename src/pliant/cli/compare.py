"""``pliant compare``: methods raced on tables, their blend saved, a report written."""

from __future__ import annotations

import re
import shlex
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from joblib import cpu_count

from pliant.cli import table_options as options
from pliant.cli.console import show, tell
from pliant.cli.exit_codes import INTERRUPTED
from pliant.cli.model_facts import summarised, versions
from pliant.cli.outputs import STDOUT, check_outputs, write_json
from pliant.cli.parameters import whole
from pliant.cli.report import facts, paragraph, program, word
from pliant.comparison.comparing import compare_sample
from pliant.comparison.contenders import named
from pliant.comparison.folds import check_folds, settled
from pliant.comparison.journal import key_of, read_journal
from pliant.comparison.metrics import metric_of
from pliant.comparison.outcome import across
from pliant.comparison.page import write_report
from pliant.comparison.protocol import BLEND, Protocol
from pliant.comparison.race import ProgressLines
from pliant.comparison.reading import read_sample, table_name
from pliant.comparison.result import ComparisonResult
from pliant.comparison.sample import Sample
from pliant.comparison.sentences import leaderboard_text, missing_of
from pliant.comparison.text import TextColumn, seconds, text_table
from pliant.comparison.workers import close_all, warm_up
from pliant.core.exceptions import TableError
from pliant.core.text import count, printable, quoted
from pliant.persistence import save_model

DURATION = re.compile(r"(?:([\d.]+)h)?(?:([\d.]+)m)?(?:([\d.]+)s)?", re.ASCII)
SECONDS = (3600.0, 60.0, 1.0)

BUDGET = "5m"
"""The budget by default, as it is written."""

LEAST = 1e-3
"""Seconds for a table when all of the budget is spent: its cells are then listed as cut."""


@dataclass(frozen=True)
class Plan:
    """The options of ``pliant compare``; see there.

    The `budget` is as it was written, see `duration`. Without a `cache` there is a file of finished
    cells for each table in the current folder; without a `journal` there is none.
    """

    tables: tuple[Path, ...]
    target: str
    methods: tuple[str, ...] | Literal["all"] | None = None
    budget: str = BUDGET
    protocol: Protocol = field(default_factory=Protocol)
    task: str | None = None
    table: options.TableOptions = field(default_factory=options.TableOptions)
    group: str | None = None
    time: str | None = None
    jobs: int | None = None
    cache: Path | None = None
    resume: bool = False
    report: Path | None = None
    json: Path | None = None
    out: Path | None = None
    single: bool = False
    journal: bool = True

    @property
    def names(self) -> list[str]:
        """The name of each table: that of its file, numbered where several share one."""
        names = [table_name(path) for path in self.tables]
        seen = Counter[str]()
        for place, name in enumerate(names):
            seen[name] += 1
            names[place] = name if seen[name] == 1 else f"{name}-{seen[name]}"
        return names

    @property
    def caches(self) -> list[Path | None]:
        """The file of finished cells of each table."""
        if not self.journal:
            return [None] * len(self.tables)
        if self.cache is not None:
            return [self.cache]
        return [Path(f"{name}.compare.jsonl") for name in self.names]

    @property
    def command(self) -> str:
        """The command that repeats this."""
        methods = self.methods if isinstance(self.methods, str) else ",".join(self.methods or ())
        given = {
            "--methods": methods or None,
            "--budget": self.budget,
            "--folds": str(self.protocol.folds),
            "--repeats": str(self.protocol.repeats),
            "--seed": str(self.protocol.seed),
            "--metric": None if self.protocol.metric is None else str(self.protocol.metric),
            "--task": self.task,
            "--group": self.group,
            "--time": self.time,
        }
        words = ["pliant", "compare", *map(str, self.tables), "--target", self.target]
        words += self.table.words
        words += [word for pair in given.items() if pair[1] is not None for word in pair if word]
        return shlex.join(words)


def compare(
    tables: Annotated[
        list[Path],
        typer.Argument(
            metavar="TABLE",
            help="CSV (also .gz, .tsv) or Parquet, or a folder of such; one or more.",
        ),
    ],
    target: options.Target,
    methods: Annotated[
        str | None,
        typer.Option(
            metavar="NAME,NAME|all", help="Default: seven contenders; see pliant methods."
        ),
    ] = None,
    budget: Annotated[
        str, typer.Option(metavar="TIME|none", help="Such as 90s, 10m, 1h; for all tables.")
    ] = BUDGET,
    folds: Annotated[
        int, typer.Option(parser=whole(2, 100), metavar="K", help="Folds to test on.")
    ] = 5,
    repeats: Annotated[
        int, typer.Option(parser=whole(1, 100), metavar="N", help="Draws of the folds, at most.")
    ] = 2,
    group: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Rows of one group stay together in every fold."),
    ] = None,
    time: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Test on later rows only, by number or date."),
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
    metric: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="What to rank by: r2, log_loss, f1_macro, ..."),
    ] = None,
    seed: options.Seed = 0,
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
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE.pliant", help="Fit the blend on all rows and save it."),
    ] = None,
    single: Annotated[
        bool, typer.Option("--single", help="Save the best single method in place of the blend.")
    ] = False,
    cache: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Finished folds; default: TABLE.compare.jsonl, here."),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with what the cache holds.")
    ] = False,
) -> None:
    """Race methods on one table or several, and blend the best of them.

    All methods learn from the same rows and are tested on the same others, fold
    by fold. Ctrl-C keeps finished folds.

    Example:  pliant compare patients.csv --target diagnosis --report report.html
    """
    read = options.TableOptions.of(locals())
    carry_out(
        Plan(
            tables=tuple(tables),
            target=options.only(target),
            methods=method_names(methods),
            budget=budget,
            protocol=Protocol(folds=folds, repeats=repeats, metric=metric, seed=seed),
            task=task,
            table=read,
            group=group,
            time=time,
            jobs=jobs,
            cache=cache,
            resume=resume,
            report=report,
            json=json,
            out=out,
            single=single,
        )
    )


def carry_out(plan: Plan) -> None:
    """Race, show the results, and write what is asked for."""
    results = run_plan(plan)
    if results[0].interrupted and results[0].best is None:
        plan = replace(plan, out=None)  # there is nothing to save
    if plan.json != STDOUT:
        show(all_as_text(results))
    if plan.json is not None:
        write_json(plan.json, all_as_data(results))
    if plan.out is not None:
        save_best(results[0], plan.out, single=plan.single)
    if plan.report is not None:
        write_report(results, plan.report)
    if plan.json != STDOUT:
        show(f"\n{ending(plan, results)}")
    if results[-1].interrupted:
        raise typer.Exit(INTERRUPTED)


def duration(text: str) -> float | None:
    """Return the seconds of a time such as ``90s``, ``10m`` or ``1h30m``; None for ``none``."""
    match = DURATION.fullmatch(text.strip().lower())
    if text.strip().lower() == "none":
        return None
    try:
        parts = [float(part or 0) for part in match.groups()] if match else []
    except ValueError:
        parts = []
    found = sum(part * unit for part, unit in zip(parts, SECONDS, strict=False))
    if not found > 0:
        raise ValueError(
            f"expected --budget TIME, such as 90s, 10m or 1h, or none, got {quoted(text)}"
        )
    return found


def method_names(text: str | None) -> tuple[str, ...] | Literal["all"] | None:
    """Return the methods that a list such as ``dank,svm`` names; each must be known."""
    if text is None:
        return None
    if text.strip() == "all":
        return "all"
    names = [named(name.strip()).name for name in text.split(",")]
    if twice := [name for name, times in Counter(names).items() if times > 1]:
        raise ValueError(f"expected each method once in --methods, got {twice[0]} twice")
    return tuple(names)


def run_plan(plan: Plan) -> list[ComparisonResult]:
    """Check everything, then race on table after table; less results than tables after Ctrl-C.

    Tables share the budget equally; the time that one leaves is for those that follow.
    """
    budget = duration(plan.budget)
    ends = time.monotonic() + (budget or 0.0)  # reading the tables counts
    _check(plan)
    warm_up(plan.jobs or cpu_count())
    try:
        tables = _tables(plan)
        _prepare(plan, tables)
    except BaseException:
        close_all()
        raise
    results: list[ComparisonResult] = []
    for sample, cache in zip(tables, plan.caches, strict=True):
        share = (ends - time.monotonic()) / (len(tables) - len(results))
        seconds_left = budget and max(share, LEAST)
        results.append(_raced(plan, sample, cache, seconds_left))
        if results[-1].interrupted:
            break
    return results


def save_best(result: ComparisonResult, path: Path, *, single: bool = False) -> None:
    """Fit the blend, or the best single method, on all rows and save it.

    Raises
    ------
    ValueError
        If no method finished a fold, or no model file can hold the best single method.
    """
    chosen = result.best
    if single and result.best_single is not None:
        chosen = result.best_single.method.name
    if chosen is None:
        raise ValueError("no method finished a fold, so there is no model to save")
    entry = next((each for each in result.methods if each.name == chosen), None)
    if entry is not None and not entry.blends:
        raise ValueError(
            f"--out cannot save a model of {entry.name}: model files hold no estimators of other "
            "packages; leave --single out, or name others with --methods"
        )
    tell(f"Fitting {'the blend' if chosen == BLEND else chosen} on all rows")
    start = time.perf_counter()
    model = result.fit_numbers(chosen)
    schema = result.source.sample.schema if result.source else None
    assert schema is not None
    metadata = _metadata(result, chosen, time.perf_counter() - start)
    save_model(model, path, schema=schema.to_dict(), metadata=metadata)


def _metadata(result: ComparisonResult, chosen: str, took: float) -> dict[str, Any]:
    """Return the facts of a chosen model for ``pliant info``."""
    blend = result.blend if chosen == BLEND else None
    folds = [each["scores"] for each in result.records if each["method"] == chosen]
    folds = folds if blend is None else [*blend.scores.values()]
    titled = [{metric_of(name).title: value for name, value in each.items()} for each in folds]
    return {
        "method": chosen,
        "weights": {} if blend is None else blend.weights,
        "data": {"rows": result.sample["rows"]},
        "cross_validation": summarised(titled),
        "sentence": result.sentence() if chosen == result.best else None,
        "seconds": took,
        "versions": versions(),
    }


def _check(plan: Plan) -> None:
    """Refuse what can be refused without a look into the tables."""
    if twice := [path for path, times in Counter(plan.tables).items() if times > 1]:
        raise TableError(f"expected each table once, got {quoted(twice[0], 200)} twice")
    if plan.cache is not None and len(plan.tables) > 1:
        raise ValueError("--cache names the file of one table: leave it out for several")
    if STDOUT in (plan.report, plan.cache, plan.out):
        raise ValueError("expected the name of a file, got '-': only --json can go to stdout")
    if plan.group is not None and plan.time is not None:
        raise ValueError("expected --group or --time, got both")
    if plan.single and plan.out is None:
        raise ValueError("--single says what --out saves: add --out FILE")
    if plan.out is not None and len(plan.tables) > 1:
        raise ValueError("--out saves one model: give one table")
    check_outputs([plan.report, plan.json, plan.out, *plan.caches], inputs=plan.tables)


def _tables(plan: Plan) -> list[Sample]:
    """Read all tables, and refuse those that cannot be used; an error names the table."""
    tables = []
    for path, name in zip(plan.tables, plan.names, strict=True):
        try:
            sample = read_sample(
                path,
                plan.target,
                task=plan.task,
                group=plan.group,
                time=plan.time,
                folds=plan.protocol.folds,
                **plan.table.choices,
            )
            plan.protocol.metric_for(sample.task)
            check_folds(sample, plan.protocol)
        except ValueError as error:
            if len(plan.tables) == 1:
                raise
            raise TableError(f"{quoted(path, 200)}: {error}") from None
        tables.append(replace(sample, name=name))
    return tables


def _prepare(plan: Plan, samples: Sequence[Sample]) -> None:
    """Refuse journals of another comparison, and print notes on tables and journals."""
    for sample, cache in zip(samples, plan.caches, strict=True):
        for note in sample.notes:
            tell(f"Note: {printable(sample.name, 40)}: {note}")
        if cache is None:
            continue
        key = key_of(sample, settled(plan.protocol, sample))
        read_journal(cache, key, resume=plan.resume)  # refuse what cannot be used
        if cache.exists() and not plan.resume:
            tell(f"Note: what {quoted(cache, 200)} held is kept in {quoted(f'{cache}.old', 200)}")
    files = ", ".join(quoted(path, 200) for path in plan.caches if path is not None)
    if files:
        tell(f"Note: finished folds are kept in {files}; --resume goes on from there")
    if plan.report is not None and find_spec("matplotlib") is None:
        tell("Note: no pictures in the report: they need matplotlib: pip install 'pliant[plots]'")


def _raced(
    plan: Plan, sample: Sample, cache: Path | None, budget: float | None
) -> ComparisonResult:
    """Race methods on one table, and print a line for each fold."""
    protocol = settled(plan.protocol, sample)
    title = printable(sample.name, 40)
    lines = ProgressLines(protocol.metric_for(sample.task), protocol, title)
    return compare_sample(
        sample,
        plan.methods,
        plan.protocol,
        budget=budget,
        n_jobs=plan.jobs,
        cache=cache,
        resume=plan.resume,
        progress=None if plan.json == STDOUT else lines,
        command=plan.command,
    )


def all_as_text(results: Sequence[ComparisonResult]) -> str:
    """Return the results on each table, and then over all of them."""
    over_all = [_text_over_tables(results)] if len(results) > 1 else []
    return "\n\n\n".join([*map(_text, results), *over_all])


def all_as_data(results: Sequence[ComparisonResult]) -> dict[str, Any]:
    """Return the same as plain data: that of one table, or of each under "tables"."""
    data = [result.to_dict() for result in results]
    if len(data) == 1:
        return data[0]
    try:
        over_all = across(results).to_dict()
    except ValueError as reason:
        over_all = {"reason": str(reason)}
    return {"tables": data, "across": over_all}


def _text(result: ComparisonResult) -> str:
    """Return the result on one table: the leaderboard, in words, and what is missing."""
    missing = "\n".join(paragraph(line) for line in missing_of(result))
    blocks = [_headline(result), leaderboard_text(result), paragraph(result.sentence()), missing]
    return "\n\n".join(block for block in blocks if block)


def _headline(result: ComparisonResult) -> str:
    """Return the table with its size, and the folds of the scores."""
    sample = result.sample
    classes = "" if sample["classes"] is None else f", {len(sample['classes'])} classes"
    size = f"{count(sample['rows'], 'row')}, {count(sample['features'], 'feature')}{classes}"
    name, target = printable(sample["name"], 40), quoted(sample["target"], 30)
    kept = "" if sample["groups"] is None else f" of {count(sample['groups'], 'group')}"
    kept = " of later rows" if sample["ordered"] else kept
    folds = max((s.folds for s in result.standings() if s.rank is not None), default=0)
    how = f"Scores on {count(folds, 'held-out fold')}{kept}, {seconds(result.seconds)}"
    return f"{name}: {result.task} of {target}, {size}\n{how}"


def _text_over_tables(results: Sequence[ComparisonResult]) -> str:
    """Return the ranks over all tables and what they show; or why there are none."""
    title = f"Over {len(results)} tables"
    try:
        ranking = across(results)
    except ValueError as reason:
        return paragraph(f"{title}: no ranks, {printable(reason, 400)}")
    rows: list[dict[str, str | float]] = [
        {"method": entry.title, "rank": float(rank)}
        for entry, rank in zip(ranking.methods, ranking.ranks, strict=True)
    ]
    columns = (TextColumn("method"), TextColumn("rank", "average rank", digits=2))
    return "\n\n".join([title, text_table(rows, columns).rstrip(), paragraph(ranking.sentence())])


def ending(plan: Plan, results: Sequence[ComparisonResult]) -> str:
    """Return the written files, and the next steps."""
    kept = "finished folds; --resume goes on from there"
    written = [
        (plan.out, "the model"),
        (plan.report, "the report: open it in a browser"),
        (plan.json, "all of it as JSON"),
    ]
    files = [*written, *((cache, kept) for cache in plan.caches[: len(results)])]
    named_files = [(printable(p, 200), what) for p, what in files if p not in (None, STDOUT)]
    steps = []
    cut = any(entry.status == "cut" for result in results for entry in result.methods)
    if plan.journal and (cut or results[-1].interrupted):
        longer = "" if results[-1].interrupted else ", with a larger --budget,"
        steps.append(f"the same command{longer} and --resume: runs what is missing")
    if plan.out is not None:
        steps.append(f"{program()} predict {word(plan.out)} NEW_TABLE --out predictions.csv")
    elif len(results) == 1:
        resume = ", --resume" if plan.journal else ""
        steps.append(f"the same command{resume} and --out model.pliant: saves the model")
    following = ["Next:\n" + "\n".join(f"  {step}" for step in steps)] if steps else []
    return "\n\n".join([*([facts(named_files)] if named_files else []), *following])
