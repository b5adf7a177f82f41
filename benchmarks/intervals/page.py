"""From lines of results to one document, and to its page."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness.machine import describe_machine
from benchmarks.harness.report import write_texts
from benchmarks.intervals import pictures
from benchmarks.intervals.methods import (
    HELD_OUT,
    INTERVALS,
    MOST_GP,
    MOST_TUNED,
    PROBABILITIES,
    TITLES,
)
from benchmarks.intervals.running import LEVELS, Line, rounded
from benchmarks.intervals.scores import BINS
from benchmarks.markdown import markdown_table
from pliant.comparison.report.rendering import Cell, Column, Score

NAME = "intervals"
SHOWN = LEVELS.index(0.9)
"""The nominal coverage of the tables for each set."""

CALIBRATED = ("lab_rbf_calibrated", "conformal_svr")
"""Methods with rows to calibrate with."""

Document = dict[str, Any]

TEXT = f"""
Splits of the regression tables, seed {{seeds}}: 70 % of the rows and at most 3000 to learn
from, at most 5000 to test on. LAB-RBF has its default settings; with calibration={HELD_OUT}, that
share of the rows calibrates (split conformal prediction). Gaussian process: scikit-learn's, on
standardised features and target, a bandwidth for each feature, and noise, on {MOST_GP} rows at
most. Quantile boosting: `HistGradientBoostingRegressor(loss="quantile")` with default settings for
each end; ends that cross are exchanged. Conformal SVR: MAPIE's `SplitConformalRegressor`, the same
share of the rows to calibrate, around a Gaussian SVR on standardised data, C and gamma of 20 by
five-fold cross-validation on {MOST_TUNED} rows at most.

The standard error of a coverage c is the binomial one, the root of c (1 - c) / n, with n the test
rows of one split; the mean over the splits of a table is compared with it. It leaves out that the
errors of the rows to calibrate with are a sample, too: from k of these, even an exact method has
the standard error of the root of c (1 - c) (1 / n + 1 / k). Widths and interval scores (the width
plus 2 / (1 - c) times the distance of a target from the interval; lower is better) are divided by
the standard deviation of the target, and averaged over the tables on which all intervals of all
methods are finite: for LAB-RBF with calibration that takes 2 / (1 - c) - 1 rows to calibrate with.

In the picture, a symbol is the mean over the tables, a vertical line goes from the first to the
third quartile, and two points to either side are grey.
"""

PROBABILITIES_TEXT = f"""
The classification tables with at most 3000 rows to learn from, seed {{seeds}}. The SVM has C and
gamma of 20 by five-fold cross-validation, and probabilities by Platt's method; logistic
regression and the forest of 500 trees have scikit-learn's defaults. The expected calibration error
compares, in {BINS} intervals of equal length of the probability of the predicted class, its mean
with the share of correct predictions. In the picture, bins are means over the tables, and those
with less than 1 % of the samples are left out.
"""


def document(lines: Iterable[Line]) -> Document:
    """Return what JSON holds: the computer, the lines, and their summaries.

    Of several lines of the same fit, the last one counts. Splits that some method has no line for
    are left out, so that all methods are compared on the same ones.
    """
    last = {(line["method"], line["table"], line["seed"]): line for line in lines}
    kept = sorted(last.values(), key=lambda line: (line["table"], line["seed"]))
    intervals = _of_all_methods([line for line in kept if "coverage" in line])
    probabilities = _of_all_methods([line for line in kept if "bins" in line])
    return {
        "format": 1,
        "date": f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC",
        "machine": describe_machine(),
        "levels": LEVELS,
        "bins": BINS,
        "summary": rounded(
            {
                "intervals": [_intervals(m, intervals) for m in _used(INTERVALS, intervals)],
                "probabilities": [
                    _probabilities(m, probabilities) for m in _used(PROBABILITIES, probabilities)
                ],
            }
        ),
        "intervals": intervals,
        "probabilities": probabilities,
    }


def write(found: Document, folder: Path) -> list[Path]:
    """Write JSON, page and pictures into a folder; return their paths."""
    lists = ("intervals", "probabilities")
    head = {key: value for key, value in found.items() if key not in lists}
    parts = [json.dumps(head, indent=1, allow_nan=False)[:-2]]
    for key in lists:
        body = ",\n".join(json.dumps(line, separators=(",", ":")) for line in found[key])
        parts.append(f' "{key}": [\n{body}\n ]')
    texts = {
        folder / f"{NAME}.json": ",\n".join(parts) + "\n}\n",
        folder / f"{NAME}.md": to_markdown(found),
    }
    return [*write_texts(texts), *pictures.draw(found, folder)]


def _of_all_methods(lines: Sequence[Line]) -> list[Line]:
    """Return the lines of the splits that all methods have."""
    fits = {(line["method"], line["table"], line["seed"]) for line in lines}
    methods = {method for method, _, _ in fits}
    return [
        line for line in lines
        if all((method, line["table"], line["seed"]) in fits for method in methods)
    ]  # fmt: skip


def _used(methods: Iterable[str], lines: Sequence[Line]) -> list[str]:
    present = {line["method"] for line in lines}
    return [name for name in methods if name in present]


def by_table(method: str, lines: Iterable[Line]) -> dict[str, list[Line]]:
    """Return the lines of a method, by table."""
    tables: dict[str, list[Line]] = {}
    for line in lines:
        if line["method"] == method:
            tables.setdefault(line["table"], []).append(line)
    return tables


def _mean(lines: Sequence[Line], key: str) -> list[float]:
    """Return the mean over the splits for each level; nan where one has no number."""
    values = [[math.nan if v is None else v for v in line[key]] for line in lines]
    means: list[float] = np.mean(values, axis=0).tolist()
    return means


def standard_error(level: float, line: Line, calibrating: bool = False) -> float:
    """Return the binomial standard error of the coverage of one split.

    If `calibrating`, the errors of the rows to calibrate with are a sample, too.
    """
    variance = 1.0 / line["test_rows"]
    if calibrating:
        variance += 1.0 / (HELD_OUT * line["rows"])
    return math.sqrt(level * (1.0 - level) * variance)


def _misses(lines: Sequence[Line], k: int, calibrating: bool = False) -> bool:
    """Return whether the mean coverage of a table is three standard errors away from a level."""
    away = abs(np.mean([line["coverage"][k] for line in lines]) - LEVELS[k])
    return bool(away > 3.0 * standard_error(LEVELS[k], lines[0], calibrating))


def finite_tables(lines: Sequence[Line]) -> list[str]:
    """Return the tables on which all intervals are finite."""
    infinite = {line["table"] for line in lines if None in line["width"]}
    return [t for t in dict.fromkeys(line["table"] for line in lines) if t not in infinite]


def _intervals(method: str, lines: Sequence[Line]) -> dict[str, Any]:
    """Return means over the tables, a list for each with a number for each level."""
    own = by_table(method, lines)
    finite = finite_tables(lines)
    means = {key: [_mean(own[t], key) for t in finite] for key in ("width", "score")}
    coverages = np.array([_mean(splits, "coverage") for splits in own.values()])
    splits = [line for each in own.values() for line in each]
    within, calibrating = (
        [sum(not _misses(each, k, also) for each in own.values()) for k in range(len(LEVELS))]
        for also in (False, True)
    )
    return {
        "method": method,
        "tables": len(own),
        "coverage": coverages.mean(axis=0).tolist(),
        "quartiles": np.quantile(coverages - LEVELS, (0.25, 0.75), axis=0).tolist(),
        "within": within,
        "within_calibrating": calibrating if method in CALIBRATED else None,
        "splits": len(splits),
        "splits_within": [
            sum(not _misses([each], k) for each in splits) for k in range(len(LEVELS))
        ],
        "finite": len(finite),
        **{key: np.mean(each, axis=0).tolist() if each else None for key, each in means.items()},
        "seconds": float(np.median([line["seconds"] for line in splits])),
    }


def _probabilities(method: str, lines: Sequence[Line]) -> dict[str, Any]:
    own = [line for line in lines if line["method"] == method]
    keys = ("accuracy", "log_loss", "calibration_error")
    return {
        "method": method,
        "tables": len(own),
        **{key: float(np.mean([line[key] for line in own])) for key in keys},
        "seconds": float(np.median([line["seconds"] for line in own])),
        "bins": np.mean([line["bins"] for line in own], axis=0).tolist(),
    }


def to_markdown(found: Document) -> str:
    """Render a document (fresh, or read back from JSON) as a Markdown page."""
    summary = found["summary"]
    parts = ["# Prediction intervals and probabilities\n"]
    if summary["intervals"]:
        parts += _interval_page(found)
    if summary["probabilities"]:
        parts += _probability_page(found)
    machine = found["machine"]
    packages = ", ".join(f"{name} {v}" for name, v in machine["packages"].items() if v)
    parts.append(
        f"One thread each; processor seconds are medians of fit and predictions. {machine['cpu']}, "
        f"{machine['cores']} cores, beside other programs, {machine['system']}, "
        f"{machine['python']}, {packages}; {found['date']}.\n"
    )
    return "\n".join(parts)


def _paragraphs(text: str, lines: Iterable[Line]) -> list[str]:
    seeds = ", ".join(str(seed) for seed in sorted({line["seed"] for line in lines}))
    blocks = text.format(seeds=seeds).strip().split("\n\n")
    return [" ".join(block.split()) + "\n" for block in blocks]


def _percent(levels: Sequence[float]) -> list[str]:
    return [f"{100 * level:g} %" for level in levels]


def _rows(
    summary: Sequence[Mapping[str, Any]], cells: Callable[..., Iterable[Cell]], digits: int = 3
) -> str:
    """Render a row for each method, with a cell for each level."""
    titles = _percent(LEVELS)
    columns = [Column("method"), *(Column(title, digits=digits) for title in titles)]
    rows = [
        {"method": TITLES[row["method"]], **dict(zip(titles, cells(row), strict=True))}
        for row in summary
    ]
    return markdown_table(rows, columns)


def _interval_page(found: Document) -> list[str]:
    summary, lines = found["summary"]["intervals"], found["intervals"]
    n_tables, finite = max(row["tables"] for row in summary), summary[0]["finite"]
    other = [row for row in summary if row["width"]]
    return [
        *_paragraphs(TEXT, lines),
        f"![Coverage less nominal coverage, and relative width]({pictures.INTERVALS})\n",
        f"Mean coverage over {n_tables} tables (%), by nominal coverage:\n",
        _rows(summary, lambda row: [100.0 * c for c in row["coverage"]], digits=1),
        "Tables whose coverage is within three standard errors, and single splits:\n",
        _rows(
            summary,
            lambda row: [
                f"{a} of {row['tables']}, {b} of {row['splits']}"
                for a, b in zip(row["within"], row["splits_within"], strict=True)
            ],
        ),
        "Tables within three standard errors that count the rows to calibrate with, too:\n",
        _rows(
            [row for row in summary if row["within_calibrating"]],
            lambda row: [f"{a} of {row['tables']}" for a in row["within_calibrating"]],
        ),
        f"Mean width, over {finite} tables with finite intervals:\n",
        _rows(other, lambda row: row["width"]),
        "Mean interval score, over the same tables:\n",
        _rows(other, lambda row: row["score"]),
        "Processor seconds:\n",
        markdown_table([{TITLES[row["method"]]: row["seconds"] for row in summary}]),
        *_each_table(summary, lines),
    ]


def _each_table(summary: Sequence[Mapping[str, Any]], lines: Sequence[Line]) -> list[str]:
    """Return the tables with a row for each set."""
    parts = []
    for method in ("lab_rbf", "lab_rbf_calibrated"):
        if own := by_table(method, lines):
            parts += [
                f"Coverage of {TITLES[method]} (%), mean over the splits; a star where it is not "
                "within three standard errors:\n",
                markdown_table(
                    [_coverage_row(name, splits) for name, splits in own.items()], _COVERAGES
                ),
            ]
    for key, title in (("width", "Width"), ("score", "Interval score")):
        rows: dict[str, dict[str, Cell]] = {}
        for row in summary:
            for name, splits in by_table(row["method"], lines).items():
                value = _mean(splits, key)[SHOWN]
                entry = rows.setdefault(name, {"table": name})
                entry[TITLES[row["method"]]] = None if math.isnan(value) else value
        parts += [
            f"{title} at {LEVELS[SHOWN]:.0%}, mean over the splits; a dash where intervals are "
            "infinite:\n",
            markdown_table(list(rows.values())),
        ]
    return parts


def _coverage_row(name: str, splits: Sequence[Line]) -> dict[str, Cell]:
    means = [100.0 * float(np.mean([line["coverage"][k] for line in splits])) for k in range(4)]
    marked: list[Cell] = [
        Score(mean, None, "*" if _misses(splits, k) else "") for k, mean in enumerate(means)
    ]
    return {"table": name, "test rows": splits[0]["test_rows"]} | dict(
        zip(_percent(LEVELS), marked, strict=True)
    )


_COVERAGES: list[Column | str] = [
    "table",
    "test rows",
    *(Column(title, digits=1) for title in _percent(LEVELS)),
]


def _probability_page(found: Document) -> list[str]:
    summary, lines = found["summary"]["probabilities"], found["probabilities"]
    columns = [
        Column("method"), Column("tables"), Column("accuracy", digits=4),
        Column("log_loss", "log loss", 4),
        Column("calibration_error", "expected calibration error", 4),
        Column("seconds", "processor seconds", 2),
    ]  # fmt: skip
    rows: dict[str, dict[str, Cell]] = {}
    for line in lines:
        title = TITLES[line["method"]]
        rows.setdefault(line["table"], {"table": line["table"]})[title] = Score(
            line["log_loss"], None, f"({line['calibration_error']:.3f})"
        )
    order = [Column("table"), *(Column(TITLES[row["method"]]) for row in summary)]
    return [
        *_paragraphs(PROBABILITIES_TEXT, lines),
        f"![Share of correct predictions by confidence]({pictures.CALIBRATION})\n",
        "Means over the tables:\n",
        markdown_table([{**row, "method": TITLES[row["method"]]} for row in summary], columns),
        "Log loss, and the expected calibration error in parentheses:\n",
        markdown_table(list(rows.values()), order),
    ]
