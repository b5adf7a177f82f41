"""Paired tests and Holm's adjustment against SciPy and small examples."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from pliant.tables.comparison.statistics import corrected_t_test, holm

FIRST = np.array([0.81, 0.84, 0.79, 0.88, 0.86, 0.83, 0.85])
SECOND = np.array([0.80, 0.80, 0.81, 0.83, 0.86, 0.80, 0.79])


def plain(first, second):
    """Run Student's paired t test: with infinite training sets, the correction vanishes."""
    return corrected_t_test(first, second, 0.0)


TESTS = {
    "t": plain,
    "corrected": lambda a, b: corrected_t_test(a, b, 1.0),
}

scores = st.floats(0, 1).map(lambda x: round(x, 3))
pairs = st.lists(st.tuples(scores, scores), min_size=2, max_size=20)


@pytest.fixture(params=TESTS.values(), ids=TESTS.keys())
def any_test(request):
    return request.param


def test_uncorrected_t_test_matches_scipy():
    expected = stats.ttest_rel(FIRST, SECOND)
    found = plain(FIRST, SECOND)
    assert found.statistic == pytest.approx(expected.statistic, rel=1e-10)
    assert found.p_value == pytest.approx(expected.pvalue, rel=1e-10)
    assert found.standard_error == pytest.approx(stats.sem(FIRST - SECOND), rel=1e-10)


def test_corrected_t_test_formula():
    d = FIRST - SECOND
    found = corrected_t_test(FIRST, SECOND, 20 / 80)
    t = d.mean() / math.sqrt((1 / 7 + 20 / 80) * d.var(ddof=1))
    assert found.statistic == pytest.approx(t, rel=1e-10)
    assert found.p_value == pytest.approx(2 * stats.t.sf(t, 6), rel=1e-10)
    assert found.p_value > plain(FIRST, SECOND).p_value


def test_equal_scores(any_test):
    found = any_test(FIRST, FIRST)
    assert (found.statistic, found.p_value, found.mean_difference) == (0.0, 1.0, 0.0)
    assert (found.wins, found.ties, found.losses) == (0, 7, 0)
    assert found.standard_error == 0


@pytest.mark.parametrize("name", ["t", "corrected"])
def test_constant_difference(name):
    found = TESTS[name]([0.9, 0.8, 0.7], [0.8, 0.7, 0.6])
    assert found.statistic == math.inf
    assert found.p_value == 0.0
    assert (found.wins, found.ties, found.losses) == (3, 0, 0)
    assert found.mean_difference == pytest.approx(0.1)


def test_standard_deviation_is_bounded_below_by_one_row():
    """With 20 test rows and scores up to 0.9, the lower bound is 0.045."""
    first, second = [0.9, 0.8, 0.7], [0.8, 0.7, 0.6]
    found = corrected_t_test(first, second, 20 / 80, least_rows=20)
    error = math.sqrt(1 / 3 + 20 / 80) * 0.9 / 20
    assert found.standard_error == pytest.approx(error, rel=1e-12)
    assert found.p_value == pytest.approx(2 * stats.t.sf(0.1 / error, 2), rel=1e-10)
    assert corrected_t_test(FIRST, SECOND, 20 / 80, least_rows=100) == (
        corrected_t_test(FIRST, SECOND, 20 / 80)
    )


@settings(deadline=None, max_examples=30)
@given(pairs, st.sampled_from([1e-6, 1e-3, 100.0, 1e6]))
def test_antisymmetry_and_scale_invariance(both, unit):
    a, b = np.array(both).T
    for test in TESTS.values():
        forth, back, scaled = test(a, b), test(b, a), test(unit * a, unit * b)
        assert back.statistic == pytest.approx(-forth.statistic, rel=1e-9, abs=1e-12)
        assert back.p_value == pytest.approx(forth.p_value, rel=1e-9)
        assert 0 <= forth.p_value <= 1
        assert (back.wins, back.losses) == (forth.losses, forth.wins)
        assert forth.wins + forth.ties + forth.losses == len(both)
        assert scaled.p_value == pytest.approx(forth.p_value, rel=1e-6, abs=1e-12)


def test_scores_that_are_not_finite_are_refused(any_test):
    with pytest.raises(ValueError, match="finite scores, got nan or inf"):
        any_test([1.0, np.nan], [1.0, 2.0])


p_values = st.lists(st.floats(0, 1), max_size=12)


def test_holm_examples():
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.7, 0.8]) == [1.0, 1.0]
    assert holm([]) == []


@given(p_values, st.sampled_from([0.01, 0.05, 0.2]))
def test_holm_matches_step_down_procedure(raw, level):
    left, rejected = sorted(raw), []
    while left and left[0] * len(left) < level:
        rejected.append(left.pop(0))
    assert sum(q < level for q in holm(raw)) == len(rejected)
