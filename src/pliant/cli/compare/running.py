"""Behind ``pliant compare``: checks first, then table after table under one budget."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

from joblib import cpu_count

from pliant.cli.compare.live import live
from pliant.cli.compare.plan import Plan, duration
from pliant.cli.console import tell
from pliant.cli.outputs import STDOUT, check_outputs
from pliant.comparison.comparing import check_metric, compare_sample
from pliant.comparison.metrics import METRICS, metrics_of
from pliant.comparison.reading import read_sample
from pliant.comparison.result import ComparisonResult
from pliant.comparison.run.folds import check_folds, settled
from pliant.comparison.run.isolation import close_all, warm_up
from pliant.comparison.run.journal import key_of, read_journal
from pliant.comparison.sample import Sample
from pliant.core.exceptions import TableError
from pliant.core.text import printable, quoted

LEAST = 1e-3
"""Seconds for a table when all of the budget is spent: its cells are then listed as cut."""


def run_plan(plan: Plan) -> list[ComparisonResult]:
    """Check everything, then compare table after table; less results than tables after Ctrl-C.

    Tables share the budget equally; what one leaves is for those that follow.
    """
    budget = duration(plan.budget)
    ends = time.monotonic() + (budget or 0.0)  # reading the tables counts
    _check(plan)
    warm_up(plan.jobs or cpu_count())
    try:
        samples = _samples(plan)
        _prepare(plan, samples)
    except BaseException:
        close_all()
        raise
    results: list[ComparisonResult] = []
    for sample, cache in zip(samples, plan.caches, strict=True):
        share = (ends - time.monotonic()) / (len(samples) - len(results))
        results.append(_compared(plan, sample, cache, budget and max(share, LEAST)))
        if results[-1].interrupted:
            break
    return results


def _check(plan: Plan) -> None:
    """Refuse what can be refused without a look into the tables."""
    if twice := [path for path, count in Counter(plan.tables).items() if count > 1]:
        raise TableError(f"expected each table once, got {quoted(twice[0], 200)} twice")
    if plan.cache is not None and len(plan.tables) > 1:
        raise ValueError("--cache names the file of one table: leave it out for several")
    if STDOUT in (plan.report, plan.cache, plan.out):
        raise ValueError("expected the name of a file, got '-': only --json can go to stdout")
    if plan.group is not None and plan.time is not None:
        raise ValueError("expected --group or --time, got both")
    if plan.fit_best != (plan.out is not None):
        raise ValueError("expected --fit-best and --out FILE together: --out takes the model")
    if plan.fit_best and len(plan.tables) > 1:
        raise ValueError("--fit-best fits one model: give one table")
    check_outputs([plan.report, plan.json, plan.out, *plan.caches], inputs=plan.tables)


def _samples(plan: Plan) -> list[Sample]:
    """Read all tables, and refuse what they do not allow."""
    return [
        replace(_sample(plan, path), name=name)
        for path, name in zip(plan.tables, plan.names, strict=True)
    ]


def _sample(plan: Plan, path: Path) -> Sample:
    """Read a table; of several, the error names the one that cannot be used."""
    try:
        sample = read_sample(
            path,
            plan.target,
            task=plan.task,
            group=plan.group,
            time=plan.time,
            **plan.table.choices,
        )
        check_metric(plan.protocol, sample)
        check_folds(sample, plan.protocol)
    except ValueError as error:
        if len(plan.tables) == 1:
            raise
        raise TableError(f"{quoted(path, 200)}: {error}") from None
    return sample


def _prepare(plan: Plan, samples: Sequence[Sample]) -> None:
    """Refuse journals of another comparison, and print notes on tables and on what is kept."""
    for sample, cache in zip(samples, plan.caches, strict=True):
        for note in sample.notes:
            tell(f"Note: {printable(sample.name, 40)}: {note}")
        key = key_of(sample, settled(plan.protocol, sample))
        read_journal(cache, key, resume=plan.resume)  # refuse what cannot be used
        if cache.exists() and not plan.resume:
            tell(f"Note: what {quoted(cache, 200)} held is kept in {quoted(f'{cache}.old', 200)}")
    files = ", ".join(quoted(path, 200) for path in plan.caches)
    tell(f"Note: finished cells are kept in {files}; --resume goes on from there")
    if plan.report is not None and find_spec("matplotlib") is None:
        tell("Note: no pictures in the report: they need matplotlib: pip install 'pliant[plots]'")


def _compared(plan: Plan, sample: Sample, cache: Path, budget: float | None) -> ComparisonResult:
    """Compare methods on one table, and show what runs."""
    title = f"Comparing on {printable(sample.name, 40)}"
    metric = METRICS[plan.protocol.metric or metrics_of(sample.task)[0].name]
    with live(title, metric, plan.protocol, quiet=plan.json == STDOUT) as watch:
        return compare_sample(
            sample,
            plan.methods,
            plan.protocol,
            budget=budget,
            n_jobs=plan.jobs,
            cache=cache,
            resume=plan.resume,
            watch=watch,
            command=plan.command,
        )
