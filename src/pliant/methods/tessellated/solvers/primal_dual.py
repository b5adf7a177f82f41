"""A kernel-learning saddle point, solved by alternating proximal steps of P and of w.

Algorithm 4 of Talitckii, Colbert and Peet (the accelerated primal-dual method of Hamedani and
Aybat): with x_k = D(w_k)/2,

    P_(k+1) = projection of P_k + sigma_k ((1 + theta_k) x_k - theta_k x_(k-1))
    w_(k+1) = argmax kappa(w) - 1/2 w'K_P w - |w - w_k|^2/(2 tau_k),    P = P_(k+1),

where the projection onto {P PSD, tr P = n_P} is exact, by sorted eigenvalues (Algorithm 5 bisects,
with its update reversed). The steps follow theta, sigma and tau of the paper; its constants L
exceed the true ones by orders of magnitude, so they are estimated from D at the first w.

This solver is never the fastest; it is kept for comparison, as in the paper.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pliant.core.linalg import project_spectraplex
from pliant.core.progress import Result
from pliant.core.typing import Array
from pliant.methods.tessellated.solvers.search import Prox, Saddle, SaddleProblem, Search, factor_of

STRENGTH = 0.01
"""mu tau_0: the strong concavity in w that the step sizes assume."""

FADING = 0.9
"""The estimate of how fast D(w) changes decays by this factor, unless a step shows more."""

CHECK = 5
"""Number of steps between two SVMs without a proximal term, whose bounds are tighter."""


def solve(problem: SaddleProblem, start: Array | None = None, **options: Any) -> Result[Saddle]:
    """Learn P by primal-dual steps; parameters as in `low_rank.solve`, by default from P = I."""
    search = Search(problem, **options)
    advance(search, np.eye(problem.size) if start is None else start)
    return search.result()


def advance(search: Search, factor: Array) -> None:
    """Take steps until the search is over."""
    size = search.problem.size
    factor = search.problem.scaled(factor)
    answer = search.at(factor)
    while search.status is None and not np.linalg.norm(answer.matrix) > 0.0:
        # tr(P D(w)) = w'K_P w: where D(w) = 0 no P changes the value at w, so P stays optimal to
        # the accuracy of w, and the steps, which are as long as D(w) is small, have no direction.
        # The norm is also zero where its squares are too small for floats.
        answer = search.at(factor)
    if search.status is not None:
        return
    w, x = answer.w, 0.5 * answer.matrix
    norm = float(np.linalg.norm(w))
    bend = 2.0 * float(np.linalg.norm(x)) / norm  # how fast D(w)/2 changes with w
    tau, sigma = norm / (np.sqrt(2.0) * size * bend), size / (np.sqrt(2.0) * norm * bend)
    strength, ratio = STRENGTH / tau, sigma / tau
    P: Array = factor @ factor.T
    previous, last_sigma = x, sigma
    step = 0
    while search.status is None:
        sigma = ratio * tau
        theta = min(1.0, last_sigma / sigma)
        P = project_spectraplex(P + sigma * ((1.0 + theta) * x - theta * previous), size)
        search.w = w
        answer = search.at(factor_of(P), Prox(1.0 / tau, w), promise=0.0)
        change, seen = float(np.linalg.norm(answer.w - w)), bend
        w, previous, x, last_sigma = answer.w, x, 0.5 * answer.matrix, sigma
        if change > 0.0:
            bend = max(FADING * seen, float(np.linalg.norm(x - previous)) / change)
        grown = ratio * (1.0 + strength * tau)
        tau *= float(np.sqrt(ratio / grown)) * seen / bend
        ratio = grown
        step += 1
        if step % CHECK == 0 and search.status is None:
            search.at(factor_of(P))
