"""DANK and KNPL in parts: one problem without an intercept per part; DANK can refine the result.

Each part of n_p points has a separate problem over an F with n_p rows; for KNPL, F1 = n_p 1.
Together, the parts solve the problem for a base kernel that is 0 between parts (Liu et al. 2020,
Lemma 5). There F has no effect, and the penalty is smallest for F = 1.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from pliant.core.progress import Deadline, Progress, Result, Status
from pliant.core.typing import Array, Callback
from pliant.kernels.base import Kernel, made_of
from pliant.kernels.standard import Precomputed
from pliant.methods.dank.fit import (
    KernelSolution,
    hadamard_kernel,
    learned_function,
    maximise,
    solve_whole,
)
from pliant.methods.dank.gram import HadamardOptions, TrainingGram, gram_rows
from pliant.methods.dank.kernel import PartitionedKernel
from pliant.methods.dank.problem import automatic_eta, hadamard_dual
from pliant.methods.svm import smo
from pliant.methods.svm.dual import Certificate, without_intercept
from pliant.methods.svm.parts import (
    PartedSolution,
    Partition,
    PartResult,
    kmeans_partition,
    solve_parts,
)
from pliant.methods.svm.problem import LearnedFunction, SVMProblem, WarmStart
from pliant.methods.svm.rows import DenseRows

SMALL_PART = 2000
"""Largest part with a stored Gram matrix; rows on demand would save no time."""


def adapt_in_parts(
    problem: SVMProblem, base: TrainingGram, options: HadamardOptions, deadline: Deadline
) -> LearnedFunction:
    """Learn beta and F for one problem in parts; with ``refine``, then on all points (DANK)."""
    settings = options.partition
    assert settings is not None
    if made_of(base.kernel, Precomputed):
        raise ValueError(
            "expected a kernel on points with coordinates, as partition='kmeans' divides them by "
            "their coordinates, got a kernel on row numbers, such as kernel='precomputed'"
        )
    partition = kmeans_partition(problem.points, settings.n_parts, settings.random_state)
    solve = partial(_solve_all, problem, partition, base, options, deadline)
    eta = np.inf if options.eta == "auto" else float(options.eta) * options.eta_scale
    solved, steps = solve(eta, np.zeros(len(problem.target))), 0
    if settings.refine:
        refined = _refine(problem, base, options, solved.beta, eta, deadline)
        solution = replace(refined, parts=solved)
        kernel: Kernel = hadamard_kernel(problem, base, options, solution)
    else:
        if options.eta == "auto" and not deadline(None):  # the first solutions are plain SVMs
            steps = solved.n_iter
            eta = automatic_eta(solved.beta) * options.eta_scale
            solved = solve(eta, solved.beta)
        solution = _combine(solved, eta, steps, deadline.expired)
        kernel = PartitionedKernel(
            base=base.kernel,
            points=problem.points,
            beta=solved.beta,
            labels=partition.labels,
            centres=partition.centres,
            eta=solution.eta_of_F,
            extension=options.extension,
            centred=options.centred,
        )
    return learned_function(solution, kernel, options, deadline.expired)


def _solve_all(
    problem: SVMProblem,
    partition: Partition,
    base: TrainingGram,
    options: HadamardOptions,
    deadline: Deadline,
    eta: float,
    start: Array,
) -> PartedSolution:
    """Solve all parts for one eta, starting from coefficients `start` of all points."""
    assert options.partition is not None
    parts = [problem.subset(partition.members(part)) for part in range(len(partition))]
    return solve_parts(
        partial(solve_part, base=base, eta=eta, options=options),
        lambda part: (parts[part], start[partition.members(part)], deadline.seconds_left),
        lambda part: _skip_part(parts[part], base),
        partition,
        n_jobs=options.partition.n_jobs,
        callback=deadline,
    )


def _combine(solved: PartedSolution, eta: float, steps: int, late: bool) -> KernelSolution:
    """Return the solution of all parts, which have no intercept.

    `steps` were taken before; `late` is True if the time limit, and no callback, ended the fit.
    """
    early = [each for each in solved.early if late or each is not Status.STOPPED]
    total: Result[Certificate] = Result(
        x=solved.beta,
        value=solved.value,
        gap=solved.gap,
        n_iter=solved.n_iter,
        status=early[0] if early else Status.CONVERGED,
        history=[Progress(solved.n_iter, solved.value, solved.gap)],
    )
    return KernelSolution(
        result=total,
        eta=eta,
        n_iter=steps + total.n_iter,
        path_start=solved.beta,
        parts=solved,
        early=f" ({len(early)} of {len(solved.results)} parts stopped early)",
    )


def solve_part(
    part: SVMProblem,
    start: Array,
    seconds: float | None,
    *,
    base: TrainingGram,
    eta: float,
    options: HadamardOptions,
) -> PartResult:
    """Maximise the dual of one part without its equality constraint (problem (19)).

    `start` has shape (m,). After `seconds`, the solver stops and returns the best solution so far.
    """
    deadline = Deadline(lambda _: None, seconds)
    if deadline():
        return _skip_part(part, base)
    n = len(part.members)
    # the centred rule rereads all rows
    stored = n if options.centred and options.fits(n) else SMALL_PART
    rows = gram_rows(base.kernel, part.points, options, stored=stored)
    dual = without_intercept(part.dual(rows, base.psd))
    adapted = hadamard_dual(dual, eta, centred=options.centred, n_points=n)
    # The last coordinate is minus the sum of the others, so that 1'beta = 0.
    start = np.append(start, -start.sum())
    result = maximise(adapted, WarmStart(start), options, deadline)
    return PartResult(
        beta=result.x[:-1],
        value=result.value,
        gap=result.gap,
        n_iter=result.n_iter,
        status=result.status.name,
    )


def _skip_part(part: SVMProblem, base: TrainingGram) -> PartResult:
    """Return beta = 0 and its gap for a part not started."""
    # The gap at beta = 0 does not depend on the kernel.
    dual = part.dual(DenseRows(np.empty((0, 0))), base.psd)
    gap = float(dual.loss(dual.linear).sum()) if dual.psd else np.nan
    return PartResult(
        beta=np.zeros_like(dual.linear), value=0.0, gap=gap, n_iter=0, status=Status.STOPPED.name
    )


def _refine(
    problem: SVMProblem,
    base: TrainingGram,
    options: HadamardOptions,
    beta: Array,
    eta: float,
    callback: Callback,
) -> KernelSolution:
    """Solve the problem on all points, starting from the coefficients of the parts.

    Where parts overlap, their combined coefficients overshoot the solution, but few other points
    become support points. Therefore a coarse solution on the parts' support points is the warm
    start, as proposed by Hsieh, Si and Dhillon (2014) for support vector machines.
    """
    support, steps = np.flatnonzero(beta), 0
    if support.size:
        subset = problem.subset(support)
        rows = gram_rows(base.kernel, subset.points, options, stored=SMALL_PART)
        dual = subset.dual(rows, base.psd).with_quartic(1.0 / (4.0 * eta))
        tol = max(options.tol, 1e-3)
        result = smo.solve(dual, tol=tol, max_iter=options.max_iter, callback=callback)
        steps = result.n_iter
        if result.status is not Status.STOPPED:  # otherwise the parts' coefficients are better
            beta = np.zeros_like(beta)
            beta[support] = result.x
    solution = solve_whole(problem, base, options, WarmStart(beta), callback)
    return replace(solution, n_iter=solution.n_iter + steps)
