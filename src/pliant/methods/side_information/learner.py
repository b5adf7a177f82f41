"""What learners of a kernel from side information share: how data come in and go out."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, Self, TypeAlias

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from pliant.core.blocks import in_blocks
from pliant.core.kernels.base import Kernel
from pliant.core.typing import Array, Indices
from pliant.core.validation import check_gram, fresh
from pliant.methods.side_information.components import Components
from pliant.methods.side_information.information import SideInformation
from pliant.methods.side_information.landmark_kernel import LandmarkKernel
from pliant.methods.side_information.logdet_kernel import LogDetKernel

__all__ = ["KernelLearner", "MatrixOf"]

MatrixOf: TypeAlias = Callable[[Indices], Array]
"""From m row numbers to the learned kernel values between those fit points, shape (m, m)."""


class KernelLearner(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Learns a kernel from partial labels or pairs; gives Gram matrices, or features.

    A subclass checks its parameters in `_check_parameters` and learns in `_learn`, which sets
    ``kernel_`` and returns a function that makes the learned matrix of some of the fit points.
    """

    unlabeled: Any
    kernel_: Kernel
    support_vectors_: Array

    @abstractmethod
    def _check_parameters(self) -> None:
        """Raise for the first hyper-parameter that is out of range."""

    @abstractmethod
    def _learn(self, points: Array, information: SideInformation) -> MatrixOf:
        """Learn ``kernel_``; return a function from row numbers to the matrix of those points."""

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
        X : array-like of shape (n, d), or (n, n) for kernel="precomputed"
            All points, those that nothing is known of too.
        y : array-like of shape (n,), optional
            Classes; the value `unlabeled` for points of unknown class.
        similar, dissimilar : array-like of shape (m, 2), optional
            Pairs of row numbers, in place of `y`.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            For a parameter out of range, data or side information that cannot be learned from,
            both `y` and pairs, or none of them.
        """
        self._fit(X, y, similar, dissimilar)
        return self

    def fit_gram(
        self,
        X: npt.ArrayLike,
        y: npt.ArrayLike | None = None,
        *,
        similar: npt.ArrayLike | None = None,
        dissimilar: npt.ArrayLike | None = None,
    ) -> Array:
        """Fit, and return the learned kernel matrix of the fit points, shape (n, n).

        It is cheaper than ``kernel_(X)`` afterwards, and equal up to rounding. Parameters as in
        `fit`.
        """
        learned = self._fit(X, y, similar, dissimilar)
        return learned(np.arange(len(self.support_vectors_)))

    def fit_transform(
        self,
        X: npt.ArrayLike,
        y: npt.ArrayLike | None = None,
        *,
        similar: npt.ArrayLike | None = None,
        dissimilar: npt.ArrayLike | None = None,
    ) -> Array:
        """Fit, and return what `transform` returns for the fit points. Parameters as in `fit`."""
        learned = self._fit(X, y, similar, dissimilar)
        if not self._gives_gram:
            return self.transform(X)
        return learned(np.arange(len(self.support_vectors_)))

    def transform(self, X: npt.ArrayLike) -> Array:
        """Return the learned kernel between new points and the fit points, shape (m, n).

        It is what a machine with ``kernel="precomputed"`` takes. A learner that was asked for
        components or landmarks returns these features of the new points instead, shape (m, r).

        Parameters
        ----------
        X : array-like of shape (m, d), or (m, n) for kernel="precomputed"
        """
        check_is_fitted(self)
        return self._in_blocks(validate_data(self, X, reset=False, dtype=np.float64), self._outputs)

    def _in_blocks(self, points: Array, outputs: Callable[[Array], Array]) -> Array:
        """Return the outputs for checked points, some rows at a time."""
        return np.asarray(in_blocks(points, len(self.support_vectors_), outputs))

    def _fit(self, X: Any, y: Any, similar: Any, dissimilar: Any) -> MatrixOf:
        with fresh(self):
            self._check_parameters()
            return self._learned(*self._checked(X, y, similar, dissimilar))

    def __sklearn_is_fitted__(self) -> bool:
        """Whether a fit ended well."""
        return "kernel_" in vars(self)

    def _checked(
        self, X: Any, y: Any, similar: Any, dissimilar: Any
    ) -> tuple[Array, SideInformation]:
        """Return the points and what is known of them."""
        _check_given(y, similar, dissimilar)
        points = validate_data(self, X, dtype=np.float64, ensure_min_samples=2)
        if self._precomputed:
            check_gram(points)
        return points, _information(len(points), y, similar, dissimilar, self.unlabeled)

    def _learned(self, points: Array, information: SideInformation) -> MatrixOf:
        """Learn from checked data; return what makes learned matrices."""
        self.support_vectors_ = self._named(points)
        self.classes_ = information.classes
        return self._learn(points, information)

    def _named(self, points: Array) -> Array:
        """Return the fit points as the kernel knows them: row numbers, if it is precomputed."""
        return np.arange(float(len(points)))[:, None] if self._precomputed else points.copy()

    def _outputs(self, points: Array) -> Array:
        """Return what `transform` returns for some checked points."""
        return self.kernel_(points, self.support_vectors_)

    def _members(self) -> Indices:
        """Return the fit points that components are made of."""
        return np.arange(len(self.support_vectors_))

    def _components_of(self, learned: MatrixOf, n_components: int) -> Components:
        """Return principal components of the learned kernel, as functions of `_rows`.

        They are those of the points in the supervised graph: a strong learner shrinks the kernel
        there alone, and the spread of the others would be all that is seen.
        """
        kernel, members = self.kernel_, self._members()
        if isinstance(kernel, LandmarkKernel):
            return Components.of_features(
                kernel.features(self.support_vectors_[members]), n_components
            )
        if not isinstance(kernel, LogDetKernel):
            return Components.of_gram(learned(members), n_components)
        size = float(kernel.base.diag(kernel.points).max())
        return Components.of_gram(learned(members), n_components, size).on_base(kernel)

    def _rows(self, points: Array) -> Array:
        """Return what components are linear in, for some checked points."""
        kernel = self.kernel_
        if isinstance(kernel, LandmarkKernel):
            return kernel.features(points)
        if isinstance(kernel, LogDetKernel):
            return kernel.base(points, kernel.points)
        return kernel(points, self.support_vectors_)

    def _width(self) -> int:
        """Return the length of such a row."""
        if isinstance(self.kernel_, LandmarkKernel):
            return int(np.shape(self.kernel_.projection)[1])
        if isinstance(self.kernel_, LogDetKernel):
            return len(np.asarray(self.kernel_.points))
        return len(self.support_vectors_)

    @property
    def _gives_gram(self) -> bool:
        """Whether `transform` returns kernel values against the fit points."""
        return True

    @property
    def _n_features_out(self) -> int:
        return len(self.support_vectors_)

    @property
    def _precomputed(self) -> bool:
        kernel = getattr(self, "kernel", None)
        return isinstance(kernel, str) and kernel == "precomputed"

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn that targets are needed, and what a precomputed matrix is."""
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.pairwise = self._precomputed
        return tags

    def _check_loaded(self) -> None:
        """Raise ValueError if attributes, read from a file, do not belong together."""
        if not isinstance(self.kernel_, Kernel):
            raise ValueError(f"expected a kernel, got {type(self.kernel_).__name__}")
        shape = np.shape(self.support_vectors_)
        if len(shape) != 2 or not np.isfinite(self.support_vectors_).all():
            raise ValueError(f"expected support_vectors_ of shape (n, d), got {shape}")
        members = np.asarray(self._members())
        if members.dtype.kind not in "iu" or not ((members >= 0) & (members < shape[0])).all():
            raise ValueError(f"expected members_ to be row numbers, 0 to {shape[0] - 1}")


def _check_given(y: Any, similar: Any, dissimilar: Any) -> None:
    """Raise ValueError unless there is one kind of side information."""
    pairs = similar is not None or dissimilar is not None
    if y is not None and pairs:
        raise ValueError("expected either y or pairs as side information, got both")
    if y is None and not pairs:
        raise ValueError(
            "this learner requires y to be passed, but the target y is None: expected y, or pairs "
            "as similar, dissimilar"
        )


def _information(n: int, y: Any, similar: Any, dissimilar: Any, unlabeled: Any) -> SideInformation:
    """Return the side information on n points."""
    if y is None:
        return SideInformation.from_pairs(n, similar, dissimilar)
    information = SideInformation.from_labels(y, unlabeled)
    if information.n_samples != n:
        raise ValueError(f"expected y of shape ({n},), as X has {n} rows, got {np.shape(y)}")
    return information
