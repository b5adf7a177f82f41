"""Sketched kernel ridge regression and classification, for many rows and any PSD kernel."""

from __future__ import annotations

import math
import warnings
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from functools import partial
from typing import Any, ClassVar, Literal, Self

import numpy as np
import numpy.typing as npt

from pliant.core.blocks import in_blocks
from pliant.core.dask import DaskRows, by_partition
from pliant.core.docstrings import documented_as
from pliant.core.estimators import (
    BaseEstimator,
    ClassifierMixin,
    ConvergenceWarning,
    MultiOutputMixin,
    RegressorMixin,
    check_is_fitted,
)
from pliant.core.form import Part, SavedForm, indices, numbers
from pliant.core.parameters import (
    Constraint,
    check_flag,
    check_parameters,
    check_random_state,
    integer,
    moderate_number,
    one_of,
    plain,
    real_number,
)
from pliant.core.progress import CallbackSupport, FitProgress, Result, Status, with_callbacks
from pliant.core.sparse import as_csr, is_sparse
from pliant.core.state import reads, trains
from pliant.core.threads import blas_limited
from pliant.core.typing import Array, Callback, Indices
from pliant.core.validation import (
    check_finite,
    check_points,
    check_targets,
    check_weights,
    class_codes,
    class_factors,
    is_collection,
    positive_rows,
    stack_level,
    validate_data,
)
from pliant.kernels.base import Kernel, KernelOn
from pliant.kernels.standard import Gamma, KernelLike, as_kernel, takes_sparse_points
from pliant.methods.ridge.problem import (
    CentreFactor,
    Centres,
    RidgeCertificate,
    SketchedEquations,
    Targets,
    factorize,
    sample_centres,
    sample_rows,
)
from pliant.methods.ridge.rows import (
    Data,
    KernelRows,
    KernelValues,
    MemoryRows,
    PartitionRows,
    dask_data,
    points_for_kernel,
)
from pliant.methods.ridge.solver import Costs, Solver, products_per_value
from pliant.methods.summary import FunctionSummary, Summary


def check_centres(name: str, value: Any) -> None:
    """Check that `value` is "uniform" or an array of points."""
    if isinstance(value, str):
        one_of(("uniform",))(name, value)
    elif check_points(value, name, sparse=True).shape[0] == 0:
        raise ValueError(f"expected {name} to be 'uniform' or at least one point, got no points")


@dataclass(eq=False, repr=False)
class BaseSketched(CallbackSupport, BaseEstimator, ABC):
    """Base class of kernel ridge regression on centres, with one or more targets."""

    kernel: KernelLike = "gaussian"
    alpha: float = 1.0
    _: KW_ONLY
    gamma: Gamma = "scale"
    n_centers: int = 1000
    centers: str | npt.ArrayLike = "uniform"
    fit_intercept: bool = True
    solver: Literal["auto", "cg", "direct"] = "auto"
    tol: float = 1e-6
    max_iter: int = 500
    dtype: Literal["float64", "float32"] = "float64"
    cache_mb: float = 1000.0
    random_state: int | np.random.RandomState | None = None
    verbose: bool = False

    _constraints: ClassVar[Mapping[str, Constraint]] = {
        "alpha": moderate_number(),
        "n_centers": integer(least=1),
        "centers": check_centres,
        "fit_intercept": check_flag,
        "solver": one_of(("auto", "cg", "direct")),
        "tol": moderate_number(),
        "max_iter": integer(least=1),
        "dtype": one_of(("float32", "float64")),
        "cache_mb": real_number(least=0),
        "verbose": check_flag,
    }
    """Constraints on the parameters except kernel and gamma, which `as_kernel` checks."""

    _form: ClassVar[SavedForm] = {
        "kernel_": KernelOn("support_vectors_"),
        "support_": indices("vectors", optional=True),
        "support_vectors_": Part("number", ("vectors", "features"), sparse=True),
        "dual_coef_": numbers("vectors", "outputs", flat=True),
        "intercept_": numbers("outputs", scalar=True),
    }

    objective_: float = field(init=False)
    gap_: float = field(init=False)

    @blas_limited
    @trains
    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the coefficients of the centres.

        Raise ValueError if a parameter or the data are invalid, or if the kernel is not positive
        semi-definite on the centres. A ConvergenceWarning reports an accuracy worse than ``tol``.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), or a Dask collection
            At least two training points. float32 arrays and memory maps are not copied, unless
            some weights are zero. Each pass recomputes the partitions of a Dask array.
        y : array-like of shape (n_samples,), or for real targets (n_samples, n_outputs)
            Class labels or real targets; a Dask array is computed.
        sample_weight : array-like of shape (n_samples,), optional
            Weights >= 0. A weight of 0 is equivalent to removing the sample; with fixed centres and
            kernel, a weight of 2 counts a sample twice.
        """
        check_parameters(self)
        data, y, weights = self._validate(X, y, sample_weight)
        rows, weights, data, y = positive_rows(weights, data, y)
        y, weights = self._targets(y, weights)
        progress = FitProgress(self, X, y)
        kernel = self._resolve_kernel(data)
        problem = self._state_problem(data, kernel, y, weights)
        result = self._solve(problem, kernel, progress)
        self._store(problem, rows, result, flat=y.ndim == 1)
        self.kernel_ = kernel
        learned = ("dual_coef_", "intercept_")
        check_finite(self, learned, "scale the targets or the features, or raise alpha")
        self._warn_unless_converged(result)
        progress.end()
        return self

    def _validate(self, X: Any, y: Any, sample_weight: Any) -> tuple[Data, Any, Array]:
        if is_collection(X):
            return dask_data(self, X, y, sample_weight)
        options = {"dtype": (np.float64, np.float32), "ensure_min_samples": 2}
        points, y = validate_data(self, X, y, **options, **self._target_options)
        return points, y, check_weights(sample_weight, points)

    def _resolve_kernel(self, data: Data) -> Kernel:
        """Return the kernel; raise ValueError if it is precomputed or asymmetric."""
        if isinstance(self.kernel, str) and self.kernel == "precomputed":
            raise ValueError(
                "expected a kernel that can be evaluated, got kernel='precomputed', which needs "
                "the values of all pairs of rows; use sklearn.kernel_ridge.KernelRidge instead"
            )
        points = points_for_kernel(data, self.kernel, self.gamma)
        names = getattr(self, "feature_names_in_", None)
        kernel = as_kernel(self.kernel, points, self.gamma, names)
        if not kernel.symmetric:
            kernel._refuse_one_set()
        return kernel

    _target_options: ClassVar[Mapping[str, Any]] = {}  # for validating y

    @abstractmethod
    def _targets(self, y: Any, weights: Array) -> tuple[Array, Array]:
        """Return real targets, shape (n,) or (n, t), and weights."""

    def _state_problem(
        self, data: Data, kernel: Kernel, y: Array, weights: Array
    ) -> SketchedEquations:
        """Choose the centres and state the normal equations."""
        centred = bool(self.fit_intercept)
        targets = Targets.scaled(y.reshape(len(y), -1), weights, centred)
        centres = self._choose_centres(data, targets.weights)
        factor = factorize(kernel, centres.points)
        # alpha |f|^2 = ridge |w|^2 for the coefficients U^{-1} w / scale of f
        alpha = float(self.alpha) / targets.largest_weight
        ridge = alpha / factor.scale
        kept = centres.points[factor.order[: factor.rank]]

        def rows_of(values: KernelValues, cache_mb: float) -> KernelRows:
            if isinstance(data, DaskRows):
                return PartitionRows(data, targets.values, targets.weights, values)
            return MemoryRows(
                X=data,
                targets=targets.values,
                weights=targets.weights,
                values=values,
                cache_mb=cache_mb,
            )

        rows = exact = rows_of(KernelValues(kernel, kept, self.dtype), float(self.cache_mb))
        if self.dtype == "float32":
            exact = rows_of(KernelValues(kernel, kept), 0.0)
        size = self._costs(kernel, rows, targets, kept, factor)[1]
        sample = partial(sample_rows, data, targets, KernelValues(kernel, kept), size)
        return SketchedEquations(
            rows=rows,
            exact=exact,
            sample=sample,
            centres=centres,
            factor=factor,
            ridge=ridge,
            targets=targets,
            centred=centred,
        )

    def _costs(
        self,
        kernel: Kernel,
        rows: KernelRows,
        targets: Targets,
        centres: Array,
        factor: CentreFactor,
    ) -> tuple[Costs, int]:
        """Return the costs of a fit, and the number of rows of a preconditioner."""
        (n, t), m = targets.values.shape, factor.rank
        costs = Costs.of(kernel, (m, products_per_value(centres)), t, rows.n_kept / n)
        return costs, costs.sample_size(n, m)

    def _choose_centres(self, data: Data, weights: Array) -> Centres:
        if isinstance(self.centers, str):
            rng = check_random_state(self.random_state)
            return sample_centres(data, weights, int(self.n_centers), rng)
        points: Any = check_points(self.centers, "centers", self.n_features_in_, sparse=True).copy()
        if is_sparse(data) is not is_sparse(points):
            points = as_csr(points) if is_sparse(data) else points.toarray()
        count = points.shape[0]
        return Centres(points, None, np.full(count, float(weights.sum()) / count))

    def _solve(
        self, problem: SketchedEquations, kernel: Kernel, callback: Callback
    ) -> Result[RidgeCertificate]:
        centres = problem.centres.points
        costs, size = self._costs(kernel, problem.rows, problem.targets, centres, problem.factor)
        n = len(problem.targets.weights)
        iterations: int | None = {"cg": None, "direct": 0}.get(self.solver, costs.limit(n, n))
        sampled = costs.limit(n, size) if size < n else None
        # gap / weights.sum() bounds the mean squared difference from the optimal predictions, and
        # `squares` is weights.sum() times the variance of the target, or its mean square without
        # an intercept.
        gaps = float(self.tol) ** 2 * problem.squares
        return Solver(
            problem=problem,
            gaps=gaps,
            max_iter=int(self.max_iter),
            callback=callback,
            cg_limit=iterations,
            sample_limit=sampled,
        ).solve()

    def _store(
        self,
        problem: SketchedEquations,
        rows: Indices,
        result: Result[RidgeCertificate],
        *,
        flat: bool,
    ) -> None:
        """Set the fitted attributes, in units of y and in the order of the centres.

        `rows` holds the numbers of the rows of positive weight.
        """
        centres, factor, targets = problem.centres, problem.factor, problem.targets
        certificate = result.certificate
        assert certificate is not None
        chosen = factor.order[: factor.rank]
        order = np.argsort(chosen)
        coefficients = factor.coefficients(result.x) / factor.scale
        # f(x) + b = (k(x, C) - mu') a + mean, so b = mean - mu'a
        intercept = (targets.means - problem.means @ coefficients) * targets.units
        coefficients = (coefficients * targets.units)[order]
        self.support_vectors_: Array = centres.points[chosen[order]]
        self.support_: Indices | None = (
            None if centres.rows is None else rows[centres.rows[chosen[order]]]
        )
        self.dual_coef_: Array = coefficients[:, 0].copy() if flat else coefficients
        self.intercept_: float | Array = 0.0
        if self.fit_intercept:
            self.intercept_ = float(intercept[0]) if flat else intercept
        self.objective_, self.gap_ = result.value, result.gap
        norms = np.linalg.norm(certificate.gradient, axis=0)
        self.residual_: float = _largest_ratio(norms, np.linalg.norm(problem.right, axis=0))
        self.certified_error_: float = math.sqrt(_largest_ratio(certificate.gaps, problem.squares))
        self.n_iter_: int = result.n_iter
        self.n_passes_: int = problem.n_passes
        self.converged_: bool = result.status is Status.CONVERGED

    @property
    @reads
    def lower_bound_(self) -> float:
        """Lower bound on the minimum of the objective."""
        return float(self.objective_ - self.gap_)

    @property
    @reads
    def upper_bound_(self) -> float:
        """Upper bound on the minimum of the objective: its value at the solution."""
        return float(self.objective_)

    def _warn_unless_converged(self, result: Result[RidgeCertificate]) -> None:
        if result.status in (Status.CONVERGED, Status.STOPPED):
            return
        reason = f"the solver reached max_iter = {self.max_iter}; raise max_iter"
        if result.status is Status.STALLED:
            reason = "rounding errors prevent higher accuracy; raise alpha"
        unit = "standard deviations" if self.fit_intercept else "root mean squares"
        warnings.warn(
            f"{type(self).__name__} certifies a root mean square difference from the optimal "
            f"training predictions of at most {self.certified_error_:.3g} {unit} of "
            f"the target, above tol = {self.tol:g}: {reason}, or raise tol",
            ConvergenceWarning,
            stacklevel=stack_level(),
        )

    @blas_limited
    def _outputs(self, X: Any) -> Array:
        check_is_fitted(self)
        points = validate_data(self, X, reset=False, dtype=(np.float64, np.float32))
        values = KernelValues(self.kernel_, self.support_vectors_)
        coefficients = np.ascontiguousarray(self.dual_coef_, dtype=np.float64)

        def outputs(block: Array) -> Array:
            return values(block) @ coefficients + self.intercept_

        return in_blocks(points, len(coefficients), outputs)

    @reads
    def summary(self) -> Summary:
        """Return a summary of the fitted model.

        ``n_support`` is the number of kept centres, and the detail ``passes`` is the number of
        passes over all rows.
        """
        check_is_fitted(self)
        n_support, details = len(self.dual_coef_), {"passes": self.n_passes_}
        results = self.n_iter_, self.objective_, self.gap_, self.certified_error_
        function = FunctionSummary(self, n_support, *results, details=details)
        return Summary((function,), kernel=self.kernel_, n_support=n_support)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = takes_sparse_points(self.kernel)
        return tags


def _largest_ratio(numerators: Array, denominators: Array) -> float:
    """Return the largest ratio, with 0 for a denominator of 0."""
    zeros = np.zeros_like(numerators)
    return float(np.divide(numerators, denominators, out=zeros, where=denominators > 0).max())


@dataclass(eq=False, repr=False)
class SketchedKernelRidge(MultiOutputMixin, RegressorMixin, BaseSketched):
    r"""Kernel ridge regression on a few centres, for many samples and any kernel.

    With centres :math:`c_1, \dots, c_m`, weights :math:`s_i` and the kernel's RKHS norm, the fit
    solves

    .. math::

        \min_{f, b} \; \sum_{i=1}^n s_i (y_i - f(x_i) - b)^2 + \alpha \|f\|^2, \qquad
        f = \sum_{j=1}^m a_j k(c_j, \cdot).

    The model equals scikit-learn's ``Nystroem`` with these centres followed by ``Ridge(alpha)``, or
    ``KernelRidge`` for m = n centres without an intercept. The solver is FALKON [1]_: conjugate
    gradients, preconditioned with the centres or a sample of rows, in blocks of samples, without
    an n x m matrix in memory. The intercept b is not penalised.

    Parameters
    ----------
    kernel : str, Kernel or callable, default="gaussian"
        A name in ``pliant.kernels.KERNEL_NAMES``, a kernel object, given or learned (for LAB-RBF,
        its ``symmetric_kernel_``), or a function of two matrices; PSD on the centres.
    alpha : float, default=1.0
        Ridge penalty, 1e-12 to 1e12, as in scikit-learn's ``Ridge`` and ``KernelRidge``.
    gamma : float or {"scale", "auto"}, default="scale"
        Parameter of named kernels: "scale" is 1/(n_features var(X)), "auto" is 1/n_features.
    n_centers : int, default=1000
        Number of centres to draw. With n_samples or more, the centres are all samples with weight
        > 0, and the result is exact kernel ridge regression.
    centers : "uniform" or array of shape (n_centers, n_features), default="uniform"
        The centres, or "uniform" to draw samples with probabilities proportional to their weights.
        Given centres may be sparse.
    fit_intercept : bool, default=True
        If False, b = 0, as in scikit-learn's ``KernelRidge``.
    solver : {"auto", "cg", "direct"}, default="auto"
        "cg" makes a pass over all samples per iteration. "direct" forms and factorises the normal
        equations in one pass. "auto" switches to "direct" when the iterations have cost as much as
        "direct" does, or uses "direct" immediately if five iterations would cost more.
    tol : float, default=1e-6
        Stop at a ``certified_error_`` of at most ``tol``, from 1e-12 to 1e12.
    max_iter : int, default=500
        Maximum number of iterations.
    dtype : {"float64", "float32"}, default="float64"
        Dtype of the kernel values during iterations. "float32" halves time and memory; restarts
        with float64 residuals refine the solution to the same accuracy.
    cache_mb : float, default=1000.0
        Maximum memory for kernel values kept between passes, in MiB; other values are recomputed.
        With Dask, no values are kept.
    random_state : int, RandomState instance or None, default=None
        Seed for drawing the centres.
    verbose : bool, default=False
        If True, print the progress of the fit to standard error every two seconds.

    Attributes
    ----------
    kernel_ : Kernel
        The kernel.
    support_vectors_ : array of shape (n_kept, n_features)
        The centres, except those in the span of others, such as duplicates.
    support_ : array of shape (n_kept,) or None
        Row numbers of the centres in X; None for user-supplied centres.
    dual_coef_ : array of shape (n_kept,) or (n_kept, n_outputs)
        Coefficients: f(x) + b = ``kernel_(x, support_vectors_) @ dual_coef_ + intercept_``.
    intercept_ : float or array of shape (n_outputs,)
        b, or 0.0 if fit_intercept=False.
    objective_ : float
        The objective at the solution, summed over outputs.
    lower_bound_, upper_bound_ : float
        Bounds on the optimum. The upper one is `objective_`, as the objective is minimised.
    gap_ : float
        Difference between `upper_bound_` and `lower_bound_`; see the notes of
        `SketchedKernelRidge`.
    certified_error_ : float
        Upper bound on the root mean square difference between training predictions and optimal
        ones, in standard deviations of the target, or in its root mean square without an
        intercept; the maximum over outputs.
    residual_ : float
        Relative residual norm of the normal equations; the maximum over outputs.
    n_iter_ : int
        Number of iterations.
    n_passes_ : int
        Number of passes over all samples.
    converged_ : bool
        True if ``tol`` is certified.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : array of shape (n_features_in_,)
        Names of the features, if X has string column names.

    See Also
    --------
    SketchedKernelRidgeClassifier : Classification with the same solver.
    AsymmetricKernelRidge : Exact solution with all samples, also for asymmetric kernels.
    sklearn.kernel_approximation.Nystroem : Transformer to Nystroem features of a kernel.

    Notes
    -----
    A separate pass computes g, the residual of the normal equations in orthonormal coordinates.
    ``gap_`` = |g|^2/alpha bounds the objective minus its minimum. It also bounds the weighted sum
    of squared differences between training predictions and optimal ones. :doc:`/methods/ridge`
    derives both bounds.

    With d features and t outputs, the factorisations take O(m^3) and each pass O(n m (d + t)), or
    O(n m^2) for "direct". A fit stores 2 m^2 + 4 n t numbers, the kept kernel values, and a few
    blocks of 1 MiB. A pass over a Dask array or data frame is a tree reduction over its partitions.
    Targets and weights are loaded into memory, but X is not.

    References
    ----------
    .. [1] A. Rudi, L. Carratino, L. Rosasco. FALKON: An Optimal Large Scale Kernel Method. NIPS,
       2017.

    Examples
    --------
    >>> import numpy as np
    >>> from pliant import SketchedKernelRidge
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, size=(20_000, 3))
    >>> y = np.sin(4 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * rng.normal(size=20_000)
    >>> model = SketchedKernelRidge(n_centers=200, random_state=0).fit(X, y)
    >>> bool(model.score(X, y) > 0.97 and model.converged_)
    True
    >>> model.certified_error_ <= model.tol  # 1e-6
    True
    """

    _target_options: ClassVar[Mapping[str, Any]] = {"y_numeric": True, "multi_output": True}

    def _targets(self, y: Any, weights: Array) -> tuple[Array, Array]:
        return check_targets(y), weights

    @reads
    @by_partition
    def predict(self, X: Any) -> Any:
        """Return the predictions f(x) + b, shape (n_queries,) or (n_queries, n_outputs).

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_queries, n_features), or a Dask collection
            For a Dask collection, the result is a lazy Dask array.
        """
        return self._outputs(X)


@documented_as(SketchedKernelRidge)
@dataclass(kw_only=True, eq=False, repr=False)
class SketchedKernelRidgeClassifier(ClassifierMixin, BaseSketched):
    r"""Least-squares classification with a kernel on a few centres, for many samples.

    The targets are -1 and 1, in one column for two classes and one column per class otherwise. For
    each column, the fit minimises the objective of `SketchedKernelRidge`, which has notes and
    references. The model equals scikit-learn's ``RidgeClassifier`` on ``Nystroem`` features. Use
    ``CalibratedClassifierCV`` for probabilities.

    Parameters
    ----------
    class_weight : dict or "balanced", optional
        Class weights, which multiply the sample weights. "balanced" gives class k the weight
        n_samples / (n_classes n_k), with n_k its number of samples.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The classes, sorted.

    See Also
    --------
    SketchedKernelRidge : Regression with the same solver, with notes on the method and its cost.
    sklearn.linear_model.RidgeClassifier : Linear classifier with the same loss.

    Examples
    --------
    >>> import numpy as np
    >>> from pliant import SketchedKernelRidgeClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(20_000, 2))
    >>> y = np.where(np.hypot(X[:, 0], X[:, 1]) < 1, "inside", "outside")
    >>> model = SketchedKernelRidgeClassifier(n_centers=100, random_state=0).fit(X, y)
    >>> bool(model.score(X, y) > 0.97)
    True
    >>> model.predict([[0.0, 0.0], [1.5, 0.0]]).tolist()
    ['inside', 'outside']
    """

    class_weight: dict[Any, float] | Literal["balanced"] | None = None
    classes_: npt.NDArray[Any] = field(init=False)

    def _targets(self, y: Any, weights: Array) -> tuple[Array, Array]:
        y = np.asarray(y)
        self.classes_, codes = class_codes(y)
        if len(self.classes_) < 2:
            raise ValueError(
                f"expected at least two classes, got one class: {plain(self.classes_[0])!r}"
            )
        factors = class_factors(self.class_weight, self.classes_, y)
        weights = weights * factors[codes]
        if len(self.classes_) == 2:
            return np.where(codes == 1, 1.0, -1.0), weights
        return np.where(codes[:, None] == np.arange(len(self.classes_)), 1.0, -1.0), weights

    @reads
    @by_partition
    def decision_function(self, X: Any) -> Any:
        """Return f(x) + b, shape (n_queries,), or (n_queries, n_classes) for more than two classes.

        For two classes, positive values mean ``classes_[1]``; otherwise `predict` returns the class
        with the largest value.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_queries, n_features), or a Dask collection
            For a Dask collection, the result is a lazy Dask array.
        """
        return self._outputs(X)

    @reads
    @by_partition
    def predict(self, X: Any) -> Any:
        """Return the predicted classes, shape (n_queries,).

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_queries, n_features), or a Dask collection
            For a Dask collection, the result is a lazy Dask array.
        """
        f = self._outputs(X)
        codes = (f > 0).astype(np.intp) if f.ndim == 1 else f.argmax(axis=1)
        return np.asarray(self.classes_[codes])

    def _check_loaded(self) -> None:
        k, columns = len(self.classes_), np.shape(self.dual_coef_)[1:]
        if k < 2 or columns != (() if k == 2 else (k,)):
            raise ValueError(f"expected dual_coef_ for {k} classes, at least 2, got {columns}")
