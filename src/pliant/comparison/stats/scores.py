"""The scores of finished cells: which there are, their mean and its standard error."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import fsum, isfinite, sqrt
from statistics import median, variance
from typing import TypeAlias, TypeGuard

from pliant.comparison.record import Entry, Record

__all__ = [
    "Cells",
    "Scores",
    "finished",
    "held_out_share",
    "is_number",
    "mean_of",
    "median_of",
    "scores_of",
    "standard_error",
]

Cells: TypeAlias = dict[tuple[int, int], Record]
Scores: TypeAlias = dict[tuple[int, int], float]
"""Records and scores of one method by repeat and fold, ascending."""

LARGEST = 1e100
"""The bound on scores, so that their squares are finite."""


def finished(methods: Sequence[Entry], records: Iterable[Record]) -> dict[str, Cells]:
    """Return the records of finished cells by method and place, places ascending."""
    cells: dict[str, Cells] = {entry.name: {} for entry in methods}
    for record in records:
        if record["status"] == "done" and record["method"] in cells:
            cells[record["method"]][record["repeat"], record["fold"]] = record
    return {name: dict(sorted(numbers.items())) for name, numbers in cells.items()}


def scores_of(cells: Cells, metric: str) -> Scores:
    """Return the scores of the cells that have this one."""
    scores = {place: record["scores"].get(metric) for place, record in cells.items()}
    return {place: _bounded(score) for place, score in scores.items() if is_number(score)}


def mean_of(values: Iterable[float]) -> float | None:
    """Return the mean, the same in any order; None of no values."""
    numbers = list(values)
    return fsum(numbers) / len(numbers) if numbers else None


def standard_error(cells: Cells, values: Scores) -> float | None:
    """Return the standard error of the mean, corrected for overlapping training rows."""
    if len(values) < 2:
        return None
    share = held_out_share(cells[place] for place in values)
    return sqrt((1 / len(values) + share) * variance(values.values()))


def held_out_share(records: Iterable[Record]) -> float:
    """Return n_test / n_train, the mean over records."""
    shares = [record["rows"]["test"] / record["rows"]["train"] for record in records]
    return fsum(shares) / len(shares)


def median_of(values: Iterable[object]) -> float | None:
    """Return the median of the numbers among some values; None of none."""
    numbers = [float(value) for value in values if is_number(value)]
    return median(numbers) if numbers else None


def is_number(value: object) -> TypeGuard[float]:
    """Return whether a value of a record is a finite number."""
    return isinstance(value, int | float) and isfinite(value)


def _bounded(score: float) -> float:
    return min(max(float(score), -LARGEST), LARGEST)
