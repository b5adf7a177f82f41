"""Newton steps on the free coordinates of a block, where two-coordinate steps take long.

Where C is large and the Gram matrix nearly singular, pairs of coordinates approach the optimum very
slowly: the objective is nearly flat along each pair, and curved along their sums. With all other
coordinates fixed, Newton's method reaches the maximum on the m free ones in a few steps of O(m^3)
each. A step ends at the maximum along its direction, or at the first bound or kink, where that
coordinate is fixed. At the maximum, the coordinate that violates the optimality conditions most is
set free. So the objective never falls, and the point stays feasible (an active set method).

The first m^3 products give a Cholesky factor of the curvature. As long as steps end at bounds, each
takes one coordinate away, and the factor without it costs m^2: where a linear kernel has rank 24
and 700 coordinates are free, nearly all steps are such.

On unscaled tables of 270 to 770 rows, a Gaussian kernel with C = 1e7 takes 7 to 16 times as long
without these steps, and a linear one with C = 1000 mostly does not end within 25 times the time.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.linalg
from scipy.optimize import brentq

from pliant.core.jit import compiled
from pliant.core.typing import Array, Indices
from pliant.methods.svm.rows import add_both, add_rows
from pliant.methods.svm.smo.steps import Block

RIDGE = 1e-14
"""Added to the curvature, a share of its largest diagonal entry; or ten times as much, again and
again, where that does not make it positive definite."""

READS = 1.0 / 15.0
"""Time for each of the m^3 products of a Newton step, in units of the time in which two-coordinate
steps read one kernel value."""

REMOVAL = 4.0
"""The same for each of the m^2 products of a step that needs no new factor. Measured: 4 takes .6 of
the time of 10 (linear and Gaussian, C = 1e3 and 1e5, unscaled tables of 270 to 1000 rows)."""

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

FULL_STEPS = 5
"""Steps to the maximum of one face at most; rounding hides the rest."""


def cost(n_free: int) -> float:
    """Return the time of a Newton step, in kernel values that two-coordinate steps read."""
    return OVERHEAD + READS * float(n_free) ** 3


class Schedule:
    """Schedules two-coordinate and Newton steps in a long run.

    Newton steps may take as much time as two-coordinate steps have taken, in turns that last longer
    and longer until one of them ends at its goal.
    """

    def __init__(self) -> None:
        self.spent = 0.0
        self.succeeded = False

    def take(
        self, block: Block, goal: float, work: float, stop: Callable[[], bool], *, stuck: bool
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


def ascend(block: Block, goal: float, room: float, stop: Callable[[], bool]) -> float:
    """Take Newton steps in place, until the violation is <= `goal`; return their `cost`.

    They end as well where the next one would exceed `room`, and where `stop`, called after each,
    returns True.
    """
    face, spent, full = _Face(block), 0.0, 0
    while spent + face.cost <= room:
        spent += face.cost
        slopes, number, way, worst = face.violations()
        if full >= FULL_STEPS or np.ptp(slopes) <= EVEN * max(worst, 0.0):
            if worst <= goal:
                break
            face.add(number, way)
            full = 0
        outcome = face.step()
        if outcome is None or stop():
            break
        full += outcome
    return spent


class _Face:
    """The coordinates of a block that move, each on one side of its kink at zero.

    `factor` is the upper Cholesky factor of their curvature, as long as steps end at bounds.
    """

    def __init__(self, block: Block) -> None:
        self.block = block
        self.numbers: Indices = np.flatnonzero(block.free)
        self.signs = np.sign(block.beta[self.numbers])
        self.factor: Array | None = None

    @property
    def cost(self) -> float:
        """The time of the next step, in kernel values that two-coordinate steps read."""
        size = self.numbers.size
        return cost(size) if self.factor is None else OVERHEAD + REMOVAL * float(size) ** 2

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
        self.factor = None

    def step(self) -> bool | None:
        """Go to the maximum along the Newton direction, or to the first bound.

        Returns whether to the maximum, or None if there is no direction of ascent.
        """
        if self.numbers.size < 2:
            return None
        if self.factor is None:
            self.factor = _factor(self._curvature())
        if self.factor is None:
            return None
        slopes = self.slopes()
        direction = _direction(self.factor, slopes)
        rise = float(slopes @ direction)
        bounds = self._bounds(direction)
        ways = bounds - self.block.beta[self.numbers]
        with np.errstate(divide="ignore", invalid="ignore"):
            ends = np.where(direction == 0.0, np.inf, ways / direction)
        first = int(np.argmin(ends))
        if not (rise > 0.0 and ends[first] > 0.0):
            return None
        inside = self._move(direction, rise, float(ends[first]))
        self.factor = None if inside else _without(self.factor, first)
        if not inside:
            self.block.beta[self.numbers[first]] = bounds[first]
            self.numbers = np.delete(self.numbers, first)
            self.signs = np.delete(self.signs, first)
        return inside

    def _curvature(self) -> Array:
        """Return minus the second derivatives, K + 2c (beta beta') o K o K + c diag(v)."""
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

        t, inside = end, not slope(end) >= 0.0
        if inside and c:
            high = 1.0  # near the maximum, a Newton step has about this length
            while high < end and slope(high) > 0.0:
                high *= 2.0
            t = float(brentq(slope, 0.0, min(high, end)))
        elif inside:
            t = rise / bend
        block.g += c * block.beta * block.v - t * du
        block.v += t * (v_1 + t * v_2)
        block.beta[some] = np.clip(old + t * d, block.lower[some], block.upper[some])
        block.g -= c * block.beta * block.v
        return inside


def _direction(factor: Array, slopes: Array) -> Array:
    """Return the Newton direction, of sum zero.

    With H the curvature, it is H^-1 (slopes - t 1), and t makes the sum zero.
    """
    right = np.column_stack([slopes, np.ones(slopes.size)])
    moved, ones = scipy.linalg.cho_solve((factor.T, True), right, check_finite=False).T
    direction = moved - (moved.sum() / ones.sum()) * ones
    return np.asarray(direction - direction.mean())


def _factor(bend: Array) -> Array | None:
    """Return the upper Cholesky factor of a curvature, with a ridge or as much more as it takes.

    None where no ridge up to the curvature itself helps, as with numbers that are not finite.
    """
    largest, ridge = float(bend.diagonal().max()) or 1.0, RIDGE
    while ridge <= 1.0:
        shifted = bend.copy()
        shifted[np.diag_indices_from(shifted)] += ridge * largest
        try:
            # its transpose, in Fortran's order, is overwritten
            lower = scipy.linalg.cholesky(shifted.T, True, overwrite_a=True, check_finite=False)
            return np.asarray(lower.T)
        except np.linalg.LinAlgError:
            ridge *= 10.0
    return None


@compiled
def _without(factor: Array, k: int) -> Array:
    """Return the upper Cholesky factor of a matrix without its row and column k.

    The rows above k lose an entry. Below, the matrix gains r r', with r the rest of row k: a Givens
    rotation with each row takes up the first entry of r that is left.
    """
    m = len(factor) - 1
    smaller, rest = np.zeros((m, m)), factor[k, 1:].copy()
    smaller[:k, :k], smaller[:k, k:] = factor[:k, :k], factor[:k, k + 1 :]
    for i in range(k, m):
        row = factor[i + 1, 1:]
        length = np.hypot(row[i], rest[i])
        cosine, sine = row[i] / length, rest[i] / length
        for j in range(i, m):
            smaller[i, j] = cosine * row[j] + sine * rest[j]
            rest[j] = cosine * rest[j] - sine * row[j]
    return smaller
