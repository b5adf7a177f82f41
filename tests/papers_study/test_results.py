"""Paired differences over the repeats of a study."""

import numpy as np
import pytest
from scipy import stats

from papers.results import paired_t_test

FIRST = np.array([0.81, 0.84, 0.79, 0.88, 0.86, 0.83, 0.85])
SECOND = np.array([0.80, 0.80, 0.81, 0.83, 0.86, 0.80, 0.79])


def test_the_plain_t_test_is_scipys():
    expected = stats.ttest_rel(FIRST, SECOND)
    found = paired_t_test(FIRST, SECOND)
    assert found.statistic == pytest.approx(expected.statistic, rel=1e-10)
    assert found.p_value == pytest.approx(expected.pvalue, rel=1e-10)
    assert found.standard_error == pytest.approx(stats.sem(FIRST - SECOND), rel=1e-10)
    assert found.name == "paired t test"
