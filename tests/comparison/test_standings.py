"""Common folds, ranks, standard errors, intervals and tests against their definitions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from pliant.tables.comparison.metrics import METRICS
from pliant.tables.comparison.protocol import Protocol
from pliant.tables.comparison.standings import common_folds, standings
from tests.comparison.comparison_cases import entry, ranked, record

SVM = [0.90, 0.88, 0.91, 0.87, 0.92, 0.89, 0.90, 0.88, 0.93, 0.90]
BETTER = [0.96, 0.95, 0.97, 0.94, 0.96, 0.95, 0.97, 0.93, 0.98, 0.96]
ALIKE = [0.91, 0.87, 0.92, 0.88, 0.91, 0.90, 0.89, 0.89, 0.92, 0.91]
WORSE = [0.80, 0.79, 0.83, 0.78, 0.80, 0.79, 0.82, 0.80, 0.81, 0.79]
DUMMY = [0.50, 0.52, 0.49, 0.51, 0.50, 0.50, 0.53, 0.48, 0.50, 0.51]


def place(found, name):
    return next(standing for standing in found if standing.method.name == name)


def corrected(first, second, share=0.25):
    d = np.subtract(first, second)
    error = np.sqrt((1 / len(d) + share) * d.var(ddof=1))
    return error, 2 * stats.t.sf(abs(d.mean() / error), len(d) - 1)


def test_order_of_standings():
    found = ranked({"tkl": [None] * 10, "linear": WORSE, "svm": SVM, "dank": BETTER})
    assert [each.method.name for each in found] == ["dank", "svm", "linear", "tkl"]
    assert [each.rank for each in found] == [1, 2, 3, None]
    assert [each.folds for each in found] == [10, 10, 10, 0]
    assert {each.planned for each in found} == {10}
    last = found[-1]
    assert (last.mean, last.error, last.low, last.difference, last.p_value) == (None,) * 5


def test_standard_error_and_interval():
    found = place(ranked({"svm": SVM}), "svm")
    assert found.mean == pytest.approx(np.mean(SVM), rel=1e-14)
    error = np.sqrt((1 / 10 + 20 / 80) * np.var(SVM, ddof=1))
    assert found.error == pytest.approx(error, rel=1e-12)
    # the score on as many new rows as the table has; a fold has a fifth of them
    ends = stats.t.interval(0.9, 9, np.mean(SVM), np.hypot(error, np.std(SVM, ddof=1) / 5**0.5))
    assert (found.low, found.high) == pytest.approx(ends, rel=1e-12)
    assert place(ranked({"svm": SVM[:1]}), "svm").error is None


def test_unequal_fold_sizes():
    """With time order, n_test / n_train is the mean of 1, 1/2 and 1/4."""
    rows = [(2000, 2000), (4000, 2000), (8000, 2000)]
    cells = [
        record(name, 0, k, {"accuracy": score}, train=train, test=test)
        for name, scores in (("svm", SVM), ("dank", ALIKE))
        for k, ((train, test), score) in enumerate(zip(rows, scores, strict=False))
    ]
    protocol = Protocol(folds=3, repeats=1)
    found = standings([entry("svm"), entry("dank")], cells, METRICS["accuracy"], protocol)
    error, _ = corrected(ALIKE[:3], SVM[:3], share=1.75 / 3)
    assert place(found, "dank").difference_error == pytest.approx(error, rel=1e-12)
    assert place(found, "dank").p_value is None  # only three folds
    spread = np.sqrt((1 / 3 + 1.75 / 3) * np.var(SVM[:3], ddof=1))
    assert place(found, "svm").error == pytest.approx(spread, rel=1e-12)


def test_p_values_are_adjusted():
    """The dummy is not tested and does not count in the adjustment."""
    found = ranked({"dummy": DUMMY, "svm": SVM, "dank": ALIKE, "tkl": BETTER})
    raw = {name: corrected(x, SVM)[1] for name, x in (("dank", ALIKE), ("tkl", BETTER))}
    assert place(found, "dank").p_value == pytest.approx(raw["dank"], rel=1e-10)
    assert place(found, "tkl").p_value == pytest.approx(2 * raw["tkl"], rel=1e-10)
    assert place(found, "tkl").difference == pytest.approx(np.mean(BETTER) - np.mean(SVM))
    assert (place(found, "dummy").difference, place(found, "dummy").p_value) == (None, None)
    svm = place(found, "svm")
    assert svm.is_reference
    assert (svm.difference, svm.p_value) == (None, None)


def test_common_folds_and_minimum_for_tests():
    """Two methods share four folds, on which the reference has its best scores."""
    svm = [0.95, 0.96, 0.97, 0.95, 0.7, 0.7]
    found = ranked({"svm": svm, "dank": [0.90, 0.92, 0.91, 0.90, *[None] * 6]})
    assert [each.method.name for each in found] == ["svm", "dank"]
    assert place(found, "svm").mean == pytest.approx(0.9575)
    dank = place(found, "dank")
    assert dank.difference == pytest.approx(-0.05)
    assert dank.difference_error == pytest.approx(
        corrected([0.90, 0.92, 0.91, 0.90], svm[:4])[0], rel=1e-12
    )
    assert {each.folds for each in found} == {4}
    assert dank.p_value is None
    assert place(ranked({"svm": SVM[:5], "dank": ALIKE[:5]}), "dank").p_value < 1


def test_equal_differences():
    """Without variance, the effect of one of 1000 test rows is the lower bound."""
    found = ranked({"svm": [0.8] * 5, "dank": [0.9] * 5}, folds=5, repeats=1)
    error = np.sqrt(1 / 5 + 1000 / 4000) * 0.9 / 1000
    dank = place(found, "dank")
    assert dank.difference_error == pytest.approx(error, rel=1e-12)
    assert dank.p_value == pytest.approx(2 * stats.t.sf(0.1 / error, 4), rel=1e-10)
    alike = place(ranked({"svm": SVM, "dank": SVM}), "dank")
    assert (alike.p_value, alike.difference) == (1.0, 0.0)


def test_dropped_methods_are_unranked():
    scores = {"svm": SVM, "dank": ALIKE, "tkl": [0.99]}
    found = ranked(scores, status={"tkl": "unfinished"})
    assert [each.method.name for each in found] == ["dank", "svm", "tkl"]
    assert [each.rank for each in found] == [1, 2, None]
    assert [each.folds for each in found] == [10, 10, 1]
    assert found[-1].mean == 0.99


def test_best_baseline_replaces_missing_reference():
    found = ranked({"dummy": DUMMY, "linear": WORSE, "dank": SVM})
    assert [each.method.name for each in found if each.is_reference] == ["linear"]
    found = ranked({"svm": [None] * 10, "dummy": DUMMY, "forest": ALIKE, "dank": SVM})
    assert [each.method.name for each in found if each.is_reference] == ["forest"]
    found = ranked({"dank": SVM, "tkl": BETTER})
    assert not any(each.is_reference for each in found)
    assert all(each.p_value is None for each in found)


def first(n):
    return {(0, k) for k in range(n)}


@pytest.mark.parametrize(
    ("counts", "folds", "below"),
    [
        ((10, 10, 10), 10, ""),
        ((4, 3, 3, 4), 3, ""),  # the budget ran out between two folds
        ((10, 10, 3), 10, "c"),  # one method reduces the common folds
        ((6, 6, 4), 4, ""),  # fewer than twice as many folds as c
        ((8, 2, 2), 8, "bc"),
        ((8, 8, 4, 1), 8, "cd"),
        ((3, 1, 1, 1), 3, "bcd"),
        ((5, 0), 5, ""),
    ],
)
def test_common_folds_examples(counts, folds, below):
    have = dict(zip("abcd", map(first, counts), strict=False))
    common, kept = common_folds(have)
    assert common == first(folds)
    assert {name for name in have if have[name]} - kept == set(below)


@settings(max_examples=50, deadline=None)
@given(st.dictionaries(st.sampled_from("abcdefgh"), st.integers(1, 10), min_size=1))
def test_common_folds_properties(counts):
    common, kept = common_folds({name: first(n) for name, n in counts.items()})
    assert kept == {name for name in counts if 2 * counts[name] > max(counts.values())}
    assert len(common) == min(counts[name] for name in kept)


def test_a_further_repeat_excludes_no_method():
    """One method has both repeats, another the first and a part of the second."""
    both = first(5) | {(1, k) for k in range(5)}
    for mine in (first(5), first(5) | {(1, 3)}):
        assert common_folds({"a": both, "b": mine}) == (mine, {"a", "b"})


def test_the_dummy_does_not_exclude_the_only_method():
    common, kept = common_folds({"dummy": first(5), "linear": first(2)})
    assert (common, kept) == (first(2), {"dummy", "linear"})
