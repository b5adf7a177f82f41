"""An active set Newton method on the free coordinates of a block, for slow SMO runs.

If C is large and the Gram matrix nearly singular, SMO converges very slowly: the objective is
nearly flat along each pair of coordinates, and curved along sums of pairs. With all other
coordinates fixed, Newton's method reaches the maximum over the m free ones in a few steps of O(m^3)
each. A step ends at the maximum along its direction, or fixes the first coordinate that reaches a
bound or kink. At the maximum, the coordinate with the largest violation of the optimality
conditions becomes free. The objective therefore never decreases, and the iterates stay feasible.

The Cholesky factor of the curvature costs m^3. A step that ends at a bound removes one coordinate,
and downdating the factor costs m^2. With a linear kernel of rank 24 and 700 free coordinates,
nearly all steps end at bounds.

On unscaled tables of 270 to 770 rows, fits with a Gaussian kernel and C = 1e7 take 7 to 16 times as
long without these steps. With linear kernels and C = 1000, most fits take over 25 times as long.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.linalg

from pliant.core.loops import compiled
from pliant.core.typing import Array, Indices
from pliant.methods.svm.rows import add_both, add_rows
from pliant.methods.svm.smo.block import WorkingBlock

READS, REMOVAL, OVERHEAD = 1.0 / 15.0, 4.0, 2e5
"""Cost of a step on m coordinates, in units of one kernel value read by SMO. It is OVERHEAD (a few
tenths of a millisecond), plus READS m^3 for a new Cholesky factor or REMOVAL m^2 for a downdated
one. With REMOVAL = 4, fits took .6 times as long as with 10 (linear and Gaussian kernels, C = 1e3
and 1e5, unscaled tables of 270 to 1000 rows)."""

FIRST_RUN = 20
"""Minimum budget of the first run, in Newton steps."""


class NewtonSchedule:
    """Schedule of Newton steps in a long SMO run.

    Newton steps may take as much time as SMO steps. Newton runs get longer until one succeeds.
    """

    def __init__(self) -> None:
        self.spent: float = 0.0
        self.succeeded: bool = False

    def run_if_due(
        self, block: WorkingBlock, goal: float, work: float, stop: Callable[[], bool], stuck: bool
    ) -> None:
        """Take Newton steps in place until the violation reaches `goal`, if a run is due.

        `work` is the cost of all SMO steps. A run is also due if SMO is `stuck`. It ends when its
        budget is spent, or when `stop`, called after each step, returns True.
        """
        step_cost = OVERHEAD + READS * float(block.free.sum()) ** 3
        budget = work - self.spent
        required = step_cost if self.succeeded else max(self.spent, FIRST_RUN * step_cost)
        if stuck:
            budget = required = max(budget, 0.5 * work)
        if budget >= required:
            goal = max(goal, 1e-3 * block.violation)  # a thousandth of the violation is enough
            self.spent += take_newton_steps(block, goal, budget, stop)
            self.succeeded = block.violation <= goal


def take_newton_steps(
    block: WorkingBlock, goal: float, budget: float, stop: Callable[[], bool]
) -> float:
    """Take Newton steps in place until the violation is <= `goal`; return their cost.

    Also stop if the next step would exceed the budget, or if `stop`, called after each step,
    returns True.
    """
    face, spent, inner_maxima = _Face(block), 0.0, 0
    while spent + face.cost <= budget:
        spent += face.cost
        slopes, number, sign, worst = face.violations()
        # Free a coordinate if its violation is at least 10 times the range of the free slopes, or
        # after 5 maxima on this face: then only rounding errors remain.
        if inner_maxima >= 5 or np.ptp(slopes) <= 0.1 * max(worst, 0.0):
            if worst <= goal:
                break
            face.add(number, sign)
            inner_maxima = 0
        reached_maximum = face.step()
        if reached_maximum is None or stop():
            break
        inner_maxima += reached_maximum
    return spent


class _Face:
    """The free coordinates of a block, each on one side of its kink at zero.

    `factor` is the upper Cholesky factor of their curvature, or None if unknown.
    """

    def __init__(self, block: WorkingBlock) -> None:
        self.block = block
        self.numbers: Indices = np.flatnonzero(block.free)
        self.signs = np.sign(block.beta[self.numbers])
        self.factor: Array | None = None

    @property
    def cost(self) -> float:
        """The cost of the next step, in units of reading one kernel value."""
        size = float(self.numbers.size)
        return OVERHEAD + (READS * size**3 if self.factor is None else REMOVAL * size**2)

    def slopes(self) -> Array:
        """Return the derivatives of the objective in the free coordinates."""
        return self.block.g[self.numbers] - self.block.epsilon[self.numbers] * self.signs

    def violations(self) -> tuple[Array, int, float, float]:
        """Return the slopes, and the most violating fixed coordinate, its direction and violation.

        The direction is 1.0 (upwards) or -1.0 (downwards). At the maximum of the face all slopes
        equal the multiplier of 1'beta = 0.
        """
        rise, fall = self.block.rates()
        slopes = self.slopes()
        if not slopes.size:
            slopes = np.array([0.5 * (rise.max() + fall.min())])
        middle = float(slopes.mean())
        up, down = rise - middle, middle - fall
        up[self.numbers] = down[self.numbers] = -np.inf
        rates, sign = (up, 1.0) if up.max() >= down.max() else (down, -1.0)
        number = int(np.argmax(rates))
        return slopes, number, sign, float(rates[number])

    def add(self, number: int, sign: float) -> None:
        """Free a coordinate in the direction `sign`."""
        beta = self.block.beta[number]
        self.numbers = np.append(self.numbers, number)
        self.signs = np.append(self.signs, np.sign(beta) if beta else sign)
        self.factor = None

    def step(self) -> bool | None:
        """Move along the Newton direction to the maximum, or to the first bound.

        Return True at the maximum, False at a bound, or None if there is no ascent direction.
        """
        block, some = self.block, self.numbers
        if some.size < 2:
            return None
        if self.factor is None:
            self.factor = _factor(self._curvature())
        if self.factor is None:
            return None
        # The Newton direction d solves H d + t 1 = slopes, 1'd = 0: d = H^-1 slopes - t H^-1 1.
        slopes = self.slopes()
        right = np.column_stack([slopes, np.ones(slopes.size)])
        full, ones = scipy.linalg.cho_solve((self.factor.T, True), right, check_finite=False).T
        direction = full - (full.sum() / ones.sum()) * ones
        direction -= direction.mean()
        rise = float(slopes @ direction)
        # A coordinate can move up to its bound, or up to the kink at zero.
        bounds = np.where(direction > 0.0, block.upper[some], block.lower[some])
        bounds[(block.epsilon[some] > 0.0) & (self.signs * direction < 0.0)] = 0.0
        distances = bounds - block.beta[some]
        ends = np.full(distances.shape, np.inf)
        np.divide(distances, direction, out=ends, where=direction != 0.0)
        first = int(np.argmin(ends))
        if not (rise > 0.0 and ends[first] > 0.0):
            return None
        inside = self._move(direction, rise, float(ends[first]))
        self.factor = None if inside else _without(self.factor, first)
        if not inside:
            block.beta[some[first]] = bounds[first]
            self.numbers = np.delete(some, first)
            self.signs = np.delete(self.signs, first)
        return inside

    def _curvature(self) -> Array:
        """Return the negative Hessian, H = K + 2c (beta beta') o K o K + c diag(v)."""
        block, some = self.block, self.numbers
        square = np.asarray(block.gram[np.ix_(some, some)], dtype=np.float64)
        if not block.c:
            return square
        beta = block.beta[some]
        bend = square + 2.0 * block.c * (beta[:, None] * square**2 * beta)
        bend[np.diag_indices_from(bend)] += block.c * block.v[some]
        return np.asarray(bend)

    def _move(self, direction: Array, rise: float, end: float) -> bool:
        """Move along d to the maximum of h, or to `end` if nearer; return True at the maximum.

        With b = beta + t d, u = u_0 + t K d and v = v_0 + t v_1 + t^2 v_2, where
        v_1 = (K o K)(2 beta o d) and v_2 = (K o K) d^2. So the slope of h, d'(p - u - c b o v)
        less the slope of the kinks, is a cubic polynomial in t.
        """
        from scipy.optimize import brentq

        block, some, c, d = self.block, self.numbers, self.block.c, direction
        old = block.beta[some]
        du, v_1, v_2 = (np.zeros_like(block.g) for _ in range(3))
        if c:
            add_both(du, v_1, block.gram, some, d, 2.0 * old * d)
            add_both(np.zeros_like(du), v_2, block.gram, some, d, d**2)
        else:
            add_rows(du, block.gram, some, d)
        # slope(t) = rise - bend t - second t^2 - third t^3
        bend = float(d @ (du[some] + c * (old * v_1[some] + d * block.v[some])))
        second = c * float(d @ (old * v_2[some] + d * v_1[some]))
        third = c * float(d**2 @ v_2[some])

        def slope(t: float) -> float:
            return rise - t * (bend + t * (second + t * third))

        t, inside = end, not slope(end) >= 0.0
        if inside and c:
            high = 1.0  # the length of a Newton step near the maximum
            while high < end and slope(high) > 0.0:
                high *= 2.0
            t = float(brentq(slope, 0.0, min(high, end)))
        elif inside:
            t = rise / bend
        block.g += c * block.beta * block.v - t * du  # g + c beta o v = p - u is linear in t
        block.v += t * (v_1 + t * v_2)
        block.beta[some] = np.clip(old + t * d, block.lower[some], block.upper[some])
        block.g -= c * block.beta * block.v
        return inside


def _factor(bend: Array) -> Array | None:
    """Return the upper Cholesky factor of a curvature plus the smallest sufficient ridge.

    Return None if no ridge up to the largest curvature suffices, for example with nonfinite values.
    """
    largest, ridge = float(bend.diagonal().max()) or 1.0, 1e-14
    while ridge <= 1.0:
        shifted = bend.copy()
        shifted[np.diag_indices_from(shifted)] += ridge * largest
        try:
            # The transpose is in Fortran order, so LAPACK overwrites it.
            lower = scipy.linalg.cholesky(shifted.T, True, overwrite_a=True, check_finite=False)
            return np.asarray(lower.T)
        except np.linalg.LinAlgError:
            ridge *= 10.0
    return None


@compiled
def _without(factor: Array, k: int) -> Array:
    """Return the upper Cholesky factor of a matrix without its row and column k.

    The rows above k lose an entry. The block below gains r r', with r the remainder of row k. A
    Givens rotation of each row i with r moves r_i into the diagonal and leaves r_i = 0.
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
