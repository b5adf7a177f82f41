"""Two quadratic problems over convex hulls of points that are given by their Gram matrix.

The smallest ball around all points, and the closest points of the hulls of two classes, are both

    minimise  f(g) = g'Qg - p'g   subject to  g >= 0,  the g of each class sum to 1

with Q positive semi-definite and one class or two. Each step moves weight from a coordinate j to
another one, i, of the same class: i has the smallest partial derivative, j the largest second-order
gain (Fan, Chen and Lin 2005). Between rounds of such steps, Newton steps on the coordinates that
are not zero give the last digits. By convexity

    gap(g) = sum over classes of (sum_j g_j G_j - min_i G_i),   G = 2Qg - p,

bounds f(g) - min f for every feasible g.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import scipy.linalg

from pliant.core.jit import compiled
from pliant.core.threads import blas_limited
from pliant.core.typing import Array, Indices

NEWTON_STEPS = 100
"""Newton steps between two rounds at most; each but the last has set a coordinate to zero."""

RIDGE = 1e-14
"""Added to the diagonal of a Newton step's block, a share of its largest entry; or ten times as
much, again and again, where that does not make it positive definite."""

PATIENCE = 4
"""Rounds without a smaller gap after which a run ends."""

ROUNDING = 16.0 * float(np.finfo(np.float64).eps)
"""Differences of kernel values are rounded to this share of the largest one, about."""


class Ball(NamedTuple):
    """The smallest ball that holds all points.

    Attributes
    ----------
    radius2 : float
        Its squared radius, from below: the optimum is between `radius2` and `radius2` + `gap`.
    weights : array of shape (n,)
        g >= 0 with sum 1; the centre is the sum of g_i phi(x_i).
    gap : float
        `radius2` + `gap` is the squared distance of the farthest point from that centre.
    """

    radius2: float
    weights: Array
    gap: float


class Hulls(NamedTuple):
    """The closest points of two hulls.

    Attributes
    ----------
    value : float
        (1 - lam) g'YKYg + lam g'g, from above: the optimum is between `value` - `gap` and `value`.
        For lam = 0, the squared distance of the two points.
    weights : array of shape (n,)
        g >= 0, with sum 1 in each class.
    gap : float
        At most `value`; equal to it where the hulls were not shown to be separable.
    """

    value: float
    weights: Array
    gap: float


@blas_limited
def smallest_ball(
    gram: Array, *, start: Array | None = None, tol: float = 1e-9, max_rounds: int = 1000
) -> Ball:
    r"""Return the smallest ball around points, from their Gram matrix.

    .. math::

        R^2 = \min_c \max_i \|\phi(x_i) - c\|^2
            = \max_g \sum_i g_i K_{ii} - g'Kg, \quad g \ge 0, \; \sum_i g_i = 1

    Parameters
    ----------
    gram : array of shape (n, n)
        K, symmetric and positive semi-definite; not checked, not changed.
    start : array of shape (n,), optional
        Weights to begin with, as in `Ball`; those of a similar matrix save steps.
    tol : float
        Stop when the gap is at most `tol` times the squared radius.
    max_rounds : int
        Checks of the gap at most, with 4 n + 400 steps and some Newton steps between two.

    Returns
    -------
    Ball
        Weights of the smallest gap among all checks.

    Examples
    --------
    >>> import numpy as np
    >>> from pliant.methods.svm.hulls import smallest_ball
    >>> points = np.array([[0.0, 0.0], [2.0, 0.0], [1.0, 0.5]])
    >>> ball = smallest_ball(points @ points.T)
    >>> round(ball.radius2, 6), ball.weights.round(6).tolist()
    (1.0, [0.5, 0.5, 0.0])
    """
    Q = _centred(gram)
    diagonal = Q.diagonal().copy()
    floor = ROUNDING * float(gram.diagonal().max())

    def bounds(g: Array, G: Array) -> tuple[float, float]:
        value = 0.5 * float(g @ (diagonal - G))  # G = 2Qg - p, so this is p'g - g'Qg
        return value, float(g @ G - G.min())

    one_class = np.zeros(len(Q), dtype=np.intp)
    g, (value, gap) = _solve(Q, diagonal, one_class, start, bounds, tol, floor, max_rounds)
    return Ball(max(0.0, value), g, max(0.0, gap))


@blas_limited
def closest_hulls(
    gram: Array,
    signs: Array,
    lam: float = 0.0,
    *,
    start: Array | None = None,
    tol: float = 1e-9,
    max_rounds: int = 1000,
) -> Hulls:
    r"""Return the closest points of the convex hulls of two classes, from their Gram matrix.

    .. math::

        \min_g \; (1 - \lambda) \, g'YKYg + \lambda \, g'g, \quad g \ge 0, \;
        \sum_{y_i = 1} g_i = \sum_{y_i = -1} g_i = 1

    with Y = diag(y). For lam = 0 the value is the squared distance of the hulls, the square of
    twice the margin of a support vector machine without slack. For lam > 0 it is the problem that
    EasyMKL solves.

    Parameters
    ----------
    gram : array of shape (n, n)
        K, symmetric and positive semi-definite; not checked, not changed.
    signs : array of shape (n,)
        Labels y, -1.0 or +1.0, both present.
    lam : float
        From 0 to 1.
    start : array of shape (n,), optional
        Weights to begin with, as in `Hulls`; those of a similar matrix save steps.
    tol : float
        Stop when the gap is at most `tol` times the value, or where the value is zero to working
        precision.
    max_rounds : int
        Checks of the gap at most, with 4 n + 400 steps and some Newton steps between two.

    Returns
    -------
    Hulls
        Weights of the smallest gap among all checks.

    Notes
    -----
    f is a squared norm |w|^2, so that the margin of the direction w, d = (the smallest w'phi of one
    class - the largest of the other)/|w|, is a lower bound of the distance: gap = |w|^2 - d^2, or
    |w|^2 where d < 0. This is never more than the bound of the module's first lines.

    Examples
    --------
    >>> import numpy as np
    >>> from pliant.methods.svm.hulls import closest_hulls
    >>> points = np.array([[0.0, 0.0], [0.0, 2.0], [3.0, 1.0]])
    >>> hulls = closest_hulls(points @ points.T, np.array([1.0, 1.0, -1.0]))
    >>> round(hulls.value, 6), hulls.weights.round(6).tolist()
    (9.0, [0.5, 0.5, 1.0])
    """
    Q = _centred(gram)
    Q *= (1.0 - lam) * signs
    Q *= signs[:, None]
    Q[np.diag_indices_from(Q)] += lam
    positive = signs > 0
    floor = ROUNDING * ((1.0 - lam) * float(gram.diagonal().max()) + lam)

    def bounds(g: Array, G: Array) -> tuple[float, float]:
        value = max(0.0, 0.5 * float(g @ G))
        width = 0.5 * float(G[positive].min() + G[~positive].min())  # d |w|
        lower = width**2 / value if width > 0.0 and value > floor else 0.0
        return value, value - min(lower, value)

    g, (value, gap) = _solve(
        Q, np.zeros(len(Q)), positive.astype(np.intp), start, bounds, tol, floor, max_rounds
    )
    return Hulls(value, g, gap)


def _centred(gram: Array) -> Array:
    """Return the Gram matrix of the points less their mean; neither problem changes."""
    means = gram.mean(axis=0, dtype=np.float64)
    centred = gram - means
    centred -= means[:, None]
    centred += means.mean()
    return np.ascontiguousarray(centred, dtype=np.float64)


def _solve(
    Q: Array,
    p: Array,
    classes: Indices,
    start: Array | None,
    bounds: Callable[[Array, Array], tuple[float, float]],
    tol: float,
    floor: float,
    max_rounds: int,
) -> tuple[Array, tuple[float, float]]:
    """Return the g of the smallest gap, with its value and gap as `bounds` returns them."""
    g = _feasible(np.ones(len(Q)) if start is None else start, classes)
    best, least, idle = g, (np.nan, np.inf), 0
    for _ in range(max_rounds):
        G = 2.0 * (Q @ g) - p
        value, gap = bounds(g, G)
        idle = 0 if gap < least[1] else idle + 1
        if gap < least[1]:
            best, least = g.copy(), (value, gap)
        if gap <= tol * value or value <= floor or idle == PATIENCE:
            break
        descend(Q, classes, g, G, 0.5 * tol * value, 4 * g.size + 400)
        g = _feasible(_polished(Q, p, classes, g), classes)
    return best, least


def _feasible(g: Array, classes: Indices) -> Array:
    """Return weights >= 0, rescaled to sum 1 in each class; equal ones in a class of zeros."""
    g = np.maximum(g, 0.0)
    g = np.where(np.bincount(classes, g)[classes] > 0.0, g, 1.0)
    return np.asarray(g / np.bincount(classes, g)[classes])


def _polished(Q: Array, p: Array, classes: Indices, g: Array) -> Array:
    """Return g after Newton steps on its coordinates > 0, each to the end or to a bound."""
    for _ in range(NEWTON_STEPS):
        free = np.flatnonzero(g)
        block = Q[np.ix_(free, free)]
        slope = 2.0 * (block @ g[free]) - p[free]
        step = _newton_step(block, slope, classes[free])
        rise, bend = float(slope @ step), 2.0 * float(step @ block @ step)
        if not rise < 0.0:
            break
        falling = step < 0.0
        ends = np.full(free.size, np.inf)
        ends[falling] = -g[free][falling] / step[falling]
        first = int(np.argmin(ends))
        length = min(-rise / bend if bend > 0.0 else np.inf, float(ends[first]))
        g = g.copy()
        g[free] = np.maximum(g[free] + length * step, 0.0)
        if length < ends[first]:
            break
        g[free[first]] = 0.0
    return g


def _newton_step(block: Array, slope: Array, classes: Indices) -> Array:
    """Return the minimiser of d'block d + slope'd, the d of each class with sum 0."""
    members = (classes[:, None] == np.unique(classes)).astype(float)
    solved = scipy.linalg.cho_solve(_factor(block), np.column_stack([slope, members]))
    moved, ones = solved[:, 0], solved[:, 1:]
    step = ones @ np.linalg.solve(members.T @ ones, members.T @ moved) - moved
    means = (members.T @ step) / members.sum(axis=0)
    return np.asarray(step - members @ means)


def _factor(block: Array) -> tuple[Array, bool]:
    """Return the Cholesky factor of twice a block, with as small a ridge as it takes."""
    largest = float(np.abs(block).max()) or 1.0
    for power in range(18):  # the last ones for blocks of rounding errors, of any sign
        shifted = 2.0 * block
        shifted[np.diag_indices_from(shifted)] += RIDGE * 10.0**power * largest
        try:
            return scipy.linalg.cho_factor(shifted, overwrite_a=True, check_finite=False)
        except np.linalg.LinAlgError:
            pass
    raise np.linalg.LinAlgError("expected a positive semi-definite matrix")


@compiled
def descend(Q: Array, classes: Indices, g: Array, G: Array, goal: float, steps: int) -> int:
    """Take up to `steps` steps in place, until the gap is <= `goal`; return their number."""
    n = g.size
    for done in range(steps):
        low, high, mean = np.full(2, np.inf), np.full(2, -np.inf), np.zeros(2)
        at = np.zeros(2, dtype=np.intp)
        for s in range(n):
            c = classes[s]
            if G[s] < low[c]:
                low[c], at[c] = G[s], s
            if g[s] > 0.0:
                mean[c] += g[s] * G[s]
                high[c] = max(high[c], G[s])
        gap = 0.0
        for c in range(2):
            if high[c] > -np.inf:
                gap += mean[c] - low[c]
        if gap <= goal:
            return done
        c = 0 if high[0] - low[0] >= high[1] - low[1] else 1
        i = at[c]
        j, bend = _partner(Q, classes, g, G, i)
        if j < 0:
            return done
        move = (G[j] - G[i]) / (2.0 * bend)
        if move >= g[j]:
            move = g[j]
            g[i] += move
            g[j] = 0.0
        else:
            g[i] += move
            g[j] -= move
        for s in range(n):
            G[s] += 2.0 * move * (Q[i, s] - Q[j, s])
    return steps


@compiled
def _partner(Q: Array, classes: Indices, g: Array, G: Array, i: int) -> tuple[int, float]:
    """Return the j > 0 of the class of i with the largest second-order gain, and the curvature."""
    best, j, bend = 0.0, -1, 1.0
    tiny = 1e-14 * max(Q[i, i], 1e-300)
    for s in range(g.size):
        if classes[s] == classes[i] and g[s] > 0.0 and G[s] > G[i]:
            curvature = max(Q[i, i] + Q[s, s] - 2.0 * Q[i, s], tiny)
            gain = (G[s] - G[i]) ** 2 / curvature
            if gain > best:
                best, j, bend = gain, s, curvature
    return j, bend
