"""Fit and prediction of sketched kernel ridge regression and classification."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from pliant.core.blocks import in_blocks
from pliant.core.dask import Rows
from pliant.core.device import Device, get_device
from pliant.core.kernels.base import Kernel
from pliant.core.kernels.standard import Gaussian, as_kernel
from pliant.core.progress import CallbackSupport, FitProgress, Result, Status, with_callbacks
from pliant.core.summary import FunctionSummary, Summary
from pliant.core.threads import blas_limited
from pliant.core.typing import Array, Callback
from pliant.core.validation import (
    Constraint,
    check_finite,
    check_flag,
    check_parameters,
    check_points,
    check_random_state,
    check_weights,
    fresh,
    integer,
    is_collection,
    one_of,
    real_number,
    stack_level,
    validate_data,
)
from pliant.methods.sketched.centres import (
    CentreFactor,
    Centres,
    Preconditioner,
    drawn_centres,
    factor_of,
)
from pliant.methods.sketched.conjugate_gradients import Precondition, patience, solve
from pliant.methods.sketched.problem import NormalEquations, Targets
from pliant.methods.sketched.rows import (
    DaskRows,
    Data,
    KernelValues,
    MemoryRows,
    dask_data,
    points_for_kernel,
)

FEATURE, GAUSSIAN, OTHER = 0.06, 1.5, 10.0
"""Nanoseconds of a Gaussian's value for each feature, and besides; and of another kernel's: from 1
for a linear one to 40 for those of SCG-LDK and DANK."""


def check_centres(name: str, value: Any) -> None:
    """Raise ValueError unless `value` is "uniform" or an array of points."""
    if isinstance(value, str):
        one_of(("uniform",))(name, value)
    elif len(check_points(value, name)) == 0:
        raise ValueError(f"expected {name} 'uniform' or points, got an array of none")


class BaseSketched(CallbackSupport, BaseEstimator, ABC):
    """Kernel ridge regression of one or more targets on a few centres."""

    _constraints: ClassVar[Mapping[str, Constraint]] = {
        "alpha": real_number(above=0),
        "n_centers": integer(least=1),
        "centers": check_centres,
        "fit_intercept": check_flag,
        "solver": one_of(("auto", "cg", "direct")),
        "tol": real_number(above=0),
        "max_iter": integer(least=1),
        "dtype": one_of(("float32", "float64")),
        "cache_mb": real_number(least=0),
        "verbose": check_flag,
    }
    """The kernel and gamma are checked where the kernel is made, the device where it is found."""

    @with_callbacks
    @blas_limited
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn the coefficients of the centres.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or a Dask array or data frame
            At least two training points. float32 and memory maps are not copied, and partitions of
            a Dask array are computed again in each pass.
        y : array-like of shape (n_samples,), or for real targets (n_samples, n_outputs)
            Class labels, or real targets; a Dask array is computed.
        sample_weight : array-like of shape (n_samples,), optional
            Weights >= 0. A weight of 2 is the same as the sample twice, given the centres and the
            kernel.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            For a parameter out of range, data that cannot be learned from, or a kernel that is not
            positive semi-definite on the centres.
        ImportError
            If the device needs PyTorch, and it is not installed.

        Warns
        -----
        sklearn.exceptions.ConvergenceWarning
            The coefficients are not certified to be as accurate as ``tol`` asks for.
        """
        with fresh(self):
            check_parameters(self)
            device = get_device(self.device, self.dtype)
            data, y, weights = self._checked_data(X, y, sample_weight)
            y, weights = self._targets(y, weights)
            progress = FitProgress(self, X, y)
            self._learn(data, self._made_kernel(data), y, weights, device, progress)
            progress.end()
        return self

    def _checked_data(self, X: Any, y: Any, sample_weight: Any) -> tuple[Data, Any, Array]:
        """Return points, targets as they were given, and weights."""
        if is_collection(X):
            return dask_data(self, X, y, sample_weight)
        options = {"dtype": (np.float64, np.float32), "ensure_min_samples": 2}
        points, y = validate_data(self, X, y, **options, **self._target_options)
        return points, y, check_weights(sample_weight, points)

    def _made_kernel(self, data: Data) -> Kernel:
        """Return the kernel, if it has values between all points, symmetric ones."""
        if isinstance(self.kernel, str) and self.kernel == "precomputed":
            raise ValueError(
                "expected a kernel that can be evaluated, got kernel='precomputed', which needs "
                "the values of all pairs of rows; use sklearn.kernel_ridge.KernelRidge for it"
            )
        points = points_for_kernel(data, self.kernel, self.gamma)
        kernel = as_kernel(
            self.kernel, points, self.gamma, getattr(self, "feature_names_in_", None)
        )
        if not kernel.symmetric:
            kernel._refuse_one_set()
        return kernel

    _target_options: ClassVar[Mapping[str, Any]] = {}
    """What scikit-learn's validation is to know of y."""

    @abstractmethod
    def _targets(self, y: Any, weights: Array) -> tuple[Array, Array]:
        """Return real targets, shape (n,) or (n, t), and weights."""

    def _learn(
        self,
        data: Data,
        kernel: Kernel,
        y: Array,
        weights: Array,
        device: Device,
        progress: Callback,
    ) -> None:
        """Choose centres, solve the normal equations, and set the fitted attributes."""
        centred = bool(self.fit_intercept)
        targets = Targets.of(y.reshape(len(y), -1), weights, centred)
        alpha = float(self.alpha) / targets.largest_weight
        with np.errstate(over="ignore", invalid="ignore"):
            centres = self._chosen_centres(data, targets.weights)
            factor = factor_of(kernel, centres.points)
            ridge = alpha / factor.scale
            if not np.finfo(np.float64).tiny <= ridge < np.inf:
                raise ValueError(
                    "expected alpha of a size like the kernel values times the weights, got alpha "
                    f"= {self.alpha:g} for kernel values of about {factor.scale:.3g} and "
                    f"alpha/weight = {alpha:.3g}"
                )
            kept = centres.points[factor.order[: factor.rank]]
            values = KernelValues(kernel, kept, device)
            rows = exact = self._rows(data, targets, values, float(self.cache_mb))
            if device.single:
                double = replace(device, dtype=device.xp.float64)
                exact = self._rows(data, targets, KernelValues(kernel, kept, double), 0.0)
            problem = NormalEquations(rows, exact, factor, ridge, targets, centred)
            patient = self._patience(kernel, len(kept), targets, rows.n_kept)

            def approximate() -> Precondition:
                if patient == 0:
                    return np.copy
                return Preconditioner(factor.covariance(centres.weights, centred), ridge)

            result = solve(
                problem,
                approximate,
                min(float(self.tol), 1e100) ** 2 * targets.squares,
                int(self.max_iter),
                progress,
                patience=patient,
                exact=lambda: Preconditioner(problem.matrix(), ridge),
            )
            self._store(kernel, centres, factor, targets, problem, result, y.ndim == 1)
        learned = ("dual_coef_", "intercept_")
        check_finite(self, learned, "scale the targets or the features, or raise alpha")
        self._warn_if_open(result)

    def _chosen_centres(self, data: Data, weights: Array) -> Centres:
        """Return the centres, given or drawn."""
        if isinstance(self.centers, str):
            draw = check_random_state(self.random_state)
            return drawn_centres(data, weights, int(self.n_centers), draw)
        points = check_points(self.centers, "centers", self.n_features_in_).copy()
        return Centres(points, None, np.full(len(points), float(weights.sum()) / len(points)))

    @staticmethod
    def _rows(
        data: Data, targets: Targets, values: KernelValues, cache_mb: float
    ) -> MemoryRows | DaskRows:
        """Return the rows with targets, weights and kernel values."""
        if isinstance(data, Rows):
            return DaskRows(data, targets.values, targets.weights, values)
        return MemoryRows(data, targets.values, targets.weights, values, cache_mb)

    def _patience(self, kernel: Kernel, rank: int, targets: Targets, n_kept: int) -> int | None:
        """Return how many iterations to try; None for all."""
        if self.solver != "auto":
            return None if self.solver == "cg" else 0
        value = OTHER
        if isinstance(kernel, Gaussian):
            value = GAUSSIAN + FEATURE * self.n_features_in_
        n, t = targets.values.shape
        return patience(value=value, n_centres=rank, n_targets=t, kept=n_kept / n)

    def _store(
        self,
        kernel: Kernel,
        centres: Centres,
        factor: CentreFactor,
        targets: Targets,
        problem: NormalEquations,
        result: Result[Any],
        flat: bool,
    ) -> None:
        """Set the fitted attributes, in the units of y and in the order of the centres."""
        chosen = factor.order[: factor.rank]
        order = np.argsort(chosen)
        coefficients = factor.coefficients(result.x) / factor.scale
        intercept = (targets.means - problem.means @ coefficients) * targets.units
        coefficients = (coefficients * targets.units)[order]
        self.kernel_ = kernel
        self.support_vectors_ = centres.points[chosen[order]]
        self.support_ = None if centres.rows is None else centres.rows[chosen[order]]
        self.dual_coef_: Any = coefficients[:, 0].copy() if flat else coefficients
        self.intercept_: Any = 0.0
        if self.fit_intercept:
            self.intercept_ = float(intercept[0]) if flat else intercept
        self.objective_, self.gap_ = result.value, result.gap
        certificate: Any = result.certificate
        largest = np.linalg.norm(problem.right, axis=0)
        left = np.linalg.norm(certificate.gradient, axis=0)
        self.residual_ = float(np.divide(left, largest, out=left * 0.0, where=largest > 0).max())
        squares: Any = targets.squares
        shares = np.divide(certificate.gaps, squares, out=left * 0.0, where=squares > 0)
        self.certified_error_ = float(np.sqrt(shares.max()))
        self.n_iter_ = result.n_iter
        self.n_passes_ = problem.n_passes
        self.converged_ = result.status is Status.CONVERGED

    def _warn_if_open(self, result: Result[Any]) -> None:
        """Warn if the accuracy that was asked for is not certified."""
        if result.status in (Status.CONVERGED, Status.STOPPED):
            return
        why = f"max_iter = {self.max_iter} came first; raise it"
        if result.status is Status.STALLED:
            why = "rounding errors hide the rest; raise alpha"
        warnings.warn(
            f"{type(self).__name__} certifies that predictions for the training rows are within "
            f"{self.certified_error_:.3g} standard deviations of the target of the optimum (root "
            f"mean square), which is more than tol = {self.tol:g}: {why}, or raise tol",
            ConvergenceWarning,
            stacklevel=stack_level(),
        )

    @blas_limited
    def _outputs(self, X: Any) -> Array:
        """Return f at each point, shape (n_queries,) or (n_queries, t)."""
        check_is_fitted(self)
        points = validate_data(self, X, reset=False, dtype=(np.float64, np.float32))
        device = Device(np, np.float64)
        if str(self.device).startswith("cuda"):
            with suppress(ImportError, ValueError):  # loaded where there is no GPU
                device = get_device(self.device, "float64")
        values = KernelValues(self.kernel_, self.support_vectors_, device)
        coefficients = device.array(self.dual_coef_)
        outputs: Array = in_blocks(
            points,
            len(self.support_vectors_),
            lambda block: device.numpy(values(block) @ coefficients) + self.intercept_,
        )
        return outputs

    def summary(self) -> Summary:
        """Return what the model has learned, in the form that all methods share.

        ``n_support`` is the number of centres that are kept, and the detail ``passes`` the number
        of passes over all rows.

        Returns
        -------
        Summary
        """
        check_is_fitted(self)
        n_support = len(self.support_vectors_)
        function = FunctionSummary(
            self,
            n_support,
            n_iter=self.n_iter_,
            objective=self.objective_,
            gap=self.gap_,
            relative_gap=self.certified_error_,
            details={"passes": self.n_passes_},
        )
        return Summary(
            (function,), kernel=self.kernel_, n_support=n_support, drawings=frozenset({"gram"})
        )

    def __sklearn_is_fitted__(self) -> bool:
        """Whether a fit came to its end."""
        return "converged_" in vars(self)

    def _check_loaded(self) -> None:
        """Raise ValueError if attributes, read from a file, do not belong together."""
        rows = len(check_points(self.support_vectors_, "support_vectors_", self.n_features_in_))
        kernel: Any = self.kernel_
        if not isinstance(kernel, Kernel):
            raise ValueError(f"expected a kernel, got {type(kernel).__name__}")
        coefficients = np.asarray(self.dual_coef_)
        if coefficients.shape[:1] != (rows,) or coefficients.ndim > 2:
            raise ValueError(f"expected {rows} rows in dual_coef_, got shape {coefficients.shape}")
        if np.shape(self.intercept_) not in ((), coefficients.shape[1:]):
            raise ValueError(
                f"expected an intercept_ for each output, got shape {np.shape(self.intercept_)}"
            )
        check_finite(self, ("dual_coef_", "intercept_"))
