"""A support vector machine (SVM) with a learned kernel on each part of the samples.

P is learned on some of the samples and given. On each part, an SVM with an intercept of its own is
solved with the kernel k_P. Each is solved to a certified gap; their sum is the gap of the SVM whose
kernel is k_P within parts and zero between them, with one intercept for each part.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from pliant.core.progress import Status
from pliant.core.typing import Array, Callback, Indices
from pliant.methods.svm import smo
from pliant.methods.svm.dual import Certificate
from pliant.methods.svm.parts import Partition, PartResult, halted, run_parts
from pliant.methods.tessellated.problem import KernelLearning
from pliant.methods.tessellated.solvers.search import INNER_SHARE, SVM_STEPS


def solve_part(problem: KernelLearning, factor: Array, tol: float) -> PartResult:
    """Solve the SVM of one part, shape (m, n_features), at Q = factor factor'.

    Its gap is at most `INNER_SHARE` tol (1 + |value|), as that of any SVM at the end of a search.
    """
    dual = problem.svm(factor)
    result = smo.solve(
        dual,
        tol=INNER_SHARE * tol,
        max_iter=SVM_STEPS * len(dual.linear),
        callback=lambda _: halted(),
    )
    proof = result.certificate
    assert proof is not None
    if problem.dtype != np.float64:  # bounds of the kernel that is not rounded
        proof = problem.bound(result.x, problem.product(factor, result.x))
    return _part_result(result.x, proof, result.n_iter, result.status)


def _part_result(w: Array, proof: Certificate, n_iter: int, status: Status) -> PartResult:
    return PartResult(w, proof.value, proof.gap, n_iter, status.name, intercept=proof.intercept)


def solve_parts(
    problems: Callable[[Indices], KernelLearning],
    partition: Partition,
    factor: Array,
    tol: float,
    n_jobs: int | None,
    callback: Callback,
) -> list[PartResult]:
    """Solve the SVMs of all parts; `callback` is called after each, True stops.

    `problems` returns the problem on some of the samples, by their positions. A part that was not
    begun has w = 0, and the gap there.
    """
    solved = run_parts(
        solve_part,
        lambda part: (problems(partition.members(part)), factor, tol),
        sizes=partition.sizes.tolist(),
        n_jobs=n_jobs,
        report=lambda _done, _total: callback(None),
    )
    results = []
    for part, result in enumerate(solved):
        if result is None:
            members = partition.members(part)
            zero = np.zeros(len(members))
            untouched = problems(members).bound(zero, zero)
            result = _part_result(zero, untouched, 0, Status.STOPPED)
        results.append(result)
    return results
