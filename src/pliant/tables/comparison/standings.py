"""Standings of methods: mean scores with intervals, and tests against a reference method.

The standard error of the mean of r fold scores s is Nadeau and Bengio's
sqrt((1/r + n_test / n_train) var(s)). Overlapping training sets make the scores dependent.
n_test / n_train is averaged over the folds. Intervals for the score on as many new rows as the
table has use Student's t distribution with r - 1 degrees of freedom.

Methods are ranked and tested on their common folds. Tests require `FEWEST_FOLDS` common folds, and
p-values are adjusted by Holm's method.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from math import sqrt
from statistics import fmean, median, variance
from typing import Any, TypeAlias

from scipy import stats

from pliant.tables.comparison.metrics import Metric, metrics_of
from pliant.tables.comparison.protocol import DUMMY, REFERENCE, Entry, Place, Protocol, Record
from pliant.tables.comparison.statistics import corrected_t_test, holm
from pliant.tables.comparison.text import known

Cells: TypeAlias = dict[Place, Record]
"""Records of a method by (repeat, fold), sorted."""

Scores: TypeAlias = dict[Place, float]
"""Scores of a method by (repeat, fold), sorted."""

FEWEST_FOLDS = 5
"""Minimum number of common folds for a test."""


@dataclass(frozen=True, kw_only=True)
class Standing:
    """Rank, scores, test and costs of a method.

    Attributes
    ----------
    method : Entry
    mean, error, low, high : float or None
        Mean score over the common folds (own folds if unranked), its standard error, and a 90 %
        interval for the score on as many new rows as the table has. All are None if the method has
        no score; with a single fold, all but `mean` are None.
    folds, planned : int
        Number of folds in the mean, and in the protocol.
    rank : int or None
        1 is the best mean; ties share the smaller rank. None for a method without a score on all
        common folds.
    is_reference : bool
        True if the other methods are tested against this method.
    difference, difference_error : float or None
        Mean difference from the reference over the common folds, positive if this method is better,
        and its standard error.
    p_value : float or None
        p-value of the corrected t test, adjusted by Holm's method. None for the reference and the
        dummy, and with fewer than five common folds.
    means, errors : dict of str to float or None
        Mean and standard error of each metric, by name.
    seconds : dict of str to float or None
        Median times over the folds: "search", "fit", "predict", "total".
    size_bytes, support, gap : float or None
        Medians over the folds; for `gap`, the largest certified gap. None if unknown.
    """

    method: Entry
    mean: float | None = None
    error: float | None = None
    low: float | None = None
    high: float | None = None
    folds: int = 0
    planned: int = 0
    rank: int | None = None
    is_reference: bool = False
    difference: float | None = None
    difference_error: float | None = None
    p_value: float | None = None
    means: dict[str, float | None]
    errors: dict[str, float | None]
    seconds: dict[str, float | None]
    size_bytes: float | None = None
    support: float | None = None
    gap: float | None = None


def standings(
    methods: Sequence[Entry], records: Iterable[Record], metric: Metric, protocol: Protocol
) -> list[Standing]:
    """Return the standing of each method, best first; methods without a score come last.

    Records may be in any order. Unfinished records and records of other methods are ignored.
    """
    cells = finished(methods, records)
    scored = {name: scores_of(mine, metric.name) for name, mine in cells.items()}
    staying = [entry.name for entry in methods if entry.status != "unfinished"]
    common, ranked = common_folds({name: scored[name].keys() for name in staying})
    for name in ranked:
        cells[name] = {place: cells[name][place] for place in sorted(common)}
        scored[name] = {place: scored[name][place] for place in sorted(common)}
    keys = {name: _sort_key(scores, metric, name in ranked) for name, scores in scored.items()}
    best_first = sorted(methods, key=lambda entry: (keys[entry.name], entry.name))
    order = [keys[entry.name] for entry in best_first]
    baselines = [e.name for e in best_first if e.kind == "baseline" and e.name != DUMMY]
    against = next((name for name in (REFERENCE, *baselines) if name in ranked), None)
    found = []
    for entry in best_first:
        name = entry.name
        place = {
            "planned": len(protocol.places()),
            "rank": order.index(keys[name]) + 1 if name in ranked else None,
            "is_reference": name == against,
        }
        if name in ranked and against is not None and DUMMY != name != against:
            place |= _difference(cells[name], scored[name], scored[against], metric)
        found.append(_standing(entry, cells[name], metric, **place))
    p_values = iter(holm([each.p_value for each in found if each.p_value is not None]))
    return [s if s.p_value is None else replace(s, p_value=next(p_values)) for s in found]


def finished(methods: Iterable[Entry], records: Iterable[Record]) -> dict[str, Cells]:
    """Return the records of finished cells by method, sorted by (repeat, fold)."""
    cells: dict[str, Cells] = {entry.name: {} for entry in methods}
    for record in sorted(records, key=lambda each: (each["repeat"], each["fold"])):
        if record["status"] == "done" and record["method"] in cells:
            cells[record["method"]][record["repeat"], record["fold"]] = record
    return cells


def scores_of(cells: Cells, metric: str) -> Scores:
    """Return the scores for a metric, for the cells in which it is defined."""
    scores = {place: record["scores"].get(metric) for place, record in cells.items()}
    # bounded so that squares are finite
    return {place: min(max(float(s), -1e100), 1e100) for place, s in scores.items() if known(s)}


def common_folds(places: Mapping[str, Set[Place]]) -> tuple[frozenset[Place], frozenset[str]]:
    """Return the common folds, and the methods that have all of them.

    Methods with at most half as many folds of the first repeat as another one, the dummy aside,
    are excluded. `places` maps each method to its scored folds.
    """
    have = {name: frozenset(mine) for name, mine in places.items() if mine}
    folds = {name: sum(not repeat for repeat, _ in mine) for name, mine in have.items()}
    most = max((n for name, n in folds.items() if name != DUMMY), default=0)
    kept = {name: mine for name, mine in have.items() if 2 * folds[name] > most}
    common = frozenset.intersection(*kept.values()) if kept else frozenset[Place]()
    return common, frozenset(kept) if common else frozenset()


def interval_of(
    scores: Sequence[float], share: float, metric: Metric
) -> tuple[float, float, float] | None:
    """Return the standard error of a mean score and a 90 % interval, or None below two scores.

    The interval is for the score on as many new rows as the table has, clipped to the range of the
    metric. `share` is n_test / n_train.
    """
    if len(scores) < 2:
        return None
    mean, r, spread = fmean(scores), len(scores), variance(scores)
    error = sqrt((1 / r + share) * spread)
    new_rows = share / (1 + share) * spread  # n_test / n times the variance over folds
    # the .05 and .95 quantiles of the t distribution
    reach = float(stats.t.ppf(0.95, r - 1)) * sqrt(error**2 + new_rows)
    least, largest = metric.range
    return error, max(mean - reach, least), min(mean + reach, largest)


def held_out_share(records: Iterable[Record]) -> float:
    """Return n_test / n_train, averaged over the records."""
    return fmean(record["rows"]["test"] / record["rows"]["train"] for record in records)


def _sort_key(scores: Scores, metric: Metric, ranked: bool) -> tuple[int, int, float]:
    """Return the sort key of a method, with its mean rounded to 12 digits."""
    if not scores:
        return 2, 0, 0.0
    better_first = float(f"{fmean(scores.values()):.12g}") * (-1 if metric.higher_is_better else 1)
    return (0, 0, better_first) if ranked else (1, -len(scores), better_first)


def _difference(cells: Cells, mine: Scores, others: Scores, metric: Metric) -> dict[str, Any]:
    """Return the mean difference from the reference, its standard error, and its p-value."""
    sign = 1 if metric.higher_is_better else -1
    first, second = ([sign * score for score in s.values()] for s in (mine, others))
    difference = fmean(first) - fmean(second)
    if len(first) < 2:
        return {"difference": difference}
    rows = min(record["rows"]["test"] for record in cells.values())
    share = held_out_share(cells.values())
    test = corrected_t_test(first, second, share, least_rows=rows)
    p_value = test.p_value if len(first) >= FEWEST_FOLDS else None
    return {"difference": difference, "difference_error": test.standard_error, "p_value": p_value}


def _standing(entry: Entry, cells: Cells, metric: Metric, **place: Any) -> Standing:
    records = list(cells.values())
    kind = "regression" if records and "r2" in records[0]["scores"] else "classification"
    named = {each.name: each for each in (*metrics_of(metric.task or kind), metric)}
    scores = {name: list(scores_of(cells, name).values()) for name in named}
    means = {name: fmean(values) if values else None for name, values in scores.items()}
    share = held_out_share(records) if records else 0.0
    intervals = {name: interval_of(values, share, named[name]) for name, values in scores.items()}
    error, low, high = intervals[metric.name] or (None, None, None)
    return Standing(
        method=entry,
        mean=means[metric.name],
        error=error,
        low=low,
        high=high,
        folds=len(cells),
        **place,
        means=means,
        errors={name: each and each[0] for name, each in intervals.items()},
        seconds={
            part: _median(each["seconds"].get(part) for each in records)
            for part in ("search", "fit", "predict", "total")
        },
        size_bytes=_median(each.get("size_bytes") for each in records),
        support=_median(each.get("support") for each in records),
        gap=max(filter(known, (each.get("gap") for each in records)), default=None),
    )


def _median(values: Iterable[float | None]) -> float | None:
    numbers = [float(value) for value in values if known(value)]
    return median(numbers) if numbers else None
