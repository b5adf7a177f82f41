"""The compiled steps of `pliant.methods.svm.smo`, and the blocks of coordinates that they step on.

State: beta; g = p - u - c beta v, the gradient of the smooth part; v = (K o K) beta^2;
curvature_s = K_ss + c (v_s + 2 beta_s^2 K_ss^2), the rate at which g_s falls when beta_s grows.
The kink of epsilon_s |beta_s| and the bounds enter through the one-sided slopes of
epsilon_s |beta_s|, which are infinite at a bound: rise_s = g_s - up_s is the rate of gain when
beta_s grows, shrink_s = down_s - g_s the rate of gain when it shrinks. The violation is the largest
rise plus the largest shrink.

Nearly all time goes into a few loops over all coordinates. They are written so that the compiler
can use vector instructions: no branch in their bodies, no maximum that waits for the one before.
"""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np

from pliant.core.jit import compiled
from pliant.core.typing import Array, Indices, Mask
from pliant.methods.svm.dual import MarginDual
from pliant.methods.svm.rows import Pause

FLAT = 1e-12
"""Smallest curvature; rounding may make one smaller, or negative."""

SHARE = 0.03
"""Share of all coordinates in a block: of more, too many turn out not to be needed, and their
square part costs as much as the rows of those that move."""

SMALLEST = 200
"""Fewest coordinates of a block."""

LARGER_SHARE, UP_TO = 0.1, 2000
"""Share of all coordinates for blocks of up to `UP_TO`: square parts of that size cost little, and
where many coordinates go to their bounds, as with a small C, ten times fewer blocks are needed."""

TIMES_FREE = 2
"""A block has room for this many times the free coordinates, which move in every round."""

FREE_SHARE = 0.5
"""Largest share of a block that free coordinates take from the worst violators."""


@compiled
def _slope_up(beta: float, upper: float, epsilon: float) -> float:
    """Return the slope of epsilon |beta| when beta grows; inf at the upper bound."""
    if beta >= upper:
        return np.inf
    return epsilon if beta >= 0.0 else -epsilon


@compiled
def _slope_down(beta: float, lower: float, epsilon: float) -> float:
    """Return the slope of epsilon |beta| where beta shrinks; -inf at the lower bound."""
    if beta <= lower:
        return -np.inf
    return epsilon if beta > 0.0 else -epsilon


@compiled
def one_sided_slopes(
    beta: Array, lower: Array, upper: Array, epsilon: Array
) -> tuple[Array, Array]:
    """Return the slopes of epsilon |beta| upwards and downwards; infinite at a bound."""
    up, down = np.empty(beta.size), np.empty(beta.size)
    for s in range(beta.size):
        up[s] = _slope_up(beta[s], upper[s], epsilon[s])
        down[s] = _slope_down(beta[s], lower[s], epsilon[s])
    return up, down


@compiled
def ascend(
    gram: Array,
    diagonal: Array,
    lower: Array,
    upper: Array,
    epsilon: Array,
    c: float,
    beta: Array,
    g: Array,
    v: Array,
    goal: float,
    steps: int,
) -> int:
    """Take steps in place, until the violation is <= `goal`; return their number."""
    up, down = one_sided_slopes(beta, lower, upper, epsilon)
    curvature = diagonal + c * (v + 2.0 * (beta * diagonal) ** 2)
    rise, shrink, gain = g - up, down - g, np.empty(beta.size)
    for done in range(steps):
        i, worst = _largest(rise), _largest(shrink)
        if not rise[i] + shrink[worst] > goal:  # nor where a rate is not a number
            return done
        _gains(gram[i], curvature, shrink, beta, i, rise[i], c, gain)
        j = _largest(gain)
        room = min(upper[i] - beta[i], beta[j] - lower[j])
        pair = Pair(
            beta[i], beta[j], diagonal[i], diagonal[j], float(gram[i, j]), v[i], v[j], c
        )  # fmt: skip
        step = _line_search(pair, rise[i] + shrink[j], epsilon[i], epsilon[j], room)
        old_i, old_j = beta[i], beta[j]
        beta[i] = upper[i] if step >= upper[i] - old_i else old_i + step
        beta[j] = lower[j] if step >= old_j - lower[j] else old_j - step
        if beta[i] == old_i and beta[j] == old_j:
            return done
        for s in (i, j):
            up[s] = _slope_up(beta[s], upper[s], epsilon[s])
            down[s] = _slope_down(beta[s], lower[s], epsilon[s])
        if c > 0.0:
            _update_quartic(
                gram, beta, g, v, curvature, up, down, rise, shrink, i, j, old_i, old_j, c
            )
            for s in (i, j):
                curvature[s] = diagonal[s] + c * (v[s] + 2.0 * (beta[s] * diagonal[s]) ** 2)
        else:
            _update(gram[i], gram[j], g, up, down, rise, shrink, beta[i] - old_i, beta[j] - old_j)
    return steps


@compiled
def _largest(values: Array) -> int:
    """Return the position of the first of the largest values, as argmax does; none may be NaN.

    The largest of each eight is found without a branch. Only where it exceeds all before, which is
    rare, its block is remembered.
    """
    best, start = -np.inf, 0
    blocks = values.size - values.size % 8
    for b in range(0, blocks, 8):
        low = max(max(values[b], values[b + 1]), max(values[b + 2], values[b + 3]))
        high = max(max(values[b + 4], values[b + 5]), max(values[b + 6], values[b + 7]))
        if max(low, high) > best:
            best, start = max(low, high), b
    for s in range(blocks, values.size):
        if values[s] > best:
            best, start = values[s], s
    at = start
    while values[at] < best:
        at += 1
    return at


@compiled
def _gains(
    row: Array,
    curvature: Array,
    shrink: Array,
    beta: Array,
    i: int,
    rise: float,
    c: float,
    out: Array,
) -> None:
    """Write to `out` what each coordinate gains with i to second order, rate^2/curvature."""
    cross = 4.0 * c * beta[i]
    for s in range(shrink.size):
        rate = max(rise + shrink[s], 0.0)
        bend = curvature[i] + curvature[s] - row[s] * (2.0 + cross * beta[s] * row[s])
        out[s] = rate * rate / max(bend, FLAT)


@compiled
def _update(
    row_i: Array,
    row_j: Array,
    g: Array,
    up: Array,
    down: Array,
    rise: Array,
    shrink: Array,
    di: float,
    dj: float,
) -> None:
    """Bring g and its rates up to date after beta_i += di, beta_j += dj, in one pass."""
    for s in range(g.size):
        g[s] -= di * row_i[s] + dj * row_j[s]
        rise[s], shrink[s] = g[s] - up[s], down[s] - g[s]


@compiled
def _update_quartic(
    gram: Array,
    beta: Array,
    g: Array,
    v: Array,
    curvature: Array,
    up: Array,
    down: Array,
    rise: Array,
    shrink: Array,
    i: int,
    j: int,
    old_i: float,
    old_j: float,
    c: float,
) -> None:
    """Bring g = p - u - c beta v, its rates, v and the curvature up to date, in one pass."""
    di, dj = beta[i] - old_i, beta[j] - old_j
    square_i, square_j = beta[i] ** 2 - old_i**2, beta[j] ** 2 - old_j**2
    g[i] -= c * di * v[i]
    g[j] -= c * dj * v[j]
    row_i, row_j = gram[i], gram[j]
    for s in range(g.size):
        k_i, k_j = row_i[s], row_j[s]
        dv = square_i * k_i * k_i + square_j * k_j * k_j
        v[s] += dv
        curvature[s] += c * dv
        g[s] -= di * k_i + dj * k_j + c * beta[s] * dv
        rise[s], shrink[s] = g[s] - up[s], down[s] - g[s]


class Pair(NamedTuple):
    """Two coordinates, before weight t moves from the second to the first."""

    b_i: float
    b_j: float
    k_ii: float
    k_jj: float
    k_ij: float
    v_i: float
    v_j: float
    c: float


@compiled
def _line_search(pair: Pair, slope: float, kink_i: float, kink_j: float, room: float) -> float:
    """Return the t in [0, room] that maximises h(beta + t (e_i - e_j)).

    `slope` is the derivative at 0+. It falls smoothly but for a drop of 2 epsilon_i where b_i + t
    is zero, and of 2 epsilon_j where b_j - t is.
    """
    left, crossed = 0.0, 0.0
    while True:
        right = room
        if kink_i > 0.0 and left < -pair.b_i < right:
            right = -pair.b_i
        if kink_j > 0.0 and left < pair.b_j < right:
            right = pair.b_j
        t = _root(pair, slope - crossed, left, right)
        if t < right or right == room:
            return t
        drop = kink_i * (right == -pair.b_i) + kink_j * (right == pair.b_j)
        left, crossed = right, crossed + 2.0 * drop
        if _slope(pair, slope - crossed, left)[0] <= 0.0:
            return t


@compiled
def _root(pair: Pair, slope: float, left: float, right: float) -> float:
    """Return where the derivative vanishes in [left, right], by Newton within a bracket.

    `right` if it is positive throughout.
    """
    if _slope(pair, slope, right)[0] >= 0.0:
        return right
    t = left
    for _ in range(200):
        value, bend = _slope(pair, slope, t)
        if value > 0.0:
            left = t
        else:
            right = t
        new = t + value / bend if bend > 0.0 else np.inf
        if not left <= new <= right:
            new = 0.5 * (left + right)
        if abs(new - t) <= 1e-15 * abs(new):
            return new
        t = new
    return t


@compiled
def _slope(pair: Pair, slope: float, t: float) -> tuple[float, float]:
    """Return the derivative at t and minus the second derivative, between two kinks."""
    b_i, b_j, k_ii, k_jj, k_ij, v_i, v_j, c = pair
    flat = k_ii + k_jj - 2.0 * k_ij
    if c == 0.0:
        return slope - flat * t, flat
    a, b = b_i + t, b_j - t
    square_a, square_b = a * a - b_i * b_i, b * b - b_j * b_j
    kk_ii, kk_jj, kk_ij = k_ii * k_ii, k_jj * k_jj, k_ij * k_ij
    w_i = v_i + kk_ii * square_a + kk_ij * square_b
    w_j = v_j + kk_ij * square_a + kk_jj * square_b
    quartic = a * w_i - b_i * v_i - b * w_j + b_j * v_j
    bend = w_i + w_j + 2.0 * (a * a * kk_ii + b * b * kk_jj) - 4.0 * a * b * kk_ij
    return slope - flat * t - c * quartic, flat + c * bend


def project_box_hyperplane(
    point: Array, lower: Array, upper: Array, normal: Array | None = None
) -> Array:
    """Return the nearest x to `point` with lower <= x <= upper and normal'x = 0.

    A point of the set stays as it is, to the last bit. Any other becomes
    clip(point - t normal, lower, upper), with t the root of a non-increasing piecewise-linear
    function, found exactly from its sorted break points in O(n log n).

    Parameters
    ----------
    point, lower, upper : arrays of shape (n,)
        Bounds are finite, lower <= upper; the set is not empty.
    normal : array of shape (n,), optional
        All ones if not given.
    """
    a = np.ones_like(point) if normal is None else normal
    slack = 1e-12 * (1.0 + np.abs(a * upper).sum() + np.abs(a * lower).sum())
    inside = np.clip(point, lower, upper)
    if np.array_equal(inside, point) and abs(a @ point) <= slack:
        return inside
    moving = a != 0
    breaks = np.sort(
        np.concatenate([(point - lower)[moving] / a[moving], (point - upper)[moving] / a[moving]])
    )
    if breaks.size == 0:
        return np.clip(point, lower, upper)

    def surplus(t: float) -> float:
        return float(a @ np.clip(point - t * a, lower, upper))

    left, right = 0, breaks.size - 1
    if surplus(breaks[left]) <= 0:
        return np.clip(point - breaks[left] * a, lower, upper)
    if surplus(breaks[right]) >= 0:
        return np.clip(point - breaks[right] * a, lower, upper)
    while right - left > 1:
        middle = (left + right) // 2
        if surplus(breaks[middle]) > 0:
            left = middle
        else:
            right = middle
    s0, s1 = surplus(breaks[left]), surplus(breaks[right])
    share = s0 / (s0 - s1)
    t = breaks[left] + share * (breaks[right] - breaks[left])
    return np.clip(point - t * a, lower, upper)


class Block:
    """The problem on some coordinates (by default all), with the others held fixed."""

    def __init__(
        self,
        problem: MarginDual,
        beta: Array,
        fields: tuple[Array, Array],
        indices: Indices | None = None,
        pause: Pause | None = None,
    ) -> None:
        self.indices = np.arange(beta.size) if indices is None else indices
        self._rows, self._pause = problem.rows, pause
        self.diagonal = problem.rows.diagonal()[self.indices]
        self.linear, self.lower, self.upper = (
            vector[self.indices] for vector in (problem.linear, problem.lower, problem.upper)
        )
        self.epsilon = np.broadcast_to(problem.epsilon, beta.shape)[self.indices]
        self.c = problem.quartic
        self.beta = beta[self.indices]
        u, self.v = (field[self.indices] for field in fields)
        self.g = self.linear - u - self.c * self.beta * self.v

    @cached_property
    def gram(self) -> Array:
        """The square part of K; it is made only when steps are taken."""
        return self._rows.square(self.indices, self._pause)

    @property
    def violation(self) -> float:
        """The largest rate of gain of any pair of coordinates; <= 0 at the optimum."""
        rise, fall = self.rates()
        return float(rise.max() - fall.min())

    def rates(self) -> tuple[Array, Array]:
        """Return the rates of gain upwards and of loss downwards of each coordinate."""
        up, down = one_sided_slopes(self.beta, self.lower, self.upper, self.epsilon)
        return self.g - up, self.g - down

    @property
    def free(self) -> Mask:
        """Which coordinates are neither zero nor at a bound."""
        return (self.beta > self.lower) & (self.beta < self.upper) & (self.beta != 0.0)

    def fields(self) -> tuple[Array, Array]:
        """Return u and v at the present point."""
        return self.linear - self.g - self.c * self.beta * self.v, self.v

    def active(self, intercept: float, room: int) -> Indices | None:
        """Return up to `room` coordinates to step on next; None if that would leave out too many.

        These are the coordinates in some violating pair; if there are too many, the worst
        violators of the optimality conditions at `intercept`, and the free coordinates. None also
        if no pair violates the conditions.
        """
        rise, fall = self.rates()
        pairs = np.flatnonzero((rise > fall.min()) | (fall < rise.max()))
        if pairs.size == 0:
            return None
        if pairs.size <= room:
            return pairs
        violation = np.maximum(rise - intercept, intercept - fall)  # >= 0 for free coordinates
        if (violation >= 0.0).sum() > room:
            return None
        return np.sort(np.argsort(-violation, kind="stable")[:room])

    def ascend(self, goal: float, steps: int) -> int:
        """Take up to `steps` steps, until the violation is <= `goal`; return their number."""
        return ascend(
            self.gram, self.diagonal, self.lower, self.upper, self.epsilon, self.c,
            self.beta, self.g, self.v, goal, steps,
        )  # fmt: skip


def working_set(everything: Block, room: int, rng: np.random.Generator) -> Indices:
    """Return up to `room` >= 2 coordinates, among them the pair of the largest violation.

    If the coordinates in violating pairs are too many, they are the worst violators upwards and
    downwards, as many of each, and free coordinates; if these are too many, random ones. (The worst
    of them are neighbours: one block would undo what the last one did, in fifty times more blocks.)
    Ties are broken in a shuffled order: at the start, all coordinates of a class are tied.
    """
    rise, fall = everything.rates()
    least, most = float(fall.min()), float(rise.max())
    pairs = np.flatnonzero((rise > least) | (fall < most))
    if pairs.size == 0:
        return np.unique([np.argmax(rise), np.argmin(fall)])
    free = np.flatnonzero(everything.free)
    share = max(int(SHARE * rise.size), min(int(LARGER_SHARE * rise.size), UP_TO))
    size = min(room, max(SMALLEST, share, TIMES_FREE * free.size))
    if pairs.size <= size:
        return pairs
    side = max(1, (size - min(free.size, int(FREE_SHARE * size))) // 2)
    worst = np.union1d(_first(rise, side, least), _first(-fall, side, -most))
    others = np.setdiff1d(free, worst)
    if others.size > size - worst.size:
        others = rng.choice(others, size - worst.size, replace=False)
    return np.union1d(worst, others)


def _first(rates: Array, number: int, bound: float) -> Indices:
    """Return the positions of up to `number` largest values above `bound`."""
    shuffled = np.random.default_rng(0).permutation(rates.size)
    order = shuffled[np.argsort(-rates[shuffled], kind="stable")][:number]
    return order[rates[order] > bound]
