"""A kernel-learning saddle point with P given: one machine, and the certificate.

The w of a P of low rank is anything in the directions that K_P does not reach, and bounds the
optimum badly. Where that leaves the gap open, machines at (1 - s) P + s I give better bounds.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pliant.core.progress import Progress, Result
from pliant.core.typing import Array
from pliant.methods.svm import smo
from pliant.methods.tessellated.solvers.saddle import Saddle, SaddleProblem, blended
from pliant.methods.tessellated.solvers.search import INNER_SHARE, Search

__all__ = ["solve"]

BLENDS = (0.1, 0.3)
"""Shares s of the identity, tried in this order."""


def solve(
    problem: SaddleProblem,
    start: Array,
    *,
    inner: Callable[..., Result[Any]] = smo.solve,
    tol: float = 1e-3,
    callback: Callable[[Progress], Any] | None = None,
) -> Result[Saddle]:
    """Solve the machine at the P of a factor, learned elsewhere; bound its distance from the best.

    Parameters and result as in `low_rank.solve`. The gap holds for all P, whatever was learned on
    which points; the status is CONVERGED only if that gap is within `tol`.
    """
    search = Search(problem, inner, tol, 2 + len(BLENDS), callback)
    factor = problem.scaled(start)
    dual = problem.machine(factor)
    search.of_dual(dual, dual, factor)
    if search.status is None:
        search.of_dual(dual, dual, factor, accuracy=INNER_SHARE * tol * search.upper)
    for share in BLENDS:
        if search.status is None:
            there = blended(factor, share)
            dual = problem.machine(there)
            search.of_dual(dual, dual, there, accuracy=search.accuracy())
    return search.result()
