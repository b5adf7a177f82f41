"""``feature_relevance_`` beside permutation importance, on many tables.

``python -m benchmarks.tables.relevance --data DIR`` fits LAB-RBF with default settings to the
training rows of one split of each table and compares the order of its features by relevance with
the order by scikit-learn's permutation importance on the test rows: how much R2 (or, for classes,
the log loss) gets worse with one feature permuted, the mean of five permutations.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
import warnings
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import spearmanr
from sklearn.inspection import permutation_importance
from sklearn.metrics import log_loss

from benchmarks.harness.machine import describe_machine, load_average
from benchmarks.harness.report import computer, write_texts
from benchmarks.markdown import markdown_table
from benchmarks.tables.running import TABLES, split, task_of
from pliant import LABRBFClassifier, LABRBFRegressor
from pliant.comparison.report.rendering import Column

RESULTS = Path(__file__).parents[1] / "results"

FEWEST, MOST = 3, 100
"""Numbers of features of a table: a rank correlation of two is 1 or -1."""

REPEATS = 5
"""Permutations of each feature."""

LEAST = 0.01
"""Features of at least this share are relevant."""

COLUMNS = [
    Column("table"),
    Column("task"),
    Column("rows"),
    Column("features"),
    Column("score", digits=3),
    Column("correlation", "rank correlation", 2),
    Column("same", "same first feature"),
    Column("pairs", "correlated pairs"),
]


def compare(
    train: Any, y_train: Any, test: Any, y_test: Any, *, classification: bool, seed: int
) -> dict[str, Any]:
    """Return relevance and permutation importance of each feature, and how they agree."""
    model = (LABRBFClassifier if classification else LABRBFRegressor)(random_state=seed)
    start = time.process_time()
    model.fit(train, y_train)
    seconds = time.process_time() - start
    importance = permutation_importance(
        model,
        test,
        y_test,
        scoring=_less_log_loss if classification else "r2",
        n_repeats=REPEATS,
        random_state=seed,
    ).importances_mean
    relevance = model.feature_relevance_
    likely = model.correlated_features_[(relevance[model.correlated_features_] >= LEAST).any(1)]
    return {
        "rows": len(train),
        "features": train.shape[1],
        "score": float(model.score(test, y_test)),
        "correlation": float(spearmanr(relevance, importance).statistic),
        "same": bool(np.argmax(relevance) == np.argmax(importance)),
        "pairs": len(likely),
        "fit_seconds": round(seconds, 3),
        "relevance": relevance.round(5).tolist(),
        "spread": model.feature_relevance_spread_.round(5).tolist(),
        "importance": importance.round(5).tolist(),
    }


def _less_log_loss(model: Any, X: Any, y: Any) -> float:
    return -float(log_loss(y, model.predict_proba(X), labels=model.classes_))


def medians(tables: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return median rank correlations by task, and with and without correlated features."""
    groups = {
        "regression": [t for t in tables if t["task"] == "regression"],
        "classification": [t for t in tables if t["task"] == "classification"],
        "no correlated features": [t for t in tables if not t["pairs"]],
        "correlated features": [t for t in tables if t["pairs"]],
        "all": list(tables),
    }
    return [
        {
            "tables": name,
            "number": len(chosen),
            "lowest": min(t["correlation"] for t in chosen),
            "median": float(np.median([t["correlation"] for t in chosen])),
            "same first": float(np.mean([t["same"] for t in chosen])),
        }
        for name, chosen in groups.items()
        if chosen
    ]


def to_markdown(report: Mapping[str, Any]) -> str:
    """Return the page of a report."""
    rows = [{**t, "same": "yes" if t["same"] else "no"} for t in report["tables"]]
    return (
        "# Relevance beside permutation importance\n\n"
        "Spearman's correlation between feature_relevance_ and scikit-learn's permutation "
        f"importance on test rows ({REPEATS} repeats; by R2, or by the log loss for classes), with "
        f"default settings, on one split of each table with {FEWEST} to {MOST} features (seed "
        f"{report['seed']}, 70 % of the rows and at most 3000 to learn from). The score is R2 or "
        "the accuracy on the test rows. Correlated pairs are those of correlated_features_ with a "
        f"feature of relevance {LEAST:g} or more.\n\n"
        f"{markdown_table(rows, COLUMNS)}\nThe lowest and the median rank correlation, and the "
        "share of the tables with the same first feature:\n\n"
        f"{markdown_table(medians(report['tables']))}\n{computer(report)}\n"
    )


def run(folder: Path, seed: int, names: Sequence[str]) -> dict[str, Any]:
    """Return the report on some tables."""
    report: dict[str, Any] = {
        "seed": seed,
        "date": f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC",
        "load_average": load_average(),
        "machine": describe_machine(),
        "tables": [],
    }
    for table in names:
        parts = split(table, seed, folder)
        if not FEWEST <= parts[0].shape[1] <= MOST:
            continue
        task = task_of(table)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = compare(*parts, classification=task == "classification", seed=seed)
        report["tables"].append({"table": table, "task": task, **result})
        print(f"{table}: {result['correlation']:.2f}", file=sys.stderr, flush=True)
    return report


def main() -> None:
    """Run what the arguments name and write JSON and Markdown."""
    every = [n for halves in TABLES.values() for names in halves.values() for n in names]
    parser = argparse.ArgumentParser(description="Compare relevance with permutation importance.")
    parser.add_argument("--data", type=Path, default=os.environ.get("PLIANT_DATA"))
    parser.add_argument("--out", type=Path, default=RESULTS, help="where JSON and Markdown go")
    parser.add_argument("--seed", type=int, default=100)
    parser.add_argument("--tables", nargs="*", default=every, help="names, by default all")
    given = parser.parse_args()
    if given.data is None:
        parser.error("expected --data FOLDER, or the variable PLIANT_DATA")
    report = run(Path(given.data), given.seed, given.tables)
    text = json.dumps(report, indent=1) + "\n"
    pages = {"json": text, "md": to_markdown(report)}
    write_texts({given.out / f"relevance.{kind}": page for kind, page in pages.items()})


if __name__ == "__main__":
    main()
