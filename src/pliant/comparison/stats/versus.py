"""Tests of methods against one reference over several tables.

Wilcoxon's signed-rank test compares the sizes of differences, so all tables need one metric without
a unit. For others there is the sign test, which asks only which of the two is better on a table.
p-values are adjusted by Holm's method over the methods.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from pliant.comparison.metrics import Metric
from pliant.comparison.stats.multiple import holm
from pliant.comparison.stats.paired import PairedTest, wilcoxon_test
from pliant.core.typing import Array

__all__ = ["SIGN_TEST", "WILCOXON", "Versus", "comparable", "versus"]

WILCOXON = "Wilcoxon's signed-rank test"
SIGN_TEST = "the sign test"

WITH_UNIT = ("rmse", "mae")
"""Metrics whose differences on two tables cannot be compared."""


@dataclass(frozen=True)
class Versus:
    """One method against the reference over tables.

    Attributes
    ----------
    p_value : float
        Two-sided, adjusted by Holm's method over the methods.
    raw : float
        The p-value before.
    side : int
        1 if the test finds the method better, -1 if worse, 0 if neither.
    wins, ties, losses : int
        Tables on which the method's mean is better, equal, worse.
    """

    p_value: float
    raw: float
    side: int
    wins: int
    ties: int
    losses: int


def comparable(metrics: Sequence[Metric]) -> bool:
    """Return whether differences of scores on two tables can be compared."""
    return len({metric.name for metric in metrics}) == 1 and metrics[0].name not in WITH_UNIT


def versus(
    names: Sequence[str], scores: Array, against: str | None, *, ranked: bool
) -> dict[str, Versus]:
    """Test each method against the reference.

    Parameters
    ----------
    names : sequence of k str
    scores : array of shape (N, k)
        Of a method on a table; the higher the better.
    against : str or None
        The reference; without one there is nothing to test.
    ranked : bool
        Whether differences on two tables can be compared.
    """
    if against is None:
        return {}
    base = scores[:, names.index(against)]
    others = [name for name in names if name != against]
    tests = [wilcoxon_test(scores[:, names.index(name)], base) for name in others]
    raw = [_p_value(test, ranked=ranked) for test in tests]
    return {
        name: Versus(adjusted, p, _side(test, ranked=ranked), test.wins, test.ties, test.losses)
        for name, test, p, adjusted in zip(others, tests, raw, holm(raw), strict=True)
    }


def _p_value(test: PairedTest, *, ranked: bool) -> float:
    """Return the p-value of Wilcoxon's or of the sign test."""
    n = test.wins + test.losses
    if ranked or n == 0:
        return test.p_value
    return float(stats.binomtest(test.wins, n).pvalue)


def _side(test: PairedTest, *, ranked: bool) -> int:
    return int(np.sign(test.statistic if ranked else test.wins - test.losses))
