"""Kernel weights by the score of each kernel alone, in cross-validation.

    d_m proportional to max(0, score_m - delta)

score_m is the accuracy, or R^2, of a support vector machine (SVM) with kernel m alone on samples
that it has not seen; delta is a threshold. The idea is from Tanabe et al. 2008, whose accuracies
are all above delta; that text was not available, and the formula is unverified but for the
documentation of MKLpy, which has delta between 0 and the smallest accuracy. With such a delta
weights hardly differ: between .7 and .8, for accuracies. Here delta is the score of a constant
prediction unless it is given, so that a kernel that predicts no better gets zero.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from pliant.core.typing import Array, Indices
from pliant.core.validation import (
    check_random_state,
)
from pliant.methods.mkl.grams import Grams
from pliant.methods.mkl.weighting import Weighting, normalised
from pliant.methods.svm.dual import MarginDual, svc_dual, svr_dual
from pliant.methods.svm.rows import DenseRows
from pliant.methods.svm.smo import solve

N_FOLDS = 5
"""Folds of a cross-validation."""

TOL = 1e-3
"""Relative gap to which the SVMs are solved: scores are far less accurate than that."""

STEPS = 200
"""Most steps of an SVM, for each of its samples: more change no score, but a large C takes them."""


class Part(NamedTuple):
    """One SVM of one fold.

    Attributes
    ----------
    train, test : arrays of row numbers
        Where it is learned, and where it predicts.
    margin : callable
        Rows of len(train) rows -> MarginDual.
    """

    train: Indices
    test: Indices
    margin: Callable[[DenseRows], MarginDual]


def performance(scores: Array, delta: float) -> Weighting:
    """Return weights proportional to max(0, score - delta).

    Parameters
    ----------
    scores : array of shape (M,)
        Of `classifier_scores` or `regressor_scores`.
    delta : float
        The threshold: `chance` for classification, 0 for R^2.

    Returns
    -------
    Weighting
        The value is the best score of a single kernel, the gap 0. If no score exceeds delta, all
        get the same weight, with a UniformWeightsWarning.
    """
    raw = np.maximum(scores - delta, 0.0)
    return Weighting(
        normalised(raw, f"no kernel alone scores above {delta:.3g}"), scores.max(), 0.0
    )


def chance(labels: Indices, sample_weight: Array | None = None) -> float:
    """Return the accuracy of the best constant prediction: the share of the largest class."""
    counts = np.bincount(labels, sample_weight)
    return float(counts.max() / counts.sum())


def classifier_scores(
    grams: Grams,
    labels: Indices,
    C: Array,
    sample_weight: Array | None = None,
    *,
    n_folds: int = N_FOLDS,
    random_state: Any = None,
) -> Array:
    """Return the accuracy of an SVM with each kernel alone in cross-validation, shape (M,).

    Parameters
    ----------
    grams : Grams
    labels : array of int of shape (n,)
        The classes 0, 1, ...; more than two are separated by pairs, which vote. -1 for samples
        that are left out.
    C : array of shape (n,)
        Penalty parameters, weights of samples included.
    sample_weight : array of shape (n,), optional
        The weights of samples in the accuracy.
    n_folds : int
        At least 2; folds are stratified.
    random_state : int, RandomState or None
        Draws the folds.
    """
    weights = np.ones(grams.n) if sample_weight is None else sample_weight
    used = np.flatnonzero(labels >= 0)
    folds = stratified_folds(labels[used], n_folds, random_state)
    n_classes = int(labels.max()) + 1
    pairs = list(combinations(range(n_classes), 2))
    parts: list[Part] = []
    constant: dict[int, float] = {}
    for train, test in _splits(folds, used):
        for i, j in pairs:
            members = train[(labels[train] == i) | (labels[train] == j)]
            signs = np.where(labels[members] == j, 1.0, -1.0)
            if signs.size == 0 or np.ptp(signs) == 0.0:  # the only class of the two wins
                constant[len(parts)] = float(signs[0]) if signs.size else 0.0
            margin = partial(svc_dual, signs=signs, C=C[members])
            parts.append(Part(members, test, margin))
    scores = np.empty(len(grams))
    for m, decisions in enumerate(held_out(grams, parts, constant)):
        votes, sums = np.zeros((2, len(labels), n_classes))
        for part, (i, j), f in zip(
            parts, pairs * (len(parts) // len(pairs)), decisions, strict=True
        ):
            for k, own in ((i, -f), (j, f)):
                votes[part.test, k] += own > 0.0
                sums[part.test, k] += own
        ranks = votes + sums / (3.0 * (np.abs(sums) + 1.0))  # sums decide between equal votes
        scores[m] = np.average((ranks.argmax(axis=1) == labels)[used], weights=weights[used])
    return scores


def regressor_scores(
    grams: Grams,
    target: Array,
    C: Array,
    epsilon: float,
    sample_weight: Array | None = None,
    *,
    n_folds: int = N_FOLDS,
    random_state: Any = None,
) -> Array:
    """Return R^2 of epsilon-regression with each kernel alone in cross-validation, shape (M,).

    R^2 = 1 - sum_i s_i (y_i - f_i)^2 / sum_i s_i (y_i - c_i)^2, over all samples, with f_i and
    the mean c_i learned on the folds that sample i is not in; 0 where the denominator is.

    Parameters
    ----------
    target : array of shape (n,)
    epsilon : float
        Half the width of the tube, in the units of the target.
    grams : Grams
    C : array of shape (n,)
        Penalty parameters, weights of samples included.
    sample_weight : array of shape (n,), optional
        The weights s of samples in R^2.
    n_folds : int
        At least 2; folds are drawn at random.
    random_state : int, RandomState or None
        Draws the folds.
    """
    weights = np.ones(grams.n) if sample_weight is None else sample_weight
    folds = stratified_folds(np.zeros(grams.n, dtype=np.intp), n_folds, random_state)
    parts, total = [], 0.0
    for train, test in _splits(folds, np.arange(grams.n)):
        margin = partial(svr_dual, target=target[train], C=C[train], epsilon=epsilon)
        parts.append(Part(train, test, margin))
        mean = np.average(target[train], weights=weights[train])
        total += float(weights[test] @ (target[test] - mean) ** 2)
    scores = np.zeros(len(grams))
    for m, decisions in enumerate(held_out(grams, parts, {})):
        errors = sum(
            float(weights[part.test] @ (target[part.test] - f) ** 2)
            for part, f in zip(parts, decisions, strict=True)
        )
        scores[m] = 1.0 - errors / total if total > 0.0 else 0.0
    return scores


def stratified_folds(labels: Indices, n_folds: int, random_state: Any) -> Indices:
    """Return the fold of each sample, shape (n,): each class is spread evenly, in random order."""
    order = np.lexsort((check_random_state(random_state).permutation(len(labels)), labels))
    folds = np.empty(len(labels), dtype=np.intp)
    folds[order] = np.arange(len(labels)) % min(n_folds, len(labels))
    return folds


def _splits(folds: Indices, used: Indices) -> Iterator[tuple[Indices, Indices]]:
    """Yield the row numbers, `used`, of the samples outside and inside each fold."""
    for fold in range(int(folds.max()) + 1):
        yield used[folds != fold], used[folds == fold]


def held_out(
    grams: Grams, parts: Sequence[Part], constant: dict[int, float]
) -> Iterator[list[Array]]:
    """Yield for each kernel the decision values of each SVM on its test rows.

    Each kernel is read once. SVMs in `constant` are not solved, and predict that value. (Starts
    from the solution with the kernel before took as long, measured on 90 Gaussians, as zero.)
    """
    for m in range(len(grams)):
        gram = grams[m]
        decisions = []
        for k, part in enumerate(parts):
            if k in constant:
                decisions.append(np.full(len(part.test), constant[k]))
                continue
            dual = part.margin(DenseRows(gram[np.ix_(part.train, part.train)]))
            result = solve(dual, tol=TOL, max_iter=STEPS * len(part.train))
            certificate = result.certificate
            assert certificate is not None
            across = gram[np.ix_(part.test, part.train)]
            decisions.append(across @ result.x + certificate.intercept)
        yield decisions
