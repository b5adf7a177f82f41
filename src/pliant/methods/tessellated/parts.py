"""A support vector machine (SVM) with a learned kernel on each part of the samples.

P is learned on some of the samples and given. On each part, an SVM with an intercept of its own is
solved with the kernel k_P; a new point is predicted by the SVM of the part in which it lies. Each
is solved to a certified gap; their sum is the gap of the SVM whose kernel is k_P within parts and
zero between them, with one intercept for each part.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pliant.core.progress import Progress, Result, Status
from pliant.core.typing import Array, Callback, Indices
from pliant.methods.svm import smo
from pliant.methods.svm.dual import Certificate
from pliant.methods.svm.parts import Partition, PartResult, halted, run_parts
from pliant.methods.tessellated.problem import KernelLearning
from pliant.methods.tessellated.solvers.search import INNER_SHARE, SVM_STEPS, Saddle


def solve_part(problem: KernelLearning, factor: Array, tol: float) -> PartResult:
    """Solve the SVM of one part, shape (m, n_features), at Q = factor factor'.

    Its gap is at most `INNER_SHARE` tol (1 + |value|), as that of any SVM at the end of a search.
    """
    dual = problem.svm(factor)
    result = smo.solve(
        dual,
        tol=INNER_SHARE * tol,
        max_iter=SVM_STEPS * len(dual.linear),
        callback=_unwanted,
    )
    proof = result.certificate
    assert proof is not None
    if problem.dtype != np.float64:  # bounds of the kernel that is not rounded
        proof = problem.bound(result.x, problem.product(factor, result.x))
    return _result(result.x, proof, result.n_iter, result.status)


def untouched(problem: KernelLearning) -> PartResult:
    """Return the result for a part that was not begun: w = 0, and the gap there."""
    zero = np.zeros(len(problem.points))
    return _result(zero, problem.bound(zero, zero), 0, Status.STOPPED)


def _unwanted(_: Progress) -> bool:
    return halted()


def _result(w: Array, proof: Certificate, n_iter: int, status: Status) -> PartResult:
    return PartResult(
        w, proof.value, proof.gap, n_iter, status.name, intercept=proof.intercept
    )  # fmt: skip


@dataclass(frozen=True, eq=False)
class PartTasks(Sequence[tuple[Any, ...]]):
    """The arguments of `solve_part` for each part, made on demand.

    `problems` returns the problem on some of the samples, by their positions.
    """

    problems: Callable[[Indices], KernelLearning]
    partition: Partition
    factor: Array
    tol: float

    def __len__(self) -> int:
        """Return the number of parts."""
        return len(self.partition)

    def __getitem__(self, part: Any) -> Any:
        """Return the arguments of one part."""
        return self.problem(part), self.factor, self.tol

    def problem(self, part: int) -> KernelLearning:
        """Return the problem of one part."""
        return self.problems(self.partition.members(part))


@dataclass(frozen=True, eq=False)
class Parted:
    """The SVMs of all parts.

    `w`, shape (n_samples,), has the coefficients of all samples; `upper` and `lower` are the sums
    of the primal and of the dual objectives.
    """

    partition: Partition
    results: Sequence[PartResult]
    w: Array
    upper: float
    lower: float

    @classmethod
    def of(cls, partition: Partition, results: Sequence[PartResult]) -> Parted:
        """Put the results of all parts together."""
        w = np.zeros(len(partition.labels))
        for part, result in enumerate(results):
            w[partition.members(part)] = result.beta
        lower = math.fsum(result.value for result in results)
        gap = math.fsum(result.gap for result in results)
        return cls(partition, results, w, lower + gap, lower)

    @property
    def status(self) -> Status:
        """The first reason for which a part ended early; CONVERGED if none did."""
        ended = (Status[result.status] for result in self.results)
        return next((each for each in ended if each is not Status.CONVERGED), Status.CONVERGED)

    @property
    def intercepts(self) -> Array:
        """The b of each part, shape (n_parts,)."""
        return np.array([result.intercept for result in self.results])

    def result(self, factor: Array, n_svms: int) -> Result[Saddle]:
        """Return the bounds of all parts together, after `n_svms` SVMs that chose P."""
        n_svms += len(self.results)
        proof = Saddle(self.upper, self.lower, self.w, 0.0)
        steps = [Progress(n_svms, self.upper, proof.gap)]
        return Result(factor, self.upper, proof.gap, n_svms, self.status, steps, proof)


def solve_parts(tasks: PartTasks, n_jobs: int | None, callback: Callback) -> Parted:
    """Solve the SVMs of all parts; `callback` is called after each, True stops."""
    solved = run_parts(
        solve_part,
        tasks.__getitem__,
        sizes=tasks.partition.sizes.tolist(),
        n_jobs=n_jobs,
        report=lambda _done, _total: callback(None),
    )
    results = [
        untouched(tasks.problem(part)) if result is None else result
        for part, result in enumerate(solved)
    ]
    return Parted.of(tasks.partition, results)
