"""Ranks over data sets, and comparisons over tables, against Demšar and SciPy."""

from __future__ import annotations

import json
import math
from itertools import permutations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from pliant.tables.comparison.outcome import across
from pliant.tables.comparison.statistics import (
    average_ranks,
    friedman_test,
    nemenyi_critical_difference,
)
from tests.comparison.comparison_cases import result_of

C45 = np.array(
    [
        [0.763, 0.768, 0.771, 0.798],
        [0.599, 0.591, 0.590, 0.569],
        [0.954, 0.971, 0.968, 0.967],
        [0.628, 0.661, 0.654, 0.657],
        [0.882, 0.888, 0.886, 0.898],
        [0.936, 0.931, 0.916, 0.931],
        [0.661, 0.668, 0.609, 0.685],
        [0.583, 0.583, 0.563, 0.625],
        [0.775, 0.838, 0.866, 0.875],
        [1.000, 1.000, 1.000, 1.000],
        [0.940, 0.962, 0.965, 0.962],
        [0.619, 0.666, 0.614, 0.669],
        [0.972, 0.981, 0.975, 0.9749],  # printed as .975 and .975, but ranked 2 and 3
        [0.957, 0.978, 0.946, 0.970],
    ]
)
"""Table 6 of Demšar (2006): four variants of C4.5 on 14 data sets."""

score = st.integers(0, 20).map(float)
tables = st.integers(2, 5).flatmap(
    lambda k: st.lists(st.lists(score, min_size=k, max_size=k), min_size=2, max_size=9)
)


def test_demsar_example():
    found = friedman_test(C45)
    np.testing.assert_allclose(found.ranks, [3.143, 2.000, 2.893, 1.964], atol=5e-4)
    assert found.chi2 == pytest.approx(9.28, abs=5e-3)
    assert found.statistic == pytest.approx(3.69, abs=5e-3)
    assert found.degrees == (3, 39)
    assert 0.01 < found.p_value < 0.05


@pytest.mark.parametrize(
    ("k", "q"), [(2, 1.960), (3, 2.343), (5, 2.728), (6, 2.850), (8, 3.031), (10, 3.164)]
)
def test_critical_values_of_demsar_table_5(k, q):
    assert nemenyi_critical_difference(k, 1) / math.sqrt(k * (k + 1) / 6) == pytest.approx(
        q, abs=1e-3
    )


def test_chi2_without_ties_matches_scipy():
    table = np.random.default_rng(0).normal(size=(12, 5))
    found, expected = friedman_test(table), stats.friedmanchisquare(*table.T)
    assert found.chi2 == pytest.approx(expected.statistic, rel=1e-10)
    F = 11 * expected.statistic / (12 * 4 - expected.statistic)
    assert found.statistic == pytest.approx(F, rel=1e-10)
    assert found.p_value == pytest.approx(stats.f.sf(F, 4, 44), rel=1e-10)


def test_same_order_on_all_data_sets():
    found = friedman_test([[1, 2, 3], [4, 5, 6], [7, 8, 9]])
    assert (found.statistic, found.chi2) == (math.inf, 6.0)


@pytest.mark.parametrize(("n_sets", "k"), [(2, 3), (2, 4), (3, 3)])
def test_the_p_value_of_equal_orders_is_their_share_of_all_orders(n_sets, k):
    """Enumerate the orders of the other data sets: only one of them has so large a chi2."""
    scores = np.tile(np.arange(k), (n_sets, 1))
    orders = product(permutations(range(k)), repeat=n_sets - 1)
    values = [friedman_test([scores[0], *each]).chi2 for each in orders]
    found = friedman_test(scores)
    share = np.mean(np.array(values) >= found.chi2 - 1e-9)
    assert found.p_value == pytest.approx(share, rel=1e-12)


def test_methods_differ_without_a_pair_that_does():
    said = across(results_of([[0.6, 0.9, 0.7, 0.8]] * 2)).sentence()
    assert "differ significantly (Friedman's test, p = 0.0417)" in said
    assert said.endswith("but no two ranks are more than 3.3 apart, which would be significant.")
    said = across(results_of([[0.6, 0.9, 0.7, 0.8]] * 4)).sentence()
    assert said.endswith("and ranks more than 2.3 apart differ significantly.")


@settings(deadline=None, max_examples=50)
@given(tables, st.randoms(use_true_random=False))
def test_ranks_are_invariant(table, random):
    scores = np.array(table)
    ranks = average_ranks(scores)
    n_sets, k = scores.shape
    assert ranks.sum() == pytest.approx(k * (k + 1) / 2)
    order = random.sample(range(k), k)
    np.testing.assert_allclose(average_ranks(scores[:, order]), ranks[order])
    np.testing.assert_allclose(average_ranks(3.0 * scores + 1.0), ranks)
    np.testing.assert_allclose(average_ranks(-scores), k + 1 - ranks)
    found = friedman_test(scores)
    assert 0.0 <= found.chi2 <= n_sets * (k - 1) + 1e-9
    assert 0.0 <= found.p_value <= 1.0


METHODS = ("svm", "dank", "tkl", "linear")


def results_of(scores, names=METHODS, metrics=None):
    """Return a result for each row of mean scores."""
    metrics = metrics or ["accuracy"] * len(scores)
    return [
        result_of({name: [x, x] for name, x in zip(names, row, strict=True)}, f"table {k}", metric)
        for k, (row, metric) in enumerate(zip(scores, metrics, strict=True))
    ]


def test_demsar_example_and_to_dict():
    """Table 6 of Demšar (2006), sorted by average rank."""
    found = across(results_of(C45))
    data = json.loads(json.dumps(found.to_dict()))
    assert list(data["ranks"]) == ["linear", "dank", "tkl", "svm"]
    np.testing.assert_allclose([*data["ranks"].values()], found.ranks)
    np.testing.assert_allclose(found.ranks, [1.964, 2.000, 2.893, 3.143], atol=5e-4)
    assert data["friedman"]["statistic"] == pytest.approx(3.69, abs=5e-3)
    assert data["critical_difference"] == pytest.approx(1.25, abs=5e-3)
    assert data["sentence"] == found.sentence()


@pytest.mark.parametrize(
    ("scores", "words"),
    [
        ([[0.8, 0.9, 0.7]] * 4, "; DANK has the best average rank, 1.0, "),
        ([[0.8, 0.9, 0.7], [0.9, 0.8, 0.7]], " and DANK have the best average rank, 1.5."),
    ],
)
def test_equal_ranks_are_called_equal(scores, words):
    assert across(results_of(scores, METHODS[:3])).sentence().count(words) == 1


def test_ranks_combine_tables_of_different_tasks():
    """Accuracy is maximised and RMSE, on a much larger scale, is minimised."""
    scores = [[0.8, 0.9, 0.7]] * 4 + [[3e4, 2.5e4, 4e4]] * 4
    found = across(results_of(scores, METHODS[:3], ["accuracy"] * 4 + ["rmse"] * 4))
    np.testing.assert_array_equal(found.ranks, [1, 2, 3])
    assert [entry.name for entry in found.methods] == ["dank", "svm", "tkl"]


def test_unranked_methods_are_excluded_with_reasons():
    scores = {"svm": [0.8, 0.8], "dank": [0.9, 0.9]}
    first = result_of({**scores, "tkl": [0.9, 0.9], "osk": [None, None]}, "a")
    cut = {"tkl": "1 of 2 folds: the budget ran out"}
    second = result_of({**scores, "tkl": [0.9, None], "osk": [0.7, 0.7]}, "b", reasons=cut)
    third = result_of({**scores, "osk": [0.7, 0.7], "ldk": [0.7, 0.7]}, "b")
    found = across([first, second, third])
    assert [entry.name for entry in found.methods] == ["dank", "svm"]
    assert found.tables == ("a", "b (1)", "b (2)")
    assert found.left_out == {
        "tkl": "b (1): 1 of 2 folds: the budget ran out and b (2): not compared",
        "osk": "a: some common folds have no score",
        "ldk": "a: not compared and b (1): not compared",
    }


@pytest.mark.parametrize(
    ("results", "message"),
    [
        (results_of([[0.8, 0.9]], METHODS[:2]), "expected at least 2 tables, got 1"),
        (
            [*results_of([[0.8, 0.9]], METHODS[:2]), *results_of([[0.8, 0.9]], METHODS[1:3])],
            r"2 methods with a rank on all tables, got 1 \(svm: table 0 \(2\): not compared; tkl: ",
        ),
    ],
)
def test_ranks_need_two_tables_and_two_methods(results, message):
    with pytest.raises(ValueError, match=message):
        across(results)
