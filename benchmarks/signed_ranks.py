"""Wilcoxon's signed-rank test of two methods on several tables."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy import stats

from pliant.tables.comparison.statistics import differences


def signed_rank_p(first: npt.ArrayLike, second: npt.ArrayLike) -> float:
    """Return the two-sided p-value for differences of scores that are symmetric about zero.

    It is exact for at most 13 tables with equal differences, and SciPy's otherwise. Ties are
    ignored; p = 1 if all scores are equal.
    """
    d = differences(first, second)
    moved = d[d != 0]
    n = len(moved)
    if n == 0:
        return 1.0
    ranks = stats.rankdata(np.abs(moved))
    if n > 13 or len(np.unique(ranks)) == n:
        return float(stats.wilcoxon(moved).pvalue)
    signs = np.arange(2**n)[:, None] >> np.arange(n) & 1  # all sign patterns; SciPy's loop is slow
    sums, observed = signs @ ranks, float(ranks[moved > 0].sum())
    return min(1.0, 2 * min(float(np.mean(sums >= observed)), float(np.mean(sums <= observed))))
