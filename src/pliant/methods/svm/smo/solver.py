"""Sequential minimal optimisation with a quartic term, warm start and active sets.

    maximise  h(beta) = p'beta - epsilon |beta|_1 - 1/2 beta'K beta - (c/4) (beta^2)'(K o K)(beta^2)
    subject to  lower <= beta <= upper,  1'beta = 0

Each step moves weight from one coordinate, j, to another, i. Along e_i - e_j the objective is
concave, a quartic with kinks at zero, and is maximised exactly. i is the steepest ascent, j the
largest second-order gain (Fan, Chen and Lin 2005, with the curvature of the quartic term).

Between rounds, coordinates that are in no violating pair are set aside, and if few are left, their
square Gram is copied into a compact block, where a step is cheaper; every round ends with a look
at all coordinates and a certificate. Where the Gram is not kept whole, there are only blocks: the
worst violators and free coordinates, as many as `rows.room` allows. The pair of the largest
violation is always among them, so the first step of a block is as good as one on all coordinates.
The path depends on the data only, never on the clock.
Cost: O(n) a step and some tens of steps a support vector, so between n^2 and n^3.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from pliant.core.result import Progress, Result
from pliant.core.typing import Array
from pliant.methods.svm.smo.block import CertifiedIntercept, TwoCoordinateProblem
from pliant.methods.svm.smo.projections import project_box_hyperplane
from pliant.methods.svm.smo.rounds import Run

__all__ = ["TwoCoordinateProblem", "solve"]

Proof = TypeVar("Proof", bound=CertifiedIntercept)


def solve(
    problem: TwoCoordinateProblem[Proof],
    start: Array | None = None,
    *,
    tol: float = 1e-4,
    violation: float | None = None,
    max_iter: int = -1,
    callback: Callable[[Progress], Any] | None = None,
    fields: tuple[Array, Array] | None = None,
    keep: Callable[[Array], object] | None = None,
) -> Result[Proof]:
    """Maximise a margin dual to a certified gap.

    Parameters
    ----------
    problem : TwoCoordinateProblem
        Usually a `pliant.methods.svm.dual.MarginDual`.
    start : array of shape (n,), optional
        Where to begin; projected onto the feasible set. Zero if not given.
    tol : float
        Stop when gap <= tol (1 + abs(h)); h(0) = 0. Where the problem has no certificate, stop
        when no pair of coordinates violates the optimality conditions by more than `tol`.
    violation : float, optional
        Stop at this violation instead, whatever the gap (as libsvm does).
    max_iter : int
        Steps at most; -1 for no limit.
    callback : callable, optional
        Called with a `Progress` after each slice of at most some hundredths of a second, and
        between blocks of kernel values; returning True stops the solver at the last certified
        point, or at the present one if that takes no kernel values.
    fields : pair of arrays of shape (n,), optional
        What `problem.fields` says of a feasible `start`, if that is known: it need not be computed.
    keep : callable, optional
        Called with the feasible beta of each check; a run that is cut off may start from the last.

    Returns
    -------
    Result
        `x` is beta; `certificate` holds the intercept and the decision values.
    """
    if violation is None and not problem.psd:
        violation = tol
    if fields is None or start is None:
        start = _feasible(problem, start)
    run = Run(problem, start, max_iter, callback, fields)
    while True:
        certificate, status = run.check(tol, violation)
        if keep is not None:
            keep(run.beta)
        if status is not None:
            break
        run.improve(violation or 0.0)
    return Result(
        x=run.beta,
        value=certificate.value,
        gap=certificate.gap,
        n_iter=run.n_iter,
        status=status,
        history=run.history,
        certificate=certificate,
    )


def _feasible(problem: TwoCoordinateProblem[Any], start: Array | None) -> Array:
    if start is None:
        return np.zeros(len(problem.rows))
    if start.shape != problem.linear.shape:
        raise ValueError(f"expected a start of shape {problem.linear.shape}, got {start.shape}")
    return project_box_hyperplane(start, problem.lower, problem.upper)
