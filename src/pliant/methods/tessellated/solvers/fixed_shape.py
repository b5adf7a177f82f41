"""A kernel-learning saddle point with P given: one SVM, and the certificate.

Where P has a low rank, w is arbitrary in the directions that K_P does not reach, and bounds the
optimum badly. Where that leaves the gap open, SVMs at (1 - s) P + s I give better bounds.
"""

from __future__ import annotations

from typing import Any

from pliant.core.progress import Result
from pliant.core.typing import Array
from pliant.methods.tessellated.generalized_kernel import blended
from pliant.methods.tessellated.solvers.search import (
    INNER_SHARE,
    Saddle,
    SaddleProblem,
    Search,
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
    _solve_given(search, factor)
    for share in BLENDS:
        if search.status is None:
            _solve_blend(search, blended(factor, share))
    return search.result()


# Each function below makes an SVM of its own, with its own memory for kernel values, and frees it
# on return: there is never more than one.


def _solve_given(search: Search, factor: Array) -> None:
    """Solve the SVM at the given P, first coarsely."""
    dual = search.problem.svm(factor)
    search.of_dual(dual, dual, factor)
    if search.status is None:
        search.of_dual(dual, dual, factor, accuracy=INNER_SHARE * search.tol * search.upper)


def _solve_blend(search: Search, factor: Array) -> None:
    """Solve the SVM at another P, as accurately as its bound is worth."""
    dual = search.problem.svm(factor)
    search.of_dual(dual, dual, factor, accuracy=search.accuracy())
