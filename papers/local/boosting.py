"""Histogram gradient boosting: as it comes, and tuned."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor

from papers.local.contestant import Contestant, Setting
from papers.local.protocol import LocalSample, parts
from pliant.core.typing import Indices

__all__ = ["Boosting", "TunedBoosting"]


@dataclass(frozen=True)
class Boosting(Contestant):
    """Scikit-learn's defaults."""

    name: str = "boosting"
    title: str = "Gradient boosting"

    def machine(self, sample: LocalSample, setting: Setting, seed: int) -> Any:
        """Return the booster."""
        return HistGradientBoostingRegressor(random_state=seed)

    def words(self) -> str:
        """Say that nothing is tuned."""
        return "scikit-learn's HistGradientBoostingRegressor with its defaults"


SHAPES = (
    (0.1, 31, 20, 0.0, 1.0),
    (0.1, 8, 5, 0.0, 1.0),
    (0.1, 63, 10, 1.0, 0.5),
    (0.05, 15, 5, 0.0, 1.0),
    (0.05, 31, 5, 1.0, 1.0),
    (0.05, 31, 10, 1.0, 0.5),
    (0.05, 15, 5, 0.0, 0.5),
    (0.05, 127, 20, 1.0, 0.5),
)
"""Learning rate, leaves, rows in a leaf, l2, share of the features tried at a split."""


@dataclass(frozen=True)
class TunedBoosting(Contestant):
    """One of several shapes, with as many rounds as the held-out rows ask for.

    Attributes
    ----------
    shapes : tuple
        See `SHAPES`.
    max_iter, patience : int
        Rounds at most, and rounds without improvement on the held-out rows before it stops.
    folds : int
        Of cross-validation, on small sets.
    held_out : int
        Rows of the hold-out at most, on the others.
    """

    shapes: tuple[tuple[float, int, int, float, float], ...] = SHAPES
    max_iter: int = 2000
    patience: int = 30
    folds: int = 3
    held_out: int = 4000
    name: str = "tuned-boosting"
    title: str = "Tuned boosting"

    def choose(self, sample: LocalSample, seed: int) -> Setting:
        """Return the shape of the least held-out error, and its best number of rounds."""
        most = (len(sample.y), self.held_out)
        pairs = parts(len(sample.y), seed, folds=self.folds, most=most)
        found = [self._rounds(sample, pairs, _named(shape), seed) for shape in self.shapes]
        best = int(np.argmin([error for error, _ in found]))
        return {**_named(self.shapes[best]), "max_iter": found[best][1]}

    def _rounds(
        self,
        sample: LocalSample,
        pairs: Sequence[tuple[Indices, Indices]],
        shape: Setting,
        seed: int,
    ) -> tuple[float, int]:
        """Return the error at the best number of rounds, and that number, over all parts."""
        errors, rounds = [], []
        for learn, judge in pairs:
            machine = HistGradientBoostingRegressor(
                **shape, max_iter=self.max_iter, early_stopping=True, tol=0.0,
                n_iter_no_change=self.patience, random_state=seed,
            )  # fmt: skip
            X, y = sample.X, sample.y
            machine.fit(X[learn], y[learn], X_val=X[judge], y_val=y[judge])
            errors.append(-2.0 * machine.validation_score_.max() * len(judge))
            rounds.append(int(machine.validation_score_.argmax()))
        return float(np.sum(errors)), max(1, round(float(np.mean(rounds))))

    def machine(self, sample: LocalSample, setting: Setting, seed: int) -> Any:
        """Return the booster, which makes all its rounds."""
        return HistGradientBoostingRegressor(**setting, early_stopping=False, random_state=seed)

    def words(self) -> str:
        """Say how it is tuned and fitted."""
        return (
            f"the same, one of {len(self.shapes)} settings of learning_rate, max_leaf_nodes, "
            f"min_samples_leaf, l2_regularization and max_features, each with up to "
            f"{self.max_iter} rounds and stopped early, by {self.folds}-fold cross-validation up "
            f"to 2000 rows and by a hold-out of a fifth beyond; then fitted to all training rows "
            "with the chosen number of rounds"
        )


def _named(shape: tuple[float, int, int, float, float]) -> Setting:
    names = (
        "learning_rate",
        "max_leaf_nodes",
        "min_samples_leaf",
        "l2_regularization",
        "max_features",
    )
    return dict(zip(names, shape, strict=True))
