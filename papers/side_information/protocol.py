"""How a set is divided into labelled, unlabelled and test points: the same for every contestant."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.preprocessing import StandardScaler

from benchmarks.splits import holdout
from papers.sets import Table
from papers.side_information.sets import SETS, draw
from pliant.core.typing import Array, Indices

__all__ = ["SideProtocol", "SideSample", "divide", "typical_gamma"]


@dataclass(frozen=True)
class SideProtocol:
    """What a study holds fixed.

    Attributes
    ----------
    unlabelled : float
        The share of the points that are learned from without their labels; sets that name a number
        of labels leave all others unlabelled.
    test : float
        The share of the points that is not seen before a kernel is learned.
    folds : int
        Of the cross-validation that chooses parameters, over the labelled points.
    first_seed : int
        The seed of repeat 0; repeat r is drawn with the seed ``first_seed + r``.
    """

    unlabelled: float
    test: float
    folds: int = 5
    first_seed: int = 100


@dataclass(frozen=True, eq=False)
class SideSample:
    """The points of one repeat.

    Attributes
    ----------
    name : str
        The set.
    X, y : arrays of shape (n, d), (n,)
        The points to learn from, and their true classes, numbered from 0.
    labelled : array of shape (l,)
        The rows of X whose labels may be used, in ascending order.
    X_test, y_test : arrays of shape (m, d), (m,)
        Points that come later; there may be none.
    """

    name: str
    X: Array
    y: Indices
    labelled: Indices
    X_test: Array
    y_test: Indices

    @property
    def unlabelled(self) -> Indices:
        """The rows of X whose labels are hidden."""
        return np.setdiff1d(np.arange(len(self.y)), self.labelled)

    def partial(self, rows: Indices) -> Indices:
        """Return the classes of some rows of X, and -1 for all others."""
        known = np.full(len(self.y), -1)
        known[rows] = self.y[rows]
        return known

    def folds(self, count: int, seed: int) -> list[tuple[Indices, Indices]]:
        """Return the labelled rows as pairs (to learn from, to judge by), classes spread evenly."""
        rows = np.random.default_rng(seed).permutation(self.labelled)
        rows = rows[np.argsort(self.y[rows], kind="stable")]
        fold = np.arange(len(rows)) % count
        return [(np.sort(rows[fold != k]), np.sort(rows[fold == k])) for k in range(count)]


def divide(name: str, table: Table, protocol: SideProtocol, repeat: int) -> SideSample:
    """Return the points of one repeat; every part has all classes in proportion."""
    seed = protocol.first_seed + repeat
    table = draw(table, SETS[name].per_class, seed)
    y = np.unique(table.y, return_inverse=True)[1].reshape(-1)
    n = len(y)
    kept, test = _hold_out(y, np.arange(n), round(protocol.test * n), seed)
    hidden = round(protocol.unlabelled * n)
    if (labels := SETS[name].labels) is not None:
        hidden = len(kept) - labels
    known, _ = _hold_out(y, kept, hidden, seed + 1_000_000)
    X, X_test = _scaled(name, table.X[kept], table.X[test])
    return SideSample(name, X, y[kept], np.searchsorted(kept, known), X_test, y[test])


def _hold_out(y: Indices, rows: Indices, count: int, seed: int) -> tuple[Indices, Indices]:
    if count == 0:
        return rows, rows[:0]
    ((kept, held),) = holdout(y[rows], test_size=count, stratify=True, random_state=seed)
    return rows[kept], rows[held]


def _scaled(name: str, X: Array, X_test: Array) -> tuple[Array, Array]:
    """Divide by the unit of the set, or standardise by the points that are learned from."""
    if (unit := SETS[name].unit) is not None:
        return X / unit, X_test / unit
    scaler = StandardScaler().fit(X)
    return scaler.transform(X), scaler.transform(X_test) if len(X_test) else X_test


def typical_gamma(X: Array, most: int = 1000) -> float:
    """Return 1 / the median squared distance of two points, among the first `most` at random."""
    rows = np.random.default_rng(0).permutation(len(X))[:most]
    squares = np.sum(X[rows] ** 2, axis=1)
    squared = squares[:, None] + squares - 2.0 * X[rows] @ X[rows].T
    return 1.0 / float(np.median(squared[np.triu_indices(len(rows), 1)]))
