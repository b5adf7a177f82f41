"""What DANK and KNPL share: a margin machine whose kernel is a base kernel times F."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from pliant._typing import Array
from pliant._validation import check_choice, check_integer, check_real, stack_level
from pliant.estimators._base import Task, WarmStart
from pliant.estimators._margin import MarginClassifier, MarginMachine, MarginRegressor
from pliant.kernels import EXTENSIONS, AdaptiveMatrix, HadamardKernel, Precomputed
from pliant.kernels.extension import GramNeighbors
from pliant.problems.hadamard import adapted_dual, automatic_eta
from pliant.problems.margin import Certificate, MarginDual, better_start
from pliant.solvers import Result, Status, project_box_hyperplane, sequential, smo

__all__ = ["HadamardClassifier", "HadamardMachine", "HadamardRegressor"]

FINITE = ("objective_", "objective_constant_", "objective_history_", "step_history_")
"""Fitted numbers that are never nan; gaps are, where there is no certificate."""


class HadamardMachine(MarginMachine):
    """A machine that adapts its kernel matrix entry by entry; a subclass says by which rule."""

    eta: float | str
    eta_scale: float
    extension: str
    n_neighbors: int

    @property
    @abstractmethod
    def _rule(self) -> dict[str, Any]:
        """What tells the rule, to the problem and to the learned kernel."""

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if isinstance(self.eta, str):
            check_choice("eta", self.eta, ("auto",))
        else:
            check_real("eta", self.eta, above=0, infinite=True)
        check_real("eta_scale", self.eta_scale, above=0)
        check_choice("extension", self.extension, EXTENSIONS)
        check_integer("n_neighbors", self.n_neighbors, least=1)

    def _learn(self, task: Task, start: WarmStart | None, callback: Callable[..., Any]) -> Array:
        if isinstance(task.kernel, Precomputed) and self.extension != "none":
            GramNeighbors(task.kernel, task.points)  # says now what prediction would say later
        plain = self._margin(task)(task.rows)
        if self.eta != "auto":
            result = self._adapt(task, plain, float(self.eta) * self.eta_scale, start, callback)
            return result.x
        first = self._checked(smo.solve(plain, _start(plain, start), **self._options(callback)))
        eta = automatic_eta(first.x) * self.eta_scale
        self._adapt(task, plain, eta, WarmStart(first.x), callback)
        self.n_iter_ += first.n_iter
        return first.x  # where the plain SVM of another C starts

    def _adapt(
        self,
        task: Task,
        plain: MarginDual,
        eta: float,
        start: WarmStart | None,
        callback: Callable[..., Any],
    ) -> Result[Certificate]:
        problem = adapted_dual(plain, eta, **self._rule)
        options = self._options(callback)
        if isinstance(problem, MarginDual):
            result, constant = smo.solve(problem, _start(problem, start), **options), 0.0
        else:
            beta = _start(problem.quartic, start)
            result = sequential.solve(problem, beta, inner=smo.solve, **options)
            constant = problem.constant
        self._store(task, self._checked(result), eta if result.x.any() else np.inf, constant)
        return result

    def _options(self, callback: Callable[..., Any]) -> dict[str, Any]:
        return {"tol": self.tol, "max_iter": self.max_iter, "callback": callback}

    def _checked(self, result: Result[Certificate]) -> Result[Certificate]:
        """Warn if a result is not what was asked for."""
        if result.status in (Status.MAX_ITER, Status.STALLED):
            asked = self.tol * (1.0 + abs(result.value))
            warnings.warn(
                f"{type(self).__name__} stopped after {result.n_iter} steps with a gap of "
                f"{result.gap:.3g}, where {asked:.3g} was asked for: {result.status.advice}",
                ConvergenceWarning,
                stacklevel=stack_level(),
            )
        return result

    def _store(self, task: Task, result: Result[Certificate], eta: float, constant: float) -> None:
        beta = result.x
        support = np.flatnonzero(beta)
        assert result.certificate is not None
        self.eta_ = eta
        self.kernel_ = HadamardKernel(
            task.kernel, task.points, beta, eta, self.extension, self.n_neighbors, **self._rule
        )
        self.support_ = task.members[support]
        self.support_vectors_ = task.points[support]
        self.dual_coef_ = task.scale * beta[support]
        self.intercept_ = task.centre + task.scale * result.certificate.intercept
        self.objective_constant_ = constant if np.isfinite(eta) else 0.0
        self.objective_ = result.value + self.objective_constant_
        self.dual_gap_ = result.gap
        self.n_iter_ = result.n_iter
        self.objective_history_ = result.objectives
        self.gap_history_ = result.gaps
        self.step_history_ = np.array([step.n_iter for step in result.history])

    @property
    def relative_gap_(self) -> float:
        """dual_gap_ as ``tol`` measures it: relative to 1 + abs(objective less its constant)."""
        change = self.objective_ - self.objective_constant_
        return float(self.dual_gap_ / (1.0 + abs(change)))

    def _check_loaded(self) -> None:
        super()._check_loaded()
        for machine in getattr(self, "estimators_", [self]):
            check_real("eta_", machine.eta_, above=0, infinite=True)
            np.asarray(machine.gap_history_, dtype=np.float64)  # numbers, nan among them
            for name in FINITE:
                values = np.asarray(getattr(machine, name), dtype=np.float64)
                if not np.isfinite(values).all():
                    raise ValueError(f"expected finite numbers in {name}, got {values!r}")

    @property
    def adaptation_(self) -> AdaptiveMatrix:
        """F on the training points (those of positive weight), never formed unless asked for."""
        kernel: HadamardKernel = self.kernel_
        return kernel.adaptation()


def _start(dual: MarginDual, start: WarmStart | None) -> Array:
    """Return a feasible start."""
    if start is None:
        return np.zeros_like(dual.linear)
    beta = better_start(dual, start.beta, start.growth)
    return project_box_hyperplane(beta, dual.lower, dual.upper)


class HadamardClassifier(HadamardMachine, MarginClassifier):
    """Classification, with one machine per pair of classes."""


class HadamardRegressor(HadamardMachine, MarginRegressor):
    """Epsilon-regression."""
