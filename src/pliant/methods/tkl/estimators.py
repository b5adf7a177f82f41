"""Base class of the TKL and GKL estimators, and TKL: tessellated kernel learning.

The kernel is linear in a positive semi-definite matrix P. `BaseGKL` is a support vector machine
(SVM) that learns P; TKL is the case of tessellated kernels (Talitckii, Colbert and Peet, 2024).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from pliant.core.linalg import nearest_rows
from pliant.core.progress import Progress, Result, Status
from pliant.core.state import reads
from pliant.core.typing import Array, Callback, Indices
from pliant.core.validation import (
    Constraint,
    check_flag,
    check_points,
    check_random_state,
    check_real,
    optional,
    real_number,
)
from pliant.kernels.base import Kernel, Rescaled
from pliant.methods.svm import smo
from pliant.methods.svm.dual import Certificate
from pliant.methods.svm.estimators import (
    BaseSVM,
    LearnedFunction,
    SVMClassifier,
    SVMProblem,
    SVMRegressor,
    WarmStart,
    documented_as,
    expansion,
)
from pliant.methods.svm.parts import (
    KMeansPartition,
    PartResult,
    as_partition,
    kmeans_partition,
    partition_settings,
    run_parts,
)
from pliant.methods.tkl.generalized_kernel import (
    LARGEST_SHAPE,
    GeneralizedKernel,
    blend_identity,
    build_tessellated,
    check_degree,
)
from pliant.methods.tkl.problem import SaddleProblem
from pliant.methods.tkl.solvers import interior, low_rank
from pliant.methods.tkl.solvers.low_rank import INNER_SHARE, SVM_STEPS, Saddle, solve_given

SUBSET = 2000
"""Number of samples for learning P if the full Gram matrix does not fit."""


def _check_floor(name: str, value: Any) -> None:
    """Raise ValueError unless `value` can be the least eigenvalue of a P with trace n_P."""
    if check_real(name, value, least=0) >= 1:
        raise ValueError(f"expected {name} < 1, got {value!r}: the mean eigenvalue of P is 1")


@dataclass(kw_only=True, eq=False, repr=False)
class BaseGKL(BaseSVM[Kernel]):
    """A support vector machine that learns the matrix P of a generalised kernel.

    `BaseSVM.fit` takes these steps:

    1. `_state_problems` checks X and y, and states one `SVMProblem`, or one per pair of classes.
    2. `_build_kernel`, of a subclass, builds the family of kernels, without P.
    3. `_solve` learns one function per problem with `_learn_on_all`; with `_learn_on_subset` if the
       Gram matrix is too large; or with `_learn_in_parts` if TKL has a ``partition``.
       `interior.solve` or `low_rank.solve` finds P and w.
    4. `_build_function` builds the learned kernel k_P.
    5. `_store` sets the fitted attributes, and warns if a gap is above ``tol``.
    """

    C: float = 1.0
    floor: float = 0.0
    tol: float = 1e-3
    max_iter: int = 500
    cache_mb: float = 2000.0
    random_state: int | np.random.RandomState | None = None
    verbose: bool = False

    _constraints: ClassVar[Mapping[str, Constraint]] = {
        "floor": _check_floor,
        "cache_mb": real_number(above=0),
        "random_state": lambda _, seed: check_random_state(seed),
    }
    _step_unit = "support vector machines solved"
    _finite: ClassVar[tuple[str, ...]] = (
        "objective_", "lower_bound_", "dual_gap_", "objective_history_", "gap_history_",
    )  # fmt: skip

    def _solve(
        self,
        problems: Sequence[SVMProblem],
        kernel: Kernel,
        starts: Sequence[WarmStart | None],
        callback: Callback,
    ) -> list[LearnedFunction]:
        settings = getattr(self, "partition", None)  # only TKL has this parameter
        if settings is not None:
            settings = as_partition("partition", settings)
            return [self._learn_in_parts(each, kernel, settings, callback) for each in problems]
        functions = []
        for problem in problems:
            saddle_problem = self._state_saddle_problem(problem, kernel)
            if saddle_problem.fits or len(problem.target) <= SUBSET:
                result = self._learn_on_all(problem, kernel, saddle_problem, callback)
                warning = self._describe_gap(result, result.status.value)
                function = self._build_function(kernel, result, warning)
            else:
                function = self._learn_on_subset(problem, kernel, saddle_problem, callback)
            functions.append(function)
        return functions

    def _state_saddle_problem(self, problem: SVMProblem, kernel: Kernel) -> SaddleProblem:
        """Build the saddle point problem in P and the coefficients of an SVM."""
        points = kernel.rescale(problem.points) if isinstance(kernel, Rescaled) else problem.points
        return SaddleProblem(
            inner_kernel(kernel), points, problem.dual, self.cache_mb, float(self.floor)
        )

    def _learn_on_all(
        self, problem: SVMProblem, kernel: Kernel, saddle_problem: SaddleProblem, callback: Callback
    ) -> Result[Saddle]:
        """Learn P on all samples; with many samples, warm-start from the P of a subset."""
        start, n_svms = None, 0
        options: dict[str, Any] = {"tol": float(self.tol), "callback": callback}
        if len(problem.target) == 2:
            # All feasible w are multiples of (1, -1), so the best P is the same for all w.
            best = saddle_problem.oracle(np.array([1.0, -1.0]), 0.0).vectors
            return solve_given(saddle_problem, best, **options)
        options["max_iter"] = self.max_iter
        if len(problem.target) <= interior.MAX_SAMPLES:
            small = interior.solve(saddle_problem, **options)
            if small is not None and small.status is not Status.IDLE:
                return small
            n_svms = 0 if small is None else small.n_iter
        if len(problem.target) > 2000:
            # The P of a subset is close to the final P, and steps on the subset are cheap.
            subset = self._state_saddle_problem(self._draw_subset(problem, 1000), kernel)
            initial = low_rank.solve(subset, **options | {"tol": max(1e-2, float(self.tol))})
            start, n_svms = initial.x, n_svms + initial.n_iter
        result = low_rank.solve(saddle_problem, start=start, **options)
        return replace(result, n_iter=result.n_iter + n_svms)

    def _learn_on_subset(
        self, problem: SVMProblem, kernel: Kernel, saddle_problem: SaddleProblem, callback: Callback
    ) -> LearnedFunction:
        """Learn P on a subset, then solve SVMs on all samples to certify the gap."""
        subset, tol = self._draw_subset(problem, SUBSET), float(self.tol)
        part = self._state_saddle_problem(subset, kernel)
        initial = low_rank.solve(part, tol=tol, max_iter=self.max_iter, callback=callback)
        # SVMs on all samples at the subset's P give a gap relative to the optimum over all P
        result = solve_given(saddle_problem, initial.x, tol=tol, callback=callback)
        result = replace(result, n_iter=result.n_iter + initial.n_iter)
        advice = "" if initial.status is Status.CONVERGED else f" ({initial.status.value})"
        warning = self._describe_gap(
            result,
            f"P was learned on {len(subset.target)} of {len(problem.target)} rows{advice}; raise "
            "cache_mb so that the full Gram matrix fits",
        )
        return self._build_function(kernel, result, warning)

    def _learn_in_parts(
        self,
        problem: SVMProblem,
        kernel: Kernel,
        settings: KMeansPartition,
        callback: Callback,
    ) -> LearnedFunction:
        """Learn P on a subset, then solve an SVM on each part."""
        saddle_problem = self._state_saddle_problem(problem, kernel)
        subset = self._draw_subset(problem, SUBSET)
        if subset is problem:
            initial = self._learn_on_all(problem, kernel, saddle_problem, callback)
            advice = initial.status.value
        else:
            initial = low_rank.solve(
                self._state_saddle_problem(subset, kernel),
                tol=float(self.tol), max_iter=self.max_iter, callback=callback,
            )  # fmt: skip
            rows = f"{len(subset.target)} of {len(problem.target)} rows"
            advice = f"P was learned on {rows}; {initial.status.value}"
        partition = kmeans_partition(saddle_problem.points, settings.n_parts, settings.random_state)
        factor = saddle_problem.scaled(initial.x)  # Q = F F' of trace n_P

        def state_part(part: int) -> SaddleProblem:
            return self._state_saddle_problem(problem.subset(partition.members(part)), kernel)

        solved = run_parts(
            _solve_part,
            lambda part: (state_part(part), factor, float(self.tol)),
            sizes=partition.sizes.tolist(),
            n_jobs=settings.n_jobs,
            report=lambda _done, _total: callback(None),
        )
        results = [
            _skip_part(state_part(part)) if result is None else result
            for part, result in enumerate(solved)
        ]
        w = np.zeros(len(problem.target))
        for part, result in enumerate(results):
            w[partition.members(part)] = result.beta
        total = _combine_parts(results, factor, w, initial.n_iter + len(results))
        warning = self._describe_gap(total, f"parts stopped early; {total.status.value}")
        warning = warning or self._describe_gap(initial, advice)
        function = self._build_function(kernel, total, warning)
        attributes = {
            **function.attributes,
            "support_parts_": partition.labels[np.flatnonzero(w)],
            "part_labels_": partition.labels,
            "part_centres_": partition.centres,
            "part_gaps_": np.array([result.gap for result in results]),
            "part_seconds_": np.array([result.seconds for result in results]),
        }
        intercepts = np.array([result.intercept for result in results])
        return replace(function, intercept=intercepts, attributes=attributes)

    def _expand(self, X: Array) -> Array:
        """Compute the decision values; with parts, use the SVM of the nearest centre's part."""
        if "part_centres_" not in vars(self):
            return super()._expand(X)
        points = self.kernel_.rescale(X) if isinstance(self.kernel_, Rescaled) else X
        corners = _corner(self, "lower"), _corner(self, "upper")
        parts = nearest_rows(np.clip(points, *corners), self.part_centres_)
        values = np.asarray(self.intercept_)[parts]
        # f(x) = k(x, V_p) beta_p + b_p, with p the part of the nearest centre
        for p in np.unique(parts):
            rows, members = np.flatnonzero(parts == p), self.support_parts_ == p
            if members.any():
                vectors, coefficients = self.support_vectors_[members], self.dual_coef_[members]
                values[rows] += expansion(self.kernel_, X[rows], vectors, coefficients)
        return values

    def _draw_subset(self, problem: SVMProblem, count: int) -> SVMProblem:
        """Return the problem on `count` random samples, with rescaled weights."""
        m = len(problem.target)
        if count >= m:
            return problem
        rows = _draw_rows(problem.target, count, check_random_state(self.random_state))
        subset = problem.subset(rows)
        # for k of m samples, C m/k keeps the balance between the losses and the norm
        return replace(subset, weights=subset.weights * (m / len(rows)))

    def _describe_gap(self, result: Result[Saddle], advice: str) -> str:
        """Describe a gap above ``tol``; return "" if it is small or a callback ended the fit."""
        if result.gap <= self.tol * abs(result.value) or result.status is Status.STOPPED:
            return ""
        return (
            f"{type(self).__name__} stopped after {result.n_iter} support vector machines with a "
            f"relative gap of {result.gap / abs(result.value):.3g}, above tol = {self.tol:g}: "
            f"{advice}"
        )

    def _build_function(
        self, kernel: Kernel, result: Result[Saddle], warning: str
    ) -> LearnedFunction:
        """Build the learned kernel and the fitted attributes of one function."""
        saddle, factor, floor = result.certificate, result.x, float(self.floor)
        assert saddle is not None
        # P = floor I + (1 - floor) F F'. With F = U S V', F F' = (U S)(U S)', where U S has
        # orthogonal columns; their number is the rank of P, which is n_P with a floor.
        if floor:
            factor = blend_identity(factor, floor)
        U, singular, _ = np.linalg.svd(factor, full_matrices=False)
        kept = singular > (0.0 if floor else 1e-8 * singular[0])
        learned: Kernel = inner_kernel(kernel).with_factor(np.asarray(U[:, kept] * singular[kept]))
        if isinstance(kernel, Rescaled):
            learned = Rescaled(learned, kernel.offset, kernel.width)
        return LearnedFunction(
            learned, saddle.w, saddle.intercept, saddle.upper, saddle.gap, result.n_iter,
            result.history, {"lower_bound_": saddle.lower}, warning,
        )  # fmt: skip

    @property
    def shape_factor_(self) -> Array:
        """F with orthogonal columns, P = F F', shape (n_P, rank_)."""
        return np.asarray(inner_kernel(self.kernel_).factor)

    @property
    @reads
    def shape_matrix_(self) -> Array:
        """P, shape (n_P, n_P), of trace n_P."""
        return self.shape_factor_ @ self.shape_factor_.T

    @property
    @reads
    def rank_(self) -> int:
        """The rank of P."""
        return int(self.shape_factor_.shape[1])

    @property
    @reads
    def n_svm_solves_(self) -> int | Indices:
        """Number of SVMs solved; an array with one number per pair for more than two classes."""
        solves: int | Indices = self.n_iter_
        return solves

    def _details(self) -> Mapping[str, Any]:
        parts = {"parts": len(self.part_centres_)} if "part_centres_" in vars(self) else {}
        return {"rank": self.rank_, **parts}

    def _check_loaded(self) -> None:
        super()._check_loaded()
        for estimator in getattr(self, "estimators_", [self]):
            kernel, vectors = estimator.kernel_, estimator.support_vectors_
            size = len(check_points(estimator.shape_factor_, "shape_factor_"))
            if size > LARGEST_SHAPE or inner_kernel(kernel).shape_size(vectors.shape[1]) != size:
                raise ValueError(
                    f"expected n_P rows in shape_factor_, at most {LARGEST_SHAPE}, got {size}"
                )
            kernel(vectors[:1])  # raises if the shapes of kernel, factor and points disagree
            estimator._check_intercepts(vectors)

    def _check_intercepts(self, vectors: Array) -> None:
        """Raise ValueError unless the loaded intercepts and parts are consistent."""
        if "part_centres_" not in vars(self):
            if np.shape(self.intercept_):
                raise ValueError(
                    f"expected intercept_ to be one number, got shape {np.shape(self.intercept_)}"
                )
            return
        centres = check_points(self.part_centres_, "part_centres_", n_features=vectors.shape[1])
        labels = np.asarray(self.support_parts_)
        valid = np.issubdtype(labels.dtype, np.integer) and np.isin(labels, np.arange(len(centres)))
        shapes = np.shape(self.intercept_), labels.shape
        if shapes != ((len(centres),), (len(vectors),)) or not np.all(valid):
            raise ValueError(
                f"expected intercepts of {len(centres)} parts and part labels of "
                f"{len(vectors)} support points, got shapes {shapes} with dtype {labels.dtype}"
            )


def inner_kernel(kernel: Kernel) -> GeneralizedKernel:
    """Return the generalised kernel without the scaling of features."""
    inner = kernel.kernel if isinstance(kernel, Rescaled) else kernel
    if not isinstance(inner, GeneralizedKernel):
        raise ValueError(f"expected a generalised kernel, got {type(inner).__name__}")
    return inner


def _draw_rows(target: Array, count: int, random: np.random.RandomState) -> Indices:
    """Draw about `count` row numbers, sorted; two classes keep their proportions."""
    signs = np.unique(target)
    groups = [np.flatnonzero(target == sign) for sign in signs]
    if len(signs) != 2:
        groups = [np.arange(len(target))]
    # divide `count` in proportion to the group sizes, with at least one row from each
    sizes = [max(1, round(count * len(group) / len(target))) for group in groups]
    rows = [
        random.choice(group, size, replace=False) for group, size in zip(groups, sizes, strict=True)
    ]
    return np.sort(np.concatenate(rows))


def _solve_part(problem: SaddleProblem, factor: Array, tol: float) -> PartResult:
    """Solve the SVM of one part at Q = factor factor', to the final accuracy of a search."""
    dual = problem.svm(factor)
    zero = np.zeros_like(dual.linear)
    limit = dual.bound(zero, 0.0, zero).gap  # the gap at w = 0, an upper bound on the optimum
    # smo.solve stops at gap <= tol (1 + h); min(1, limit) makes tol relative for a small optimum
    result = smo.solve(
        dual,
        tol=INNER_SHARE * tol * min(1.0, limit),
        max_iter=SVM_STEPS * len(dual.linear),
    )
    assert result.certificate is not None
    return _part_result(result.x, result.certificate, result.n_iter, result.status)


def _skip_part(problem: SaddleProblem) -> PartResult:
    """Return w = 0 and its gap for a part not started."""
    dual = problem.dual(np.empty((0, 0)))
    zero = np.zeros_like(dual.linear)
    return _part_result(zero, dual.bound(zero, 0.0, zero), 0, Status.STOPPED)


def _combine_parts(
    results: Sequence[PartResult], factor: Array, w: Array, n_svms: int
) -> Result[Saddle]:
    """Return the result of all parts; their SVMs are separate problems, so bounds are summed."""
    lower = math.fsum(result.value for result in results)
    upper = lower + math.fsum(result.gap for result in results)
    early = (Status[result.status] for result in results if result.status != "CONVERGED")
    saddle = Saddle(upper, lower, w, 0.0)
    return Result(
        factor, upper, saddle.gap, n_svms, next(early, Status.CONVERGED),
        [Progress(n_svms, upper, saddle.gap)], saddle,
    )  # fmt: skip


def _part_result(w: Array, bound: Certificate, n_iter: int, status: Status) -> PartResult:
    return PartResult(w, bound.value, bound.gap, n_iter, status.name, intercept=bound.intercept)


def _check_partition(name: str, value: Any) -> None:
    """Raise ValueError for partition settings that only DANK and KNPL support."""
    settings = as_partition(name, value)
    if settings.refine or settings.prediction != "part":
        raise ValueError(
            f"expected {name} with prediction='part' and refine=False for TKL, got {settings!r}"
        )


def _corner(estimator: BaseGKL, name: str) -> Array:
    """Return the ``lower`` or ``upper`` corner of the box of a learned tessellated kernel."""
    fitted = estimator.estimators_[0] if "estimators_" in vars(estimator) else estimator
    return np.asarray(getattr(inner_kernel(fitted.kernel_), name))


@dataclass(kw_only=True, eq=False, repr=False)
class TKLClassifier(SVMClassifier[Kernel], BaseGKL):
    r"""Classification with a learned tessellated kernel.

    Solves, to a certified gap,

    .. math::

        \min_{P \succeq f I, \, \mathrm{tr} P = n_P} \; \max_{0 \le \alpha \le C, \, y'\alpha = 0}
        \; 1'\alpha - \tfrac12 \beta' K_P \beta, \qquad \beta = \alpha \circ y,

    problem (7) of [1]_ (where f = 0) with f = ``floor``, over the kernels

    .. math::

        k_P(x, y) = \int_{[a, b]} N(z, x)' P N(z, y) \, dz, \qquad
        N(z, x) = [Z \, I(z \ge x); \; Z \, (1 - I(z \ge x))]

    with Z the monomials of x up to a degree (eq. 13 and 14), over a box of measure 1. These kernels
    are dense among all kernels; each point divides the box in two along every feature.
    `GKLClassifier` also allows monomials of x and z, with which fits were no more accurate.

    Parameters
    ----------
    C : float, default=1.0
        Penalty parameter, 1e-12 to 1e12. Multiplied by class and sample weights. Values up to 1e5
        can be useful.
    degree : int, default=1
        Degree of the monomials of x, 0 to 12. n_P = 2 C(n_features + degree, degree) grows fast
        with the degree and is limited to 10 000.
    delta : float, array-like of shape (n_features,), or tuple of two of these, default=0.5
        Margin of the box around [0, 1], >= 0. A tuple is always a pair (below, above); a list
        or an array has one number per feature.
    scale : bool, default=True
        Scale the features to [0, 1], constant features to 0. If False, the features must be in
        [0 - delta, 1 + delta].
    class_weight : dict or "balanced", optional
        Factors of C, each from 1e-12 to 1e12.
    floor : float, default=0.0
        Lower bound on the eigenvalues of P, 0 <= floor < 1; their mean is 1. With a floor > 0
        and delta > 0, the kernel of TKL is universal (Theorem 15 of [1]_). With 0, P has a low
        rank.
    tol : float, default=1e-3
        Certified gap at which a fit stops, relative to the objective, > 0.
    max_iter : int, default=500
        Maximum number of support vector machines to solve, separately for a warm start on a subset
        and for all samples; -1 for no limit. If the gap is then above ``tol``, a ConvergenceWarning
        reports it. The model is usable, and ``dual_gap_`` bounds its distance from the optimum.
    cache_mb : float, default=2000
        Memory for a Gram matrix, > 0, in units of 2^20 bytes. If the full matrix does not fit, P is
        learned on 2000 random samples, with C increased to account for all samples. The fit then
        certifies the gap by support vector machines on all samples, which compute rows on demand.
    random_state : int, RandomState or None, default=None
        Seed for drawing the samples on which P is learned or warm-started, if there are over 2000.
    verbose : bool, default=False
        Print the progress of the fit to standard error every two seconds.
    partition : KMeansPartition, dict of its settings or {"kmeans"}, optional
        Divide the samples into parts by k-means on the scaled features. P is learned on up to 2000
        samples. Each part has a support vector machine with the learned kernel and a separate
        intercept. Predictions use the part of the nearest centre. ``objective_``, ``lower_bound_``
        and ``dual_gap_`` are sums over the parts for the learned P. The time grows about linearly
        with the number of samples. "kmeans" uses the defaults of `KMeansPartition`; its settings
        ``prediction`` and ``refine`` are for other methods.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The labels.
    kernel_ : Rescaled or TessellatedKernel
        The learned kernel, a function of two sets of points in the user's units. Points outside
        the box are moved to its nearest point.
    dual_coef_ : array of shape (n_support,)
        Coefficients beta = alpha y of the support vectors.
    intercept_ : float
        The intercept b of f(x) = kernel_(x, support_vectors_) @ dual_coef_ + intercept_. With
        ``partition``, an array of shape (n_parts,); f(x) sums over the support points of x's part.
    estimators_ : list of TKLClassifier
        Only with more than two classes: one estimator per pair. ``kernel_`` and the attributes
        listed after it (except the box) then belong to these estimators.
    shape_matrix_ : array of shape (n_P, n_P)
        P, of trace n_P.
    shape_factor_ : array of shape (n_P, rank_)
        F with orthogonal columns, where P = F F'.
    rank_ : int
        The rank of P, usually small; n_P with a ``floor``.
    support_ : array of shape (n_support,)
        Indices of the training samples with beta != 0.
    support_vectors_ : array of shape (n_support, n_features)
        The support vectors.
    objective_ : float
        The objective at the solution: the primal objective of the support vector machine at P. For
        regression, it is in units of the scaled target, as are the bounds and the gap.
    lower_bound_, upper_bound_ : float
        Bounds on the optimum over all P. The upper one is `objective_`, as the objective is
        minimised.
    dual_gap_ : float
        Difference between `upper_bound_` and `lower_bound_`.
    objective_history_, gap_history_ : arrays
        Upper bound and gap after each support vector machine on all samples.
    n_svm_solves_, n_iter_ : int
        Total number of support vector machines solved, including those on subsets. Each step of an
        interior-point method counts as one. With more than two classes, an array with one number
        per pair.
    n_features_in_ : int
        Number of features seen during fit.
    lower_, upper_ : arrays of shape (n_features,)
        The corners a and b of the box, in scaled features.
    part_labels_, part_centres_ : arrays of shape (n_samples,) and (n_parts, n_features)
        With ``partition``: the part of each training sample of positive weight, and the centres, in
        scaled features.
    support_parts_ : array of shape (n_support,)
        With ``partition``: the part of each support point.
    part_gaps_, part_seconds_ : arrays of shape (n_parts,)
        With ``partition``: the gap and the CPU time of each part.

    Notes
    -----
    For m samples of d features, one support vector machine costs O(m^2 (d + rank)) for its Gram
    matrix and between m^2 and m^3 for its coefficients. A fit solves 5 to 50 of them, each
    warm-started from the previous one. The gradient in P costs O(m^2 (d + n_P)), and its extreme
    eigenvalue O(n_P^3). A Gram matrix takes 8 m^2 bytes; two-coordinate ascent copies up to 1.2 m^2
    bytes of it. Two-class problems of up to 64 samples use an interior-point method. With more than
    about 15 features, the product of one factor per feature is so small that k_P is nearly linear.

    References
    ----------
    .. [1] A. Talitckii, B. Colbert, M. M. Peet. Efficient Convex Algorithms for Universal Kernel
       Learning. arXiv:2304.07472 (2024).

    Examples
    --------
    >>> from sklearn.datasets import make_circles
    >>> from pliant import TKLClassifier
    >>> X, y = make_circles(100, noise=0.1, factor=0.3, random_state=0)
    >>> model = TKLClassifier(C=10).fit(X, y)
    >>> bool(model.dual_gap_ <= 1e-3 * model.objective_)
    True
    >>> model.score(X, y)
    1.0
    """

    # The steps of `fit` are listed in `BaseGKL`.

    C: float = field(default=1.0, kw_only=False)
    degree: int = 1
    delta: npt.ArrayLike | tuple[npt.ArrayLike, npt.ArrayLike] = 0.5
    partition: KMeansPartition | dict[str, Any] | Literal["kmeans"] | None = None
    scale: bool = True

    _constraints: ClassVar[Mapping[str, Constraint]] = {
        "degree": check_degree,
        "scale": check_flag,
        "partition": optional(_check_partition),  # `build_tessellated` checks ``delta``
    }
    _settings: ClassVar = {"partition": partition_settings}
    _drawings = BaseGKL._drawings | {"tessellation"}

    def _build_kernel(self, X: Array, used: Indices) -> Kernel:
        return build_tessellated(X, int(self.degree), self.delta, self.scale)

    @property
    @reads
    def lower_(self) -> Array:
        """The lower corner of the box, shape (n_features,), in scaled features."""
        return _corner(self, "lower")

    @property
    @reads
    def upper_(self) -> Array:
        """The upper corner of the box, shape (n_features,), in scaled features."""
        return _corner(self, "upper")


@documented_as(TKLClassifier, without=("classes_", "estimators_"))
@dataclass(kw_only=True, eq=False, repr=False)
class TKLRegressor(SVMRegressor[Kernel], BaseGKL):
    r"""Epsilon-regression with a learned tessellated kernel.

    Solves, to a certified gap,

    .. math::

        \min_{P \succeq f I, \, \mathrm{tr} P = n_P} \; \max_{|\beta_i| \le C, \, 1'\beta = 0}
        \; y'\beta - \varepsilon \|\beta\|_1 - \tfrac12 \beta' K_P \beta,

    problem (7) of [1]_ with f = ``floor``, over the kernels of `TKLClassifier`. The paper prints
    the classification constraints instead.

    Parameters
    ----------
    C : float, default=1.0
        Penalty parameter, 1e-12 to 1e12. Multiplied by sample weights. Values up to 1e5 can be
        useful.
    epsilon : float, default=0.1
        Errors up to this size are not penalised, >= 0, in units of the scaled target.
    scale_target : bool, default=True
        Fit (y - mean)/std instead of y, so that C and epsilon do not depend on the unit of y.
        Predictions are in the units of y.

    Attributes
    ----------
    dual_coef_ : array of shape (n_support,)
        Coefficients in the units of y: kernel_(X, support_vectors_) @ dual_coef_ + intercept_ is
        the prediction.
    intercept_ : float
        The intercept, in the units of y. With ``partition``, it is an array of shape (n_parts,),
        and a prediction sums over the support points of x's part.

    References
    ----------
    .. [1] A. Talitckii, B. Colbert, M. M. Peet. Efficient Convex Algorithms for Universal Kernel
       Learning. arXiv:2304.07472 (2024).

    Examples
    --------
    >>> import numpy as np
    >>> from pliant import TKLRegressor
    >>> X = np.linspace(0, 1, 50)[:, None]
    >>> y = np.abs(X[:, 0] - 0.4)
    >>> round(TKLRegressor(C=100, epsilon=0.01).fit(X, y).score(X, y), 2)
    1.0
    """

    C: float = field(default=1.0, kw_only=False)
    degree: int = 1
    delta: npt.ArrayLike | tuple[npt.ArrayLike, npt.ArrayLike] = 0.5
    partition: KMeansPartition | dict[str, Any] | Literal["kmeans"] | None = None
    scale: bool = True

    _constraints = TKLClassifier._constraints
    _settings: ClassVar = {"partition": partition_settings}
    _drawings = BaseGKL._drawings | {"tessellation"}
    lower_, upper_ = TKLClassifier.lower_, TKLClassifier.upper_

    def _build_kernel(self, X: Array, used: Indices) -> Kernel:
        return build_tessellated(X, int(self.degree), self.delta, self.scale)
