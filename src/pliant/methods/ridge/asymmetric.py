"""Kernel ridge regression with an asymmetric kernel (He et al.)."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from scipy.linalg import LinAlgWarning, lu_solve
from scipy.linalg.lapack import dgecon, dgetrf

from pliant.core.blocks import in_blocks
from pliant.core.estimators import BaseEstimator, MultiOutputMixin, RegressorMixin, check_is_fitted
from pliant.core.form import Part, SavedForm, numbers, shown
from pliant.core.linalg import scale_rows
from pliant.core.parameters import Constraint, check_parameters, moderate_number
from pliant.core.state import reads, trains
from pliant.core.threads import blas_limited
from pliant.core.typing import Array
from pliant.core.validation import (
    check_targets,
    check_weights,
    positive_rows,
    stack_level,
    validate_data,
)
from pliant.kernels.base import Kernel, KernelOn
from pliant.kernels.standard import Gamma, KernelLike, as_kernel, takes_sparse_points
from pliant.methods.summary import FunctionSummary, Summary


class AsymmetricKernelRidge(MultiOutputMixin, RegressorMixin, BaseEstimator):
    r"""Kernel ridge regression with any kernel, including asymmetric and indefinite ones.

    A kernel k(x, t) = phi(x)'psi(t) defines two linear models, w'phi and v'psi. Their weights solve

    .. math::

        \min_{w, v, e, r} \; \alpha w'v + \sum_i s_i e_i r_i \quad \text{such that} \quad
        e_i = y_i - \phi(x_i)'w, \; r_i = y_i - \psi(x_i)'v,

    problem (7) of [1]_ with sample weights s. At the stationary point in Theorem 1 of that paper,
    the models for K = k(X, X) and unit weights are

    .. math::

        f_1(t) = k(t, X) (K + \alpha I)^{-1} y, \qquad f_2(t) = k(X, t)' (K' + \alpha I)^{-1} y.

    `predict` returns f1, and `predict_second` returns f2. There is no intercept, so centre y:
    predictions far from the training points approach 0, not the mean of y. With a symmetric
    kernel, both models equal kernel ridge regression. ``sklearn.kernel_ridge.KernelRidge`` reads
    only half of an asymmetric matrix, and silently returns wrong coefficients.

    Parameters
    ----------
    kernel : str, Kernel or callable, default="gaussian"
        A name in ``pliant.kernels.KERNEL_NAMES``, a kernel object, a function of two matrices, or
        "precomputed" for a square matrix of kernel values k(x_i, x_j).
    alpha : float, default=1.0
        Ridge penalty, from 1e-12 to 1e12.
    gamma : float or {"scale", "auto"}, default="scale"
        Parameter of named kernels: "scale" is 1/(n_features var(X)), "auto" is 1/n_features.

    Attributes
    ----------
    kernel_ : Kernel or None
        The kernel; None for "precomputed".
    support_vectors_ : array of shape (n_samples, n_features) or None
        The training points; None for "precomputed".
    dual_coef_ : array of shape (n_samples,) or (n_samples, n_outputs)
        Coefficients of f1(t) = kernel_(t, support_vectors_) @ dual_coef_.
    second_dual_coef_ : array with the shape of dual_coef_
        Coefficients of f2(t) = kernel_(support_vectors_, t).T @ second_dual_coef_.
    intercept_ : float
        Always 0.0.
    residuals_, second_residuals_ : arrays with the shape of dual_coef_
        e = y - f1(X) and r = y - f2(X). The paper suggests using the model with smaller residuals.
    multipliers_, second_multipliers_ : arrays with the shape of dual_coef_
        Lagrange multipliers of the two constraints. By Theorem 3 they are the residuals of the
        *other* model times the sample weights: s r for e, s e for r.
    condition_ : float
        Estimated condition number of K + alpha I; with sample weights s and S = diag(s), that of
        S^{1/2} K S^{1/2} + alpha I.
    n_features_in_ : int
        Number of features seen during fit.

    Notes
    -----
    As K may be indefinite, the system is solved by an LU factorisation, and its condition number is
    checked. This takes O(n^3) time and memory for two n x n matrices. The coefficients of equal
    samples i and j differ by (y_i - y_j)/alpha. For a kernel with a bandwidth per support point, f2
    is undefined at new points, and `predict_second` raises the kernel's error.

    References
    ----------
    .. [1] F. He, M. He, L. Shi, X. Huang, J. A. K. Suykens. Enhancing Kernel Flexibility via
       Learning Asymmetric Locally-Adaptive Kernels.

    Examples
    --------
    >>> import numpy as np
    >>> from pliant import AsymmetricKernelRidge
    >>> def skewed(X, Y):
    ...     return np.exp(-((X - Y.T) ** 2) + 0.3 * (X - Y.T))
    >>> X = np.linspace(-2, 2, 30)[:, None]
    >>> y = np.sin(2 * X[:, 0])
    >>> model = AsymmetricKernelRidge(skewed, alpha=0.01).fit(X, y)
    >>> round(model.score(X, y), 3)
    1.0
    >>> bool(np.allclose(y - model.predict(X), model.second_multipliers_))
    True
    """

    _constraints: ClassVar[Mapping[str, Constraint]] = {"alpha": moderate_number()}
    """Constraints on the parameters except kernel and gamma, which `as_kernel` checks."""

    _form: ClassVar[SavedForm] = {
        "kernel_": KernelOn("support_vectors_", optional=True),
        "support_vectors_": Part("f8", ("vectors", "features"), sparse=True, optional=True),
        "dual_coef_, second_dual_coef_": numbers("vectors", "outputs", flat=True),
        "intercept_": numbers("outputs", scalar=True),
        "residuals_, second_residuals_": shown("vectors", "outputs", flat=True),
        "multipliers_, second_multipliers_": shown("vectors", "outputs", flat=True),
    }

    kernel_: Kernel | None
    support_vectors_: Array | None
    dual_coef_: Array
    second_dual_coef_: Array
    intercept_: float
    residuals_: Array
    second_residuals_: Array
    multipliers_: Array
    second_multipliers_: Array
    condition_: float

    def __init__(
        self, kernel: KernelLike = "gaussian", alpha: float = 1.0, *, gamma: Gamma = "scale"
    ) -> None:
        self.kernel = kernel
        self.alpha = alpha
        self.gamma = gamma

    @blas_limited
    @trains
    def fit(
        self, X: npt.ArrayLike, y: npt.ArrayLike, sample_weight: npt.ArrayLike | None = None
    ) -> Self:
        """Fit the coefficients of both models.

        Raise ValueError if a parameter or the data are invalid, or if K + alpha I is singular to
        working precision. A LinAlgWarning reports an ill-conditioned matrix.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), or (n_samples, n_samples)
            At least two training points; for kernel="precomputed", K, with k(x_i, x_j) in row i,
            column j.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Targets.
        sample_weight : array-like of shape (n_samples,), optional
            Weights >= 0. A weight of 0 is equivalent to removing the sample, and for the same
            kernel, a weight of 2 to repeating it (gamma="scale" counts each sample once).
        """
        check_parameters(self)
        options = {"dtype": np.float64, "y_numeric": True, "multi_output": True}
        points, targets = validate_data(self, X, y, ensure_min_samples=2, **options)
        targets = check_targets(targets)
        weights = check_weights(sample_weight, points)
        names = getattr(self, "feature_names_in_", None)
        used = points if self._precomputed else positive_rows(weights, points)[-1]
        kernel = as_kernel(self.kernel, used, self.gamma, names)
        gram = points if self._precomputed else kernel._between_sets(points, points)
        self._solve(gram, targets, weights)
        self.kernel_ = None if self._precomputed else kernel
        self.support_vectors_ = None if self._precomputed else points.copy()
        return self

    def _solve(self, gram: Array, y: Array, weights: Array) -> None:
        """Set the attributes from the stationary point of problem (7)."""
        # Theorem 1 with weights S = diag(s): the coefficients of f1 are
        # S^{1/2} (S^{1/2} K S^{1/2} + alpha I)^{-1} S^{1/2} y; replace K by K' for f2.
        alpha, root = float(self.alpha), np.sqrt(weights)
        lu, self.condition_ = _factors(gram, root, alpha)
        right = scale_rows(root, y)
        first, second = (
            scale_rows(root, lu_solve(lu, right, trans=trans, check_finite=False))
            for trans in (0, 1)
        )
        e, r = y - gram @ first, y - gram.T @ second
        self.intercept_ = 0.0
        self.dual_coef_, self.second_dual_coef_ = first, second
        self.residuals_, self.second_residuals_ = e, r
        self.multipliers_, self.second_multipliers_ = alpha * second, alpha * first

    @reads
    @blas_limited
    def predict(self, X: npt.ArrayLike) -> Array:
        """Return f1(t) for each row t of X, shape (n_queries,) or (n_queries, n_outputs).

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features), or (n_queries, n_samples)
            New points t; for kernel="precomputed", k(t_i, x_j) in row i, column j.
        """
        return self._outputs(X, second=False)

    @reads
    @blas_limited
    def predict_second(self, X: npt.ArrayLike) -> Array:
        """Return f2(t) for each row t of X, shape (n_queries,) or (n_queries, n_outputs).

        Raise ValueError if the kernel is undefined for new points as its second argument.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features), or (n_queries, n_samples)
            New points t; for kernel="precomputed", k(x_j, t_i) in row i, column j.
        """
        return self._outputs(X, second=True)

    def _outputs(self, X: npt.ArrayLike, *, second: bool) -> Array:
        check_is_fitted(self)
        points = validate_data(self, X, reset=False, dtype=np.float64)
        kernel, support = self.kernel_, self.support_vectors_
        coefficients = self.second_dual_coef_ if second else self.dual_coef_

        def outputs(T: Array) -> Array:
            if kernel is not None and support is not None:  # otherwise, T holds kernel values
                T = kernel(support, T).T if second else kernel(T, support)
            return T @ coefficients

        return in_blocks(points, len(coefficients), outputs)

    @reads
    def summary(self) -> Summary:
        """Return a summary of the fitted model.

        ``n_support`` is the number of samples, and the detail ``condition`` is ``condition_``.
        """
        check_is_fitted(self)
        n_support, kernel = len(self.dual_coef_), self.kernel_
        function = FunctionSummary(self, n_support, details={"condition": self.condition_})
        return Summary((function,), kernel=kernel, n_support=n_support)

    @property
    def _precomputed(self) -> bool:
        return isinstance(self.kernel, str) and self.kernel == "precomputed"

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._precomputed
        tags.input_tags.sparse = takes_sparse_points(self.kernel)
        return tags

    def _check_loaded(self) -> None:
        if self.kernel_ is None and len(self.dual_coef_) != self.n_features_in_:
            raise ValueError(f"expected {self.n_features_in_} rows in dual_coef_")


def _factors(gram: Array, root: Array, alpha: float) -> tuple[Any, float]:
    """Return the LU factors of S^{1/2} K S^{1/2} + alpha I, and its estimated condition number.

    `root` is the diagonal of S^{1/2}. LAPACK estimates the condition number in the 1-norm from
    below, usually within a factor of 3.
    """
    matrix = np.array(gram, order="F")
    matrix *= root[:, None]
    matrix *= root
    matrix[np.diag_indices_from(matrix)] += alpha
    norm = float(np.linalg.norm(matrix, 1))
    lu, pivots, zero_pivot = dgetrf(matrix, overwrite_a=True)
    reciprocal = 0.0 if zero_pivot else float(dgecon(lu, norm, norm="1")[0])
    condition = 1.0 / reciprocal if reciprocal > 0.0 else np.inf
    problem = f"K + alpha I with alpha = {alpha:g} has a condition number of {condition:.1e}"
    hint = "K has an eigenvalue near -alpha; try another alpha"
    if condition >= 0.1 / np.finfo(np.float64).eps:  # 4.5e14: no digit of the solution is correct
        raise ValueError(f"expected an invertible matrix, got a singular one: {problem}; {hint}")
    if condition >= 1e12:  # about four digits are correct
        text = f"{problem}, so few digits of the solution are correct; {hint}"
        warnings.warn(text, LinAlgWarning, stacklevel=stack_level())
    return (lu, pivots), condition
