"""Paired tests, Holm's adjustment, average ranks, Friedman's test, Nemenyi's critical difference.

A paired test takes the scores of two methods on the same splits and tests, two-sided, whether their
differences d_k = first_k - second_k are centred at zero. Differences are rounded to 1e-12 of the
largest score, so that 0.9 - 0.8 equals 0.8 - 0.7.

Over N data sets, k methods are ranked on each data set: 1 is the best, and ties share their mean
rank. R_j is the mean rank of method j. If Friedman's test rejects equivalence, two methods differ
significantly if their mean ranks differ by more than Nemenyi's critical difference.

References
----------
J. Demšar, Statistical comparisons of classifiers over multiple data sets, Journal of Machine
Learning Research 7 (2006).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, inf, lgamma, sqrt

import numpy as np
import numpy.typing as npt
from scipy import stats

from pliant.core.typing import Array

DIGITS = 12
"""Number of decimals to which scores, relative to the largest, are rounded for comparison."""


@dataclass(frozen=True)
class PairedTest:
    """The result of a paired test.

    Attributes
    ----------
    statistic, p_value : float
        Student's t, and the two-sided p-value.
    mean_difference, standard_error : float
        Mean of first - second, and its standard error as estimated by the test.
    wins, ties, losses : int
        Number of splits on which the first method scored higher, equal or lower.
    """

    statistic: float
    p_value: float
    mean_difference: float
    standard_error: float
    wins: int
    ties: int
    losses: int


@dataclass(frozen=True)
class FriedmanTest:
    """The result of Friedman's test.

    Attributes
    ----------
    statistic, p_value : float
        Iman and Davenport's F = (N - 1) chi2 / (N (k - 1) - chi2), and its p-value.
    chi2 : float
        Friedman's chi2 = 12 N / (k (k + 1)) (sum_j R_j^2 - k (k + 1)^2 / 4).
    degrees : tuple of int
        Degrees of freedom of F: (k - 1, (k - 1) (N - 1)).
    ranks : ndarray of shape (k,)
        Mean ranks R_j.
    """

    statistic: float
    p_value: float
    chi2: float
    degrees: tuple[int, int]
    ranks: Array


def corrected_t_test(
    first: npt.ArrayLike, second: npt.ArrayLike, share: float, *, least_rows: float = inf
) -> PairedTest:
    """Test mean(d) = 0 with Nadeau and Bengio's corrected resampled t test (2003).

    For r splits, the variance of the mean is (1/r + share) var(d), because training sets overlap;
    `share` is the number of test rows over that of training rows. The standard deviation of d is at
    least the largest score divided by the test rows of a split, `least_rows`: the effect of one
    row. Equal differences thus do not give p = 0.
    """
    d = differences(first, second)
    spread = 0.0 if np.ptp(d) == 0 else float(np.std(d, ddof=1))
    largest = _largest(np.array([first, second], dtype=np.float64))
    error = sqrt(1 / len(d) + share) * max(spread, largest / least_rows)
    mean = float(np.mean(d))
    t = mean / error if error > 0 else float(np.sign(mean)) * inf if mean else 0.0
    p_value = 2 * float(stats.t.sf(abs(t), len(d) - 1))
    wins, ties, losses = (int(np.sum(np.sign(d) == sign)) for sign in (1, 0, -1))
    return PairedTest(t, p_value, mean, error, wins, ties, losses)


def holm(p_values: Sequence[float]) -> list[float]:
    """Return p-values adjusted by Holm's method (1979), in the same order.

    The i-th smallest of m p-values becomes the maximum of (m - j + 1) p_(j) over j <= i, at most 1.
    Rejecting hypotheses with adjusted p-values below a level bounds the family-wise error rate by
    this level, for any dependence of the tests.

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    p = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(p, kind="stable")
    adjusted = np.empty(len(p))
    adjusted[order] = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    return [min(float(value), 1.0) for value in adjusted]


def average_ranks(scores: npt.ArrayLike) -> Array:
    """Return the mean rank of each method, R_j = 1/N sum_i r_ij; 1 is the best rank.

    `scores` has a row for each data set and a column for each method. Higher is better, so negate
    errors. Scores that agree to 1e-12 of the largest score are ties, and share their mean rank.
    """
    table = np.asarray(scores, dtype=np.float64)
    largest = _largest(table)
    rounded = np.round(table / largest, DIGITS) if largest > 0 else table
    return np.asarray(stats.rankdata(-rounded, axis=1).mean(axis=0), dtype=np.float64)


def friedman_test(scores: npt.ArrayLike) -> FriedmanTest:
    """Test whether k methods are equivalent on average, by F = (N - 1) chi2 / (N (k - 1) - chi2).

    If they are equivalent, F follows Fisher's distribution with k - 1 and (k - 1) (N - 1) degrees
    of freedom. As in Demšar's paper, chi2 is not corrected for ties. The p-value is at least the
    probability that all data sets rank equivalent methods in the same order, k!^(1 - N): then F is
    infinite, and for few data sets Fisher's distribution gives smaller values. `scores` are as for
    `average_ranks`.
    """
    ranks = average_ranks(scores)
    n_sets, k = np.shape(scores)
    chi2 = max(0.0, 12 * n_sets / (k * (k + 1)) * float(np.sum((ranks - (k + 1) / 2) ** 2)))
    left = n_sets * (k - 1) - chi2
    statistic = (n_sets - 1) * chi2 / left if left > 1e-9 else inf
    degrees = (k - 1, (k - 1) * (n_sets - 1))
    least = exp((1 - n_sets) * lgamma(k + 1))
    p_value = max(float(stats.f.sf(statistic, *degrees)), least)
    return FriedmanTest(statistic, p_value, chi2, degrees, ranks)


def nemenyi_critical_difference(n_methods: int, n_sets: int, level: float = 0.05) -> float:
    """Return Nemenyi's critical difference of mean ranks of k methods, q sqrt(k (k + 1) / (6 N)).

    q is the 1 - `level` quantile of the studentised range (k, inf), divided by sqrt(2), and `level`
    the probability of a significant difference if all methods are equivalent.
    """
    q = float(stats.studentized_range.ppf(1.0 - level, n_methods, inf)) / sqrt(2)
    return q * sqrt(n_methods * (n_methods + 1) / (6 * n_sets))


def differences(first: npt.ArrayLike, second: npt.ArrayLike) -> Array:
    """Return the score differences, rounded to 1e-12 of the largest score."""
    a, b = np.asarray(first, dtype=float), np.asarray(second, dtype=float)
    largest = _largest(np.array([a, b]))
    return np.round(a / largest - b / largest, DIGITS) * largest if largest > 0 else a - b


def _largest(scores: Array) -> float:
    """Return the largest absolute score; raise ValueError unless all scores are finite."""
    if not np.isfinite(scores).all():
        raise ValueError("expected finite scores, got nan or inf")
    return float(np.abs(scores).max())
