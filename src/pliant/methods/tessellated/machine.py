"""What the learners of generalised kernels share: a machine that learns the P of its kernel."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from pliant.core.kernels.base import Kernel, Rescaled
from pliant.core.progress import Progress, Result, Status
from pliant.core.typing import Array, Indices, Mask
from pliant.core.validation import (
    check_choice,
    check_integer,
    check_points,
    check_real,
    stack_level,
)
from pliant.methods.svm.estimators import BaseSVM, Task, WarmStart
from pliant.methods.svm.rows import DenseRows
from pliant.methods.tessellated.generalized_kernel import GeneralizedKernel
from pliant.methods.tessellated.problem import KernelLearning
from pliant.methods.tessellated.solvers import (
    fixed_shape,
    frank_wolfe,
    hybrid,
    low_rank,
    primal_dual,
)
from pliant.methods.tessellated.solvers.saddle import Saddle

__all__ = ["SOLVERS", "GeneralizedMachine", "unscaled"]

SOLVERS: dict[str, Callable[..., Result[Saddle]]] = {
    "lowrank": low_rank.solve,
    "frank-wolfe": frank_wolfe.solve,
    "apd": primal_dual.solve,
    "hybrid": hybrid.solve,
}

LARGEST_SHAPE = 10_000
"""The largest n_P: P and D(w) then take .8 GB each."""

MANY, FEW = 2000, 1000
"""With more than MANY rows, "lowrank" starts from what FEW of them tell."""

SUBSET = 2000
"""Rows on which P is learned where the Gram matrix of all does not fit."""

FINITE = ("objective_", "lower_bound_", "dual_gap_", "objective_history_", "gap_history_")
"""Fitted numbers."""

COARSE = 1e-2
"""The relative gap to which a start is learned."""


class GeneralizedMachine(BaseSVM):
    """A support vector machine that learns the matrix P of its kernel."""

    solver: str
    prox: float | str
    subsample: int | None
    cache_mb: float
    dtype: str
    random_state: Any

    @abstractmethod
    def _family(self, X: Array) -> Kernel:
        """Return the kernel whose P is to be learned, for points like the rows of X."""

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_choice("solver", self.solver, SOLVERS)
        check_choice("dtype", self.dtype, ("float32", "float64"))
        check_real("cache_mb", self.cache_mb, above=0)
        if isinstance(self.prox, str):
            check_choice("prox", self.prox, ("auto",))
        else:
            check_real("prox", self.prox, least=0)
        if self.subsample is not None:
            check_integer("subsample", self.subsample, least=2)
        try:
            check_random_state(self.random_state)
        except ValueError:
            raise ValueError(
                f"expected random_state to be a seed, a RandomState or None, got "
                f"{self.random_state!r}"
            ) from None

    def _common(self, X: Array, used: Mask) -> tuple[Kernel, DenseRows | None, bool]:
        family = self._family(X[used])
        size = unscaled(family).shape_size_on(X[:1])
        if size > LARGEST_SHAPE:
            raise ValueError(
                f"expected n_P <= {LARGEST_SHAPE}, got n_P = {size} for {X.shape[1]} features: P "
                f"would take {8e-9 * size**2:.3g} GB; lower the degree, or choose features"
            )
        return family, None, True

    def _learn(self, task: Task, start: WarmStart | None, callback: Callable[..., Any]) -> Array:
        problem = self._problem(task)
        count = self.subsample or (len(task.target) if problem.fits else SUBSET)
        if count >= len(task.target):
            result = self._on_all(task, problem, callback)
        else:
            result = self._on_some(task, problem, count, callback)
        self._store(task, result)
        assert result.certificate is not None
        return result.certificate.w

    def _problem(self, task: Task) -> KernelLearning:
        kernel, points = task.kernel, task.points
        if isinstance(kernel, Rescaled):
            points = kernel.rescale(points)
        return KernelLearning(
            unscaled(kernel), points, self._margin(task), np.dtype(self.dtype), self.cache_mb
        )

    def _on_all(self, task: Task, problem: KernelLearning, callback: Any) -> Result[Saddle]:
        """Learn P on all rows; where they are many, start from what some of them tell."""
        start, before, tol = None, 0, float(self.tol)
        if self.solver == "lowrank" and len(task.target) > MANY:
            part = self._problem(self._part(task, FEW))
            first = self._run(part, callback, tol=max(COARSE, tol))
            start, before = first.x, first.n_iter
        result = self._run(problem, callback, start=start, tol=tol)
        result = _exact(problem, replace(result, n_iter=result.n_iter + before), tol)
        self._warn_if_open(result, result.status.advice)
        return result

    def _on_some(
        self, task: Task, problem: KernelLearning, count: int, callback: Any
    ) -> Result[Saddle]:
        """Learn P on some rows, then solve machines on all, with the certificate of all."""
        part = self._part(task, count)
        tol = float(self.tol)
        first = self._run(self._problem(part), callback, tol=tol)
        result = fixed_shape.solve(problem, first.x, tol=tol, callback=callback)
        result = _exact(problem, replace(result, n_iter=result.n_iter + first.n_iter), tol)
        advice = "" if first.status is Status.CONVERGED else f" ({first.status.advice})"
        self._warn_if_open(
            result,
            f"P was learned on {len(part.target)} of {len(task.target)} rows{advice}; raise "
            "subsample, or cache_mb so that the Gram matrix of all rows fits",
        )
        return result

    def _run(self, problem: KernelLearning, callback: Any, **options: Any) -> Result[Saddle]:
        if self.solver == "lowrank":
            options["prox"] = self.prox
        return SOLVERS[self.solver](problem, max_iter=self.max_iter, callback=callback, **options)

    def _part(self, task: Task, count: int) -> Task:
        """Return the task on `count` random rows, weighted so that they stand for all."""
        m = len(task.target)
        if count >= m:
            return task
        chosen = _draw(task.target, count, check_random_state(self.random_state))
        weights = task.weights[chosen] * (m / len(chosen))
        return replace(
            task, points=task.points[chosen], members=task.members[chosen],
            target=task.target[chosen], weights=weights,
        )  # fmt: skip

    def _warn_if_open(self, result: Result[Saddle], advice: str) -> None:
        if result.gap <= self.tol * abs(result.value) or result.status is Status.STOPPED:
            return
        relative = result.gap / abs(result.value)
        if result.status is Status.ROUNDED:
            advice = result.status.advice
        warnings.warn(
            f"{type(self).__name__} stopped after {result.n_iter} support vector machines with a "
            f"relative gap of {relative:.3g}, where tol = {self.tol:g} was asked for: "
            f"{advice}",
            ConvergenceWarning,
            stacklevel=stack_level(),
        )

    def _store(self, task: Task, result: Result[Saddle]) -> None:
        proof = result.certificate
        assert proof is not None
        support = np.flatnonzero(proof.w)
        factor = _trimmed(result.x)
        learned = unscaled(task.kernel).with_factor(factor)
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
        """Support vector machines solved; an array, one number per pair, for many classes."""
        return self.n_iter_

    @property
    def relative_gap_(self) -> float:
        """dual_gap_ as ``tol`` measures it: relative to the objective."""
        return float(self.dual_gap_ / abs(self.objective_)) if self.dual_gap_ else 0.0

    def _check_loaded(self) -> None:
        super()._check_loaded()
        for machine in getattr(self, "estimators_", [self]):
            kernel, vectors = machine.kernel_, machine.support_vectors_
            if not isinstance(kernel, GeneralizedKernel | Rescaled):
                raise ValueError(f"expected a generalised kernel, got {type(kernel).__name__}")
            if len(check_points(machine.shape_factor_, "shape_factor_")) > LARGEST_SHAPE:
                raise ValueError(f"expected n_P <= {LARGEST_SHAPE}")
            kernel(vectors[:1])  # says what does not belong together
            for name in FINITE:
                values = np.asarray(getattr(machine, name), dtype=np.float64)
                if not np.isfinite(values).all():
                    raise ValueError(f"expected finite numbers in {name}, got {values!r}")


def _draw(target: Array, count: int, random: Any) -> Indices:
    """Return about `count` row numbers, rising; with two classes, some of each in proportion."""
    signs = np.unique(target)
    groups = [np.flatnonzero(target == sign) for sign in signs]
    if len(signs) != 2:
        groups = [np.arange(len(target))]
    sizes = [max(1, round(count * len(group) / len(target))) for group in groups]
    drawn = [
        random.choice(group, size, replace=False) for group, size in zip(groups, sizes, strict=True)
    ]
    return np.sort(np.concatenate(drawn))


def _exact(problem: KernelLearning, result: Result[Saddle], tol: float) -> Result[Saddle]:
    """Return a result whose upper bound is that of the kernel, where its Gram was rounded."""
    proof = result.certificate
    assert proof is not None
    if problem.dtype == np.float64:
        return result
    bound = problem.bound(proof.w, problem.product(result.x, proof.w))
    proof = replace(proof, upper=bound.value + bound.gap, intercept=bound.intercept)
    open_still = result.status is Status.CONVERGED and proof.gap > tol * abs(proof.upper)
    return replace(
        result,
        value=proof.upper,
        gap=proof.gap,
        certificate=proof,
        status=Status.ROUNDED if open_still else result.status,
        history=[*result.history, Progress(result.n_iter, proof.upper, proof.gap)],
    )


def unscaled(kernel: Kernel) -> GeneralizedKernel:
    """Return the kernel whose P is learned, without the scaling of features."""
    inner = kernel.kernel if isinstance(kernel, Rescaled) else kernel
    if not isinstance(inner, GeneralizedKernel):
        raise ValueError(f"expected a generalised kernel, got {type(inner).__name__}")
    return inner


def _trimmed(factor: Array) -> Array:
    """Return a factor of the same P with as many orthogonal columns as P has rank."""
    left, singular, _ = np.linalg.svd(factor, full_matrices=False)
    kept = singular > 1e-8 * singular[0]
    return np.asarray(left[:, kept] * singular[kept])
