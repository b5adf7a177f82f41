"""Learning in parts: divide the samples, solve the parts, put them together, refine."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from pliant.core.kernels.base import made_of
from pliant.core.kernels.precomputed import Precomputed
from pliant.core.progress import Deadline, Progress, Result, Status
from pliant.core.typing import Array, Callback
from pliant.core.validation import (
    stack_level,
)
from pliant.methods.hadamard.gram_rows import gram_rows
from pliant.methods.hadamard.partitioned_kernel import PartitionedKernel
from pliant.methods.hadamard.parts.checkpoint import Keeper, open_store
from pliant.methods.hadamard.parts.part import SMALL_PART, PartOptions, PartTasks, solve_part
from pliant.methods.hadamard.problem import automatic_eta
from pliant.methods.hadamard.solution import Solution
from pliant.methods.hadamard.whole import solve_dual, solve_whole
from pliant.methods.svm import smo
from pliant.methods.svm.dual import Certificate, MarginDual
from pliant.methods.svm.parts.divide import Partition, divided
from pliant.methods.svm.parts.parallel import run_parts
from pliant.methods.svm.parts.store import PartResult, Store
from pliant.methods.svm.rows import DenseRows
from pliant.methods.svm.task import Task, WarmStart

COARSE = 1e-3
"""The relative gap to which the problem on the support points of the parts is solved at first."""


def solve_in_parts(estimator: Any, task: Task, callback: Callback) -> Solution:
    """Learn one function in parts, and from all points together if ``refine`` (DANK).

    The parameters of the estimator of DANK or KNPL are read; nothing is written to it.
    `callback` is called with a `Progress` or None between slices of work; returning True stops.
    """
    if made_of(task.kernel, Precomputed):
        raise ValueError(
            f"expected a kernel of points for partition={estimator.partition!r}, which divides "
            "them by their coordinates, got one of row numbers, such as kernel='precomputed'"
        )
    store = open_store(estimator, task)
    partition = _divide(estimator, task.points, store)
    run = _Run(estimator, task, callback, store, partition)
    automatic = estimator.eta == "auto"
    eta = np.inf if automatic else float(estimator.eta) * estimator.eta_scale
    start = np.zeros(len(task.target))
    beta, results = run.solve("plain" if automatic else "adapted", eta, start)
    if not estimator._centred and estimator.refine:
        solution = run.refine(beta)
    else:
        steps = 0
        if automatic and not callback(None):
            eta = automatic_eta(beta) * estimator.eta_scale
            steps = _total_steps(results)
            beta, results = run.solve("adapted", eta, beta)
        solution = run.put_together(beta, eta, results, steps)
    return replace(solution, partition=partition, part_results=results)


def _divide(estimator: Any, points: Array, store: Store | None) -> Partition:
    """Return the partition: that of an earlier run, or a new one, which is stored."""
    stored = None if store is None else store.load_partition(points)
    if stored is not None:
        return stored
    partition = divided(points, estimator.n_parts, estimator.random_state)
    if store is not None:
        store.save_partition(partition)
    return partition


@dataclass(frozen=True, eq=False)
class _Run:
    """What all steps of learning in parts share."""

    estimator: Any
    task: Task
    callback: Callback
    store: Store | None
    partition: Partition

    def solve(self, stage: str, eta: float, start: Array) -> tuple[Array, list[PartResult]]:
        """Solve all parts; return the coefficients of all points, and the results."""
        estimator, callback = self.estimator, self.callback
        ends = callback.ends if isinstance(callback, Deadline) else None
        options = PartOptions(
            estimator.tol, estimator.max_iter, ends, estimator.cache_mb, estimator.dtype,
            estimator._centred,
        )  # fmt: skip
        parts = PartTasks(self.task, self.partition, estimator._margin, eta, start, options)
        solved = run_parts(
            solve_part,
            parts,
            sizes=self.partition.sizes.tolist(),
            n_jobs=estimator.n_jobs,
            store=self.store,
            stage=stage,
            report=lambda _done, _total: callback(None),
        )
        results = [
            parts.untouched(number) if result is None else result
            for number, result in enumerate(solved)
        ]
        beta = np.zeros(len(self.task.target))
        for number, result in enumerate(results):
            beta[self.partition.members(number)] = result.beta
        return beta, results

    def put_together(
        self, beta: Array, eta: float, results: list[PartResult], steps: int
    ) -> Solution:
        """Return the solution of all parts, without an intercept, after `steps` other steps."""
        estimator, task = self.estimator, self.task
        value = math.fsum(result.value for result in results)
        gap = math.fsum(result.gap for result in results)
        status = self._warn_if_open(results, gap)
        kernel = PartitionedKernel(
            task.kernel,
            task.points,
            beta,
            self.partition.labels,
            self.partition.centres,
            eta if beta.any() else np.inf,
            estimator.extension,
            estimator.n_neighbors,
            "one" if estimator.prediction == "whole" else "zero",
            estimator._centred,
        )
        kernel.prepare()
        done = _total_steps(results)
        whole: Result[Certificate] = Result(
            beta, value, gap, done, status, [Progress(done, value, gap)]
        )
        unit = estimator._margin(task)(DenseRows(np.empty((0, 0)))).unit
        return Solution(kernel, 0.0, whole, steps + done, beta, unit)

    def _warn_if_open(self, results: list[PartResult], gap: float) -> Status:
        """Warn if parts stopped early; return the first reason, or CONVERGED."""
        late = getattr(self.callback, "expired", False)
        statuses = [Status[result.status] for result in results]
        early = [
            status
            for status in statuses
            if status not in (Status.CONVERGED, Status.UNCERTIFIED)
            and (late or status is not Status.STOPPED)
        ]
        if not early:
            return Status.CONVERGED
        advice = early[0].advice
        if early[0] is Status.STOPPED:
            advice = f"max_seconds = {self.estimator.max_seconds} came first"
        warnings.warn(
            f"{type(self.estimator).__name__}: {len(early)} of {len(results)} parts stopped early, "
            f"together with a gap of {gap:.3g}: {advice}",
            ConvergenceWarning,
            stacklevel=stack_level(),
        )
        return early[0]

    def refine(self, beta: Array) -> Solution:
        """Solve the exact problem from the coefficients of the parts."""
        rough_steps = []

        def ascend(dual: MarginDual, start: WarmStart | None, stage: str) -> Result[Certificate]:
            """Solve a dual from the state of an earlier run, or from the parts' coefficients."""
            assert start is not None
            first, name = start.beta, f"refined-{stage}"
            shapes = {"beta": first.shape}
            state = None if self.store is None else self.store.load_state(name, shapes)
            if state is not None:
                first = state["beta"]
            elif stage == "plain" or self.estimator.eta != "auto":
                first, steps = self._on_support(first, dual.quartic)
                rough_steps.append(steps)
            with Keeper(self.store, name) as keep:
                return solve_dual(self.estimator, dual, WarmStart(first), self.callback, keep)

        solution = solve_whole(self.estimator, self.task, WarmStart(beta), self.callback, ascend)
        return replace(solution, n_iter=solution.n_iter + sum(rough_steps))

    def _on_support(self, beta: Array, quartic: float) -> tuple[Array, int]:
        """Return a rough solution of the exact problem, and the steps to it.

        Only the support points of the parts may have coefficients other than zero.

        Where parts overlap, their coefficients together go far beyond the solution, but few other
        points become support points (Hsieh, Si and Dhillon 2014, who divide support vector
        machines, refine in the same way).
        """
        estimator, support = self.estimator, np.flatnonzero(beta)
        if not support.size:
            return beta, 0
        some = self.task.subset(support)
        margin = estimator._margin(some)
        rows = gram_rows(
            some.kernel, some.points, cache_mb=estimator.cache_mb, dtype=estimator.dtype,
            whole=SMALL_PART,
        )  # fmt: skip
        dual = margin(rows).with_quartic(quartic)
        result = smo.solve(
            dual,
            unit=dual.unit,
            tol=max(estimator.tol, COARSE),
            max_iter=estimator.max_iter,
            callback=self.callback,
        )
        if result.status is Status.STOPPED:  # the coefficients of the parts are better
            return beta, result.n_iter
        rough = np.zeros_like(beta)
        rough[support] = result.x
        return rough, result.n_iter


def _total_steps(results: list[PartResult]) -> int:
    return sum(result.n_iter for result in results)
