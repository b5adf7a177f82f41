"""The steps of a fit of DANK and KNPL: its options, and one learned function per problem.

`adapt` solves a problem with `solve_whole`, on all points, or `solve_in_parts`. From the solution
it builds the learned kernel F o K, which extends F to new points.
"""

from __future__ import annotations

import numpy as np

from pliant.core.progress import Deadline, Result, Status
from pliant.core.typing import Array
from pliant.kernels.base import Kernel, made_of
from pliant.kernels.extension import GramNeighbors
from pliant.kernels.standard import Precomputed
from pliant.methods.dank.gram import HadamardOptions, TrainingGram
from pliant.methods.dank.kernel import HadamardKernel, PartitionedKernel
from pliant.methods.dank.machine import BaseHadamard
from pliant.methods.dank.parts import solve_in_parts
from pliant.methods.dank.problem import SpectralCertificate
from pliant.methods.dank.whole import KernelSolution, solve_whole
from pliant.methods.svm.dual import Certificate
from pliant.methods.svm.parts import as_partition
from pliant.methods.svm.problem import LearnedFunction, SVMProblem, WarmStart


def fit_options(model: BaseHadamard, *, centred: bool = False) -> HadamardOptions:
    """Collect the parameters of a fit; raise ValueError for a combination that has no problem."""
    partition = None
    if model.partition is not None:
        partition = as_partition("partition", model.partition)
        if centred and partition.refine:
            raise ValueError(
                f"expected partition with refine=False, as only DANK can refine, got {partition!r}"
            )
        if not centred and model.tau and model.tau != "auto":
            raise ValueError(
                f"expected tau = 0 or 'auto' with partition={model.partition!r}, because the trace "
                f"of F couples all rows, got {model.tau!r}"
            )
    return HadamardOptions(
        name=type(model).__name__,
        kernel=model.kernel,
        gamma=model.gamma,
        eta=model.eta,
        eta_scale=model.eta_scale,
        tau=0.0 if centred else model.tau,
        centred=centred,
        extension=model.extension,
        tol=model.tol,
        max_iter=model.max_iter,
        max_seconds=model.max_seconds,
        cache_mb=model.cache_mb,
        partition=partition,
    )


def adapt(
    problem: SVMProblem,
    base: TrainingGram,
    options: HadamardOptions,
    deadline: Deadline,
    start: WarmStart | None = None,
) -> LearnedFunction:
    """Learn beta and F for one problem, and extend F to new points.

    `start` is the solution for another C. The solvers call `deadline` with a `Progress` at regular
    intervals and stop if it returns True.
    """
    if options.partition is not None:
        solution = solve_in_parts(problem, base, options, deadline)
    else:
        if made_of(base.kernel, Precomputed) and options.extension != "none":
            _check_distances(base.kernel, problem.points, options)
        solution = solve_whole(problem, base, options, start, deadline)
    result, late = solution.result, deadline.expired
    eta = solution.eta if result.x.any() else np.inf  # beta = 0 gives F = 11'
    constant = solution.constant if np.isfinite(eta) else 0.0
    attributes = {
        "eta_": eta,
        "objective_constant_": constant,
        "step_history_": np.array(result.history)[:, 0].astype(np.intp),
    }
    if solution.parts is not None:
        attributes |= solution.parts.attributes
    warning = _describe_gap(result, options, late, solution.early)
    if not warning and solution.plain is not None:
        warning = _describe_gap(solution.plain, options, late)
    return LearnedFunction(
        kernel=_learned_kernel(problem, base, options, solution, eta),
        beta=result.x,
        intercept=0.0 if result.certificate is None else result.certificate.intercept,
        objective=result.value + constant,
        gap=result.gap,
        n_iter=solution.n_iter,
        history=result.history,
        attributes=attributes,
        warning=warning,
        path_start=solution.path_start,
    )


def _learned_kernel(
    problem: SVMProblem,
    base: TrainingGram,
    options: HadamardOptions,
    solution: KernelSolution,
    eta: float,
) -> HadamardKernel | PartitionedKernel:
    """Build F o K, with one F for all points, or one per part."""
    result, partition = solution.result, options.partition
    if solution.parts is not None and partition is not None and not partition.refine:
        return PartitionedKernel(
            base=base.kernel,
            points=problem.points,
            beta=result.x,
            labels=solution.parts.partition.labels,
            centres=solution.parts.partition.centres,
            eta=eta,
            extension=options.extension,
            centred=options.centred,
        )
    kernel = HadamardKernel(
        base=base.kernel,
        points=problem.points,
        beta=result.x,
        eta=eta,
        extension=options.extension,
        tau=base.tau,
        centred=options.centred,
    )
    if base.gram is not None and isinstance(result.certificate, SpectralCertificate):
        kernel.store_spectrum(result.certificate.spectrum)  # float64, as for predictions
    return kernel


def _check_distances(kernel: Kernel, points: Array, options: HadamardOptions) -> None:
    """Raise ValueError if the extension needs distances that a precomputed kernel lacks."""
    if isinstance(kernel, Precomputed):
        GramNeighbors(kernel, points)  # raises the error that a prediction would raise
        return
    raise ValueError(
        f"expected extension='none', got {options.extension!r}: a kernel that contains a "
        "Precomputed kernel takes row numbers, which have no distances"
    )


def _describe_gap(
    result: Result[Certificate], options: HadamardOptions, late: bool, early: str = ""
) -> str:
    """Describe a gap above ``tol``; return "" if it is small or a callback ended the fit."""
    stopped = result.status is Status.STOPPED
    if result.status in (Status.CONVERGED, Status.UNCERTIFIED) or (stopped and not late):
        return ""
    limit = options.tol * (1.0 + abs(result.value))
    advice = result.status.value
    if stopped:
        advice = f"the time limit max_seconds = {options.max_seconds} was reached"
    return (
        f"{options.name} stopped after {result.n_iter} steps{early} with a gap of "
        f"{result.gap:.3g}, above the tolerance of {limit:.3g}: {advice}"
    )
