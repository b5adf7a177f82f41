"""Ways to choose, compared over many sets: one row each."""

from __future__ import annotations

from collections.abc import Sequence

from papers.rendering import named, p_text
from papers.scores import Overall, Scores, Way
from pliant.comparison import Column, markdown_table
from pliant.comparison.rendering import Cell

__all__ = ["EXPLAINED", "TASKS", "averages"]

TASKS = {"classification": "accuracy", "regression": "1 - R2"}
"""The score of each task."""

EXPLAINED = (
    "Mean test score over the sets of a task (accuracy in per cent, or 1 - R2); gain over SVM-CV; "
    "mean rank among the rows of the table, 1 the best; the number of sets on which the paired t "
    "test at 5 % calls the row better / worse than SVM-CV (one set in twenty is expected where "
    "there is no difference); the p-value of Wilcoxon's test against SVM-CV over the sets. "
    "*chosen*: the rule chosen by cross-validation.\n"
)


def averages(ways: Sequence[Way], scores: Scores) -> str:
    """Return a table with a row for each way."""
    ranks = scores.ranks(ways, scores.sets()).mean(axis=1)
    rows: list[dict[str, Cell]] = [{**named(way)} for way in ways]
    tasks = [task for task in TASKS if scores.sets(task)]
    for task in tasks:
        over = scores.overall(ways, scores.sets(task))
        rows = [row | _cells(task, found) for row, found in zip(rows, over, strict=True)]
    columns = [Column("method"), Column("eta"), Column("rule")]
    columns += [column for task in tasks for column in _columns(task, scores)]
    if len(tasks) > 1:
        rows = [row | {"rank": rank} for row, rank in zip(rows, ranks, strict=True)]
        columns.append(Column("rank", "rank, all sets", 2))
    return markdown_table(rows, columns)


def _cells(task: str, found: Overall) -> dict[str, Cell]:
    return {
        f"{task} mean": found.mean,
        f"{task} gain": found.gain,
        f"{task} rank": found.rank,
        f"{task} sides": f"{found.better} / {found.worse}",
        f"{task} p": p_text(found.p_value),
    }


def _columns(task: str, scores: Scores) -> list[Column]:
    decimals = 2 if task == "classification" else 4
    return [
        Column(f"{task} mean", f"{TASKS[task]}, {len(scores.sets(task))} sets", decimals),
        Column(f"{task} gain", "gain", decimals),
        Column(f"{task} rank", "rank", 2),
        Column(f"{task} sides", "better / worse"),
        Column(f"{task} p", "p"),
    ]
