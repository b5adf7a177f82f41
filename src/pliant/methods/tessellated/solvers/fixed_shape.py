"""A kernel-learning saddle point with P given: one SVM, and the certificate.

Where P has a low rank, w is arbitrary in the directions that K_P does not reach, and bounds the
optimum badly. Where that leaves the gap open, SVMs at (1 - s) P + s I give better bounds.
"""

from __future__ import annotations

from typing import Any

from pliant.core.progress import Result
from pliant.core.typing import Array
from pliant.methods.tessellated.solvers.search import (
    INNER_SHARE,
    Saddle,
    SaddleProblem,
    Search,
    blended,
)

BLENDS = (0.1, 0.3)
"""Shares s of the identity, in the order in which they are tried."""


def solve(problem: SaddleProblem, start: Array, **options: Any) -> Result[Saddle]:
    """Solve the SVM at P = start start', learned elsewhere; bound its distance from the optimum.

    Parameters and result are those of `low_rank.solve`, without `max_iter` and `prox`. The gap is
    that to the best of all P, whichever points P was learned on; the status is CONVERGED only if
    it is within `tol`.
    """
    search = Search(problem, max_iter=2 + len(BLENDS), **options)
    factor = problem.scaled(start)
    dual = problem.svm(factor)
    search.of_dual(dual, dual, factor)
    if search.status is None:
        search.of_dual(dual, dual, factor, accuracy=INNER_SHARE * search.tol * search.upper)
    for share in BLENDS:
        if search.status is None:
            other = blended(factor, share)
            dual = problem.svm(other)
            search.of_dual(dual, dual, other, accuracy=search.accuracy())
    return search.result()
