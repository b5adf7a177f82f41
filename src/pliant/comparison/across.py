"""Methods compared over several tables: average ranks and what they show.

Methods are ranked on each table by their mean score, 1 the best, so that tables of different tasks
and metrics can stand together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pliant.comparison.metrics import Metric
from pliant.comparison.overall import overall
from pliant.comparison.ranks import (
    FriedmanTest,
    average_ranks,
    friedman_test,
    nemenyi_critical_difference,
)
from pliant.comparison.sentences import listed
from pliant.comparison.standings import standings
from pliant.comparison.versus import SIGN_TEST, WILCOXON, Versus, comparable, versus
from pliant.core.typing import Array

if TYPE_CHECKING:
    from pliant.comparison.result import ComparisonResult, Entry
    from pliant.comparison.standings import Standing

__all__ = ["Across", "across"]


@dataclass(frozen=True, eq=False)
class Across:
    """k methods over N tables.

    Attributes
    ----------
    methods : tuple of Entry
        Those that finished all folds of all tables, the best average rank first.
    tables : tuple of str
        Their names; one that recurs has a number.
    metrics : tuple of Metric
        What each table was ranked by.
    means : ndarray of shape (N, k)
        The mean score of each method on each table.
    left_out : dict of str to str
        Why a method, by name, is not among them.
    friedman : FriedmanTest
        With Iman and Davenport's F, its p-value, and the average ranks.
    critical_difference : float
        Nemenyi's: average ranks further apart than that differ beyond chance.
    reference : str or None
        The method that the others are tested against.
    versus : dict of str to Versus
        The test of each other method, by name.
    test : str
        What that test is.
    level : float
        The probability of a false alarm that `critical_difference`, `groups` and `sentence` allow.
    """

    methods: tuple[Entry, ...]
    tables: tuple[str, ...]
    metrics: tuple[Metric, ...]
    means: Array
    left_out: dict[str, str]
    friedman: FriedmanTest
    critical_difference: float
    reference: str | None
    versus: dict[str, Versus]
    test: str
    level: float

    @property
    def ranks(self) -> Array:
        """The average rank of each method."""
        return self.friedman.ranks

    def groups(self) -> list[tuple[str, ...]]:
        """Return the largest sets of methods, by name, with ranks within the critical difference.

        Methods that differ from all others are in none.
        """
        names = [entry.name for entry in self.methods]
        ends = np.searchsorted(self.ranks, self.ranks + self.critical_difference, side="right")
        found, reached = [], 1
        for start, end in enumerate(ends.tolist()):
            if end > max(reached, start + 1):
                found.append(tuple(names[start:end]))
                reached = end
        return found

    def sentence(self) -> str:
        """Say in plain words what holds over all tables, and what these cannot show."""
        return overall(self)


def across(
    results: Sequence[ComparisonResult], *, reference: str = "svm", level: float = 0.05
) -> Across:
    """Compare methods over tables.

    Parameters
    ----------
    results : sequence of N >= 2 ComparisonResult
        A result for each table; their tasks and metrics may differ.
    reference : str
        The method to test the others against. If it has not finished all tables, the baseline with
        the best average rank takes its place.
    level : float
        The probability of a false alarm.

    Returns
    -------
    Across

    Raises
    ------
    ValueError
        If there are less than two tables, less than two methods finished all of them, or the level
        is not in (0, 1).
    """
    if len(results) < 2:
        raise ValueError(f"expected at least 2 tables, got {len(results)}")
    tables = _names(results)
    places = [_places(result) for result in results]
    left_out = _left_out(tables, places)
    found = [name for name in places[0] if name not in left_out]
    if len(found) < 2:
        why = "; ".join(f"{name}: {reason}" for name, reason in left_out.items())
        raise ValueError(f"expected 2 methods that finished all tables, got {len(found)} ({why})")
    metrics = tuple(result.metric for result in results)
    means = np.array([[place[name].mean for name in found] for place in places], dtype=np.float64)
    order = np.argsort(average_ranks(_oriented(means, metrics)), kind="stable")
    means, methods = means[:, order], tuple(places[0][found[k]].method for k in order)
    scores = _oriented(means, metrics)
    against = _reference(methods, reference)
    ranked = comparable(metrics)
    return Across(
        methods=methods,
        tables=tables,
        metrics=metrics,
        means=means,
        left_out=left_out,
        friedman=friedman_test(scores),
        critical_difference=nemenyi_critical_difference(len(methods), len(tables), level),
        reference=against,
        versus=versus([entry.name for entry in methods], scores, against, ranked=ranked),
        test=WILCOXON if ranked else SIGN_TEST,
        level=level,
    )


def _names(results: Sequence[ComparisonResult]) -> tuple[str, ...]:
    """Return the tables' names, with a number behind those that recur."""
    names = [str(result.sample["name"]) for result in results]
    numbers = [names[: k + 1].count(name) for k, name in enumerate(names)]
    return tuple(
        f"{name} ({number})" if names.count(name) > 1 else name
        for name, number in zip(names, numbers, strict=True)
    )


def _places(result: ComparisonResult) -> dict[str, Standing]:
    """Return the standings of a table by method, in the order of its methods."""
    found = standings(result.methods, result.records, result.metric, result.protocol)
    by_name = {standing.method.name: standing for standing in found}
    return {entry.name: by_name[entry.name] for entry in result.methods}


def _left_out(tables: Sequence[str], places: Sequence[Mapping[str, Standing]]) -> dict[str, str]:
    """Return why methods have not finished all tables."""
    known = dict.fromkeys(name for place in places for name in place)
    reasons = {
        name: [
            f"{table}: {why}"
            for table, place in zip(tables, places, strict=True)
            if (why := _missing(place.get(name)))
        ]
        for name in known
    }
    return {name: listed(found) for name, found in reasons.items() if found}


def _missing(standing: Standing | None) -> str:
    """Return why a method has no score of all folds of a table; "" if it has."""
    if standing is None:
        return "not compared"
    if standing.folds == standing.planned and standing.mean is not None:
        return ""
    return standing.method.reason or f"{standing.folds} of {standing.planned} folds"


def _oriented(means: Array, metrics: Sequence[Metric]) -> Array:
    """Return means of which the higher is better; in units of each table's largest if they mix."""
    signs = np.array([1.0 if metric.higher_is_better else -1.0 for metric in metrics])
    if comparable(metrics):
        return means * signs[:, None]
    largest = np.abs(means).max(axis=1)
    return means * (signs / np.where(largest > 0, largest, 1.0))[:, None]


def _reference(methods: Sequence[Entry], wanted: str) -> str | None:
    names = [entry.name for entry in methods]
    baselines = [entry.name for entry in methods if entry.kind == "baseline"]
    return next((name for name in (wanted, *baselines) if name in names), None)
