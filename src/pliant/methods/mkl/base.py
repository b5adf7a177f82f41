"""What the estimators of multiple kernel learning share: kernels, weights, and their SVMs."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, ClassVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from pliant.core.kernels.base import Kernel
from pliant.core.kernels.names import short_names
from pliant.core.kernels.weighted_sum import WeightedSum
from pliant.core.progress import Deadline, Result, Status
from pliant.core.summary import Convergence, KernelWeights, Summary
from pliant.core.typing import Array, Callback, Indices, Mask
from pliant.core.validation import (
    Constraint,
    check_flag,
    check_job_count,
    optional,
    real_number,
    stack_level,
)
from pliant.methods.mkl import newton
from pliant.methods.mkl.candidates import candidate_kernels, normalized_kernels
from pliant.methods.mkl.grams import Grams
from pliant.methods.mkl.problem import WeightLearning
from pliant.methods.mkl.rules import RULES
from pliant.methods.svm.estimators import BaseSVM
from pliant.methods.svm.task import Task, WarmStart

START_SAMPLES, START_TOL, MOST_STARTING = 500, 0.03, 30
"""Where not all Gram matrices are kept, weights are learned on this number of samples first, to
this relative gap and with this number of steps at most: steps on all samples cost minutes."""


@dataclass(frozen=True, eq=False)
class Candidates:
    """Kernels and their Gram matrices on the training samples of positive weight, `samples`."""

    kernels: list[Kernel]
    grams: Grams
    samples: Indices


class BaseMKL(BaseSVM):
    """A support vector machine with a weighted sum of kernels."""

    _constraints: ClassVar[Mapping[str, Constraint]] = {
        **BaseSVM._constraints,
        "norm": real_number(least=1),
        "center": check_flag,
        "normalize": check_flag,
        "cache_mb": real_number(above=0),
        "max_seconds": optional(real_number(above=0)),
        "n_jobs": check_job_count,
    }
    _drawings = frozenset({"gram", "weights"})
    _scalable = True
    """Whether multiples of feasible coefficients are feasible: `WeightLearning.scalable`."""

    _finite = (
        "weights_", "objective_", "lower_bound_", "dual_gap_", "objective_history_", "gap_history_",
    )  # fmt: skip

    kernels: Any
    weights: str
    norm: float
    center: bool
    normalize: bool
    shared_weights: bool
    cache_mb: float
    max_seconds: float | None
    n_jobs: int | None
    random_state: Any

    def _check_combinations(self) -> None:
        if self.norm != 1.0 and self.weights != "simple":
            raise ValueError(
                f"expected norm=1 with weights={self.weights!r}, as only 'simple' has another, got "
                f"{self.norm!r}"
            )

    def _common(self, X: Array, used: Mask) -> tuple[Kernel, Any, bool]:
        points = X[used]
        names = getattr(self, "feature_names_in_", None)
        given = candidate_kernels(self.kernels, points, names)
        kernels = normalized_kernels(given, points, bool(self.normalize))
        grams = Grams(kernels, points, float(self.cache_mb), self.n_jobs)
        equal = WeightedSum(kernels, np.full(len(kernels), 1.0 / len(kernels)))
        return equal, Candidates(kernels, grams, np.flatnonzero(used)), True

    def _complete(
        self, tasks: list[Task], starts: Sequence[WarmStart | None], callback: Callback
    ) -> list[Array]:
        watch = Deadline(callback, self.max_seconds)
        shared = len(tasks) == 1 or self.shared_weights
        groups = [tasks] if shared else [[task] for task in tasks]
        results = [self._learn_weights(group, watch) for group in groups]
        kernels = tasks[0].all_rows.kernels
        names = short_names(kernels, getattr(self, "feature_names_in_", None))
        self.kernels_, self.kernel_names_ = kernels, names
        self._warn_if_open(results, late=watch.expired)
        if shared:
            self._set_weights(results[0])
        if len(tasks) == 1:
            self._set_function(tasks[0], results[0], 0)
        else:
            fitted = [self._for_pair(pair) for pair in combinations(self.classes_, 2)]
            for t, (task, each) in enumerate(zip(tasks, fitted, strict=True)):
                result = results[0] if shared else results[t]
                each.kernels_, each.kernel_names_ = kernels, names
                each._set_weights(result)
                each._set_function(task, result, t if shared else 0)
            self.estimators_ = fitted
            self.n_iter_ = np.array([each.n_iter_ for each in fitted])
        return [solution for result in results for solution in _proof(result).solutions]

    def _learn_weights(self, tasks: list[Task], callback: Callback) -> Result[newton.Weights]:
        """Return the weights that some functions share, with the functions."""
        candidates: Candidates = tasks[0].all_rows
        problem = self._problem(candidates, tasks)
        tol, max_iter = float(self.tol), int(self.max_iter)
        if self.weights == "simple":
            start = self._start(candidates, tasks, callback)
            return newton.solve(problem, start, tol=tol, max_iter=max_iter, callback=callback)
        weights = RULES[self.weights](self, problem, tasks, callback)
        return newton.solve_at(problem, weights, tol=tol, callback=callback)

    def _problem(self, candidates: Candidates, tasks: list[Task]) -> WeightLearning:
        """Return the problem of the weights that some functions share."""
        places = [np.searchsorted(candidates.samples, task.members) for task in tasks]
        margins = [self._margin(task) for task in tasks]
        return WeightLearning(candidates.grams, places, margins, float(self.norm), self._scalable)

    def _start(self, candidates: Candidates, tasks: list[Task], callback: Callback) -> Array | None:
        """Return weights of some samples to start from, where not all Gram matrices are kept.

        The samples are spread evenly over those of each class; None if that makes no sense.
        """
        n = len(candidates.samples)
        if candidates.grams.whole or n < 2 * START_SAMPLES:
            return None
        step = n / START_SAMPLES
        parts = []
        for task in tasks:
            order = np.argsort(task.target, kind="stable")  # classes, or targets, one after another
            chosen = np.sort(order[np.arange(0.0, len(order), step).astype(np.intp)])
            part = task.subset(chosen)
            parts.append(replace(part, weights=part.weights * step))
        if any(len(np.unique(np.sign(part.target))) < 2 for part in parts):
            return None
        members = np.unique(np.concatenate([part.members for part in parts]))
        points = candidates.grams.points[np.searchsorted(candidates.samples, members)]
        grams = Grams(candidates.kernels, points, float(self.cache_mb), self.n_jobs)
        problem = self._problem(Candidates(candidates.kernels, grams, members), parts)
        result = newton.solve(problem, tol=START_TOL, max_iter=MOST_STARTING, callback=callback)
        return result.x

    def _set_weights(self, result: Result[newton.Weights]) -> None:
        """Set the attributes about the weights and the objective."""
        chosen = np.flatnonzero(result.x)
        self.weights_ = result.x
        self.kernel_ = WeightedSum([self.kernels_[m] for m in chosen], result.x[chosen])
        self.objective_ = float(result.value)
        self.lower_bound_ = float(_proof(result).lower)
        self.dual_gap_ = float(result.gap)
        self.n_iter_ = len(result.history)
        self.objective_history_ = result.objectives
        self.gap_history_ = result.gaps

    def _set_function(self, task: Task, result: Result[newton.Weights], t: int) -> None:
        """Set the coefficients of one function, in the user's units."""
        proof = _proof(result)
        b, intercept = proof.solutions[t], proof.intercepts[t]
        support = np.flatnonzero(b)
        self.support_ = task.members[support]
        self.support_vectors_ = task.points[support]
        with np.errstate(over="ignore", invalid="ignore"):
            self.dual_coef_ = task.scale * b[support]
            self.intercept_ = task.centre + task.scale * intercept

    def _learn(self, task: Task, start: WarmStart | None, callback: Callback) -> Array:
        return self._complete([task], [start], callback)[0]

    @property
    def relative_gap_(self) -> float:
        """dual_gap_ as ``tol`` measures it: relative to the objective."""
        return float(self.dual_gap_ / abs(self.objective_)) if self.dual_gap_ else 0.0

    def summary(self) -> Summary:
        """Return what the fitted estimator has learned.

        Returns
        -------
        Summary
            With ``weights``, and one function for two classes or a regression, one for each pair
            of more classes. The detail ``kernels`` is the number of kernels with weight, and
            ``mean_objective`` marks objectives and gaps that are those of the mean over pairs.
            The convergence counts the weights that were tried.
        """
        summary = super().summary()
        shared = "kernel_" in vars(self)
        sets = [self] if shared else self.estimators_
        weights = KernelWeights(self.kernels_, np.array([each.weights_ for each in sets]))
        functions = summary.functions
        if shared and len(functions) > 1:
            mean = {"mean_objective": True}
            functions = tuple(replace(f, details={**f.details, **mean}) for f in functions)
        kernel = self.kernel_ if shared else None
        return replace(summary, functions=functions, kernel=kernel, weights=weights)

    def _details(self) -> Mapping[str, Any]:
        return {"kernels": int(np.count_nonzero(self.weights_))}

    def _convergence(self) -> Convergence:
        gaps, objectives = self.gap_history_, np.abs(self.objective_history_)
        relative = np.divide(gaps, objectives, out=np.zeros_like(gaps), where=gaps != 0)
        return Convergence(
            np.arange(1.0, len(gaps) + 1), relative, float(self.tol),
            unit="weights tried", scale="|objective|",
        )  # fmt: skip

    def _warn_if_open(self, results: list[Result[newton.Weights]], *, late: bool) -> None:
        """Warn of the largest gap, if it is larger than was asked for."""
        worst = max(results, key=lambda each: each.gap / abs(each.value) if each.gap else 0.0)
        stopped = worst.status is Status.STOPPED and not late
        if worst.gap <= self.tol * abs(worst.value) or stopped:
            return
        advice = worst.status.advice
        if _proof(worst).exhausted:
            advice = "SVMs reached their largest number of steps; raise tol, or lower C"
        if late:
            advice = f"max_seconds = {self.max_seconds} came first"
        warnings.warn(
            f"{type(self).__name__} stopped after {len(worst.history)} weights with a relative gap "
            f"of {worst.gap / abs(worst.value):.3g}, where tol = {self.tol:g} was asked for: "
            f"{advice}",
            ConvergenceWarning,
            stacklevel=stack_level(),
        )

    def _check_loaded(self) -> None:
        super()._check_loaded()
        _check_kernels(self.kernels_, self.kernel_names_)
        for fitted in [self, *getattr(self, "estimators_", [])]:
            if fitted.kernel_names_ != self.kernel_names_:
                raise ValueError("expected the same kernels for all pairs of classes")
            if "kernel_" in vars(fitted):  # else the weights are those of the pairs of classes
                _check_sum(fitted.kernel_, fitted.weights_, len(self.kernels_))
        for fitted in getattr(self, "estimators_", [self]):
            fitted.kernel_(fitted.support_vectors_[:1])


def _check_kernels(kernels: Any, names: Any) -> None:
    """Raise ValueError unless these, from a file, are kernels and their names."""
    if not isinstance(kernels, list) or not all(isinstance(each, Kernel) for each in kernels):
        raise ValueError(f"expected kernels_ to be a list of kernels, got {kernels!r:.200}")
    if not isinstance(names, list) or not all(isinstance(each, str) for each in names):
        raise ValueError(f"expected kernel_names_ to be a list of texts, got {names!r:.200}")
    if len(kernels) != len(names):
        raise ValueError(f"expected a name for each of {len(kernels)} kernels, got {len(names)}")


def _check_sum(kernel: Any, weights: Any, count: int) -> None:
    """Raise ValueError unless a kernel, from a file, is a sum with the weights of `count` ones."""
    if np.shape(weights) != (count,):
        raise ValueError(
            f"expected a weight for each of {count} kernels, got the shape {np.shape(weights)}"
        )
    if not isinstance(kernel, WeightedSum):
        raise ValueError(f"expected a weighted sum, got {type(kernel).__name__}")
    if not np.array_equal(kernel.weights, weights[np.flatnonzero(weights)]):
        raise ValueError("expected kernel_ to have the weights in weights_ that are not zero")


def _proof(result: Result[newton.Weights]) -> newton.Weights:
    assert result.certificate is not None
    return result.certificate
