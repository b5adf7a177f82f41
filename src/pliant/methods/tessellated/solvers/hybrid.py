"""Frank-Wolfe steps first, then accelerated primal-dual ones: Algorithm 6 of the TKL paper."""

from __future__ import annotations

from typing import Any

import numpy as np

from pliant.core.progress import Result
from pliant.core.typing import Array
from pliant.methods.tessellated.solvers import frank_wolfe, primal_dual
from pliant.methods.tessellated.solvers.search import Saddle, SaddleProblem, Search

HAND_OVER = 0.02
"""Relative gap at which the primal-dual steps take over."""


def solve(problem: SaddleProblem, start: Array | None = None, **options: Any) -> Result[Saddle]:
    """Learn P by both methods; parameters as in `low_rank.solve`, by default from P = I."""
    search = Search(problem, **options)
    first = np.eye(problem.size) if start is None else start
    frank_wolfe.advance(search, first, max(search.tol, HAND_OVER))
    if search.status is None and search.factor is not None:
        primal_dual.advance(search, search.factor)
    return search.result()
