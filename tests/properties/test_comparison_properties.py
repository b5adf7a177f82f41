"""What holds of standings whatever the scores are."""

from __future__ import annotations

import itertools
import re
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from pliant.comparison.metrics import METRICS
from pliant.comparison.protocol import Protocol
from pliant.comparison.report.sentences import sentence
from pliant.comparison.across import across
from pliant.comparison.paired import wilcoxon_test
from pliant.comparison.standings import standings
from tests.comparison.comparison_cases import entry, ranked, records_of, result_of

NAMES = ("svm", "dummy", "dank", "tkl")
few = settings(max_examples=25, deadline=None)

score = st.integers(0, 1000).map(lambda k: k / 1000)
folds = st.lists(score | st.none(), min_size=4, max_size=4)
tables = st.fixed_dictionaries(dict.fromkeys(NAMES, folds))
full_tables = st.fixed_dictionaries(
    {name: st.lists(score, min_size=4, max_size=4) for name in NAMES}
)


def by_name(found):
    return {standing.method.name: standing for standing in found}


def placed(scores, metric="accuracy"):
    return ranked(scores, metric, folds=4, repeats=1)


def same(value, other):
    """Equal but for rounding, or both None."""
    return value == other or value == pytest.approx(other, rel=1e-7, abs=1e-10)


@few
@given(tables, st.randoms())
def test_the_order_of_records_and_methods_makes_no_difference(scores, random):
    records = records_of(scores, folds=4)
    names = list(NAMES)
    protocol = Protocol(folds=4, repeats=1)
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
    assert all(bool(each.below) == (each.rank is None and each.folds > 0) for each in found)
    assert len({each.folds for each in found if each.rank is not None}) <= 1
    ranks = [each.rank for each in found[: len(means)]]
    assert ranks == sorted(ranks)
    assert all(rank <= k + 1 for k, rank in enumerate(ranks))


@few
@given(full_tables)
def test_differences_flip_with_the_metrics_direction(scores):
    """log_loss of the same numbers: what was better is worse, as far from chance as before."""
    up, down = by_name(placed(scores)), by_name(placed(scores, "log_loss"))
    for name in ("dummy", "dank", "tkl"):
        assert same(up[name].difference, -down[name].difference)
        assert same(up[name].p_value, down[name].p_value)
        assert same(up[name].wilcoxon, down[name].wilcoxon)
        assert (up[name].wins, up[name].losses) == (down[name].losses, down[name].wins)


@few
@given(full_tables, st.sampled_from([-0.5, 0.25, 3.0]))
def test_what_is_added_to_all_scores_changes_no_difference(scores, constant):
    more = {name: [each + constant for each in values] for name, values in scores.items()}
    here, there = by_name(placed(scores, "r2")), by_name(placed(more, "r2"))
    for name in NAMES:
        assert same(there[name].mean, here[name].mean + constant)
        assert same(there[name].error, here[name].error)
        assert same(there[name].difference, here[name].difference)
        assert (there[name].wins, there[name].ties) == (here[name].wins, here[name].ties)


@few
@given(tables, st.sampled_from(["accuracy", "log_loss", "rmse", "r2"]))
def test_the_sentence_claims_no_more_than_the_tests(scores, metric):
    found = placed(scores, metric)
    text = sentence(found, METRICS[metric])
    by_title = {s.method.title: s for s in found}
    if used := re.match(r"Use (?:the tuned )?([^:]+):", text):
        standing = by_title[used[1]]
        assert standing.rank is not None
        assert standing.folds > 1
        assert standing.method.name != "dummy"
    significant = "The difference of" in text and "is significant (p" in text.split(". ")[1]
    assert not significant or standing.p_value < 0.05
    assert text.startswith("Use ") or "Use " not in text
    assert text.endswith(".")
    assert "nan" not in text
    assert "None" not in text


@few
@given(tables)
def test_failed_cells_count_for_nothing(scores):
    """Whatever the others have in common, which a method without a score does not change."""
    records = records_of(scores, folds=4)
    failed = [{**each, "status": "error", "scores": {}} for each in records_of({"tkl": [0.9] * 4})]
    methods, protocol = [entry(name) for name in NAMES], Protocol(folds=4, repeats=1)
    without = [each for each in records if each["method"] != "tkl"]
    found = by_name(standings(methods, [*without, *failed], METRICS["accuracy"], protocol))
    assert (found["tkl"].mean, found["tkl"].folds) == (None, 0)
    others = by_name(standings(methods[:-1], without, METRICS["accuracy"], protocol))
    for name in NAMES[:-1]:
        assert replace(found[name], rank=None) == replace(others[name], rank=None)


@few
@given(full_tables)
def test_wins_and_the_difference_agree(scores):
    for standing in placed(scores):
        if standing.p_value is not None:
            assert standing.wins + standing.ties + standing.losses == 4
            if standing.losses == standing.ties == 0:
                assert standing.difference > 0
            if standing.wins == standing.ties == 0:
                assert standing.difference < 0


means = st.lists(st.lists(score, min_size=3, max_size=3), min_size=2, max_size=7)


def over(rows, metric="accuracy"):
    """Three methods over tables of these mean scores."""
    names = ("svm", "dank", "tkl")
    return across(
        [
            result_of({name: [x, x] for name, x in zip(names, row, strict=True)}, "t", metric)
            for row in rows
        ]
    )


@few
@given(means, st.randoms())
def test_the_order_of_tables_makes_no_difference(rows, random):
    found, shuffled = over(rows), list(rows)
    random.shuffle(shuffled)
    other = over(shuffled)
    assert [entry.name for entry in other.methods] == [entry.name for entry in found.methods]
    assert other.ranks == pytest.approx(found.ranks)
    assert other.friedman.p_value == pytest.approx(found.friedman.p_value, rel=1e-6, abs=1e-9)
    assert other.versus.keys() == found.versus.keys()
    for name, test in found.versus.items():
        assert other.versus[name].p_value == pytest.approx(test.p_value)
        assert (other.versus[name].wins, other.versus[name].side) == (test.wins, test.side)


@few
@given(means)
def test_ranks_over_tables(rows):
    """They add up to 1 + ... + k, go up, and turn around with the metric's direction."""
    found, turned = over(rows), over(rows, "log_loss")
    assert sum(found.ranks) == pytest.approx(6)
    assert list(found.ranks) == sorted(found.ranks)
    ranks = {each.name: rank for each, rank in zip(found.methods, found.ranks, strict=True)}
    for each, rank in zip(turned.methods, turned.ranks, strict=True):
        assert rank == pytest.approx(4 - ranks[each.name])
    assert {name: -test.side for name, test in found.versus.items()} == {
        name: test.side for name, test in turned.versus.items()
    }
    for group in found.groups():
        inside = [ranks[name] for name in group]
        assert max(inside) - min(inside) <= found.critical_difference


@few
@given(st.lists(st.integers(-3, 3), min_size=2, max_size=9))
def test_wilcoxons_test_of_shared_ranks_is_scipys(differences):
    found = wilcoxon_test([float(d) for d in differences], [0.0] * len(differences))
    moved = [d for d in differences if d]
    expected = stats.wilcoxon(moved).pvalue if moved else 1.0
    assert found.p_value == pytest.approx(expected, rel=1e-12)
