"""The choice of centres among the rows: uniformly, or by approximate leverage scores."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg.lapack import dtrtrs

from pliant.core.kernels.base import Kernel
from pliant.core.typing import Array, Indices
from pliant.methods.sketched.factor import CHUNK, Preconditioner, factor_of

PILOTS = 1000
"""Centres at most that leverage scores are approximated by."""

CANDIDATES = 20
"""Rows for each centre that leverage scores are computed of, at most."""

LEAST = 1e-12
"""Smallest leverage score, relative to the largest: every row can be drawn."""


class Centres(NamedTuple):
    """Points, their rows (None where they were given), and how many rows each stands for."""

    points: Array
    rows: Indices | None
    weights: Array


Take = Callable[[Indices], Array]
"""Returns some rows of X, by their numbers in increasing order."""


def uniform_centres(take: Take, weights: Array, count: int, draw: np.random.RandomState) -> Centres:
    """Return rows drawn without replacement, with probabilities as their weights.

    All rows of weight > 0, if there are no more than `count` of them. Rows are in increasing order.
    """
    rows = _drawn(weights, count, draw)
    total = float(weights.sum())
    if len(rows) == np.count_nonzero(weights):
        return Centres(take(rows), rows, weights[rows])
    return Centres(take(rows), rows, np.full(len(rows), total / len(rows)))


def leverage_centres(
    take: Take,
    weights: Array,
    count: int,
    draw: np.random.RandomState,
    *,
    kernel: Kernel,
    alpha: float,
) -> Centres:
    r"""Return rows drawn with probabilities as their weights times approximate leverage scores.

    The ridge leverage score of row i is the i-th diagonal entry of K (K + alpha I)^{-1}. With a
    uniform pilot sample J it is approximated by (Rudi, Calandriello, Carratino, Rosasco 2018)

    .. math::

        l_i = (k(x_i, x_i) - k_{iJ} (K_{JJ} + \alpha |J|/W \, I)^{-1} k_{Ji}) / \alpha,

    with W the sum of the weights. Scores are computed of at most 20 rows for each centre, drawn
    uniformly; the pilot sample has at most 1000.
    """
    if np.count_nonzero(weights) <= count:
        return uniform_centres(take, weights, count, draw)
    pilots = uniform_centres(take, weights, min(count, PILOTS), draw)
    rows = _drawn(weights, CANDIDATES * count, draw)
    points = take(rows)
    scores = leverage_scores(kernel, points, pilots.points, alpha, float(weights.sum()))
    scores *= weights[rows] / weights[rows].mean()
    chosen = np.sort(draw.choice(len(rows), count, replace=False, p=scores / scores.sum()))
    stands_for = weights[rows][chosen] / scores[chosen]
    stands_for *= weights.sum() / stands_for.sum()
    return Centres(points[chosen], rows[chosen], stands_for)


def leverage_scores(
    kernel: Kernel, points: Array, pilots: Array, alpha: float, total_weight: float
) -> Array:
    """Return approximate ridge leverage scores of points, each > 0; see `leverage_centres`."""
    factor = factor_of(kernel, pilots)
    ridge = alpha * len(pilots) / total_weight / factor.scale
    kept = pilots[factor.order[: factor.rank]]
    # (K_JJ + ridge I)^{-1} for the kept pilots, in the coordinates v = U^{-T} k_J: with
    # M = U U' + ridge I, k'(U'U + ridge I)^{-1} k = v'v - ridge v'M^{-1} v.
    inverse = Preconditioner(factor.covariance(_ones_of(factor), False), max(ridge, 0.0))
    scores = np.empty(len(points))
    for low in range(0, len(points), CHUNK):
        some = points[low : low + CHUNK]
        v = dtrtrs(factor.triangle, kernel._between_sets(kept, some) / factor.scale, trans=1)[0]
        explained = np.einsum("ij,ij->j", v, v) - ridge * np.einsum("ij,ij->j", v, inverse(v))
        scores[low : low + CHUNK] = kernel._diagonal(some) / factor.scale - explained
    largest = float(scores.max())
    if not 0.0 < largest < np.inf:
        return np.ones(len(points))
    return np.maximum(scores / largest, LEAST)


def _ones_of(factor: Any) -> Array:
    """Return weights of 1 for the kept centres, 0 for the others."""
    weights = np.zeros(len(factor.order))
    weights[factor.order[: factor.rank]] = 1.0
    return weights


def _drawn(weights: Array, count: int, draw: np.random.RandomState) -> Indices:
    """Return different rows of weight > 0, in increasing order."""
    positive = np.flatnonzero(weights)
    if len(positive) <= count:
        return positive
    if weights[positive].min() == weights[positive].max():
        return np.sort(positive[draw.choice(len(positive), count, replace=False)])
    shares = weights[positive] / weights[positive].sum()
    return np.sort(positive[draw.choice(len(positive), count, replace=False, p=shares)])
