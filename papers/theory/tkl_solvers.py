"""Algorithms 2, 4 and 6 of the TKL paper: Frank-Wolfe, accelerated primal-dual, and both in turn.

All learn the P of `pliant.methods.tessellated.problem`, from P = I by default, and take the options
of `low_rank.solve`. With two repairs of Algorithm 2: P moves towards n_P v v' with v the
eigenvector of the largest eigenvalue of D(w), not of the smallest; and the line search is exact.
K_P is linear in the step, and the slope of the objective along it is -<D(w), S - P>/2 at the w of
that step (Danskin). Algorithm 4 (after Hamedani and Aybat) has, with x_k = D(w_k)/2,

    P_(k+1) = projection of P_k + sigma_k ((1 + theta_k) x_k - theta_k x_(k-1))
    w_(k+1) = argmax kappa(w) - 1/2 w'K_P w - |w - w_k|^2/(2 tau_k),    P = P_(k+1),

where the projection onto {P PSD, tr P = n_P} is exact, by sorted eigenvalues (Algorithm 5 bisects,
with its update reversed). The steps follow theta, sigma and tau of the paper; its constants L
exceed the true ones by orders of magnitude, so they are estimated from D at the first w.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.linalg

from pliant.core.typing import Array
from pliant.kernels import TessellatedKernel
from pliant.methods.tessellated.problem import KernelLearning
from pliant.methods.tessellated.solvers import low_rank
from pliant.methods.tessellated.solvers.search import Prox, Search, factor_of

FLAT, TRIES = 0.1, 8
"""A line search ends where the slope has fallen to this share, or after so many SVMs."""

HAND_OVER = 0.02
"""Relative gap at which the primal-dual steps take over in Algorithm 6."""

STRENGTH = 0.01
"""mu tau_0: the strong concavity in w that the step sizes assume."""

FADING = 0.9
"""The estimate of how fast D(w) changes decays by this factor, unless a step shows more."""

CHECK = 5
"""Number of steps between two SVMs without a proximal term, whose bounds are tighter."""


def frank_wolfe(problem: KernelLearning, **options: Any) -> Any:
    """Learn P by Algorithm 2."""
    search = Search(problem, **options)
    _frank_wolfe(search, search.tol)
    return search.result()


def primal_dual(problem: KernelLearning, **options: Any) -> Any:
    """Learn P by Algorithm 4."""
    search = Search(problem, **options)
    _primal_dual(search, np.eye(problem.size))
    return search.result()


def hybrid(problem: KernelLearning, **options: Any) -> Any:
    """Learn P by Algorithm 6: Frank-Wolfe steps first, then accelerated primal-dual ones."""
    search = Search(problem, **options)
    _frank_wolfe(search, max(search.tol, HAND_OVER))
    if search.status is None and search.factor is not None:
        _primal_dual(search, search.factor)
    return search.result()


SOLVERS: dict[str, Callable[..., Any]] = {
    "low_rank": low_rank.solve, "frank_wolfe": frank_wolfe, "primal_dual": primal_dual,
    "hybrid": hybrid,
}  # fmt: skip
"""The solvers by name."""


def learning(
    X: Array, margin: Any, kind: type[KernelLearning] = KernelLearning, delta: float = 0.5,
    degree: int = 1,
) -> Any:  # fmt: skip
    """State the saddle point on rows in [0, 1], in the family on the box [-delta, 1 + delta]."""
    return kind(TessellatedKernel(-delta, 1.0 + delta, degree, "x"), X, margin)


def _frank_wolfe(search: Search, tol: float) -> None:
    """Take steps until the relative gap is `tol`, or the search is over."""
    problem, step = search.problem, 1.0
    factor = problem.scaled(np.eye(problem.size))
    gram = problem.gram(factor)
    answer = search.at(factor, gram=gram)
    while search.status is None and search.gap > tol * abs(search.upper):
        vertex = np.sqrt(problem.size) * answer.vectors[:, :1]
        change = problem.gram(vertex) - gram
        step, answer = _line_search(search, gram, change, factor, vertex, answer, step)
        gram += step * change
        factor = _towards(factor, vertex, step)


def _line_search(
    search: Search, gram: Array, change: Array, factor: Array, vertex: Array, answer: Any,
    step: float,
) -> tuple[float, Any]:  # fmt: skip
    """Return the step in [0, 1] that minimises the objective, and the SVM there.

    Regula falsi with a margin; if the slope at the upper end is unknown, that end is next.
    """

    def slope(at: Any) -> float:
        inner = (np.vdot(each, at.matrix @ each) for each in (vertex, factor))
        return -0.5 * float(next(inner) - next(inner))

    first = slope(answer)
    low, slope_low, high, slope_high = 0.0, first, 1.0, np.nan
    for _ in range(TRIES):
        here = _towards(factor, vertex, step)
        answer = search.at(here, gram=gram + step * change, promise=-first * step)
        found = slope(answer)
        flat = search.status is not None or abs(found) <= FLAT * abs(first)
        if flat or (found < 0.0 and step >= 1.0):
            break
        if found < 0.0:
            low, slope_low = step, found
        else:
            high, slope_high = step, found
        if np.isnan(slope_high):
            step = high
            continue
        rise = slope_high - slope_low  # > 0 but for rounding
        crossing = low - slope_low * (high - low) / rise if rise > 0.0 else 0.5 * (low + high)
        margin = 0.1 * (high - low)
        step = float(np.clip(crossing, low + margin, high - margin))
    return step, answer


def _towards(factor: Array, vertex: Array, step: float) -> Array:
    """Return a factor of (1 - step) P + step S, of at most 2 n_P columns."""
    longer = np.hstack([np.sqrt(1.0 - step) * factor, np.sqrt(step) * vertex])
    return longer if longer.shape[1] <= 2 * len(longer) else factor_of(longer @ longer.T)


def _primal_dual(search: Search, factor: Array) -> None:
    """Take steps until the search is over."""
    size = search.problem.size
    factor = search.problem.scaled(factor)
    answer = search.at(factor)
    if search.status is not None:
        return
    w, x = answer.w, 0.5 * answer.matrix
    norm = float(np.linalg.norm(w))
    bend = 2.0 * float(np.linalg.norm(x)) / norm  # how fast D(w)/2 changes with w
    tau, sigma = norm / (np.sqrt(2.0) * size * bend), size / (np.sqrt(2.0) * norm * bend)
    strength, ratio = STRENGTH / tau, sigma / tau
    P, previous, last_sigma, step = factor @ factor.T, x, sigma, 0
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


def project_simplex(point: Array, total: float = 1.0) -> Array:
    """Return the nearest x to `point` with x >= 0 and sum(x) = `total` > 0."""
    point = point - point.max()  # the same x, from smaller numbers
    falling = np.sort(point)[::-1]
    thresholds = (np.cumsum(falling) - total) / np.arange(1, point.size + 1)
    kept = np.flatnonzero(falling > thresholds)[-1]
    return np.maximum(point - thresholds[kept], 0.0)


def project_spectraplex(matrix: Array, trace: float = 1.0) -> Array:
    """Return the nearest PSD matrix of a trace > 0, by the projection of the eigenvalues."""
    values, vectors = scipy.linalg.eigh(matrix)
    half = vectors * np.sqrt(project_simplex(values, trace))
    return half @ half.T
