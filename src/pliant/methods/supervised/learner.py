"""The base class of estimators that learn a kernel from side information."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from pliant.core.blocks import in_blocks
from pliant.core.threads import blas_limited
from pliant.core.typing import Array, Indices
from pliant.core.validation import Constraint, check_gram, check_parameters, fresh, validate_data
from pliant.kernels.base import Kernel
from pliant.methods.summary import Summary
from pliant.methods.supervised.information import SideInformation
from pliant.methods.supervised.kernels import LogDetKernel

LearnedMatrix: TypeAlias = Callable[[Indices], Array]
"""A function from m row indices to the learned kernel values between those fit points, (m, m)."""


class KernelLearner(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Base class: learn a kernel from partial labels or pairs.

    A subclass learns in `_learn`, which sets ``kernel_`` and the other attributes of its method.
    """

    _constraints: ClassVar[Mapping[str, Constraint]]

    kernel: Any = None  # learners without a base kernel have no such parameter
    unlabeled: Any
    kernel_: Kernel
    support_vectors_: Array

    @abstractmethod
    def _learn(self, points: Array, information: SideInformation) -> LearnedMatrix:
        """Set the fitted attributes; return a function from row indices to the learned matrix."""

    @blas_limited
    def fit(
        self,
        X: npt.ArrayLike,
        y: npt.ArrayLike | None = None,
        *,
        similar: npt.ArrayLike | None = None,
        dissimilar: npt.ArrayLike | None = None,
    ) -> Self:
        """Learn the kernel from labels, some of which may be unknown, or from pairs.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            All points, with or without side information. For kernel="precomputed" the kernel
            values between them, of shape (n_samples, n_samples).
        y : array-like of shape (n_samples,), optional
            Class labels; the value `unlabeled` for points of unknown class.
        similar, dissimilar : array-like of shape (n_pairs, 2), optional
            Pairs of row indices, instead of `y`.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If a parameter is out of range, the data or the side information are unsuitable, or
            if both `y` and pairs are given, or neither.
        """
        self._fit(X, y, similar, dissimilar)
        return self

    def fit_gram(self, X: npt.ArrayLike, y: npt.ArrayLike | None = None, **pairs: Any) -> Array:
        """Fit, and return the learned kernel matrix of the fit points, (n_samples, n_samples).

        This is cheaper than ``kernel_(X)`` after a fit, and equal up to rounding. Parameters as
        in `fit`.
        """
        return self._fit(X, y, **pairs)(np.arange(len(self.support_vectors_)))

    @blas_limited
    def fit_transform(
        self, X: npt.ArrayLike, y: npt.ArrayLike | None = None, **pairs: Any
    ) -> Array:
        """Fit, and return what `transform` returns for the fit points. Parameters as in `fit`."""
        learned = self._fit(X, y, **pairs)
        return learned(np.arange(len(self.support_vectors_)))

    @blas_limited
    def transform(self, X: npt.ArrayLike) -> Array:
        """Return the learned kernel between new points and the fit points.

        An estimator with ``kernel="precomputed"`` takes these values.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            For kernel="precomputed" the kernel values between new points and fit points.

        Returns
        -------
        array of shape (n_samples, n_fit_samples)
        """
        check_is_fitted(self)
        points = validate_data(self, X, reset=False, dtype=np.float64)
        support = self.support_vectors_
        return np.asarray(in_blocks(points, len(support), lambda X: self.kernel_(X, support)))

    def _fit(self, X: Any, y: Any, similar: Any = None, dissimilar: Any = None) -> LearnedMatrix:
        with fresh(self):
            check_parameters(self)
            points, information = self._checked_data(X, y, similar, dissimilar)
            self.support_vectors_ = self._kernel_points(points)
            self.classes_ = information.classes
            return self._learn(points, information)

    def _checked_data(
        self, X: Any, y: Any, similar: Any, dissimilar: Any
    ) -> tuple[Array, SideInformation]:
        """Return the points and the side information on them."""
        given_pairs = similar is not None or dissimilar is not None
        if y is not None and given_pairs:
            raise ValueError("expected either y or pairs as side information, got both")
        if y is None and not given_pairs:
            raise ValueError(
                "this learner requires y to be passed, but the target y is None: expected y, or "
                "pairs as similar, dissimilar"
            )
        points = validate_data(self, X, dtype=np.float64, ensure_min_samples=2)
        if self._precomputed:
            check_gram(points)
        n = len(points)
        if y is None:
            return points, SideInformation.from_pairs(n, similar, dissimilar)
        information = SideInformation.from_labels(y, self.unlabeled)
        if information.n_samples != n:
            raise ValueError(f"expected y of shape ({n},), as X has {n} rows, got {np.shape(y)}")
        return points, information

    def _kernel_points(self, points: Array) -> Array:
        """Return the fit points in the form the kernel takes: row indices if it is precomputed."""
        return np.arange(float(len(points)))[:, None] if self._precomputed else points.copy()

    def _members(self) -> Indices:
        """Return the row indices of the fit points that principal components are computed from.

        A strong learner shrinks the kernel at the points with side information alone.
        """
        every = np.arange(len(self.support_vectors_))
        return np.asarray(getattr(self, "members_", every))

    def summary(self) -> Summary:
        """Return the learned kernel, the base kernel (None on a neighbour graph), and the results.

        These are the number of ``rows`` (fit points) and those of the method.
        """
        check_is_fitted(self)
        kernel = self.kernel_
        return Summary(
            kernel=kernel,
            base_kernel=kernel.base if isinstance(kernel, LogDetKernel) else None,
            learner={"rows": len(self.support_vectors_), **self._results()},
            drawings=frozenset({"gram"}),
        )

    @abstractmethod
    def _results(self) -> dict[str, Any]:
        """Return the scalar results of the fit, by the names that `summary` uses."""

    @property
    def _n_features_out(self) -> int:
        return len(self.support_vectors_)

    @property
    def _precomputed(self) -> bool:
        return isinstance(self.kernel, str) and self.kernel == "precomputed"

    def __sklearn_tags__(self) -> Any:
        """Declare that targets are required, and whether X holds kernel values."""
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.pairwise = self._precomputed
        return tags

    def _check_loaded(self) -> None:
        """Raise ValueError if attributes, read from a file, are inconsistent."""
        if not isinstance(self.kernel_, Kernel):
            raise ValueError(f"expected a kernel, got {type(self.kernel_).__name__}")
        shape = np.shape(self.support_vectors_)
        if len(shape) != 2 or not np.isfinite(self.support_vectors_).all():
            raise ValueError(
                f"expected support_vectors_ of shape (n_samples, n_features), got {shape}"
            )
        members = self._members()
        if members.dtype.kind not in "iu" or not ((members >= 0) & (members < shape[0])).all():
            raise ValueError(f"expected members_ to be row indices, 0 to {shape[0] - 1}")
