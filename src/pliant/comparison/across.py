"""Methods compared over several tables: average ranks, Friedman's test, Nemenyi's distance.

Methods are ranked on each table by their mean score, 1 the best, so that tables of different tasks
and metrics can stand together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pliant.comparison.outcome import Outcome
from pliant.comparison.record import DUMMY, Entry
from pliant.comparison.standings import Standing
from pliant.comparison.statistics import (
    FriedmanTest,
    average_ranks,
    friedman_test,
    nemenyi_critical_difference,
)
from pliant.core.text import listed
from pliant.core.typing import Array

LEVEL = 0.05
"""Probability of a false alarm of the test and of the critical difference."""


@dataclass(frozen=True, eq=False)
class Across:
    """k methods over N tables.

    Attributes
    ----------
    methods : tuple of Entry
        Those that have a rank on all tables, the best average rank first; without the dummy,
        from which all differ.
    tables : tuple of str
        Their names; one that recurs has a number.
    left_out : dict of str to str
        The reason why a method, by name, is not among them.
    friedman : FriedmanTest
        With Iman and Davenport's F, its p-value, and the average ranks.
    critical_difference : float
        Nemenyi's: average ranks further apart than that differ significantly.
    """

    methods: tuple[Entry, ...]
    tables: tuple[str, ...]
    left_out: dict[str, str]
    friedman: FriedmanTest
    critical_difference: float

    @property
    def ranks(self) -> Array:
        """The average rank of each method."""
        return self.friedman.ranks

    def sentence(self) -> str:
        """Return the result over all tables in words.

        For example "Over 6 tables the 9 methods differ significantly (Friedman's test, p = 0.01);
        the best average rank is DANK's, 2.1, and ranks more than 2.5 apart differ significantly."
        """
        p = self.friedman.p_value
        shown = "p < 0.001" if p < 0.001 else f"p = {p:.3g}"
        differ, far = "do not differ", ""
        if p < LEVEL:
            apart = f"{self.critical_difference:.1f}"
            differ, far = "differ", f", and ranks more than {apart} apart differ significantly"
        return (
            f"Over {len(self.tables)} tables the {len(self.methods)} methods {differ} "
            f"significantly (Friedman's test, {shown}); the best average "
            f"rank is {self.methods[0].title}'s, {self.ranks[0]:.1f}{far}."
        )

    def to_dict(self) -> dict[str, Any]:
        """Return ranks and tests as plain data."""
        names = [entry.name for entry in self.methods]
        return {
            "tables": list(self.tables),
            "ranks": dict(zip(names, self.ranks.tolist(), strict=True)),
            "friedman": {"statistic": self.friedman.statistic, "p_value": self.friedman.p_value},
            "critical_difference": self.critical_difference,
            "level": LEVEL,
            "left_out": self.left_out,
            "sentence": self.sentence(),
        }


def across(results: Sequence[Outcome]) -> Across:
    """Compare methods over tables.

    Parameters
    ----------
    results : sequence of N >= 2 Outcome
        A result for each table; their tasks and metrics may differ.

    Raises
    ------
    ValueError
        If there are less than two tables, or less than two methods have a rank on all of them.
    """
    if len(results) < 2:
        raise ValueError(f"expected at least 2 tables, got {len(results)}")
    given = [str(result.sample["name"]) for result in results]
    tables = tuple(
        f"{name} ({given[: k + 1].count(name)})" if given.count(name) > 1 else name
        for k, name in enumerate(given)
    )
    places = [{each.method.name: each for each in result.standings()} for result in results]
    left_out = _left_out(tables, places)
    names = [e.name for e in results[0].methods if e.name != DUMMY and e.name not in left_out]
    if len(names) < 2:
        why = "; ".join(f"{name}: {reason}" for name, reason in left_out.items())
        raise ValueError(f"expected 2 methods with a rank on all tables, got {len(names)} ({why})")
    means = np.array([[place[name].mean for name in names] for place in places], dtype=np.float64)
    largest = np.abs(means).max(axis=1)
    signs = np.array([1.0 if each.metric.higher_is_better else -1.0 for each in results])
    scores = means * (signs / np.where(largest > 0, largest, 1.0))[:, None]  # higher is better
    order = np.argsort(average_ranks(scores), kind="stable")
    return Across(
        methods=tuple(places[0][names[k]].method for k in order),
        tables=tables,
        left_out=left_out,
        friedman=friedman_test(scores[:, order]),
        critical_difference=nemenyi_critical_difference(len(names), len(tables), LEVEL),
    )


def _left_out(tables: Sequence[str], places: Sequence[Mapping[str, Standing]]) -> dict[str, str]:
    """Return the reasons why methods have no rank on some table."""
    reasons: dict[str, list[str]] = {}
    for name in dict.fromkeys(name for place in places for name in place):
        for table, place in zip(tables, places, strict=True):
            if name not in place:
                reasons.setdefault(name, []).append(f"{table}: not compared")
            elif place[name].rank is None:
                why = place[name].method.reason or "no score of all common folds"
                reasons.setdefault(name, []).append(f"{table}: {why}")
    return {name: listed(causes) for name, causes in reasons.items()}
