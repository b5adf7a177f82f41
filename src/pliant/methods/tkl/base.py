"""The base of the estimators of TKL and GKL: a support vector machine (SVM) that learns its kernel.

The kernel is linear in a positive semi-definite matrix P, which `BaseGKL` learns. TKL is the case
of tessellated kernels.
"""

from __future__ import annotations

import math
import warnings
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from pliant.core.linalg import nearest_rows
from pliant.core.progress import Progress, Result, Status
from pliant.core.typing import Array, Callback, Indices, Mask
from pliant.core.validation import (
    Constraint,
    check_points,
    check_random_state,
    check_real,
    real_number,
    stack_level,
)
from pliant.kernels.base import Kernel, Rescaled
from pliant.methods.summary import Convergence
from pliant.methods.svm import smo
from pliant.methods.svm.dual import Certificate
from pliant.methods.svm.estimators import BaseSVM, Task, WarmStart, expansion
from pliant.methods.svm.parts import PartResult, kmeans_partition, run_parts
from pliant.methods.tkl.generalized_kernel import (
    LARGEST_SHAPE,
    GeneralizedKernel,
    blended,
    check_shape_size,
)
from pliant.methods.tkl.problem import KernelLearning
from pliant.methods.tkl.solvers import interior, low_rank
from pliant.methods.tkl.solvers.low_rank import (
    INNER_SHARE,
    SVM_STEPS,
    Saddle,
    solve_given,
)

MANY_SAMPLES, START_SAMPLES = 2000, 1000
"""With more samples than the first, a search starts from the P of as many as the second."""

SUBSET = 2000
"""Number of samples on which P is learned where the Gram matrix of all does not fit."""

START_TOL = 1e-2
"""Relative gap to which a start is learned."""


def _check_floor(name: str, value: Any) -> None:
    """Raise ValueError unless `value` can be the least eigenvalue of a P of trace n_P."""
    if check_real(name, value, least=0) >= 1:
        raise ValueError(
            f"expected {name} < 1, got {value!r}: the eigenvalues of P have a mean of 1"
        )


@dataclass(kw_only=True, eq=False, repr=False)
class BaseGKL(BaseSVM):
    """A support vector machine that learns the matrix P of its kernel."""

    C: float = 1.0
    floor: float = 0.0
    tol: float = 1e-3
    max_iter: int = 500
    cache_mb: float = 2000.0
    random_state: Any = None
    verbose: bool = False

    _constraints: ClassVar[Mapping[str, Constraint]] = {
        **BaseSVM._constraints,
        "floor": _check_floor,
        "cache_mb": real_number(above=0),
        "random_state": lambda _, seed: check_random_state(seed),
    }
    _finite: ClassVar[tuple[str, ...]] = (
        "objective_", "lower_bound_", "dual_gap_", "objective_history_", "gap_history_",
    )  # fmt: skip

    @abstractmethod
    def _kernel_to_learn(self, X: Array) -> Kernel:
        """Return the kernel whose P is to be learned, for points like the rows of X."""

    def _common(self, X: Array, used: Mask) -> tuple[Kernel, None, bool]:
        kernel = self._kernel_to_learn(X[used])
        check_shape_size(unscaled(kernel).shape_size(X.shape[1]), X.shape[1])
        return kernel, None, True

    def _learn(self, task: Task, start: WarmStart | None, callback: Callback) -> Array:
        problem = self._problem(task)
        if getattr(self, "partition", None) is not None:  # of TKL
            return self._learn_in_parts(task, problem, callback)
        if problem.fits or len(task.target) <= SUBSET:
            result = self._learn_on_all(task, problem, callback)
        else:
            result = self._learn_on_some(task, problem, callback)
        return self._store(task, result)

    def _problem(self, task: Task) -> KernelLearning:
        kernel, points = task.kernel, task.points
        if isinstance(kernel, Rescaled):
            points = kernel.rescale(points)
        return KernelLearning(
            unscaled(kernel), points, self._margin(task), self.cache_mb, float(self.floor)
        )

    def _learn_on_all(self, task: Task, problem: KernelLearning, callback: Any) -> Result[Saddle]:
        """Learn P on all samples; where they are many, start from the P of some of them."""
        start, before, tol = None, 0, float(self.tol)
        if len(task.target) == 2:
            # All feasible w are multiples of (1, -1): the best P for one is the best for all.
            best = problem.oracle(np.array([1.0, -1.0]), 0.0).vectors
            result = solve_given(problem, best, tol=tol, callback=callback)
            self._warn_if_open(result, result.status.advice)
            return result
        if len(task.target) <= interior.FEW_SAMPLES:
            small = interior.solve(problem, tol=tol, max_iter=self.max_iter, callback=callback)
            if small is not None and small.status is not Status.IDLE:
                self._warn_if_open(small, small.status.advice)
                return small
            before = 0 if small is None else small.n_iter
        if len(task.target) > MANY_SAMPLES:
            part = self._problem(self._part(task, START_SAMPLES))
            first = self._solve(part, callback, tol=max(START_TOL, tol))
            start, before = first.x, before + first.n_iter
        result = self._solve(problem, callback, start=start, tol=tol)
        result = replace(result, n_iter=result.n_iter + before)
        self._warn_if_open(result, result.status.advice)
        return result

    def _learn_on_some(self, task: Task, problem: KernelLearning, callback: Any) -> Result[Saddle]:
        """Learn P on some samples, then solve SVMs on all, and certify the gap on all."""
        part = self._part(task, SUBSET)
        tol = float(self.tol)
        first = self._solve(self._problem(part), callback, tol=tol)
        result = solve_given(problem, first.x, tol=tol, callback=callback)
        result = replace(result, n_iter=result.n_iter + first.n_iter)
        advice = "" if first.status is Status.CONVERGED else f" ({first.status.advice})"
        self._warn_if_open(
            result,
            f"P was learned on {len(part.target)} of {len(task.target)} rows{advice}; raise "
            "cache_mb so that the Gram matrix of all rows fits",
        )
        return result

    def _learn_in_parts(self, task: Task, problem: KernelLearning, callback: Any) -> Array:
        """Learn P on some samples, then solve an SVM on each part; set the fitted attributes."""
        part = self._part(task, SUBSET)
        if part is task:
            first = self._learn_on_all(task, problem, callback)
        else:
            first = self._solve(self._problem(part), callback, tol=float(self.tol))
            rows = f"{len(part.target)} of {len(task.target)} rows"
            self._warn_if_open(first, f"P was learned on {rows}; {first.status.advice}")
        partition = kmeans_partition(problem.points, self.n_parts, self.random_state)
        factor = problem.scaled(first.x)

        def problem_of(part: int) -> KernelLearning:
            return self._problem(task.subset(partition.members(part)))

        solved = run_parts(
            _solve_part,
            lambda part: (problem_of(part), factor, float(self.tol)),
            sizes=partition.sizes.tolist(),
            n_jobs=self.n_jobs,
            report=lambda _done, _total: callback(None),
        )
        results = [
            _untouched(problem_of(part)) if result is None else result
            for part, result in enumerate(solved)
        ]
        w = np.zeros(len(task.target))
        for number, result in enumerate(results):
            w[partition.members(number)] = result.beta
        lower = math.fsum(result.value for result in results)
        upper = lower + math.fsum(result.gap for result in results)
        early = (Status[result.status] for result in results if result.status != "CONVERGED")
        n_svms, proof = first.n_iter + len(results), Saddle(upper, lower, w, 0.0)
        total = Result(
            factor, upper, proof.gap, n_svms, next(early, Status.CONVERGED),
            [Progress(n_svms, upper, proof.gap)], proof,
        )  # fmt: skip
        self._warn_if_open(total, f"parts stopped early; {total.status.advice}")
        self._store(task, total)
        intercepts = np.array([result.intercept for result in results])
        self.intercept_: Any = task.centre + task.scale * intercepts
        self.support_parts_ = partition.labels[np.flatnonzero(w)]
        self.part_labels_, self.part_centres_ = partition.labels, partition.centres
        self.part_gaps_ = np.array([result.gap for result in results])
        self.part_seconds_ = np.array([result.seconds for result in results])
        return w

    def _expand(self, X: Array) -> Array:
        """Return the decision values; with parts, by the SVM of the part of the nearest centre."""
        if "part_centres_" not in vars(self):
            return super()._expand(X)
        points = self.kernel_.rescale(X) if isinstance(self.kernel_, Rescaled) else X
        box: Any = unscaled(self.kernel_)
        place = nearest_rows(np.clip(points, box.lower, box.upper), self.part_centres_)
        values = np.asarray(self.intercept_[place])
        for p in np.unique(place):
            rows, mine = np.flatnonzero(place == p), self.support_parts_ == p
            if mine.any():
                vectors, coefficients = self.support_vectors_[mine], self.dual_coef_[mine]
                values[rows] += expansion(self.kernel_, X[rows], vectors, coefficients)
        return values

    def _solve(self, problem: KernelLearning, callback: Any, **options: Any) -> Result[Saddle]:
        return low_rank.solve(problem, max_iter=self.max_iter, callback=callback, **options)

    def _part(self, task: Task, count: int) -> Task:
        """Return the task on `count` random samples, with weights that add up to those of all."""
        m = len(task.target)
        if count >= m:
            return task
        chosen = _drawn(task.target, count, check_random_state(self.random_state))
        part = task.subset(chosen)
        return replace(part, weights=part.weights * (m / len(chosen)))

    def _warn_if_open(self, result: Result[Saddle], advice: str) -> None:
        if result.gap <= self.tol * abs(result.value) or result.status is Status.STOPPED:
            return
        relative = result.gap / abs(result.value)
        warnings.warn(
            f"{type(self).__name__} stopped after {result.n_iter} support vector machines with a "
            f"relative gap of {relative:.3g}, where tol = {self.tol:g} was asked for: "
            f"{advice}",
            ConvergenceWarning,
            stacklevel=stack_level(),
        )

    def _store(self, task: Task, result: Result[Saddle]) -> Array:
        """Set the fitted attributes; return the coefficients of all samples."""
        proof = result.certificate
        assert proof is not None
        support = np.flatnonzero(proof.w)
        learned = unscaled(task.kernel).with_factor(_orthogonal(result.x, float(self.floor)))
        if isinstance(task.kernel, Rescaled):
            self.kernel_: Kernel = Rescaled(learned, task.kernel.offset, task.kernel.width)
        else:
            self.kernel_ = learned
        self.support_ = task.members[support]
        self.support_vectors_ = task.points[support]
        self.dual_coef_ = task.scale * proof.w[support]
        self.intercept_ = task.centre + task.scale * proof.intercept
        self.objective_ = proof.upper
        self.lower_bound_ = proof.lower
        self.dual_gap_ = proof.gap
        self.n_iter_ = result.n_iter
        self.objective_history_ = result.objectives
        self.gap_history_ = result.gaps
        return proof.w

    @property
    def shape_factor_(self) -> Array:
        """F with orthogonal columns, P = F F', shape (n_P, rank_)."""
        return np.asarray(unscaled(self.kernel_).factor)

    @property
    def shape_matrix_(self) -> Array:
        """P, shape (n_P, n_P), of trace n_P."""
        return self.shape_factor_ @ self.shape_factor_.T

    @property
    def rank_(self) -> int:
        """The rank of P."""
        return int(self.shape_factor_.shape[1])

    @property
    def n_svm_solves_(self) -> Any:
        """Number of SVMs solved; an array with one number per pair for more than two classes."""
        return self.n_iter_

    @property
    def relative_gap_(self) -> float:
        """dual_gap_ as ``tol`` measures it: relative to the objective."""
        return float(self.dual_gap_ / abs(self.objective_)) if self.dual_gap_ else 0.0

    def _details(self) -> Mapping[str, Any]:
        parts = {"parts": len(self.part_centres_)} if "part_centres_" in vars(self) else {}
        return {"rank": self.rank_, **parts}

    def _convergence(self) -> Convergence:
        gaps, objectives = self.gap_history_, np.abs(self.objective_history_)
        relative = np.divide(gaps, objectives, out=np.zeros_like(gaps), where=gaps != 0)
        return Convergence(
            np.arange(1.0, len(gaps) + 1), relative, float(self.tol),
            unit="support vector machines solved", scale="|objective|",
        )  # fmt: skip

    def _check_loaded(self) -> None:
        super()._check_loaded()
        for estimator in getattr(self, "estimators_", [self]):
            kernel, vectors = estimator.kernel_, estimator.support_vectors_
            size = len(check_points(estimator.shape_factor_, "shape_factor_"))
            if size > LARGEST_SHAPE or unscaled(kernel).shape_size(vectors.shape[1]) != size:
                raise ValueError(f"expected n_P <= {LARGEST_SHAPE} as of the kernel, got {size}")
            kernel(vectors[:1])  # raises if kernel, factor and points do not fit together
            estimator._check_intercepts(vectors)

    def _check_intercepts(self, vectors: Array) -> None:
        """Raise ValueError unless intercepts and parts, read from a file, fit each other."""
        shape = np.shape(self.intercept_)
        if "part_centres_" not in vars(self):
            if shape:
                raise ValueError(f"expected intercept_ to be one number, got shape {shape}")
            return
        centres = check_points(self.part_centres_, "part_centres_", n_features=vectors.shape[1])
        owners = np.asarray(self.support_parts_)
        known = np.issubdtype(owners.dtype, np.integer) and np.isin(owners, np.arange(len(centres)))
        shapes = shape, owners.shape
        if shapes != ((len(centres),), (len(vectors),)) or not np.all(known):
            raise ValueError(
                f"expected intercepts of {len(centres)} parts and the part of each of "
                f"{len(vectors)} support points, got shapes {shapes} of {owners.dtype}"
            )


def unscaled(kernel: Kernel) -> GeneralizedKernel:
    """Return the kernel whose P is learned, without the scaling of features."""
    inner = kernel.kernel if isinstance(kernel, Rescaled) else kernel
    if not isinstance(inner, GeneralizedKernel):
        raise ValueError(f"expected a generalised kernel, got {type(inner).__name__}")
    return inner


def _drawn(target: Array, count: int, random: Any) -> Indices:
    """Return about `count` random row numbers, sorted; two classes keep their proportion."""
    signs = np.unique(target)
    groups = [np.flatnonzero(target == sign) for sign in signs]
    if len(signs) != 2:
        groups = [np.arange(len(target))]
    sizes = [max(1, round(count * len(group) / len(target))) for group in groups]
    drawn = [
        random.choice(group, size, replace=False) for group, size in zip(groups, sizes, strict=True)
    ]
    return np.sort(np.concatenate(drawn))


def _solve_part(problem: KernelLearning, factor: Array, tol: float) -> PartResult:
    """Solve the SVM of one part at Q = factor factor', to a gap as at the end of a search."""
    dual = problem.svm(factor)
    zero = np.zeros_like(dual.linear)
    most = dual.bound(zero, 0.0, zero).gap  # the gap at w = 0, where h(w) = 0, bounds the optimum
    result = smo.solve(
        dual,
        tol=INNER_SHARE * tol * min(1.0, most),
        max_iter=SVM_STEPS * len(dual.linear),
    )
    assert result.certificate is not None
    return _part_result(result.x, result.certificate, result.n_iter, result.status)


def _untouched(problem: KernelLearning) -> PartResult:
    """Return w = 0, and the gap there, of a part that was not begun."""
    dual = problem.dual(np.empty((0, 0)))
    zero = np.zeros_like(dual.linear)
    return _part_result(zero, dual.bound(zero, 0.0, zero), 0, Status.STOPPED)


def _part_result(w: Array, proof: Certificate, n_iter: int, status: Status) -> PartResult:
    return PartResult(w, proof.value, proof.gap, n_iter, status.name, intercept=proof.intercept)


def _orthogonal(factor: Array, floor: float) -> Array:
    """Return a factor of P = floor I + (1 - floor) Q with orthogonal columns; Q = factor factor'.

    With the singular value decomposition F = U S V', F F' = (U S)(U S)'. Without a floor there are
    as many columns as the rank of P, with one there are n_P.
    """
    if floor:
        factor = blended(factor, floor)
    left, singular, _ = np.linalg.svd(factor, full_matrices=False)
    kept = singular > (0.0 if floor else 1e-8 * singular[0])
    return np.asarray(left[:, kept] * singular[kept])
