"""Choose the strength of side information by cross-validation: hide a part, score it, repeat."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.random import RandomState
from sklearn.metrics import roc_auc_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC

from pliant.core.kernels.base import Kernel
from pliant.core.typing import Array, Indices, Mask
from pliant.methods.side_information.components import Components
from pliant.methods.side_information.information import SideInformation
from pliant.methods.side_information.kernels import checked_gram
from pliant.methods.side_information.scg_problem import SCGLogDetPath

STRENGTHS = tuple(10.0**power for power in range(-1, 7))
"""The candidates of strength="auto"."""

FALLBACK = 100.0
"""The strength where nothing can be held out."""

N_FOLDS = 5

ROUNDING = 1e-10
"""A variance below this multiple of the mean of k(x, x) is that of equal points."""


class Candidate(NamedTuple):
    """A strength and an exponent of the weights."""

    strength: float
    beta: float


class KernelScore:
    """The learned kernel itself: a support vector machine with C = 1, or its distances."""

    def of_labels(self, gram: Array, cross_gram: Array, labels: Indices, hidden: Indices) -> float:
        """Return the accuracy of the SVM on the kernel with unit variance."""
        scale = unit_scale(gram)
        try:
            with warnings.catch_warnings():  # about many classes with few points
                warnings.simplefilter("ignore", UserWarning)
                svm = SVC(kernel="precomputed").fit(scale * gram, labels)
        except ValueError:  # values that SVC cannot take
            return math.nan
        return float(svm.score(scale * cross_gram, hidden))

    def of_pairs(self, gram: Array, members: Indices, pairs: Indices, signs: Array) -> float:
        """Return the area under the ROC curve of distances in the kernel's feature space."""
        i, j = pairs.T
        return float(roc_auc_score(signs, 2.0 * gram[i, j] - gram[i, i] - gram[j, j]))


@dataclass(frozen=True)
class ComponentScore:
    """Principal components of the learned kernel: nearest neighbours, or distances."""

    n_components: int
    n_neighbors: int = 5
    center: bool = True

    def of_labels(self, gram: Array, cross_gram: Array, labels: Indices, hidden: Indices) -> float:
        """Return the accuracy of the nearest neighbours."""
        components = self._components(gram)
        if components is None:
            return math.nan
        neighbors = KNeighborsClassifier(min(self.n_neighbors, len(labels)))
        neighbors.fit(components(gram), labels)
        return float(neighbors.score(components(cross_gram), hidden))

    def of_pairs(self, gram: Array, members: Indices, pairs: Indices, signs: Array) -> float:
        """Return the area under the ROC curve of distances between components."""
        columns = gram[:, members]
        components = self._components(columns[members])
        if components is None:
            return math.nan
        coordinates, (i, j) = components(columns), pairs.T
        squares = ((coordinates[i] - coordinates[j]) ** 2).sum(axis=1)
        return float(roc_auc_score(signs, -squares))

    def _components(self, gram: Array) -> Components | None:
        """Return the components, or None if the kernel has fewer of them."""
        try:
            return Components.of_gram(gram, self.n_components, center=self.center)
        except ValueError:
            return None


Score: TypeAlias = KernelScore | ComponentScore
"""The quality of a learned kernel on hidden side information; nan where it is undefined.

`of_labels` takes the learned kernel values of a labelled points, shape (a, a), and of h others
against them, shape (h, a), and the classes of both. `of_pairs` takes the values of all n points,
shape (n, n), the a points in the known pairs, and h hidden pairs with their signs, of both kinds.
"""


def unit_scale(gram: Array) -> float:
    """Return the factor that scales the variance of the points of a Gram matrix to 1.

    For points that are all equal it scales k(x, x) to 1: the solver of an SVM may not terminate
    on huge values that are all the same.
    """
    size = float(gram.diagonal().mean())
    variance = size - float(gram.mean())
    spread = variance if variance > ROUNDING * size else size
    return 1.0 / spread if spread > np.finfo(np.float64).tiny else 1.0


def mean_scores(
    base: Callable[[Array], Kernel],
    points: Array,
    information: SideInformation,
    candidates: Sequence[Candidate],
    score: Score,
    *,
    graph: str,
    scale_strength: bool,
    rng: RandomState,
    max_points: int = 500,
    gram: Array | None = None,
) -> Array:
    """Return the mean score of each candidate over the folds; nan if nothing can be held out.

    A fifth of the labels, or of the pairs, is hidden at a time. `base` returns the base kernel for
    some of the points, shape (n_samples, n_features); `graph` and `scale_strength` are those of
    `SCGLogDetLearner`. At most `max_points` known points are compared (with labels and the complete
    graph, as many unknown points too). `gram` is the base kernel's matrix of the points in the
    graph, if it has been computed.
    """
    rows, known = _sample(information, graph, max_points, rng)
    folds = _folds(known, rng)
    if gram is None or len(gram) != len(rows):  # else the sample is the whole graph
        gram = checked_gram(base(points[rows]), points[rows])[0]
    path = SCGLogDetPath(gram)
    score_of_fold = _label_score if known.labels is not None else _pair_score

    def scores_of(candidate: Candidate) -> list[float]:
        learn = partial(
            path.gram,
            strength=candidate.strength,
            beta=candidate.beta,
            graph=graph,
            scale_strength=scale_strength,
        )
        return [score_of_fold(learn, known, folds == fold, score) for fold in range(N_FOLDS)]

    scores = np.array([scores_of(candidate) for candidate in candidates])
    scores = scores[:, ~np.isnan(scores).all(axis=0)]
    return scores.mean(axis=1) if scores.size else np.full(len(candidates), np.nan)


def _sample(
    information: SideInformation, graph: str, max_points: int, rng: RandomState
) -> tuple[Indices, SideInformation]:
    """Return the row indices of a sample of the points, and the side information on it."""
    if information.labels is None:
        drawn = _stratified_sample(information.signs, max_points // 4, rng)
        pairs, signs = information.pairs[drawn], information.signs[drawn]
        rows, places = np.unique(pairs, return_inverse=True)
        places = places.reshape(-1, 2)
        parts = [places[signs == sign] for sign in (1, -1)]
        return rows, SideInformation.from_pairs(len(rows), *parts)
    rows = information.known
    rows = rows[_stratified_sample(information.labels[rows], max_points, rng)]
    if graph == "complete":
        unknown = np.flatnonzero(information.labels < 0)
        if len(unknown) > max_points:
            unknown = np.sort(rng.choice(unknown, max_points, replace=False))
        rows = np.union1d(rows, unknown)
    return rows, SideInformation.from_labels(information.labels[rows], unlabeled=-1)


def _folds(known: SideInformation, rng: RandomState) -> Indices:
    """Return the fold of each labelled point, or of each pair, stratified by class or sign."""
    kinds = known.signs if known.labels is None else known.labels[known.known]
    order = rng.permutation(len(kinds))
    order = order[np.argsort(kinds[order], kind="stable")]
    folds = np.empty(len(kinds), dtype=np.intp)
    folds[order] = np.arange(len(kinds)) % N_FOLDS
    return folds


def _label_score(
    learn: Callable[..., Array], known: SideInformation, held: Mask, score: Score
) -> float:
    """Return the score on the held-out labels; nan if they cannot be held out."""
    labels, rows = known.labels, known.known
    assert labels is not None
    out, left = rows[held], rows[~held]
    if not np.isin(labels[out], labels[left]).any() or len(np.unique(labels[left])) < 2:
        return math.nan
    gram = learn(known.hide(out), columns=left)
    return score.of_labels(gram[left], gram[out], labels[left], labels[out])


def _pair_score(
    learn: Callable[..., Array], known: SideInformation, held: Mask, score: Score
) -> float:
    """Return the score on the held-out pairs; nan if they cannot be held out."""
    pairs, signs = known.pairs, known.signs
    if len(np.unique(signs[held])) < 2 or held.all():
        return math.nan
    parts = [pairs[~held & (signs == sign)] for sign in (1, -1)]
    left = SideInformation.from_pairs(known.n_samples, *parts)
    return score.of_pairs(learn(left), left.known, pairs[held], signs[held])


def _stratified_sample(kinds: Indices | Array, most: int, rng: RandomState) -> Indices:
    """Return the positions of at most `most` items, in proportion to their kinds.

    The first `N_FOLDS` items of each kind, in random order, come before all others.
    """
    if len(kinds) <= most:
        return np.arange(len(kinds))
    order = rng.permutation(len(kinds))
    _, kind, sizes = np.unique(kinds[order], return_inverse=True, return_counts=True)
    by_kind = np.argsort(kind, kind="stable")
    # rank of each item within its kind, then the fraction of the kind that precedes it
    rank = np.empty(len(kinds), dtype=np.intp)
    rank[by_kind] = np.arange(len(kinds)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    share = np.where(rank < N_FOLDS, 0.0, (rank + 0.5) / sizes[kind])
    return np.sort(order[np.argsort(share, kind="stable")[:most]])
