"""The rules that give the weights of kernels without minimising the objective of the SVM.

A rule takes the estimator, the problem, the functions to learn (`Task`) in the order of the
problem's SVMs, and a callback, and returns the weights, shape (M,), with sum 1. What it computes is
in the file that it calls.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from itertools import combinations
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from pliant.core.typing import Array, Callback, Indices
from pliant.core.validation import stack_level
from pliant.methods.mkl.alignment import align, alignf
from pliant.methods.mkl.easy import easy
from pliant.methods.mkl.performance import (
    chance,
    classifier_scores,
    performance,
    regressor_scores,
)
from pliant.methods.mkl.problem import WeightLearning
from pliant.methods.mkl.radius_margin import radius_margin
from pliant.methods.mkl.weighting import shared
from pliant.methods.svm.task import Task

Rule = Callable[[Any, WeightLearning, list[Task], Callback], Array]
"""(estimator, problem, functions to learn, callback) -> weights, shape (M,)."""

LAM = 0.1
"""The lam of EasyMKL, as in MKLpy."""


def uniform(
    estimator: Any, problem: WeightLearning, tasks: list[Task], callback: Callback
) -> Array:
    """Return equal weights that sum to 1."""
    count = len(problem.grams)
    return np.full(count, 1.0 / count)


def by_performance(
    estimator: Any, problem: WeightLearning, tasks: list[Task], callback: Callback
) -> Array:
    """Return weights by the cross-validated score of each kernel alone."""
    weights, penalty, seed = _weights(problem, tasks), estimator.C, estimator.random_state
    if not hasattr(estimator, "classes_"):
        scores = regressor_scores(
            problem.grams, tasks[0].target, penalty * weights, float(estimator.epsilon), weights,
            random_state=seed,
        )  # fmt: skip
        return performance(scores, 0.0).weights
    labels = _labels(problem, tasks)
    scores = classifier_scores(problem.grams, labels, penalty * weights, weights, random_state=seed)
    used = labels >= 0
    return performance(scores, chance(labels[used], weights[used])).weights


def by_alignment(
    estimator: Any, problem: WeightLearning, tasks: list[Task], callback: Callback
) -> Array:
    """Return weights by the alignment of each kernel, or of their sum."""
    weights = _weights(problem, tasks)
    target: Array
    if not hasattr(estimator, "classes_"):
        target = tasks[0].target - np.average(tasks[0].target, weights=weights)
        target /= max(np.abs(target).max(), np.finfo(np.float64).tiny)  # squares stay numbers
    elif len(tasks) == 1:
        target = _signs(problem, tasks)[0]
    else:
        labels = _labels(problem, tasks)
        target = (labels[:, None] == np.arange(labels.max() + 1)) * 1.0
    rule = align if estimator.weights == "align" else alignf
    return rule(problem.grams, target, weights, center=bool(estimator.center)).weights


def by_easy(
    estimator: Any, problem: WeightLearning, tasks: list[Task], callback: Callback
) -> Array:
    """Return the mean weights of EasyMKL over the pairs of classes."""
    return shared(easy(problem.grams, _signs(problem, tasks), LAM)).weights


def by_radius_margin(
    estimator: Any, problem: WeightLearning, tasks: list[Task], callback: Callback
) -> Array:
    """Return the mean weights of the smallest ratios of radius and margin of pairs of classes."""
    results, tol = [], float(estimator.tol)
    for task, places, signs in zip(tasks, problem.places, _signs(problem, tasks), strict=True):
        rows = np.zeros(problem.grams.n, dtype=np.intp)
        rows[places] = task.members
        result = radius_margin(problem.grams, signs, tol=tol, callback=callback, rows=rows)
        results.append(result)
    worst = max(each.gap / each.value for each in results)
    if worst > tol and callback(None) is not True:
        warnings.warn(
            f"the ratio of radius and margin has a relative gap of {worst:.3g}, where tol = "
            f"{tol:g} was asked for: raise tol",
            ConvergenceWarning,
            stacklevel=stack_level(),
        )
    return shared(results).weights


def _weights(problem: WeightLearning, tasks: list[Task]) -> Array:
    """Return the weight of each sample of the Gram matrices; 0 for those of no task."""
    weights = np.zeros(problem.grams.n)
    for places, task in zip(problem.places, tasks, strict=True):
        weights[places] = task.weights
    return weights


def _signs(problem: WeightLearning, tasks: list[Task]) -> list[Array]:
    """Return for each task -1.0 and +1.0, and 0.0 for samples that are not in it."""
    signs: list[Array] = [np.zeros(problem.grams.n) for _ in tasks]
    for each, places, task in zip(signs, problem.places, tasks, strict=True):
        each[places] = task.target
    return signs


def _labels(problem: WeightLearning, tasks: list[Task]) -> Indices:
    """Return the class of each sample, 0, 1, ..., from pairs of classes; -1 for samples of none."""
    labels = np.full(problem.grams.n, -1)
    n_classes = next(k for k in range(2, len(tasks) + 3) if k * (k - 1) // 2 == len(tasks))
    pairs = combinations(range(n_classes), 2)
    for (i, j), places, task in zip(pairs, problem.places, tasks, strict=True):
        labels[places] = np.where(task.target > 0.0, j, i)
    return labels


RULES: Mapping[str, Rule] = {
    "uniform": uniform,
    "performance": by_performance,
    "align": by_alignment,
    "alignf": by_alignment,
    "easy": by_easy,
    "radius-margin": by_radius_margin,
}
"""Rules by the name of the parameter ``weights``."""

CLASSIFICATION_RULES = ("easy", "radius-margin")
"""Rules that need classes."""
