"""Methods over several tables against Demšar's worked example, scipy, and hand-made numbers."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy import stats

from pliant.comparison.across import across, tables_needed
from pliant.comparison.paired import holm, wilcoxon_test
from tests.comparison.comparison_cases import result_of
from tests.comparison.stats.test_ranks import C45

METHODS = ("svm", "dank", "tkl", "linear")


def tables(scores, names=METHODS, metrics=None):
    """A result for each row of mean scores."""
    metrics = metrics or ["accuracy"] * len(scores)
    return [
        result_of({name: [x, x] for name, x in zip(names, row, strict=True)}, f"table {k}", metric)
        for k, (row, metric) in enumerate(zip(scores, metrics, strict=True))
    ]


@pytest.fixture(scope="module")
def demsar():
    return across(tables(C45))


def test_demsars_example(demsar):
    """Table 6 of Demšar (2006): C4.5, with m, with cf, with both."""
    assert [entry.name for entry in demsar.methods] == ["linear", "dank", "tkl", "svm"]
    np.testing.assert_allclose(demsar.ranks, [1.964, 2.000, 2.893, 3.143], atol=5e-4)
    assert demsar.friedman.chi2 == pytest.approx(9.28, abs=5e-3)
    assert demsar.friedman.statistic == pytest.approx(3.69, abs=5e-3)
    assert demsar.critical_difference == pytest.approx(1.25, abs=5e-3)
    np.testing.assert_array_equal(demsar.means, C45[:, [3, 1, 2, 0]])


def test_wilcoxon_over_tables_is_adjusted_over_the_methods(demsar):
    """C4.5 with m against C4.5: 11 wins, 2 ties and 1 loss in Table 6."""
    found = demsar.versus["dank"]
    assert (found.wins, found.ties, found.losses, found.side) == (10, 2, 2, 1)
    raw = [wilcoxon_test(C45[:, k], C45[:, 0]).p_value for k in (1, 2, 3)]
    adjusted = [demsar.versus[name].p_value for name in ("dank", "tkl", "linear")]
    assert adjusted == pytest.approx(holm(raw))


def test_without_ties_friedman_is_scipys():
    scores = np.random.default_rng(0).random((7, 4))
    found = across(tables(scores)).friedman
    expected = stats.friedmanchisquare(*scores.T)
    assert found.chi2 == pytest.approx(expected.statistic, rel=1e-10)
    f = 6 * expected.statistic / (7 * 3 - expected.statistic)
    assert found.p_value == pytest.approx(stats.f.sf(f, 3, 18), rel=1e-10)


def test_tables_of_different_tasks_are_compared_by_ranks_and_signs():
    """RMSE in units of ten thousand, of which the smaller is better, beside accuracy."""
    scores = [[0.8, 0.9, 0.7]] * 4 + [[3e4, 2.5e4, 4e4]] * 4
    found = across(tables(scores, METHODS[:3], ["accuracy"] * 4 + ["rmse"] * 4))
    np.testing.assert_array_equal(found.ranks, [1, 2, 3])
    assert [entry.name for entry in found.methods] == ["dank", "svm", "tkl"]
    assert found.test == "the sign test"
    assert {each.p_value for each in found.versus.values()} == {2 * 2 / 2**8}
    assert [found.versus[name].side for name in ("dank", "tkl")] == [1, -1]


def test_plain_data(demsar):
    data = json.loads(json.dumps(demsar.to_dict()))
    assert data["ranks"]["linear"] == pytest.approx(1.964, abs=5e-4)
    assert data["versus"]["dank"]["wins"] == 10
    assert data["sentence"] == demsar.sentence()


def test_methods_without_a_rank_on_some_table_are_named_with_the_reason():
    scores = {"svm": [0.8, 0.8], "dank": [0.9, 0.9]}
    first = result_of({**scores, "tkl": [0.9, 0.9], "osk": [None, None]}, "a")
    cut = {"tkl": "1 of 2 folds: the budget ended"}
    second = result_of({**scores, "tkl": [0.9, None], "osk": [0.7, 0.7]}, "b", reasons=cut)
    third = result_of({**scores, "osk": [0.7, 0.7], "ldk": [0.7, 0.7]}, "b")
    found = across([first, second, third])
    assert [entry.name for entry in found.methods] == ["dank", "svm"]
    assert found.tables == ("a", "b (1)", "b (2)")
    assert found.left_out == {
        "tkl": "b (1): 1 of 2 folds: the budget ended and b (2): not compared",
        "osk": "a: no score of all common folds",
        "ldk": "a: not compared and b (1): not compared",
    }


def test_the_reference_is_the_svm_or_the_best_baseline_or_none():
    assert across(tables([[0.9, 0.8]] * 2, ("dank", "svm"))).reference == "svm"
    three = across(tables([[0.9, 0.5, 0.7]] * 2, ("dank", "dummy", "linear")))
    assert three.reference == "linear"
    assert [entry.name for entry in three.methods] == ["dank", "linear"]
    assert set(three.versus) == {"dank"}
    none = across(tables([[0.9, 0.8]] * 2, ("dank", "tkl")))
    assert (none.reference, none.versus) == (None, {})
    assert "no method is tested" in none.sentence()


@pytest.mark.parametrize("m", [1, 4, 8, 12])
def test_tables_needed_is_where_all_wins_become_significant(m):
    """m methods, each better than the reference on all tables, by differences of any size."""
    needed = tables_needed(m)
    for n, shown in ((needed - 1, False), (needed, True)):
        gains = np.random.default_rng(n).random((n, m)) + 0.1
        scores = np.hstack([np.zeros((n, 1)), gains])
        names = ["svm", *(f"method {k}" for k in range(m))]
        found = across(tables(scores, names, ["r2"] * n)).versus
        assert all((each.p_value < 0.05) == shown for each in found.values())
