"""Newton steps on the free coordinates of a block, where two-coordinate steps take long.

Where C is large and the Gram matrix nearly singular, pairs of coordinates approach the optimum very
slowly: the objective is nearly flat along each pair, and curved along their sums. With all other
coordinates fixed, Newton's method reaches the maximum on the m free ones in a few steps of O(m^3)
each. A step ends at the maximum along its direction, or at the first bound or kink, where that
coordinate is fixed. At the maximum, the coordinate that violates the optimality conditions most is
set free. So the objective never falls, and the point stays feasible (an active set method).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
import scipy.linalg
from scipy.optimize import brentq

from pliant.core.typing import Array, Indices, Mask
from pliant.methods.svm.rows.dense import add_both, add_rows

RIDGE = 1e-14
"""Added to the curvature, a share of its largest diagonal entry; or ten times as much, again and
again, where that does not make it positive definite."""

COARSE_RIDGE = 1e-10
"""The same for an inverse that is changed again and again."""

IN_A_ROW = 2
"""Steps in a row that end at bounds, after which the inverse of the curvature is computed."""

READS = 1.0 / 15.0
"""Time for each of the m^3 products of a Newton step, in units of the time in which two-coordinate
steps read one kernel value."""

OVERHEAD = 2e5
"""Time of a Newton step on few coordinates in the same unit: some tenths of a millisecond."""

SHORTEST = 20
"""Newton steps of the first turn."""

STUCK_SHARE = 0.5
"""Time of a turn where two-coordinate steps are stuck, a share of all that they have taken."""

DEEPER = 1e-3
"""The steps end at the latest where the violation is this share of that before them."""

EVEN = 0.1
"""A coordinate is set free where the slopes of the free ones differ by less than this share of its
violation."""

SMALLER = 1e-8
"""Factor by which the bound of a step is lowered as long as the maximum lies below it."""

XTOL = 1e-23
"""Accuracy of the length of a step, a share of its bound, which is up to 1e8 times larger."""

LARGEST, TINY = float(np.finfo(np.float64).max), float(np.finfo(np.float64).tiny)

FULL_STEPS = 5
"""Steps to the maximum of one face at most; rounding hides the rest."""


class Face(Protocol):
    """What this module needs of a block: see `pliant.methods.svm.smo.solver.Block`."""

    lower: Array
    upper: Array
    epsilon: Array
    c: float
    beta: Array
    v: Array
    g: Any

    @property
    def gram(self) -> Array:
        """The square part of K."""

    @property
    def free(self) -> Mask:
        """Which coordinates are neither zero nor at a bound."""

    @property
    def violation(self) -> float:
        """The largest rate of gain of any pair of coordinates."""

    def rates(self) -> tuple[Array, Array]:
        """Return the rates of gain upwards and of loss downwards of each coordinate."""


def cost(n_free: int) -> float:
    """Return the time of a Newton step, in kernel values that two-coordinate steps read."""
    return OVERHEAD + READS * float(n_free) ** 3


class Turns:
    """Whose turn it is in a long run.

    Newton steps may take as much time as two-coordinate steps have taken, in turns that last longer
    and longer until one of them ends at its goal.
    """

    def __init__(self) -> None:
        self.spent = 0.0
        self.succeeded = False

    def take(
        self, block: Face, goal: float, work: float, stop: Callable[[], bool], *, stuck: bool
    ) -> None:
        """Take Newton steps in place towards a violation of `goal`, if it is their turn.

        It is their turn as well where two-coordinate steps, which have taken the time `work`, are
        `stuck`. They end where their time is over, or where `stop`, called after each, returns
        True.
        """
        each = cost(int(block.free.sum()))
        room = work - self.spent
        least = each if self.succeeded else max(self.spent, SHORTEST * each)
        if stuck:
            room = least = max(room, STUCK_SHARE * work)
        if room >= least:
            goal = max(goal, DEEPER * block.violation)
            self.spent += ascend(block, goal, room, stop)
            self.succeeded = block.violation <= goal


def ascend(block: Face, goal: float, room: float, stop: Callable[[], bool]) -> float:
    """Take Newton steps in place, until the violation is <= `goal`; return their `cost`.

    They end as well where the next one would exceed `room`, and where `stop`, called after each,
    returns True.
    """
    moving, spent, full = _Moving(block), 0.0, 0
    while spent + moving.cost <= room:
        spent += moving.cost
        slopes, number, way, worst = moving.violations()
        if full >= FULL_STEPS or np.ptp(slopes) <= EVEN * max(worst, 0.0):
            if worst <= goal:
                break
            moving.add(number, way)
            full = 0
        outcome = moving.step()
        if outcome is None or stop():
            break
        full += outcome
    return spent


class _Moving:
    """The coordinates of a block that move, each on one side of its kink at zero.

    `inverse` is that of their curvature, with a ridge, as long as steps end at bounds: each takes
    one coordinate away, which changes the inverse by a matrix of rank one.
    """

    def __init__(self, block: Face) -> None:
        self.block = block
        self.numbers: Indices = np.flatnonzero(block.free)
        self.signs = np.sign(block.beta[self.numbers])
        self.inverse: Array | None = None
        self.removed = 0

    @property
    def cost(self) -> float:
        """The time of the next step, in kernel values that two-coordinate steps read."""
        size = self.numbers.size
        return cost(size) if self.inverse is None else OVERHEAD + 10.0 * size**2

    def slopes(self) -> Array:
        """Return the derivative of the objective by each."""
        return self.block.g[self.numbers] - self.block.epsilon[self.numbers] * self.signs

    def violations(self) -> tuple[Array, int, float, float]:
        """Return the slopes, and the coordinate at rest that violates the conditions most.

        After its number are its way, upwards (1.0) or downwards (-1.0), and its violation.
        """
        rise, fall = self.block.rates()
        slopes = self.slopes()
        if not slopes.size:
            slopes = np.array([0.5 * (rise.max() + fall.min())])
        middle = float(slopes.mean())
        up, down = rise - middle, middle - fall
        up[self.numbers] = down[self.numbers] = -np.inf
        upwards = bool(up.max() >= down.max())
        rates = up if upwards else down
        number = int(np.argmax(rates))
        return slopes, number, 1.0 if upwards else -1.0, float(rates[number])

    def add(self, number: int, way: float) -> None:
        """Let one more coordinate move, upwards (1.0) or downwards (-1.0)."""
        beta = self.block.beta[number]
        self.numbers = np.append(self.numbers, number)
        self.signs = np.append(self.signs, np.sign(beta) if beta else way)
        self.inverse = None

    def step(self) -> bool | None:
        """Go to the maximum along the Newton direction, or to the first bound.

        Returns whether to the maximum, or None if there is no direction of ascent.
        """
        if self.numbers.size < 2:
            return None
        slopes = self.slopes()
        direction = self._direction(slopes)
        rise = float(slopes @ direction)
        if not rise > 0.0 and self.inverse is not None:  # rounding has spoilt it
            self.inverse = None
            direction = self._direction(slopes)
            rise = float(slopes @ direction)
        end, first = self._first_bound(direction)
        if not (rise > 0.0 and end > 0.0):
            return None
        inside = self._move(direction, rise, end)
        if inside:
            self.inverse, self.removed = None, 0
        else:
            self.block.beta[self.numbers[first]] = self._bounds(direction)[first]
            self._remove(first)
        return inside

    def _direction(self, slopes: Array) -> Array:
        """Return the Newton direction, of sum zero."""
        right = np.column_stack([slopes, np.ones(slopes.size)])
        if self.inverse is None:
            factor = _factor(self._curvature(), RIDGE)
            if factor is None:
                return np.zeros(slopes.size)
            moved, ones = scipy.linalg.cho_solve(factor, right, check_finite=False).T
        else:
            moved, ones = (self.inverse @ right).T
        direction = moved - (moved.sum() / ones.sum()) * ones
        return np.asarray(direction - direction.mean())

    def _curvature(self) -> Array:
        """Return minus the second derivatives by the coordinates that move."""
        block, some = self.block, self.numbers
        square = np.asarray(block.gram[np.ix_(some, some)], dtype=np.float64)
        if not block.c:
            return square
        beta = block.beta[some]
        bend = square + 2.0 * block.c * (beta[:, None] * square**2 * beta)
        bend[np.diag_indices_from(bend)] += block.c * block.v[some]
        return np.asarray(bend)

    def _bounds(self, direction: Array) -> Array:
        """Return the bound or kink that each coordinate moves to."""
        block, some = self.block, self.numbers
        bounds = np.where(direction > 0.0, block.upper[some], block.lower[some])
        bounds[(block.epsilon[some] > 0.0) & (self.signs * direction < 0.0)] = 0.0
        return bounds

    def _first_bound(self, direction: Array) -> tuple[float, int]:
        """Return how far the direction goes until a coordinate meets a bound, and which does."""
        ways = self._bounds(direction) - self.block.beta[self.numbers]
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            ends = np.where(direction == 0.0, np.inf, ways / direction)
        first = int(np.argmin(ends))
        return float(ends[first]), first

    def _move(self, direction: Array, rise: float, end: float) -> bool:
        """Go along the direction to the maximum, at most to `end`; return whether before it.

        Along it u = K beta and v = (K o K) beta^2 are polynomials, as is the slope of h.
        """
        block, some, c, d = self.block, self.numbers, self.block.c, direction
        old = block.beta[some]
        du, v_1, v_2 = (np.zeros_like(block.g) for _ in range(3))
        if c:
            add_both(du, v_1, block.gram, some, d, 2.0 * old * d)
            add_both(np.zeros_like(du), v_2, block.gram, some, d, d**2)
        else:
            add_rows(du, block.gram, some, d)
        bend = float(d @ (du[some] + c * (old * v_1[some] + d * block.v[some])))
        second = c * float(d @ (old * v_2[some] + d * v_1[some]))
        third = c * float(d**2 @ v_2[some])

        def slope(t: float) -> float:
            return rise - t * (bend + t * (second + t * third))

        with np.errstate(over="ignore", invalid="ignore"):
            t, inside = end, not slope(end) >= 0.0
        if inside:
            t = _root(slope, end) if c else rise / bend
        block.g += c * block.beta * block.v - t * du
        block.v += t * (v_1 + t * v_2)
        block.beta[some] = np.clip(old + t * d, block.lower[some], block.upper[some])
        block.g -= c * block.beta * block.v
        return inside

    def _remove(self, place: int) -> None:
        """Take one coordinate away from those that move."""
        kept = np.arange(self.numbers.size) != place
        self.numbers, self.signs = self.numbers[kept], self.signs[kept]
        self.removed += 1
        if self.inverse is not None:
            column, pivot = self.inverse[kept, place], self.inverse[place, place]
            self.inverse = self.inverse[np.ix_(kept, kept)]
            self.inverse -= np.outer(column, column / pivot)
        elif self.removed >= IN_A_ROW and self.numbers.size > 1:
            factor = _factor(self._curvature(), COARSE_RIDGE)
            if factor is not None:
                identity = np.eye(self.numbers.size)
                self.inverse = scipy.linalg.cho_solve(factor, identity, check_finite=False)


def _root(slope: Callable[[float], float], end: float) -> float:
    """Return where a slope, positive at 0, negative at `end` and decreasing, is zero.

    The root may be smaller than `end` by hundreds of powers of ten: first find its size. Where the
    terms of a slope leave the range of floats, it is negative.
    """

    def known(t: float) -> float:
        value = slope(t)
        return max(value, -LARGEST) if value == value else -LARGEST

    end = min(end, LARGEST)
    while end > 0.0 and known(SMALLER * end) < 0.0:
        end *= SMALLER
    root = brentq(known, 0.0, end, xtol=XTOL * end + TINY, full_output=True, disp=False)
    return float(root[0])


def _factor(bend: Array, ridge: float) -> tuple[Array, bool] | None:
    """Return the Cholesky factor of a curvature, with a ridge or as much more as it takes.

    None where no ridge up to the curvature itself helps, as with numbers that are not finite.
    """
    largest = float(bend.diagonal().max()) or 1.0
    while ridge <= 1.0:
        shifted = bend.copy()
        shifted[np.diag_indices_from(shifted)] += ridge * largest
        try:
            return scipy.linalg.cho_factor(shifted, overwrite_a=True, check_finite=False)
        except np.linalg.LinAlgError:
            ridge *= 10.0
    return None
