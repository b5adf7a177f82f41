"""TKL in parts: P learned on a subset, then one SVM with the learned kernel and b per part."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from pliant.core.progress import Deadline, Progress, Result, Status
from pliant.core.typing import Array, Callback
from pliant.kernels.base import Kernel
from pliant.methods.svm import smo
from pliant.methods.svm.dual import Certificate
from pliant.methods.svm.parts import PartedSolution, PartResult, kmeans_partition, solve_parts
from pliant.methods.svm.problem import LearnedFunction, SVMProblem
from pliant.methods.tkl.fit import (
    GKLOptions,
    describe_gap,
    draw_subset,
    learn_on_all,
    learned_function,
    state_saddle_problem,
)
from pliant.methods.tkl.problem import SaddleProblem
from pliant.methods.tkl.solvers import low_rank
from pliant.methods.tkl.solvers.search import INNER_SHARE, SVM_STEPS, Saddle


def learn_in_parts(
    problem: SVMProblem, family: Kernel, options: GKLOptions, callback: Callback
) -> LearnedFunction:
    """Learn P on a subset, then solve an SVM on each part."""
    settings = options.partition
    assert settings is not None
    saddle = state_saddle_problem(problem, family, options)
    initial, advice = _learn_first(saddle, options, callback)
    partition = kmeans_partition(saddle.points, settings.n_parts, settings.random_state)
    factor = saddle.scaled(initial.x)  # Q = F F' of trace n_P

    def state_part(part: int) -> SaddleProblem:
        return replace(saddle, svm=saddle.svm.subset(partition.members(part)))

    solved = solve_parts(
        _solve_part,
        lambda part: (state_part(part), factor, options.tol, seconds_left(callback)),
        lambda part: _skip_part(state_part(part)),
        partition,
        n_jobs=settings.n_jobs,
        callback=callback,
    )
    total = _combine(solved, factor, initial.n_iter + len(partition))
    warning = describe_gap(total, options, f"parts stopped early; {total.status.value}", callback)
    warning = warning or describe_gap(initial, options, advice, callback)
    function = learned_function(family, total, options, warning)
    support = np.flatnonzero(solved.beta)
    return replace(
        function,
        intercept=np.array([result.intercept for result in solved.results]),
        attributes={
            **function.attributes,
            "support_parts_": partition.labels[support],
            **solved.attributes,
        },
    )


def _learn_first(
    saddle: SaddleProblem, options: GKLOptions, callback: Callback
) -> tuple[Result[Saddle], str]:
    """Learn P for all parts, on all samples or a subset; return advice for an open gap too."""
    subset = draw_subset(saddle, options)
    if subset is saddle:
        whole = learn_on_all(saddle, options, callback)
        return whole, whole.status.value
    result = low_rank.solve(subset, tol=options.tol, max_iter=options.max_iter, callback=callback)
    rows = f"{len(subset.points)} of {len(saddle.points)} rows"
    return result, f"P was learned on {rows}; {result.status.value}"


def _combine(solved: PartedSolution, factor: Array, n_svms: int) -> Result[Saddle]:
    """Return the result of all parts; their SVMs are separate problems, so bounds are summed."""
    lower = solved.value
    upper = lower + solved.gap
    saddle = Saddle(upper=upper, lower=lower, w=solved.beta, intercept=0.0)
    return Result(
        x=factor,
        value=upper,
        gap=saddle.gap,
        n_iter=n_svms,
        status=next(iter(solved.early), Status.CONVERGED),
        history=[Progress(n_svms, upper, saddle.gap)],
        certificate=saddle,
    )


def seconds_left(callback: Callback) -> float | None:
    """Return the seconds until the time limit of a fit; None without one."""
    return callback.seconds_left if isinstance(callback, Deadline) else None


def _solve_part(
    problem: SaddleProblem, factor: Array, tol: float, seconds: float | None
) -> PartResult:
    """Solve the SVM of one part at Q = factor factor', to the final accuracy of a search.

    After `seconds`, the solver stops and returns the best solution so far.
    """
    deadline = Deadline(lambda _: None, seconds)
    dual = problem.dual_at(factor)
    zero = np.zeros_like(dual.linear)
    limit = dual.bound(zero, 0.0, zero).gap  # the gap at w = 0, an upper bound on the optimum
    # smo.solve stops at gap <= tol (1 + h); min(1, limit) makes tol relative for a small optimum
    most = SVM_STEPS * len(dual.linear)
    limits: dict[str, Any] = {"max_iter": most, "callback": deadline}
    result = smo.solve(dual, tol=INNER_SHARE * tol * min(1.0, limit), **limits)
    upper = result.value + result.gap
    if result.status is Status.CONVERGED and result.gap > INNER_SHARE * tol * upper:
        relative = INNER_SHARE * tol * upper / (1.0 + result.value)
        result = smo.solve(dual, tol=relative, start=result.x, **limits)
    assert result.certificate is not None
    return _part_result(result.x, result.certificate, result.n_iter, result.status)


def _skip_part(problem: SaddleProblem) -> PartResult:
    """Return w = 0 and its gap for a part not started."""
    dual = problem.dual(np.empty((0, 0)))
    zero = np.zeros_like(dual.linear)
    return _part_result(zero, dual.bound(zero, 0.0, zero), 0, Status.STOPPED)


def _part_result(w: Array, bound: Certificate, n_iter: int, status: Status) -> PartResult:
    return PartResult(
        beta=w,
        value=bound.value,
        gap=bound.gap,
        n_iter=n_iter,
        status=status.name,
        intercept=bound.intercept,
    )
