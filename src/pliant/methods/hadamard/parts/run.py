"""One run of learning part by part: divide the rows, solve the parts, put them together, refine."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from pliant.core.progress import Deadline, Result, Status
from pliant.core.typing import Array
from pliant.core.validation import stack_level
from pliant.methods.hadamard.gram_rows import gram_rows
from pliant.methods.hadamard.partitioned_kernel import PartitionedKernel
from pliant.methods.hadamard.parts import (
    AUTO_SIZE,
    Partition,
    PartResult,
    kmeans_partition,
    run_parts,
)
from pliant.methods.hadamard.parts.checkpoint import Keeper, open_store
from pliant.methods.hadamard.parts.part import (
    SMALL_PART,
    PartOptions,
    PartTasks,
    solve_part,
    some_of,
)
from pliant.methods.hadamard.problem import automatic_eta
from pliant.methods.svm import smo
from pliant.methods.svm.dual import Certificate, MarginDual
from pliant.methods.svm.estimators import Task, WarmStart

__all__ = ["PartedLearning"]

COARSE = 1e-3
"""The relative gap to which the problem on the support points of the parts is solved at first."""


class PartedLearning:
    """One run: the partition, where results are kept, and what has been learned so far."""

    def __init__(self, machine: Any, task: Task, callback: Callable[..., Any]) -> None:
        self.machine = machine
        self.task = task
        self.callback = callback
        self.store = open_store(machine, task)
        self.division = self._divide()
        self.steps = 0

    def run(self) -> Array:
        """Learn; leave the fitted attributes; return the coefficients of all points."""
        machine, start = self.machine, np.zeros(len(self.task.target))
        scale = machine.eta_scale
        eta = np.inf if machine.eta == "auto" else float(machine.eta) * scale
        beta, results = self._solve("plain" if machine.eta == "auto" else "adapted", eta, start)
        if machine.refine:
            beta = self._refine(beta)
        elif machine.eta == "auto" and not self.callback(None):
            eta = automatic_eta(beta) * scale
            self.steps = _steps(results)
            beta, results = self._solve("adapted", eta, beta)
            self._put_together(beta, eta, results)
        else:
            self._put_together(beta, eta, results)
        machine.part_labels_ = self.division.labels
        machine.part_centres_ = self.division.centres
        machine.part_gaps_ = np.array([result.gap for result in results])
        machine.part_seconds_ = np.array([result.seconds for result in results])
        return beta

    def _solve(self, stage: str, eta: float, start: Array) -> tuple[Array, list[PartResult]]:
        """Solve all parts; return the coefficients of all points, and the results."""
        machine, callback = self.machine, self.callback
        ends = callback.ends if isinstance(callback, Deadline) else None
        options = PartOptions(machine.tol, machine.max_iter, ends, machine.cache_mb, machine.dtype)
        parts = PartTasks(
            self.task, self.division, machine._margin, 1.0 / (4.0 * eta), start, options
        )
        found = run_parts(
            solve_part,
            parts,
            sizes=self.division.sizes.tolist(),
            n_jobs=machine.n_jobs,
            store=self.store,
            stage=stage,
            report=lambda _done, _total: callback(None),
        )
        results = [
            parts.untouched(number) if result is None else result
            for number, result in enumerate(found)
        ]
        beta = np.zeros(len(self.task.target))
        for number, result in enumerate(results):
            beta[self.division.members(number)] = result.beta
        return beta, results

    def _refine(self, beta: Array) -> Array:
        """Solve the exact problem from the coefficients of the parts; return what a path needs."""
        machine = self.machine
        plain: Array = machine._learn_exactly(
            self.task, WarmStart(beta), self.callback, self._ascend
        )
        machine.n_iter_ += self.steps
        return plain

    def _ascend(self, dual: MarginDual, start: WarmStart, stage: str) -> Result[Certificate]:
        """Solve a dual from where an earlier run kept it, or from what the parts say."""
        beta, name = start.beta, f"refined-{stage}"
        state = None if self.store is None else self.store.load_state(name, {"beta": beta.shape})
        if state is not None:
            beta = state["beta"]
        elif stage == "plain" or self.machine.eta != "auto":
            beta = self._on_support(beta, dual.quartic)
        with Keeper(self.store, name) as keep:
            found: Result[Certificate] = self.machine._ascend(
                dual, WarmStart(beta), self.callback, keep
            )
        return found

    def _on_support(self, beta: Array, quartic: float) -> Array:
        """Return a rough solution of the exact problem on the support points of the parts.

        Where parts overlap, their coefficients together go far beyond the solution, but few other
        points become support points (Hsieh, Si and Dhillon 2014, who divide support vector
        machines, refine in the same way).
        """
        machine, support = self.machine, np.flatnonzero(beta)
        if not support.size:
            return beta
        some = some_of(self.task, support)
        margin = machine._margin(some)
        rows = gram_rows(
            some.kernel, some.points, cache_mb=machine.cache_mb, dtype=machine.dtype,
            whole=SMALL_PART,
        )  # fmt: skip
        result = smo.solve(
            margin(rows).with_quartic(quartic),
            tol=max(machine.tol, COARSE),
            max_iter=machine.max_iter,
            callback=self.callback,
        )
        self.steps += result.n_iter
        if result.status is Status.STOPPED:  # then what the parts say is better
            return beta
        rough = np.zeros_like(beta)
        rough[support] = result.x
        return rough

    def _put_together(self, beta: Array, eta: float, results: list[PartResult]) -> None:
        """Leave the machine of all parts, without an intercept."""
        machine, task = self.machine, self.task
        gap = math.fsum(result.gap for result in results)
        self._warn_if_open(results, gap)
        kernel = PartitionedKernel(
            task.kernel,
            task.points,
            beta,
            self.division.labels,
            self.division.centres,
            eta if beta.any() else np.inf,
            machine.extension,
            machine.n_neighbors,
            "one" if machine.prediction == "whole" else "zero",
        )
        machine._keep(task, kernel, 0.0)
        machine.objective_constant_ = 0.0
        machine.objective_ = math.fsum(result.value for result in results)
        machine.dual_gap_ = gap
        machine.n_iter_ = self.steps + _steps(results)
        machine.objective_history_ = np.array([machine.objective_])
        machine.gap_history_ = np.array([machine.dual_gap_])
        machine.step_history_ = np.array([_steps(results)])

    def _warn_if_open(self, results: list[PartResult], gap: float) -> None:
        fine = (Status.CONVERGED.name, Status.UNCERTIFIED.name)
        late = getattr(self.callback, "expired", False)
        opened = [
            result.status
            for result in results
            if result.status not in fine and (late or result.status != Status.STOPPED.name)
        ]
        if not opened:
            return
        machine = self.machine
        advice = f"max_seconds = {machine.max_seconds} came first"
        if opened[0] != Status.STOPPED.name:
            advice = Status[opened[0]].advice
        warnings.warn(
            f"{type(machine).__name__}: {len(opened)} of {len(results)} parts stopped early, "
            f"together with a gap of {gap:.3g}: {advice}",
            ConvergenceWarning,
            stacklevel=stack_level(),
        )

    def _divide(self) -> Partition:
        """Return the partition, an earlier run's if it was kept."""
        machine, points = self.machine, self.task.points
        found = None if self.store is None else self.store.load_partition(points.shape)
        if found is not None:
            return found
        rng = check_random_state(machine.random_state)
        if machine.n_parts == "auto":
            found = kmeans_partition(points, largest=2 * AUTO_SIZE, random_state=rng)
        else:  # plain k-means, as in the paper
            found = kmeans_partition(points, machine.n_parts, spread=np.inf, random_state=rng)
        if self.store is not None:
            self.store.save_partition(found)
        return found


def _steps(results: list[PartResult]) -> int:
    return sum(result.n_iter for result in results)
