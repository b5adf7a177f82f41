"""Learning one function from all points together.

`pliant.methods.hadamard.estimators` makes the fitted attributes of it.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, TypeAlias

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from pliant.core.progress import Result, Status
from pliant.core.typing import Array, Callback
from pliant.core.validation import stack_level
from pliant.methods.hadamard import sequential
from pliant.methods.hadamard.kernel import HadamardKernel
from pliant.methods.hadamard.problem import adapted_dual, automatic_eta
from pliant.methods.hadamard.solution import Solution
from pliant.methods.svm import smo
from pliant.methods.svm.dual import Certificate, MarginDual, best_multiple, better_start
from pliant.methods.svm.rows import DenseRows
from pliant.methods.svm.smo.steps import project_box_hyperplane
from pliant.methods.svm.task import Task, WarmStart

Ascend: TypeAlias = Callable[[MarginDual, WarmStart | None, str], Result[Certificate]]
"""Solves a margin dual from a start; the text is its stage, "plain" or "adapted"."""


def solve_whole(
    estimator: Any,
    task: Task,
    start: WarmStart | None,
    callback: Callback,
    ascend: Ascend | None = None,
) -> Solution:
    """Learn one function from all points together.

    The parameters of the estimator are read; nothing is written to it. `start` is the solution for
    another C. `callback` is called with a `Progress` between slices of work; returning True stops
    the solver. `ascend` solves the margin duals, by default as `solve_dual` does.
    """
    if ascend is None:

        def ascend(dual: MarginDual, start: WarmStart | None, stage: str) -> Result[Certificate]:
            return solve_dual(estimator, dual, start, callback)

    plain = estimator._margin(task)(estimator._rows(task))
    if estimator.eta != "auto":
        eta = float(estimator.eta) * estimator.eta_scale
        return _solve_adapted(estimator, task, plain, eta, start, callback, ascend)
    first = ascend(plain, start, "plain")
    if first.status is Status.STOPPED:
        return _solution(estimator, task, first, np.inf, plain.unit)
    eta = automatic_eta(first.x) * estimator.eta_scale
    begin = WarmStart(first.x)
    adapted = _solve_adapted(estimator, task, plain, eta, begin, callback, ascend)
    # The plain SVM of another C starts from the plain SVM of this one.
    return replace(adapted, n_iter=first.n_iter + adapted.n_iter, path_start=first.x)


def _solve_adapted(
    estimator: Any,
    task: Task,
    plain: MarginDual,
    eta: float,
    start: WarmStart | None,
    callback: Callback,
    ascend: Ascend,
) -> Solution:
    """Solve the problem for a given eta."""
    problem, unit = adapted_dual(plain, eta, **estimator._rule(task)), plain.unit
    if isinstance(problem, MarginDual):
        return _solution(estimator, task, ascend(problem, start, "adapted"), eta, unit)
    result = sequential.solve(
        problem, _feasible(problem.quartic, start)[0], inner=partial(smo.solve, unit=unit),
        tol=estimator.tol, max_iter=estimator.max_iter, callback=callback, unit=unit,
    )  # fmt: skip
    _warn_if_open(estimator, result, callback, unit)
    return _solution(estimator, task, result, eta, unit, problem.constant)


def solve_dual(
    estimator: Any,
    dual: MarginDual,
    start: WarmStart | None,
    callback: Callback,
    keep: Callable[[Array], object] | None = None,
) -> Result[Certificate]:
    """Solve a margin dual by two-coordinate ascent; parameters as in `pliant.methods.svm.smo`."""
    beta, fields = _feasible(dual, start)
    unit = dual.unit
    result = smo.solve(
        dual, beta, fields=fields, keep=keep, unit=unit,
        tol=estimator.tol, max_iter=estimator.max_iter, callback=callback,
    )  # fmt: skip
    _warn_if_open(estimator, result, callback, unit)
    return result


def _feasible(
    dual: MarginDual, start: WarmStart | None
) -> tuple[Array, tuple[Array, Array] | None]:
    """Return a feasible start, and its fields if they are known."""
    if start is None:
        return np.zeros_like(dual.linear), None
    if start.growth == 1.0:
        beta = project_box_hyperplane(start.beta, dual.lower, dual.upper)
        return best_multiple(dual, beta)
    beta = better_start(dual, start.beta, start.growth)
    return project_box_hyperplane(beta, dual.lower, dual.upper), None


def _solution(
    estimator: Any,
    task: Task,
    result: Result[Certificate],
    eta: float,
    unit: float,
    constant: float = 0.0,
) -> Solution:
    """Return the solution for the coefficients of all points."""
    assert result.certificate is not None
    eta = eta if result.x.any() else np.inf
    kernel = HadamardKernel(
        task.kernel, task.points, result.x, eta, estimator.extension, estimator.n_neighbors,
        **estimator._rule(task),
    )  # fmt: skip
    known = getattr(result.certificate, "spectrum", None)
    kernel.prepare(known if _is_double(task.all_rows) else None)
    constant = constant if np.isfinite(eta) else 0.0
    intercept = result.certificate.intercept
    return Solution(kernel, intercept, result, result.n_iter, result.x, unit, constant)


def _is_double(rows: DenseRows | None) -> bool:
    """Whether the Gram matrix is kept in the precision of predictions."""
    return rows is not None and rows.gram.dtype == np.float64


def _warn_if_open(
    estimator: Any, result: Result[Certificate], callback: Callback, unit: float
) -> None:
    """Warn if the gap is larger than was asked for."""
    late = result.status is Status.STOPPED and getattr(callback, "expired", False)
    if not late and result.status not in (Status.MAX_ITER, Status.STALLED):
        return
    asked = estimator.tol * (unit + abs(result.value))
    advice = f"max_seconds = {estimator.max_seconds} came first" if late else result.status.advice
    warnings.warn(
        f"{type(estimator).__name__} stopped after {result.n_iter} steps with a gap of "
        f"{result.gap:.3g}, where {asked:.3g} was asked for: {advice}",
        ConvergenceWarning,
        stacklevel=stack_level(),
    )
