"""Paired tests of two methods on the same splits, their results in words, Holm's adjustment.

Every test takes the scores of two methods, split by split, and compares their differences
d_k = first_k - second_k with zero, two-sided. Differences are rounded at 1e-12 of the largest
score, so that 0.9 - 0.8 and 0.8 - 0.7 are the same difference, and equal scores are a tie.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, sqrt

import numpy as np
import numpy.typing as npt
from scipy import stats

from pliant.core.typing import Array

_DIGITS = 12

ALL_SIGNS = 13
"""Differences up to which all signs are gone through where ranks are shared; as in scipy."""


@dataclass(frozen=True)
class PairedTest:
    """The result of a paired test.

    Attributes
    ----------
    name : str
        The test, in words.
    statistic : float
        Student's t, or for Wilcoxon the difference between the rank sums of wins and losses.
    p_value : float
        Two-sided.
    mean_difference : float
        Mean of first - second.
    standard_error : float
        The standard error of that mean, as the test estimates it.
    wins, ties, losses : int
        Splits on which the first method scored higher, equal, lower.
    """

    name: str
    statistic: float
    p_value: float
    mean_difference: float
    standard_error: float
    wins: int
    ties: int
    losses: int

    def favours(self, level: float = 0.05) -> int:
        """Return 1 if the first method scores significantly higher, -1 if the second, else 0."""
        if not 0 < level < 1:
            raise ValueError(f"expected 0 < level < 1, got {level}")
        return int(np.sign(self.statistic)) if self.p_value < level else 0


def corrected_t_test(
    first: npt.ArrayLike,
    second: npt.ArrayLike,
    *,
    n_train: float,
    n_test: float,
    least_rows: float = inf,
) -> PairedTest:
    """Test mean(d) = 0 with Nadeau and Bengio's corrected resampled t test.

    The variance of the mean over r resampled splits is taken as
    (1/r + n_test / n_train) var(d), because their training sets overlap.

    Parameters
    ----------
    first, second : array-like of shape (r,)
        Scores on the same r >= 2 splits.
    n_train, n_test : float
        Rows on either side of each split; only n_test / n_train counts.
    least_rows : float, default=inf
        Test rows of a split. The standard deviation of d is taken as at least the largest score
        over them, as if one row had another result; so equal differences are not certain.

    Returns
    -------
    PairedTest

    Raises
    ------
    ValueError
        If the scores don't pair up, one is not finite, or a row count is not positive.

    References
    ----------
    C. Nadeau and Y. Bengio, Inference for the generalization error, Machine Learning 52 (2003).
    """
    for name, rows in (("n_train", n_train), ("n_test", n_test), ("least_rows", least_rows)):
        if not rows > 0:
            raise ValueError(f"expected {name} > 0, got {rows}")
    d = _differences(first, second)
    spread = 0.0 if np.ptp(d) == 0 else float(np.std(d, ddof=1))
    largest = float(np.abs(np.array([first, second], dtype=np.float64)).max())
    error = sqrt(1 / len(d) + n_test / n_train) * max(spread, largest / least_rows)
    mean = float(np.mean(d))
    certain = 0.0 if mean == 0 else float(np.copysign(inf, mean))
    t = mean / error if error > 0 else certain
    p_value = 2 * float(stats.t.sf(abs(t), len(d) - 1))
    return _report("corrected paired t test", d, t, p_value, error)


def wilcoxon_test(first: npt.ArrayLike, second: npt.ArrayLike) -> PairedTest:
    """Test whether d is symmetric about zero with Wilcoxon's signed-rank test.

    Parameters
    ----------
    first, second : array-like of shape (r,)
        Scores on the same r >= 2 splits or tables. Ties are left out; if all are ties, p = 1.

    Returns
    -------
    PairedTest

    Raises
    ------
    ValueError
        If the scores don't pair up, or one is not a finite number.
    """
    d = _differences(first, second)
    moved = d[d != 0]
    name = "Wilcoxon signed-rank test"
    if len(moved) == 0:
        return _report(name, d, 0.0, 1.0, 0.0)
    ranks = stats.rankdata(np.abs(moved))
    p_value = _signed_rank_p(moved, ranks)
    statistic = float(np.sum(np.sign(moved) * ranks))
    error = float(np.std(d, ddof=1)) / sqrt(len(d))
    return _report(name, d, statistic, p_value, error)


def holm(p_values: Sequence[float]) -> list[float]:
    """Return p-values adjusted by Holm's method.

    The i-th smallest of m p-values becomes the largest of (m - j + 1) p_(j) over j <= i, at most 1.
    Calling those below a level significant is wrong about one or more of them with at most that
    probability, however the tests depend on each other.

    Parameters
    ----------
    p_values : sequence of m float
        In any order.

    Returns
    -------
    list of m float
        In the same order; none is smaller than what it was.

    Raises
    ------
    ValueError
        If one is not in [0, 1].

    References
    ----------
    S. Holm, A simple sequentially rejective multiple test procedure, Scandinavian Journal of
    Statistics 6 (1979).

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    p = np.asarray(p_values, dtype=np.float64)
    if wrong := [value for value in p.tolist() if not 0 <= value <= 1]:
        raise ValueError(f"expected p-values in [0, 1], got {wrong[0]}")
    order = np.argsort(p, kind="stable")
    adjusted = np.empty(len(p))
    adjusted[order] = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    bounded: list[float] = np.minimum(adjusted, 1.0).tolist()
    return bounded


def _differences(first: npt.ArrayLike, second: npt.ArrayLike) -> Array:
    """Subtract scores pair by pair, rounded at 1e-12 of the largest score."""
    a, b = np.asarray(first, dtype=float), np.asarray(second, dtype=float)
    if a.ndim != 1 or a.shape != b.shape:
        raise ValueError(
            f"expected two score arrays of one shape (r,), got {a.shape} and {b.shape}"
        )
    if len(a) < 2:
        raise ValueError(f"expected at least 2 pairs of scores, got {len(a)}")
    if not (np.isfinite(a).all() and np.isfinite(b).all()):
        raise ValueError("expected finite scores, got nan or inf")
    largest = float(max(np.abs(a).max(), np.abs(b).max()))
    return np.round(a / largest - b / largest, _DIGITS) * largest if largest > 0 else a - b


def _signed_rank_p(moved: Array, ranks: Array) -> float:
    """Return the p-value: scipy's, or that of all 2^n signs where few differences share ranks.

    scipy goes through the signs as well, but one after the other.
    """
    n = len(moved)
    if n > ALL_SIGNS or len(np.unique(ranks)) == n:
        return float(stats.wilcoxon(moved).pvalue)
    signs = np.arange(2**n)[:, None] >> np.arange(n) & 1
    sums, observed = signs @ ranks, float(ranks[moved > 0].sum())
    return min(1.0, 2 * min(float(np.mean(sums >= observed)), float(np.mean(sums <= observed))))


def _report(
    name: str, d: Array, statistic: float, p_value: float, standard_error: float
) -> PairedTest:
    signs = np.sign(d)
    wins, ties, losses = (int(np.sum(signs == sign)) for sign in (1, 0, -1))
    return PairedTest(
        name, statistic, p_value, float(np.mean(d)), standard_error, wins, ties, losses
    )
