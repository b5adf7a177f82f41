"""The strength and the exponent of SCG-LDK with the best scores on held-out labels or pairs."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import TypeAlias

import numpy as np
from numpy.random import RandomState
from scipy.spatial import KDTree

from pliant.core.typing import Array, Indices, Mask
from pliant.methods.supervised.components import Components
from pliant.methods.supervised.information import GraphKind, LabelGraph, SideInformation
from pliant.methods.supervised.scg_folds import FoldSpectrum
from pliant.methods.supervised.scg_problem import SCGLogDetPath, graph_size

Candidate: TypeAlias = tuple[float, float]
"""A strength, and the exponent beta of the weights."""

Embed: TypeAlias = Callable[[Array], Callable[[Array], Array]]
"""Computes the components of a kernel matrix; raises ValueError if there are too few."""

STRENGTHS = tuple(10.0**power for power in range(-1, 7))
"""Candidates for strength="auto"."""

DEFAULT_STRENGTH = 100.0
"""The result of strength="auto" if no label or pair can be held out."""

N_FOLDS = 5
"""Number of cross-validation folds."""


def draw_sample(
    information: SideInformation, graph: GraphKind, max_points: int, rng: RandomState
) -> tuple[Indices, SideInformation]:
    """Return the row indices of a sample of the points, and its side information.

    The sample has at most `max_points` known points and, with labels and the complete graph, at
    most `max_points` unknown points.
    """
    if information.labels is None:
        drawn = _draw_stratified(information.signs, max_points // 4, rng)
        pairs, signs = information.pairs[drawn], information.signs[drawn]
        rows, positions = np.unique(pairs, return_inverse=True)
        positions = positions.reshape(-1, 2)
        parts = [positions[signs == sign] for sign in (1, -1)]
        return rows, SideInformation.from_pairs(len(rows), *parts)
    rows = information.known
    rows = rows[_draw_stratified(information.labels[rows], max_points, rng)]
    if graph == "complete":
        unknown = np.flatnonzero(information.labels < 0)
        if len(unknown) > max_points:
            unknown = np.sort(rng.choice(unknown, max_points, replace=False))
        rows = np.union1d(rows, unknown)
    return rows, SideInformation.from_labels(information.labels[rows], unlabeled=-1)


def score_candidates(
    gram: Array,
    known: SideInformation,
    candidates: Sequence[Candidate],
    *,
    graph: GraphKind,
    scale_strength: bool,
    rng: RandomState,
    n_components: int | None = None,
    center: bool = True,
) -> Array:
    """Return the mean score of each candidate over the folds; nan if no fold has a score.

    The score is the accuracy on held-out labels of a support vector machine with C = 1 or, with
    `n_components`, of a nearest-neighbour classifier on the components, centred if `center`. For
    pairs, it is the area under the ROC curve of distances. `gram` is the base kernel matrix on the
    points of `known`. `graph` and `scale_strength` are parameters of `SCGLogDetLearner`.
    """
    folds, embed = _assign_folds(known, rng), None
    if n_components is not None:
        embed = partial(Components.of_gram, n_components=n_components, center=center)
        if known.labels is not None and graph == "labeled":
            scores = _score_embeddings(
                gram, known, folds, candidates, n_components, center, scale_strength
            )
            return _mean_over_folds(scores)
    path = SCGLogDetPath(gram)
    score = _score_labels if known.labels is not None else _score_pairs
    scores = np.empty((len(candidates), N_FOLDS))
    for row, (strength, beta) in zip(scores, candidates, strict=True):
        learn = partial(
            path.gram, strength=strength, beta=beta, graph=graph, scale_strength=scale_strength
        )
        for fold in range(N_FOLDS):
            row[fold] = score(learn, known, folds == fold, embed)
    return _mean_over_folds(scores)


def _score_embeddings(
    gram: Array,
    known: SideInformation,
    folds: Indices,
    candidates: Sequence[Candidate],
    n_components: int,
    center: bool,
    scale_strength: bool,
) -> Array:
    """Return the accuracy of each candidate and fold on held-out labels, for graphs of labels.

    Each fold takes one eigendecomposition of the base kernel matrix, O(n^3), and each candidate
    O(n^2) for products of few columns.
    """
    labels, scores = known.labels, np.full((len(candidates), N_FOLDS), np.nan)
    assert labels is not None
    for fold in range(N_FOLDS):
        split = _split_labels(known, folds == fold)
        if split is None:
            continue
        train, test = split
        spectrum = FoldSpectrum.of(gram, train, test)
        size = graph_size(gram.diagonal()[train]) if scale_strength else 1.0
        kernels = {
            beta: spectrum.on_graph(LabelGraph(train, labels[train], beta))
            for beta in {beta for _, beta in candidates}
        }
        for row, (strength, beta) in zip(scores, candidates, strict=True):
            with suppress(ValueError, np.linalg.LinAlgError):  # too few components
                points, new = kernels[beta].embed(strength / size, n_components, center=center)
                row[fold] = neighbor_accuracy(points, labels[train], new, labels[test])
    return scores


def _score_labels(
    learn: Callable[..., Array], known: SideInformation, held: Mask, embed: Embed | None
) -> float:
    """Return the score on the held-out labels; nan if they cannot be held out."""
    from sklearn.svm import SVC

    labels, split = known.labels, _split_labels(known, held)
    if labels is None or split is None:
        return math.nan
    train, test = split
    visible = np.full(known.n_samples, -1)
    visible[train] = labels[train]
    gram = learn(SideInformation.from_labels(visible, unlabeled=-1), columns=train)
    train_inputs, test_inputs = gram[train], gram[test]
    try:
        if embed is not None:
            components = embed(train_inputs)
            points, new = components(train_inputs), components(test_inputs)
            return neighbor_accuracy(points, labels[train], new, labels[test])
        scale = unit_scale(train_inputs)
        model = SVC(kernel="precomputed").fit(scale * train_inputs, labels[train])
        return float(np.mean(model.predict(scale * test_inputs) == labels[test]))
    except ValueError:  # too few components, or values that SVC rejects
        return math.nan


def _score_pairs(
    learn: Callable[..., Array], known: SideInformation, held: Mask, embed: Embed | None
) -> float:
    """Return the score on the held-out pairs; nan if they cannot be held out."""
    from sklearn.metrics import roc_auc_score

    pairs, signs = known.pairs, known.signs
    if len(np.unique(signs[held])) < 2 or held.all():  # no ROC curve, or no training pairs
        return math.nan
    parts = [pairs[~held & (signs == sign)] for sign in (1, -1)]
    train = SideInformation.from_pairs(known.n_samples, *parts)
    gram, (i, j) = learn(train), pairs[held].T
    # the decision value of a pair is its negative squared distance
    if embed is None:
        return float(roc_auc_score(signs[held], 2.0 * gram[i, j] - gram[i, i] - gram[j, j]))
    columns = gram[:, train.known]
    try:
        points = embed(columns[train.known])(columns)
    except ValueError:  # too few components
        return math.nan
    return float(roc_auc_score(signs[held], -((points[i] - points[j]) ** 2).sum(axis=1)))


def neighbor_accuracy(points: Array, labels: Indices, new: Array, truth: Indices) -> float:
    """Return the accuracy of a vote of the five nearest points; the lowest class wins a tie.

    Raise ValueError if a point is not finite.
    """
    if not (np.isfinite(points).all() and np.isfinite(new).all()):
        raise ValueError("expected finite components")
    _, nearest = KDTree(points).query(new, np.arange(1, min(5, len(points)) + 1))
    votes = (labels[nearest][:, :, None] == np.arange(labels.max() + 1)).sum(axis=1)
    return float(np.mean(votes.argmax(axis=1) == truth))


def unit_scale(gram: Array) -> float:
    """Return the factor that scales a Gram matrix to unit variance in feature space.

    If all points are equal, the factor scales k(x, x) to 1, since an SVM solver may not terminate
    for large equal values.
    """
    # the mean of |phi(x_i) - mean phi|^2 is the mean of the diagonal minus the mean of the matrix
    size = float(gram.diagonal().mean())
    variance = size - float(gram.mean())
    spread = variance if variance > 1e-10 * size else size  # smaller values are rounding errors
    return 1.0 / spread if spread > 0.0 else 1.0


def _split_labels(known: SideInformation, held: Mask) -> tuple[Indices, Indices] | None:
    """Return the training and held-out rows; None if the labels cannot be held out."""
    labels, rows = known.labels, known.known
    assert labels is not None
    train, test = rows[~held], rows[held]
    # the training rows need at least two classes, one of which must be among the held-out rows
    if not np.isin(labels[test], labels[train]).any() or len(np.unique(labels[train])) < 2:
        return None
    return train, test


def _assign_folds(known: SideInformation, rng: RandomState) -> Indices:
    """Return the fold of each labelled point, or of each pair, stratified by class or sign."""
    strata = known.signs if known.labels is None else known.labels[known.known]
    # in random order within each stratum, the items get the folds 0, 1, 2, 3, 4, 0, 1, ...
    order = rng.permutation(len(strata))
    order = order[np.argsort(strata[order], kind="stable")]
    folds = np.empty(len(strata), dtype=np.intp)
    folds[order] = np.arange(len(strata)) % N_FOLDS
    return folds


def _draw_stratified(strata: Indices | Array, max_items: int, rng: RandomState) -> Indices:
    """Return the positions of at most `max_items` items, in proportion to the size of their strata.

    The first `N_FOLDS` items of each stratum, in random order, are drawn before all others.
    """
    if len(strata) <= max_items:
        return np.arange(len(strata))
    order = rng.permutation(len(strata))
    _, stratum, sizes = np.unique(strata[order], return_inverse=True, return_counts=True)
    by_stratum = np.argsort(stratum, kind="stable")
    # the rank of each item within its stratum, and the fraction of the stratum before it
    rank = np.empty(len(strata), dtype=np.intp)
    rank[by_stratum] = np.arange(len(strata)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    share = np.where(rank < N_FOLDS, 0.0, (rank + 0.5) / sizes[stratum])
    return np.sort(order[np.argsort(share, kind="stable")[:max_items]])


def _mean_over_folds(scores: Array) -> Array:
    """Return the mean of each row; nan if a candidate fails in a fold that scores another one."""
    scores = scores[:, ~np.isnan(scores).all(axis=0)]
    return scores.mean(axis=1) if scores.size else np.full(len(scores), np.nan)
