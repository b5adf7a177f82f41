"""The duals of support vector classification and epsilon-regression, as one problem.

    maximise  h(beta) = p'beta - epsilon |beta|_1 - 1/2 beta'K beta - (c/4) (beta^2)'(K o K)(beta^2)
    subject to  lower <= beta <= upper,  1'beta = 0

with o the entrywise product and beta^2 the entrywise square. Classification has p = y,
epsilon = 0 and beta = alpha y between 0 and C y; regression has p = the targets and
-C <= beta <= C. The quartic term of DANK, with c = 1/(4 eta), remains when F is eliminated
(Liu et al. 2020, problem (4) with tau = 0); c = 0 is the plain SVM.

For K positive semi-definite h is concave, and

    gap(beta) = sum_i loss_i(r_i) + epsilon |beta_i| - beta_i r_i,    r = p - f - b,
    f = K beta + c beta o (K o K) beta^2,
    loss_i(r) = upper_i (r - epsilon)_+ + (-lower_i) (-r - epsilon)_+

bounds max h - h(beta), for every feasible beta and every b. No term is negative (Fenchel and
Young), and the sum is beta'f + sum_i loss_i(r_i) - (p'beta - epsilon |beta|_1).

Solvers step on a `WorkingBlock`: the dual on some coordinates, with the others held fixed. There
g = p - u - c beta o v is the gradient of the smooth part, with u = K beta and v = (K o K) beta^2.
The kinks and bounds enter through the one-sided slopes of epsilon_s |beta_s|, infinite at a bound:
rise_s = g_s - up_s is the rate of gain when beta_s grows, and fall_s = g_s - down_s the rate of
loss when it shrinks. At the optimum no rise exceeds any fall.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.optimize import brentq

from pliant.core.jit import compiled
from pliant.core.typing import Array, Indices, Mask


@dataclass(frozen=True, eq=False)
class Certificate:
    """Proof of the distance of a feasible beta from the optimum.

    Attributes
    ----------
    value : float
        h(beta), a lower bound of the optimum.
    gap : float
        value + gap is an upper bound of the optimum. nan where K is not PSD.
    intercept : float
        The b of the smallest bound.
    decision : array of shape (n,)
        f + b, the decision function at the training points.
    slope : float
        The sum of the gap, for a K that is not PSD as well: the largest increase of h over the
        feasible set with its terms in K linearised at beta. Zero at a stationary point.
    """

    value: float
    gap: float
    intercept: float
    decision: Array
    slope: float


@dataclass(frozen=True, eq=False)
class MarginDual:
    """The dual problem at the top of the module.

    Parameters
    ----------
    rows : Rows of n rows
        K.
    linear, lower, upper : arrays of shape (n,)
        p and the box; lower <= 0 <= upper.
    epsilon : float or array of shape (n,)
        Half the width of the tube; 0 for classification.
    quartic : float
        c = 1/(4 eta); 0 for the plain SVM.
    psd : bool
        True if K is positive semi-definite. Otherwise no certificate exists.
    """

    rows: Rows
    linear: Array
    lower: Array
    upper: Array
    epsilon: Array | float = 0.0
    quartic: float = 0.0
    psd: bool = True

    def with_quartic(self, quartic: float) -> MarginDual:
        """Return the same problem with another weight of the quartic term."""
        return replace(self, quartic=quartic)

    def shifted(self, shift: Array) -> MarginDual:
        """Return the same problem with shift'beta added to the objective."""
        return replace(self, linear=self.linear + shift)

    def fields(self, beta: Array) -> tuple[Array, Array]:
        """Return u = K beta and v = (K o K) beta^2 (zeros without a quartic term)."""
        if self.quartic:
            return self.rows.both_matvecs(beta, beta**2)
        u = self.rows.matvec(beta)
        return u, np.zeros_like(u)

    def value(self, beta: Array, fields: tuple[Array, Array] | None = None) -> float:
        """Return h(beta)."""
        u, v = self.fields(beta) if fields is None else fields
        quartic = 0.25 * self.quartic * (beta**2) @ v
        return float(self.gain(beta) - 0.5 * (beta @ u) - quartic)

    def certificate(self, beta: Array, fields: tuple[Array, Array] | None = None) -> Certificate:
        """Return the tightest bound on the optimum that a feasible `beta` gives."""
        fields = self.fields(beta) if fields is None else fields
        u, v = fields
        return self.bound(beta, self.value(beta, fields), u + self.quartic * beta * v)

    def gain(self, beta: Array) -> float:
        """Return p'beta - epsilon |beta|_1."""
        return float(self.linear @ beta - (self.epsilon * np.abs(beta)).sum())

    def bound(self, beta: Array, value: float, f: Array) -> Certificate:
        """Return the certificate of a concave h with the same gain and box, from its value and f.

        h is gain minus any convex function with gradient f at `beta`.
        """
        b = best_intercept(self.linear - f, self.lower, self.upper, self.epsilon)
        r = self.linear - f - b
        # Each term is >= 0 except for rounding, by the inequality of Fenchel and Young.
        terms = self.loss(r) + self.epsilon * np.abs(beta) - beta * r
        slope = float(np.maximum(0.0, terms.sum()))
        return Certificate(value, slope if self.psd else np.nan, b, f + b, slope)

    def loss(self, residual: Array) -> Array:
        """Return loss_i(r_i), shape (n,)."""
        # upper weighs residuals above the tube, -lower residuals below; in classification one is 0
        above = np.maximum(residual - self.epsilon, 0.0)
        below = np.maximum(-residual - self.epsilon, 0.0)
        return np.asarray(self.upper * above - self.lower * below)


class WorkingBlock:
    """The dual on some coordinates (by default all) at a point, with the others held fixed.

    Attributes
    ----------
    indices : array of shape (m,)
        The coordinates.
    beta, g, v : arrays of shape (m,)
        Their values, and the gradient and v there; solvers change them in place. g and v include
        the coordinates that are held fixed.
    linear, lower, upper, epsilon, diagonal : arrays of shape (m,)
        p, the box, the widths of the tube and the diagonal of K.
    c : float
        Weight of the quartic term.
    """

    def __init__(
        self,
        problem: MarginDual,
        beta: Array,
        fields: tuple[Array, Array],
        indices: Indices | None = None,
        pause: Pause | None = None,
    ) -> None:
        some = self.indices = np.arange(beta.size) if indices is None else indices
        self._rows, self._pause = problem.rows, pause
        self.diagonal = problem.rows.diagonal()[some]
        self.linear = problem.linear[some]
        self.lower, self.upper = problem.lower[some], problem.upper[some]
        self.epsilon = np.broadcast_to(problem.epsilon, beta.shape)[some]
        self.c = problem.quartic
        self.beta, self.v = beta[some], fields[1][some]
        self.g = self.linear - fields[0][some] - self.c * self.beta * self.v

    @cached_property
    def gram(self) -> Array:
        """The rows and columns of K, shape (m, m), read when steps need them."""
        return self._rows.square(self.indices, self._pause)

    @property
    def fields(self) -> tuple[Array, Array]:
        """u and v at the present point."""
        return self.linear - self.g - self.c * self.beta * self.v, self.v

    @property
    def free(self) -> Mask:
        """True for coordinates that are neither zero nor at a bound."""
        return (self.beta > self.lower) & (self.beta < self.upper) & (self.beta != 0.0)

    def rates(self) -> tuple[Array, Array]:
        """Return rise and fall, the rates of gain upwards and of loss downwards."""
        up, down = one_sided_slopes(self.beta, self.lower, self.upper, self.epsilon)
        return self.g - up, self.g - down

    @property
    def violation(self) -> float:
        """The largest rise less the smallest fall, the best rate of a pair; <= 0 at the optimum."""
        rise, fall = self.rates()
        return float(rise.max() - fall.min())


@compiled
def slope_up(beta: float, upper: float, epsilon: float) -> float:
    """Return the slope of epsilon |beta| when beta grows; inf at the upper bound."""
    if beta >= upper:
        return np.inf
    return epsilon if beta >= 0.0 else -epsilon


@compiled
def slope_down(beta: float, lower: float, epsilon: float) -> float:
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
        up[s] = slope_up(beta[s], upper[s], epsilon[s])
        down[s] = slope_down(beta[s], lower[s], epsilon[s])
    return up, down


def project_box_hyperplane(
    point: Array, lower: Array, upper: Array, normal: Array | None = None
) -> Array:
    """Return the nearest x to `point` with lower <= x <= upper and normal'x = 0.

    A point of the set is returned unchanged, to the last bit. Any other becomes
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

    # a'x(t) falls from its largest to its smallest value between the first and last break point;
    # bisection finds the linear piece with the root.
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


def best_intercept(residual: Array, lower: Array, upper: Array, epsilon: Array | float) -> float:
    """Return the b that minimises sum_i loss_i(residual_i - b), exactly.

    The sum is convex and piecewise linear in b. Its slope rises by upper_i at
    residual_i - epsilon and by -lower_i at residual_i + epsilon; the minimum is where it turns
    positive. Where the slope is zero on an interval, its middle is taken (or its end, if it has
    only one; 0 if every loss is zero).
    """
    # As b grows, a loss above its tube ends at residual - epsilon, and one below starts at
    # residual + epsilon. Coordinates with an empty side of the box have no loss on that side.
    above, below = upper > 0, lower < 0
    ends, starts = residual - epsilon, residual + epsilon
    breaks = np.concatenate([ends[above], starts[below]])
    rises = np.concatenate([upper[above], -lower[below]])
    if breaks.size == 0:
        return 0.0
    order = np.argsort(breaks)  # the slope is -upper.sum() below all breaks
    breaks, slopes = breaks[order], np.cumsum(rises[order]) - upper.sum()
    tiny = 1e-12 * rises.sum()
    first = int(np.searchsorted(slopes, -tiny))
    last = int(np.searchsorted(slopes, tiny, side="right"))
    return float(0.5 * (breaks[min(first, breaks.size - 1)] + breaks[min(last, breaks.size - 1)]))


def better_start(dual: MarginDual, beta: Array, growth: float) -> Array:
    """Return the best of three starts from the solution `beta` for a box `growth` times smaller.

    The three are beta itself if it is in the box, growth * beta, which always is, and zero.
    """
    u, v = dual.fields(beta)
    scaled = growth * beta  # with t = growth, K (t beta) = t u and (K o K) (t beta)^2 = t^2 v
    value = dual.value(scaled, (growth * u, growth * (growth * v)))
    own = dual.value(beta, (u, v))
    if growth != 1.0 and own > value and ((dual.lower <= beta) & (beta <= dual.upper)).all():
        scaled, value = beta, own
    return scaled if value > 0.0 else np.zeros_like(beta)


def without_intercept(dual: MarginDual) -> MarginDual:
    """Return the problem without its equality constraint: b = 0 (Liu et al. 2020, problem (18)).

    One more coordinate, the last, takes up the sum of the others at no cost: its row of K, its p
    and its epsilon are zero, and its bounds are never reached. The certificate's intercept is
    then exactly zero. A Gram matrix that is kept whole is copied.
    """
    n = len(dual.rows)
    # The sum of the others stays within their bounds: this coordinate is free at any optimum.
    reach = 1.0 + 2.0 * float(dual.upper.sum() - dual.lower.sum())
    return replace(
        dual,
        rows=dual.rows.bordered(),
        linear=np.append(dual.linear, 0.0),
        lower=np.append(dual.lower, -reach),
        upper=np.append(dual.upper, reach),
        epsilon=np.append(np.broadcast_to(dual.epsilon, n), 0.0),
    )


def best_multiple(dual: MarginDual, beta: Array) -> tuple[Array, tuple[Array, Array]]:
    """Return t beta for the t in [0, 1] with the largest h, and its fields.

    Coefficients that were learned part by part are too large where the parts overlap. Along the
    ray h is t gain - (t^2/2) beta'u - (c t^4/4) (beta^2)'v.
    """
    u, v = dual.fields(beta)
    gain, bend, quartic = dual.gain(beta), float(beta @ u), dual.quartic * float(beta**2 @ v)

    def slope(t: float) -> float:  # the derivative of h along the ray, decreasing in t
        return gain - bend * t - quartic * t**3

    t = 1.0
    if gain <= 0.0:
        t, u, v = 0.0, np.zeros_like(u), np.zeros_like(v)
    elif slope(1.0) < 0.0:
        t = float(brentq(slope, 0.0, 1.0))
    return t * beta, (t * u, t**2 * v)


def svc_dual(
    rows: Rows, signs: Array, C: Array | float, *, quartic: float = 0.0, psd: bool = True
) -> MarginDual:
    """Return the dual of classification.

    Parameters
    ----------
    rows : Rows of n rows
        The Gram matrix.
    signs : array of shape (n,)
        Labels, -1.0 or +1.0.
    C : float or array of shape (n,)
        Penalty parameter, > 0, for all samples or for each.
    quartic : float
        1/(4 eta).
    psd : bool
        True if the Gram matrix is positive semi-definite.
    """
    bound = signs * C
    return MarginDual(
        rows, signs, np.minimum(bound, 0.0), np.maximum(bound, 0.0), 0.0, quartic, psd
    )


def svr_dual(
    rows: Rows,
    target: Array,
    C: Array | float,
    epsilon: float,
    *,
    quartic: float = 0.0,
    psd: bool = True,
) -> MarginDual:
    """Return the dual of epsilon-regression; parameters as in `svc_dual`, `target` real."""
    bound = np.broadcast_to(np.asarray(C, dtype=np.float64), target.shape)
    return MarginDual(rows, target, -bound, bound.copy(), epsilon, quartic, psd)


Pause: TypeAlias = Callable[[], object]
"""Called between blocks of kernel values; it may end the sum with an exception."""


class Rows(Protocol):
    """A symmetric Gram matrix K as rows.

    Solvers read small square parts and sums of weighted rows, and never call the kernel.
    `DenseRows` holds the whole matrix; `pliant.methods.svm.rows.CachedRows` computes rows on
    demand.
    """

    @property
    def room(self) -> int | None:
        """Largest number of coordinates of a square part; None for no limit."""

    def __len__(self) -> int:
        """Return the number of rows."""

    def bordered(self) -> Rows:
        """Return the rows of the matrix with one more row and column, of zeros."""

    def diagonal(self) -> Array:
        """Return the diagonal, shape (n,), float64."""

    def square(self, indices: Indices, pause: Pause | None = None) -> Array:
        """Return the rows and columns `indices`, shape (m, m)."""

    def part(self, rows: Indices, columns: Indices) -> Array:
        """Return some rows and columns, shape (len(rows), len(columns))."""

    def matvec(self, weights: Array, pause: Pause | None = None) -> Array:
        """Return K w, shape (n,), in float64; rows of zero weight are not read."""

    def both_matvecs(
        self, weights: Array, squares: Array, pause: Pause | None = None
    ) -> tuple[Array, Array]:
        """Return K w and (K o K) q, where q is zero wherever w is."""


class DenseRows:
    """The rows of a symmetric Gram matrix that fits into memory.

    Parameters
    ----------
    gram : array of shape (n, n)
        Symmetric. float32 and float64 are kept as they are (in C order); others become float64.
    dtype : dtype, optional
        The precision to keep; float32 halves the memory that a solver reads. Sums are float64.
    """

    room: None = None
    """No limit on the number of coordinates of a square part."""

    def __init__(self, gram: npt.ArrayLike, dtype: npt.DTypeLike | None = None) -> None:
        matrix = np.asarray(gram)
        if dtype is None:
            dtype = np.float32 if matrix.dtype == np.float32 else np.float64
        if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
            raise ValueError(f"expected a square Gram matrix, got shape {matrix.shape}")
        self.gram: Array = np.ascontiguousarray(matrix, dtype=dtype)
        self._diagonal: Array = self.gram.diagonal().astype(np.float64)
        self._diagonal.flags.writeable = False

    def __len__(self) -> int:
        """Return the number of rows."""
        return self.gram.shape[0]

    def bordered(self) -> DenseRows:
        """Return the rows of the matrix with one more row and column, of zeros."""
        return DenseRows(np.pad(self.gram, (0, 1)))

    def diagonal(self) -> Array:
        """Return the diagonal, shape (n,), float64."""
        return self._diagonal

    def square(self, indices: Indices, pause: Pause | None = None) -> Array:
        """Return the rows and columns `indices`, shape (m, m); `pause` is not called."""
        if np.array_equal(indices, np.arange(len(self))):
            return self.gram
        return self.part(indices, indices)

    def part(self, rows: Indices, columns: Indices) -> Array:
        """Return some rows and columns, shape (len(rows), len(columns))."""
        return part(self.gram, rows, columns)

    def matvec(self, weights: Array, pause: Pause | None = None) -> Array:
        """Return K w, shape (n,); rows of zero weight are not read. `pause` is not called."""
        used, total = np.flatnonzero(weights), np.zeros(len(self))
        add_rows(total, self.gram, used, weights[used])
        return total

    def both_matvecs(
        self, weights: Array, squares: Array, pause: Pause | None = None
    ) -> tuple[Array, Array]:
        """Return K w and (K o K) q, where q is zero wherever w is; `pause` is not called."""
        total, squared = np.zeros(len(self)), np.zeros(len(self))
        used = np.flatnonzero(weights)
        add_both(total, squared, self.gram, used, weights[used], squares[used])
        return total, squared


@compiled
def part(gram: Array, rows: Indices, columns: Indices) -> Array:
    """Return some rows and columns of a matrix."""
    chosen = np.empty((rows.size, columns.size), gram.dtype)
    for a in range(rows.size):
        row = gram[rows[a]]
        for b in range(columns.size):
            chosen[a, b] = row[columns[b]]
    return chosen


@compiled
def add_rows(total: Array, rows: Array, numbers: Indices, weights: Array) -> None:
    """Add sum_a weights_a rows[numbers_a] to `total`."""
    for a in range(numbers.size):
        row = rows[numbers[a]]
        for s in range(total.size):
            total[s] += weights[a] * row[s]


@compiled
def add_both(
    total: Array,
    squared: Array,
    rows: Array,
    numbers: Indices,
    weights: Array,
    square_weights: Array,
) -> None:
    """Add sum_a weights_a rows[numbers_a] to `total`, and to `squared` the sum of squared rows.

    Rows are squared entrywise, with weights `square_weights`; each is read once.
    """
    for a in range(numbers.size):
        row = rows[numbers[a]]
        for s in range(total.size):
            total[s] += weights[a] * row[s]
            squared[s] += square_weights[a] * row[s] * row[s]
