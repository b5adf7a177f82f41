"""Which training points become support points."""

from __future__ import annotations

import numpy as np
from numpy.random import RandomState
from sklearn.cluster import kmeans_plusplus

from pliant.core.typing import Array, Indices

__all__ = ["STRATEGIES", "choose_support"]


def choose_support(strategy: str, X: Array, Y: Array, count: int, rng: RandomState) -> Indices:
    """Return the rows of at most `count` different support points.

    Parameters
    ----------
    strategy : {"kmeans++", "residual", "sorted", "random"}
        See `STRATEGIES`; "residual" begins at random.
    X : array of shape (n, d)
        On a common scale.
    Y : array of shape (n, q)
        On [-1, 1].
    count : int
        How many, at least 1.
    rng : RandomState
    """
    different = np.sort(np.unique(X, axis=0, return_index=True)[1])
    count = min(count, len(different))
    chosen = STRATEGIES[strategy](X[different], Y[different], count, rng)
    return np.asarray(different[chosen])


def _spread(X: Array, Y: Array, count: int, rng: RandomState) -> Indices:
    """Draw points far apart in [X, sqrt(d / q) Y]: k-means++ without trials."""
    weight = np.sqrt(X.shape[1] / Y.shape[1])
    _, rows = kmeans_plusplus(np.hstack([X, weight * Y]), count, random_state=rng, n_local_trials=1)
    return np.unique(rows)


def _sorted(X: Array, Y: Array, count: int, rng: RandomState) -> Indices:
    """Sort by the (first) target and take evenly."""
    order = np.argsort(Y[:, 0], kind="stable")
    return np.sort(order[np.linspace(0, len(order) - 1, count).round().astype(np.intp)])


def _random(X: Array, Y: Array, count: int, rng: RandomState) -> Indices:
    return np.sort(rng.choice(len(X), count, replace=False))


STRATEGIES = {"kmeans++": _spread, "residual": _random, "sorted": _sorted, "random": _random}
"""How support points are chosen."""
