"""The samples that several figures show, and tuning on them by cross-validation."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.preprocessing import minmax_scale
from sklearn.svm import SVC

from benchmarks.datasets import load_local
from benchmarks.splits import random_halves
from pliant.core.typing import Array, Indices
from pliant.datasets import make_clowns

Machines: TypeAlias = Callable[[float, float, Sequence[float], Array, Array], Sequence[Any]]
"""(gamma, eta_scale, Cs, X, y) -> one fitted model for each C."""


class Sample(NamedTuple):
    """Points to learn from, shape (n, d), and fresh ones to be judged by, shape (m, d)."""

    X: Array
    y: Array
    X_test: Array
    y_test: Array


def clowns(n_per_class: int, n_test_per_class: int, seed: int) -> Sample:
    """Draw training and test points of `make_clowns` together, so that they share its scaling."""
    drawn = n_per_class + n_test_per_class
    X, y = make_clowns(drawn, random_state=seed)
    train = np.arange(2 * drawn) % drawn < n_per_class
    return Sample(X[train], y[train], X[~train], y[~train])


def heart_half(data: str | None, seed: int) -> tuple[Array, Array]:
    """Return a random half of heart, features scaled to [0, 1], labels -1.0 and 1.0."""
    heart = load_local("heart_statlog", data)
    half, _ = next(random_halves(heart.y, 1, stratify=True, random_state=seed))
    return minmax_scale(heart.X[half]), heart.y[half].astype(np.float64)


@dataclass(frozen=True)
class Grid:
    """The candidates; of equal losses the first is taken."""

    sigmas: tuple[float, ...] = tuple(2.0**p for p in range(5, -6, -1))
    Cs: tuple[float, ...] = tuple(2.0**p for p in range(-5, 6))
    """The papers' 2^-5, ..., 2^5; the widest kernel first, the least C first."""
    eta_scales: tuple[float, ...] = (1.0,)
    """Multiples of the automatic eta."""
    folds: int = 5
    seed: int = 0

    def split(self, X: Array, y: Array) -> Iterator[tuple[Indices, Indices]]:
        """Return the folds, stratified for two classes."""
        kind = StratifiedKFold if len(np.unique(y)) == 2 else KFold
        return kind(self.folds, shuffle=True, random_state=self.seed).split(X, y)


class Chosen(NamedTuple):
    """Parameters, and their loss in cross-validation."""

    sigma: float
    C: float
    eta_scale: float
    loss: float

    @property
    def gamma(self) -> float:
        """1/(2 sigma^2)."""
        return gamma_of(self.sigma)


def gamma_of(sigma: float) -> float:
    """Return the gamma of exp(-gamma d^2) = exp(-d^2/(2 sigma^2))."""
    return 1.0 / (2.0 * sigma**2)


def choose(machines: Machines, X: Array, y: Array, grid: Grid) -> Chosen:
    """Return the parameters of least loss: 1 - accuracy or 1 - R2, averaged over the folds."""
    loss = np.zeros((len(grid.sigmas), len(grid.eta_scales), len(grid.Cs)))
    for train, valid in grid.split(X, y):
        for s, sigma in enumerate(grid.sigmas):
            for e, eta_scale in enumerate(grid.eta_scales):
                fitted = machines(gamma_of(sigma), eta_scale, grid.Cs, X[train], y[train])
                loss[s, e] += [1.0 - each.score(X[valid], y[valid]) for each in fitted]
    s, e, c = np.unravel_index(loss.argmin(), loss.shape)
    return Chosen(grid.sigmas[s], grid.Cs[c], grid.eta_scales[e], float(loss.min()) / grid.folds)


def svm(gamma: float, _: float, Cs: Sequence[float], X: Array, y: Array) -> list[SVC]:
    """Fit the plain Gaussian SVM for each C."""
    return [SVC(gamma=gamma, C=C).fit(X, y) for C in Cs]


def tuned_svm(sample: Sample, grid: Grid) -> tuple[Chosen, SVC]:
    """Return the parameters of the plain Gaussian SVM, and that SVM, by the training points."""
    chosen = choose(svm, sample.X, sample.y, grid)
    return chosen, SVC(gamma=chosen.gamma, C=chosen.C).fit(sample.X, sample.y)


def accuracies(model: Any, sample: Sample) -> dict[str, float]:
    """Return the share of training and of test points that are classified correctly."""
    return {
        "training accuracy": model.score(sample.X, sample.y),
        "test accuracy": model.score(sample.X_test, sample.y_test),
    }


def adaptation_numbers(model: Any, name: str = "F") -> dict[str, Any]:
    """Return rank and range of the adaptive matrix that the paper calls `name`."""
    entries = model.adaptation_.toarray()
    return {
        f"rank of {name}": model.adaptation_.rank,
        f"least entry of {name}": float(entries.min()),
        f"largest entry of {name}": float(entries.max()),
    }
