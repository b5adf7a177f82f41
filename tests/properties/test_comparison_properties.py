"""Properties of standings for arbitrary scores."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pliant.tables.comparison.metrics import METRICS
from pliant.tables.comparison.outcome import across, standings
from pliant.tables.comparison.protocol import Protocol
from tests.comparison.comparison_cases import entry, ranked, records_of, result_of

NAMES = ("svm", "dummy", "dank", "tkl")
few = settings(max_examples=25, deadline=None)

score = st.integers(0, 1000).map(lambda k: k / 1000)
folds = st.lists(score | st.none(), min_size=5, max_size=5)
tables = st.fixed_dictionaries(dict.fromkeys(NAMES, folds))
full_tables = st.fixed_dictionaries(
    {name: st.lists(score, min_size=5, max_size=5) for name in NAMES}
)


def by_name(found):
    return {standing.method.name: standing for standing in found}


def placed(scores, metric="accuracy"):
    return ranked(scores, metric, folds=5, repeats=1)


def same(value, other):
    """Return True if both are equal up to rounding, or None."""
    return value == other or value == pytest.approx(other, rel=1e-7, abs=1e-10)


@few
@given(tables, st.randoms())
def test_the_order_of_records_and_methods_makes_no_difference(scores, random):
    records = records_of(scores, folds=5)
    names = list(NAMES)
    protocol = Protocol(folds=5, repeats=1)
    expected = standings([entry(name) for name in names], records, METRICS["accuracy"], protocol)
    random.shuffle(records)
    random.shuffle(names)
    found = standings([entry(name) for name in names], records, METRICS["accuracy"], protocol)
    assert found == expected


@few
@given(tables)
def test_ranks_follow_the_means(scores):
    found = placed(scores)
    means = [each.mean for each in found if each.rank is not None]
    assert [each.rank for each in found[len(means) :]] == [None] * (len(NAMES) - len(means))
    assert all(a >= b - 1e-12 for a, b in itertools.pairwise(means))
    assert all(each.low <= each.mean <= each.high for each in found if each.low is not None)
    assert len({each.folds for each in found if each.rank is not None}) <= 1
    ranks = [each.rank for each in found[: len(means)]]
    assert ranks == sorted(ranks)
    assert all(rank <= k + 1 for k, rank in enumerate(ranks))


@few
@given(full_tables)
def test_differences_flip_with_the_metrics_direction(scores):
    """Return a log_loss result of the same numbers, with reversed order and equal distances."""
    up, down = by_name(placed(scores)), by_name(placed(scores, "log_loss"))
    for name in ("dank", "tkl"):
        assert same(up[name].difference, -down[name].difference)
        assert same(up[name].p_value, down[name].p_value)


@few
@given(tables, st.sampled_from(["accuracy", "log_loss", "rmse", "r2"]))
def test_the_sentence_names_the_best_of_the_table(scores, metric):
    """The best method is neither the dummy nor one without scores on the common folds."""
    result = result_of(scores, metric=metric, folds=5)
    text, best = result.sentence(), result.best
    places = [each for each in result.standings() if each.method.name != "dummy"]
    if best is None:
        problem = "No method finished a fold", "The methods have no fold in common"
        assert text.startswith(problem)
        assert text.startswith(problem[0]) == (not any(each.folds for each in places))
        assert all(each.rank is None for each in places)
        return
    assert best == places[0].method.name
    assert places[0].rank in (1, 2)
    assert text.startswith(f"Predict with {places[0].method.title}: {METRICS[metric].title} ")
    assert text.endswith(".")
    assert "nan" not in text
    assert "None" not in text


@few
@given(tables)
def test_failed_cells_count_for_nothing(scores):
    """The common folds of the other methods do not change with a method without scores."""
    records = records_of(scores, folds=5)
    failed = [{**each, "status": "error", "scores": {}} for each in records_of({"tkl": [0.9] * 5})]
    methods, protocol = [entry(name) for name in NAMES], Protocol(folds=5, repeats=1)
    without = [each for each in records if each["method"] != "tkl"]
    found = by_name(standings(methods, [*without, *failed], METRICS["accuracy"], protocol))
    assert (found["tkl"].mean, found["tkl"].folds) == (None, 0)
    others = by_name(standings(methods[:-1], without, METRICS["accuracy"], protocol))
    for name in NAMES[:-1]:
        assert replace(found[name], rank=None) == replace(others[name], rank=None)


@few
@given(full_tables)
def test_p_values_are_of_folds_that_all_have_and_never_of_the_dummy(scores):
    for each in placed(scores):
        tested = not (each.is_reference or each.method.name == "dummy")
        assert (each.p_value is not None) == tested
        assert not tested or 0 <= each.p_value <= 1
    for each in placed(scores | {"dank": [*scores["dank"][:4], None]}):
        assert each.p_value is None


means = st.lists(st.lists(score, min_size=3, max_size=3), min_size=2, max_size=7)


def over(rows, metric="accuracy"):
    """Return the result of three methods over tables with these mean scores."""
    names = ("svm", "dank", "tkl")
    return across(
        [
            result_of({name: [x, x] for name, x in zip(names, row, strict=True)}, "t", metric)
            for row in rows
        ]
    )


@few
@given(means)
def test_ranks_over_tables(rows):
    """Ranks sum to 1 + ... + k, are sorted, and reverse with the metric's direction."""
    found, turned = over(rows), over(rows, "log_loss")
    assert sum(found.ranks) == pytest.approx(6)
    assert list(found.ranks) == sorted(found.ranks)
    ranks = {each.name: rank for each, rank in zip(found.methods, found.ranks, strict=True)}
    for each, rank in zip(turned.methods, turned.ranks, strict=True):
        assert rank == pytest.approx(4 - ranks[each.name])
