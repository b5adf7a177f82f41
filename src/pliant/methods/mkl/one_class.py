"""Multiple kernel learning with one class: outlier detection with a weighted sum of kernels."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import OutlierMixin
from sklearn.utils.validation import validate_data

from pliant.core.kernels.base import Kernel
from pliant.core.progress import Result
from pliant.core.threads import blas_limited
from pliant.core.typing import Array, Callback
from pliant.core.validation import Constraint, check_real, check_weights, one_of
from pliant.methods.mkl import newton
from pliant.methods.mkl.base import BaseMKL
from pliant.methods.svm.dual import MarginDual, one_class_dual
from pliant.methods.svm.estimators import expansion
from pliant.methods.svm.rows import Rows
from pliant.methods.svm.task import Task

CLOSEST = 1e-10
"""Squared distance from the origin, relative to the mean of k(x, x), that counts as zero."""

ROUNDING = 1e-12
"""The offset is lower by this share, so that samples on the boundary are inliers whatever rounding
does."""


def _check_nu(name: str, value: Any) -> None:
    """Raise ValueError unless 0 < nu <= 1."""
    if check_real(name, value, above=0) > 1:
        raise ValueError(f"expected {name} <= 1, got {value!r}")


class MKLOneClass(OutlierMixin, BaseMKL):
    def __init__(
        self,
        kernels: Any = "auto",
        *,
        nu: float = 0.5,
        weights: str = "simple",
        norm: float = 1.0,
        normalize: bool = True,
        tol: float = 1e-3,
        max_iter: int = 100,
        max_seconds: float | None = None,
        cache_mb: float = 2000.0,
        n_jobs: int | None = None,
    ) -> None:
        self.kernels = kernels
        self.nu = nu
        self.weights = weights
        self.norm = norm
        self.normalize = normalize
        self.tol = tol
        self.max_iter = max_iter
        self.max_seconds = max_seconds
        self.cache_mb = cache_mb
        self.n_jobs = n_jobs

    _constraints: ClassVar[Mapping[str, Constraint]] = {
        **{k: v for k, v in BaseMKL._constraints.items() if k not in ("C", "center")},
        "nu": _check_nu,
        "weights": one_of(("simple", "uniform")),
    }
    _scalable = False
    shared_weights = True

    def fit(self, X: npt.ArrayLike, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn the weights of the kernels and the region of the samples.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The training data, dense and finite.
        y : object, optional
            Ignored.
        sample_weight : array-like of shape (n_samples,), optional
            The w above, each >= 0. Samples of weight zero are left out.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            For a parameter out of range, or kernels that do not separate the samples from the
            origin.
        """
        return super().fit(X, y, sample_weight)

    @blas_limited
    def score_samples(self, X: npt.ArrayLike) -> Array:
        """Return sum_i alpha_i k(x_i, x): how much a point resembles the training samples.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples,)
        """
        points = self._checked_input(X)
        return expansion(self.kernel_, points, self.support_vectors_, self.dual_coef_)

    def decision_function(self, X: npt.ArrayLike) -> Array:
        """Return ``score_samples(X) - offset_``, negative for outliers.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples,)
        """
        return self.score_samples(X) - self.offset_

    def predict(self, X: npt.ArrayLike) -> npt.NDArray[np.intp]:
        """Return 1 for inliers and -1 for outliers.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        array of int of shape (n_samples,)
        """
        return np.where(self.decision_function(X) >= 0, 1, -1)

    @property
    def offset_(self) -> float:
        """The rho above: ``-intercept_``."""
        return -float(self.intercept_)

    def _prepare(self, X: Any, y: Any, sample_weight: Any) -> list[Task]:
        X = np.asarray(validate_data(self, X, dtype=np.float64))
        weights = check_weights(sample_weight, X)
        members = np.flatnonzero(weights > 0)
        kernel, candidates, psd = self._common(X, weights > 0)
        points, weights = X[members], weights[members]
        with np.errstate(over="ignore"):
            total = float(weights.sum())
        if not np.isfinite(total):
            raise ValueError(f"expected a finite sum of sample_weight, got {total}")
        # In these units the objective is about n^2: the solver's tolerances are shares of it.
        scale = float(self.nu) * total * np.sqrt(self._size(candidates.kernels, points))
        scale = float(scale) / len(members)
        return [
            Task(kernel, points, members, np.ones(len(members)), weights, candidates, psd,
                 scale=scale)
        ]  # fmt: skip

    def _size(self, kernels: list[Kernel], points: Array) -> float:
        """Return the mean of k(x, x)."""
        if self.normalize:
            return 1.0
        size = float(np.mean([kernel.diag(points).mean() for kernel in kernels]))
        if size <= 0.0:
            raise ValueError(f"expected kernels with a positive trace, got a mean of {size:g}")
        return size

    def _margin(self, task: Task) -> Callable[[Rows], MarginDual]:
        upper = task.weights / task.scale
        return partial(one_class_dual, upper=upper, total=float(self.nu * upper.sum()))

    def _learn_weights(self, tasks: list[Task], callback: Callback) -> Result[newton.Weights]:
        result = super()._learn_weights(tasks, callback)
        assert result.certificate is not None
        distance = -2.0 * result.certificate.lower / len(tasks[0].members) ** 2
        if distance <= CLOSEST:
            raise ValueError(
                "expected kernels that separate the samples from the origin, got a squared "
                f"distance of {max(0.0, distance):.1g} times the mean of k(x, x); a linear kernel "
                "of centred features does not, Gaussian ones do"
            )
        return result

    def _set_function(self, task: Task, result: Result[newton.Weights], t: int) -> None:
        super()._set_function(task, result, t)
        self.intercept_ *= 1.0 - ROUNDING
        for name in ("objective_", "lower_bound_", "dual_gap_"):
            setattr(self, name, task.scale**2 * getattr(self, name))
        self.objective_history_ = task.scale**2 * self.objective_history_
        self.gap_history_ = task.scale**2 * self.gap_history_
