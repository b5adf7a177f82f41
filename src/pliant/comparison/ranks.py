"""Many methods on many data sets: average ranks, Friedman's test, Nemenyi's critical difference.

Rank the k methods on each of the N data sets, 1 the best, equal scores sharing the mean of their
ranks, and let R_j be the mean rank of method j. Friedman's test asks whether all methods are
equivalent on average; if not, two of them differ significantly where their mean ranks differ by
more than Nemenyi's critical difference.

References
----------
J. Demšar, Statistical comparisons of classifiers over multiple data sets, Journal of Machine
Learning Research 7 (2006).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, sqrt

import numpy as np
import numpy.typing as npt
from scipy import stats

from pliant.core.typing import Array
from pliant.core.validation import check_integer, check_real

_DIGITS = 12


@dataclass(frozen=True)
class FriedmanTest:
    """The result of Friedman's test.

    Attributes
    ----------
    statistic : float
        Iman and Davenport's F = (N - 1) chi2 / (N (k - 1) - chi2).
    p_value : float
        The probability of a larger F if all methods are equivalent.
    chi2 : float
        Friedman's chi2 = 12 N / (k (k + 1)) (sum_j R_j^2 - k (k + 1)^2 / 4).
    degrees : tuple of int
        The degrees of freedom of F: (k - 1, (k - 1) (N - 1)).
    ranks : ndarray of shape (k,)
        The mean ranks R_j.
    """

    statistic: float
    p_value: float
    chi2: float
    degrees: tuple[int, int]
    ranks: Array

    def critical_value(self, level: float = 0.05) -> float:
        """Return the F that equivalent methods exceed with probability `level`."""
        return float(stats.f.ppf(1.0 - _level(level), *self.degrees))

    def rejects(self, level: float = 0.05) -> bool:
        """Return whether the methods differ significantly."""
        return self.p_value < _level(level)


def average_ranks(scores: npt.ArrayLike, *, higher_is_better: bool = True) -> Array:
    """Return the mean rank of each method, R_j = 1/N sum_i r_ij, 1 the best.

    Parameters
    ----------
    scores : array-like of shape (N, k)
        A row per data set, a column per method. Scores that agree to 1e-12 of the largest are
        equal, and share the mean of their ranks.
    higher_is_better : bool
        False if the scores are errors or times.

    Returns
    -------
    ndarray of shape (k,)

    Raises
    ------
    ValueError
        If there is less than one data set or two methods, or a score is not finite.
    """
    table = _table(scores)
    largest = float(np.abs(table).max())
    rounded = np.round(table / largest, _DIGITS) if largest > 0 else table
    ranks = stats.rankdata(-rounded if higher_is_better else rounded, axis=1)
    return np.asarray(ranks.mean(axis=0), dtype=np.float64)


def friedman_test(scores: npt.ArrayLike, *, higher_is_better: bool = True) -> FriedmanTest:
    """Test whether k methods are equivalent on average, by F = (N - 1) chi2 / (N (k - 1) - chi2).

    F follows Fisher's distribution with k - 1 and (k - 1) (N - 1) degrees of freedom if they are.
    chi2 is not corrected for equal ranks, as in Demšar's paper.

    Parameters
    ----------
    scores : array-like of shape (N, k)
        A row per data set, N >= 2, a column per method.
    higher_is_better : bool
        False if the scores are errors or times.

    Returns
    -------
    FriedmanTest
        Where all data sets rank the methods alike, F is infinite and the p-value 0.

    Raises
    ------
    ValueError
        If there are less than two data sets or methods, or a score is not finite.
    """
    ranks = average_ranks(scores, higher_is_better=higher_is_better)
    n_sets, k = np.shape(scores)
    if n_sets < 2:
        raise ValueError(f"expected at least 2 data sets, got {n_sets}")
    chi2 = max(0.0, 12 * n_sets / (k * (k + 1)) * float(np.sum((ranks - (k + 1) / 2) ** 2)))
    left = n_sets * (k - 1) - chi2
    statistic = (n_sets - 1) * chi2 / left if left > 1e-9 else inf
    degrees = (k - 1, (k - 1) * (n_sets - 1))
    return FriedmanTest(statistic, float(stats.f.sf(statistic, *degrees)), chi2, degrees, ranks)


def nemenyi_critical_difference(n_methods: int, n_sets: int, level: float = 0.05) -> float:
    """Return q sqrt(k (k + 1) / (6 N)): mean ranks further apart differ significantly.

    q is the studentised range of k methods with infinitely many degrees of freedom, exceeded with
    probability `level`, divided by sqrt(2).

    Parameters
    ----------
    n_methods, n_sets : int
        k >= 2 methods, N >= 1 data sets.
    level : float
        Probability of calling any of the differences significant when there is none.

    Returns
    -------
    float

    Raises
    ------
    ValueError
        If there are too few methods or data sets, or the level is not in (0, 1).
    """
    k = check_integer("n_methods", n_methods, least=2)
    n = check_integer("n_sets", n_sets, least=1)
    q = float(stats.studentized_range.ppf(1.0 - _level(level), k, inf)) / sqrt(2)
    return q * sqrt(k * (k + 1) / (6 * n))


def _table(scores: npt.ArrayLike) -> Array:
    table = np.asarray(scores, dtype=np.float64)
    if table.ndim != 2 or table.shape[0] < 1 or table.shape[1] < 2:
        raise ValueError(
            "expected scores of shape (n_sets >= 1, n_methods >= 2), a row per data set, "
            f"got {table.shape}"
        )
    if not np.isfinite(table).all():
        raise ValueError("expected finite scores, got nan or inf")
    return table


def _level(level: float) -> float:
    if not 0 < check_real("level", level) < 1:
        raise ValueError(f"expected 0 < level < 1, got {level}")
    return float(level)
