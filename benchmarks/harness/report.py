"""Run a benchmark, and write its results as JSON and Markdown."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks.harness.machine import computer, describe_machine, load_average, now
from benchmarks.harness.measuring import Settings, measure_case
from benchmarks.harness.spec import MANNER, Benchmark, Case
from benchmarks.harness.summary import goal_met, overall, summarise
from benchmarks.lines import rounded, write_text
from benchmarks.markdown import markdown_table
from pliant.tables.comparison.text import TextCell, TextColumn

FORMAT = 1
"""Version of the JSON format."""

DIGITS = 10
"""Significant digits of stored numbers, enough for pages with numbers up to a million."""

EXACT = 17
"""Significant digits that leave every number as it is, except inf and nan, which become None."""

Report = dict[str, Any]


def run(
    benchmark: Benchmark, settings: Settings, log: Callable[[str], None] = lambda line: None
) -> Report:
    """Measure all cases of a benchmark; return a JSON-compatible report, not naming the data."""
    start = {"date": now(), "load_average": load_average()}
    cases = [
        _run_case(case, benchmark, settings, log) for case in benchmark.cases(bool(settings.data))
    ]
    declared = ("title", "notes", "quantity", "goals_over", "clock", "manner")
    report: Report = {
        "format": FORMAT,
        "benchmark": benchmark.name,
        "command": command(benchmark.name, settings),
        **{key: getattr(benchmark, key) for key in declared},
        **start,
        "machine": describe_machine(),
        "settings": {**asdict(settings), "data": settings.data is not None},
        "cases": cases,
        "overall": overall(benchmark, [case["summary"] for case in cases]),
    }
    return {key: rounded(value, EXACT) for key, value in report.items()}


def command(name: str, settings: Settings) -> str:
    """Return the command line that repeats a report."""
    data = "" if settings.data is None else " --data DIR"
    return (
        f"python -m benchmarks {name} --repeats {settings.repeats} "
        f"--threads {settings.threads}{data}"
    )


def _run_case(
    case: Case, benchmark: Benchmark, settings: Settings, log: Callable[[str], None]
) -> dict[str, Any]:
    measurements = measure_case(case, settings, log)
    summary = summarise(case, measurements, benchmark.quantity, benchmark.clock)
    return {**asdict(case), "measurements": measurements, "summary": summary}


def has_failures(report: Report) -> bool:
    """Return True if any measurement failed."""
    return any(row["failures"] for case in report["cases"] for row in case["summary"])


def write(report: Report, folder: Path) -> list[Path]:
    """Write NAME.json, without single measurements, and NAME.md into `folder`; return the paths."""
    table, page = (folder / f"{report['benchmark']}.{kind}" for kind in ("json", "md"))
    cases = [{"name": c["name"], "summary": rounded(c["summary"], DIGITS)} for c in report["cases"]]
    kept = {**report, "cases": cases}
    write_text(table, json.dumps(kept, separators=(",", ":"), allow_nan=False) + "\n")
    write_text(page, to_markdown(kept))
    return [table, page]


def to_markdown(report: Report) -> str:
    """Render a report (new, or read from JSON) as a Markdown page."""
    parts = [f"# {report['title']}\n", f"{report['notes']}\n", _cases_table(report)]
    if report["goals_over"] != "each case":
        parts += ["Over all problems:\n", _overall_table(report)]
    return "\n".join([*parts, _provenance(report)])


def _cases_table(report: Report) -> str:
    rows = [_row(case["name"], row, report) for case in report["cases"] for row in case["summary"]]
    used = [column for column in _columns(report) if _is_used(column, rows)]
    return markdown_table(rows, used)


def _columns(report: Report) -> list[TextColumn]:
    results = dict.fromkeys(
        key for case in report["cases"] for row in case["summary"] for key in row["result"]
    )
    time = "processor time" if report.get("clock") == "processor" else "measured"
    return [
        TextColumn("problem"),
        TextColumn("contestant"),
        TextColumn("paper", "paper (s)"),
        TextColumn("measured", f"{time} (s)"),
        TextColumn("baseline", "baseline (s)"),
        TextColumn("ratio", f"{report['quantity']} of medians", 2),
        TextColumn("paired", f"median paired {report['quantity']}", 2),
        TextColumn("goal", digits=2),
        TextColumn("met"),
        TextColumn("clock", "wall time (s)"),
        TextColumn("peak", "peak memory (MB)", 1),
        *(TextColumn(f"result {key}", key, 4) for key in results),
        TextColumn("error"),
    ]


def _row(problem: str, row: Mapping[str, Any], report: Report) -> dict[str, TextCell]:
    judged = report["goals_over"] == "each case"
    goal = row["goal"] if judged else None
    return {
        "problem": problem,
        "contestant": row["contestant"],
        "paper": row["paper"],
        "measured": row["seconds"],
        "baseline": row["baseline_seconds"],
        "ratio": row["ratio_of_medians"],
        "paired": row["median_ratio"],
        "goal": goal,
        "met": goal_met(row["median_ratio"], goal, report["quantity"]),
        "clock": row.get("clock_seconds"),
        "peak": None if row["peak_bytes"] is None else row["peak_bytes"] / 1e6,
        **{f"result {key}": value for key, value in row["result"].items()},
        "error": row["error"] and f"{row['failures']} failed: {row['error']}",
    }


def _is_used(column: TextColumn, rows: list[dict[str, TextCell]]) -> bool:
    return any(row.get(column.key) is not None for row in rows)


def _overall_table(report: Report) -> str:
    mean = report["goals_over"].removesuffix(" of cases")
    columns = [
        TextColumn("contestant"),
        TextColumn("baseline"),
        TextColumn("cases", "problems"),
        TextColumn(f"{mean.replace(' ', '_')}_ratio", f"{mean} {report['quantity']}", 2),
        TextColumn("goal", digits=2),
        TextColumn("met"),
    ]
    return markdown_table(report["overall"], columns)


def _provenance(report: Report) -> str:
    """Describe the measurements and the computer in one or two sentences."""
    settings = report["settings"]
    manner = report.get("manner", MANNER).format(threads=settings["threads"])
    return f"Medians of {settings['repeats']} measurements, {manner}. {computer(report)}\n"
