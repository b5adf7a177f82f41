"""Frank-Wolfe first, accelerated primal-dual steps then: Algorithm 6 of the TKL paper."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pliant.core.progress import Progress, Result
from pliant.core.typing import Array
from pliant.methods.svm import smo
from pliant.methods.tessellated.solvers import frank_wolfe, primal_dual
from pliant.methods.tessellated.solvers.saddle import Saddle, SaddleProblem
from pliant.methods.tessellated.solvers.search import Search

__all__ = ["solve"]

HAND_OVER = 0.02
"""The relative gap at which the second takes over."""


def solve(
    problem: SaddleProblem,
    start: Array | None = None,
    *,
    inner: Callable[..., Result[Any]] = smo.solve,
    tol: float = 1e-3,
    max_iter: int = 500,
    callback: Callable[[Progress], Any] | None = None,
) -> Result[Saddle]:
    """Learn P by both methods, one after the other; as in `low_rank.solve`, start P = I."""
    search = Search(problem, inner, tol, max_iter, callback)
    first = np.eye(problem.size) if start is None else start
    frank_wolfe.advance(search, first, max(tol, HAND_OVER))
    if search.status is None and search.factor is not None:
        primal_dual.advance(search, search.factor)
    return search.result()
