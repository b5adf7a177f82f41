"""The base class of kernel learners, their base kernels, and the kernel of LogDet learners.

The method ``_fit`` of a learner validates the data, solves the problem and stores the kernel. A
LogDet learner corrects a base kernel k0 with a matrix Q on some training points (`LogDetKernel`).
"""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Self, TypeAlias

import numpy as np
import numpy.typing as npt

from pliant.core.blocks import in_blocks
from pliant.core.eigen import negative_eigenvalue
from pliant.core.estimators import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    check_is_fitted,
)
from pliant.core.exceptions import NonPSDWarning
from pliant.core.form import Part, SavedForm, indices
from pliant.core.parameters import Constraint, check_choice, check_parameters
from pliant.core.sparse import in_form_of, is_sparse
from pliant.core.state import reads, trains
from pliant.core.text import one_line
from pliant.core.threads import blas_limited
from pliant.core.typing import Array, Indices
from pliant.core.validation import (
    check_gram,
    check_points,
    stack_level,
    validate_data,
)
from pliant.kernels.base import Kernel, KernelOn, resolve_columns
from pliant.kernels.standard import (
    KERNEL_NAMES,
    Gamma,
    Gaussian,
    KernelLike,
    Laplacian,
    Linear,
    Matern,
    Polynomial,
    as_kernel,
    takes_sparse_points,
)
from pliant.methods.summary import Summary
from pliant.methods.supervised.information import SideInformation
from pliant.methods.supervised.neighbor_graph import NeighborGraphKernel

LearnedGram: TypeAlias = Callable[[Indices], Array]
"""Computes the learned kernel matrix, shape (m, m), of training points with given row indices."""


class KernelLearner(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Base class of estimators that learn a kernel from partial labels or pairs.

    A subclass implements `_fit` and `_results`.
    """

    _constraints: ClassVar[Mapping[str, Constraint]]

    _form: ClassVar[SavedForm] = {
        "kernel_": KernelOn("support_vectors_"),
        "support_vectors_": Part("f8", ("points", "coordinates"), sparse=True),
        "members_": indices("members", below="points", optional=True),
    }

    kernel: KernelLike | None = None  # None for learners without a base kernel
    gamma: Gamma
    unlabeled: object
    kernel_: Kernel
    support_vectors_: Array
    classes_: npt.NDArray[Any] | None

    @abstractmethod
    def _fit(
        self, X: npt.ArrayLike, y: npt.ArrayLike | None, similar: Any = None, dissimilar: Any = None
    ) -> LearnedGram:
        """Set the fitted attributes; return a function that computes learned kernel matrices."""

    @abstractmethod
    def _results(self) -> dict[str, Any]:
        """Return the scalar results of the fit by name, for `summary`."""

    @blas_limited
    @trains
    def fit(
        self,
        X: npt.ArrayLike,
        y: npt.ArrayLike | None = None,
        *,
        similar: npt.ArrayLike | None = None,
        dissimilar: npt.ArrayLike | None = None,
    ) -> Self:
        """Learn the kernel from partial labels or from pairs.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            All points, with or without side information. For kernel="precomputed", their kernel
            matrix, shape (n_samples, n_samples).
        y : array-like of shape (n_samples,), optional
            Class labels, with the value `unlabeled` for unknown classes.
        similar, dissimilar : array-like of shape (n_pairs, 2), optional
            Pairs of row indices, instead of `y`.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If a parameter is out of range, the data or the side information are unsuitable, or
            both or neither of `y` and pairs are given.
        """
        self._fit(X, y, similar, dissimilar)
        return self

    @blas_limited
    @trains
    def fit_gram(self, X: npt.ArrayLike, y: npt.ArrayLike | None = None, **pairs: Any) -> Array:
        """Fit, and return the learned kernel matrix of the training points, shape (n, n).

        The result equals ``kernel_(X)`` after a fit, up to rounding, but is cheaper to compute. The
        parameters are the same as in `fit`.
        """
        learned = self._fit(X, y, **pairs)
        return learned(np.arange(self.support_vectors_.shape[0]))

    @blas_limited
    def fit_transform(
        self, X: npt.ArrayLike, y: npt.ArrayLike | None = None, **pairs: Any
    ) -> Array:
        """Fit, and transform the training points. The parameters are the same as in `fit`."""
        return self.fit_gram(X, y, **pairs)

    @blas_limited
    def transform(self, X: npt.ArrayLike) -> Array:
        """Return the learned kernel values between new points and the training points.

        These values are the input of an estimator with ``kernel="precomputed"``.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            New points. For kernel="precomputed", kernel values between new and training points.

        Returns
        -------
        array of shape (n_samples, n_fit_samples)
        """
        check_is_fitted(self)
        points = validate_data(self, X, reset=False, dtype=np.float64)
        support = self.support_vectors_
        return np.asarray(in_blocks(points, support.shape[0], lambda X: self.kernel_(X, support)))

    def _validate(
        self, X: npt.ArrayLike, y: npt.ArrayLike | None, similar: Any, dissimilar: Any
    ) -> tuple[Array, SideInformation]:
        """Validate parameters and data; store the points, and return X and side information."""
        check_parameters(self)
        has_pairs = similar is not None or dissimilar is not None
        if y is not None and has_pairs:
            raise ValueError("expected either y or pairs as side information, got both")
        if y is None and not has_pairs:
            raise ValueError(
                "this learner requires y to be passed, but the target y is None: pass y, or pairs "
                "as similar and dissimilar"
            )
        points = validate_data(self, X, dtype=np.float64, ensure_min_samples=2)
        n = points.shape[0]
        # the points of a precomputed kernel are row indices
        self.support_vectors_ = np.arange(float(n))[:, None] if self._precomputed else points.copy()
        if self._precomputed:
            points = check_gram(points)
        if y is None:
            information = SideInformation.from_pairs(n, similar, dissimilar)
        else:
            information = SideInformation.from_labels(y, self.unlabeled)
            if information.n_samples != n:
                shape = np.shape(y)
                raise ValueError(f"expected y of shape ({n},), since X has {n} rows, got {shape}")
        self.classes_ = information.classes
        return points, information

    def _base_kernel(self, points: Array) -> Kernel:
        """Build k0 from the parameters ``kernel`` and ``gamma``."""
        names = getattr(self, "feature_names_in_", None)
        return base_kernel(self.kernel, points, self.gamma, names)

    def _members(self) -> Indices:
        """Return the row indices of the training points whose kernel matrix gives the components.

        These are `members_`, the only points where a large strength shrinks the kernel, or all
        training points if the learner has no `members_`.
        """
        rows = np.arange(self.support_vectors_.shape[0])
        return np.asarray(getattr(self, "members_", rows))

    @reads
    def summary(self) -> Summary:
        """Return the kernel, the base kernel (None for a `SpectralKernel`), and the results.

        The results include ``rows``, the number of training points.
        """
        check_is_fitted(self)
        kernel = self.kernel_
        return Summary(
            kernel=kernel,
            base_kernel=kernel.base if isinstance(kernel, LogDetKernel) else None,
            learner={"rows": self.support_vectors_.shape[0], **self._results()},
        )

    @property
    def _n_features_out(self) -> int:
        return int(self.support_vectors_.shape[0])

    @property
    def _precomputed(self) -> bool:
        return isinstance(self.kernel, str) and self.kernel == "precomputed"

    def __sklearn_tags__(self) -> Any:
        """Declare that y is required, and that X is pairwise for kernel="precomputed"."""
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.pairwise = self._precomputed
        on_graph = self.kernel is None or (isinstance(self.kernel, str) and self.kernel == "graph")
        tags.input_tags.sparse = on_graph or takes_sparse_points(self.kernel)
        return tags


def base_kernel(
    kernel: KernelLike | None, points: Array, gamma: Gamma, names: Sequence[str] | None = None
) -> Kernel:
    """Return the kernel for a parameter ``kernel``; raise ValueError unless it is symmetric PSD.

    Valid names are those that `as_kernel` accepts, and "graph" for the
    kernel of the neighbour graph of the points.
    """
    if isinstance(kernel, str) and kernel == "graph":
        if not (isinstance(gamma, str) and gamma == "scale"):
            raise ValueError(f"expected gamma='scale', got {gamma!r}: kernel='graph' has no gamma")
        try:
            return NeighborGraphKernel.from_points(points)
        except ValueError as error:
            raise ValueError(f"kernel='graph': {error}") from None
    if isinstance(kernel, str):
        check_choice("kernel", kernel, (*KERNEL_NAMES, "graph", "precomputed"))
    base = as_kernel(kernel, points, gamma, names)
    for holds, name in ((base.symmetric, "symmetric"), (base.psd, "positive semi-definite")):
        if not holds:
            raise ValueError(f"expected a {name} kernel, got {one_line(base)}")
    return base


def check_learner(learner: object) -> KernelLearner:
    """Return `learner`; raise TypeError unless it is a kernel learner."""
    if not isinstance(learner, KernelLearner):
        raise TypeError(
            "expected learner to be an SCGLogDetLearner, OrderSpectralLearner or LogDetLearner, "
            f"got {one_line(learner)}"
        )
    return learner


def resolve_columns_of(learner: KernelLearner, outer: BaseEstimator, n_features: int) -> None:
    """Replace column names in a learner's kernel by column positions in the data of `outer`.

    `outer` is the meta-estimator, which is fitted on a data frame, while the learner gets an array.
    """
    kernel = learner.get_params(deep=False).get("kernel")
    if isinstance(kernel, Kernel):
        names = getattr(outer, "feature_names_in_", None)
        learner.set_params(kernel=resolve_columns(kernel, names, n_features))


class PSDPart(NamedTuple):
    """A Gram matrix K0 with its clearly negative eigenvalues set to zero, shape (a, a).

    `vectors` and `values` are the removed eigenpairs, shape (a, k) and (k,).
    """

    gram: Array
    vectors: Array
    values: Array

    @classmethod
    def of(cls, base: Kernel, points: Array) -> PSDPart:
        """Return the PSD part of the kernel matrix of points; warn about negative eigenvalues.

        Raises ValueError unless the kernel values are symmetric.
        """
        gram = base(points)
        smallest = None
        # the kernels listed here are symmetric and PSD by construction
        if not isinstance(
            base, (Gaussian, Laplacian, Linear, Matern, NeighborGraphKernel, Polynomial)
        ):
            gram = check_gram(gram)
            smallest = negative_eigenvalue(gram)
        if smallest is None:
            return cls(gram, np.empty((len(gram), 0)), np.empty(0))
        warnings.warn(
            "expected a positive semi-definite kernel matrix, as the LogDet divergence requires, "
            f"got the eigenvalue {smallest:.6g}; negative eigenvalues are set to zero",
            NonPSDWarning,
            stacklevel=stack_level(),
        )
        values, vectors = np.linalg.eigh(gram)
        # negative eigenvalues down to -1e-8 max k0(x, x) are rounding errors
        negative = values < -1e-8 * float(np.abs(gram.diagonal()).max())
        values, vectors = values[negative], vectors[:, negative]
        gram = gram - (vectors * values) @ vectors.T  # K0 - sum_i lambda_i v_i v_i'
        return cls(0.5 * (gram + gram.T), vectors, values)

    def extend(self, Q: Array) -> Array:
        """Return Q for K0, given the Q learned from its PSD part.

        For the projection P = I - sum_i v_i v_i', the result is P Q P - sum_i v_i v_i'/lambda_i.
        The learned kernel k0 + k0 Q k0 is then zero on the removed eigenvectors v_i.
        """
        if not len(self.values):
            return Q
        projection = np.eye(len(self.gram)) - self.vectors @ self.vectors.T
        extended = projection @ Q @ projection - (self.vectors / self.values) @ self.vectors.T
        return np.asarray(0.5 * (extended + extended.T))


@dataclass(eq=False, repr=False)
class LogDetKernel(Kernel):
    """k(x, y) = k0(x, y) + k0(x, P) Q k0(P, y) for the points P.

    A kernel matrix K that minimises a LogDet divergence from K0 = k0(P, P) extends to new points
    with Q = K0^{-1} (K - K0) K0^{-1}. Q has closed forms without the inverse of K0.

    Parameters
    ----------
    base : Kernel
        The base kernel k0.
    points : array or sparse matrix of shape (a, n_features)
        The points P.
    matrix : array of shape (a, a)
        The symmetric matrix Q.

    References
    ----------
    Pan, Chen, Chen, Xu: Efficient learning of supervised kernels with a graph-based loss
    function, Eqs. 6 and 32.
    """

    _form: ClassVar[SavedForm] = {
        "base": KernelOn("points"),
        "points": Part("number", ("points", "coordinates"), sparse=True),
        "matrix": Part("number", ("points", "points")),
    }

    base: Kernel
    points: npt.ArrayLike
    matrix: npt.ArrayLike

    @property
    def symmetric(self) -> bool:  # type: ignore[override]
        """True if the base kernel is symmetric."""
        return self.base.symmetric

    @property
    def takes_sparse(self) -> bool:  # type: ignore[override]
        """True if the points P are sparse."""
        return is_sparse(self.points)

    @property
    def psd(self) -> bool:  # type: ignore[override]
        """True if the base kernel and the matrix k(P, P) are PSD, tested by one factorisation."""
        if not self.base.psd:
            return False
        gram = self(self.points)
        return negative_eigenvalue(0.5 * gram + 0.5 * gram.T) is None

    def _check_loaded(self) -> None:
        check_gram(check_points(self.matrix, "matrix"))

    def _check_pair(self, X: Array, Y: Array) -> None:
        self.base._check_pair(X, Y)

    def _points_and_matrix(self, X: Array) -> tuple[Array, Array]:
        """Return P and Q; raise ValueError unless X and P have the same number of features."""
        points = check_points(self.points, "points", sparse=True)
        try:
            self.base._check_pair(points, X)
        except ValueError:
            got = f"as in the kernel's points, got {X.shape[1]}"
            raise ValueError(f"expected X with {points.shape[1]} features, {got}") from None
        return points, check_points(self.matrix, "matrix")

    def _gram(self, X: Array, Y: Array) -> Array:
        points, matrix = self._points_and_matrix(X)
        same, X = Y is X, in_form_of(X, points)
        Y = X if same else in_form_of(Y, points)
        left = self.base._gram(X, points)
        right = left if same else self.base._gram(Y, points)
        return self.base._gram(X, Y) + (left @ matrix) @ right.T

    def _diagonal(self, X: Array) -> Array:
        points, matrix = self._points_and_matrix(X)
        X = in_form_of(X, points)
        cross = self.base._gram(X, points)
        # k0(x, P) Q k0(P, x) is the diagonal of cross Q cross'
        return self.base._diagonal(X) + np.einsum("ij,ij->i", cross @ matrix, cross)
