"""How a set is split, scaled and scored; the same for every contestant."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.preprocessing import MinMaxScaler

from benchmarks.splits import holdout, official, random_halves
from papers.sets import Table
from pliant.core.typing import Array, Indices

__all__ = ["PROTOCOL", "Protocol", "Sample", "folds", "losses", "measure", "split", "to_tune_on"]

Labels = npt.NDArray[Any]


@dataclass(frozen=True)
class Protocol:
    """What a study holds fixed.

    Attributes
    ----------
    powers : tuple of int
        sigma and C run over 2**p for p in powers; gamma = 1/(2 sigma^2).
    eta_scales : tuple of float
        Multiples of the automatic eta; the first one is the papers' own.
    folds : int
        Of cross-validation.
    tuning_rows : int
        Parameters are chosen on this many training rows at most.
    tuning_tol, final_tol : float
        Relative gaps to which machines are solved while choosing, and at last.
    max_iter : int
        The limit of each solve.
    """

    powers: tuple[int, ...] = tuple(range(-5, 6))
    eta_scales: tuple[float, ...] = (1.0, 10.0, 0.1)
    folds: int = 5
    tuning_rows: int = 600
    tuning_tol: float = 1e-3
    final_tol: float = 1e-4
    max_iter: int = 1_000_000

    @property
    def sigmas(self) -> tuple[float, ...]:
        """Widths in order of preference among equals: the widest first."""
        return tuple(2.0**p for p in sorted(self.powers, reverse=True))

    @property
    def Cs(self) -> tuple[float, ...]:
        """Prices in order of preference among equals: the least first."""
        return tuple(2.0**p for p in sorted(self.powers))


PROTOCOL = Protocol()
"""The grids of the papers."""


@dataclass(frozen=True, eq=False)
class Sample:
    """Training and test rows, scaled to [0, 1] by the training rows.

    Attributes
    ----------
    task : {"classification", "regression"}
    X, y : arrays of shape (n, d), (n,)
        To learn from.
    X_test, y_test : arrays of shape (m, d), (m,)
        To be judged by.
    """

    task: str
    X: Array
    y: Labels
    X_test: Array
    y_test: Labels


def split(table: Table, repeat: int, *, clipped: bool = False) -> Sample:
    """Return the training and test rows of one repeat."""
    train, test = _rows(table, repeat)
    X, X_test = table.X[train], table.X[test]
    if clipped:
        low, high = np.percentile(X, [0.1, 99.9], axis=0)
        X, X_test = np.clip(X, low, high), np.clip(X_test, low, high)
    scaler = MinMaxScaler().fit(X)
    return Sample(
        table.task, scaler.transform(X), table.y[train], scaler.transform(X_test), table.y[test]
    )


def _rows(table: Table, repeat: int) -> tuple[Indices, Indices]:
    if table.own_training is not None:
        return next(official(table.own_training, len(table.y) - table.own_training))
    halves = random_halves(table.y, repeat + 1, stratify=table.task == "classification")
    return next(islice(halves, repeat, None))


def to_tune_on(sample: Sample, most: int, repeat: int) -> Sample:
    """Return the sample with `most` random training rows at most."""
    if len(sample.y) <= most:
        return sample
    stratify = sample.task == "classification"
    _, kept = next(holdout(sample.y, test_size=most, stratify=stratify, random_state=repeat))
    return Sample(sample.task, sample.X[kept], sample.y[kept], sample.X_test, sample.y_test)


def folds(sample: Sample, n_folds: int, repeat: int) -> Iterator[tuple[Indices, Indices]]:
    """Return the folds of cross-validation, stratified for classes."""
    kind = StratifiedKFold if sample.task == "classification" else KFold
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The least populated class", UserWarning)
        yield from list(kind(n_folds, shuffle=True, random_state=repeat).split(sample.X, sample.y))


def losses(task: str, y: Labels, predicted: npt.NDArray[Any]) -> Array:
    """Return the loss of each prediction: 0 or 1 for classes, else the squared error.

    `predicted` has shape (..., m).
    """
    if task == "classification":
        return np.asarray(predicted != y, dtype=np.float64)
    return np.asarray((np.asarray(predicted, dtype=np.float64) - y) ** 2)


def measure(task: str, y: Labels, predicted: npt.NDArray[Any]) -> float:
    """Return the accuracy, or for regression 1 - R2 (the papers call it RMSE)."""
    total = float(losses(task, y, predicted).sum())
    if task == "classification":
        return 1.0 - total / len(y)
    targets = np.asarray(y, dtype=np.float64)
    return total / float(((targets - targets.mean()) ** 2).sum())
