"""Random forests and gradient boosting, by scikit-learn; one fit gives all their sizes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)

from papers.accuracy.contestant import Contestant, Predictions, Setting
from papers.protocol import Sample
from pliant.core.typing import Array

__all__ = ["Boosting", "Forest", "first_trees"]

SIZES = tuple(range(50, 651, 50))
"""The numbers of trees, or of boosting rounds, that the paper tries."""


@dataclass(frozen=True)
class Forest(Contestant):
    """A random forest with scikit-learn's defaults, its number of trees by cross-validation."""

    sizes: tuple[int, ...] = SIZES
    rows: int | None = None
    name: str = "forest"
    title: str = "Random forest"

    def settings(self) -> list[Setting]:
        """Return the numbers of trees, the least first."""
        return [{"trees": float(size)} for size in self.sizes]

    def machine(self, task: str, setting: Setting, seed: int, *, final: bool = True) -> Any:
        """Return the forest."""
        kind = RandomForestClassifier if task == "classification" else RandomForestRegressor
        return kind(n_estimators=int(setting["trees"]), random_state=seed)

    def attempts(self, sample: Sample, X_new: Array, seed: int) -> Iterator[Predictions]:
        """Grow the largest forest; predict by its first trees (see `first_trees`)."""
        forest = self.machine(sample.task, self.settings()[-1], seed).fit(sample.X, sample.y)
        yield from first_trees(forest, X_new, self.sizes)

    def words(self) -> str:
        """Say how it is tuned."""
        return (
            f"scikit-learn's, {min(self.sizes)} to {max(self.sizes)} trees in "
            f"{len(self.sizes)} even steps (the fewest first), {self.chosen_on()}"
        )


def first_trees(forest: Any, X: Array, sizes: tuple[int, ...]) -> Iterator[Predictions]:
    """Predict by the first trees of a forest, for each number of them.

    A forest of k trees with the same seed is made of these same k trees.
    """
    classes = getattr(forest, "classes_", None)
    total: Any = 0.0
    for k, tree in enumerate(forest.estimators_, start=1):
        total = total + (tree.predict(X) if classes is None else tree.predict_proba(X))
        if k in sizes:
            yield total / k if classes is None else classes[np.argmax(total, axis=1)]


@dataclass(frozen=True)
class Boosting(Contestant):
    """Histogram gradient boosting with scikit-learn's defaults, its rounds by cross-validation."""

    sizes: tuple[int, ...] = SIZES
    rows: int | None = None
    name: str = "boosting"
    title: str = "Gradient boosting"

    def settings(self) -> list[Setting]:
        """Return the numbers of rounds, the least first."""
        return [{"rounds": float(size)} for size in self.sizes]

    def machine(self, task: str, setting: Setting, seed: int, *, final: bool = True) -> Any:
        """Return the booster; it stops at its number of rounds and not before."""
        classes = task == "classification"
        kind = HistGradientBoostingClassifier if classes else HistGradientBoostingRegressor
        rounds = int(setting["rounds"])
        return kind(max_iter=rounds, early_stopping=False, random_state=seed)

    def attempts(self, sample: Sample, X_new: Array, seed: int) -> Iterator[Predictions]:
        """Boost the longest; predict at each stage."""
        machine = self.machine(sample.task, self.settings()[-1], seed).fit(sample.X, sample.y)
        for k, predicted in enumerate(machine.staged_predict(X_new), start=1):
            if k in self.sizes:
                yield predicted

    def words(self) -> str:
        """Say how it is tuned, and what the paper has in its place."""
        return (
            f"scikit-learn's histogram boosting, {min(self.sizes)} to {max(self.sizes)} rounds "
            f"likewise, {self.chosen_on()}; the paper has XGBoost in its place"
        )
