"""Cross-validation of one model on the folds of a comparison, tuned in each or with fixed settings.

A tuned method is searched, fitted and tested as in the cells of the first repeat of a comparison,
with the same seeds, so it has the same scores.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from pliant.comparison.folds import cell_seed, outer_split
from pliant.comparison.metrics import Predictions, metrics_of
from pliant.comparison.pipeline import pipeline
from pliant.comparison.protocol import Cell, Protocol
from pliant.comparison.sample import Sample
from pliant.comparison.search import Tick, count_fits, search
from pliant.core.typing import Indices
from pliant.registry import Method

Maker: TypeAlias = Callable[[Sample, Indices, int | None, Tick], Any]
"""From a sample, rows, their fold and a tick to an estimator for these rows, not fitted.

Without a fold it is for the final model, which takes new rows.
"""


@dataclass(frozen=True, eq=False)
class Tuned:
    """Makes the pipeline of a method with the settings that a search chooses."""

    method: Method
    protocol: Protocol

    def __call__(self, sample: Sample, rows: Indices, fold: int | None, tick: Tick) -> Any:
        """Return an estimator for the training rows of a fold, or for all rows; see `Maker`."""
        seed = self._seed(fold)
        choice = search(self.method, sample, rows, self.protocol, seed, tick)
        model = pipeline(self.method, sample, len(rows), seed, for_new_rows=fold is None)
        return model.set_params(**choice.chosen)

    def count_fits(self, sample: Sample, folds: Iterable[int | None]) -> int:
        """Return the number of fits of the searches in these folds; None is all rows."""
        fits = 0
        for fold in folds:
            rows = np.arange(len(sample.y))
            if fold is not None:
                rows = outer_split(sample, self.protocol, 0, fold)[0]
            fits += count_fits(self.method, sample, rows, self.protocol, self._seed(fold))
        return fits

    def _seed(self, fold: int | None) -> int:
        if fold is None:
            return self.protocol.seed
        return cell_seed(self.protocol, Cell(self.method.name, 0, fold))


def cross_validate(
    maker: Maker, sample: Sample, protocol: Protocol, tick: Tick
) -> list[dict[str, float]]:
    """Return the scores on each fold of the first repeat of a model fitted on the others.

    They are the metrics that need no more than predicted values, by title, on rows of known class.
    """
    folds = []
    for fold in range(protocol.folds):
        train, test = outer_split(sample, protocol, 0, fold)
        model = maker(sample, train, fold, tick).fit(sample.X[train], sample.y[train])
        tick(1)
        test = test[sample.labelled(sample.y[test])]
        predictions = Predictions(model.predict(sample.X[test]))
        scores = {m.title: m.finite(sample.y[test], predictions) for m in metrics_of(sample.task)}
        folds.append({title: score for title, score in scores.items() if score is not None})
    return folds
