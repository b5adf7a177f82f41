"""Compare ``feature_relevance_`` with permutation importance on many tables.

``python -m benchmarks.relevance --data DIR`` fits LAB-RBF with default settings to the training
rows of one split of each table. It compares the order of the features by relevance with the order
by scikit-learn's permutation importance on the test rows: the decrease of R2 (for classification,
the increase of the log loss) with one feature permuted, averaged over five permutations.
"""

from __future__ import annotations

import argparse
import os
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import spearmanr
from sklearn.inspection import permutation_importance

from benchmarks.harness.measuring import ROOT
from benchmarks.lines import computer, provenance, rounded, write_json, write_text
from benchmarks.markdown import markdown_table
from benchmarks.tables import TASKS, split
from pliant import LABRBFClassifier, LABRBFRegressor
from pliant.tables.comparison.text import TextColumn

FEWEST, MOST = 3, 100
"""Minimum and maximum number of features; the rank correlation of two is always 1 or -1."""

REPEATS = 5

LEAST = 0.01
"""Minimum share of a relevant feature."""

COLUMNS = [
    TextColumn("table"),
    TextColumn("task"),
    TextColumn("rows"),
    TextColumn("features"),
    TextColumn("score", digits=3),
    TextColumn("correlation", "rank correlation", 2),
    TextColumn("same", "same top feature"),
    TextColumn("pairs", "correlated pairs"),
]


def compare(table: str, seed: int, folder: Path) -> dict[str, Any]:
    """Return the agreement of relevance and permutation importance on a table."""
    train, y_train, test, y_test = split("older", table, seed, folder, native=False)
    classification = TASKS[table] == "classification"
    kind = LABRBFClassifier if classification else LABRBFRegressor
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = kind(random_state=seed).fit(train, y_train)
        importance = permutation_importance(
            model, test, y_test, scoring="neg_log_loss" if classification else "r2",
            n_repeats=REPEATS, random_state=seed,
        ).importances_mean  # fmt: skip
    relevance = model.feature_relevance_
    likely = model.correlated_features_[(relevance[model.correlated_features_] >= LEAST).any(1)]
    return {
        "table": table,
        "task": TASKS[table],
        "rows": len(train),
        "features": train.shape[1],
        "score": float(model.score(test, y_test)),
        "correlation": float(spearmanr(relevance, importance).statistic),
        "same": bool(np.argmax(relevance) == np.argmax(importance)),
        "pairs": len(likely),
    }


def to_markdown(report: Mapping[str, Any]) -> str:
    tables = pd.DataFrame(report["tables"])
    groups = {
        "regression": tables["task"] == "regression",
        "classification": tables["task"] == "classification",
        "no correlated features": tables["pairs"] == 0,
        "correlated features": tables["pairs"] > 0,
        "all": tables["pairs"] >= 0,
    }
    medians = [
        {
            "tables": name,
            "number": int(chosen.sum()),
            "lowest": tables["correlation"][chosen].min(),
            "median": tables["correlation"][chosen].median(),
            "same top": tables["same"][chosen].mean(),
        }
        for name, chosen in groups.items()
        if chosen.any()
    ]
    rows = [{**t, "same": "yes" if t["same"] else "no"} for t in report["tables"]]
    return (
        "# Relevance and permutation importance\n\n"
        "Spearman's correlation between feature_relevance_ and scikit-learn's permutation "
        f"importance on test rows ({REPEATS} repeats; by R2, or by the log loss for "
        "classification), with default settings, on one split of each table with "
        f"{FEWEST} to {MOST} features (seed {report['seed']}; 70 % of the rows and at most 3000 "
        "for training). The score is R2 or the accuracy on the test rows. Correlated pairs are "
        "the pairs in correlated_features_ that include a feature with a relevance of at least "
        f"{LEAST:g}.\n\n"
        f"{markdown_table(rows, COLUMNS)}\nThe table shows the lowest and the median rank "
        "correlation, and the share of the tables with the same top feature:\n\n"
        f"{markdown_table(medians)}\n{computer(report)}\n"
    )


def main(words: list[str] | None = None) -> None:
    """Measure the given tables, and write JSON and Markdown."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.relevance")
    parser.add_argument("--data", type=Path, default=os.environ.get("PLIANT_DATA"))
    parser.add_argument("--out", type=Path, default=ROOT / "benchmarks" / "results")
    parser.add_argument("--seed", type=int, default=100)
    parser.add_argument("--tables", nargs="*", default=list(TASKS), help="tables (default all)")
    given = parser.parse_args(words)
    if given.data is None:
        parser.error("expected --data DIR, or the variable PLIANT_DATA")
    folder = Path(given.data)
    wanted = [
        table
        for table in given.tables
        if FEWEST <= split("older", table, given.seed, folder, native=False)[0].shape[1] <= MOST
    ]
    command = f"python -m benchmarks.relevance --seed {given.seed} --data DIR"
    head = {"seed": given.seed, **provenance(), "command": command}
    tables = [rounded(compare(table, given.seed, folder)) for table in wanted]
    write_json(given.out / "relevance.json", head, tables=tables)
    write_text(given.out / "relevance.md", to_markdown({**head, "tables": tables}))


if __name__ == "__main__":
    main()
