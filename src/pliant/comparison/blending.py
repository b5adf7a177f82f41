"""The blend of a comparison: weights from kept predictions, and scores that did not see them.

The score of the blend on a fold uses the weights that were learned from the other folds of the same
repeat (in the order of time: from earlier ones, so that the first fold has no score), so it is as
honest as the score of a method. The weights of the blend itself are learned from all folds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from pliant.comparison.blend import blend_weights
from pliant.comparison.metrics import Metric, Predictions, metrics_of
from pliant.comparison.protocol import Place
from pliant.comparison.record import DUMMY
from pliant.comparison.standings import Cells, Standing, scores_of
from pliant.core.typing import Array


@dataclass(frozen=True, eq=False)
class BlendOutcome:
    """The weights of a blend and its predictions for rows that its members did not learn from.

    Attributes
    ----------
    weights : dict of str to float
        By the name of the method, the largest first; of sum 1.
    scores : dict of (int, int) to dict of str to float or None
        By repeat and fold: the score by metric, with weights from the other folds. Empty with one
        fold.
    rows : array of shape (n,)
        Row numbers, ascending.
    y : array of shape (n,)
        Their targets.
    values : array of shape (n,) or (n, n_classes)
        Their predictions or probabilities with weights from the other folds; means over repeats.
    classes : array of shape (n_classes,) or None
    """

    weights: dict[str, float]
    scores: dict[Place, dict[str, float | None]]
    rows: npt.NDArray[np.intp]
    y: npt.NDArray[Any]
    values: Array
    classes: npt.NDArray[Any] | None


def blended(
    standings: Sequence[Standing],
    cells: Mapping[str, Cells],
    truth: Mapping[int, Any],
    classes: Sequence[Any] | None,
    metric: Metric,
    *,
    ordered: bool = False,
) -> BlendOutcome | None:
    """Return the blend of the ranked methods; None where no method has kept predictions.

    Parameters
    ----------
    standings : sequence of Standing
        The best first.
    cells : mapping of str to Cells
        Finished cells by method.
    truth : mapping of int to value
        The target of each row that has a kept prediction.
    classes : sequence or None
        Sorted; None for regression.
    metric : Metric
        Of the scores, beside those of the task.
    ordered : bool, default=False
        Whether rows, and so folds, are in the order of time.
    """
    ranked = [s.method for s in standings if s.rank is not None]
    scored = [set(scores_of(cells[method.name], metric.name)) for method in ranked]
    common = sorted(set.intersection(*scored)) if scored else []
    members = [method.name for method in ranked if method.blends and method.name != DUMMY]
    names = [name for name in members if all(cells[name][p].get("kept") for p in common)]
    if not names:
        return None
    labels = None if classes is None else np.array(classes)
    values = {p: np.stack([_values(cells[name][p]) for name in names]) for p in common}
    rows = {p: np.array(_rows(cells[names[0]][p]), dtype=np.intp) for p in common}
    y = {p: np.array([truth[int(row)] for row in rows[p]]) for p in common}

    def learned(places: Sequence[Place]) -> Array:
        stacked = list(np.concatenate([values[p] for p in places], axis=1))
        return blend_weights(stacked, np.concatenate([y[p] for p in places]), classes=labels)

    task = "regression" if classes is None else "classification"
    metrics = {each.name: each for each in (*metrics_of(task), metric)}
    scores, held_out = {}, {}
    for place in common:
        others = [p for p in common if p[0] == place[0] and p != place]
        others = [p for p in others if p < place] if ordered else others
        weights = learned(others or [place])
        held_out[place] = np.tensordot(weights, values[place], 1)
        if others:
            predictions = _predictions(held_out[place], labels)
            scores[place] = {n: m.finite(y[place], predictions) for n, m in metrics.items()}
    final = dict(zip(names, learned(common).tolist(), strict=True))
    kept, targets, means = _over_repeats(rows, y, held_out)
    largest_first = sorted(final.items(), key=lambda pair: -pair[1])
    chosen = {name: weight for name, weight in largest_first if weight > 0}
    return BlendOutcome(chosen, scores, kept, targets, means, labels)


def _values(record: Any) -> Array:
    return np.asarray(record["kept"]["values"], dtype=np.float64)


def _rows(record: Any) -> list[int]:
    rows: list[int] = record["kept"]["rows"]
    return rows


def _predictions(values: Array, classes: npt.NDArray[Any] | None) -> Predictions:
    if classes is None:
        return Predictions(values)
    probability = values / values.sum(axis=1, keepdims=True)
    return Predictions(classes[probability.argmax(axis=1)], None, probability, classes)


def _over_repeats(
    rows: Mapping[Place, npt.NDArray[np.intp]],
    y: Mapping[Place, npt.NDArray[Any]],
    values: Mapping[Place, Array],
) -> tuple[npt.NDArray[np.intp], npt.NDArray[Any], Array]:
    """Return the rows, their targets, and the means of their predictions over repeats."""
    every = np.concatenate([rows[p] for p in rows])
    kept, first, place = np.unique(every, return_index=True, return_inverse=True)
    targets = np.concatenate([y[p] for p in rows])[first]
    stacked = np.concatenate([values[p] for p in rows])
    sums = np.zeros((len(kept), *stacked.shape[1:]))
    np.add.at(sums, place, stacked)
    times = np.bincount(place).reshape(-1, *[1] * (stacked.ndim - 1))
    return kept, targets, sums / times
