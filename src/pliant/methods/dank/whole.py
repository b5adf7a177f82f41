"""DANK and KNPL on all points: the solution of one problem.

The plain SVM determines eta="auto"; `hadamard_dual` eliminates F from the problem; `maximise` finds
beta from one dual for tau = 0, otherwise from a sequence of duals.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pliant.core.progress import Result, Status
from pliant.core.typing import Array, Callback
from pliant.methods.dank import sequential
from pliant.methods.dank.gram import HadamardOptions, TrainingGram, problem_rows
from pliant.methods.dank.problem import HadamardDual, automatic_eta, hadamard_dual
from pliant.methods.svm import smo
from pliant.methods.svm.dual import (
    Certificate,
    best_multiple,
    better_start,
    project_box_hyperplane,
)
from pliant.methods.svm.parts import PartedSolution
from pliant.methods.svm.problem import SVMProblem, WarmStart


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
            return KernelSolution(plain, np.inf, plain.n_iter, path_start=plain.x)
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
    return _solve_dual(problem, beta, options, callback, fields)


def _solve_dual(
    problem: HadamardDual,
    start: Array,
    options: HadamardOptions,
    callback: Callback,
    fields: tuple[Array, Array] | None = None,
) -> Result[Certificate]:
    """Solve a dual from a feasible `start`, with its `fields` in the quartic dual if known."""
    tol, max_iter = options.tol, options.max_iter
    if problem.rule is None:  # tau = 0
        return smo.solve(
            problem.quartic, start, fields=fields, tol=tol, max_iter=max_iter, callback=callback
        )
    return sequential.solve(problem, start, tol=tol, max_iter=max_iter, callback=callback)
