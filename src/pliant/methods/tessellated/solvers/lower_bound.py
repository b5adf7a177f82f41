"""The best lower bound that the machines of a search give together.

kappa(w) - n_P/2 lambda_max(D(w)) is concave in w, and steep where K_P does not reach: the w of a
good P can give a bad bound. Between it and the w of the best bound so far there is a better one.
D is quadratic, so that one more D, of their sum, tells D along the whole segment.
"""

from __future__ import annotations

from typing import NamedTuple

from scipy.optimize import minimize_scalar

from pliant.core.typing import Array
from pliant.methods.tessellated.solvers.saddle import SaddleProblem

__all__ = ["Lower", "improved"]

TRIES = 8
"""Points of the segment at which the bound is looked at."""


class Lower(NamedTuple):
    """A feasible w with its bound.

    Attributes
    ----------
    value : float
        The bound.
    w : array of shape (m,)
    gain : float
        At most kappa(w).
    matrix : array of shape (n_P, n_P)
        D(w).
    """

    value: float
    w: Array
    gain: float
    matrix: Array


def improved(problem: SaddleProblem, best: Lower, new: Lower) -> Lower:
    """Return the better of two lower bounds, or a still better one from between them."""
    cross = problem.quadratic(best.w + new.w) - best.matrix - new.matrix

    def at(t: float) -> Lower:
        s = 1.0 - t
        gain = s * best.gain + t * new.gain
        matrix = s * s * best.matrix + t * t * new.matrix + s * t * cross
        return Lower(problem.lower_bound(matrix, gain), best.w, gain, matrix)

    found = minimize_scalar(
        lambda t: -at(t).value, bounds=(0.0, 1.0), method="bounded", options={"maxiter": TRIES}
    )
    t = float(found.x)
    between = at(t)._replace(w=(1.0 - t) * best.w + t * new.w)
    return max(best, new, between, key=lambda lower: lower.value)
