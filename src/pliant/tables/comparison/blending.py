"""The blend of a comparison: weights and scores from the stored predictions of its folds.

The blend's score on a fold uses weights learned from the other folds of the same repeat, so it is
unbiased like a method's score. With time-ordered rows, the weights use earlier folds only; in the
first fold, the blend is LAB-RBF, or has equal weights without it. The final weights use all folds.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
import numpy.typing as npt

from pliant.core.typing import Array, Indices
from pliant.tables.comparison.blend import blend_weights, extended_range
from pliant.tables.comparison.metrics import Metric, as_predictions
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


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Held-out predictions of the members of a blend, by fold, for the rows that all predict.

    `values` have the shape (n_members, n) or (n_members, n, n_classes). `labels` are the classes,
    or None. `trusted` is the position of LAB-RBF, or None.
    """

    names: list[str]
    rows: dict[Place, Indices]
    values: dict[Place, Array]
    y: dict[Place, npt.NDArray[Any]]
    labels: npt.NDArray[Any] | None
    trusted: int | None

    def clipped(self, values: Array, target: npt.NDArray[Any]) -> Array:
        """Clip predicted numbers to the extended range of given targets."""
        return values if self.labels is not None else values.clip(*extended_range(target))

    def weights_from(self, places: Collection[Place]) -> Array:
        """Learn the weights from some folds."""
        target = np.concatenate([self.y[p] for p in places])
        stacked = np.concatenate([self.values[p] for p in places], axis=1)
        members = list(self.clipped(stacked, target))
        return blend_weights(members, target, classes=self.labels, trusted=self.trusted)

    def weights_before(self) -> Array:
        """Return weights that are learned from no fold: LAB-RBF alone, or equal ones."""
        n = len(self.names)
        return np.full(n, 1 / n) if self.trusted is None else np.eye(n)[self.trusted]

    def weights(self) -> dict[str, float]:
        """Return the positive weights from all folds by name, in descending order."""
        weights = self.weights_from(self.rows).tolist()
        found = sorted(zip(self.names, weights, strict=True), key=lambda pair: -pair[1])
        return {name: weight for name, weight in found if weight > 0}


def held_out_of(
    standings: Sequence[Standing],
    cells: Mapping[str, Cells],
    truth: Mapping[int, Any] | npt.NDArray[Any],
    classes: Sequence[Any] | None,
    metric: Metric,
) -> HeldOut | None:
    """Return the held-out predictions of the ranked methods; None if no method has stored them.

    `truth` maps row numbers to targets.
    """
    ranked = [s.method for s in standings if s.rank is not None]
    scored = [set(scores_of(cells[method.name], metric.name)) for method in ranked]
    common = sorted(set.intersection(*scored)) if scored else []
    members = [method.name for method in ranked if method.blends and method.name != DUMMY]
    names = [name for name in members if all(cells[name][p].get("kept") for p in common)]
    if not names:
        return None
    rows, values = dict[Place, Indices](), dict[Place, Array]()
    for place in common:
        rows[place], values[place] = _in_common([cells[name][place] for name in names])
    y = {p: np.array([truth[int(row)] for row in rows[p]]) for p in common}
    labels = None if classes is None else np.array(classes)
    return HeldOut(
        names, rows, values, y, labels, names.index(DEFAULT) if DEFAULT in names else None
    )


def learn_blend(
    held_out: HeldOut | None, metrics: Sequence[Metric], *, ordered: bool = False
) -> BlendOutcome | None:
    """Learn the blend of some methods, and score it by the metrics; None without predictions.

    `ordered` means that rows and folds are ordered in time.
    """
    if held_out is None:
        return None
    rows, y, common = held_out.rows, held_out.y, list(held_out.rows)
    scores, predicted = {}, []
    for place in common:
        others = [p for p in common if p[0] == place[0] and p != place]
        if ordered:
            others = [p for p in others if p < place]
        is_earliest = ordered and not others and len(common) > 1
        if is_earliest:
            weights = held_out.weights_before()
        else:  # a fold without others, whose own rows give the weights, has no score
            weights = held_out.weights_from(others or [place])
        seen = np.concatenate([y[p] for p in others or [place]])
        values = held_out.clipped(held_out.values[place], seen)
        predicted.append(np.tensordot(weights, values, 1))
        if others or is_earliest:
            predictions = as_predictions(predicted[-1], held_out.labels)
            scores[place] = {m.name: m.finite(y[place], predictions) for m in metrics}
    kept, means = _row_means([rows[p] for p in common], predicted)
    every = np.concatenate([rows[p] for p in common])
    targets = np.concatenate([y[p] for p in common])[np.unique(every, return_index=True)[1]]
    return BlendOutcome(held_out.weights(), scores, kept, targets, means, held_out.labels)


def _row_means(rows: Sequence[Indices], values: Sequence[Array]) -> tuple[Indices, Array]:
    """Average predictions of the same row; return the sorted rows and the means."""
    every, stacked = np.concatenate(rows), np.concatenate(values)
    kept, place_of = np.unique(every, return_inverse=True)
    sums = np.zeros((len(kept), *stacked.shape[1:]))
    np.add.at(sums, place_of, stacked)
    repeats = np.bincount(place_of).reshape(-1, *[1] * (stacked.ndim - 1))
    return kept, sums / repeats


def _in_common(records: Sequence[Record]) -> tuple[Indices, Array]:
    """Return the rows that all records predict, and their predictions, shape (n_records, n, ...).

    LAB-RBF may predict fewer rows of a fold than the others, see `held_out_records`.
    """
    kept: list[Any] = [record["kept"] for record in records]
    own = [np.asarray(each["rows"], dtype=np.intp) for each in kept]  # sorted
    rows = reduce(np.intersect1d, own)
    values = [
        np.asarray(each["values"], dtype=np.float64)[np.searchsorted(mine, rows)]
        for each, mine in zip(kept, own, strict=True)
    ]
    return rows, np.stack(values)
