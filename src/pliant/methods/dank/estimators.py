"""The base of the estimators of DANK and KNPL, and how it learns a function whole or in parts.

`BaseHadamard` fills the hooks of `BaseSVM`. `solve_whole` solves the problem on all points;
`solve_in_parts` solves one without an intercept on each part, and may refine the result.

A part of n_p points is a problem of its own, over F with a row for each of its points; for KNPL,
F1 = n_p 1. So the parts together solve KNPL's problem for a kernel that is zero between parts, over
the F whose rows sum to n_p within their part. With F = 1 between parts the rows sum to n, and the
problem on all points admits F, too. (A block-diagonal A does not make P A P block-diagonal: the
rows of the best F on all points sum to n, but not to n_p within a part.)
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from pliant.core.exceptions import FeatureScaleWarning, NonPSDWarning
from pliant.core.linalg import negative_eigenvalue
from pliant.core.progress import Deadline, Progress, Result, Status, is_over
from pliant.core.text import one_line
from pliant.core.typing import Array, Callback, Mask
from pliant.core.validation import (
    Constraint,
    automatic,
    check_gram,
    check_real,
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
    Gaussian,
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
    HadamardKernel,
    PartitionedKernel,
)
from pliant.methods.dank.problem import AdaptedDual, adapted_dual, automatic_eta
from pliant.methods.summary import Convergence
from pliant.methods.svm import smo
from pliant.methods.svm.dual import (
    Certificate,
    DenseRows,
    MarginDual,
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
    expansion,
)
from pliant.methods.svm.parts import (
    KMeansPartition,
    Partition,
    PartResult,
    as_partition,
    kmeans_partition,
    run_parts,
)
from pliant.methods.svm.rows import CachedRows

# Tuning constants of the family
AUTOMATIC_TAU = 0.01  # The paper's tau, for Gram matrices kept whole.
DENSE_ROWS = 4000  # Up to so many samples the Gram matrix is kept whole; beyond, few rows are read.
SMALL_PART = 2000  # Largest part whose Gram matrix is computed whole: rows on demand gain nothing.
SAMPLE = 1000  # Points on which a kernel is checked whose Gram matrix is not kept whole.

ADAPTATION: Mapping[str, Constraint] = {
    "eta": automatic(real_number(above=0, infinite=True)),
    "eta_scale": real_number(above=0),
    "extension": one_of(EXTENSIONS),
    "cache_mb": real_number(above=0),
    "max_seconds": optional(real_number(above=0)),
    "partition": optional(as_partition),
}
"""Constraints on the parameters that DANK and KNPL share."""


@dataclass(frozen=True)
class AdaptationOptions:
    """The choice of F (eta, tau or centred rows), and the limits of a solver."""

    eta: float | Literal["auto"]
    eta_scale: float
    tau: float
    centred: bool
    tol: float
    max_iter: int
    cache_mb: float


@dataclass(frozen=True, eq=False)
class BaseGram:
    """The base kernel, its Gram matrix of all training rows if kept whole, and True if PSD."""

    kernel: Kernel
    gram: DenseRows | None
    psd: bool


@dataclass(frozen=True, eq=False)
class Adaptation:
    """The solution of one problem, whole or in parts.

    `result` is the outcome of the last solver, and `plain` of the plain SVM before it (eta="auto").
    `n_iter` counts the steps of both. A fit with another C starts from `path_start`, shape (m,).
    `constant` is the part of the objective that no coefficient changes. `early` is a note on parts
    that stopped early.
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


class BaseHadamard(BaseSVM[BaseGram]):
    """A support vector machine whose kernel matrix is adapted entry by entry.

    A subclass has the parameters of `ADAPTATION`, and tau (DANK) or ``_centred = True`` (KNPL).
    """

    _centred: ClassVar[bool] = False
    """True if the rows of F sum to n (KNPL)."""

    _drawings = frozenset({"gram", "adaptation"})
    _finite = ("objective_", "objective_constant_", "objective_history_", "step_history_")

    kernel: Any
    gamma: float | Literal["scale", "auto"]
    eta: float | Literal["auto"]
    eta_scale: float
    tau: float | Literal["auto"]
    extension: Literal["smooth", "nearest", "reciprocal", "none"]
    cache_mb: float
    max_seconds: float | None
    partition: KMeansPartition | dict[str, Any] | Literal["kmeans"] | None

    kernel_: HadamardKernel | PartitionedKernel
    eta_: float
    objective_constant_: float
    step_history_: npt.NDArray[Any]

    def _check_combinations(self) -> None:
        if self.partition is None:
            return
        settings = as_partition("partition", self.partition)
        if self._centred and settings.refine:
            raise ValueError(
                f"expected partition with refine=False, as only DANK refines, got {settings!r}"
            )
        if not self._centred and self.tau and self.tau != "auto":
            raise ValueError(
                f"expected tau = 0 or 'auto' with partition={self.partition!r}, as the trace "
                f"of F couples all rows, got {self.tau!r}"
            )

    def _build_kernel(self, X: Array, used: Mask) -> BaseGram:
        kernel = as_kernel(self.kernel, X, self.gamma, getattr(self, "feature_names_in_", None))
        if not kernel.symmetric:
            raise ValueError(
                f"expected a symmetric kernel, which {type(self).__name__} needs for a convex "
                f"problem, got {one_line(kernel)}"
            )
        self._warn_of_unlike_scales(kernel, X if used.all() else X[used])
        if isinstance(kernel, Precomputed) or self._keeps_whole(len(X), kernel.psd):
            gram, psd = self._checked_gram(kernel, X)
            return BaseGram(kernel, DenseRows(gram), psd)
        if not made_of(kernel, Precomputed, FunctionKernel):
            return BaseGram(kernel, None, psd=True)
        some = np.unique(np.linspace(0, len(X) - 1, SAMPLE).astype(np.intp))
        try:
            return BaseGram(kernel, None, self._checked_gram(kernel, X[some])[1])
        except ValueError as error:
            rows = f"tested on {len(some)} rows spread evenly over X"
            raise ValueError(f"{error} ({rows})") from None

    def _solve(
        self,
        problems: Sequence[SVMProblem],
        kernel: BaseGram,
        starts: Sequence[WarmStart | None],
        callback: Callback,
    ) -> list[LearnedFunction]:
        deadline = Deadline(callback, self.max_seconds)
        settings = None
        if self.partition is not None:
            settings = as_partition("partition", self.partition)
        tau = 0.0
        if not self._centred:  # "auto" is the paper's tau where F can couple all rows
            known = 0.0 if kernel.gram is None else AUTOMATIC_TAU
            tau = known if self.tau == "auto" else float(self.tau)
        options = AdaptationOptions(
            self.eta, self.eta_scale, tau, self._centred, self.tol, self.max_iter, self.cache_mb
        )
        solutions = []
        for problem, start in zip(problems, starts, strict=True):
            if settings is not None:
                found = solve_in_parts(problem, kernel, options, settings, deadline)
            else:
                if made_of(kernel.kernel, Precomputed) and self.extension != "none":
                    self._check_distances(kernel.kernel, problem.points)
                found = solve_whole(problem, kernel, options, start, deadline)
            late = deadline.expired
            solutions.append(self._build_function(problem, kernel, options, settings, found, late))
        return solutions

    def _build_function(
        self,
        problem: SVMProblem,
        base: BaseGram,
        options: AdaptationOptions,
        settings: KMeansPartition | None,
        found: Adaptation,
        late: bool,
    ) -> LearnedFunction:
        """Build the learned kernel, F o K, and the fitted attributes of one function."""
        result, proof, partition = found.result, found.result.certificate, found.partition
        eta = found.eta if result.x.any() else np.inf  # beta = 0: F = 11'
        constant = found.constant if np.isfinite(eta) else 0.0
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
            if base.gram is not None:  # float64, the precision of predictions
                kernel.keep(getattr(proof, "spectrum", None))
        attributes = {
            "eta_": eta,
            "objective_constant_": constant,
            "step_history_": np.array(result.history)[:, 0].astype(np.intp),
        }
        if partition is not None:
            attributes["part_labels_"] = partition.labels
            attributes["part_centres_"] = partition.centres
            attributes["part_gaps_"] = np.array([part.gap for part in found.parts])
            attributes["part_seconds_"] = np.array([part.seconds for part in found.parts])
        warning = self._report_of_gap(result, late, found.early)
        if not warning and found.plain is not None:
            warning = self._report_of_gap(found.plain, late)
        return LearnedFunction(
            kernel, result.x, 0.0 if proof is None else proof.intercept, result.value + constant,
            result.gap, found.n_iter, result.history, attributes, warning, found.path_start,
        )  # fmt: skip

    def _report_of_gap(self, result: Result[Certificate], late: bool, early: str = "") -> str:
        """Return a report of a gap above ``tol``; empty for a small one, or after a callback."""
        stopped = result.status is Status.STOPPED
        if result.status in (Status.CONVERGED, Status.UNCERTIFIED) or (stopped and not late):
            return ""
        asked = self.tol * (1.0 + abs(result.value))
        advice = f"max_seconds = {self.max_seconds} came first" if stopped else result.status.advice
        return (
            f"{type(self).__name__} stopped after {result.n_iter} steps{early} with a gap of "
            f"{result.gap:.3g}, where {asked:.3g} was asked for: {advice}"
        )

    def _check_distances(self, kernel: Kernel, points: Array) -> None:
        """Raise ValueError if an extension needs distances that a precomputed kernel lacks."""
        if isinstance(kernel, Precomputed):
            GramNeighbors(kernel, points)  # raises now the error of a prediction
            return
        raise ValueError(
            f"expected extension='none', got {self.extension!r}: a kernel that is made of a "
            "Precomputed one takes row numbers, between which there is no distance"
        )

    def _checked_gram(self, kernel: Kernel, X: Array) -> tuple[Array, bool]:
        """Return the training Gram matrix, and True if it is positive semi-definite.

        A kernel that declares itself indefinite must have no negative eigenvalue here. For a
        matrix or a function of the user's, one means a warning, and no certificate.
        """
        gram = finite_gram(kernel, X)
        given = made_of(kernel, Precomputed, FunctionKernel)
        if kernel.psd and not given:
            return gram, True
        if given:
            check_gram(gram)
        if isinstance(kernel, Precomputed) and kernel.proved:
            return gram, True
        smallest = negative_eigenvalue(gram)
        if smallest is not None and not kernel.psd:
            raise ValueError(
                f"expected a Gram matrix without negative eigenvalues, which "
                f"{type(self).__name__} needs for a convex problem and its certificate, got "
                f"{smallest:.3g} from {one_line(kernel)}: choose a positive semi-definite kernel "
                "or other parameters, or give the matrix as kernel='precomputed' for a fit "
                "without a certificate"
            )
        if smallest is not None:
            warnings.warn(
                f"the kernel matrix is not positive semi-definite: its smallest eigenvalue is "
                f"{smallest:.3g}; the problem is not convex and dual_gap_ will be nan",
                NonPSDWarning,
                stacklevel=stack_level(),
            )
        return gram, smallest is None

    def _warn_of_unlike_scales(self, kernel: Kernel, X: Array) -> None:
        """Give a FeatureScaleWarning if one feature dwarfs another in a kernel of one width.

        A number for each feature, or a function, means that the user has chosen the scales.
        """
        one_width = isinstance(kernel, Gaussian | Laplacian | Linear | Matern | Polynomial | TL1)
        if not one_width or np.ndim(getattr(kernel, "gamma", 0.0)):
            return
        unlike = unlike_features(X)
        if unlike is None:
            return
        large, small, ratio = unlike
        names = getattr(self, "feature_names_in_", None)
        first, second = (
            f"column {j}" if names is None else f"{names[j]!r}" for j in (large, small)
        )
        kind = type(self).__name__
        warnings.warn(
            f"{kind} got features of very unlike scale: the standard deviation of {first} is "
            f"{ratio:.2g} times that of {second}, which the kernel hardly sees; scale the "
            f"features, as in make_pipeline(StandardScaler(), {kind}())",
            FeatureScaleWarning,
            stacklevel=stack_level(),
        )

    def _keeps_whole(self, n: int, psd: bool) -> bool:
        """Return True if the Gram matrix of n points is kept whole; an indefinite one must be."""
        fits = 8.0 * n**2 <= self.cache_mb * 2.0**20
        if not psd:
            # Needed: no negative eigenvalue on the training points. New points may have any.
            if self.partition is None and fits:
                return True
            remedy = f"give cache_mb of {int(8.0 * n**2 / 2**20) + 1} or more"
            if self.partition is not None:
                remedy = f"leave out partition={self.partition!r}"
            raise ValueError(
                f"expected a positive semi-definite kernel where the Gram matrix is not kept whole "
                f"and cannot be tested, got {one_line(self.kernel)}: {remedy}, or choose another "
                "kernel"
            )
        if self._centred:  # this rule and tau > 0 couple all samples: rows are read many times
            return fits and self.partition is None
        coupled = bool(self.tau) and self.eta != np.inf
        if coupled and self.tau != "auto" and not fits:
            raise ValueError(
                f"expected tau = 0 or 'auto' for {n} rows, whose Gram matrix takes "
                f"{8.0 * n**2 / 2**20:.0f} MB, more than cache_mb = {self.cache_mb:g}, "
                f"got {self.tau!r}"
            )
        return self.partition is None and fits and (n <= DENSE_ROWS or coupled)

    def _expand(self, X: Array) -> Array:
        kernel = self.kernel_
        if not isinstance(kernel, PartitionedKernel) or kernel.between == "one":
            return super()._expand(X)
        # f(x) = k(x, V_p) beta_p + b with p the part of x: the kernel is zero between parts.
        values = np.full(len(X), float(self.intercept_))
        place, owners = kernel.place(X), kernel.labels[kernel.support]
        for p in np.unique(place):
            rows, mine = np.flatnonzero(place == p), owners == p
            if mine.any():
                vectors, coefficients = self.support_vectors_[mine], self.dual_coef_[mine]
                values[rows] += expansion(kernel.parts[p], X[rows], vectors, coefficients)
        return values

    @property
    def relative_gap_(self) -> float:
        """The gap in the units of ``tol``: 1 + abs(objective_ - objective_constant_)."""
        return float(self.dual_gap_ / (1.0 + abs(self.objective_ - self.objective_constant_)))

    @property
    def adaptation_(self) -> AdaptiveMatrix:
        """F on the training points of positive weight; formed only on request."""
        return self.kernel_.adaptation()

    def _details(self) -> Mapping[str, Any]:
        details: dict[str, Any] = {} if self.eta == np.inf else {"eta": self.eta_}
        if isinstance(self.kernel_, PartitionedKernel):
            details["parts"] = len(self.kernel_.centres)
        return details

    def _convergence(self) -> Convergence:
        # the unit of tol
        gaps = self.gap_history_ / (1.0 + np.abs(self.objective_history_))
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
            np.asarray(fitted.gap_history_, dtype=np.float64)  # numbers; nan is allowed


def solve_whole(
    problem: SVMProblem,
    base: BaseGram,
    options: AdaptationOptions,
    start: WarmStart | None,
    callback: Callback,
) -> Adaptation:
    """Learn one function from all points together.

    `start` is the solution for another C. `callback` is called with a `Progress` between slices of
    work; a return of True stops the solver.
    """
    plain = problem.dual(rows_of(problem, base, options), base.psd)
    first = None
    if options.eta == "auto":
        # The paper's scale: eta = |alpha|^2 of the plain SVM.
        first = _maximise(plain, start, options, callback)
        if first.status is Status.STOPPED:
            return Adaptation(first, np.inf, first.n_iter, first.x)
        eta, start = automatic_eta(first.x) * options.eta_scale, WarmStart(first.x)
    else:
        eta = float(options.eta) * options.eta_scale
    # tau = 0: c = 1/(4 eta) is the weight of the quartic term, a MarginDual; else an AdaptedDual.
    adapted = adapted_dual(plain, eta, tau=options.tau, centred=options.centred)
    result = _maximise(adapted, start, options, callback)
    constant = adapted.constant if isinstance(adapted, AdaptedDual) else 0.0
    if first is None:
        return Adaptation(result, eta, result.n_iter, result.x, constant)
    # The plain SVM of another C starts from the plain SVM of this one.
    steps = first.n_iter + result.n_iter
    return Adaptation(result, eta, steps, first.x, constant, plain=first)


def rows_of(problem: SVMProblem, base: BaseGram, options: AdaptationOptions) -> Rows:
    """Return the Gram matrix of the points of a problem, whole or by rows on demand."""
    if base.gram is None:
        fits = 8.0 * len(problem.points) ** 2 <= options.cache_mb * 2.0**20  # float64
        return gram_rows(base.kernel, problem.points, options, whole=DENSE_ROWS if fits else 0)
    if len(problem.members) == len(base.gram):
        return base.gram
    return DenseRows(base.gram.square(problem.members))


def finite_gram(kernel: Kernel, points: Array) -> Array:
    """Return the kernel values between points, shape (m, m); raise ValueError unless finite."""
    gram = points
    if not isinstance(kernel, Precomputed):
        gram = kernel(points)
    elif kernel.gram is not points:  # else kernel="precomputed": the points are the matrix
        gram = kernel.gram if kernel.names_all(points) else kernel(points)
        gram = np.asarray(gram, dtype=np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        total = gram.sum()  # not finite if a single value is not
    if not np.isfinite(total):
        raise ValueError(
            f"expected finite kernel values with a finite sum, got up to {np.abs(gram).max():.3g} "
            f"from {type(kernel).__name__}; scale the features"
        )
    return gram


def gram_rows(kernel: Kernel, points: Array, options: AdaptationOptions, *, whole: int) -> Rows:
    """Return the rows of the Gram matrix of some points, shape (n, d).

    The matrix of up to `whole` points is kept whole, in float64. Otherwise rows are computed on
    demand, in float32 if that loses no digits: all k(x, x) are equal, and k between most points is
    smaller by 1 % or more, on a sample. Values of very different size would cancel. Of a flat
    kernel only the differences matter, and rounding would hide them. Gaps below 1e-5 would drown
    in the rounding of float32.
    """
    if len(points) <= whole:
        return DenseRows(finite_gram(kernel, points))
    # k(x, x) of all equal, and |k(x, x)| - median |k(x, z)| large enough for 7 digits
    sizes = kernel.diag(points[:SAMPLE])
    top = float(np.abs(sizes).max())
    some = np.unique(np.linspace(0, len(points) - 1, 64).astype(np.intp))
    typical = float(np.median(kernel(points[some])))
    single = np.ptp(sizes) <= 1e-6 * top and top - typical >= 1e-2 * top and options.tol >= 1e-5
    return CachedRows(kernel, points, options.cache_mb, "float32" if single else "float64")


def _maximise(
    problem: MarginDual | AdaptedDual,
    start: WarmStart | None,
    options: AdaptationOptions,
    callback: Callback,
) -> Result[Certificate]:
    """Solve a dual from the solution of another one, made feasible; from zero without one."""
    dual = problem.quartic if isinstance(problem, AdaptedDual) else problem
    beta, fields = np.zeros_like(dual.linear), None
    if start is not None and start.growth == 1.0:
        # t beta maximises h along the ray, 0 <= t <= 1: parts together, and plain SVMs, go too far
        beta = project_box_hyperplane(start.beta, dual.lower, dual.upper)
        beta, fields = best_multiple(dual, beta)
    elif start is not None:
        # beta, C'/C beta or 0: the start with the largest h
        beta = better_start(dual, start.beta, start.growth)
        beta = project_box_hyperplane(beta, dual.lower, dual.upper)
    tol, max_iter = options.tol, options.max_iter
    if isinstance(problem, AdaptedDual):
        return sequential.solve(problem, beta, tol=tol, max_iter=max_iter, callback=callback)
    return smo.solve(problem, beta, fields=fields, tol=tol, max_iter=max_iter, callback=callback)


def solve_in_parts(
    problem: SVMProblem,
    base: BaseGram,
    options: AdaptationOptions,
    settings: KMeansPartition,
    callback: Deadline,
) -> Adaptation:
    """Learn one function in parts, and from all points together if ``refine`` (DANK).

    `callback` is called with a `Progress` or None between slices of work; a return of True stops.
    """
    if made_of(base.kernel, Precomputed):
        raise ValueError(
            "expected a kernel of points for partition='kmeans', which divides them by their "
            "coordinates, got one of row numbers, such as kernel='precomputed'"
        )
    partition = kmeans_partition(problem.points, settings.n_parts, settings.random_state)
    parts = [problem.subset(partition.members(part)) for part in range(len(partition))]

    def solve_all(eta: float, start: Array) -> tuple[Array, list[PartResult]]:
        """Return the coefficients of all points, and the results of the parts."""
        solved = run_parts(
            partial(solve_part, base=base, eta=eta, options=options, ends=callback.ends),
            lambda part: (parts[part], start[partition.members(part)]),
            sizes=partition.sizes.tolist(),
            n_jobs=settings.n_jobs,
            report=lambda _done, _total: callback(None),
        )
        # beta of all points from the blocks beta_p of the parts
        beta, results = np.zeros(len(start)), []
        for part, result in enumerate(solved):
            results.append(_not_begun(parts[part], base) if result is None else result)
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
    whole, early = _put_together(beta, results, callback.expired)
    return Adaptation(
        whole, eta, steps + whole.n_iter, beta, partition=partition, parts=results, early=early
    )


def _put_together(
    beta: Array, results: list[PartResult], late: bool
) -> tuple[Result[Certificate], str]:
    """Return the result of all parts, without an intercept, and a note on parts that ended early.

    Objective and gap are sums: the kernel is zero between parts (Lemma 5).
    """
    done = sum(result.n_iter for result in results)
    value = math.fsum(result.value for result in results)
    gap = math.fsum(result.gap for result in results)
    early = [
        status
        for status in (Status[result.status] for result in results)
        if status not in (Status.CONVERGED, Status.UNCERTIFIED)
        and (late or status is not Status.STOPPED)
    ]
    status = early[0] if early else Status.CONVERGED
    note = f" ({len(early)} of {len(results)} parts early)"
    return Result(beta, value, gap, done, status, [Progress(done, value, gap)]), note


def solve_part(
    part: SVMProblem,
    start: Array,
    *,
    base: BaseGram,
    eta: float,
    options: AdaptationOptions,
    ends: float | None,
) -> PartResult:
    """Maximise the problem of one part without its equality constraint (problem (19)).

    `start` has shape (m,). After the time `ends`, by `time.time`, the best solution so far counts.
    """
    if is_over(ends):
        return _not_begun(part, base)
    n = len(part.points)
    fits = 8.0 * n**2 <= options.cache_mb * 2.0**20
    whole = n if options.centred and fits else SMALL_PART  # the centred rule reads all, often
    rows = gram_rows(base.kernel, part.points, options, whole=whole)
    dual = without_intercept(part.dual(rows, base.psd))
    adapted = adapted_dual(dual, eta, centred=options.centred, n_points=n)
    # The last coordinate takes up the sum of the others: 1'beta = 0.
    begin = np.append(start, -start.sum())
    limits: dict[str, Any] = {
        "tol": options.tol, "max_iter": options.max_iter, "callback": lambda _: is_over(ends)
    }  # fmt: skip
    if isinstance(adapted, MarginDual):
        result = smo.solve(adapted, begin, **limits)
    else:
        result = sequential.solve(adapted, begin, **limits)
    return PartResult(result.x[:-1], result.value, result.gap, result.n_iter, result.status.name)


def _not_begun(part: SVMProblem, base: BaseGram) -> PartResult:
    """Return beta = 0, and the gap there, of a part that was not begun."""
    # At beta = 0 the gap does not depend on the kernel.
    dual = part.dual(DenseRows(np.empty((0, 0))), base.psd)
    gap = float(dual.loss(dual.linear).sum()) if dual.psd else np.nan
    return PartResult(np.zeros_like(dual.linear), 0.0, gap, 0, Status.STOPPED.name)


def _refine(
    problem: SVMProblem,
    base: BaseGram,
    options: AdaptationOptions,
    beta: Array,
    eta: float,
    callback: Callback,
) -> Adaptation:
    """Solve the exact problem from the coefficients of the parts.

    Where parts overlap, the sum of their coefficients overshoots the solution, but few other
    points become support points. So the solver starts with a rough solution on the support points
    of the parts (Hsieh, Si and Dhillon 2014, for support vector machines).
    """
    support, steps = np.flatnonzero(beta), 0
    if support.size:
        some = problem.subset(support)
        rows = gram_rows(base.kernel, some.points, options, whole=SMALL_PART)
        dual = some.dual(rows, base.psd).with_quartic(1.0 / (4.0 * eta))
        tol = max(options.tol, 1e-3)
        result = smo.solve(dual, tol=tol, max_iter=options.max_iter, callback=callback)
        steps = result.n_iter
        if result.status is not Status.STOPPED:  # else the coefficients of the parts are better
            beta = np.zeros_like(beta)
            beta[support] = result.x
    found = solve_whole(problem, base, options, WarmStart(beta), callback)
    return replace(found, n_iter=found.n_iter + steps)
