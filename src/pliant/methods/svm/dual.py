"""The dual problem of support vector classification and epsilon-regression.

    maximise  h(beta) = p'beta - epsilon |beta|_1 - 1/2 beta'K beta - (c/4) (beta^2)'(K o K)(beta^2)
    subject to  lower <= beta <= upper,  1'beta = 0

Here o is the entrywise product and beta^2 the entrywise square. Classification has p = y,
epsilon = 0 and beta = alpha y between 0 and C y; regression has p = the targets and
-C <= beta <= C. The quartic term of DANK, with c = 1/(4 eta), comes from eliminating F
(Liu et al. 2020, problem (4) with tau = 0); c = 0 gives the plain SVM.

If K is positive semi-definite, h is concave, and

    gap(beta) = sum_i loss_i(r_i) + epsilon |beta_i| - beta_i r_i,    r = p - f - b,
    f = K beta + c beta o (K o K) beta^2,
    loss_i(r) = upper_i (r - epsilon)_+ + (-lower_i) (-r - epsilon)_+

bounds max h - h(beta), for every feasible beta and every b. Every term is nonnegative by the
Fenchel-Young inequality. The sum equals beta'f + sum_i loss_i(r_i) - (p'beta - epsilon |beta|_1).
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from pliant.core.loops import compiled
from pliant.core.typing import Array, Indices
from pliant.methods.svm.rows import Rows


@dataclass(frozen=True, eq=False)
class Certificate:
    """Bound on the suboptimality of a feasible beta.

    Attributes
    ----------
    value : float
        h(beta), a lower bound on the optimum.
    gap : float
        value + gap is an upper bound on the optimum. nan if K is not PSD.
    intercept : float
        The b that minimises the gap.
    decision : array of shape (n,)
        f + b, the decision values of the training points.
    linearized_gap : float
        The gap formula for any K: the largest increase of h over the feasible set when the terms
        in K are linearised at beta. Zero at a stationary point.
    """

    value: float
    gap: float
    intercept: float
    decision: Array
    linearized_gap: float


@dataclass(frozen=True, eq=False)
class MarginDual:
    """The dual problem in the module docstring.

    Parameters
    ----------
    rows : Rows of length n
        K.
    linear, lower, upper : arrays of shape (n,)
        p and the bounds on beta; lower <= 0 <= upper.
    epsilon : float or array of shape (n,)
        Half the width of the tube; 0 for classification.
    quartic : float
        c = 1/(4 eta); 0 for the plain SVM.
    psd : bool
        True if K is positive semi-definite. Otherwise the gap is nan.
    """

    rows: Rows
    linear: Array
    lower: Array
    upper: Array
    epsilon: Array | float = 0.0
    quartic: float = 0.0
    psd: bool = True

    @cached_property
    def tube(self) -> Array:
        """`epsilon` of each coordinate, shape (n,)."""
        return np.full(self.linear.shape, self.epsilon)

    def with_quartic(self, quartic: float) -> MarginDual:
        """Return a copy of the problem with another c."""
        return replace(self, quartic=quartic)

    def fields(self, beta: Array) -> tuple[Array, Array]:
        """Return u = K beta and v = (K o K) beta^2 (zeros if c = 0)."""
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
        """Return the certificate of a feasible `beta`."""
        fields = self.fields(beta) if fields is None else fields
        u, v = fields
        return self.bound(beta, self.value(beta, fields), u + self.quartic * beta * v)

    def gain(self, beta: Array) -> float:
        """Return p'beta - epsilon |beta|_1."""
        linear = float(self.linear @ beta)
        if isinstance(self.epsilon, float) and self.epsilon == 0.0:  # classification
            return linear
        return linear - float((self.epsilon * np.abs(beta)).sum())

    def bound(self, beta: Array, value: float, f: Array) -> Certificate:
        """Return the certificate of gain(beta) - q(beta), for a convex q with gradient f."""
        residual = self.linear - f
        b = best_intercept(residual, self.lower, self.upper, self.tube)
        # Each term is >= 0 up to rounding, by the Fenchel-Young inequality.
        terms = _fenchel_terms(beta, residual, b, self.lower, self.upper, self.tube)
        gap = float(np.maximum(0.0, terms.sum()))
        return Certificate(
            value=value,
            gap=gap if self.psd else np.nan,
            intercept=b,
            decision=f + b,
            linearized_gap=gap,
        )

    def loss(self, residual: Array) -> Array:
        """Return loss_i(r_i), shape (n,)."""
        # Residuals above the tube have weight `upper`, and those below it `-lower`.
        above = np.maximum(residual - self.epsilon, 0.0)
        below = np.maximum(-residual - self.epsilon, 0.0)
        return np.asarray(self.upper * above - self.lower * below)


@compiled
def _fenchel_terms(
    beta: Array, residual: Array, b: float, lower: Array, upper: Array, epsilon: Array
) -> Array:
    """Return loss_i(r_i) + epsilon_i |beta_i| - beta_i r_i for r = residual - b, shape (n,)."""
    terms = np.empty(beta.size)
    for i in range(beta.size):
        r = residual[i] - b
        above, below = max(r - epsilon[i], 0.0), max(-r - epsilon[i], 0.0)
        loss = upper[i] * above - lower[i] * below
        terms[i] = loss + epsilon[i] * abs(beta[i]) - beta[i] * r
    return terms


def project_box_hyperplane(point: Array, lower: Array, upper: Array) -> Array:
    """Project `point` onto the set lower <= x <= upper, 1'x = 0.

    A feasible point is returned unchanged. The projection of any other point is
    clip(point - t, lower, upper). Here t is the root of a non-increasing piecewise linear
    function, computed exactly from its sorted breakpoints in O(n log n).

    Parameters
    ----------
    point, lower, upper : arrays of shape (n,)
        Bounds are finite, lower <= upper, and the set is not empty.
    """
    if _is_feasible(point, lower, upper):
        return point.copy()
    ones = np.ones_like(point)
    breaks = np.sort(np.concatenate([point - lower, point - upper]))

    def surplus(t: float) -> float:
        return float(ones @ np.clip(point - t, lower, upper))

    # 1'x(t) decreases from its maximum at the first breakpoint to its minimum at the last.
    # Bisection finds the linear piece that contains the root.
    first, last = breaks[0], breaks[-1]
    if surplus(first) <= 0:
        return np.clip(point - first, lower, upper)
    if surplus(last) >= 0:
        return np.clip(point - last, lower, upper)
    right = bisect_left(breaks, 0.0, 1, breaks.size - 1, key=lambda t: -surplus(t))
    low, high = breaks[right - 1], breaks[right]
    t = low + surplus(low) / (surplus(low) - surplus(high)) * (high - low)
    return np.clip(point - t, lower, upper)


@compiled
def _is_feasible(point: Array, lower: Array, upper: Array) -> bool:
    """Return True if `point` is in the box, and its sum is zero up to rounding errors."""
    total, reach = 0.0, 1.0
    for i in range(point.size):
        if not lower[i] <= point[i] <= upper[i]:
            return False
        total += point[i]
        reach += abs(lower[i]) + abs(upper[i])
    return abs(total) <= 1e-12 * reach


def best_intercept(residual: Array, lower: Array, upper: Array, epsilon: Array) -> float:
    """Return the exact minimiser b of sum_i loss_i(residual_i - b).

    The sum is convex and piecewise linear in b. Its slope increases by upper_i at
    residual_i - epsilon_i and by -lower_i at residual_i + epsilon_i. If the minimisers form an
    interval, return its midpoint, or its finite end if unbounded. Return 0 if every loss is zero.
    """
    breaks, rises = _breakpoints(residual, lower, upper, epsilon)
    return _flat_middle(breaks, rises, np.argsort(breaks), float(upper.sum()))


@compiled
def _breakpoints(
    residual: Array, lower: Array, upper: Array, epsilon: Array
) -> tuple[Array, Array]:
    """Return the breakpoints of the sum of `best_intercept`, and the rises of its slope there."""
    # As b grows, the loss above the tube vanishes at residual - epsilon, and the loss below
    # starts at residual + epsilon. A zero bound means no loss on that side.
    breaks, rises, count = np.empty(2 * upper.size), np.empty(2 * upper.size), 0
    for i in range(upper.size):
        if upper[i] > 0.0:
            breaks[count], rises[count] = residual[i] - epsilon[i], upper[i]
            count += 1
        if lower[i] < 0.0:
            breaks[count], rises[count] = residual[i] + epsilon[i], -lower[i]
            count += 1
    return breaks[:count], rises[:count]


@compiled
def _flat_middle(breaks: Array, rises: Array, order: Indices, steepest: float) -> float:
    """Return the middle of the interval between breakpoints where the slope is zero.

    The slope is -`steepest` before the first breakpoint. Return 0 without breakpoints.
    """
    if breaks.size == 0:
        return 0.0
    tiny, total = 0.0, 0.0
    for rise in rises:
        tiny += 1e-12 * rise
    first = last = breaks.size - 1
    for k in range(breaks.size):
        total += rises[order[k]]  # the slope after this breakpoint is `total - steepest`
        if total - steepest >= -tiny:
            first = min(first, k)
        if total - steepest > tiny:
            last = k
            break
    return 0.5 * (breaks[order[first]] + breaks[order[last]])


def better_start(dual: MarginDual, beta: Array, growth: float) -> Array:
    """Return the best starting point, given the solution `beta` for a box `growth` times smaller.

    The candidates are growth * beta, which is feasible, beta if it is feasible, and zero.
    """
    u, v = dual.fields(beta)
    scaled = growth * beta  # with t = growth, K (t beta) = t u and (K o K) (t beta)^2 = t^2 v
    value = dual.value(scaled, (growth * u, growth * (growth * v)))
    own = dual.value(beta, (u, v))
    if growth != 1.0 and own > value and ((dual.lower <= beta) & (beta <= dual.upper)).all():
        scaled, value = beta, own
    return scaled if value > 0.0 else np.zeros_like(beta)


def without_intercept(dual: MarginDual) -> MarginDual:
    """Return the problem without its equality constraint, so b = 0 (Liu et al. 2020, problem (18)).

    A slack coordinate is appended: its row of K, its p and its epsilon are zero, and its bounds
    are never active. The certificate's intercept is then exactly zero. A dense Gram matrix is
    copied.
    """
    n = len(dual.rows)
    # The slack coordinate is minus the sum of the others, so its absolute value is below `reach`.
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
    """Return the multiple t beta, t in [0, 1], that maximises h, and its fields.

    Coefficients learned part by part are too large where the parts overlap. Along the ray,
    h = t gain - (t^2/2) beta'u - (c t^4/4) (beta^2)'v.
    """
    from scipy.optimize import brentq

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


def svc_dual(rows: Rows, signs: Array, C: Array | float, *, psd: bool = True) -> MarginDual:
    """Return the dual of support vector classification.

    Parameters
    ----------
    rows : Rows of length n
        The Gram matrix.
    signs : array of shape (n,)
        Labels, -1.0 or +1.0.
    C : float or array of shape (n,)
        Penalty parameter, > 0, common or per sample.
    psd : bool
        True if the Gram matrix is positive semi-definite.
    """
    bound = signs * C
    return MarginDual(
        rows=rows,
        linear=signs,
        lower=np.minimum(bound, 0.0),
        upper=np.maximum(bound, 0.0),
        psd=psd,
    )


def svr_dual(
    rows: Rows, target: Array, C: Array | float, epsilon: float, *, psd: bool = True
) -> MarginDual:
    """Return the dual of epsilon-regression; parameters as in `svc_dual`, with a real `target`."""
    bound = np.broadcast_to(np.asarray(C, dtype=np.float64), target.shape)
    return MarginDual(
        rows=rows, linear=target, lower=-bound, upper=bound.copy(), epsilon=epsilon, psd=psd
    )
