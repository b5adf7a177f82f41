"""How strongly side information should count: what does best on the part that is held out."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from pliant.core.kernels.base import Kernel
from pliant.core.typing import Array, Indices, Mask
from pliant.methods.side_information.base_gram import checked_gram
from pliant.methods.side_information.hidden_scores import LabelTrial, PairTrial, Score
from pliant.methods.side_information.information import SideInformation
from pliant.methods.side_information.scg_path import SCGLogDetPath

__all__ = ["FALLBACK", "STRENGTHS", "Candidate", "best_candidate"]

STRENGTHS = tuple(10.0**power for power in range(-1, 7))
"""What "auto" chooses from."""

FALLBACK = 100.0
"""The strength where nothing can be held out."""

N_FOLDS = 5


class Candidate(NamedTuple):
    """Settings to try."""

    strength: float
    beta: float


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
    base: Callable[[Array], Kernel],
    points: Array,
    information: SideInformation,
    candidates: Sequence[Candidate],
    *,
    graph: str,
    scale_strength: bool,
    rng: np.random.RandomState,
    most: int = 500,
    gram: Array | None = None,
    score: Score,
) -> tuple[Candidate, Array]:
    """Return the candidate with the best mean score on what is held out, the first on ties.

    Parameters
    ----------
    base : callable
        From points to the base kernel.
    points : array of shape (n, d)
    information : SideInformation
        Labels: a fifth of them is hidden in turn. Pairs: a fifth of them.
    candidates : sequence of Candidate
    graph, scale_strength
        As in `SCGLogDetLearner`.
    rng : RandomState
    most : int
        The comparison is made on at most so many known points (and, with labels, as many
        others where they are part of the graph).
    gram : array, optional
        The base kernel's matrix of the points in the graph, if it is at hand.
    score : Score
        Of what is hidden.

    Returns
    -------
    Candidate
        Strength `FALLBACK` if nothing can be held out.
    array of shape (number of candidates,)
        Mean scores; nan if nothing can be held out.
    """
    trials = _trials(base, points, information, graph, scale_strength, rng, most, gram)
    scores = np.array([_scores(trials, candidate, score) for candidate in candidates])
    scores = scores[:, ~np.isnan(scores).all(axis=0)]
    means = scores.mean(axis=1) if scores.size else np.full(len(candidates), np.nan)
    if np.isnan(means).all():
        return Candidate(FALLBACK, candidates[0].beta), means
    return candidates[int(np.nanargmax(means))], means


def _trials(
    base: Callable[[Array], Kernel],
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
        gram = checked_gram(base(points[rows]), points[rows])
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


def _scores(trials: Trials, candidate: Candidate, score: Score) -> list[float]:
    """Return the score of each fold; nan for one that cannot be held out."""
    of_fold = _pair_score if trials.information.labels is None else _label_score
    return [of_fold(trials, candidate, trials.folds == fold, score) for fold in range(N_FOLDS)]


def _label_score(trials: Trials, candidate: Candidate, held: Mask, score: Score) -> float:
    labels, rows = trials.information.labels, trials.information.known
    assert labels is not None
    out, left = rows[held], rows[~held]
    if not np.isin(labels[out], labels[left]).any() or len(np.unique(labels[left])) < 2:
        return math.nan
    gram = trials.gram(trials.information.hide(out), candidate, left)
    return score.of_labels(LabelTrial(gram[left], gram[out], labels[left], labels[out]))


def _pair_score(trials: Trials, candidate: Candidate, held: Mask, score: Score) -> float:
    pairs, signs = trials.information.pairs, trials.information.signs
    if len(np.unique(signs[held])) < 2 or held.all():
        return math.nan
    parts = [pairs[~held & (signs == sign)] for sign in (1, -1)]
    left = SideInformation.from_pairs(trials.information.n_samples, *parts)
    gram = trials.gram(left, candidate)
    return score.of_pairs(PairTrial(gram, left.known, pairs[held], signs[held]))
