"""Several tests at once: Holm's adjustment of their p-values."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


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
