"""``pliant fit --budget``: fit the best model within a time."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import typer

from pliant.core.exceptions import Interrupted
from pliant.core.text import count, printable
from pliant.persistence import save
from pliant.tables.cli.compare import describe_model, parse_duration
from pliant.tables.cli.exit_codes import ExitCode
from pliant.tables.cli.options import TableOptions
from pliant.tables.cli.outputs import STDOUT, print_result, print_status, write_json
from pliant.tables.cli.report import format_facts, quote_path
from pliant.tables.comparison.comparing import BudgetedFit, fit_within
from pliant.tables.comparison.options import RunOptions
from pliant.tables.comparison.protocol import DUMMY, Protocol
from pliant.tables.comparison.reading import read_sample
from pliant.tables.comparison.result import ComparisonResult
from pliant.tables.comparison.text import seconds, wrap


def fit_within_budget(
    table: Path,
    target: str,
    options: TableOptions,
    budget: str,
    protocol: Protocol,
    *,
    single: bool,
    out: Path | None,
    json: Path | None,
    command: str | None,
) -> None:
    """Fit LAB-RBF, compare methods in the time left, and save the recommended model.

    After Ctrl-C during the comparison, the best model so far is saved. With `single`, the best
    single method is saved.
    """
    limit, start = parse_duration(budget), time.monotonic()
    sample = read_sample(table, target, folds=protocol.folds, **vars(options))
    for note in sample.notes:
        print_status(f"Note: {note}")
    print_status("Fitting LAB-RBF on all rows")
    spent = time.monotonic() - start
    # Once the budget is spent, pass a millisecond, so that LAB-RBF stops as early as possible.
    left = None if limit is None else max(limit - spent, 1e-3)
    interrupted = False
    try:
        run = RunOptions(left, progress=json != STDOUT, command=command)
        found = fit_within(sample, protocol, run, single=single)
    except Interrupted as stop:
        interrupted = True
        found = stop.best
    if single and found.result is not None:
        found = _best_single(found.result) or found
    facts = describe_model(found.result, found.name, len(sample.y))
    facts["seconds"] = time.monotonic() - start
    if out is not None:
        save(found.model, out, metadata=facts)
    if json is not None:
        kept = {"best": found.name, "note": found.note, **facts}
        if found.result is not None and not found.note:
            kept = found.result.to_dict() | {"saved": found.name}
        write_json(json, kept)
    if json != STDOUT:
        print_result(f"{_result_text(found, facts)}\n\n{_ending(found, out, json)}")
    if interrupted:
        raise typer.Exit(ExitCode.INTERRUPTED)


def _best_single(result: ComparisonResult) -> BudgetedFit | None:
    """Return the best method that is fitted to all rows and can be saved; None if there is none."""
    ranked = (s.method for s in result.standings() if s.rank is not None)
    names = [each.name for each in ranked if each.blends and each.name != DUMMY]
    return BudgetedFit(result.fit_best(names[0]), names[0], result) if names else None


def _result_text(found: BudgetedFit, facts: dict[str, Any]) -> str:
    if found.result is not None and not found.note:
        return repr(found.result)
    rows = count(facts["data"]["rows"], "row")
    fitted = f"LAB-RBF, fitted to all {rows} within {seconds(facts['seconds'])}."
    return wrap(f"{fitted} {found.note[0].upper()}{found.note[1:]}.")


def _ending(found: BudgetedFit, out: Path | None, json: Path | None) -> str:
    """Format the list of written files and the next step."""
    files = [(out, f"the model: {found.name}"), (json, "the full result as JSON")]
    written = [(printable(p, 200), what) for p, what in files if p is not None]
    step = "the same command with --out model.pliant: saves the model"
    if out is not None:
        step = f"pliant predict {quote_path(out)} NEW_TABLE --out predictions.csv"
    return "\n\n".join([*([format_facts(written)] if written else []), f"Next:\n  {step}"])
