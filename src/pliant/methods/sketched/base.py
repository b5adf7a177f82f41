"""What sketched kernel ridge regression and classification share: the fit and the prediction."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from pliant.core.blocks import in_blocks
from pliant.core.kernels.base import Kernel
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
    optional,
    real_number,
    stack_level,
    validate_data,
)
from pliant.methods.sketched.centres import Centres, leverage_centres, uniform_centres
from pliant.methods.sketched.conjugate_gradients import Precondition, Stops, solve
from pliant.methods.sketched.costs import patience, value_cost
from pliant.methods.sketched.factor import CentreFactor, Preconditioner, factor_of
from pliant.methods.sketched.kernel_rows import Device, KernelRows, get_device
from pliant.methods.sketched.problem import NormalEquations
from pliant.methods.sketched.samples import MemorySamples, Samples

CHOICES = ("uniform", "leverage")


def check_centres(name: str, value: Any) -> None:
    """Raise ValueError unless `value` names a way to choose centres, or is an array of points."""
    if isinstance(value, str):
        one_of(CHOICES)(name, value)
    elif len(check_points(value, name)) == 0:
        raise ValueError(f"expected {name} in {list(CHOICES)} or points, got an array of none")


class Targets(NamedTuple):
    """Centred targets in units of their size, for weights of at most 1.

    Attributes
    ----------
    values : array of shape (n, t)
    means : array of shape (t,)
        What was subtracted, in these units; zeros without an intercept.
    units : array of shape (t,)
        Powers of two.
    weights : array of shape (n,)
    largest_weight : float
        What the weights were divided by.
    """

    values: Array
    means: Array
    units: Array
    weights: Array
    largest_weight: float

    @property
    def squares(self) -> Array:
        """The weighted sums of the squares, shape (t,)."""
        return np.asarray(self.weights @ self.values**2)

    @classmethod
    def of(cls, y: Array, weights: Array, centred: bool) -> Targets:
        """Return the targets of shape (n, t) in this form."""
        units = np.ldexp(1.0, np.frexp(np.abs(y).max(axis=0))[1] - 1)
        values = y / units
        largest = float(weights.max())
        weights = weights / largest
        means = np.zeros(y.shape[1])
        if centred:
            means = weights @ values / weights.sum()
            values -= means
        return cls(values, means, units, weights, largest)


class Task(NamedTuple):
    """What is to be solved: rows, kernel, targets, and centres with the factor of their matrix."""

    samples: Samples
    kernel: Kernel
    targets: Targets
    centres: Centres
    factor: CentreFactor
    ridge: float

    @property
    def kept(self) -> Array:
        """The centres that are kept, in the order of the factor."""
        return self.centres.points[self.factor.order[: self.factor.rank]]


class BaseSketched(CallbackSupport, BaseEstimator, ABC):
    """Kernel ridge regression of one or more targets on a few centres."""

    _constraints: ClassVar[Mapping[str, Constraint]] = {
        "alpha": real_number(above=0),
        "n_centers": integer(least=1),
        "centers": check_centres,
        "fit_intercept": check_flag,
        "solver": one_of(("auto", "cg", "direct")),
        "preconditioner": optional(one_of(("falkon",))),
        "tol": real_number(above=0),
        "max_iter": integer(least=1),
        "dtype": one_of(("float32", "float64")),
        "block_mb": real_number(above=0),
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
            samples, y, weights = self._checked_data(X, y, sample_weight)
            y, weights = self._targets(y, weights)
            progress = FitProgress(self, X, y)
            names = getattr(self, "feature_names_in_", None)
            kernel = _usable(samples.kernel(self.kernel, self.gamma, names), self.kernel)
            self._learn(samples, kernel, y, weights, device, progress)
            progress.end()
        return self

    def _checked_data(self, X: Any, y: Any, sample_weight: Any) -> tuple[Samples, Any, Array]:
        """Return rows, targets as they were given, and weights."""
        if is_collection(X):
            from pliant.methods.sketched.dask_rows import dask_samples

            return dask_samples(self, X, y, sample_weight)
        points, y = validate_data(
            self,
            X,
            y,
            dtype=(np.float64, np.float32),
            ensure_min_samples=2,
            **self._target_options,
        )
        return MemorySamples(points), y, check_weights(sample_weight, points)

    _target_options: ClassVar[Mapping[str, Any]] = {}
    """What scikit-learn's validation is to know of y."""

    @abstractmethod
    def _targets(self, y: Any, weights: Array) -> tuple[Array, Array]:
        """Return real targets, shape (n,) or (n, t), and weights."""

    def _learn(
        self,
        samples: Samples,
        kernel: Kernel,
        y: Array,
        weights: Array,
        device: Device,
        progress: Callback,
    ) -> None:
        """Choose centres, solve the normal equations, and set the fitted attributes."""
        targets = Targets.of(y.reshape(len(y), -1), weights, bool(self.fit_intercept))
        alpha = float(self.alpha) / targets.largest_weight
        with np.errstate(over="ignore", invalid="ignore"):
            centres = self._centres(samples, kernel, targets.weights, alpha)
            factor = factor_of(kernel, centres.points)
            ridge = _ridge(alpha, factor.scale, float(self.alpha))
            task = Task(samples, kernel, targets, centres, factor, ridge)
            problem, patient = self._problem(task, device)
            result = self._solved(task, problem, patient, progress)
            self._keep(task, problem, result, y.ndim == 1)
        learned = ("dual_coef_", "intercept_")
        check_finite(self, learned, "scale the targets or the features, or raise alpha")
        self._warn_if_open(result)

    def _centres(self, samples: Samples, kernel: Kernel, weights: Array, alpha: float) -> Centres:
        """Return the centres, given or drawn."""
        if not isinstance(self.centers, str):
            points = check_points(self.centers, "centers", samples.n_features).copy()
            share = float(weights.sum()) / len(points)
            return Centres(points, None, np.full(len(points), share))
        draw, count = check_random_state(self.random_state), int(self.n_centers)
        if self.centers == "uniform":
            return uniform_centres(samples.take, weights, count, draw)
        return leverage_centres(samples.take, weights, count, draw, kernel=kernel, alpha=alpha)

    def _problem(self, task: Task, device: Device) -> tuple[NormalEquations, int | None]:
        """Return the normal equations, and how many iterations to try on them; None for all."""
        memory = float(self.block_mb), float(self.cache_mb)
        targets, kept = task.targets, task.kept
        data = targets.values, targets.weights
        rows = task.samples.rows(*data, KernelRows(task.kernel, kept, device), *memory)
        exact = rows
        if device.dtype == "float32":
            double = KernelRows(task.kernel, kept, Device(device.xp, "float64", device.name))
            exact = task.samples.rows(*data, double, memory[0], 0.0)
        problem = NormalEquations(
            rows,
            exact,
            task.factor,
            task.ridge,
            total_weight=float(targets.weights.sum()),
            centred=bool(self.fit_intercept),
            squares=targets.squares,
            units=targets.units**2 * targets.largest_weight,
        )
        return problem, self._patience(task, getattr(rows, "n_kept", 0) / len(task.samples))

    def _patience(self, task: Task, kept: float) -> int | None:
        """Return how many iterations to try; None for all."""
        if self.solver != "auto":
            return None if self.solver == "cg" else 0
        value = value_cost(task.kernel, task.samples.n_features)
        n_targets = task.targets.values.shape[1]
        return patience(value=value, n_centres=task.factor.rank, n_targets=n_targets, kept=kept)

    def _solved(
        self, task: Task, problem: NormalEquations, patient: int | None, progress: Callback
    ) -> Result[Any]:
        """Return the solution of the normal equations."""

        def approximate() -> Precondition:
            if self.preconditioner is None or patient == 0:
                return np.copy
            centred = bool(self.fit_intercept)
            return Preconditioner(task.factor.covariance(task.centres.weights, centred), task.ridge)

        tol = min(float(self.tol), 1e100)  # its square is finite
        stops = Stops(tol**2 * task.targets.squares, int(self.max_iter), progress)
        return solve(
            problem,
            approximate,
            stops,
            patience=patient,
            exact=lambda: Preconditioner(problem.matrix(), problem.ridge),
        )

    def _keep(self, task: Task, problem: NormalEquations, result: Result[Any], flat: bool) -> None:
        """Set the fitted attributes, in the units of y and in the order of the centres."""
        factor, targets, rows = task.factor, task.targets, task.centres.rows
        chosen = factor.order[: factor.rank]
        order = np.argsort(chosen)
        coefficients = factor.coefficients(result.x) / factor.scale
        intercept = (targets.means - problem.means @ coefficients) * targets.units
        coefficients = (coefficients * targets.units)[order]
        self.kernel_ = task.kernel
        self.support_vectors_ = task.kept[order]
        self.support_ = None if rows is None else rows[chosen[order]]
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
        device = self._prediction_device()
        values = KernelRows(self.kernel_, self.support_vectors_, device)
        coefficients = device.array(self.dual_coef_)
        outputs: Array = in_blocks(
            points,
            len(self.support_vectors_),
            lambda block: device.numpy(values(block) @ coefficients) + self.intercept_,
        )
        return outputs

    def _prediction_device(self) -> Device:
        """Return the GPU if one was asked for and is there, else the CPU."""
        if str(self.device).startswith("cuda") or self.device == "auto":
            return get_device("auto", "float64")
        return Device(np, "float64")

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


def _usable(kernel: Kernel, given: Any) -> Kernel:
    """Return a kernel that has values between all points, symmetric ones."""
    if isinstance(given, str) and given == "precomputed":
        raise ValueError(
            "expected a kernel that can be evaluated, got kernel='precomputed', which needs the "
            "values of all pairs of rows; use sklearn.kernel_ridge.KernelRidge for it"
        )
    if not kernel.symmetric:
        kernel._refuse_one_set()
    return kernel


def _ridge(alpha: float, scale: float, given: float) -> float:
    """Return alpha / scale, if it is a normal number."""
    ridge = alpha / scale
    if not np.finfo(np.float64).tiny <= ridge < np.inf:
        raise ValueError(
            f"expected alpha of a size like the kernel values times the weights, got alpha = "
            f"{given:g} for kernel values of about {scale:.3g} and alpha/weight = {alpha:.3g}"
        )
    return ridge
