"""Table 4 of DANK: large sets beside libsvm."""

from __future__ import annotations

from typing import Any

import numpy as np

from papers import page as md
from papers.contestants.large import LEAST
from papers.data import printed, text
from papers.results import Results
from papers.study import Study
from pliant.comparison import Column, Score

GROUP = "large"

MEASURED_AS = {
    "SVM-SMO exact": "libsvm",
    "LogDet exact": "logdet",
    "LogDet scalable": "logdet-parts",
    "BMKL exact": "bemkl",
    "BMKL scalable": "bemkl-parts",
    "RF exact": "random-features",
    "DANK exact": "exact",
    "DANK scalable": "scalable",
}
"""The contestant that stands beside a method of the paper."""

COLUMNS = (
    Column("set"),
    Column("machine", "method"),
    Column("test", "reciprocal", 2),
    Column("smooth", "smooth", 2),
    Column("by parts", "by parts", 2),
    Column("rank", "rank", 0),
    Column("support", "support", 0),
    Column("gap", "gap", 0),
    Column("fit_seconds", "seconds", 2),
)


def sections(study: Study, results: Results) -> list[str]:
    """Return accuracies, seconds, and what was measured besides."""
    who = "; ".join(f"*{each.title}*: {each.words()}" for each in study.contestants)
    return [
        text(GROUP, "protocol", repeats=results.repeats, who=who),
        md.left_out(study, results),
        "## Accuracy in per cent, and the rank of F",
        text(GROUP, "beside", least=LEAST),
        _table("accuracy", study, results),
        "## Seconds of training",
        text(GROUP, "seconds"),
        _table("seconds", study, results),
        "## What was measured besides",
        text(GROUP, "besides"),
        _besides(results),
        "## Notes",
        f"{md.set_notes(study, results, lambda name: [_rows(results, name)])}\n"
        "* covtype: no copy of it is at hand.",
    ]


def _table(quantity: str, study: Study, results: Results) -> str:
    rows: list[md.Row] = []
    for row, quantities in printed(study.name).items():
        for name in study.measured_for(row) or [""]:
            beside = {
                method: f"{printed_text} / {_measured(quantity, name, method, results)}"
                for method, printed_text in quantities[quantity].items()
            }
            rows.append({"set": name or row, **beside})
    return md.table(rows)


def _measured(quantity: str, name: str, method: str, results: Results) -> str:
    if method not in MEASURED_AS:
        return md.LATER
    if not name:
        return md.ABSENT
    who = MEASURED_AS[method]
    if who not in results.titles:
        return md.LATER
    if not results.has(name, who):
        return md.NONE
    numbers = _found(results, name, who)
    if quantity == "seconds":
        return f"{np.median(numbers['fit_seconds']):.2g}"
    rank = f" ({np.mean(numbers['rank']):.0f})" if "rank" in numbers else ""
    return md.spread(numbers["test"], 1) + rank


def _found(results: Results, name: str, who: str) -> dict[str, list[Any]]:
    measured: dict[str, list[Any]] = results.group(name, who)["variants"]["measured"]
    return measured


def _besides(results: Results) -> str:
    rows = [
        {"set": name, "machine": title} | _row(_found(results, name, who))
        for name in results.sets
        for who, title in results.titles.items()
        if results.has(name, who)
    ]
    return md.table(rows, COLUMNS)


def _row(numbers: dict[str, list[Any]]) -> md.Row:
    row: md.Row = {
        key: Score.of(numbers[key]) for key in ("test", "smooth", "by parts") if key in numbers
    }
    for key in ("rank", "support"):
        if None not in numbers.get(key, [None]):
            row[key] = float(np.mean(numbers[key]))
    if "gap" in numbers:
        row["gap"] = f"{max(numbers['gap']):.0e}"
    return row | {"fit_seconds": float(np.median(numbers["fit_seconds"]))}


def _rows(results: Results, name: str) -> str:
    group = results.groups(name)[0]
    return f"{group['n_train']} rows to learn from and {group['n_test']} to predict"
