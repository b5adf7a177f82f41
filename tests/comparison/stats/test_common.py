"""Which folds methods are compared on, at which stage, and which method is recommended."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pliant.comparison.metrics import METRICS
from pliant.comparison.protocol import DEFAULT, SAMPLED, Protocol
from pliant.comparison.report.sentences import sentence
from pliant.comparison.common import common_folds
from pliant.comparison.recommendation import recommend
from pliant.comparison.standings import standings
from tests.comparison.comparison_cases import entry, ranked, staged

SVM = [0.90, 0.88, 0.91, 0.87, 0.92]
BETTER = [0.96, 0.95, 0.97, 0.94, 0.96]
BARELY = [0.91, 0.87, 0.92, 0.88, 0.92]
NAMES = ("svm", "dummy", "dank", "tkl", "linear")


def first(n):
    return {(0, k) for k in range(n)}


def places(records, names=NAMES, folds=5, repeats=1):
    protocol = Protocol(folds=folds, repeats=repeats)
    return {
        each.method.name: each
        for each in standings([entry(n) for n in names], records, METRICS["accuracy"], protocol)
    }


@pytest.mark.parametrize(
    ("counts", "folds", "below"),
    [
        ((10, 10, 10), 10, ""),
        ((4, 3, 3, 4), 3, ""),  # the budget ended between two folds: nobody is left out
        ((10, 10, 3), 10, "c"),  # one that holds the others down
        ((6, 6, 4), 4, ""),  # less than twice as many without it
        ((8, 2, 2), 2, ""),  # less than half would remain
        ((8, 8, 2, 2), 8, "cd"),
        ((8, 8, 4, 1), 8, "cd"),  # 4 are four times 1, and 8 twice 4
        ((3, 1, 1, 1), 1, ""),
        ((5, 0), 5, ""),
    ],
)
def test_methods_that_hold_the_number_of_folds_down_are_left_out(counts, folds, below):
    have = dict(zip("abcd", map(first, counts), strict=False))
    common, kept = common_folds(have)
    assert common == first(folds)
    assert {name for name in have if have[name]} - kept == set(below)


@settings(max_examples=50, deadline=None)
@given(st.dictionaries(st.sampled_from("abcdefgh"), st.integers(1, 10), min_size=1))
def test_what_holds_of_common_folds(counts):
    common, kept = common_folds({name: first(n) for name, n in counts.items()})
    assert 2 * len(kept) >= len(counts)
    assert len(common) == min(counts[name] for name in kept)
    assert all(counts[name] < len(common) for name in set(counts) - kept)
    assert len(common) >= 2 * min(counts.values()) or kept == set(counts)


def test_samples_of_the_rows_are_compared_with_each_other_only():
    sampled = [staged(name, SAMPLED, [0.8, 0.8, 0.8], train=20) for name in NAMES[:4]]
    records = [each for some in sampled for each in some]
    records += staged("linear", SAMPLED, BARELY[:3], train=20)
    found = places(records)
    assert {each.stage for each in found.values()} == {SAMPLED}
    assert "learned from a sample of the rows only" in sentence(
        list(found.values()), METRICS["accuracy"]
    )
    some = records + staged("dank", DEFAULT, BETTER) + staged("svm", DEFAULT, SVM)
    assert {each.stage for each in places(some).values()} == {SAMPLED}  # two of five
    most = some + staged("linear", DEFAULT, BARELY)
    found = places(most)
    assert [name for name in found if found[name].rank] == ["dank", "linear", "svm"]
    assert {found[name].below for name in ("dummy", "tkl")} == {
        "was learned from a sample of the rows only"
    }


def used(scores, **options):
    advice = recommend(ranked(scores, **options))
    return advice and (advice.standing.method.name, advice.reason)


def test_the_method_to_use():
    assert used({"svm": SVM, "dank": BETTER}) == ("dank", "better")
    assert used({"svm": SVM, "dank": BETTER, "tkl": [0.99]}) == ("dank", "better")
    assert used({"svm": BETTER, "dank": SVM}) == ("svm", "reference")
    assert used({"tkl": SVM, "dank": BETTER}) == ("dank", "best")
    assert used({"svm": [0.9, 0.8], "dank": [0.91, 0.9]}) == ("dank", "best")  # two folds
    assert used({"svm": SVM[:3], "dank": [0.91, 0.89, 0.99]}) == ("dank", "better")  # on all three


def test_the_dummy_one_fold_and_what_is_worse_than_the_dummy_are_never_recommended():
    assert used({"svm": SVM[:1], "dank": BETTER[:1]}) is None
    assert used({"svm": SVM, "dummy": BETTER}) is None
    assert used({"svm": SVM, "dank": BARELY, "dummy": BETTER}) is None
    assert used({"dummy": SVM, "dank": BETTER}) == ("dank", "best")
    assert used({"dummy": SVM}) is None
    assert used({"svm": [None] * 5}) is None


def test_where_no_method_is_better_the_cheapest_as_good_is_used():
    found = ranked({"svm": SVM, "dank": BARELY, "tkl": [x + 0.001 for x in BARELY]})
    times = {"svm": 5.0, "dank": 1.0, "tkl": 3.0}
    timed = [replace(s, seconds={"search": times[s.method.name]}) for s in found]
    assert recommend(timed).standing.method.name == "dank"
    text = sentence(timed, METRICS["accuracy"])
    assert text.startswith(
        "Use DANK: accuracy 0.900; no method is clearly better than the tuned Gaussian SVM "
        "(0.896), and none near the best is cheaper. The difference of 0.004 ±"
    )
    assert "The best mean, TKL's accuracy 0.901, is 0.005 ±" in text
    times["svm"] = 0.1
    timed = [replace(s, seconds={"search": times[s.method.name]}) for s in found]
    assert (recommend(timed).standing.method.name, recommend(timed).reason) == ("svm", "reference")
