"""Learning one function from all points together.

`pliant.methods.dank.estimators` makes the fitted attributes of it.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from pliant.core.progress import Result, Status
from pliant.core.typing import Array, Callback
from pliant.core.validation import stack_level
from pliant.kernels.base import Kernel
from pliant.methods.dank import sequential
from pliant.methods.dank.kernel import HadamardKernel, PartitionedKernel
from pliant.methods.dank.problem import adapted_dual, automatic_eta
from pliant.methods.svm import smo
from pliant.methods.svm.dual import Certificate, MarginDual, best_multiple, better_start
from pliant.methods.svm.estimators import Task, WarmStart, finite_gram
from pliant.methods.svm.parts import Partition, PartResult
from pliant.methods.svm.rows import CachedRows, DenseRows, Rows
from pliant.methods.svm.smo.steps import project_box_hyperplane

PRECISIONS = ("auto", "float32", "float64")

SAMPLE = 1000
"""Points on which a kernel is checked if its Gram matrix is not kept whole."""

FEW = 64
"""Points between which kernel values are computed to choose the precision."""

FLAT = 1e-2
"""A kernel is flat where its values differ from k(x, x) by less than this share of it."""


@dataclass(frozen=True, eq=False)
class Solution:
    """One learned function.

    `kernel` is the learned kernel, with the coefficients of all samples, and `intercept` the b of
    the decision function, in the units of the task. `result` is the outcome of the solver; it
    counts the steps of the last problem only, whereas `n_iter` includes those for eta="auto". A fit
    with another C may start from the coefficients `path_start`, shape (n_samples,). `constant` is
    the part of the objective that no coefficient changes. `partition` and `part_results` belong to
    functions that were learned in parts.
    """

    kernel: HadamardKernel | PartitionedKernel
    intercept: float
    result: Result[Certificate]
    n_iter: int
    path_start: Array
    constant: float = 0.0
    partition: Partition | None = None
    part_results: Sequence[PartResult] = ()


def gram_rows(
    kernel: Kernel, points: Array, *, cache_mb: float, dtype: str, whole: int = 0
) -> Rows:
    """Return the rows of the Gram matrix of some points, shape (n, d).

    The matrix of up to `whole` points is kept whole. Otherwise rows are computed on demand, with
    `cache_mb` of memory, in the precision `dtype`; "auto" is float32 if that loses no digits: see
    `_fits_float32`.
    """
    if len(points) <= whole:
        return DenseRows(finite_gram(kernel, points), None if dtype == "auto" else dtype)
    if dtype == "auto":
        dtype = "float32" if _fits_float32(kernel, points) else "float64"
    return CachedRows(kernel, points, cache_mb, dtype)


def _fits_float32(kernel: Kernel, points: Array) -> bool:
    """Whether all k(x, x) are equal, and k between most points clearly smaller, on a sample.

    Values of very different size would cancel. Of a flat kernel only the differences matter, and
    rounding would hide them.
    """
    sizes = kernel.diag(points[:SAMPLE])
    top = float(np.abs(sizes).max())
    some = np.unique(np.linspace(0, len(points) - 1, FEW).astype(np.intp))
    typical = float(np.median(kernel(points[some])))
    return bool(np.ptp(sizes) <= 1e-6 * top and top - typical >= FLAT * top)


def solve_whole(
    estimator: Any, task: Task, start: WarmStart | None, callback: Callback
) -> Solution:
    """Learn one function from all points together.

    The parameters of the estimator are read; nothing is written to it. `start` is the solution for
    another C. `callback` is called with a `Progress` between slices of work; returning True stops
    the solver.
    """
    plain = estimator._margin(task)(estimator._rows(task))
    if estimator.eta != "auto":
        eta = float(estimator.eta) * estimator.eta_scale
        return _solve_adapted(estimator, task, plain, eta, start, callback)
    first = _solve_dual(estimator, plain, start, callback)
    if first.status is Status.STOPPED:
        return _solution(estimator, task, first, np.inf)
    eta = automatic_eta(first.x) * estimator.eta_scale
    adapted = _solve_adapted(estimator, task, plain, eta, WarmStart(first.x), callback)
    # The plain SVM of another C starts from the plain SVM of this one.
    return replace(adapted, n_iter=first.n_iter + adapted.n_iter, path_start=first.x)


def _solve_adapted(
    estimator: Any,
    task: Task,
    plain: MarginDual,
    eta: float,
    start: WarmStart | None,
    callback: Callback,
) -> Solution:
    """Solve the problem for a given eta."""
    problem = adapted_dual(plain, eta, **estimator._rule(task))
    if isinstance(problem, MarginDual):
        return _solution(estimator, task, _solve_dual(estimator, problem, start, callback), eta)
    result = sequential.solve(
        problem, _feasible(problem.quartic, start)[0],
        tol=estimator.tol, max_iter=estimator.max_iter, callback=callback,
    )  # fmt: skip
    warn_if_open(estimator, result, callback)
    return _solution(estimator, task, result, eta, problem.constant)


def _solve_dual(
    estimator: Any, dual: MarginDual, start: WarmStart | None, callback: Callback
) -> Result[Certificate]:
    """Solve a margin dual by two-coordinate ascent."""
    beta, fields = _feasible(dual, start)
    result = smo.solve(
        dual, beta, fields=fields,
        tol=estimator.tol, max_iter=estimator.max_iter, callback=callback,
    )  # fmt: skip
    warn_if_open(estimator, result, callback)
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
    estimator: Any, task: Task, result: Result[Certificate], eta: float, constant: float = 0.0
) -> Solution:
    """Return the solution for the coefficients of all points."""
    assert result.certificate is not None
    eta = eta if result.x.any() else np.inf
    kernel = HadamardKernel(
        task.kernel, task.points, result.x, eta, estimator.extension, estimator.n_neighbors,
        **estimator._rule(task),
    )  # fmt: skip
    rows = task.all_rows
    if rows is not None and rows.gram.dtype == np.float64:  # the precision of predictions
        kernel.keep(getattr(result.certificate, "spectrum", None))
    constant = constant if np.isfinite(eta) else 0.0
    intercept = result.certificate.intercept
    return Solution(kernel, intercept, result, result.n_iter, result.x, constant)


def warn_if_open(estimator: Any, result: Result[Any], callback: Callback, about: str = "") -> None:
    """Warn if the gap is larger than was asked for; `about` says what stopped early."""
    late = result.status is Status.STOPPED and getattr(callback, "expired", False)
    if result.status in (Status.CONVERGED, Status.UNCERTIFIED):
        return
    if result.status is Status.STOPPED and not late:
        return
    asked = estimator.tol * (1.0 + abs(result.value))
    advice = f"max_seconds = {estimator.max_seconds} came first" if late else result.status.advice
    warnings.warn(
        f"{type(estimator).__name__} stopped after {result.n_iter} steps{about} with a gap of "
        f"{result.gap:.3g}, where {asked:.3g} was asked for: {advice}",
        ConvergenceWarning,
        stacklevel=stack_level(),
    )
