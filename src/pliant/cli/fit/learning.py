"""Tuning and testing a model by cross-validation, with a tick for every fit."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.metrics import accuracy_score, balanced_accuracy_score, r2_score
from sklearn.model_selection import GridSearchCV, KFold, ParameterGrid, StratifiedKFold
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from pliant.cli.console import Tick
from pliant.core.typing import Array, Indices, Mask
from pliant.core.validation import where_equal
from pliant.tables import temporary_map

__all__ = ["METRICS", "Fold", "Learner", "check_folds", "labelled", "most_folds"]


def _rmse(y: Array, predicted: Array) -> float:
    return float(np.sqrt(np.mean((y - predicted) ** 2)))


METRICS = {
    "classification": {"accuracy": accuracy_score, "balanced accuracy": balanced_accuracy_score},
    "regression": {"R2": r2_score, "RMSE": _rmse},
}
"""What is measured on rows that a model has not seen, for each task."""


BLOCK_ENTRIES = 1_000_000
"""Numbers of a memory map that are copied at a time."""


@dataclass(frozen=True, eq=False)
class Fold:
    """What one fold of a cross-validation gave.

    Attributes
    ----------
    model : fitted estimator
        Learned on the other folds.
    seconds : float
        Time of that fit, without tuning.
    test : array of shape (m,)
        The rows of this fold.
    predicted : array of shape (m,)
        What the model says of them.
    scores : dict
        Each metric of the task.
    """

    model: Any
    seconds: float
    test: Indices
    predicted: Array
    scores: dict[str, float]


@dataclass(frozen=True, eq=False)
class Learner:
    """A machine, and how its settings are chosen.

    Features may be a memory map: folds to test on are memory maps, too. Folds to tune on are in
    memory.

    Parameters
    ----------
    machine : estimator
        Not fitted; the model is a pipeline that ends in it.
    task : {"classification", "regression"}
    grid : mapping or None
        Settings of the machine to choose from, by cross-validation on the rows at hand; None:
        the machine is taken as it is.
    n_folds : int
        Folds of that cross-validation.
    seed : int
        Decides which row is in which fold.
    standardise : bool
        Whether the pipeline brings features to mean 0 and standard deviation 1.
    """

    machine: Any
    task: str
    grid: Mapping[str, Sequence[float]] | None = None
    n_folds: int = 5
    seed: int = 0
    standardise: bool = True

    @property
    def unlabeled(self) -> Any:
        """What stands for an unknown class in the target; None where the machine has no such."""
        return self.machine.get_params(deep=False).get("unlabeled")

    @property
    def n_fits(self) -> int:
        """Fits that `learn` takes."""
        return 1 if self.grid is None else 1 + self.n_folds * len(ParameterGrid(self.grid))

    @property
    def model(self) -> Pipeline:
        """The pipeline, not fitted."""
        before = [("scaler", StandardScaler())] if self.standardise else []
        return Pipeline([*before, ("machine", clone(self.machine))])

    def learn(self, X: Array, y: Array, tick: Tick) -> tuple[Any, float]:
        """Return the model, tuned and fitted, and the seconds that its last fit took."""
        if self.grid is None:
            start = time.perf_counter()
            model = self.model.fit(X, y)
            seconds = time.perf_counter() - start
        else:
            search = self._search(self.grid, y, tick).fit(X, y)
            model, seconds = search.best_estimator_, search.refit_time_
        tick(1)
        return model, seconds

    def _search(self, grid: Mapping[str, Sequence[float]], y: Array, tick: Tick) -> GridSearchCV:
        """Return a grid search that ticks."""

        def score(model: Any, X: Array, y: Array) -> float:
            tick(1)
            known = labelled(y, self.unlabeled)
            return float(model.score(X[known], y[known]))

        most = most_folds(y[labelled(y, self.unlabeled)], self.task)
        if most < 2:
            raise ValueError("tuning needs at least 4 rows, and 2 of each class; there are fewer")
        folds = _folds(y, self.task, min(self.n_folds, most), self.seed)
        named = {f"machine__{name}": values for name, values in grid.items()}
        return GridSearchCV(self.model, named, scoring=score, cv=folds, error_score="raise")

    def cross_validate(self, X: Array, y: Array, n_folds: int, tick: Tick) -> list[Fold]:
        """Learn on all folds but one and test on that one, for each fold in turn.

        Settings are chosen anew each time, from the rows that are learned from alone.
        """
        return [
            self._tested(X, y, train, test, tick)
            for train, test in _folds(y, self.task, n_folds, self.seed)
        ]

    def _tested(self, X: Array, y: Array, train: Indices, test: Indices, tick: Tick) -> Fold:
        model, seconds = self.learn(_taken(X, train), y[train], tick)
        predicted = model.predict(_taken(X, test))
        metrics, known = METRICS[self.task].items(), labelled(y[test], self.unlabeled)
        truth, said = y[test][known], predicted[known]
        scores = {name: float(metric(truth, said)) for name, metric in metrics}
        return Fold(model, seconds, test, predicted, scores)


def labelled(y: Array, unlabeled: Any) -> Mask:
    """Return which rows have a label: another value than the one that stands for none."""
    return ~where_equal(y, unlabeled)


def _taken(X: Array, rows: Indices) -> Array:
    """Return some rows of X; those of a memory map as another one."""
    if not isinstance(X, np.memmap):
        return np.asarray(X[rows])
    step = max(1, BLOCK_ENTRIES // X.shape[1])
    return temporary_map(X[rows[low : low + step]] for low in range(0, len(rows), step))


def most_folds(y: Array, task: str) -> int:
    """Return how many folds rows can be put into: one row of each class, or two rows, in each."""
    if task == "classification":
        return int(np.unique(y, return_counts=True)[1].min())
    return len(y) // 2


def check_folds(y: Array, task: str, n_folds: int) -> None:
    """Raise ValueError unless the rows can be put into `n_folds` >= 2 folds."""
    most = most_folds(y, task)
    if n_folds < 2:
        raise ValueError(f"expected --cv >= 2, or 0 for no cross-validation, got {n_folds}")
    if n_folds > most:
        needed = f"{n_folds} rows of each class" if task == "classification" else "2 rows a fold"
        found = f"the smallest has {most}" if task == "classification" else f"there are {len(y)}"
        raise ValueError(
            f"--cv {n_folds} needs {needed}, {found}: lower it, or leave the scores out (--cv 0)"
        )


def _folds(y: Array, task: str, n_folds: int, seed: int) -> list[tuple[Indices, Indices]]:
    """Return rows to learn from and rows to test on; each class is spread evenly."""
    kind = StratifiedKFold if task == "classification" else KFold
    return list(kind(n_folds, shuffle=True, random_state=seed).split(np.zeros(len(y)), y))
