"""Choose the strength of side information by cross-validation: hide a part, score it, repeat."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from sklearn.metrics import roc_auc_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC

from pliant.core.kernels.base import Kernel
from pliant.core.typing import Array, Indices, Mask
from pliant.methods.side_information.components import Components
from pliant.methods.side_information.information import SideInformation
from pliant.methods.side_information.kernels import checked_gram
from pliant.methods.side_information.scg_problem import SCGLogDetPath

__all__ = [
    "FALLBACK",
    "STRENGTHS",
    "Candidate",
    "ComponentScore",
    "KernelScore",
    "Score",
    "mean_scores",
    "unit_scale",
]

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


class Score(Protocol):
    """The quality of a learned kernel on hidden side information; nan where it is undefined."""

    def of_labels(self, gram: Array, cross_gram: Array, labels: Indices, hidden: Indices) -> float:
        """Return the accuracy on points with hidden labels.

        Parameters
        ----------
        gram, cross_gram : arrays of shape (a, a) and (h, a)
            Learned kernel values of the a labelled points, and of the h others against them.
        labels, hidden : arrays of shape (a,) and (h,)
            Their classes.
        """

    def of_pairs(self, gram: Array, members: Indices, pairs: Indices, signs: Array) -> float:
        """Return the area under the ROC curve of distances, of similar and dissimilar pairs.

        Parameters
        ----------
        gram : array of shape (n, n)
            Learned kernel values.
        members : array of shape (a,)
            The points in the known pairs.
        pairs, signs : arrays of shape (h, 2) and (h,)
            The hidden pairs, of both signs.
        """


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
            return Components.of_gram(gram, self.n_components)
        except ValueError:
            return None


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
    *,
    graph: str,
    scale_strength: bool,
    rng: np.random.RandomState,
    score: Score,
    max_points: int = 500,
    gram: Array | None = None,
) -> Array:
    """Return the mean score of each candidate over the folds.

    Parameters
    ----------
    base : callable
        Returns the base kernel for some points.
    points : array of shape (n_samples, n_features)
    information : SideInformation
        A fifth of the labels, or of the pairs, is hidden at a time.
    candidates : sequence of Candidate
    graph, scale_strength
        As in `SCGLogDetLearner`.
    rng : RandomState
    score : Score
    max_points : int
        Maximum number of known points in the comparison (with labels and the complete graph, also
        of unknown points).
    gram : array, optional
        The base kernel's matrix of the points in the graph, if it has been computed.

    Returns
    -------
    array of shape (n_candidates,)
        nan if nothing can be held out.
    """
    trials = _Trials.draw(base, points, information, graph, scale_strength, rng, max_points, gram)
    scores = np.array([trials.scores(candidate, score) for candidate in candidates])
    scores = scores[:, ~np.isnan(scores).all(axis=0)]
    return scores.mean(axis=1) if scores.size else np.full(len(candidates), np.nan)


@dataclass(frozen=True, eq=False)
class _Trials:
    """A sample of the points, on which candidates are compared.

    Parameters
    ----------
    path : SCGLogDetPath
        Of the base kernel's values on the sample.
    information : SideInformation
        On the sample.
    graph : str
    scale_strength : bool
    folds : array of shape (k,)
        The fold of each known point, or of each pair.
    """

    path: SCGLogDetPath
    information: SideInformation
    graph: str
    scale_strength: bool
    folds: Indices

    @classmethod
    def draw(
        cls,
        base: Callable[[Array], Kernel],
        points: Array,
        information: SideInformation,
        graph: str,
        scale_strength: bool,
        rng: np.random.RandomState,
        max_points: int,
        gram: Array | None,
    ) -> _Trials:
        """Draw the sample and its folds."""
        if information.labels is None:
            drawn = _stratified_sample(information.signs, max_points // 4, rng)
            pairs, signs = information.pairs[drawn], information.signs[drawn]
            rows, places = np.unique(pairs, return_inverse=True)
            places = places.reshape(-1, 2)
            parts = [places[signs == sign] for sign in (1, -1)]
            known = SideInformation.from_pairs(len(rows), *parts)
            folds = _stratified_folds(known.signs, rng)
        else:
            rows = information.known
            rows = rows[_stratified_sample(information.labels[rows], max_points, rng)]
            if graph == "complete":
                unknown = np.flatnonzero(information.labels < 0)
                if len(unknown) > max_points:
                    unknown = np.sort(rng.choice(unknown, max_points, replace=False))
                rows = np.union1d(rows, unknown)
            known = SideInformation.from_labels(information.labels[rows], unlabeled=-1)
            assert known.labels is not None
            folds = _stratified_folds(known.labels[known.known], rng)
        if gram is None or len(gram) != len(rows):  # else the sample is the whole graph
            gram = checked_gram(base(points[rows]), points[rows])
        return cls(SCGLogDetPath(gram), known, graph, scale_strength, folds)

    def scores(self, candidate: Candidate, score: Score) -> list[float]:
        """Return the score of each fold; nan for one that cannot be held out."""
        of_fold = self._pair_score if self.information.labels is None else self._label_score
        return [of_fold(candidate, score, self.folds == fold) for fold in range(N_FOLDS)]

    def _label_score(self, candidate: Candidate, score: Score, held: Mask) -> float:
        labels, rows = self.information.labels, self.information.known
        assert labels is not None
        out, left = rows[held], rows[~held]
        if not np.isin(labels[out], labels[left]).any() or len(np.unique(labels[left])) < 2:
            return math.nan
        gram = self._gram(self.information.hide(out), candidate, left)
        return score.of_labels(gram[left], gram[out], labels[left], labels[out])

    def _pair_score(self, candidate: Candidate, score: Score, held: Mask) -> float:
        pairs, signs = self.information.pairs, self.information.signs
        if len(np.unique(signs[held])) < 2 or held.all():
            return math.nan
        parts = [pairs[~held & (signs == sign)] for sign in (1, -1)]
        left = SideInformation.from_pairs(self.information.n_samples, *parts)
        gram = self._gram(left, candidate)
        return score.of_pairs(gram, left.known, pairs[held], signs[held])

    def _gram(
        self, known: SideInformation, candidate: Candidate, columns: Indices | None = None
    ) -> Array:
        """Return the kernel values that a candidate learns from a part of the information."""
        return self.path.gram(
            known,
            candidate.strength,
            beta=candidate.beta,
            graph=self.graph,
            scale_strength=self.scale_strength,
            columns=columns,
        )


def _stratified_sample(kinds: Indices | Array, most: int, rng: np.random.RandomState) -> Indices:
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


def _stratified_folds(kinds: Indices | Array, rng: np.random.RandomState) -> Indices:
    """Return a fold for each item, so that each kind is spread over the folds."""
    order = rng.permutation(len(kinds))
    order = order[np.argsort(kinds[order], kind="stable")]
    folds = np.empty(len(kinds), dtype=np.intp)
    folds[order] = np.arange(len(kinds)) % N_FOLDS
    return folds
