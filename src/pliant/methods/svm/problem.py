"""The problems of a support vector machine (SVM), and what is learned from each.

`classification_data` and `regression_data` check the training data. They state one `SVMProblem` for
each function to learn: one for two classes or for regression, otherwise one for each pair of
classes. A method turns each problem into a `LearnedFunction`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from pliant.core import process
from pliant.core.blocks import in_blocks
from pliant.core.parameters import plain
from pliant.core.progress import Progress
from pliant.core.typing import Array, Indices
from pliant.core.validation import (
    check_targets,
    check_varies,
    check_weights,
    class_codes,
    class_factors,
    positive_rows,
    validate_data,
)
from pliant.kernels.base import Kernel

if not process.BARE:  # what a fit needs
    from pliant.methods.svm.dual import MarginDual, svc_dual, svr_dual
    from pliant.methods.svm.rows import Rows


@dataclass(frozen=True, eq=False)
class SVMProblem:
    """The SVM problem of one real function, for any kernel.

    `points`, shape (m, d), are the training points of positive weight, or their row numbers, shape
    (m, 1), for kernel="precomputed"; `members` holds their row numbers in the training data.
    `target` holds labels -1.0 and +1.0, or real targets t with y = centre + scale * t. `weights`
    multiply C. `epsilon` is half the width of the regression tube, or None for classification.
    """

    points: Array
    members: Indices
    target: Array
    weights: Array
    C: float
    epsilon: float | None = None
    centre: float = 0.0
    scale: float = 1.0

    def subset(self, chosen: Indices) -> SVMProblem:
        """Return the problem restricted to the positions `chosen`."""
        return replace(
            self,
            points=self.points[chosen],
            members=self.members[chosen],
            target=self.target[chosen],
            weights=self.weights[chosen],
        )

    def dual(self, rows: Rows, psd: bool = True) -> MarginDual:
        """Return the dual problem for the Gram matrix of the points."""
        bounds = self.C * self.weights
        # classification: 0 <= y_i beta_i <= C w_i; regression: |beta_i| <= C w_i
        if self.epsilon is None:
            return svc_dual(rows, self.target, bounds, psd=psd)
        return svr_dual(rows, self.target, bounds, self.epsilon, psd=psd)


@dataclass(frozen=True, eq=False)
class TrainingData:
    """The rows of positive weight, and the problems on them.

    `points` are these rows of X, or their numbers, shape (n, 1), for kernel="precomputed"; `used`
    holds their numbers. `X` is what the kernel is built from: `points`, or the whole Gram matrix
    for kernel="precomputed". `classes` are the sorted labels, or None for regression;
    `feature_names` are the columns that a kernel may refer to, or None.
    """

    X: Array
    points: Array
    used: Indices
    problems: list[SVMProblem]
    classes: npt.NDArray[Any] | None = None
    feature_names: Sequence[str] | None = None

    def with_C(self, C: float) -> TrainingData:
        """Return the data with another C in every problem."""
        return replace(self, problems=[replace(each, C=C) for each in self.problems])


class WarmStart(NamedTuple):
    """The solution for another C, and the ratio of the current C to that C."""

    beta: Array
    growth: float = 1.0


@dataclass(frozen=True, eq=False)
class LearnedFunction:
    """A learned function, in the units of its problem.

    `beta` holds the coefficients of all m points, and `intercept` is b, or one number per part.
    `history` holds objective and gap at each solver check; `attributes` holds further fitted
    attributes by name. `warning` reports a gap above ``tol``, and is empty otherwise.
    `path_start`, shape (m,), is the warm start for another C; `beta` by default.
    """

    kernel: Kernel
    beta: Array
    intercept: float | Array
    objective: float
    gap: float
    n_iter: int
    history: list[Progress]
    attributes: Mapping[str, Any] = field(default_factory=dict)
    warning: str = ""
    path_start: Array | None = None


def classification_data(
    model: Any, X: Any, y: Any, sample_weight: npt.ArrayLike | None
) -> TrainingData:
    """Check the data of a classifier; state one problem, or one for each pair of classes.

    `model` has the parameters ``C`` and ``class_weight``, and gets ``n_features_in_``.
    """
    X, y = validate_data(model, X, y, dtype=np.float64, ensure_min_samples=2)
    used, weights, points, y = positive_rows(check_weights(sample_weight, X), X, y)
    classes, codes = class_codes(y)
    if len(classes) < 2:
        raise ValueError(f"expected at least two classes, got one class: {plain(classes[0])!r}")
    # C_i = C w_i c(y_i), with sample weights w and class weights c
    weights = weights * class_factors(model.class_weight, classes, y)[codes]
    precomputed = takes_gram_matrix(model)
    if precomputed:
        points = as_points(used)
    problems = []
    for low, high in combinations(range(len(classes)), 2):
        # label +1 for the second class, which f > 0 predicts
        pair = np.flatnonzero((codes == low) | (codes == high))
        problem = SVMProblem(
            points=points[pair],
            members=used[pair],
            target=np.where(codes[pair] == high, 1.0, -1.0),
            weights=weights[pair],
            C=float(model.C),
        )
        problems.append(problem)
    return TrainingData(
        X=X if precomputed else points,
        points=points,
        used=used,
        problems=problems,
        classes=classes,
        feature_names=vars(model).get("feature_names_in_"),
    )


def regression_data(
    model: Any, X: Any, y: Any, sample_weight: npt.ArrayLike | None
) -> TrainingData:
    """Check the data of a regressor; state one problem.

    `model` has the parameters ``C``, ``epsilon`` and ``scale_target``, and gets ``n_features_in_``.
    """
    X, y = validate_data(model, X, y, dtype=np.float64, y_numeric=True, ensure_min_samples=2)
    y = check_targets(y)
    used, weights, points, y = positive_rows(check_weights(sample_weight, X), X, y)
    # y = m + s t with mean(t) = 0, and std(t) = 1 if `scale_target`. Centring changes only the
    # intercept, and removes large offsets from the sums.
    centre, spread = float(y.mean()), float(y.std())
    check_varies("y", y, spread, 1e-12 * abs(centre))
    scale = spread if model.scale_target else 1.0
    precomputed = takes_gram_matrix(model)
    if precomputed:
        points = as_points(used)
    problem = SVMProblem(
        points=points.copy(),  # not the user's array
        members=used,
        target=(y - centre) / scale,
        weights=weights,
        C=float(model.C),
        epsilon=float(model.epsilon),
        centre=centre,
        scale=scale,
    )
    return TrainingData(
        X=X if precomputed else points,
        points=points,
        used=used,
        problems=[problem],
        feature_names=vars(model).get("feature_names_in_"),
    )


def takes_gram_matrix(model: Any) -> bool:
    """Return True if an estimator has kernel="precomputed", so that X is a Gram matrix."""
    kernel = vars(model).get("kernel")
    return isinstance(kernel, str) and kernel == "precomputed"


def as_points(numbers: Indices) -> Array:
    """Return row numbers as the points of a precomputed kernel, shape (n, 1)."""
    return numbers.astype(np.float64)[:, None]


def expansion(
    kernel: Kernel, X: Array, vectors: Array, coefficients: Array, intercept: float | Array = 0.0
) -> Array:
    """Return kernel(X, vectors) @ coefficients + intercept, computed in blocks of rows of X.

    The shape is (m,), or (m, k) for coefficients of shape (n, k). Raise ValueError if a value is
    not finite.
    """
    values: Array = in_blocks(
        X, vectors.shape[0], lambda some: kernel(some, vectors) @ coefficients + intercept
    )
    return values
