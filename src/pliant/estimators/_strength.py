"""How strongly side information should count: what does best on the part that is held out."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from sklearn.metrics import roc_auc_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC

from pliant._typing import Array, Indices
from pliant.estimators._base_gram import checked_gram
from pliant.estimators._components import Components
from pliant.estimators.scg_path import SCGLogDetPath
from pliant.kernels import Kernel
from pliant.side_information import SideInformation

__all__ = [
    "FALLBACK",
    "STRENGTHS",
    "Candidate",
    "ComponentAccuracy",
    "LabelTrial",
    "best_candidate",
    "unit_scale",
]

STRENGTHS = tuple(10.0**power for power in range(-1, 7))
"""What "auto" chooses from."""

FALLBACK = 100.0
"""The strength where nothing can be held out."""

ROUNDING = 1e-10
"""A variance below this share of the mean of k(x, x) is that of equal points."""

N_FOLDS = 5
N_NEIGHBORS = 5


class Candidate(NamedTuple):
    """Settings to try."""

    strength: float
    beta: float


class LabelTrial(NamedTuple):
    """What a score of labels sees of one fold.

    Attributes
    ----------
    gram : array of shape (a, a)
        Learned kernel values of the labelled points that are left.
    cross_gram : array of shape (h, a)
        Those of the held-out points against them.
    labels, held_out : arrays of shape (a,) and (h,)
        Their classes.
    """

    gram: Array
    cross_gram: Array
    labels: Indices
    held_out: Indices


@dataclass(frozen=True, eq=False)
class Trials:
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

    def gram(
        self, known: SideInformation, candidate: Candidate, columns: Indices | None = None
    ) -> Array:
        """Return the kernel values that a candidate learns from a part of what is known."""
        return self.path.gram(
            known,
            candidate.strength,
            beta=candidate.beta,
            graph=self.graph,
            scale_strength=self.scale_strength,
            columns=columns,
        )


def best_candidate(
    base: Kernel,
    points: Array,
    information: SideInformation,
    candidates: Sequence[Candidate],
    *,
    graph: str,
    scale_strength: bool,
    rng: np.random.RandomState,
    most: int = 500,
    gram: Array | None = None,
    score: Callable[[LabelTrial], float] | None = None,
) -> tuple[Candidate, Array]:
    """Return the candidate with the best mean score on what is held out, the first on ties.

    Parameters
    ----------
    base : Kernel
    points : array of shape (n, d)
    information : SideInformation
        Labels: a fifth of them is hidden in turn. Pairs: a fifth of them.
    candidates : sequence of Candidate
    graph, scale_strength
        As in `SCGLogDetLearner`.
    rng : RandomState
    most : int
        The comparison is made on at most so many known points (and as many others, where they
        are part of the graph).
    gram : array, optional
        The base kernel's matrix of the points in the graph, if it is at hand.
    score : callable, optional
        Of a `LabelTrial`; by default `machine_accuracy`.

    Returns
    -------
    Candidate
        Strength `FALLBACK` if nothing can be held out.
    array of shape (number of candidates,)
        Mean scores; nan if nothing can be held out.
    """
    trials = _trials(base, points, information, graph, scale_strength, rng, most, gram)
    scores = np.full((len(candidates), N_FOLDS), np.nan)
    for i, candidate in enumerate(candidates):
        for fold, value in _scores(trials, candidate, score or machine_accuracy):
            scores[i, fold] = value
    scores = scores[:, ~np.isnan(scores).all(axis=0)]
    means = scores.mean(axis=1) if scores.size else np.full(len(candidates), np.nan)
    if np.isnan(means).all():
        return Candidate(FALLBACK, candidates[0].beta), means
    return candidates[int(np.nanargmax(means))], means


def _trials(
    base: Kernel,
    points: Array,
    information: SideInformation,
    graph: str,
    scale_strength: bool,
    rng: np.random.RandomState,
    most: int,
    gram: Array | None,
) -> Trials:
    """Draw the sample and its folds."""
    if information.labels is None:
        drawn = _draw_alike(information.signs, most // 4, rng)
        pairs, signs = information.pairs[drawn], information.signs[drawn]
        rows, places = np.unique(pairs, return_inverse=True)
        places = places.reshape(-1, 2)
        parts = [places[signs == sign] for sign in (1, -1)]
        known = SideInformation.from_pairs(len(rows), *parts)
        folds = _deal(known.signs, rng)
    else:
        known_rows = information.known
        rows = known_rows[_draw_alike(information.labels[known_rows], most, rng)]
        if graph == "complete":
            unknown = np.flatnonzero(information.labels < 0)
            rows = np.union1d(rows, _draw(unknown, most, rng))
        known = SideInformation.from_labels(information.labels[rows], unlabeled=-1)
        assert known.labels is not None
        folds = _deal(known.labels[known.known], rng)
    if gram is None or len(gram) != len(rows):  # else the sample is the whole graph
        gram = checked_gram(base, points[rows])
    return Trials(SCGLogDetPath(gram), known, graph, scale_strength, folds)


def _draw(rows: Indices, most: int, rng: np.random.RandomState) -> Indices:
    return rows if len(rows) <= most else np.sort(rng.choice(rows, most, replace=False))


def _draw_alike(kinds: Indices | Array, most: int, rng: np.random.RandomState) -> Indices:
    """Return the places of at most `most` items, each kind in its share, and some of each."""
    if len(kinds) <= most:
        return np.arange(len(kinds))
    order = rng.permutation(len(kinds))
    _, kind, sizes = np.unique(kinds[order], return_inverse=True, return_counts=True)
    by_kind = np.argsort(kind, kind="stable")
    rank = np.empty(len(kinds), dtype=np.intp)
    rank[by_kind] = np.arange(len(kinds)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    share = np.where(rank < N_FOLDS, 0.0, (rank + 0.5) / sizes[kind])
    return np.sort(order[np.argsort(share, kind="stable")[:most]])


def _deal(kinds: Indices | Array, rng: np.random.RandomState) -> Indices:
    """Return a fold for each item, each kind spread over the folds."""
    order = rng.permutation(len(kinds))
    order = order[np.argsort(kinds[order], kind="stable")]
    folds = np.empty(len(kinds), dtype=np.intp)
    folds[order] = np.arange(len(kinds)) % N_FOLDS
    return folds


def _scores(
    trials: Trials, candidate: Candidate, score: Callable[[LabelTrial], float]
) -> Iterator[tuple[int, float]]:
    """Yield the number and the score of each fold that can be held out."""
    for fold in range(N_FOLDS):
        held = trials.folds == fold
        if trials.information.labels is not None:
            value = _label_score(trials, candidate, held, score)
        else:
            value = _pair_score(trials, candidate, held)
        if value is not None:
            yield fold, value


def _label_score(
    trials: Trials,
    candidate: Candidate,
    held: Indices,
    score: Callable[[LabelTrial], float],
) -> float | None:
    labels, rows = trials.information.labels, trials.information.known
    assert labels is not None
    out, left = rows[held], rows[~held]
    if not len(out) or len(np.unique(labels[left])) < 2:
        return None
    gram = trials.gram(trials.information.hide(out), candidate, left)
    return score(LabelTrial(gram[left], gram[out], labels[left], labels[out]))


def machine_accuracy(trial: LabelTrial) -> float:
    """Return the accuracy of a support vector machine with C = 1 on the scaled kernel.

    It is nan where the machine cannot be fitted.
    """
    scale = unit_scale(trial.gram)
    try:
        machine = SVC(kernel="precomputed").fit(scale * trial.gram, trial.labels)
    except ValueError:
        return math.nan
    return float(machine.score(scale * trial.cross_gram, trial.held_out))


def unit_scale(gram: Array) -> float:
    """Return the factor that gives the points of a Gram matrix the variance 1."""
    size = float(gram.diagonal().mean())
    variance = size - float(gram.mean())
    return 1.0 / variance if variance > ROUNDING * size else 1.0


@dataclass(frozen=True)
class ComponentAccuracy:
    """The accuracy of the nearest neighbours in some components of the learned kernel."""

    n_components: int
    n_neighbors: int = N_NEIGHBORS

    def __call__(self, trial: LabelTrial) -> float:
        """Return it for one fold; nan if the kernel does not have so many components."""
        try:
            components = Components.of_gram(trial.gram, self.n_components)
        except ValueError:
            return math.nan
        machine = KNeighborsClassifier(min(self.n_neighbors, len(trial.labels)))
        machine.fit(components(trial.gram), trial.labels)
        return float(machine.score(components(trial.cross_gram), trial.held_out))


def _pair_score(trials: Trials, candidate: Candidate, held: Indices) -> float | None:
    """Return how well distances tell held-out similar from dissimilar pairs (area under ROC)."""
    pairs, signs = trials.information.pairs, trials.information.signs
    if len(np.unique(signs[held])) < 2 or held.all():
        return None
    parts = [pairs[~held & (signs == sign)] for sign in (1, -1)]
    gram = trials.gram(SideInformation.from_pairs(trials.information.n_samples, *parts), candidate)
    i, j = pairs[held].T
    distances = gram[i, i] + gram[j, j] - 2.0 * gram[i, j]
    return float(roc_auc_score(signs[held], -distances))
