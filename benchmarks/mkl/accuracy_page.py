"""From lines of `benchmarks.mkl.accuracy` to one document, its page and its picture."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness.machine import describe_machine, load_average
from benchmarks.harness.report import computer, write_texts
from benchmarks.markdown import markdown_table
from benchmarks.mkl.accuracy import (
    CLASSIFICATION,
    FOLDS,
    GRID,
    METHODS,
    MOST_KERNELS,
    MOST_TEST,
    MOST_TRAIN,
    REGRESSION,
    Line,
)
from papers.data import paper_sets
from pliant.comparison.report.rendering import Column
from pliant.comparison.stats.paired import corrected_t_test, holm, wilcoxon_test
from pliant.comparison.stats.ranks import average_ranks, friedman_test
from pliant.core.files import replacing

NAME = "mkl-accuracy"
TASKS = {"classification": CLASSIFICATION, "regression": REGRESSION}
SCORES = {"classification": "accuracy", "regression": "R2"}
REFERENCES = ("svm", "uniform")
"""Those that the others are tested against."""

LEVEL = 0.05

TEXT = f"""
Random halves of 14 sets for classification and 7 for regression, seeds {{seeds}}; at most
{MOST_TRAIN} rows to learn from and {MOST_TEST} to test on. The sets monks1 to monks3 and spect have
test files of their own: there, repeats differ by the folds of cross-validation and the order of
rows only, and no test over repeats is made. Features are standardised on the training rows. The
kernels are the default ones of `MKLClassifier`, an even share of {MOST_KERNELS} where there are
more. Every contestant chooses C of {", ".join(f"{C:g}" for C in GRID)} by {FOLDS}-fold
cross-validation on the training rows, and the Gaussian SVM one of the ten widths as well; BEMKL has
no C. Weights that do not depend on C are learned once in each fold, and those of "performance" too,
with C = 1 (in the last fit with the chosen C). Regression standardises the target, with
epsilon = .1.
"""

TESTS_TEXT = """
Mean score over the sets, mean rank (1 the best), and beside each of two references: the mean
gain, the sets with a significant gain or loss (corrected paired t test over the repeats, 5 %, not
adjusted: one set in twenty is expected where there is no difference), and the p-value of Wilcoxon's
signed-rank test over the sets, adjusted by Holm's method over the contestants.
"""


def document(lines: Iterable[Line]) -> dict[str, Any]:
    """Return what JSON holds: the computer, and the lines of the splits that all have."""
    last = {(r["table"], r["seed"], r["method"]): r for r in lines}
    kept = [r for r in last.values() if r["method"] in METHODS]
    return {
        "format": 1,
        "date": f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC",
        "load_average": load_average(),
        "machine": describe_machine(),
        "lines": [r for task in TASKS for r in _of_all_methods(kept, task)],
    }


def _of_all_methods(lines: Sequence[Line], task: str) -> list[Line]:
    own = [r for r in lines if r["table"] in TASKS[task]]
    methods = {r["method"] for r in own}
    splits = {(r["table"], r["seed"], r["method"]) for r in own}
    return sorted(
        (r for r in own if all((r["table"], r["seed"], m) in splits for m in methods)),
        key=lambda r: (TASKS[task].index(r["table"]), r["seed"], list(METHODS).index(r["method"])),
    )


def scores(lines: Sequence[Line], task: str) -> tuple[list[str], dict[str, dict[str, list[float]]]]:
    """Return the methods of a task, and their scores by set and method, in the order of seeds."""
    own = [r for r in lines if r["table"] in TASKS[task]]
    methods = [name for name in METHODS if any(r["method"] == name for r in own)]
    tables: dict[str, dict[str, list[float]]] = {}
    for line in sorted(own, key=lambda r: r["seed"]):
        tables.setdefault(line["table"], {}).setdefault(line["method"], []).append(line["score"])
    return methods, {name: tables[name] for name in TASKS[task] if name in tables}


def side(lines: Sequence[Line], table: str, first: Sequence[float], second: Sequence[float]) -> int:
    """Return 1 or -1 where the first scores are significantly higher or lower, else 0."""
    if paper_sets("hadamard")[table].test_file is not None or len(first) < 2:
        return 0
    sizes = next(r for r in lines if r["table"] == table)
    test = corrected_t_test(first, second, n_train=sizes["rows"], n_test=sizes["test_rows"])
    return test.favours(LEVEL)


def summary(lines: Sequence[Line], task: str) -> list[dict[str, Any]]:
    """Return a row for each method, the best mean rank first."""
    methods, tables = scores(lines, task)
    if not methods:
        return []
    means = np.array([[np.mean(each[m]) for m in methods] for each in tables.values()])
    ranks = average_ranks(means) if len(methods) > 1 else np.ones(1)
    rows = []
    for k, method in enumerate(methods):
        row: dict[str, Any] = {
            "method": METHODS[method].title,
            "score": float(means[:, k].mean()),
            "rank": float(ranks[k]),
        }
        own = [r for r in lines if r["method"] == method and r["table"] in tables]
        for reference in (r for r in REFERENCES if r in methods):
            j = methods.index(reference)
            sides = [side(lines, t, each[method], each[reference]) for t, each in tables.items()]
            row[f"gain on {reference}"] = (
                None if j == k else float((means[:, k] - means[:, j]).mean())
            )
            row[f"better / worse, {reference}"] = (
                "" if j == k else f"{sides.count(1)} / {sides.count(-1)}"
            )
            row[f"p, {reference}"] = _adjusted(means, j)[k]
        row["seconds"] = float(np.mean([r["seconds"] for r in own]))
        rows.append(row)
    return sorted(rows, key=lambda row: row["rank"])


def _adjusted(means: Any, reference: int) -> list[float | None]:
    """Return Holm's p-values of Wilcoxon's test of each column against one of them."""
    others = [k for k in range(means.shape[1]) if k != reference]
    if len(means) < 2 or not others:
        return [None] * means.shape[1]
    p_values = holm([wilcoxon_test(means[:, k], means[:, reference]).p_value for k in others])
    adjusted = dict(zip(others, p_values, strict=True))
    return [adjusted.get(k) for k in range(means.shape[1])]


def to_markdown(found: Mapping[str, Any]) -> str:
    """Render a document as a Markdown page."""
    lines = found["lines"]
    seeds = sorted({r["seed"] for r in lines})
    shown = f"{seeds[0]} to {seeds[-1]}" if seeds else "none"
    parts = ["# Rules for the weights of kernels: how well they predict\n"]
    parts += [" ".join(TEXT.format(seeds=shown).split()) + "\n"]
    parts += [f"![Scores less those of a tuned Gaussian SVM]({NAME}.png)\n"]
    for task, score in SCORES.items():
        rows = summary(lines, task)
        if not rows:
            continue
        methods, tables = scores(lines, task)
        parts += [f"## {task.capitalize()}, {len(tables)} sets\n"]
        parts += [" ".join(TESTS_TEXT.split()) + "\n", markdown_table(rows, _columns(rows, score))]
        parts += [_friedman(tables, methods), f"Mean {score} and its standard deviation:\n"]
        parts += [markdown_table([_table_row(t, each, methods) for t, each in tables.items()])]
    return "\n".join([*parts, f"{computer(found)}\n"])


def _columns(rows: Sequence[Mapping[str, Any]], score: str) -> list[Column]:
    titles = {"score": score, "rank": "mean rank", "seconds": "processor seconds"}
    digits = {"score": 4, "rank": 2, "seconds": 2}
    return [
        Column(key, titles.get(key, key), 4 if key.startswith("gain") else digits.get(key, 3))
        if key != "method"
        else Column(key)
        for key in rows[0]
    ]


def _friedman(tables: Mapping[str, Any], methods: Sequence[str]) -> str:
    if len(tables) < 2 or len(methods) < 3:
        return ""
    means = [[np.mean(each[m]) for m in methods] for each in tables.values()]
    p = friedman_test(means).p_value
    return f"Friedman's test that all are equivalent: p = {p:.2g}.\n"


def _table_row(
    table: str, each: Mapping[str, Sequence[float]], methods: Sequence[str]
) -> dict[str, str]:
    cells = {}
    for method in methods:
        values = each[method]
        spread = f" ± {np.std(values, ddof=1):.3f}" if len(values) > 1 else ""
        cells[METHODS[method].title] = f"{np.mean(values):.3f}{spread}"
    return {"set": table, **cells}


def write(found: Mapping[str, Any], folder: Path) -> list[Path]:
    """Write JSON, page and picture into a folder; return their paths."""
    head = json.dumps({k: v for k, v in found.items() if k != "lines"}, indent=1)[:-2]
    body = ",\n".join(json.dumps(line, separators=(",", ":")) for line in found["lines"])
    texts = {
        folder / f"{NAME}.json": f'{head},\n "lines": [\n{body}\n ]\n}}\n',
        folder / f"{NAME}.md": to_markdown(found),
    }
    return [*write_texts(texts), draw(found, folder / f"{NAME}.png")]


def draw(found: Mapping[str, Any], path: Path) -> Path:
    """Draw for each method its score less that of the tuned SVM, a dot a set."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10.0, 4.2), layout="constrained")
    for ax, (task, score) in zip(figure.subplots(1, 2), SCORES.items(), strict=True):
        methods, tables = scores(found["lines"], task)
        rng = np.random.default_rng(0)
        for place, method in enumerate(m for m in methods if m != REFERENCES[0]):
            if REFERENCES[0] not in methods:
                break
            gains = [np.mean(t[method]) - np.mean(t[REFERENCES[0]]) for t in tables.values()]
            jitter = rng.uniform(-0.2, 0.2, len(gains))
            ax.scatter(gains, place + jitter, s=14, color=f"C{place}", alpha=0.7, linewidth=0)
            ax.plot([np.median(gains)] * 2, [place - 0.35, place + 0.35], color=f"C{place}")
        names = [METHODS[m].title for m in methods if m != REFERENCES[0]]
        ax.axvline(0.0, color="0.3", linewidth=0.8)
        ax.set_yticks(range(len(names)), names)
        ax.invert_yaxis()
        ax.locator_params(axis="x", nbins=6)
        ax.set_xlabel(f"{score} less that of the tuned Gaussian SVM")
        ax.set_title(f"{task}, {len(tables)} sets; lines: medians", fontsize=10)
    with replacing(path) as draft:
        figure.savefig(draft, format="png", dpi=100, pil_kwargs={"optimize": True})
    return path
