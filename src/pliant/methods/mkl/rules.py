"""Rules that set the kernel weights before the support vector machines (SVMs) are solved.

To add a rule, write a function of type `Rule` and add it to `RULES`, or to `CLASS_RULES` if it
needs classes. The key is then a value of the parameter ``weights``; CONTRIBUTING.md lists the
other steps. The value "simple" is not a rule: `newton` learns its weights together with the SVMs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations

import numpy as np

from pliant.core.typing import Array, Indices
from pliant.methods.mkl.alignment import Weighting, align, alignf, normalize_weights
from pliant.methods.mkl.problem import Grams, WeightLearning
from pliant.methods.svm import smo
from pliant.methods.svm.dual import svc_dual
from pliant.methods.svm.rows import DenseRows

Rule = Callable[[WeightLearning], Array]
"""learning -> non-negative weights with sum 1, shape (M,).

`learning.grams` holds the M Gram matrices of the training samples. `learning.problems` are the
SVMs: one, or one per pair of classes (0, 1), (0, 2), ..., (1, 2), ... The samples of SVM t are the
rows `learning.places[t]` of the Gram matrices; `learning.problems[t]` has their targets and
weights. A rule has no parameters, and ``max_seconds`` does not interrupt it.
"""


def by_uniform(learning: WeightLearning) -> Array:
    """Return equal weights."""
    count = len(learning.grams)
    return np.full(count, 1.0 / count)


def by_align(learning: WeightLearning) -> Array:
    """Return weights proportional to the alignment of each kernel with the target."""
    target = _alignment_target(learning)
    return align(learning.grams, target, _sample_weights(learning)).weights


def by_alignf(learning: WeightLearning) -> Array:
    """Return the weights of the sum best aligned with the target."""
    target = _alignment_target(learning)
    return alignf(learning.grams, target, _sample_weights(learning)).weights


def by_easy(learning: WeightLearning) -> Array:
    """Return the EasyMKL weights averaged over the pairs of classes."""
    pairs = easy(learning.grams, _signs(learning), 0.1)  # lam as in MKLpy
    return np.asarray(np.mean([pair.weights for pair in pairs], axis=0))


def easy(grams: Grams, signs: Sequence[Array], lam: float) -> list[Weighting]:
    """Return the weights of EasyMKL (Aiolli and Donini 2015) for each pair of classes.

        g* = argmin (1 - lam) g'Y (sum_m K_m) Y g + lam |g|^2   over g >= 0, sum over each class 1
        d_m proportional to g*'Y K_m Y g*,    Y = diag(y)

    Yg holds the coefficients of the difference between two points, one in each class's convex hull.
    They are the closest points for lam near 0, and the class means for lam = 1. The weight of a
    kernel is its share of their squared distance. The kernels are *summed*, as in MKLpy, so the
    effect of lam decreases with the number of kernels.

    With H = (1 - lam) sum_m K_m + lam I this is the SVM

        max 1'alpha - 1/2 alpha'Y H Y alpha    over alpha >= 0, y'alpha = 0

    up to scale: alpha = t g, with sum t in each class. The maximum objective over t is 2/q, at
    t = 2/q, where q is the EasyMKL objective at g. Bounds h and h + gap on the SVM's optimum
    therefore enclose min q between 2/(h + gap) and 2/h.

    The problem follows the code of MKLpy, by one of the authors; the equations have not been
    checked against the paper (Neurocomputing 169, 215-224).

    Parameters
    ----------
    grams : Grams
    signs : sequence of arrays of shape (n,)
        For each pair of classes, -1.0 and +1.0 for its samples and 0.0 for the others.
    lam : float
        Regularization, in (0, 1].

    Returns
    -------
    list of Weighting
        The value is the minimum, with a certified gap. The weights are uniform, with a
        UniformWeightsWarning, if the two points coincide for all kernels.
    """
    total = grams.combined(np.ones(len(grams)))  # sum_m K_m
    floor = 1e-14 * np.abs(total.diagonal()).max()
    weightings = []
    # d_m is proportional to (Yg)'K_m(Yg), the squared distance between the points in kernel m
    for y in signs:
        used = np.flatnonzero(y)
        value, gap, difference = _nearest_points(total[np.ix_(used, used)], y[used], lam)
        padded = np.zeros((grams.n, 1))
        padded[used, 0] = difference
        distances = np.maximum(grams.quadratics(padded)[:, 0], 0.0)
        distances[:] = distances if distances.sum() > floor else 0.0
        weights = normalize_weights(distances, "the classes do not differ")
        weightings.append(Weighting(weights, value, gap))
    return weightings


def _nearest_points(gram: Array, signs: Array, lam: float) -> tuple[float, float, Array]:
    """Compute min q of `easy`, its gap, and the minimiser Yg."""
    H = (1.0 - lam) * gram
    H[np.diag_indices_from(H)] += lam  # H = (1 - lam) K + lam I
    unit = float(H.diagonal().mean())
    # alpha <= t = 2/q <= n/(2 lam), as q >= lam (1/n_+ + 1/n_-) >= 4 lam/n, so no bound is active
    bound = unit * len(signs) / lam
    dual = svc_dual(DenseRows(H / unit), signs, bound)
    result = smo.solve(dual, tol=1e-12)
    assert result.certificate is not None
    # alpha sums to t in each class: Yg = Y alpha / t
    half = 0.5 * float(np.abs(result.x).sum())
    difference = result.x / half
    value = float(difference @ H @ difference)
    lower = 2.0 * unit / (result.certificate.value + result.certificate.gap)
    return value, max(0.0, value - lower), difference


def _alignment_target(learning: WeightLearning) -> Array:
    """Return the target of an alignment: a centred target, signs, or class indicators."""
    problem, *others = learning.problems
    if problem.epsilon is not None:  # regression
        target = problem.target - np.average(problem.target, weights=problem.weights)
        return np.asarray(target / max(np.abs(target).max(), np.finfo(np.float64).tiny))
    if not others:
        return _signs(learning)[0]
    labels = _labels(learning)
    return (labels[:, None] == np.arange(labels.max() + 1)) * 1.0


def _sample_weights(learning: WeightLearning) -> Array:
    """Return the weight of each sample of the Gram matrices; 0 for samples in no SVM."""
    weights = np.zeros(learning.grams.n)
    for places, problem in zip(learning.places, learning.problems, strict=True):
        weights[places] = problem.weights
    return weights


def _signs(learning: WeightLearning) -> list[Array]:
    """Return -1.0 and +1.0 for the samples of each SVM, and 0.0 for the others."""
    signs: list[Array] = [np.zeros(learning.grams.n) for _ in learning.problems]
    for each, places, problem in zip(signs, learning.places, learning.problems, strict=True):
        each[places] = problem.target
    return signs


def _labels(learning: WeightLearning) -> Indices:
    """Return the class of each sample, 0, 1, ..., from the pairs; -1 for a sample in no pair."""
    labels = np.full(learning.grams.n, -1)
    count = len(learning.problems)
    n_classes = next(k for k in range(2, count + 3) if k * (k - 1) // 2 == count)
    pairs = combinations(range(n_classes), 2)
    for (i, j), places, problem in zip(pairs, learning.places, learning.problems, strict=True):
        labels[places] = np.where(problem.target > 0.0, j, i)
    return labels


RULES: dict[str, Rule] = {
    "uniform": by_uniform,
    "align": by_align,
    "alignf": by_alignf,
}
"""Rules for classification and regression, by the value of ``weights``."""

CLASS_RULES: dict[str, Rule] = {"easy": by_easy}
"""Rules for classification only, by the value of ``weights``."""
