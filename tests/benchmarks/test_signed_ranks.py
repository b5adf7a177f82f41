"""Wilcoxon's test against SciPy and small examples."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from benchmarks.signed_ranks import signed_rank_p


def test_exact_p_value():
    doubled = [2, 4, 6, 8, 10, 12]
    assert signed_rank_p(doubled, [1, 2, 3, 4, 5, 6]) == pytest.approx(2 / 2**6)
    assert signed_rank_p(doubled, doubled) == 1.0


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(-3, 3), min_size=2, max_size=9), st.sampled_from([1e-6, 1.0, 1e6]))
def test_equal_differences_have_scipys_p_value(differences, unit):
    moved = [d for d in differences if d]
    expected = stats.wilcoxon(moved).pvalue if moved else 1.0
    first, zeros = unit * np.array(differences, dtype=float), np.zeros(len(differences))
    for pair in ((first, zeros), (zeros, first)):
        assert signed_rank_p(*pair) == pytest.approx(expected, rel=1e-9)
