"""The steps of a fit of DANK and KNPL on all points: its options, one learned function per problem.

The plain SVM determines eta="auto"; `hadamard_dual` eliminates F from the problem; `maximise` finds
beta from one dual for tau = 0, otherwise from a sequence of duals; `hadamard_kernel` extends F to
new points.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pliant.core.progress import Deadline, Result, Status
from pliant.core.typing import Array, Callback
from pliant.kernels.base import Kernel, made_of
from pliant.kernels.extension import GramNeighbors
from pliant.kernels.standard import Precomputed
from pliant.methods.dank import sequential
from pliant.methods.dank.gram import HadamardOptions, TrainingGram, problem_rows
from pliant.methods.dank.kernel import HadamardKernel
from pliant.methods.dank.machine import BaseHadamard
from pliant.methods.dank.problem import (
    HadamardDual,
    SpectralCertificate,
    automatic_eta,
    hadamard_dual,
)
from pliant.methods.svm import smo
from pliant.methods.svm.dual import Certificate, best_multiple, better_start, project_box_hyperplane
from pliant.methods.svm.parts import PartedSolution, as_partition
from pliant.methods.svm.problem import LearnedFunction, SVMProblem, WarmStart


@dataclass(frozen=True, eq=False)
class KernelSolution:
    """The solution of one problem, on all points or in parts.

    `result` is from the last solver, and `plain` from the preceding plain SVM (eta="auto").
    `n_iter` counts the steps of both. A fit with another C starts from `path_start`, shape (m,).
    `constant` is the constant term of the objective. `early` is a note on parts that stopped early.
    """

    result: Result[Certificate]
    eta: float
    n_iter: int
    path_start: Array
    constant: float = 0.0
    plain: Result[Certificate] | None = None
    parts: PartedSolution | None = None
    early: str = ""

    @property
    def eta_of_F(self) -> float:
        """The eta of F; inf for beta = 0, which gives F = 11'."""
        return self.eta if self.result.x.any() else np.inf


def fit_options(model: BaseHadamard) -> HadamardOptions:
    """Collect the parameters of a fit; raise ValueError for a combination that has no problem."""
    centred = model._centred
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
    """Learn beta and F for one problem from all points, and extend F to new points.

    `start` is the solution for another C. The solvers call `deadline` with a `Progress` at regular
    intervals and stop if it returns True.
    """
    if made_of(base.kernel, Precomputed) and options.extension != "none":
        _check_distances(base.kernel, problem.points, options)
    solution = solve_whole(problem, base, options, start, deadline)
    kernel = hadamard_kernel(problem, base, options, solution)
    return learned_function(solution, kernel, options, deadline.expired)


def solve_whole(
    problem: SVMProblem,
    base: TrainingGram,
    options: HadamardOptions,
    start: WarmStart | None,
    callback: Callback,
) -> KernelSolution:
    """Learn one function from all points.

    `start` is the solution for another C, or that of the parts. The solver calls `callback` with a
    `Progress` at regular intervals and stops if it returns True.
    """
    dual = problem.dual(problem_rows(problem, base, options), base.psd)
    plain = None
    if options.eta == "auto":
        # The paper's scale is eta = |alpha|^2 of the plain SVM, which has eta = inf and F = 11'.
        plain = maximise(hadamard_dual(dual, np.inf), start, options, callback)
        if plain.status is Status.STOPPED:
            return KernelSolution(result=plain, eta=np.inf, n_iter=plain.n_iter, path_start=plain.x)
        eta, start = automatic_eta(plain.x) * options.eta_scale, WarmStart(plain.x)
    else:
        eta = float(options.eta) * options.eta_scale
    adapted = hadamard_dual(dual, eta, tau=base.tau, centred=options.centred)
    result = maximise(adapted, start, options, callback)
    first = result if plain is None else plain  # from which a fit with another C starts
    return KernelSolution(
        result=result,
        eta=eta,
        n_iter=result.n_iter if plain is None else plain.n_iter + result.n_iter,
        path_start=first.x,
        constant=adapted.constant,
        plain=plain,
    )


def maximise(
    problem: HadamardDual, start: WarmStart | None, options: HadamardOptions, callback: Callback
) -> Result[Certificate]:
    """Solve a dual, starting from zero or from a feasible projection of another solution."""
    # The quartic dual, that of tau = 0, determines the start for tau > 0 and KNPL too.
    dual = problem.quartic
    beta, fields = np.zeros_like(dual.linear), None
    if start is not None and start.growth == 1.0:
        # The start, from the parts or the plain SVM, overshoots: use the best t beta, 0 <= t <= 1.
        beta = project_box_hyperplane(start.beta, dual.lower, dual.upper)
        beta, fields = best_multiple(dual, beta)
    elif start is not None:
        # start from beta, C'/C beta or 0, whichever has the largest h
        beta = better_start(dual, start.beta, start.growth)
        beta = project_box_hyperplane(beta, dual.lower, dual.upper)
    tol, max_iter = options.tol, options.max_iter
    if problem.rule is None:  # tau = 0
        return smo.solve(dual, beta, fields=fields, tol=tol, max_iter=max_iter, callback=callback)
    return sequential.solve(problem, beta, tol=tol, max_iter=max_iter, callback=callback)


def hadamard_kernel(
    problem: SVMProblem, base: TrainingGram, options: HadamardOptions, solution: KernelSolution
) -> HadamardKernel:
    """Build the learned kernel F o K, with one F for all points."""
    certificate = solution.result.certificate
    kernel = HadamardKernel(
        base=base.kernel,
        points=problem.points,
        beta=solution.result.x,
        eta=solution.eta_of_F,
        extension=options.extension,
        tau=base.tau,
        centred=options.centred,
    )
    if base.gram is not None and isinstance(certificate, SpectralCertificate):
        kernel.store_spectrum(certificate.spectrum)  # float64, as for predictions
    return kernel


def learned_function(
    solution: KernelSolution, kernel: Kernel, options: HadamardOptions, late: bool
) -> LearnedFunction:
    """Return a solution with its learned kernel and fitted attributes.

    `late` is True if the time limit, and no callback, ended the fit.
    """
    result, eta = solution.result, solution.eta_of_F
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
        kernel=kernel,
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
    if result.gap <= limit:  # that of all parts, though one of them stopped early
        return ""
    advice = result.status.value
    if stopped:
        advice = f"the time limit max_seconds = {options.max_seconds} was reached"
    return (
        f"{options.name} stopped after {result.n_iter} steps{early} with a gap of "
        f"{result.gap:.3g}, above the tolerance of {limit:.3g}: {advice}"
    )
