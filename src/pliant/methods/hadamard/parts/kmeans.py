"""k-means on a sample, with a bound on how uneven its parts may be."""

from __future__ import annotations

import numpy as np
from numpy.random import RandomState
from sklearn.cluster import kmeans_plusplus

from pliant.core.linalg import nearest_rows
from pliant.core.typing import Array, Indices

__all__ = ["even_centres", "kmeans"]

STEPS = 30
"""The most steps of k-means; the later ones move few rows."""

EXCHANGES = 10
"""The most rounds in which large parts are divided and small ones dissolved."""


def kmeans(X: Array, n_centres: int, rng: RandomState) -> Array:
    """Return the centres of k-means (Lloyd's steps from a k-means++ start) on all rows of X.

    A centre that loses all its rows stays where it is.

    Parameters
    ----------
    X : array of shape (n, d)
        At least `n_centres` rows.
    n_centres : int
        v, at least 1.
    rng : RandomState
        Draws the start.

    Returns
    -------
    array of shape (v, d)
    """
    origin = X.mean(axis=0)
    rows = X - origin
    scale = float(np.abs(rows).max()) or 1.0
    rows /= scale
    centres = kmeans_plusplus(rows, n_centres, random_state=rng)[0]
    labels = nearest_rows(rows, centres)
    for _ in range(STEPS):
        centres = means(rows, labels, centres)
        before, labels = labels, nearest_rows(rows, centres)
        if np.array_equal(before, labels):
            break
    return centres * scale + origin


def means(X: Array, labels: Indices, centres: Array) -> Array:
    """Return the mean of the rows of each label; the old centre where a label has no row."""
    sizes = np.bincount(labels, minlength=len(centres))
    sums = np.column_stack([np.bincount(labels, x, minlength=len(centres)) for x in X.T])
    return np.where(sizes[:, None] > 0, sums / np.maximum(sizes, 1)[:, None], centres)


def even_centres(X: Array, n_centres: int, spread: float, rng: RandomState) -> Array:
    """Return centres of k-means, exchanged until no part has more than `spread` times the mean.

    In each round every part that is too large is divided by k-means with two centres, and as
    many of the smallest parts are dissolved. The centres with the smallest largest part are
    returned, so that a bound that cannot be met does no harm.

    Parameters
    ----------
    X : array of shape (n, d)
        At least `n_centres` rows.
    n_centres : int
        v, at least 1.
    spread : float
        At least 1; inf for plain k-means.
    rng : RandomState
        Draws the starts.

    Returns
    -------
    array of shape (v, d)
    """
    centres = best = kmeans(X, n_centres, rng)
    limit, lowest = spread * len(X) / n_centres, np.inf
    for _ in range(EXCHANGES):
        labels = nearest_rows(X, centres)
        sizes = np.bincount(labels, minlength=n_centres)
        if sizes.max() < lowest:
            best, lowest = centres, sizes.max()
        large = exchanged(sizes, limit)
        if not len(large):
            break
        centres = exchange(X, labels, centres, large, rng)
    return best


def exchanged(sizes: Indices, limit: float) -> Indices:
    """Return the parts to divide: those above the limit, at most half of all, largest first."""
    order = np.argsort(-sizes, kind="stable")[: len(sizes) // 2]
    return order[sizes[order] > limit]


def exchange(X: Array, labels: Indices, centres: Array, large: Indices, rng: RandomState) -> Array:
    """Return as many centres, with two for each part in `large` and none for the smallest."""
    sizes = np.bincount(labels, minlength=len(centres))
    gone = np.argsort(sizes, kind="stable")[: len(large)]
    halves = [kmeans(X[labels == part], 2, rng) for part in large]
    return np.vstack([np.delete(centres, np.concatenate([large, gone]), axis=0), *halves])
