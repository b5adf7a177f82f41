"""Training and test rows, the folds of cross-validation, and what a prediction costs."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.preprocessing import MinMaxScaler

from benchmarks.splits import holdout, official, random_halves
from papers.data import Table
from pliant.core.typing import Array, Indices

Labels = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class Sample:
    """The rows of one repeat."""

    name: str
    """The set."""
    task: str
    """Either "classification" or "regression"."""
    X: Array
    y: Labels
    """Shapes (n, d) and (n,). The training rows."""
    X_test: Array
    y_test: Labels
    """Shapes (m, d) and (m,). The rows that judge a model; there may be none."""
    labelled: Indices | None = None
    """Shape (l,). The rows of X whose labels may be used, in ascending order; None for all."""

    @property
    def known(self) -> Indices:
        """The rows of X whose labels may be used."""
        return np.arange(len(self.y)) if self.labelled is None else self.labelled

    @property
    def unlabelled(self) -> Indices:
        """The rows of X whose labels are hidden."""
        return np.setdiff1d(np.arange(len(self.y)), self.known)

    def partial(self, rows: Indices) -> Indices:
        """Return the classes of some rows of X, and -1 for all others."""
        known = np.full(len(self.y), -1)
        known[rows] = self.y[rows]
        return known

    def labelled_folds(self, count: int, seed: int) -> list[tuple[Indices, Indices]]:
        """Return the labelled rows as pairs (training, validation), classes spread evenly."""
        rows = np.random.default_rng(seed).permutation(self.known)
        rows = rows[np.argsort(self.y[rows], kind="stable")]
        fold = np.arange(len(rows)) % count
        return [(np.sort(rows[fold != k]), np.sort(rows[fold == k])) for k in range(count)]

    def sizes(self) -> dict[str, int]:
        """Return what a record says of the rows."""
        n_train = len(self.known)
        n_test = len(self.y) - n_train + len(self.y_test)
        return {"n_train": n_train, "n_test": n_test, "d": self.X.shape[1]}


def halves(name: str, table: Table, repeat: int, *, clipped: bool = False) -> Sample:
    """Return random halves, or the set's own training and test rows, scaled to [0, 1]."""
    n = len(table.y)
    if table.own_training is not None:
        train, test = next(official(table.own_training, n - table.own_training))
    else:
        drawn = random_halves(table.y, repeat + 1, stratify=table.task == "classification")
        train, test = next(islice(drawn, repeat, None))
    X, X_test = table.X[train], table.X[test]
    if clipped:
        X, X_test = clip(X, X_test)
    X, X_test = rescaled(X, X_test, 0.0, 1.0)
    return Sample(name, table.task, X, table.y[train], X_test, table.y[test])


def folds(sample: Sample, n_folds: int, repeat: int) -> Iterator[tuple[Indices, Indices]]:
    """Return the folds of cross-validation, stratified for classes."""
    kind = StratifiedKFold if sample.task == "classification" else KFold
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The least populated class", UserWarning)
        yield from list(kind(n_folds, shuffle=True, random_state=repeat).split(sample.X, sample.y))


def to_tune_on(sample: Sample, most: int | None, repeat: int) -> Sample:
    """Return the sample with `most` random training rows at most."""
    if most is None or len(sample.y) <= most:
        return sample
    stratify = sample.task == "classification"
    _, kept = next(holdout(sample.y, test_size=most, stratify=stratify, random_state=repeat))
    return replace(sample, X=sample.X[kept], y=sample.y[kept])


def losses(task: str, y: Labels, predicted: npt.NDArray[Any]) -> Array:
    """Return the loss of each prediction: 0 or 1 for classes, else the squared error.

    `predicted` has shape (..., m).
    """
    if task == "classification":
        return np.asarray(predicted != y, dtype=np.float64)
    return np.asarray((np.asarray(predicted, dtype=np.float64) - y) ** 2)


def clip(train: Array, test: Array) -> tuple[Array, Array]:
    """Clip features at their .1 and 99.9 percentiles in the training rows."""
    low, high = np.percentile(train, [0.1, 99.9], axis=0)
    return np.clip(train, low, high), np.clip(test, low, high)


def rescaled(train: Array, test: Array, low: float, high: float) -> tuple[Array, Array]:
    """Map both to [low, high] by the least and greatest training values."""
    scaler = MinMaxScaler((low, high)).fit(train)
    return scaler.transform(train), scaler.transform(test)


def draw(table: Table, per_class: int | None, seed: int) -> Table:
    """Return this number of random rows of each class, in the order of the table."""
    if per_class is None:
        return table
    rng = np.random.default_rng(seed)
    classes = [np.flatnonzero(table.y == label) for label in np.unique(table.y)]
    rows = np.sort(np.concatenate([rng.permutation(each)[:per_class] for each in classes]))
    return Table(table.X[rows], table.y[rows], table.task)


def typical_gamma(X: Array, most: int = 1000) -> float:
    """Return 1 / the median squared distance of two points, among the first `most` at random."""
    rows = np.random.default_rng(0).permutation(len(X))[:most]
    squares = np.sum(X[rows] ** 2, axis=1)
    squared = squares[:, None] + squares - 2.0 * X[rows] @ X[rows].T
    return 1.0 / float(np.median(squared[np.triu_indices(len(rows), 1)]))


def drawn_gamma(X: Array, seed: int) -> float:
    """Return the same of 500 rows that a seed draws."""
    some = X[np.random.default_rng(seed).permutation(len(X))[:500]]
    distances = euclidean_distances(some, squared=True)
    return float(1.0 / np.median(distances[np.triu_indices(len(some), 1)]))
