"""The kernel matrix that Bregman projections on distances change, many at a time."""

from __future__ import annotations

import math

import numpy as np
from scipy.linalg.blas import dgemm

from pliant.core.jit import compiled
from pliant.core.typing import Array, Indices

__all__ = ["ProjectedGram"]

MOST_WAITING = 64
"""Projections that wait for the matrix to be brought up to date; fewer for a large one."""

LARGEST_UPDATE = 1e9
"""Multiplications in one update, about: some hundredths of a second."""


class ProjectedGram:
    """K, which becomes K + W' diag(factors) W after some projections, by one matrix product.

    Parameters
    ----------
    gram : array of shape (a, a)
        K, symmetric; taken over, and changed in place.
    log_det : float
        log det(K0 K^{-1}), which follows K.
    """

    def __init__(self, gram: Array, log_det: float) -> None:
        self.gram: Array = np.ascontiguousarray(gram, dtype=np.float64)
        self.log_det = log_det
        a = len(gram)
        self._rows = np.empty((int(min(MOST_WAITING, max(4, LARGEST_UPDATE // a**2))), a))
        self._factors = np.empty(len(self._rows))

    def project(
        self,
        order: Indices,
        pairs: Indices,
        signs: Array,
        targets: Array,
        per_slack: float,
        duals: Array,
    ) -> tuple[int, float]:
        """Project on the bounds of `order`, until enough updates of K wait; bring K up to date.

        Parameters
        ----------
        order : array
            Numbers of pairs.
        pairs, signs, targets : arrays of shape (m, 2), (m,) and (m,)
            All pairs, +1.0 for an upper and -1.0 for a lower bound, and the bounds.
        per_slack : float
            1/nu; 0 for hard bounds.
        duals : array of shape (m,)
            Changed in place.

        Returns
        -------
        int
            How many bounds of `order` are done.
        float
            About how many multiplications that took.
        """
        done, used, change = _projections(
            self.gram, self._rows, self._factors, pairs, signs, targets, per_slack, order, duals
        )
        self.log_det += change
        if used:
            rows = self._rows[:used]
            scaled = self._factors[:used, None] * rows
            dgemm(1.0, rows.T, scaled.T, 1.0, self.gram.T, trans_b=1, overwrite_c=1)
        return done, used * float(len(self.gram)) ** 2 + done * float(len(self._rows))


@compiled
def _projections(
    gram: Array,
    rows: Array,
    factors: Array,
    pairs: Indices,
    signs: Array,
    targets: Array,
    per_slack: float,
    order: Indices,
    duals: Array,
) -> tuple[int, int, float]:
    """Return how many bounds are done, how many rows of W are used, and the change of log det."""
    used, change = 0, 0.0
    for place in range(len(order)):
        if used == len(rows):
            return place, used, change
        k = order[place]
        i, j, s = pairs[k, 0], pairs[k, 1], signs[k]
        size = gram[i, i] + gram[j, j]
        p = size - 2.0 * gram[i, j]
        for t in range(used):
            p += factors[t] * (rows[t, i] - rows[t, j]) ** 2
        if p <= 1e-15 * size:
            continue
        inverse_slack = 1.0 / targets[k] - s * duals[k] * per_slack
        step = min(duals[k], s * (1.0 / p - inverse_slack) / (1.0 + per_slack))
        if step == 0.0:
            continue
        _store(gram, rows, factors, used, i, j)
        factors[used] = s * step / (1.0 - s * step * p)
        duals[k] -= step
        change += math.log1p(-s * step * p)
        used += 1
    return len(order), used, change


@compiled
def _store(gram: Array, rows: Array, factors: Array, used: int, i: int, j: int) -> None:
    """Write K (e_i - e_j) to the row `used` of W, for the K that the rows before it make."""
    row = rows[used]
    for c in range(len(row)):
        row[c] = gram[i, c] - gram[j, c]
    for t in range(used):
        share = factors[t] * (rows[t, i] - rows[t, j])
        for c in range(len(row)):
            row[c] += share * rows[t, c]
