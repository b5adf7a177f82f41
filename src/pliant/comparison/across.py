"""Methods compared over several tables: average ranks and tests.

Methods are ranked on each table by their mean score, 1 the best, so that tables of different tasks
and metrics can stand together. Each is tested against one reference. Wilcoxon's signed-rank test
compares the sizes of differences, so it needs one metric without a unit on all tables; otherwise
the sign test asks only which of two is better on a table. p-values are adjusted by Holm's method.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from math import floor, log2
from typing import Any

import numpy as np
from scipy import stats

from pliant.comparison.metrics import Metric
from pliant.comparison.paired import PairedTest, holm, wilcoxon_test
from pliant.comparison.ranks import (
    FriedmanTest,
    average_ranks,
    friedman_test,
    nemenyi_critical_difference,
)
from pliant.comparison.record import DUMMY, Entry
from pliant.comparison.result import ComparisonResult
from pliant.comparison.standings import Standing, reference_of
from pliant.comparison.text import p_equals
from pliant.core.text import listed
from pliant.core.typing import Array

WILCOXON = "Wilcoxon's signed-rank test"
SIGN_TEST = "the sign test"

LEVEL = 0.05
"""Probability of a false alarm of tests and of the critical difference."""

WITH_UNIT = ("rmse", "mae")
"""Metrics whose differences on two tables cannot be compared."""


@dataclass(frozen=True)
class Versus:
    """One method against the reference over tables.

    Attributes
    ----------
    p_value : float
        Two-sided, adjusted by Holm's method over the methods.
    side : int
        1 if the test finds the method better, -1 if worse, 0 if neither.
    wins, ties, losses : int
        Tables on which the method's mean is better, equal, worse.
    """

    p_value: float
    side: int
    wins: int
    ties: int
    losses: int


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
    metrics : tuple of Metric
        The metric of the ranks on each table.
    means : ndarray of shape (N, k)
        The mean score of each method on each table.
    left_out : dict of str to str
        The reason why a method, by name, is not among them.
    friedman : FriedmanTest
        With Iman and Davenport's F, its p-value, and the average ranks.
    critical_difference : float
        Nemenyi's: average ranks further apart than that differ significantly.
    reference : str or None
        The method that the others are tested against.
    versus : dict of str to Versus
        The test of each other method, by name.
    test : str
        The name of that test.
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

    @property
    def ranks(self) -> Array:
        """The average rank of each method."""
        return self.friedman.ranks

    def sentence(self) -> str:
        """Return the result over all tables in words, and what these tables cannot show.

        For example "Over 6 tables the 9 methods differ significantly (Friedman's test, p = 0.01);
        the best average rank is DANK's, 2.1. No method is significantly better than the Gaussian
        SVM, nor could one be with 6 tables: that takes 9."
        """
        texts = (_differ(self), _against(self))
        return " ".join(text[0].upper() + text[1:] + "." for text in texts)

    def to_dict(self) -> dict[str, Any]:
        """Return ranks and tests as plain data."""
        names = [entry.name for entry in self.methods]
        return {
            "tables": list(self.tables),
            "ranks": dict(zip(names, self.ranks.tolist(), strict=True)),
            "friedman": {"statistic": self.friedman.statistic, "p_value": self.friedman.p_value},
            "critical_difference": self.critical_difference,
            "level": LEVEL,
            "reference": self.reference,
            "test": self.test,
            "versus": {name: asdict(test) for name, test in self.versus.items()},
            "left_out": self.left_out,
            "sentence": self.sentence(),
        }


def across(results: Sequence[ComparisonResult]) -> Across:
    """Compare methods over tables.

    Parameters
    ----------
    results : sequence of N >= 2 ComparisonResult
        A result for each table; their tasks and metrics may differ.

    Returns
    -------
    Across
        The reference is the Gaussian SVM if it has a rank on all tables, or else the baseline of
        the best average rank.

    Raises
    ------
    ValueError
        If there are less than two tables, or less than two methods have a rank on all of them.
    """
    if len(results) < 2:
        raise ValueError(f"expected at least 2 tables, got {len(results)}")
    tables = _names(results)
    places = [{each.method.name: each for each in result.standings()} for result in results]
    left_out = _left_out(tables, places)
    known = [entry.name for entry in results[0].methods if entry.name != DUMMY]
    names = [name for name in known if name not in left_out]
    if len(names) < 2:
        why = "; ".join(f"{name}: {reason}" for name, reason in left_out.items())
        raise ValueError(f"expected 2 methods with a rank on all tables, got {len(names)} ({why})")
    metrics = tuple(result.metric for result in results)
    means = np.array([[place[name].mean for name in names] for place in places], dtype=np.float64)
    order = np.argsort(average_ranks(_oriented(means, metrics)), kind="stable")
    means, names = means[:, order], [names[k] for k in order]
    methods = tuple(places[0][name].method for name in names)
    scores = _oriented(means, metrics)
    against = reference_of(methods, set(names))
    ranked = comparable(metrics)
    return Across(
        methods=methods,
        tables=tables,
        metrics=metrics,
        means=means,
        left_out=left_out,
        friedman=friedman_test(scores),
        critical_difference=nemenyi_critical_difference(len(methods), len(tables), LEVEL),
        reference=against,
        versus={} if against is None else _tests(names, scores, against, ranked=ranked),
        test=WILCOXON if ranked else SIGN_TEST,
    )


def comparable(metrics: Sequence[Metric]) -> bool:
    """Return whether differences of scores on two tables can be compared."""
    return len({metric.name for metric in metrics}) == 1 and metrics[0].name not in WITH_UNIT


def tables_needed(n_tests: int) -> int:
    """Return from how many tables on a method that is better on all of them has p < LEVEL.

    Its p-value is then m 2^(1 - N) after Holm's correction over m tests.
    """
    return floor(1 + log2(n_tests / LEVEL)) + 1


def _tests(names: Sequence[str], scores: Array, against: str, *, ranked: bool) -> dict[str, Versus]:
    """Test each method against the reference.

    `scores` has a row for each table, the higher the better; `ranked` states whether differences
    on two tables can be compared.
    """
    base = scores[:, names.index(against)]
    others = [name for name in names if name != against]
    tests = [wilcoxon_test(scores[:, names.index(name)], base) for name in others]
    adjusted = holm([test.p_value if ranked else _sign_test(test) for test in tests])
    sides = [np.sign(test.statistic if ranked else test.wins - test.losses) for test in tests]
    return {
        name: Versus(p, int(side), test.wins, test.ties, test.losses)
        for name, test, side, p in zip(others, tests, sides, adjusted, strict=True)
    }


def _sign_test(test: PairedTest) -> float:
    n = test.wins + test.losses
    return float(stats.binomtest(test.wins, n).pvalue) if n else 1.0


def _names(results: Sequence[ComparisonResult]) -> tuple[str, ...]:
    """Return the tables' names, with a number behind those that recur."""
    names = [str(result.sample["name"]) for result in results]
    numbers = [names[: k + 1].count(name) for k, name in enumerate(names)]
    return tuple(
        f"{name} ({number})" if names.count(name) > 1 else name
        for name, number in zip(names, numbers, strict=True)
    )


def _left_out(tables: Sequence[str], places: Sequence[Mapping[str, Standing]]) -> dict[str, str]:
    """Return the reasons why methods have no rank on some table."""
    reasons: dict[str, list[str]] = {}
    for name in dict.fromkeys(name for place in places for name in place):
        for table, place in zip(tables, places, strict=True):
            standing = place.get(name)
            if standing is None:
                reasons.setdefault(name, []).append(f"{table}: not compared")
            elif standing.rank is None:
                why = standing.method.reason or "no score of all common folds"
                reasons.setdefault(name, []).append(f"{table}: {why}")
    return {name: listed(causes) for name, causes in reasons.items()}


def _oriented(means: Array, metrics: Sequence[Metric]) -> Array:
    """Return means of which the higher is better; in units of each table's largest if they mix."""
    signs = np.array([1.0 if metric.higher_is_better else -1.0 for metric in metrics])
    if comparable(metrics):
        return means * signs[:, None]
    largest = np.abs(means).max(axis=1)
    return means * (signs / np.where(largest > 0, largest, 1.0))[:, None]


def _differ(ranking: Across) -> str:
    n, k = len(ranking.tables), len(ranking.methods)
    p = f"Friedman's test, {p_equals(ranking.friedman.p_value)}"
    rank = f"the best average rank is {ranking.methods[0].title}'s, {ranking.ranks[0]:.1f}"
    if ranking.friedman.rejects(LEVEL):
        far = f"ranks more than {ranking.critical_difference:.1f} apart differ significantly"
        return f"over {n} tables the {k} methods differ significantly ({p}); {rank}, and {far}"
    return f"over {n} tables the {k} methods do not differ significantly ({p}); {rank}"


def _against(ranking: Across) -> str:
    """Return which methods are significantly better and worse than the reference."""
    if ranking.reference is None:
        return "no baseline has a rank on all tables, so no method is tested against one"
    titles = {entry.name: entry.title for entry in ranking.methods}
    name, m = titles[ranking.reference], len(ranking.versus)
    sure = {titles[who]: v.side for who, v in ranking.versus.items() if v.p_value < LEVEL}
    by = f"({ranking.test}, Holm's correction over {m} methods)" if m > 1 else f"({ranking.test})"
    needed = tables_needed(m)
    if len(ranking.tables) < needed:
        return (
            f"no method is significantly better than {name}, nor could one be with "
            f"{len(ranking.tables)} tables: that takes {needed} {by}"
        )
    better, worse = ([who for who, side in sure.items() if side == sign] for sign in (1, -1))
    claim = f"{listed(better)} {'is' if len(better) == 1 else 'are'}" if better else "no method is"
    rest = f"; {listed(worse)} {'is' if len(worse) == 1 else 'are'} worse" if worse else ""
    return f"{claim} significantly better than {name} {by}{rest}"
