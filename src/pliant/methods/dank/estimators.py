"""Base class of the DANK and KNPL estimators, and their fits on all points or in parts.

`BaseHadamard` implements the hooks of `BaseSVM`. `solve_whole` solves the problem on all points;
`solve_in_parts` solves a problem without an intercept on each part and can refine the result.

Each part of n_p points has a separate problem over an F with n_p rows; for KNPL, F1 = n_p 1.
Together, the parts solve KNPL's problem for a kernel that is 0 between parts, where the rows of F
sum to n_p within each part. With F = 1 between parts, the rows sum to n, so F is feasible for the
problem on all points. It is not optimal for that problem, as P A P is not block-diagonal if A is:
the rows of the optimal F sum to n, but not to n_p within a part.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from pliant.core.exceptions import FeatureScaleWarning, NonPSDWarning
from pliant.core.linalg import negative_eigenvalue, remedy
from pliant.core.progress import Deadline, Progress, Result, Status
from pliant.core.state import reads
from pliant.core.text import one_line
from pliant.core.typing import Array, Callback, Indices
from pliant.core.validation import (
    HOPELESS,
    Constraint,
    automatic,
    check_gram,
    check_real,
    moderate_number,
    one_of,
    optional,
    real_number,
    stack_level,
    unlike_features,
)
from pliant.kernels.base import FunctionKernel, Kernel, made_of
from pliant.kernels.extension import GramNeighbors
from pliant.kernels.standard import (
    TL1,
    Gamma,
    Gaussian,
    KernelLike,
    Laplacian,
    Linear,
    Matern,
    Polynomial,
    Precomputed,
    as_kernel,
)
from pliant.methods.dank import sequential
from pliant.methods.dank.kernel import (
    EXTENSIONS,
    AdaptiveMatrix,
    Extension,
    HadamardKernel,
    PartitionedKernel,
    compute_gram,
)
from pliant.methods.dank.problem import (
    HadamardDual,
    SpectralCertificate,
    automatic_eta,
    hadamard_dual,
)
from pliant.methods.summary import Convergence
from pliant.methods.svm import smo
from pliant.methods.svm.dual import (
    Certificate,
    DenseRows,
    Rows,
    best_multiple,
    better_start,
    project_box_hyperplane,
    without_intercept,
)
from pliant.methods.svm.estimators import (
    BaseSVM,
    LearnedFunction,
    SVMProblem,
    WarmStart,
    as_points,
    expansion,
)
from pliant.methods.svm.parts import (
    KMeansPartition,
    Partition,
    PartResult,
    as_partition,
    kmeans_partition,
    partition_settings,
    run_parts,
)
from pliant.methods.svm.rows import CachedRows

# Tuning constants of DANK and KNPL
DENSE_ROWS = 4000  # largest number of rows of a stored Gram matrix unless F couples all rows
SMALL_PART = 2000  # largest part with a stored Gram matrix; rows on demand would save no time
SAMPLE_SIZE = 1000  # number of points for testing a kernel without storing its Gram matrix


@dataclass(frozen=True)
class HadamardOptions:
    """The parameters of F (eta, tau, centred rows) and the limits of the solver."""

    eta: float | Literal["auto"]
    eta_scale: float
    tau: float
    centred: bool
    tol: float
    max_iter: int
    cache_mb: float


@dataclass(frozen=True, eq=False)
class TrainingGram:
    """The base kernel, its Gram matrix on the rows `used` if stored, and True if it is PSD."""

    kernel: Kernel
    used: Indices
    gram: DenseRows | None
    psd: bool


@dataclass(frozen=True, eq=False)
class KernelSolution:
    """The solution of one problem, on all points or in parts.

    `result` is from the last solver, and `plain` from the preceding plain SVM (eta="auto").
    `n_iter` counts the steps of both. A fit with another C starts from `path_start`, shape (m,).
    `constant` is the constant term of the objective. `early` is a note on parts that stopped early.
    """

    result: Result[Certificate]
    eta: float
    n_iter: int
    path_start: Array
    constant: float = 0.0
    plain: Result[Certificate] | None = None
    partition: Partition | None = None
    parts: Sequence[PartResult] = ()
    early: str = ""


@dataclass(kw_only=True, eq=False, repr=False)
class BaseHadamard(BaseSVM[TrainingGram]):
    """A support vector machine with a kernel matrix adapted entry by entry.

    Subclasses add tau (DANK) or ``_centred = True`` (KNPL). `BaseSVM.fit` takes these steps:

    1. `_state_problems` checks X and y, and states one `SVMProblem`, or one per pair of classes.
    2. `_build_kernel` builds the base kernel, and its Gram matrix K if that is to be stored.
    3. `_solve` learns one function per problem, with `solve_whole` or in parts. The plain SVM
       determines eta="auto"; `hadamard_dual` eliminates F from the problem; `_maximise` finds beta
       from one dual for tau = 0, otherwise from a sequence of duals; `_build_function` builds the
       learned kernel F o K, which extends F to new points.
    4. `_store` sets the fitted attributes, and warns if a gap is above ``tol``.
    """

    _centred: ClassVar[bool] = False
    """True if the rows of F sum to n (KNPL)."""

    _constraints: ClassVar[Mapping[str, Constraint]] = {
        "eta": automatic(moderate_number(infinite=True)),
        "eta_scale": moderate_number(),
        "extension": one_of(EXTENSIONS),
        "cache_mb": real_number(above=0),
        "max_seconds": optional(real_number(above=0)),
        "partition": optional(as_partition),
    }
    _settings: ClassVar = {"partition": partition_settings}
    _drawings = frozenset({"gram", "adaptation"})
    _finite = ("objective_", "objective_constant_", "objective_history_", "step_history_")

    kernel: KernelLike = field(default="gaussian", kw_only=False)
    gamma: Gamma = "scale"
    C: float = 1.0
    eta: float | Literal["auto"] = "auto"
    eta_scale: float = 1.0
    tau: float | Literal["auto"] = field(init=False)  # a parameter of DANK
    extension: Extension = "smooth"
    tol: float = 1e-4
    max_iter: int = -1
    max_seconds: float | None = None
    cache_mb: float = 2000.0
    partition: KMeansPartition | dict[str, Any] | Literal["kmeans"] | None = None
    verbose: bool = False

    kernel_: HadamardKernel | PartitionedKernel = field(init=False)
    eta_: float = field(init=False)
    objective_constant_: float = field(init=False)
    step_history_: npt.NDArray[Any] = field(init=False)
    part_labels_: Indices = field(init=False)
    part_centres_: Array = field(init=False)
    part_gaps_: Array = field(init=False)
    part_seconds_: Array = field(init=False)

    def _check_combinations(self) -> None:
        if self.partition is None:
            return
        settings = as_partition("partition", self.partition)
        if self._centred and settings.refine:
            raise ValueError(
                f"expected partition with refine=False, as only DANK can refine, got {settings!r}"
            )
        if not self._centred and self.tau and self.tau != "auto":
            raise ValueError(
                f"expected tau = 0 or 'auto' with partition={self.partition!r}, because the trace "
                f"of F couples all rows, got {self.tau!r}"
            )

    def _build_kernel(self, X: Array, used: Indices) -> TrainingGram:
        kernel = as_kernel(self.kernel, X, self.gamma, getattr(self, "feature_names_in_", None))
        if not kernel.symmetric:
            raise ValueError(
                f"expected a symmetric kernel, as {type(self).__name__} requires a convex "
                f"problem, got {one_line(kernel)}"
            )
        points = as_points(used) if self._precomputed else X
        self._warn_of_unequal_scales(kernel, points)
        if isinstance(kernel, Precomputed) or self._stores_gram(len(points), kernel.psd):
            gram, psd = self._check_gram(kernel, points)
            return TrainingGram(kernel, used, gram=DenseRows(gram), psd=psd)
        if not made_of(kernel, Precomputed, FunctionKernel):
            return TrainingGram(kernel, used, gram=None, psd=True)
        # a user's function without a stored Gram matrix is tested on a sample
        sample = np.unique(np.linspace(0, len(points) - 1, SAMPLE_SIZE).astype(np.intp))
        try:
            _, psd = self._check_gram(kernel, points[sample])
            return TrainingGram(kernel, used, gram=None, psd=psd)
        except ValueError as error:
            rows = f"tested on {len(sample)} equally spaced rows of X"
            raise ValueError(f"{error} ({rows})") from None

    def _solve(
        self,
        problems: Sequence[SVMProblem],
        base: TrainingGram,
        starts: Sequence[WarmStart | None],
        callback: Callback,
    ) -> list[LearnedFunction]:
        deadline = Deadline(callback, self.max_seconds)
        settings = None
        if self.partition is not None:
            settings = as_partition("partition", self.partition)
        options = HadamardOptions(
            self.eta, self.eta_scale, self._choose_tau(base), self._centred, self.tol,
            self.max_iter, self.cache_mb,
        )  # fmt: skip
        functions = []
        for problem, start in zip(problems, starts, strict=True):
            if settings is not None:
                solution = solve_in_parts(problem, base, options, settings, deadline)
            else:
                if made_of(base.kernel, Precomputed) and self.extension != "none":
                    self._check_distances(base.kernel, problem.points)
                solution = solve_whole(problem, base, options, start, deadline)
            late = deadline.expired
            functions.append(self._build_function(problem, base, options, settings, solution, late))
        return functions

    def _build_function(
        self,
        problem: SVMProblem,
        base: TrainingGram,
        options: HadamardOptions,
        settings: KMeansPartition | None,
        solution: KernelSolution,
        late: bool,
    ) -> LearnedFunction:
        """Build the learned kernel, F o K, and the fitted attributes of one function."""
        result, partition = solution.result, solution.partition
        certificate = result.certificate
        eta = solution.eta if result.x.any() else np.inf  # beta = 0 gives F = 11'
        constant = solution.constant if np.isfinite(eta) else 0.0
        kernel: HadamardKernel | PartitionedKernel
        if partition is not None and settings is not None and not settings.refine:
            kernel = PartitionedKernel(
                base.kernel, problem.points, result.x, partition.labels, partition.centres, eta,
                self.extension, between="one" if settings.prediction == "whole" else "zero",
                centred=self._centred,
            )  # fmt: skip
        else:
            kernel = HadamardKernel(
                base.kernel, problem.points, result.x, eta, self.extension, tau=options.tau,
                centred=self._centred,
            )  # fmt: skip
            if base.gram is not None and isinstance(certificate, SpectralCertificate):
                kernel.store_spectrum(certificate.spectrum)  # float64, as for predictions
        attributes = {
            "eta_": eta,
            "objective_constant_": constant,
            "step_history_": np.array(result.history)[:, 0].astype(np.intp),
        }
        if partition is not None:
            attributes["part_labels_"] = partition.labels
            attributes["part_centres_"] = partition.centres
            attributes["part_gaps_"] = np.array([part.gap for part in solution.parts])
            attributes["part_seconds_"] = np.array([part.seconds for part in solution.parts])
        warning = self._describe_gap(result, late, solution.early)
        if not warning and solution.plain is not None:
            warning = self._describe_gap(solution.plain, late)
        intercept = 0.0 if certificate is None else certificate.intercept
        return LearnedFunction(
            kernel, result.x, intercept, result.value + constant, result.gap, solution.n_iter,
            result.history, attributes, warning, solution.path_start,
        )  # fmt: skip

    def _describe_gap(self, result: Result[Certificate], late: bool, early: str = "") -> str:
        """Describe a gap above ``tol``; return "" if it is small or a callback ended the fit."""
        stopped = result.status is Status.STOPPED
        if result.status in (Status.CONVERGED, Status.UNCERTIFIED) or (stopped and not late):
            return ""
        limit = self.tol * (1.0 + abs(result.value))
        advice = result.status.value
        if stopped:
            advice = f"the time limit max_seconds = {self.max_seconds} was reached"
        return (
            f"{type(self).__name__} stopped after {result.n_iter} steps{early} with a gap of "
            f"{result.gap:.3g}, above the tolerance of {limit:.3g}: {advice}"
        )

    def _check_distances(self, kernel: Kernel, points: Array) -> None:
        """Raise ValueError if the extension needs distances that a precomputed kernel lacks."""
        if isinstance(kernel, Precomputed):
            GramNeighbors(kernel, points)  # raises the error that a prediction would raise
            return
        raise ValueError(
            f"expected extension='none', got {self.extension!r}: a kernel that contains a "
            "Precomputed kernel takes row numbers, which have no distances"
        )

    def _check_gram(self, kernel: Kernel, X: Array) -> tuple[Array, bool]:
        """Return the training Gram matrix, and True if it is positive semi-definite.

        Raise ValueError if a kernel declared indefinite has a negative eigenvalue on X. For a
        user's matrix or function, warn instead; the fit then has no certificate.
        """
        gram = compute_gram(kernel, X)
        user_defined = made_of(kernel, Precomputed, FunctionKernel)
        if kernel.psd and not user_defined:
            return gram, True
        if user_defined:
            gram = check_gram(gram)
        if isinstance(kernel, Precomputed) and kernel.assume_psd:
            return gram, True
        smallest = negative_eigenvalue(gram)
        if smallest is not None and not kernel.psd:
            raise ValueError(
                f"expected a Gram matrix without negative eigenvalues, which "
                f"{type(self).__name__} needs for a convex problem and its certificate, got "
                f"{smallest:.3g} from {one_line(kernel)}: choose a positive semi-definite kernel "
                "or other parameters, or pass the matrix with kernel='precomputed' for a fit "
                "without a certificate"
            )
        if smallest is not None:
            warnings.warn(
                f"the kernel matrix is not positive semi-definite: its smallest eigenvalue is "
                f"{smallest:.3g}; the problem is not convex, and dual_gap_ will be nan; "
                + remedy(smallest),
                NonPSDWarning,
                stacklevel=stack_level(),
            )
        return gram, smallest is None

    def _warn_of_unequal_scales(self, kernel: Kernel, X: Array) -> None:
        """Check the scales of the features for a kernel with a single bandwidth.

        A FeatureScaleWarning reports a ratio above `UNLIKE`; a ratio above `HOPELESS` raises
        ValueError. Kernels with a bandwidth per feature and user-defined functions are exempt.
        """
        isotropic = isinstance(kernel, Gaussian | Laplacian | Linear | Matern | Polynomial | TL1)
        if not isotropic or np.ndim(getattr(kernel, "gamma", 0.0)):
            return
        pair = unlike_features(X)
        if pair is None:
            return
        ratio, names = pair[2], getattr(self, "feature_names_in_", None)
        large, small = (f"column {j}" if names is None else f"{names[j]!r}" for j in pair[:2])
        kind = type(self).__name__
        pipeline = f"make_pipeline(StandardScaler(), {kind}())"
        if ratio > HOPELESS:
            raise ValueError(
                f"expected standard deviations of features within a factor of 1e8, got {ratio:.2g} "
                f"between {large} and {small}; standardise the features, as in {pipeline}"
            )
        warnings.warn(
            f"{kind} got features on very different scales: {large} has {ratio:.2g} times the "
            f"standard deviation of {small}, which has almost no effect on the kernel; "
            f"scale the features, as in {pipeline}",
            FeatureScaleWarning,
            stacklevel=stack_level(),
        )

    def _stores_gram(self, n: int, psd: bool) -> bool:
        """Return True to store the n x n Gram matrix, which an indefinite kernel requires.

        This method runs before `_choose_tau`, so it treats tau="auto" as tau > 0.
        """
        fits = 8.0 * n**2 <= self.cache_mb * 2.0**20
        if not psd:
            # The full Gram matrix of the training points must be tested for negative eigenvalues.
            if self.partition is None and fits:
                return True
            remedy = f"set cache_mb to {int(8.0 * n**2 / 2**20) + 1} or more"
            if self.partition is not None:
                remedy = f"omit partition={self.partition!r}"
            raise ValueError(
                "expected a positive semi-definite kernel, as the full Gram matrix is not stored "
                f"and cannot be tested, got {one_line(self.kernel)}: {remedy}, or choose another "
                "kernel"
            )
        if self._centred:  # KNPL couples all samples, as tau > 0 does, so rows are read many times
            return fits and self.partition is None
        coupled = bool(self.tau) and self.eta != np.inf
        if coupled and self.tau != "auto" and not fits:
            raise ValueError(
                f"expected tau = 0 or 'auto' for {n} rows, as their Gram matrix takes "
                f"{8.0 * n**2 / 2**20:.0f} MB, more than cache_mb = {self.cache_mb:g}, "
                f"got {self.tau!r}"
            )
        return self.partition is None and fits and (n <= DENSE_ROWS or coupled)

    def _choose_tau(self, base: TrainingGram) -> float:
        """Return tau; "auto" is the paper's 0.01 if the Gram matrix is stored, otherwise 0."""
        if self._centred:
            return 0.0
        if self.tau == "auto":
            return 0.0 if base.gram is None else 0.01
        return float(self.tau)

    def _expand(self, X: Array) -> Array:
        kernel = self.kernel_
        if not isinstance(kernel, PartitionedKernel) or kernel.between == "one":
            return super()._expand(X)
        # f(x) = k(x, V_p) beta_p + b with p the part of x, as the kernel is 0 between parts
        values = np.full(len(X), float(self.intercept_))
        parts, support_parts = kernel.place(X), kernel.labels[kernel.support]
        for p in np.unique(parts):
            rows, members = np.flatnonzero(parts == p), support_parts == p
            if members.any():
                vectors, coefficients = self.support_vectors_[members], self.dual_coef_[members]
                values[rows] += expansion(kernel.parts[p], X[rows], vectors, coefficients)
        return values

    @property
    def lower_bound_(self) -> float:
        """Lower bound on the optimum: the dual objective, which a fit maximises."""
        return float(self.objective_)

    @property
    @reads
    def upper_bound_(self) -> float:
        """Upper bound on the optimum; nan if the Gram matrix is not PSD."""
        return float(self.objective_ + self.dual_gap_)

    @property
    @reads
    def relative_gap_(self) -> float:
        """The gap relative to 1 + abs(objective_ - objective_constant_), as for ``tol``."""
        return float(self.dual_gap_ / (1.0 + abs(self.objective_ - self.objective_constant_)))

    @property
    def adaptation_(self) -> AdaptiveMatrix:
        """F on the training points of positive weight, in implicit form."""
        return self.kernel_.adaptation()

    def _details(self) -> Mapping[str, Any]:
        details: dict[str, Any] = {} if self.eta == np.inf else {"eta": self.eta_}
        if isinstance(self.kernel_, PartitionedKernel):
            details["parts"] = len(self.kernel_.centres)
        return details

    def _convergence(self) -> Convergence:
        gaps = self.gap_history_ / (1.0 + np.abs(self.objective_history_))  # in units of tol
        return Convergence(self.step_history_, gaps, float(self.tol))

    def _check_loaded(self) -> None:
        super()._check_loaded()
        for fitted in getattr(self, "estimators_", [self]):
            n_support = len(fitted.kernel_.support)
            if n_support != len(fitted.support_vectors_):
                raise ValueError(
                    f"expected {n_support} support points, as in the kernel, got "
                    f"{len(fitted.support_vectors_)}"
                )
            check_real("eta_", fitted.eta_, above=0, infinite=True)
            np.asarray(fitted.gap_history_, dtype=np.float64)  # raises unless numeric; nan is valid


def solve_whole(
    problem: SVMProblem,
    base: TrainingGram,
    options: HadamardOptions,
    start: WarmStart | None,
    callback: Callback,
) -> KernelSolution:
    """Learn one function from all points.

    `start` is the solution for another C, or that of the parts. The solver calls `callback` with a
    `Progress` at regular intervals and stops if it returns True.
    """
    dual = problem.dual(problem_rows(problem, base, options), base.psd)
    plain = None
    if options.eta == "auto":
        # The paper's scale is eta = |alpha|^2 of the plain SVM, which has eta = inf and F = 11'.
        plain = _maximise(hadamard_dual(dual, np.inf), start, options, callback)
        if plain.status is Status.STOPPED:
            return KernelSolution(plain, np.inf, plain.n_iter, plain.x)
        eta, start = automatic_eta(plain.x) * options.eta_scale, WarmStart(plain.x)
    else:
        eta = float(options.eta) * options.eta_scale
    adapted = hadamard_dual(dual, eta, tau=options.tau, centred=options.centred)
    result = _maximise(adapted, start, options, callback)
    if plain is None:
        return KernelSolution(result, eta, result.n_iter, result.x, adapted.constant)
    # A fit with another C starts from the plain SVM's solution.
    steps = plain.n_iter + result.n_iter
    return KernelSolution(result, eta, steps, plain.x, adapted.constant, plain=plain)


def problem_rows(problem: SVMProblem, base: TrainingGram, options: HadamardOptions) -> Rows:
    """Return the Gram matrix of the points of a problem, stored or with rows on demand."""
    if base.gram is None:
        fits = 8.0 * len(problem.points) ** 2 <= options.cache_mb * 2.0**20  # float64
        return gram_rows(base.kernel, problem.points, options, stored=DENSE_ROWS if fits else 0)
    if len(problem.members) == len(base.gram):
        return base.gram
    return DenseRows(base.gram.square(np.searchsorted(base.used, problem.members)))


def gram_rows(kernel: Kernel, points: Array, options: HadamardOptions, *, stored: int) -> Rows:
    """Return the rows of the Gram matrix of points, shape (n, d).

    The matrix of up to `stored` points is stored in float64. Otherwise rows are computed on demand.
    They are float32 if, on a sample, all k(x, x) are equal and the median of k(x, z) is at least
    1 % smaller, and if `tol` >= 1e-5. In other cases, float32 would lose digits in sums of very
    different values, or round away the differences between values of a flat kernel or small gaps.
    """
    if len(points) <= stored:
        return DenseRows(compute_gram(kernel, points))
    # test for equal k(x, x) and a sufficiently smaller median of k(x, z)
    diagonal = kernel.diag(points[:SAMPLE_SIZE])
    top = float(np.abs(diagonal).max())
    sample = np.unique(np.linspace(0, len(points) - 1, 64).astype(np.intp))
    median = float(np.median(kernel(points[sample])))
    single = np.ptp(diagonal) <= 1e-6 * top and top - median >= 1e-2 * top and options.tol >= 1e-5
    return CachedRows(kernel, points, options.cache_mb, "float32" if single else "float64")


def _maximise(
    problem: HadamardDual, start: WarmStart | None, options: HadamardOptions, callback: Callback
) -> Result[Certificate]:
    """Solve a dual, starting from zero or from a feasible projection of another solution."""
    # The quartic dual, that of tau = 0, determines the start for tau > 0 and KNPL too.
    dual = problem.quartic
    beta, fields = np.zeros_like(dual.linear), None
    if start is not None and start.growth == 1.0:
        # The start, from the parts or the plain SVM, overshoots: use the best t beta, 0 <= t <= 1.
        beta = project_box_hyperplane(start.beta, dual.lower, dual.upper)
        beta, fields = best_multiple(dual, beta)
    elif start is not None:
        # start from beta, C'/C beta or 0, whichever has the largest h
        beta = better_start(dual, start.beta, start.growth)
        beta = project_box_hyperplane(beta, dual.lower, dual.upper)
    return _solve_dual(problem, beta, options, callback, fields)


def _solve_dual(
    problem: HadamardDual,
    start: Array,
    options: HadamardOptions,
    callback: Callback,
    fields: tuple[Array, Array] | None = None,
) -> Result[Certificate]:
    """Solve a dual from a feasible `start`, with its `fields` in the quartic dual if known."""
    tol, max_iter = options.tol, options.max_iter
    if problem.rule is None:  # tau = 0
        return smo.solve(
            problem.quartic, start, fields=fields, tol=tol, max_iter=max_iter, callback=callback
        )
    return sequential.solve(problem, start, tol=tol, max_iter=max_iter, callback=callback)


def solve_in_parts(
    problem: SVMProblem,
    base: TrainingGram,
    options: HadamardOptions,
    settings: KMeansPartition,
    callback: Deadline,
) -> KernelSolution:
    """Learn one function in parts; if ``refine``, refine it on all points (DANK).

    The solvers call `callback` with a `Progress` or None and stop if it returns True.
    """
    if made_of(base.kernel, Precomputed):
        raise ValueError(
            "expected a kernel on points with coordinates, as partition='kmeans' divides them by "
            "their coordinates, got a kernel on row numbers, such as kernel='precomputed'"
        )
    partition = kmeans_partition(problem.points, settings.n_parts, settings.random_state)
    parts = [problem.subset(partition.members(part)) for part in range(len(partition))]

    def solve_all(eta: float, start: Array) -> tuple[Array, list[PartResult]]:
        """Solve all parts; return the coefficients of all points and the results."""
        solved = run_parts(
            partial(solve_part, base=base, eta=eta, options=options),
            lambda part: (parts[part], start[partition.members(part)], callback.seconds_left),
            sizes=partition.sizes.tolist(),
            n_jobs=settings.n_jobs,
            report=lambda _done, _total: callback(None),
        )
        # assemble beta from the blocks beta_p of the parts
        beta, results = np.zeros(len(start)), []
        for part, result in enumerate(solved):
            results.append(_skip_part(parts[part], base) if result is None else result)
            beta[partition.members(part)] = results[part].beta
        return beta, results

    eta = np.inf if options.eta == "auto" else float(options.eta) * options.eta_scale
    beta, results = solve_all(eta, np.zeros(len(problem.target)))
    if settings.refine:
        refined = _refine(problem, base, options, beta, eta, callback)
        return replace(refined, partition=partition, parts=results)
    steps = 0
    if options.eta == "auto" and not callback(None):
        steps = sum(result.n_iter for result in results)
        eta = automatic_eta(beta) * options.eta_scale
        beta, results = solve_all(eta, beta)
    total, early = _combine_parts(beta, results, callback.expired)
    return KernelSolution(
        total, eta, steps + total.n_iter, beta, partition=partition, parts=results, early=early
    )


def _combine_parts(
    beta: Array, results: list[PartResult], late: bool
) -> tuple[Result[Certificate], str]:
    """Return the result of all parts, without an intercept, and a note on parts that stopped early.

    Objective and gap are sums, as the kernel is 0 between parts (Lemma 5).
    """
    n_iter = sum(result.n_iter for result in results)
    value = math.fsum(result.value for result in results)
    gap = math.fsum(result.gap for result in results)
    early = [
        status
        for status in (Status[result.status] for result in results)
        if status not in (Status.CONVERGED, Status.UNCERTIFIED)
        and (late or status is not Status.STOPPED)
    ]
    status = early[0] if early else Status.CONVERGED
    note = f" ({len(early)} of {len(results)} parts stopped early)"
    return Result(beta, value, gap, n_iter, status, [Progress(n_iter, value, gap)]), note


def solve_part(
    part: SVMProblem,
    start: Array,
    seconds: float | None,
    *,
    base: TrainingGram,
    eta: float,
    options: HadamardOptions,
) -> PartResult:
    """Maximise the dual of one part without its equality constraint (problem (19)).

    `start` has shape (m,). After `seconds`, the solver stops and returns the best solution so far.
    """
    deadline = Deadline(lambda _: None, seconds)
    if deadline():
        return _skip_part(part, base)
    n = len(part.points)
    fits = 8.0 * n**2 <= options.cache_mb * 2.0**20
    stored = n if options.centred and fits else SMALL_PART  # the centred rule rereads all rows
    rows = gram_rows(base.kernel, part.points, options, stored=stored)
    dual = without_intercept(part.dual(rows, base.psd))
    adapted = hadamard_dual(dual, eta, centred=options.centred, n_points=n)
    # The last coordinate is minus the sum of the others, so that 1'beta = 0.
    start = np.append(start, -start.sum())
    result = _maximise(adapted, WarmStart(start), options, deadline)
    return PartResult(result.x[:-1], result.value, result.gap, result.n_iter, result.status.name)


def _skip_part(part: SVMProblem, base: TrainingGram) -> PartResult:
    """Return beta = 0 and its gap for a part not started."""
    # The gap at beta = 0 does not depend on the kernel.
    dual = part.dual(DenseRows(np.empty((0, 0))), base.psd)
    gap = float(dual.loss(dual.linear).sum()) if dual.psd else np.nan
    return PartResult(np.zeros_like(dual.linear), 0.0, gap, 0, Status.STOPPED.name)


def _refine(
    problem: SVMProblem,
    base: TrainingGram,
    options: HadamardOptions,
    beta: Array,
    eta: float,
    callback: Callback,
) -> KernelSolution:
    """Solve the problem on all points, starting from the coefficients of the parts.

    Where parts overlap, their combined coefficients overshoot the solution, but few other points
    become support points. Therefore a coarse solution on the parts' support points is the warm
    start, as proposed by Hsieh, Si and Dhillon (2014) for support vector machines.
    """
    support, steps = np.flatnonzero(beta), 0
    if support.size:
        subset = problem.subset(support)
        rows = gram_rows(base.kernel, subset.points, options, stored=SMALL_PART)
        dual = subset.dual(rows, base.psd).with_quartic(1.0 / (4.0 * eta))
        tol = max(options.tol, 1e-3)
        result = smo.solve(dual, tol=tol, max_iter=options.max_iter, callback=callback)
        steps = result.n_iter
        if result.status is not Status.STOPPED:  # otherwise the parts' coefficients are better
            beta = np.zeros_like(beta)
            beta[support] = result.x
    solution = solve_whole(problem, base, options, WarmStart(beta), callback)
    return replace(solution, n_iter=solution.n_iter + steps)
