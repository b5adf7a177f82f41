"""The blend of a comparison: weights and scores from the stored predictions of its folds.

The blend's score on a fold uses weights learned from the other folds of the same repeat, so it is
unbiased like a method's score. With time-ordered rows, the weights use earlier folds only, and the
first fold has no score. The final weights use all folds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from pliant.core.typing import Array, Indices
from pliant.tables.comparison.blend import SMALLEST, blend_weights, extended_range
from pliant.tables.comparison.metrics import Metric, as_predictions, metrics_of
from pliant.tables.comparison.protocol import DEFAULT, DUMMY, Place, Record
from pliant.tables.comparison.standings import Cells, Standing, scores_of


@dataclass(frozen=True, eq=False)
class BlendOutcome:
    """The weights of a blend and its held-out predictions.

    `weights` maps method names to weights, in descending order with sum 1. `scores` maps each
    (repeat, fold) to its scores by metric, using weights from other folds; it is empty for a single
    fold. `values` are the predictions, or probabilities of shape (n, n_classes), averaged over
    repeats, for the n sorted `rows` with targets `y`.
    """

    weights: dict[str, float]
    scores: dict[Place, dict[str, float | None]]
    rows: npt.NDArray[np.intp]
    y: npt.NDArray[Any]
    values: Array
    classes: npt.NDArray[Any] | None


def learn_blend(
    standings: Sequence[Standing],
    cells: Mapping[str, Cells],
    truth: Mapping[int, Any],
    classes: Sequence[Any] | None,
    metric: Metric,
    *,
    ordered: bool = False,
    score_by: Sequence[Metric] | None = None,
) -> BlendOutcome | None:
    """Learn the blend of the ranked methods; return None if no method has stored predictions.

    `truth` maps row numbers to targets. `ordered` means that rows and folds are ordered in time.
    `score_by` are the metrics of its scores, by default `metric` and all of the task.
    """
    ranked = [s.method for s in standings if s.rank is not None]
    scored = [set(scores_of(cells[method.name], metric.name)) for method in ranked]
    common = sorted(set.intersection(*scored)) if scored else []
    members = [method.name for method in ranked if method.blends and method.name != DUMMY]
    names = [name for name in members if all(cells[name][p].get("kept") for p in common)]
    if not names:
        return None
    trusted = names.index(DEFAULT) if DEFAULT in names else None
    labels = None if classes is None else np.array(classes)
    rows, values = dict[Place, Indices](), dict[Place, Array]()
    for place in common:
        rows[place], values[place] = _in_common([cells[name][place] for name in names])
    y = {p: np.array([truth[int(row)] for row in rows[p]]) for p in common}

    def clipped(each: Array, target: npt.NDArray[Any]) -> Array:
        """Clip predicted numbers to the extended range of given targets."""
        return each if labels is not None else each.clip(*extended_range(target))

    def weights_from(places: Sequence[Place]) -> Array:
        target = np.concatenate([y[p] for p in places])
        stacked = clipped(np.concatenate([values[p] for p in places], axis=1), target)
        return blend_weights(list(stacked), target, classes=labels, trusted=trusted)

    task = "regression" if classes is None else "classification"
    metrics = {each.name: each for each in score_by or (*metrics_of(task), metric)}
    scores, held_out = {}, []
    for place in common:
        others = [p for p in common if p[0] == place[0] and p != place]
        others = [p for p in others if p < place] if ordered else others
        # Without other folds, the weights are learned from this fold, which then has no score.
        learned = others or [place]
        seen = np.concatenate([y[p] for p in learned])
        held_out.append(np.tensordot(weights_from(learned), clipped(values[place], seen), 1))
        if others:
            predictions = as_predictions(held_out[-1], labels)
            scores[place] = {n: m.finite(y[place], predictions) for n, m in metrics.items()}
    final = sorted(zip(names, weights_from(common).tolist(), strict=True), key=lambda p: -p[1])
    chosen = {name: weight for name, weight in final if weight > 0}
    kept, means = _row_means([rows[p] for p in common], held_out)
    every = np.concatenate([rows[p] for p in common])
    targets = np.concatenate([y[p] for p in common])[np.unique(every, return_index=True)[1]]
    return BlendOutcome(chosen, scores, kept, targets, means, labels)


def _row_means(rows: Sequence[Indices], values: Sequence[Array]) -> tuple[Indices, Array]:
    """Average predictions of the same row; return the sorted rows and the means."""
    every, stacked = np.concatenate(rows), np.concatenate(values)
    kept, place_of = np.unique(every, return_inverse=True)
    sums = np.zeros((len(kept), *stacked.shape[1:]))
    np.add.at(sums, place_of, stacked)
    repeats = np.bincount(place_of).reshape(-1, *[1] * (stacked.ndim - 1))
    return kept, sums / repeats


def losses_of(values: Array, y: npt.NDArray[Any], classes: npt.NDArray[Any] | None) -> Array:
    """Return the squared error or the log loss of each row."""
    if classes is None:
        return np.asarray((values - y) ** 2)
    true = values[np.arange(len(y)), np.searchsorted(classes, y)]
    return -np.log(np.clip(true, SMALLEST, 1.0))


def _in_common(records: Sequence[Record]) -> tuple[Indices, Array]:
    """Return the rows that all records predict, and their predictions, shape (n_records, n, ...).

    LAB-RBF may predict fewer rows of a fold than the others, see `held_out_records`.
    """
    stored = [_stored(record, "rows").astype(np.intp) for record in records]
    rows = reduce(np.intersect1d, stored)  # sorted
    values = []
    for record, own in zip(records, stored, strict=True):
        order = np.argsort(own, kind="stable")
        values.append(_stored(record, "values")[order[np.isin(own[order], rows)]])
    return rows, np.stack(values)


def _stored(record: Record, part: Literal["rows", "values"]) -> Array:
    kept = record["kept"]
    assert kept is not None
    return np.asarray(kept[part], dtype=np.float64)
