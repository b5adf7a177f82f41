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

from pliant._typing import Array, Indices, Mask
from pliant._validation import check_choice, check_integer, check_points, check_real, stack_level
from pliant.estimators._base import Task, WarmStart
from pliant.estimators._margin import MarginMachine
from pliant.kernels import GeneralizedKernel, Kernel, Rescaled
from pliant.problems.generalized import KernelLearning
from pliant.rows import DenseRows
from pliant.solvers import (
    Result,
    Saddle,
    Status,
    fixed_shape,
    frank_wolfe,
    hybrid,
    low_rank,
    primal_dual,
)

__all__ = ["SOLVERS", "GeneralizedMachine"]

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

COARSE = 1e-2
"""The relative gap to which a start is learned."""


class GeneralizedMachine(MarginMachine):
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

    def _common(self, X: Array, used: Mask) -> tuple[Kernel, DenseRows | None, bool]:
        family = self._family(X[used])
        size = _unscaled(family).shape_size(X.shape[1])
        if size > LARGEST_SHAPE:
            raise ValueError(
                f"expected n_P <= {LARGEST_SHAPE}, got n_P = {size} for {X.shape[1]} features: P "
                f"would take {8e-9 * size**2:.3g} GB; lower the degree, or choose features"
            )
        return family, None, True

    def _learn(self, task: Task, start: WarmStart | None, callback: Callable[..., Any]) -> Array:
        problem = self._problem(task)
        if self.subsample is None and problem.fits:
            result = self._on_all(task, problem, callback)
        else:
            result = self._on_some(task, problem, callback)
        self._store(task, result)
        assert result.certificate is not None
        return result.certificate.w

    def _problem(self, task: Task) -> KernelLearning:
        kernel, points = task.kernel, task.points
        if isinstance(kernel, Rescaled):
            points = kernel.rescale(points)
        return KernelLearning(
            _unscaled(kernel), points, self._margin(task), np.dtype(self.dtype), self.cache_mb
        )

    def _on_all(self, task: Task, problem: KernelLearning, callback: Any) -> Result[Saddle]:
        """Learn P on all rows; where they are many, start from what some of them tell."""
        start, before = None, 0
        if self.solver == "lowrank" and len(task.target) > MANY:
            first = self._run(self._problem(self._part(task, FEW)), callback, tol=COARSE)
            start, before = first.x, first.n_iter
        result = self._run(problem, callback, start=start, tol=float(self.tol))
        self._warn_if_open(result, "")
        return replace(result, n_iter=result.n_iter + before)

    def _on_some(self, task: Task, problem: KernelLearning, callback: Any) -> Result[Saddle]:
        """Learn P on some rows, then solve one machine on all, with the certificate of all."""
        count = SUBSET if self.subsample is None else self.subsample
        part = self._part(task, count)
        first = self._run(self._problem(part), callback, tol=float(self.tol))
        result = fixed_shape.solve(problem, first.x, tol=float(self.tol), callback=callback)
        self._warn_if_open(
            result,
            f"P was learned on {len(part.target)} of {len(task.target)} rows: raise subsample, or "
            "cache_mb so that the Gram matrix of all fits; ",
        )
        return replace(result, n_iter=result.n_iter + first.n_iter)

    def _run(self, problem: KernelLearning, callback: Any, **options: Any) -> Result[Saddle]:
        if self.solver == "lowrank":
            options["prox"] = self.prox
        if self.max_iter >= 0:
            options["max_iter"] = self.max_iter
        return SOLVERS[self.solver](problem, callback=callback, **options)

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
        warnings.warn(
            f"{type(self).__name__} stopped after {result.n_iter} support vector machines with a "
            f"relative gap of {relative:.3g}, where tol = {self.tol:g} was asked for: "
            f"{advice}{result.status.advice}",
            ConvergenceWarning,
            stacklevel=stack_level(),
        )

    def _store(self, task: Task, result: Result[Saddle]) -> None:
        proof = result.certificate
        assert proof is not None
        support = np.flatnonzero(proof.w)
        factor = _trimmed(result.x)
        learned = _unscaled(task.kernel).with_factor(factor)
        if isinstance(task.kernel, Rescaled):
            self.kernel_: Kernel = Rescaled(learned, task.kernel.offset, task.kernel.width)
        else:
            self.kernel_ = learned
        self.shape_factor_ = factor
        self.rank_ = factor.shape[1]
        self.support_ = task.members[support]
        self.support_vectors_ = task.points[support]
        self.dual_coef_ = task.scale * proof.w[support]
        self.intercept_ = task.centre + task.scale * proof.intercept
        self.objective_ = proof.upper
        self.lower_bound_ = proof.lower
        self.dual_gap_ = proof.gap
        self.n_svm_solves_ = self.n_iter_ = result.n_iter
        self.objective_history_ = result.objectives
        self.gap_history_ = result.gaps

    @property
    def shape_matrix_(self) -> Array:
        """P, shape (n_P, n_P), of trace n_P."""
        factor: Array = self.shape_factor_
        return factor @ factor.T

    @property
    def relative_gap_(self) -> float:
        """dual_gap_ as ``tol`` measures it: relative to the objective."""
        return float(self.dual_gap_ / abs(self.objective_)) if self.dual_gap_ else 0.0

    def _check_loaded(self) -> None:
        super()._check_loaded()
        for machine in getattr(self, "estimators_", [self]):
            check_points(machine.shape_factor_, "shape_factor_")
            for name in ("objective_", "lower_bound_", "objective_history_", "gap_history_"):
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


def _unscaled(kernel: Kernel) -> GeneralizedKernel:
    """Return the kernel whose P is learned, without the scaling of features."""
    inner = kernel.kernel if isinstance(kernel, Rescaled) else kernel
    assert isinstance(inner, GeneralizedKernel)
    return inner


def _trimmed(factor: Array) -> Array:
    """Return a factor of the same P with as many orthogonal columns as P has rank."""
    left, singular, _ = np.linalg.svd(factor, full_matrices=False)
    kept = singular > 1e-8 * singular[0]
    return np.asarray(left[:, kept] * singular[kept])
