"""What the results on many tables amount to: ranks, relative errors, seconds, old beside new."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
from scipy.stats import rankdata

from benchmarks.tables.running import TABLES

FEWEST = 5
"""Seeds from which on a loss counts."""

Rows = Sequence[Mapping[str, Any]]
"""Results of `running.run`, one for each fit."""

OURS, OLD = "lab_rbf", "lab_rbf_8f29215"
"""Labels of LAB-RBF as it is, and as it was in the revision that it is compared with."""

RANKED = {
    "regression": (
        OURS, "realmlp_td", "forest", "xrfm", "lightgbm_td", "xgboost_td", "catboost_td",
    ),
    "classification": (
        OURS, "svm", "realmlp_td", "forest", "xgboost_td", "catboost_td", "lightgbm_td",
    ),
}  # fmt: skip
"""The seven that are ranked."""

TOLERANCE = {"regression": 0.002, "classification": 0.005}
"""A loss of R2 or accuracy that counts, if it is two standard errors as well."""


def means(rows: Rows, seeds: Collection[int], key: str) -> dict[tuple[str, str], float]:
    """Return the mean over the seeds for each (label, table) that has all of them."""
    values: dict[tuple[str, str], list[float]] = {}
    for row in rows:
        if row["seed"] in seeds and key in row:
            values.setdefault((row["label"], row["table"]), []).append(row[key])
    return {
        cell: float(np.mean(numbers))
        for cell, numbers in values.items()
        if len(numbers) == len(seeds)
    }


def common_seeds(rows: Rows, seeds: Collection[int]) -> list[int]:
    """Return the seeds that all that are ranked have on every table that anybody has."""
    cells = {(row["label"], row["table"], row["seed"]) for row in rows}
    known = {row["table"] for row in rows}
    return [
        seed
        for seed in seeds
        if all(
            (label, table, seed) in cells
            for task, halves in TABLES.items()
            for names in halves.values()
            for table in names
            if table in known
            for label in RANKED[task]
        )
    ]


def complete(rows: Rows, seeds: Collection[int], task: str, tables: Sequence[str]) -> list[str]:
    """Return the tables on which all that are ranked have all seeds."""
    score = means(rows, seeds, "score")
    return [t for t in tables if all((label, t) in score for label in RANKED[task])]


def standings(
    rows: Rows, seeds: Collection[int], task: str, tables: Sequence[str], ours: str = OURS
) -> list[dict[str, Any]]:
    """Return a line for each contestant, the best mean rank first.

    `ours` stands in the place of LAB-RBF. Ranks are those of the mean scores over the seeds, 1 the
    best; the error is 1 - R2, relative to the lowest one on the table.
    """
    labels = [ours if label == OURS else label for label in RANKED[task]]
    tables = [t for t in tables if (ours, t) in means(rows, seeds, "score")]
    if not tables:
        return []
    score, loss = means(rows, seeds, "score"), means(rows, seeds, "log_loss")
    seconds = means(rows, seeds, "fit_s")
    scores = np.array([[score[label, table] for label in labels] for table in tables])
    ranks = rankdata(-scores, axis=1).mean(axis=0)
    errors = np.maximum(1.0 - scores, 1e-12)
    relative = np.exp(np.log(errors / errors.min(axis=1, keepdims=True)).mean(axis=0))
    lines = []
    for k, label in enumerate(labels):
        line = {"contestant": label, "tables": len(tables), "mean rank": float(ranks[k])}
        if task == "regression":
            line |= {"R2": float(scores[:, k].mean()), "relative error": float(relative[k])}
        else:
            line["accuracy"] = float(scores[:, k].mean())
            line["log loss"] = float(np.mean([loss[label, table] for table in tables]))
        line["seconds"] = float(np.mean([seconds[label, table] for table in tables]))
        lines.append(line)
    return sorted(lines, key=lambda line: line["mean rank"])


def beside_old(rows: Rows, seeds: Collection[int]) -> list[dict[str, Any]]:
    """Return, for each table, how the score and the processor time changed since `OLD`.

    The difference is paired over the seeds that both have; "worse" is a loss of more than
    `TOLERANCE` and of two standard errors, over at least `FEWEST` seeds.
    """
    by_cell = {(r["label"], r["table"], r["seed"]): r for r in rows if r["seed"] in seeds}
    lines = []
    for task, halves in TABLES.items():
        for table in (name for names in halves.values() for name in names):
            pairs = [
                (by_cell[OURS, table, seed], by_cell[OLD, table, seed])
                for seed in seeds
                if (OURS, table, seed) in by_cell and (OLD, table, seed) in by_cell
            ]
            if not pairs:
                continue
            gains = np.array([new["score"] - old["score"] for new, old in pairs])
            error = float(gains.std(ddof=1) / np.sqrt(len(gains))) if len(gains) > 1 else None
            gain = float(gains.mean())
            lost = error is not None and gain < -TOLERANCE[task] and gain < -2.0 * error
            ratios = [np.log(new["fit_s"] / old["fit_s"]) for new, old in pairs]
            line = {
                "table": table,
                "task": task,
                "seeds": len(pairs),
                "gain": gain,
                "standard error": error,
                "worse": lost and len(gains) >= FEWEST,
                "time ratio": float(np.exp(np.mean(ratios))),
            }
            lines.append(line)
    return lines


def geometric_mean(values: Sequence[float]) -> float:
    """Return the geometric mean of positive numbers."""
    return float(np.exp(np.mean(np.log(values))))
