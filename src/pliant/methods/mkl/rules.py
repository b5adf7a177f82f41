"""Rules for the weights of kernels, besides "simple", which is solved in `newton`.

A rule takes the weight problem, the SVMs in its order, and True for classification. It returns
the weights, shape (M,), with sum 1.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations

import numpy as np

from pliant.core.typing import Array, Indices
from pliant.methods.mkl.alignment import Weighting, align, alignf, normalised
from pliant.methods.mkl.newton import Grams, WeightLearning
from pliant.methods.svm import smo
from pliant.methods.svm.dual import DenseRows, svc_dual
from pliant.methods.svm.estimators import SVMProblem

Rule = Callable[[WeightLearning, Sequence[SVMProblem], bool], Array]
"""(problem of the weights, its SVMs, True for classes) -> weights, shape (M,)."""


def uniform(learning: WeightLearning, problems: Sequence[SVMProblem], classes: bool) -> Array:
    """Return equal weights that sum to 1."""
    count = len(learning.grams)
    return np.full(count, 1.0 / count)


def by_alignment(learning: WeightLearning, problems: Sequence[SVMProblem], classes: bool) -> Array:
    """Return weights in proportion to the alignment of each kernel."""
    target, weights = _target(learning, problems, classes), _sample_weights(learning, problems)
    return align(learning.grams, target, weights).weights


def by_best_alignment(
    learning: WeightLearning, problems: Sequence[SVMProblem], classes: bool
) -> Array:
    """Return the weights of the sum that is best aligned."""
    target, weights = _target(learning, problems, classes), _sample_weights(learning, problems)
    return alignf(learning.grams, target, weights).weights


def by_easy(learning: WeightLearning, problems: Sequence[SVMProblem], classes: bool) -> Array:
    """Return the mean weights of EasyMKL over the pairs of classes."""
    several = easy(learning.grams, _signs(learning, problems), 0.1)  # lam as in MKLpy
    return np.asarray(np.mean([each.weights for each in several], axis=0))


def easy(
    grams: Grams, signs: Sequence[Array], lam: float, *, tol: float = 1e-12
) -> list[Weighting]:
    """Return the weights of EasyMKL (Aiolli and Donini 2015) for each pair of classes.

        g* = argmin (1 - lam) g'Y (sum_m K_m) Y g + lam |g|^2   over g >= 0, sum over each class 1
        d_m proportional to g*'Y K_m Y g*,    Y = diag(y)

    Yg are the coefficients of the difference of two points, one of the convex hull of each class:
    the closest two for lam near 0, and the means of the classes for lam = 1. A kernel has as much
    weight as it contributes to their squared distance. The kernels are *summed*, as in MKLpy, so
    that the more kernels there are, the less lam counts.

    With H = (1 - lam) sum_m K_m + lam I this is the support vector machine

        max 1'alpha - 1/2 alpha'Y H Y alpha    over alpha >= 0, y'alpha = 0

    in other units: alpha = t g with a sum of t in each class, and along that ray the maximum is
    2/q at t = 2/q, with q the objective at g. So a lower bound h of the SVM's optimum and an upper
    one h + gap enclose min q between 2/(h + gap) and 2/h.

    Neurocomputing 169, 215-224: the problem is taken from the code of MKLpy, by one of the authors;
    the text of the paper was not available, so that its equations are unverified.

    Parameters
    ----------
    grams : Grams
    signs : sequence of arrays of shape (n,)
        For each pair -1.0 and +1.0, and 0.0 for samples of other classes. For two classes there
        is one pair.
    lam : float
        In (0, 1].
    tol : float
        The gap of the SVM, relative to its objective.

    Returns
    -------
    list of Weighting
        The value is the minimum, with its certified gap. Weights are uniform, with a
        UniformWeightsWarning, where the two points are the same for all kernels.
    """
    total = grams.combined(np.ones(len(grams)))  # sum_m K_m
    floor = 1e-14 * np.abs(total.diagonal()).max()
    weightings = []
    # d_m is proportional to (Yg)'K_m(Yg), the squared distance of the two points by kernel m
    for y in signs:
        used = np.flatnonzero(y)
        value, gap, difference = _nearest_points(total[np.ix_(used, used)], y[used], lam, tol)
        whole = np.zeros((grams.n, 1))
        whole[used, 0] = difference
        distances = np.maximum(grams.quadratics(whole)[:, 0], 0.0)
        distances[:] = distances if distances.sum() > floor else 0.0
        weights = normalised(distances, "the classes do not differ")
        weightings.append(Weighting(weights, value, gap))
    return weightings


def _nearest_points(
    gram: Array, signs: Array, lam: float, tol: float
) -> tuple[float, float, Array]:
    """Return q at the best g of `easy`, the gap of q, and Yg."""
    H = (1.0 - lam) * gram
    H[np.diag_indices_from(H)] += lam  # H = (1 - lam) K + lam I
    unit = float(H.diagonal().mean())
    # alpha <= t = 2/q, and q >= lam (1/n_+ + 1/n_-) >= 4 lam/n: no alpha reaches this bound
    bound = unit * len(signs) / lam
    dual = svc_dual(DenseRows(H / unit), signs, bound)
    result = smo.solve(dual, tol=tol, max_iter=-1)
    assert result.certificate is not None
    # alpha sums to t in each class: Yg = Y alpha / t
    half = 0.5 * float(np.abs(result.x).sum())
    difference = result.x / half
    value = float(difference @ H @ difference)
    lower = 2.0 * unit / (result.certificate.value + result.certificate.gap)
    return value, max(0.0, value - lower), difference


def _target(learning: WeightLearning, problems: Sequence[SVMProblem], classes: bool) -> Array:
    """Return the target of an alignment: centred numbers, signs, or columns of 0 and 1."""
    if not classes:
        target = problems[0].target - np.average(problems[0].target, weights=problems[0].weights)
        return np.asarray(target / max(np.abs(target).max(), np.finfo(np.float64).tiny))
    if len(problems) == 1:
        return _signs(learning, problems)[0]
    labels = _labels(learning, problems)
    return (labels[:, None] == np.arange(labels.max() + 1)) * 1.0


def _sample_weights(learning: WeightLearning, problems: Sequence[SVMProblem]) -> Array:
    """Return the weight of each sample of the Gram matrices; 0 for one in no SVM."""
    weights = np.zeros(learning.grams.n)
    for places, problem in zip(learning.places, problems, strict=True):
        weights[places] = problem.weights
    return weights


def _signs(learning: WeightLearning, problems: Sequence[SVMProblem]) -> list[Array]:
    """Return -1.0 and +1.0 for the samples of each SVM, and 0.0 for the others."""
    signs: list[Array] = [np.zeros(learning.grams.n) for _ in problems]
    for each, places, problem in zip(signs, learning.places, problems, strict=True):
        each[places] = problem.target
    return signs


def _labels(learning: WeightLearning, problems: Sequence[SVMProblem]) -> Indices:
    """Return the class of each sample, 0, 1, ..., from pairs of classes; -1 for samples of none."""
    labels = np.full(learning.grams.n, -1)
    n_classes = next(k for k in range(2, len(problems) + 3) if k * (k - 1) // 2 == len(problems))
    pairs = combinations(range(n_classes), 2)
    for (i, j), places, problem in zip(pairs, learning.places, problems, strict=True):
        labels[places] = np.where(problem.target > 0.0, j, i)
    return labels


RULES: dict[str, Rule] = {
    "uniform": uniform,
    "align": by_alignment,
    "alignf": by_best_alignment,
}
"""Rules by the name of the parameter ``weights``; "simple" is the problem of `newton`."""

CLASS_RULES: dict[str, Rule] = {"easy": by_easy}
"""Rules for classification only."""
