"""The rows of one repeat: split and scaled by a protocol, and the inner folds."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.metrics import r2_score
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from benchmarks.splits import holdout, random_halves
from papers.data import PaperSet, Table
from pliant.core.typing import Array, Indices

Labels = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class Sample:
    """The training and test rows of one repeat."""

    name: str
    task: str
    """Either "classification" or "regression"."""
    X: Array
    y: Labels
    """Training rows, shapes (n, d) and (n,)."""
    X_test: Array
    y_test: Labels
    """Test rows, shapes (m, d) and (m,); may be empty."""
    labelled: Indices | None = None
    """Labelled rows of X, shape (l,), in ascending order; None for all."""
    chosen: PaperSet | None = None

    @property
    def known(self) -> Indices:
        """Labelled rows of X."""
        return np.arange(len(self.y)) if self.labelled is None else self.labelled

    @property
    def unlabelled(self) -> Indices:
        """Rows of X with hidden labels."""
        return np.setdiff1d(np.arange(len(self.y)), self.known)

    def partial(self, rows: Indices) -> Indices:
        """Return the classes of some rows of X, and -1 for all others."""
        known = np.full(len(self.y), -1)
        known[rows] = self.y[rows]
        return known

    def some(self, rows: Indices) -> Sample:
        """Return the sample restricted to some training rows."""
        return replace(self, X=self.X[rows], y=self.y[rows])

    def labelled_folds(self, count: int, seed: int) -> list[tuple[Indices, Indices]]:
        """Return stratified folds of the labelled rows as pairs (training, validation)."""
        rows = np.random.default_rng(seed).permutation(self.known)
        rows = rows[np.argsort(self.y[rows], kind="stable")]
        fold = np.arange(len(rows)) % count
        return [(np.sort(rows[fold != k]), np.sort(rows[fold == k])) for k in range(count)]


@dataclass(frozen=True)
class Protocol:
    """Fixed settings of a group of studies, from `papers/protocols.toml`."""

    split: str
    """A key of `SPLITS`."""
    folds: int = 5
    first_seed: int = 0
    """Seed of repeat 0; repeat r has the seed ``first_seed + r``."""
    score: str = "1 - R2"
    """Score of regression: "R2", "1 - R2" or "mean squared error"."""
    test_size: float = 0.2
    """Share of held-out rows."""
    scale: tuple[float, ...] = ()
    """Range of features and target for contestants that do not scale; () for none."""
    most_rows: tuple[tuple[str, int], ...] = ()
    """Maximum number of random training rows of a split, by set."""
    unlabelled: float = 0.0
    test: float = 0.0
    """Shares of the unlabelled points and of the later points."""
    powers: tuple[int, ...] = ()
    """Exponents p of sigma = 2**p and C = 2**p; gamma = 1/(2 sigma^2)."""
    eta_scales: tuple[float, ...] = (1.0,)
    """Multiples of the automatic eta; the first one is the papers' value."""
    tuning_rows: int = 600
    """Maximum number of training rows for tuning."""
    tuning_tol: float = 1e-3
    tol: float = 1e-4
    """Relative gaps of the fits during tuning, and of the final fit."""
    max_iter: int = 1_000_000
    """Maximum number of steps of each solve."""

    def sample(self, name: str, chosen: PaperSet, table: Table, repeat: int, who: Any) -> Sample:
        """Return the rows of one repeat, scaled as required by the contestant `who`."""
        held = self if getattr(who, "scaled", True) else replace(self, scale=())
        split = SPLITS[self.split](held, name, chosen, table, self.first_seed + repeat)
        return replace(split, chosen=chosen)

    def judge(self, task: str, y: Labels, predicted: npt.NDArray[Any]) -> float:
        """Return the accuracy, or the regression score."""
        mean = float(losses(task, y, predicted).mean())
        if task == "classification":
            return 1.0 - mean
        if self.score == "mean squared error":
            return mean
        if self.score == "R2":
            return float(r2_score(y, predicted))
        return mean / float(np.var(y))


def halves(held: Protocol, name: str, chosen: PaperSet, table: Table, seed: int) -> Sample:
    """Return random halves, or the predefined training and test rows, scaled to [0, 1]."""
    if table.own_training is not None:
        train, test = np.split(np.arange(len(table.y)), [table.own_training])
    else:
        drawn = random_halves(table.y, seed + 1, stratify=table.task == "classification")
        train, test = next(islice(drawn, seed, None))
    X, X_test = table.X[train], table.X[test]
    if chosen.clipped:
        low, high = np.percentile(X, [0.1, 99.9], axis=0)
        X, X_test = np.clip(X, low, high), np.clip(X_test, low, high)
    if chosen.scaled:
        X, X_test = rescaled(X, X_test, 0.0, 1.0)
    return Sample(name, table.task, X, table.y[train], X_test, table.y[test])


def held_out(held: Protocol, name: str, chosen: PaperSet, table: Table, seed: int) -> Sample:
    """Hold out a share of the rows for testing, stratified for classification."""
    classes = table.task == "classification"
    ((train, test),) = holdout(
        table.y, test_size=held.test_size, stratify=classes, random_state=seed
    )
    if name in dict(held.most_rows):  # the rows of the table may be ordered
        most = dict(held.most_rows)[name]
        train = np.sort(np.random.default_rng(seed).permutation(train)[:most])
    X, y, X_test, y_test = table.X[train], table.y[train], table.X[test], table.y[test]
    if held.scale:
        X, X_test = rescaled(X, X_test, *held.scale)
        if not classes:
            y, y_test = (p.ravel() for p in rescaled(y[:, None], y_test[:, None], *held.scale))
    return Sample(name, table.task, X, y, X_test, y_test)


def divided(held: Protocol, name: str, chosen: PaperSet, table: Table, seed: int) -> Sample:
    """Return labelled, unlabelled and later points, each stratified by class."""
    table = draw(table, chosen.per_class, seed)
    y = np.unique(table.y, return_inverse=True)[1].reshape(-1)
    n = len(y)
    kept, test = _hold_out(y, np.arange(n), round(held.test * n), seed)
    hidden = round(held.unlabelled * n)
    if chosen.labels is not None:
        hidden = len(kept) - chosen.labels
    known, _ = _hold_out(y, kept, hidden, seed + 1_000_000)
    X, X_test = table.X[kept], table.X[test]
    if chosen.unit is not None:
        X, X_test = X / chosen.unit, X_test / chosen.unit
    else:
        scaler = StandardScaler().fit(X)
        X, X_test = scaler.transform(X), scaler.transform(X_test) if len(test) else X_test
    rows = np.searchsorted(kept, known)
    return Sample(name, "classification", X, y[kept], X_test, y[test], rows)


def whole(held: Protocol, name: str, chosen: PaperSet, table: Table, seed: int) -> Sample:
    """Return all rows for training, features scaled to [0, 1]."""
    X, _ = rescaled(table.X, table.X, 0.0, 1.0)
    return Sample(name, table.task, X, table.y, X[:0], table.y[:0])


SPLITS: dict[str, Callable[..., Sample]] = {
    each.__name__: each for each in (halves, held_out, divided, whole)
}


def _hold_out(y: Indices, rows: Indices, count: int, seed: int) -> tuple[Indices, Indices]:
    if count == 0:
        return rows, rows[:0]
    ((kept, held),) = holdout(y[rows], test_size=count, stratify=True, random_state=seed)
    return rows[kept], rows[held]


def folds(sample: Sample, n_folds: int, seed: int) -> Iterator[tuple[Indices, Indices]]:
    """Return the folds of cross-validation, stratified for classification."""
    kind = StratifiedKFold if sample.task == "classification" else KFold
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The least populated class", UserWarning)
        yield from list(kind(n_folds, shuffle=True, random_state=seed).split(sample.X, sample.y))


def to_tune_on(sample: Sample, most: int | None, seed: int) -> Sample:
    """Return the sample with at most `most` random training rows."""
    if most is None or len(sample.y) <= most:
        return sample
    stratify = sample.task == "classification"
    _, kept = next(holdout(sample.y, test_size=most, stratify=stratify, random_state=seed))
    return sample.some(kept)


def losses(task: str, y: Labels, predicted: npt.NDArray[Any]) -> Array:
    """Return the loss of each prediction, shape (..., m): 0 or 1 for classes, else squared."""
    if task == "classification":
        return np.asarray(predicted != y, dtype=np.float64)
    return np.asarray((np.asarray(predicted, dtype=np.float64) - y) ** 2)


def rescaled(train: Array, test: Array, low: float, high: float) -> tuple[Array, Array]:
    """Scale both to [low, high] by the minimum and maximum training values."""
    scaler = MinMaxScaler((low, high)).fit(train)
    return scaler.transform(train), scaler.transform(test)


def draw(table: Table, per_class: int | None, seed: int) -> Table:
    """Return `per_class` random rows of each class, in the order of the table."""
    if per_class is None:
        return table
    rng = np.random.default_rng(seed)
    classes = [np.flatnonzero(table.y == label) for label in np.unique(table.y)]
    rows = np.sort(np.concatenate([rng.permutation(each)[:per_class] for each in classes]))
    return Table(table.X[rows], table.y[rows], table.task)


def typical_gamma(X: Array, seed: int = 0, most: int = 500) -> float:
    """Return 1 / the median squared distance of `most` random points."""
    some = X[np.random.default_rng(seed).permutation(len(X))[:most]]
    squared = euclidean_distances(some, squared=True)
    return float(1.0 / np.median(squared[np.triu_indices(len(some), 1)]))
