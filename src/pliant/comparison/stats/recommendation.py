"""Which method to use: from ranks, tests and costs, never from one fold.

A method is recommended for one of four reasons:

"better"
    It has the best mean, and is better than the reference: significantly, or on each of three
    or more common folds.
"reference", "cheapest"
    No method is better in this sense. Of those with at least the mean of the reference, and within
    one standard error of the best mean, it takes the least time, search and prediction included.
"best"
    The same, and it has the best mean; or there is no reference among the ranked methods.

The dummy is never recommended, nor a method whose mean is not better than the dummy's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from typing import Literal

from pliant.comparison.record import DUMMY
from pliant.comparison.stats.standings import Standing

LEVEL = 0.05
"""Differences with a smaller p-value are called significant."""

ENOUGH_WINS = 3
"""Common folds from which on a method that is better on each of them counts as better."""

Reason = Literal["better", "reference", "cheapest", "best"]


@dataclass(frozen=True)
class Recommendation:
    """The method to use.

    Attributes
    ----------
    standing : Standing
    reason : {"better", "reference", "cheapest", "best"}
    """

    standing: Standing
    reason: Reason


def recommend(standings: Sequence[Standing], level: float = LEVEL) -> Recommendation | None:
    """Return the method to use; None where no method can be recommended.

    Parameters
    ----------
    standings : sequence of Standing
        As `pliant.comparison.stats.standings.standings` returns them.
    level : float
    """
    ranked = [each for each in standings if each.rank is not None and each.folds > 1]
    useful = _useful(ranked)
    if not useful:
        return None
    best = useful[0]
    reference = next((each for each in ranked if each.is_reference), None)
    if reference is None or reference.method.name == DUMMY:
        return Recommendation(best, "best")
    if best is not reference and is_better(best, level):
        return Recommendation(best, "better")
    as_good = [each for each in useful if _rank(each) <= _rank(reference) and _is_near(each, best)]
    cheapest = min(as_good, key=_cost)
    if cheapest is reference:
        return Recommendation(reference, "reference")
    return Recommendation(cheapest, "best" if cheapest is best else "cheapest")


def is_better(standing: Standing, level: float = LEVEL) -> bool:
    """Return whether a method is better than the reference: significantly, or on every fold."""
    if standing.p_value is None or standing.difference is None or standing.difference <= 0:
        return False
    always = standing.wins == standing.folds >= ENOUGH_WINS
    return always or standing.p_value < level


def _is_near(standing: Standing, best: Standing) -> bool:
    """Return whether a mean is within one standard error of the best one."""
    assert standing.mean is not None
    assert best.mean is not None
    return abs(standing.mean - best.mean) <= (best.error or 0.0)


def _useful(ranked: Sequence[Standing]) -> list[Standing]:
    """Return the methods with a better mean than the dummy's, without it."""
    dummy = next((each for each in ranked if each.method.name == DUMMY), None)
    if dummy is None:
        return list(ranked)
    return [each for each in ranked if _rank(each) < _rank(dummy)]


def _rank(standing: Standing) -> float:
    return inf if standing.rank is None else standing.rank


def _cost(standing: Standing) -> tuple[float, float]:
    """Return the seconds of search, fit and prediction; the rank decides among equals."""
    parts = (standing.seconds.get(part) or 0.0 for part in ("search", "fit", "predict"))
    return sum(parts), _rank(standing)
