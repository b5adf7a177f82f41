"""Where each method stands: mean scores, their standard errors, and tests against one reference.

With the scores s_1, ..., s_r of a method's finished cells, the standard error of their mean is
Nadeau and Bengio's, sqrt((1/r + n_test / n_train) var(s)): training rows of different folds
overlap, so their scores are not independent. n_test / n_train is the mean over the cells.

Methods are ranked, and tested against the reference, on the folds that all of them have (see
`pliant.comparison.stats.common`), by the corrected paired t test; p-values are adjusted by Holm's
method over all methods tested. The best method is tested against the second as well.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from math import fsum, isfinite, sqrt
from statistics import median, variance
from typing import Any, TypeAlias, TypeGuard

from pliant.comparison.metrics import Metric, metrics_of
from pliant.comparison.protocol import SAMPLED, Place, Protocol, Stage
from pliant.comparison.record import BASELINE, REFERENCE, Entry, Record
from pliant.comparison.stats.common import Cells, chosen_stages, finished
from pliant.comparison.stats.paired import PairedTest, corrected_t_test, holm, wilcoxon_test
from pliant.core.text import count

Scores: TypeAlias = dict[Place, float]
"""Scores of one method by repeat and fold, ascending."""

LARGEST = 1e100
"""The bound on scores, so that their squares are finite."""


def scores_of(cells: Cells, metric: str) -> Scores:
    """Return the scores of the cells that have this one."""
    scores = {place: record["scores"].get(metric) for place, record in cells.items()}
    return {
        place: min(max(float(score), -LARGEST), LARGEST)
        for place, score in scores.items()
        if is_number(score)
    }


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


SECONDS = ("search", "fit", "predict", "total")


@dataclass(frozen=True)
class Lead:
    """The test of the best method against the second.

    Attributes
    ----------
    method : Entry
        The second.
    mean : float
        Its mean.
    difference, error : float
        The mean difference over the common folds, >= 0, and its standard error.
    p_value : float
        Of the corrected t test. Both methods were selected by the same scores, so a small one is
        a hint rather than a proof.
    """

    method: Entry
    mean: float
    difference: float
    error: float
    p_value: float


@dataclass(frozen=True, kw_only=True)
class Standing:
    """One method's place.

    Attributes
    ----------
    method : Entry
    stage : {"sampled", "default", "searched"} or None
        Whether its settings were searched; None where no cell is finished.
    mean : float or None
        Of the metric over the common folds; of a method without a rank, over its own. None where
        there is no score.
    error : float or None
        The standard error of the mean; None for fewer than two cells.
    folds, planned : int
        Cells that the mean is of, and that there are.
    rank : int or None
        1 is the best mean; methods of one mean share the smaller number. None for a method below
        the line, without a score of all common folds.
    below : str
        Why it is below the line; "" if it has a rank, or no score.
    is_reference : bool
        Whether the others are tested against this method.
    difference : float or None
        The mean difference to the reference over the cells that both have, positive where this
        method is better; None with fewer than two such cells, and for the reference.
    difference_error : float or None
        Its standard error.
    p_value : float or None
        Of the corrected t test of difference = 0, adjusted by Holm's method.
    wilcoxon : float or None
        p-value of Wilcoxon's signed-rank test, not adjusted.
    wins, ties, losses : int
        Cells that both have, and where this method is better, equal, worse.
    means, errors : dict of str to float or None
        Mean and standard error of each metric of the task, by name.
    seconds : dict of str to float or None
        Medians over the cells: "search", "fit", "predict", "total".
    memory_mb, size_bytes, support : float or None
        Medians over the cells that have them.
    gap : float or None
        The largest.
    lead : Lead or None
        The test against the second, for the first.
    """

    method: Entry
    stage: Stage | None = None
    mean: float | None
    error: float | None
    folds: int
    planned: int
    rank: int | None
    below: str = ""
    is_reference: bool
    difference: float | None = None
    difference_error: float | None = None
    p_value: float | None = None
    wilcoxon: float | None = None
    wins: int = 0
    ties: int = 0
    losses: int = 0
    means: dict[str, float | None]
    errors: dict[str, float | None]
    seconds: dict[str, float | None]
    memory_mb: float | None
    size_bytes: float | None
    support: float | None
    gap: float | None
    lead: Lead | None = None


def standings(
    methods: Sequence[Entry],
    records: Iterable[Record],
    metric: Metric,
    protocol: Protocol,
    reference: str = REFERENCE,
) -> list[Standing]:
    """Return where each method stands: ranked ones, those below the line, those without a score.

    Parameters
    ----------
    methods : sequence of Entry
    records : iterable of mappings
        The records of cells, in any order; those of other methods and failed ones are left out.
    metric : Metric
        What to rank by and to test.
    protocol : Protocol
    reference : str
        The method to test the others against. If it has no score, the baseline with the best mean
        takes its place.

    Returns
    -------
    list of Standing
        Methods of one mean are in the order of their names, those below the line by their number
        of folds first.
    """
    stages = finished(methods, records)
    scored = {
        name: {stage: scores_of(cells, metric.name) for stage, cells in mine.items()}
        for name, mine in stages.items()
    }
    stage_of, common, ranked = chosen_stages(
        stages, {name: {s: set(v) for s, v in mine.items()} for name, mine in scored.items()}
    )
    cells: dict[str, Cells] = {}
    values: dict[str, Scores] = {}
    for name in stages:
        stage = stage_of.get(name)
        mine = stages[name].get(stage, {}) if stage else {}
        kept = {place: mine[place] for place in mine if name not in ranked or place in common}
        cells[name], values[name] = kept, scores_of(kept, metric.name)
    places = {name: _place(values[name], metric, name in ranked) for name in cells}
    best_first = sorted(methods, key=lambda entry: (places[entry.name], entry.name))
    against = reference_of(best_first, ranked, reference)
    order = [places[entry.name] for entry in best_first]
    untested = [
        _standing(
            entry,
            cells[entry.name],
            metric,
            planned=len(protocol.places()),
            stage=stage_of.get(entry.name),
            rank=order.index(places[entry.name]) + 1 if entry.name in ranked else None,
            below=_below(entry.name, values, stage_of, ranked),
            is_reference=entry.name == against,
        )
        for entry in best_first
    ]
    tested = [_tested(each, cells, values, against, metric) for each in untested]
    return _led(_adjusted(tested), cells, values, metric)


def _below(
    name: str, values: Mapping[str, Scores], stages: Mapping[str, Stage], ranked: Set[str]
) -> str:
    """Return why a method with scores has no rank; "" for the others."""
    if name in ranked or not values[name]:
        return ""
    if not ranked:
        return "has no fold in common with the others"
    other = next(iter(ranked))
    if stages[name] != stages[other] and SAMPLED in (stages[name], stages[other]):
        return "was learned from a sample of the rows only"
    return f"has {len(values[name])} of {count(len(values[other]), 'common fold')}"


def _place(values: Scores, metric: Metric, ranked: bool) -> tuple[int, int, float]:
    """Return what to sort by: the mean to 12 digits, so that rounding makes no difference."""
    mean = mean_of(values.values())
    if mean is None:
        return 2, 0, 0.0
    better_first = float(f"{mean:.12g}") * (-1 if metric.higher_is_better else 1)
    return (0, 0, better_first) if ranked else (1, -len(values), better_first)


def reference_of(best_first: Sequence[Entry], scored: Container[str], wanted: str) -> str | None:
    """Return the wanted method if it has a score, or else the best baseline that has one."""
    baselines = [entry.name for entry in best_first if entry.kind == BASELINE]
    return next((name for name in (wanted, *baselines) if name in scored), None)


def _tested(
    standing: Standing,
    cells: Mapping[str, Cells],
    values: Mapping[str, Scores],
    against: str | None,
    metric: Metric,
) -> Standing:
    """Test a method with a rank against the reference, if there are two folds."""
    name = standing.method.name
    if standing.rank is None:
        return standing
    if standing.folds < 2 or against is None or name == against:
        return standing
    first, second = _oriented(values, metric, name, against)
    test = corrected_t_test(first, second, n_train=1, n_test=held_out_share(cells[name].values()))
    return replace(
        standing,
        difference=test.mean_difference,
        difference_error=test.standard_error,
        p_value=_p_value(test),
        wilcoxon=wilcoxon_test(first, second).p_value,
        wins=test.wins,
        ties=test.ties,
        losses=test.losses,
    )


def _oriented(values: Mapping[str, Scores], metric: Metric, *names: str) -> list[list[float]]:
    """Return the scores of methods on the same folds, the higher the better."""
    sign = 1 if metric.higher_is_better else -1
    return [[sign * score for score in values[name].values()] for name in names]


def _led(
    standings: list[Standing],
    cells: Mapping[str, Cells],
    values: Mapping[str, Scores],
    metric: Metric,
) -> list[Standing]:
    """Test the best method against the second, if there are two folds."""
    ranked = [each for each in standings if each.rank is not None]
    if len(ranked) < 2 or ranked[0].folds < 2 or ranked[1].mean is None:
        return standings
    first, second = (each.method.name for each in ranked[:2])
    share = held_out_share(cells[first].values())
    test = corrected_t_test(*_oriented(values, metric, first, second), n_train=1, n_test=share)
    lead = Lead(
        ranked[1].method,
        ranked[1].mean,
        test.mean_difference,
        test.standard_error,
        _p_value(test),
    )
    return [replace(standings[0], lead=lead), *standings[1:]]


def _p_value(test: PairedTest) -> float:
    """Return the p-value; where all differences are equal, that of a sign test.

    Without a variance to go by, two folds that differ alike would be certain.
    """
    return test.p_value if isfinite(test.statistic) else 2.0 ** (1 - test.wins - test.losses)


def _adjusted(standings: list[Standing]) -> list[Standing]:
    """Return standings with p-values adjusted by Holm's method."""
    adjusted = iter(holm([each.p_value for each in standings if each.p_value is not None]))
    return [
        each if each.p_value is None else replace(each, p_value=next(adjusted))
        for each in standings
    ]


def _standing(entry: Entry, cells: Cells, metric: Metric, **place: Any) -> Standing:
    """Return the place of a method with its scores and costs."""
    scores = {each.name: scores_of(cells, each.name) for each in metrics_of(metric.task)}
    means = {name: mean_of(values.values()) for name, values in scores.items()}
    errors = {name: standard_error(cells, values) for name, values in scores.items()}
    records = cells.values()
    return Standing(
        method=entry,
        mean=means[metric.name],
        error=errors[metric.name],
        folds=len(cells),
        **place,
        means=means,
        errors=errors,
        seconds={
            part: median_of(record["seconds"].get(part) for record in records) for part in SECONDS
        },
        memory_mb=median_of(record.get("memory_mb") for record in records),
        size_bytes=median_of(record.get("size_bytes") for record in records),
        support=median_of(record.get("support") for record in records),
        gap=max(filter(is_number, (record.get("gap") for record in records)), default=None),
    )
