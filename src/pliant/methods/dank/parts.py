"""DANK and KNPL in parts: one problem without an intercept for each part, and refinement.

A part of n_p points is a problem of the family by itself, over F with a row for each of its points.
For KNPL that means F1 = n_p 1. So the parts together solve KNPL's problem for a kernel that is zero
between parts, over the F whose rows sum to n_p within their part; with F = 1 between parts they
sum to n, and F is one that the problem on all points admits, too. (A block-diagonal A does not make
P A P block-diagonal: the rows of the best F on all points sum to n, but not to n_p within a part.)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from pliant.core.progress import Deadline, Progress, Result, Status, is_over
from pliant.core.typing import Array, Callback
from pliant.kernels.base import Kernel, made_of
from pliant.kernels.standard import Precomputed
from pliant.methods.dank import sequential
from pliant.methods.dank.kernel import PartitionedKernel
from pliant.methods.dank.problem import adapted_dual, automatic_eta
from pliant.methods.dank.whole import Solution, gram_rows, solve_whole, warn_if_open
from pliant.methods.svm import smo
from pliant.methods.svm.dual import Certificate, MarginDual, without_intercept
from pliant.methods.svm.estimators import Task, WarmStart
from pliant.methods.svm.parts import Partition, PartResult, kmeans_partition, run_parts
from pliant.methods.svm.rows import DenseRows, Rows

COARSE = 1e-3
"""The relative gap to which the problem on the support points of the parts is solved at first."""

SMALL_PART = 2000
"""Largest part whose Gram matrix is computed whole: rows on demand gain nothing."""


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
    partition = kmeans_partition(task.points, estimator.n_parts, estimator.random_state)
    automatic = estimator.eta == "auto"
    eta = np.inf if automatic else float(estimator.eta) * estimator.eta_scale
    problem = estimator, task, callback, partition
    beta, results = _solve_parts(*problem, eta, np.zeros(len(task.target)))
    if not estimator._centred and estimator.refine:
        solution = _refine(estimator, task, beta, eta, callback)
        return replace(solution, partition=partition, part_results=results)
    steps = 0
    if automatic and not callback(None):
        eta = automatic_eta(beta) * estimator.eta_scale
        steps = _total_steps(results)
        beta, results = _solve_parts(*problem, eta, beta)
    whole = _put_together(estimator, beta, results, callback)
    kernel = PartitionedKernel(
        task.kernel, task.points, beta, partition.labels, partition.centres,
        eta if beta.any() else np.inf, estimator.extension, estimator.n_neighbors,
        "one" if estimator.prediction == "whole" else "zero", estimator._centred,
    )  # fmt: skip
    return Solution(
        kernel, 0.0, whole, steps + whole.n_iter, beta, partition=partition, part_results=results
    )


def _solve_parts(
    estimator: Any, task: Task, callback: Callback, partition: Partition, eta: float, start: Array
) -> tuple[Array, list[PartResult]]:
    """Solve all parts; return the coefficients of all points, and the results."""
    work = partial(
        solve_part, eta=eta, tol=estimator.tol, max_iter=estimator.max_iter,
        ends=callback.ends if isinstance(callback, Deadline) else None,
        cache_mb=estimator.cache_mb, dtype=estimator.dtype, centred=estimator._centred,
    )  # fmt: skip

    def arguments(part: int) -> tuple[Any, ...]:
        mine = partition.members(part)
        some = task.subset(mine)
        return some.kernel, some.points, estimator._margin(some), start[mine]

    solved = run_parts(
        work,
        arguments,
        sizes=partition.sizes.tolist(),
        n_jobs=estimator.n_jobs,
        report=lambda _done, _total: callback(None),
    )
    results = [
        _untouched(arguments(part)[2]) if result is None else result
        for part, result in enumerate(solved)
    ]
    beta = np.zeros(len(task.target))
    for part, result in enumerate(results):
        beta[partition.members(part)] = result.beta
    return beta, results


def _put_together(
    estimator: Any, beta: Array, results: list[PartResult], callback: Callback
) -> Result[Certificate]:
    """Return the result of all parts, without an intercept; warn if some stopped early."""
    done = _total_steps(results)
    value = math.fsum(result.value for result in results)
    gap = math.fsum(result.gap for result in results)
    late = getattr(callback, "expired", False)
    early = [
        status
        for status in (Status[result.status] for result in results)
        if status not in (Status.CONVERGED, Status.UNCERTIFIED)
        and (late or status is not Status.STOPPED)
    ]
    status = early[0] if early else Status.CONVERGED
    whole: Result[Certificate] = Result(
        beta, value, gap, done, status, [Progress(done, value, gap)]
    )
    warn_if_open(estimator, whole, callback, f" ({len(early)} of {len(results)} parts early)")
    return whole


def solve_part(
    kernel: Kernel,
    points: Array,
    margin: Callable[[Rows], MarginDual],
    start: Array,
    *,
    eta: float,
    tol: float,
    max_iter: int,
    ends: float | None,
    cache_mb: float,
    dtype: str,
    centred: bool = False,
) -> PartResult:
    """Maximise the problem of some points without its equality constraint (problem (19)).

    `margin` makes the dual of the Gram matrix of the base kernel on the points, shape (m, d).
    `start`, shape (m,), is where to begin, and `ends` is when to stop with the best solution so
    far, by the clock `time.time`; None for never. The others are parameters of the estimators;
    `eta` is a number, and `centred` is for KNPL.
    """
    if is_over(ends):
        return _untouched(margin)
    fits = 8.0 * len(points) ** 2 <= cache_mb * 2.0**20
    whole = len(points) if centred and fits else SMALL_PART  # the centred rule reads all, often
    rows = gram_rows(kernel, points, cache_mb=cache_mb, dtype=dtype, whole=whole)
    dual = without_intercept(margin(rows))
    problem = adapted_dual(dual, eta, centred=centred, n_points=len(points))
    begin = np.append(start, -start.sum())
    limits: dict[str, Any] = {
        "tol": tol, "max_iter": max_iter, "callback": lambda _: is_over(ends)
    }  # fmt: skip
    if isinstance(problem, MarginDual):
        result = smo.solve(problem, begin, **limits)
    else:
        result = sequential.solve(problem, begin, **limits)
    return PartResult(result.x[:-1], result.value, result.gap, result.n_iter, result.status.name)


def _untouched(margin: Callable[[Rows], MarginDual]) -> PartResult:
    """Return the result for a part that was not begun: beta = 0, and the gap there."""
    dual = margin(DenseRows(np.empty((0, 0))))  # the gap at zero does not depend on the rows
    gap = float(dual.loss(dual.linear).sum()) if dual.psd else np.nan
    return PartResult(np.zeros_like(dual.linear), 0.0, gap, 0, Status.STOPPED.name)


def _refine(estimator: Any, task: Task, beta: Array, eta: float, callback: Callback) -> Solution:
    """Solve the exact problem from the coefficients of the parts.

    Where parts overlap, their coefficients together go far beyond the solution, but few other
    points become support points. So a rough solution on the support points of the parts comes first
    (as Hsieh, Si and Dhillon 2014 refine, who divide support vector machines).
    """
    support, steps = np.flatnonzero(beta), 0
    if support.size:
        some = task.subset(support)
        rows = gram_rows(
            some.kernel, some.points, cache_mb=estimator.cache_mb, dtype=estimator.dtype,
            whole=SMALL_PART,
        )  # fmt: skip
        dual = estimator._margin(some)(rows).with_quartic(1.0 / (4.0 * eta))
        result = smo.solve(
            dual, tol=max(estimator.tol, COARSE), max_iter=estimator.max_iter, callback=callback
        )
        steps = result.n_iter
        if result.status is not Status.STOPPED:  # else the coefficients of the parts are better
            beta = np.zeros_like(beta)
            beta[support] = result.x
    solution = solve_whole(estimator, task, WarmStart(beta), callback)
    return replace(solution, n_iter=solution.n_iter + steps)


def _total_steps(results: Sequence[PartResult]) -> int:
    return sum(result.n_iter for result in results)
