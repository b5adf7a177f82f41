"""One run of learning part by part: divide the rows, solve the parts, put them together, refine."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from pliant._progress import Deadline
from pliant._typing import Array
from pliant._validation import stack_level
from pliant.estimators._base import Task, WarmStart
from pliant.estimators._part import PartTasks, solve_part
from pliant.kernels import FunctionKernel, Kernel, PartitionedKernel
from pliant.partition import (
    AUTO_SIZE,
    Partition,
    PartResult,
    Store,
    fingerprint,
    kmeans_partition,
    run_parts,
)
from pliant.problems.hadamard import automatic_eta
from pliant.problems.margin import MarginDual
from pliant.solvers import Status

__all__ = ["PartedLearning"]

SAVE_SECONDS = 30.0
"""The state of a refinement is kept at most so often."""

FITTED = (
    "C", "epsilon", "eta", "eta_scale", "tol", "max_iter", "partition", "n_parts", "dtype",
    "random_state",
)  # fmt: skip
"""The parameters that a solution depends on, beside data and kernel."""


class Parted(Protocol):
    """The machine that learns; `pliant.estimators._parts.PartedMachine` tells its parameters."""

    def __getattr__(self, name: str) -> Any:
        """Return a parameter, or a step of the machine."""

    def __setattr__(self, name: str, value: Any) -> None:
        """Leave a fitted attribute."""


class PartedLearning:
    """One run: the partition, where results are kept, and what has been learned so far."""

    def __init__(self, machine: Parted, task: Task, callback: Callable[..., Any]) -> None:
        self.machine = machine
        self.task = task
        self.callback = callback
        self.store = self._store()
        self.division = self._divide()

    def run(self) -> Array:
        """Learn; leave the fitted attributes; return the coefficients of all points."""
        machine, start = self.machine, np.zeros(len(self.task.target))
        scale = machine.eta_scale
        eta = np.inf if machine.eta == "auto" else float(machine.eta) * scale
        beta, results = self._solve("plain" if machine.eta == "auto" else "adapted", eta, start)
        if machine.refine:
            beta = self._refine(beta, eta)
        else:
            if machine.eta == "auto":
                eta = automatic_eta(beta) * scale
                before = sum(result.n_iter for result in results)
                beta, results = self._solve("adapted", eta, beta)
                self._put_together(beta, eta, results)
                machine.n_iter_ += before
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
        options = {
            "tol": machine.tol,
            "max_iter": machine.max_iter,
            "ends": ends,
            "cache_mb": machine.cache_mb,
            "dtype": machine.dtype,
        }
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

    def _refine(self, beta: Array, eta: float) -> Array:
        """Solve the exact problem from the coefficients of the parts; return what a path needs."""
        machine, steps = self.machine, 0
        plain = machine._margin(self.task)(machine._rows(self.task))
        if machine.eta == "auto":
            first = self._ascend(plain, beta, "refined-plain")
            beta, steps = first.x, first.n_iter
            eta = automatic_eta(beta) * machine.eta_scale
        result = self._ascend(plain.with_quartic(1.0 / (4.0 * eta)), beta, "refined-adapted")
        machine._store(self.task, result, eta, 0.0)
        machine.n_iter_ += steps
        return beta

    def _ascend(self, dual: MarginDual, beta: Array, name: str) -> Any:
        """Solve a dual from where an earlier run kept it, or from `beta`."""
        keep = None
        if self.store is not None:
            state = self.store.load_state(name, {"beta": beta.shape})
            beta = beta if state is None else state["beta"]
            keep = _Keeper(self.store, name)
        return self.machine._ascend(dual, WarmStart(beta), self.callback, keep)

    def _put_together(self, beta: Array, eta: float, results: list[PartResult]) -> None:
        """Leave the machine of all parts, without an intercept."""
        machine, task = self.machine, self.task
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
        machine.dual_gap_ = math.fsum(result.gap for result in results)
        machine.n_iter_ = sum(result.n_iter for result in results)
        machine.objective_history_ = np.array([machine.objective_])
        machine.gap_history_ = np.array([machine.dual_gap_])
        machine.step_history_ = np.array([machine.n_iter_])
        self._warn_if_open(results)

    def _warn_if_open(self, results: list[PartResult]) -> None:
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
            f"together with a gap of {machine.dual_gap_:.3g}: {advice}",
            ConvergenceWarning,
            stacklevel=stack_level(),
        )

    def _divide(self) -> Partition:
        """Return the partition, an earlier run's if it was kept."""
        machine, points = self.machine, self.task.points
        shapes = {"labels": (len(points),), "centres": (None, points.shape[1])}
        state = None if self.store is None else self.store.load_state("partition", shapes)
        if state is not None:
            return Partition(state["labels"].astype(np.intp), state["centres"])
        found = kmeans_partition(
            points,
            machine.n_parts,
            largest=2 * AUTO_SIZE if machine.n_parts == "auto" else None,
            random_state=check_random_state(machine.random_state),
        )
        if self.store is not None:
            self.store.save_state("partition", labels=found.labels, centres=found.centres)
        return found

    def _store(self) -> Store | None:
        """Open the folder of results; refuse another run's."""
        machine, task = self.machine, self.task
        if machine.checkpoint is None:
            return None
        parameters = {name: _plain(getattr(machine, name, None)) for name in FITTED}
        folder = Path(machine.checkpoint)
        if task.name:
            folder.mkdir(parents=True, exist_ok=True)
            folder = folder / task.name
        parameters |= {"kernel": _told(task.kernel)}
        return Store(folder, fingerprint(task.points, task.target, task.weights, parameters))


class _Keeper:
    """Keeps the coefficients of a run now and then."""

    def __init__(self, store: Store, name: str) -> None:
        self.store, self.name, self.last = store, name, time.monotonic()

    def __call__(self, beta: Array) -> None:
        """Keep `beta` if the last time is long ago."""
        if time.monotonic() - self.last >= SAVE_SECONDS:
            self.store.save_state(self.name, beta=beta)
            self.last = time.monotonic()


def _plain(value: Any) -> Any:
    """Return a parameter as JSON has it; None for what it has not."""
    if isinstance(value, bool | int | float | str | np.integer | np.floating):
        return value.item() if isinstance(value, np.generic) else value
    return None


def _told(kernel: Kernel) -> Any:
    """Return a kernel as JSON."""
    if isinstance(kernel, FunctionKernel):
        function = kernel.function
        return getattr(function, "__qualname__", type(function).__qualname__)
    told: dict[str, Any] = {"type": type(kernel).__name__}
    for name, value in kernel.get_params(deep=False).items():
        told[name] = _told(value) if isinstance(value, Kernel) else np.asarray(value).tolist()
    return told
