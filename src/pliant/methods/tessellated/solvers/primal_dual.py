"""A kernel-learning saddle point, solved by alternating proximal steps of P and of w.

Algorithm 4 of Talitckii, Colbert and Peet (the accelerated primal-dual method of Hamedani and
Aybat): with x_k = D(w_k)/2,

    P_(k+1) = projection of P_k + sigma_k ((1 + theta_k) x_k - theta_k x_(k-1))
    w_(k+1) = argmax kappa(w) - 1/2 w'K_P w - |w - w_k|^2/(2 tau_k),    P = P_(k+1),

the projection onto {P PSD, tr P = n_P} exact, by sorted eigenvalues, where Algorithm 5 bisects
(with its update reversed). The steps follow theta, sigma and tau of the paper; its constants L
exceed the true ones by orders of magnitude, so they are estimated from D at the first w.

Never the fastest: kept, as in the paper, to compare with.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pliant.core.linalg import project_spectraplex
from pliant.core.progress import Progress, Result
from pliant.core.typing import Array
from pliant.methods.svm import smo
from pliant.methods.tessellated.solvers.saddle import Saddle, SaddleProblem, factor_of
from pliant.methods.tessellated.solvers.search import Prox, Search

__all__ = ["advance", "solve"]

STRENGTH = 0.01
"""mu tau_0: the strong concavity in w that the steps count on."""

FADING = 0.9
"""The estimate of how fast D(w) changes falls to this share a step, unless a step shows more."""

CHECK = 5
"""Steps between two machines without proximal term, whose bounds are tighter."""


def solve(
    problem: SaddleProblem,
    start: Array | None = None,
    *,
    inner: Callable[..., Result[Any]] = smo.solve,
    tol: float = 1e-3,
    max_iter: int = 500,
    callback: Callable[[Progress], Any] | None = None,
) -> Result[Saddle]:
    """Learn P by accelerated primal-dual steps; as in `low_rank.solve`, start P = I."""
    search = Search(problem, inner, tol, max_iter, callback)
    advance(search, np.eye(problem.size) if start is None else start)
    return search.result()


def advance(search: Search, factor: Array) -> None:
    """Take steps until the search is over."""
    size = search.problem.size
    factor = search.problem.scaled(factor)
    answer = search.at(factor)
    while search.status is None and not answer.oracle.matrix.any():
        # tr(P D(w)) = w'K_P w: where D(w) = 0 no P changes the value at w, so P stays optimal to
        # the accuracy of w, and the steps, which are as long as D(w) is small, have no direction.
        answer = search.at(factor)
    if search.status is not None:
        return
    w, x = answer.w, 0.5 * answer.oracle.matrix
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
        w, previous, x, last_sigma = answer.w, x, 0.5 * answer.oracle.matrix, sigma
        if change > 0.0:
            bend = max(FADING * seen, float(np.linalg.norm(x - previous)) / change)
        grown = ratio * (1.0 + strength * tau)
        tau *= float(np.sqrt(ratio / grown)) * seen / bend
        ratio = grown
        step += 1
        if step % CHECK == 0 and search.status is None:
            search.at(factor_of(P))
