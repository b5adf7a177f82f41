"""How well distances separate similar pairs from dissimilar ones, and order triplets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.base import clone
from sklearn.metrics import roc_auc_score
from sklearn.utils.validation import check_is_fitted

from pliant.core.kernels.base import Kernel
from pliant.core.typing import Array, Indices
from pliant.core.validation import check_choice, check_points, check_share, check_vector
from pliant.methods.side_information.information import SideInformation
from pliant.methods.side_information.learner import KernelLearner
from pliant.methods.side_information.pair_folds import PairFold, PairKFold
from pliant.methods.side_information.pairs import check_tuples

CRITERIA = ("accuracy", "balanced_accuracy")

BLOCK = 1000
"""Pairs whose kernel values are computed at a time: a matrix of 2000 points at most."""


class PairScore(NamedTuple):
    """How well a threshold on distances separates similar pairs from dissimilar ones.

    Attributes
    ----------
    accuracy : float
        The fraction of pairs on the right side: similar at or below the threshold.
    balanced_accuracy : float
        The mean of this fraction over the two kinds of pairs; nan if there is one kind only.
    auc : float
        Area under the ROC curve, the probability that a similar pair is nearer than a dissimilar
        one. It needs no threshold; nan if there is one kind only.
    """

    accuracy: float
    balanced_accuracy: float
    auc: float


def pair_distances(model: Any, X: npt.ArrayLike, pairs: npt.ArrayLike) -> Array:
    """Return the distances between the two points of each pair, by a kernel or an embedding.

    Parameters
    ----------
    model : Kernel or fitted estimator
        For a kernel, and a learner whose ``transform`` returns kernel values, the distance in
        feature space, the square root of k(x, x) + k(x', x') - 2 k(x, x'). For other transformers,
        such as `KernelEmbedding`, the Euclidean distance of their outputs.
    X : array-like of shape (n_samples, n_features)
        The points: those of a fit, or new ones.
    pairs : array-like of shape (n_pairs, 2)
        Row indices of X.

    Returns
    -------
    array of shape (n_pairs,)

    Raises
    ------
    ValueError
        For indices that are not of X, or a learner of precomputed kernel values.
    TypeError
        For a model that is neither a kernel nor a transformer.

    Examples
    --------
    >>> from pliant.kernels import Linear
    >>> from pliant.metrics import pair_distances
    >>> pair_distances(Linear(), [[0.0, 0.0], [3.0, 4.0], [0.0, 1.0]], [(0, 1), (2, 0)])
    array([5., 1.])
    """
    if isinstance(model, Kernel):
        points = check_points(X, "X")
        return _in_feature_space(model, points, check_tuples("pairs", pairs, len(points)))
    if not hasattr(model, "transform"):
        raise TypeError(f"expected a kernel or a fitted transformer, got {model!r:.100}")
    check_is_fitted(model)
    if isinstance(model, KernelLearner) and model._gives_gram:
        if model._precomputed:
            raise ValueError(
                "expected a learner of points, got one with kernel='precomputed': its rows hold no "
                "kernel values between new points"
            )
        return pair_distances(model.kernel_, X, pairs)
    places = np.asarray(model.transform(X), dtype=np.float64)
    i, j = check_tuples("pairs", pairs, len(places)).T
    return np.asarray(np.linalg.norm(places[i] - places[j], axis=1))


def _in_feature_space(kernel: Kernel, points: Array, pairs: Indices) -> Array:
    squares = np.empty(len(pairs))
    for low in range(0, len(pairs), BLOCK):
        members, places = np.unique(pairs[low : low + BLOCK], return_inverse=True)
        gram, (i, j) = kernel(points[members]), places.reshape(-1, 2).T
        diagonal = gram.diagonal()
        squares[low : low + BLOCK] = diagonal[i] + diagonal[j] - gram[i, j] - gram[j, i]
    return np.sqrt(np.maximum(squares, 0.0))


def pair_threshold(
    distances: npt.ArrayLike, signs: npt.ArrayLike, *, criterion: str = "accuracy"
) -> float:
    """Return the threshold that best separates similar pairs, at or below it, from the others.

    Calibrate it on pairs that the model was not learned from: the distances of training pairs are
    too small, or too large, as the learner has changed them. O(n log n).

    Parameters
    ----------
    distances : array-like of shape (n_pairs,)
        Such as those of `pair_distances`.
    signs : array-like of shape (n_pairs,)
        +1 for similar pairs, -1 for dissimilar ones; some of each.
    criterion : {"accuracy", "balanced_accuracy"}, default="accuracy"
        What is maximised: the fraction of correct pairs, or its mean over the two kinds.

    Returns
    -------
    float
        Halfway between two distances; the smallest of several that are equally good. -inf if it is
        best to call all pairs dissimilar, and inf if all are best called similar.

    Examples
    --------
    >>> from pliant.metrics import pair_threshold
    >>> pair_threshold([0.1, 0.3, 0.5, 0.9], [1, 1, -1, -1])
    0.4
    """
    d, s = _checked(distances, signs)
    check_choice("criterion", criterion, CRITERIA)
    similar = s > 0
    if similar.all() or not similar.any():
        raise ValueError(
            f"expected similar and dissimilar pairs, got {int(similar.sum())} similar pairs of "
            f"{len(s)}"
        )
    weights = np.full(len(s), 1.0)
    if criterion == "balanced_accuracy":
        weights = np.where(similar, 1.0 / similar.sum(), 1.0 / (~similar).sum())
    values, places = np.unique(d, return_inverse=True)
    # a threshold above the first k values wins their similar pairs and loses their dissimilar ones
    gains = np.bincount(places.reshape(-1), weights=np.where(similar, weights, -weights))
    totals = np.concatenate([[0.0], np.cumsum(gains)])
    best = int(np.argmax(totals > totals.max() - 1e-12))
    if best in (0, len(values)):
        return -np.inf if best == 0 else np.inf
    return float(values[best - 1] + 0.5 * (values[best] - values[best - 1]))


def pair_score(distances: npt.ArrayLike, signs: npt.ArrayLike, threshold: float) -> PairScore:
    """Return how well a threshold on distances separates similar pairs from dissimilar ones.

    Parameters
    ----------
    distances : array-like of shape (n_pairs,)
        Such as those of `pair_distances`.
    signs : array-like of shape (n_pairs,)
        +1 for similar pairs, -1 for dissimilar ones.
    threshold : float
        Pairs at this distance or nearer are taken as similar; see `pair_threshold`.

    Returns
    -------
    PairScore
        Accuracy, balanced accuracy, and area under the ROC curve.

    Examples
    --------
    >>> from pliant.metrics import pair_score
    >>> pair_score([0.1, 0.6, 0.5, 0.9], [1, 1, -1, -1], threshold=0.7)
    PairScore(accuracy=0.75, balanced_accuracy=0.75, auc=0.75)
    """
    d, s = _checked(distances, signs)
    if np.ndim(threshold) or np.isnan(threshold):
        raise ValueError(f"expected threshold to be a number, got {threshold!r}")
    right = (d <= threshold) == (s > 0)
    kinds = [right[s == sign] for sign in (1.0, -1.0)]
    if not all(len(kind) for kind in kinds):
        return PairScore(float(right.mean()), np.nan, np.nan)
    balanced = float(np.mean([kind.mean() for kind in kinds]))
    return PairScore(float(right.mean()), balanced, float(roc_auc_score(s, -d)))


def triplet_score(model: Any, X: npt.ArrayLike, triplets: npt.ArrayLike) -> float:
    """Return the fraction of triplets (a, b, c) in which a is nearer to b than to c.

    Parameters
    ----------
    model, X
        As in `pair_distances`.
    triplets : array-like of shape (n_triplets, 3)
        Row indices of X; at least one triplet.

    Returns
    -------
    float
        From 0 to 1. Equal distances count as half.

    Examples
    --------
    >>> from pliant.kernels import Linear
    >>> from pliant.metrics import triplet_score
    >>> triplet_score(Linear(), [[0.0], [1.0], [3.0]], [(0, 1, 2), (2, 0, 1)])
    0.5
    """
    rows = check_tuples("triplets", triplets, len(np.asarray(X)), triplets=True)
    if not len(rows):
        raise ValueError("expected some triplets, got none")
    near, far = (pair_distances(model, X, rows[:, [0, k]]) for k in (1, 2))
    return float(np.mean((near < far) + 0.5 * (near == far)))


def cross_validate_pairs(
    learner: Any,
    X: npt.ArrayLike,
    information: SideInformation,
    *,
    cv: PairKFold | None = None,
    calibration: float = 0.25,
    criterion: str = "accuracy",
) -> Mapping[str, Array]:
    """Return the scores of a learner from pairs on held-out pairs, fold by fold.

    In each fold a part of the training pairs, of both kinds in proportion, is set aside. The
    learner is fitted to the other training pairs, the threshold is calibrated on those set aside,
    and the held-out pairs are scored.

    Parameters
    ----------
    learner : estimator
        An `SCGLogDetLearner`, `LogDetLearner`, `OrderSpectralLearner` or `KernelEmbedding`; it is
        not changed.
    X : array-like of shape (n_samples, n_features)
        All points.
    information : SideInformation
        Pairs or triplets on them.
    cv : PairKFold, optional
        By default five folds of the points, ``PairKFold(5, random_state=0)``.
    calibration : float, default=0.25
        Fraction of the training pairs that the threshold is calibrated on, in (0, 1).
    criterion : {"accuracy", "balanced_accuracy"}, default="accuracy"
        What the threshold maximises.

    Returns
    -------
    dict of str to array of shape (n_splits,)
        ``accuracy``, ``balanced_accuracy`` and ``auc`` of the held-out pairs (see `PairScore`),
        ``threshold``, and ``n_pairs``, the number of held-out pairs.

    Raises
    ------
    ValueError
        If the pairs are too few: both kinds are needed to calibrate a threshold.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from pliant import LogDetLearner, SideInformation
    >>> from pliant.metrics import cross_validate_pairs
    >>> X, y = load_iris(return_X_y=True)
    >>> alike = [(i, i + 1) for i in range(0, 148) if y[i] == y[i + 1]]
    >>> unlike = [(i, i + 50) for i in range(0, 100)]
    >>> known = SideInformation.from_pairs(150, alike, unlike)
    >>> scores = cross_validate_pairs(LogDetLearner(random_state=0), X, known)
    >>> bool(scores["auc"].mean() > 0.9)
    True
    """
    points = check_points(X, "X")
    if len(points) != information.n_samples:
        raise ValueError(
            f"expected X with {information.n_samples} rows, as the side information has, got "
            f"{len(points)}"
        )
    check_share("calibration", calibration)
    folds = (cv or PairKFold(5, random_state=0)).split(information)
    rows = [_fold_scores(clone(learner), points, fold, calibration, criterion) for fold in folds]
    names = ("threshold", "n_pairs", *PairScore._fields)
    return dict(zip(names, map(np.array, zip(*rows, strict=True)), strict=True))


def _fold_scores(
    learner: Any, points: Array, fold: PairFold, calibration: float, criterion: str
) -> tuple[float, ...]:
    """Return the threshold, the number of held-out pairs, and their scores."""
    own = points[fold.train]
    kept, aside = [], []
    for pairs in (fold.similar, fold.dissimilar):
        every = np.arange(len(pairs))
        # spread evenly over the pairs, which are sorted by their points
        chosen = np.floor((every + 1) * calibration) > np.floor(every * calibration)
        kept.append(pairs[~chosen])
        aside.append(pairs[chosen])
    if not all(map(len, aside)):
        raise ValueError(
            f"expected similar and dissimilar pairs to calibrate a threshold on, got "
            f"{len(aside[0])} similar and {len(aside[1])} dissimilar ones in a training part with "
            f"{len(fold.similar)} and {len(fold.dissimilar)}: raise calibration, or lower n_splits"
        )
    learner.fit(own, similar=kept[0], dissimilar=kept[1])
    signs = np.repeat([1.0, -1.0], [len(pairs) for pairs in aside])
    distances = pair_distances(learner, own, np.concatenate(aside))
    threshold = pair_threshold(distances, signs, criterion=criterion)
    held_out = pair_distances(learner, points, fold.test_pairs)
    return threshold, len(held_out), *pair_score(held_out, fold.test_signs, threshold)


def _checked(distances: npt.ArrayLike, signs: npt.ArrayLike) -> tuple[Array, Array]:
    """Return distances and signs of the same pairs, at least one."""
    n = int(np.size(distances))
    d, s = check_vector("distances", distances, n), check_vector("signs", signs, n)
    if not n:
        raise ValueError("expected some pairs, got none")
    wrong = (s != 1.0) & (s != -1.0)
    if wrong.any():
        place = int(np.argmax(wrong))
        raise ValueError(f"expected signs of +1 and -1, got {s[place]:g} at {place}")
    return d, s
