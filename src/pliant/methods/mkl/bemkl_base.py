"""What both estimators of Bayesian multiple kernel learning share: a fit, and its posterior."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from pliant.core.blocks import in_blocks
from pliant.core.kernels.base import Kernel
from pliant.core.kernels.names import short_names
from pliant.core.kernels.weighted_sum import WeightedSum
from pliant.core.progress import CallbackSupport, Deadline, FitProgress, with_callbacks
from pliant.core.summary import FunctionSummary, KernelWeights, Summary
from pliant.core.threads import blas_limited
from pliant.core.typing import Array
from pliant.core.validation import (
    Constraint,
    check_finite,
    check_flag,
    check_parameters,
    check_points,
    check_real,
    fresh,
    integer,
    optional,
    real_number,
    stack_level,
    validate_data,
)
from pliant.methods.mkl.bemkl import Model
from pliant.methods.mkl.bemkl_ascent import Fit, ascend
from pliant.methods.mkl.bemkl_factors import Gamma
from pliant.methods.mkl.candidates import candidate_kernels, normalized_kernels
from pliant.methods.mkl.grams import Grams
from pliant.methods.svm.expansion import expansion

FLAT = (1.0, 1.0)
"""Shape and scale of the default priors."""


def check_prior(name: str, value: Any) -> Gamma:
    """Return the Gamma distribution of a shape and a scale, both > 0, or say what was expected."""
    if not isinstance(value, tuple | list) or len(value) != 2:
        raise ValueError(f"expected {name} = (shape, scale), two numbers > 0, got {value!r}")
    shape = check_real(f"the shape of {name}", value[0], above=0)
    return Gamma(shape, 1.0 / check_real(f"the scale of {name}", value[1], above=0))


class Outputs(NamedTuple):
    """What to learn from: y = centre + scale * target, or signs; target has shape (L, n)."""

    target: Array
    centre: float = 0.0
    scale: float = 1.0


class BaseBEMKL(CallbackSupport, BaseEstimator):
    """A posterior of kernel weights, coefficients and biases, and its predictions."""

    _constraints: ClassVar[Mapping[str, Constraint]] = {
        "normalize": check_flag,
        "coef_prior": check_prior,
        "bias_prior": check_prior,
        "weights_prior": check_prior,
        "max_iter": integer(least=1),
        "tol": real_number(least=0),
        "max_seconds": optional(real_number(above=0)),
        "cache_mb": real_number(above=0),
        "verbose": check_flag,
    }

    _shapes: ClassVar[Mapping[str, tuple[int, ...]]] = {}
    """Fitted attributes that only one of the estimators has, and their shapes."""

    kernels: Any
    normalize: bool
    max_iter: int
    tol: float
    max_seconds: float | None
    cache_mb: float

    @blas_limited
    @with_callbacks
    def fit(self, X: npt.ArrayLike, y: npt.ArrayLike) -> Self:
        """Find the posterior of the kernel weights, the coefficients and the bias.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            At least two training points; for ``Precomputed`` kernels their row numbers, in one
            column.
        y : array-like of shape (n_samples,)
            Class labels of any type, or real targets.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            For a parameter out of range, data that cannot be learned from, or kernels that are not
            positive semi-definite or cannot be normalised.

        Warns
        -----
        sklearn.exceptions.ConvergenceWarning
            ``max_iter`` or ``max_seconds`` came before ``tol``.
        """
        with fresh(self):
            check_parameters(self)
            points, outputs = self._checked_data(X, y)
            names = getattr(self, "feature_names_in_", None)
            kernels = candidate_kernels(self.kernels, points, names)
            kernels = normalized_kernels(kernels, points, self.normalize)
            model = self._model(Grams(kernels, points, float(self.cache_mb)), outputs.target)
            progress = FitProgress(self, X, y)
            deadline = Deadline(progress, self.max_seconds)
            fit = ascend(model, self.max_iter, float(self.tol), deadline)
            self.kernels_ = kernels
            self.kernel_names_ = short_names(kernels, names)
            self.support_vectors_ = points.copy()
            with np.errstate(over="ignore", invalid="ignore"):
                self._keep(fit, outputs)
            learned = (
                "dual_coef_",
                "intercept_",
                "weights_std_",
                "latent_variance_",
                *self._shapes,
            )
            check_finite(self, learned, "scale the features and y, or use other priors")
            progress.end()
            self._warn_if_open(fit, deadline)
        return self

    @abstractmethod
    def _checked_data(self, X: Any, y: Any) -> tuple[Array, Outputs]:
        """Return the points, and the targets or signs of each output."""

    @abstractmethod
    def _model(self, grams: Grams, target: Array) -> Model:
        """Return the joint distribution of data and unknowns."""

    def _keep(self, fit: Fit, outputs: Outputs) -> None:
        """Set the fitted attributes, with coefficients and biases in the units of y."""
        q, n_outputs = fit.posterior, len(fit.posterior.coef)
        coefficients = outputs.scale * q.coef
        intercepts = outputs.centre + outputs.scale * q.bias
        self.weights_ = q.weights.copy()
        self.weights_std_ = np.sqrt(q.line_cov.diagonal()[n_outputs:])
        self.kernel_ = WeightedSum(self.kernels_, self.weights_)
        self.dual_coef_ = coefficients[0] if n_outputs == 1 else coefficients.T.copy()
        self.intercept_: Any = float(intercepts[0]) if n_outputs == 1 else intercepts
        self.coef_cov_ = q.coef_cov
        self.line_cov_ = q.line_cov
        self.latent_variance_ = float(1.0 / q.latent_noise.mean)
        self.lower_bound_history_ = np.array(fit.bounds)
        self.lower_bound_ = float(fit.bounds[-1])
        self.n_iter_ = len(fit.bounds)

    def _warn_if_open(self, fit: Fit, deadline: Deadline) -> None:
        """Warn if a limit came before the tolerance."""
        if fit.converged or (fit.stopped and not deadline.expired):
            return
        limit = "max_seconds" if fit.stopped else "max_iter"
        warnings.warn(
            f"{type(self).__name__} stopped after {self.n_iter_} iterations, before one raised "
            f"the lower bound by less than tol = {self.tol:g} times its size: {limit} = "
            f"{getattr(self, limit)} came first; raise it, or tol",
            ConvergenceWarning,
            stacklevel=stack_level(),
        )

    def _checked_input(self, X: npt.ArrayLike) -> Array:
        check_is_fitted(self)
        return np.asarray(validate_data(self, X, reset=False, dtype=np.float64))

    def _mean(self, points: Array) -> Array:
        """Return the posterior means of the outputs, shape (m,) or (m, n_classes)."""
        vectors, coefficients = self.support_vectors_, self.dual_coef_
        return expansion(self.kernel_, points, vectors, coefficients, self.intercept_)

    def _variances(self, points: Array, scale: float = 1.0) -> Array:
        """Return the variances of e'g + b under the posterior, shape (m, n_outputs).

        They are those of the model; dual_coef_ is `scale` times its coefficients.
        """
        n = len(self.support_vectors_)
        coefficients = self.dual_coef_.reshape(n, -1).T / scale
        variances: Array = in_blocks(
            points, len(self.kernels_) * n, lambda some: self._block_variances(some, coefficients)
        )
        return variances

    def _block_variances(self, points: Array, coefficients: Array) -> Array:
        """Return the variances for some points; the values of all kernels are held at once.

        With independent q(G) and q(b, e), var(e'g + b) = tr(E[e e'] cov g) + var(e'E[g] + b).
        """
        vectors, outputs = self.support_vectors_, len(coefficients)
        values = np.array([kernel(points, vectors) for kernel in self.kernels_])
        cov = self.line_cov_[outputs:, outputs:]
        products = np.outer(self.weights_, self.weights_) + cov
        mixed = (products @ values.reshape(len(values), -1)).reshape(values.shape)
        variances = np.empty((len(points), outputs))
        for each, coefficient in enumerate(coefficients):
            latent = values @ coefficient  # E[g], shape (M, m)
            spread = np.einsum("mrn,mrn->r", mixed, values @ self.coef_cov_[each])
            spread += self.latent_variance_ * products.trace()
            spread += np.einsum("mr,mr->r", latent, cov @ latent)
            spread += 2.0 * (self.line_cov_[each, outputs:] @ latent)
            variances[:, each] = spread + self.line_cov_[each, each]
        return np.maximum(variances, 0.0)

    def summary(self) -> Summary:
        """Return what the model has learned, in the form that all methods share.

        The objective is the lower bound of the log evidence, and every sample is a support point.
        The detail ``kernels`` is their number; ``weights`` has means and standard deviations.

        Returns
        -------
        Summary
        """
        check_is_fitted(self)
        n_support, details = len(self.support_vectors_), {"kernels": len(self.kernels_)}
        function = FunctionSummary(
            self, n_support, n_iter=self.n_iter_, objective=self.lower_bound_, details=details
        )
        return Summary(
            (function,),
            kernel=self.kernel_,
            n_support=n_support,
            drawings=frozenset({"gram", "weights"}),
            weights=KernelWeights(self.kernels_, self.weights_[None], self.weights_std_),
        )

    def __sklearn_is_fitted__(self) -> bool:
        """Whether a fit came to its end."""
        return "n_iter_" in vars(self)

    def _check_loaded(self) -> None:
        """Raise ValueError if attributes, read from a file, do not belong together."""
        n = len(check_points(self.support_vectors_, "support_vectors_", self.n_features_in_))
        kernels: Any = self.kernels_
        names: Any = self.kernel_names_
        if not isinstance(kernels, list) or not all(isinstance(each, Kernel) for each in kernels):
            raise ValueError(f"expected kernels_ to be a list of kernels, got {kernels!r:.200}")
        count, classes = len(kernels), len(getattr(self, "classes_", (0, 1)))
        if not isinstance(names, list) or [type(each) for each in names] != [str] * count:
            raise ValueError(f"expected a name for each of {count} kernels, got {names!r:.200}")
        if classes < 2:
            raise ValueError(f"expected two classes or more, got {classes}")
        outputs = classes if classes > 2 else 1
        shapes = {
            "dual_coef_": (n,) if outputs == 1 else (n, outputs),
            "intercept_": () if outputs == 1 else (outputs,),
            "weights_": (count,),
            "weights_std_": (count,),
            "line_cov_": (outputs + count, outputs + count),
            "coef_cov_": (outputs, n, n),
            "latent_variance_": (),
            "lower_bound_": (),
            "lower_bound_history_": (self.n_iter_,),
            **self._shapes,
        }
        for name, shape in shapes.items():
            values = np.asarray(getattr(self, name), dtype=np.float64)
            if values.shape != shape or not np.isfinite(values).all():
                raise ValueError(
                    f"expected finite numbers of shape {shape} in {name}, got {values!r:.100}"
                )
        total: Any = self.kernel_
        if not isinstance(total, WeightedSum):
            raise ValueError(f"expected a weighted sum, got {type(total).__name__}")
        if not np.array_equal(total.weights, self.weights_):
            raise ValueError("expected kernel_ to have the weights in weights_")
        for kernel in (total, *kernels):
            kernel(self.support_vectors_[:1])
