"""What DANK and KNPL share: a margin machine whose kernel is a base kernel times F."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from pliant.core.kernels.base import FunctionKernel, Kernel
from pliant.core.kernels.extension import GramNeighbors
from pliant.core.kernels.precomputed import Precomputed
from pliant.core.progress import Deadline, Result, Status
from pliant.core.typing import Array, Mask
from pliant.core.validation import check_choice, check_integer, check_real, stack_level
from pliant.methods.hadamard import sequential
from pliant.methods.hadamard.adaptive_matrix import AdaptiveMatrix
from pliant.methods.hadamard.gram_rows import PRECISIONS, SAMPLE, gram_rows
from pliant.methods.hadamard.kernel import EXTENSIONS, HadamardKernel
from pliant.methods.hadamard.problem import adapted_dual, automatic_eta
from pliant.methods.svm import smo
from pliant.methods.svm.dual import Certificate, MarginDual, best_multiple, better_start
from pliant.methods.svm.estimators import BaseSVM, SVMClassifier, SVMRegressor, Task, WarmStart
from pliant.methods.svm.rows import DenseRows, Rows
from pliant.methods.svm.smo.steps import project_box_hyperplane

__all__ = ["HadamardClassifier", "HadamardMachine", "HadamardRegressor"]

DENSE_ROWS = 4000
"""Up to so many rows a Gram matrix is always kept whole, if it fits; of more, two-coordinate
ascent reads too few rows to make all of them worth while."""

FINITE = ("objective_", "objective_constant_", "objective_history_", "step_history_")
"""Fitted numbers that are never nan; gaps are, where there is no certificate."""

Ascend: TypeAlias = Callable[[MarginDual, WarmStart | None, str], Result[Certificate]]
"""Solves a margin dual from a start; the word says which one, "plain" or "adapted"."""


class HadamardMachine(BaseSVM):
    """A machine that adapts its kernel matrix entry by entry; a subclass says by which rule."""

    eta: float | str
    eta_scale: float
    extension: str
    n_neighbors: int
    cache_mb: float
    dtype: str
    max_seconds: float | None

    @abstractmethod
    def _rule(self, task: Task) -> dict[str, Any]:
        """Return what tells the rule, to the problem and to the learned kernel."""

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if isinstance(self.eta, str):
            check_choice("eta", self.eta, ("auto",))
        else:
            check_real("eta", self.eta, above=0, infinite=True)
        check_real("eta_scale", self.eta_scale, above=0)
        check_choice("extension", self.extension, EXTENSIONS)
        check_integer("n_neighbors", self.n_neighbors, least=1)
        check_real("cache_mb", self.cache_mb, above=0)
        check_choice("dtype", self.dtype, PRECISIONS)
        if self.max_seconds is not None:
            check_real("max_seconds", self.max_seconds, above=0)

    def _common(self, X: Array, used: Mask) -> tuple[Kernel, DenseRows | None, bool]:
        kernel = self._base_kernel(X)
        if isinstance(kernel, Precomputed) or self._keeps_whole(len(X)):
            gram, psd = self._gram(kernel, X)
            return kernel, DenseRows(gram, None if self.dtype == "auto" else self.dtype), psd
        if not isinstance(kernel, FunctionKernel):
            return kernel, None, True
        some = np.unique(np.linspace(0, len(X) - 1, SAMPLE).astype(np.intp))
        try:
            return kernel, None, self._gram(kernel, X[some])[1]
        except ValueError as error:
            rows = f"tested on {len(some)} rows spread evenly over X"
            raise ValueError(f"{error} ({rows})") from None

    def _keeps_whole(self, n: int) -> bool:
        """Whether the Gram matrix of n points is kept."""
        return self._fits(n) and (n <= DENSE_ROWS or self._reads_all)

    def _fits(self, n: int) -> bool:
        return 8.0 * n**2 <= self.cache_mb * 2.0**20

    @property
    def _reads_all(self) -> bool:
        """Whether the rule reads rows again and again, so that they should be kept."""
        return True

    def _rows(self, task: Task) -> Rows:
        """Return the Gram matrix of a task, whole or by rows on demand."""
        if task.all_rows is not None:
            return task.rows
        whole = DENSE_ROWS if self._fits(len(task.points)) else 0
        return gram_rows(
            task.kernel, task.points, cache_mb=self.cache_mb, dtype=self.dtype, whole=whole
        )

    def _complete(
        self,
        tasks: list[Task],
        starts: Sequence[WarmStart | None],
        callback: Callable[..., Any],
    ) -> list[Array]:
        return super()._complete(tasks, starts, Deadline(callback, self.max_seconds))

    def _learn(self, task: Task, start: WarmStart | None, callback: Callable[..., Any]) -> Array:
        if isinstance(task.kernel, Precomputed) and self.extension != "none":
            GramNeighbors(task.kernel, task.points)  # says now what prediction would say later
        return self._learn_exactly(
            task, start, callback, lambda dual, start, _: self._ascend(dual, start, callback)
        )

    def _learn_exactly(
        self, task: Task, start: WarmStart | None, callback: Callable[..., Any], ascend: Ascend
    ) -> Array:
        """Learn from all points together; return what a path may start from."""
        plain = self._margin(task)(self._rows(task))
        if self.eta != "auto":
            eta = float(self.eta) * self.eta_scale
            return self._adapt(task, plain, eta, start, callback, ascend).x
        first = ascend(plain, start, "plain")
        if first.status is Status.STOPPED:
            self._store(task, first, np.inf, 0.0)
            return first.x
        eta = automatic_eta(first.x) * self.eta_scale
        self._adapt(task, plain, eta, WarmStart(first.x), callback, ascend)
        self.n_iter_ += first.n_iter
        return first.x  # where the plain SVM of another C starts

    def _adapt(
        self,
        task: Task,
        plain: MarginDual,
        eta: float,
        start: WarmStart | None,
        callback: Callable[..., Any],
        ascend: Ascend,
    ) -> Result[Certificate]:
        problem = adapted_dual(plain, eta, **self._rule(task))
        if isinstance(problem, MarginDual):
            result, constant = ascend(problem, start, "adapted"), 0.0
        else:
            beta = _start(problem.quartic, start)[0]
            options = self._options(callback)
            result = sequential.solve(problem, beta, inner=smo.solve, **options)
            result, constant = self._checked(result, callback), problem.constant
        self._store(task, result, eta, constant)
        return result

    def _ascend(
        self,
        dual: MarginDual,
        start: WarmStart | None,
        callback: Callable[..., Any],
        keep: Callable[[Array], object] | None = None,
    ) -> Result[Certificate]:
        """Solve a margin dual by two-coordinate ascent."""
        beta, fields = _start(dual, start)
        options = self._options(callback)
        return self._checked(smo.solve(dual, beta, fields=fields, keep=keep, **options), callback)

    def _options(self, callback: Callable[..., Any]) -> dict[str, Any]:
        return {"tol": self.tol, "max_iter": self.max_iter, "callback": callback}

    def _checked(
        self, result: Result[Certificate], callback: Callable[..., Any]
    ) -> Result[Certificate]:
        """Warn if a result is not what was asked for."""
        late = result.status is Status.STOPPED and getattr(callback, "expired", False)
        if late or result.status in (Status.MAX_ITER, Status.STALLED):
            asked = self.tol * (1.0 + abs(result.value))
            advice = f"max_seconds = {self.max_seconds} came first" if late else None
            warnings.warn(
                f"{type(self).__name__} stopped after {result.n_iter} steps with a gap of "
                f"{result.gap:.3g}, where {asked:.3g} was asked for: "
                f"{advice or result.status.advice}",
                ConvergenceWarning,
                stacklevel=stack_level(),
            )
        return result

    def _store(self, task: Task, result: Result[Certificate], eta: float, constant: float) -> None:
        assert result.certificate is not None
        eta = eta if result.x.any() else np.inf
        kernel = HadamardKernel(
            task.kernel, task.points, result.x, eta, self.extension, self.n_neighbors,
            **self._rule(task),
        )  # fmt: skip
        self._keep(task, kernel, result.certificate.intercept)
        self.objective_constant_ = constant if np.isfinite(eta) else 0.0
        self.objective_ = result.value + self.objective_constant_
        self.dual_gap_ = result.gap
        self.n_iter_ = result.n_iter
        self.objective_history_ = result.objectives
        self.gap_history_ = result.gaps
        self.step_history_ = np.array([step.n_iter for step in result.history])

    def _keep(self, task: Task, kernel: Any, intercept: float) -> None:
        """Keep a learned kernel with its coefficients, in the user's units."""
        support = np.flatnonzero(kernel.beta)
        self.eta_ = kernel.eta
        self.kernel_ = kernel
        self.support_ = task.members[support]
        self.support_vectors_ = task.points[support]
        self.dual_coef_ = task.scale * kernel.beta[support]
        self.intercept_ = task.centre + task.scale * intercept

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
        return self.kernel_.adaptation()


def _start(dual: MarginDual, start: WarmStart | None) -> tuple[Array, tuple[Array, Array] | None]:
    """Return a feasible start, and its fields if they are known."""
    if start is None:
        return np.zeros_like(dual.linear), None
    if start.growth == 1.0:
        beta = project_box_hyperplane(start.beta, dual.lower, dual.upper)
        return best_multiple(dual, beta)
    beta = better_start(dual, start.beta, start.growth)
    return project_box_hyperplane(beta, dual.lower, dual.upper), None


class HadamardClassifier(HadamardMachine, SVMClassifier):
    """Classification, with one machine per pair of classes."""


class HadamardRegressor(HadamardMachine, SVMRegressor):
    """Epsilon-regression."""
