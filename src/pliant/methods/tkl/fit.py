"""The steps of a fit of TKL and GKL: options, a saddle point problem per SVM problem, its solution.

`interior.solve` or `low_rank.solve` finds P and the coefficients w of a support vector machine
(SVM) on all samples. If the Gram matrix is too large, they learn P on a subset.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pliant.core.parameters import check_random_state
from pliant.core.progress import Deadline, Result, Status
from pliant.core.typing import Array, Callback, Indices
from pliant.kernels.base import Kernel, Rescaled
from pliant.methods.svm.parts import KMeansPartition, as_partition
from pliant.methods.svm.problem import LearnedFunction, SVMProblem
from pliant.methods.tkl.generalized_kernel import blend_identity, inner_kernel
from pliant.methods.tkl.machine import BaseGKL
from pliant.methods.tkl.problem import SaddleProblem
from pliant.methods.tkl.solvers import interior, low_rank
from pliant.methods.tkl.solvers.search import Saddle, solve_given

SUBSET = 2000
"""Number of samples for learning P if the full Gram matrix does not fit."""


@dataclass(frozen=True, eq=False)
class GKLOptions:
    """The parameters of a fit, checked; `name` is that of the estimator, for messages."""

    name: str
    floor: float
    tol: float
    max_iter: int
    max_seconds: float | None
    cache_mb: float
    random_state: int | np.random.RandomState | None
    partition: KMeansPartition | None = None


def fit_options(model: BaseGKL) -> GKLOptions:
    """Collect the parameters of a fit; only TKL has a ``partition``."""
    partition = getattr(model, "partition", None)
    return GKLOptions(
        name=type(model).__name__,
        floor=float(model.floor),
        tol=float(model.tol),
        max_iter=model.max_iter,
        max_seconds=model.max_seconds,
        cache_mb=model.cache_mb,
        random_state=model.random_state,
        partition=None if partition is None else as_partition("partition", partition),
    )


def learn_kernel(
    problem: SVMProblem, family: Kernel, options: GKLOptions, callback: Callback
) -> LearnedFunction:
    """Learn P and the coefficients of one SVM, on all samples or, for a large problem, a subset."""
    saddle = state_saddle_problem(problem, family, options)
    if saddle.fits or len(saddle.points) <= SUBSET:
        result = learn_on_all(saddle, options, callback)
        advice = result.status.value
    else:
        result, advice = _learn_on_subset(saddle, options, callback)
    warning = describe_gap(result, options, advice, callback)
    return learned_function(family, result, options, warning)


def state_saddle_problem(problem: SVMProblem, family: Kernel, options: GKLOptions) -> SaddleProblem:
    """Build the saddle point problem in P and the coefficients of an SVM, on rescaled points."""
    if isinstance(family, Rescaled):
        problem = replace(problem, points=family.rescale(problem.points))
    return SaddleProblem(
        kernel=inner_kernel(family),
        svm=problem,
        cache_mb=options.cache_mb,
        floor=options.floor,
    )


def learn_on_all(saddle: SaddleProblem, options: GKLOptions, callback: Callback) -> Result[Saddle]:
    """Learn P on all samples; with many samples, warm-start from the P of a subset."""
    start, n_svms, m = None, 0, len(saddle.points)
    limits: dict[str, Any] = {"tol": options.tol, "callback": callback}
    if m == 2:
        # All feasible w are multiples of (1, -1), so the best P is the same for all w.
        best = saddle.oracle(np.array([1.0, -1.0]), 0.0).vectors
        return solve_given(saddle, best, **limits)
    limits["max_iter"] = options.max_iter
    if m <= interior.MAX_SAMPLES:
        small = interior.solve(saddle, **limits)
        if small is not None and small.status is not Status.IDLE:
            return small
        n_svms = 0 if small is None else small.n_iter
    if m > 2000:
        # The P of a subset is close to the final P, and steps on the subset are cheap.
        subset = draw_subset(saddle, options, 1000)
        initial = low_rank.solve(subset, **limits | {"tol": max(1e-2, options.tol)})
        start, n_svms = initial.x, n_svms + initial.n_iter
    result = low_rank.solve(saddle, start=start, **limits)
    return replace(result, n_iter=result.n_iter + n_svms)


def _learn_on_subset(
    saddle: SaddleProblem, options: GKLOptions, callback: Callback
) -> tuple[Result[Saddle], str]:
    """Learn P on a subset, then solve SVMs on all samples to certify the gap; return advice too."""
    subset = draw_subset(saddle, options)
    initial = low_rank.solve(subset, tol=options.tol, max_iter=options.max_iter, callback=callback)
    # SVMs on all samples at the subset's P give a gap relative to the optimum over all P
    result = solve_given(saddle, initial.x, tol=options.tol, callback=callback)
    early = "" if initial.status is Status.CONVERGED else f" ({initial.status.value})"
    advice = (
        f"P was learned on {len(subset.points)} of {len(saddle.points)} rows{early}; raise "
        "cache_mb so that the full Gram matrix fits"
    )
    return replace(result, n_iter=result.n_iter + initial.n_iter), advice


def draw_subset(
    saddle: SaddleProblem, options: GKLOptions, count: int | None = None
) -> SaddleProblem:
    """Return the problem on up to `count` random samples (`SUBSET`), with rescaled weights."""
    m, count = len(saddle.points), SUBSET if count is None else count
    if count >= m:
        return saddle
    rows = _draw_rows(saddle.svm.target, count, check_random_state(options.random_state))
    subset = saddle.svm.subset(rows)
    # for k of m samples, C m/k keeps the balance between the losses and the norm
    return replace(saddle, svm=replace(subset, weights=subset.weights * (m / len(rows))))


def _draw_rows(target: Array, count: int, random: np.random.RandomState) -> Indices:
    """Draw about `count` row numbers, sorted; two classes keep their proportions."""
    signs = np.unique(target)
    groups = [np.flatnonzero(target == sign) for sign in signs]
    if len(signs) != 2:
        groups = [np.arange(len(target))]
    # divide `count` in proportion to the group sizes, with at least one row from each
    sizes = [max(1, round(count * len(group) / len(target))) for group in groups]
    rows = [
        random.choice(group, size, replace=False) for group, size in zip(groups, sizes, strict=True)
    ]
    return np.sort(np.concatenate(rows))


def describe_gap(
    result: Result[Saddle], options: GKLOptions, advice: str, callback: Callback
) -> str:
    """Describe a gap above ``tol``; return "" if it is small or a callback ended the fit."""
    late = isinstance(callback, Deadline) and callback.expired
    stopped = result.status is Status.STOPPED and not late
    if stopped or result.gap <= options.tol * abs(result.value):
        return ""
    if late:
        advice = f"the time limit max_seconds = {options.max_seconds} was reached"
    return (
        f"{options.name} stopped after {result.n_iter} support vector machines with a "
        f"relative gap of {result.gap / abs(result.value):.3g}, above tol = {options.tol:g}: "
        f"{advice}"
    )


def learned_function(
    family: Kernel, result: Result[Saddle], options: GKLOptions, warning: str
) -> LearnedFunction:
    """Build the learned kernel k_P and the fitted attributes of one function."""
    saddle, factor = result.certificate, result.x
    assert saddle is not None
    # P = floor I + (1 - floor) F F'. With F = U S V', F F' = (U S)(U S)', where U S has orthogonal
    # columns; their number is the rank of P, which is n_P with a floor.
    if options.floor:
        factor = blend_identity(factor, options.floor)
    U, singular, _ = np.linalg.svd(factor, full_matrices=False)
    kept = singular > (0.0 if options.floor else 1e-8 * singular[0])
    learned: Kernel = inner_kernel(family).with_factor(np.asarray(U[:, kept] * singular[kept]))
    if isinstance(family, Rescaled):
        learned = Rescaled(learned, family.offset, family.width)
    return LearnedFunction(
        kernel=learned,
        beta=saddle.w,
        intercept=saddle.intercept,
        objective=saddle.upper,
        gap=saddle.gap,
        n_iter=result.n_iter,
        history=result.history,
        attributes={"lower_bound_": saddle.lower},
        warning=warning,
    )
