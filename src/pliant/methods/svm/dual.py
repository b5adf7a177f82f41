"""The duals of support vector classification and epsilon-regression, as one problem.

    maximise  h(beta) = p'beta - epsilon |beta|_1 - 1/2 beta'K beta - (c/4) (beta^2)'(K o K)(beta^2)
    subject to  lower <= beta <= upper,  1'beta = 0

with o the entrywise product and beta^2 the entrywise square. Classification has p = y,
epsilon = 0 and beta = alpha y between 0 and C y; regression has p = the targets and
-C <= beta <= C. The quartic term, with c = 1/(4 eta), is what DANK adds
(Liu et al. 2020, problem (4) with tau = 0 and F eliminated); c = 0 is the plain SVM.

For K positive semi-definite h is concave, and

    gap(beta) = sum_i loss_i(r_i) + epsilon |beta_i| - beta_i r_i,    r = p - f - b,
    f = K beta + c beta o (K o K) beta^2,
    loss_i(r) = upper_i (r - epsilon)_+ + (-lower_i) (-r - epsilon)_+

bounds max h - h(beta), for every feasible beta and every b. No term is negative (Fenchel and
Young), and the sum is beta'f + sum_i loss_i(r_i) - (p'beta - epsilon |beta|_1).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import brentq

from pliant.core.typing import Array
from pliant.methods.svm.rows import Rows


@dataclass(frozen=True, eq=False)
class Certificate:
    """Proof of how far a feasible beta is from the optimum.

    Attributes
    ----------
    value : float
        h(beta), a lower bound of the optimum.
    gap : float
        value + gap is an upper bound of the optimum. nan where K is not PSD.
    intercept : float
        The b of the bound: the one that makes it smallest.
    decision : array of shape (n,)
        f + b, the decision function at the training points.
    slope : float
        The same sum as the gap, whether or not it bounds anything: the most that h could gain
        if it went on as steeply as at beta. Zero at a stationary point.
    """

    value: float
    gap: float
    intercept: float
    decision: Array
    slope: float


@dataclass(frozen=True, eq=False)
class MarginDual:
    """The dual problem of the module's first lines.

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
        Whether K is positive semi-definite. If not, there is no certificate.
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
        residual = self.linear - f
        b = best_intercept(residual, self.lower, self.upper, self.epsilon)
        slope = self._slope(beta, residual - b)
        return Certificate(value, slope if self.psd else np.nan, b, f + b, slope)

    def loss(self, residual: Array) -> Array:
        """Return loss_i(r_i), shape (n,)."""
        above = np.maximum(residual - self.epsilon, 0.0)
        below = np.maximum(-residual - self.epsilon, 0.0)
        return np.asarray(self.upper * above - self.lower * below)

    def _slope(self, beta: Array, residual: Array) -> float:
        loss = self.loss(residual)
        terms = (
            loss + self.epsilon * np.abs(beta) - beta * residual
        )  # each >= 0, except for rounding
        return float(np.maximum(0.0, terms.sum()))


def best_intercept(residual: Array, lower: Array, upper: Array, epsilon: Array | float) -> float:
    """Return the b that minimises sum_i loss_i(residual_i - b), exactly.

    The sum is convex and piecewise linear in b. Its slope rises by upper_i at
    residual_i - epsilon and by -lower_i at residual_i + epsilon; the minimum is where it turns
    positive. Where the slope is zero on an interval, its middle is taken (or its end, if it has
    only one; 0 if every loss is zero).
    """
    above, below = upper > 0, lower < 0
    ends, starts = residual - epsilon, residual + epsilon
    breaks = np.concatenate([ends[above], starts[below]])
    rises = np.concatenate([upper[above], -lower[below]])
    if breaks.size == 0:
        return 0.0
    order = np.argsort(breaks)
    breaks, slopes = breaks[order], np.cumsum(rises[order]) - upper.sum()
    tiny = 1e-12 * rises.sum()
    first = int(np.searchsorted(slopes, -tiny))
    last = int(np.searchsorted(slopes, tiny, side="right"))
    return float(0.5 * (breaks[min(first, breaks.size - 1)] + breaks[min(last, breaks.size - 1)]))


def better_start(dual: MarginDual, beta: Array, growth: float) -> Array:
    """Return the best of three starts from the solution `beta` for a box `growth` times smaller.

    They are beta itself, where the box still holds it, growth * beta, which it always holds, and
    zero.
    """
    u, v = dual.fields(beta)
    scaled = growth * beta
    value = dual.value(scaled, (growth * u, growth * (growth * v)))
    own = dual.value(beta, (u, v))
    if growth != 1.0 and own > value and ((dual.lower <= beta) & (beta <= dual.upper)).all():
        scaled, value = beta, own
    return scaled if value > 0.0 else np.zeros_like(beta)


def without_intercept(dual: MarginDual) -> MarginDual:
    """Return the problem without its equality constraint: b = 0 (Liu et al. 2020, problem (18)).

    It is stated with the constraint and one more coordinate, the last, which takes up the sum of
    the others at no cost: its row of K is zero, as are its p and epsilon, and its bounds are
    never reached. The certificate's intercept is then exactly zero.

    A Gram matrix that is kept whole is copied.
    """
    n = len(dual.rows)
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
    """Return the t beta, t in [0, 1], that maximises h, and its fields.

    Coefficients that were learned part by part go too far where the parts overlap. Along the ray
    h is t gain - (t^2/2) beta'u - (c t^4/4) (beta^2)'v.
    """
    u, v = dual.fields(beta)
    gain, bend, quartic = dual.gain(beta), float(beta @ u), dual.quartic * float(beta**2 @ v)

    def slope(t: float) -> float:
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
        Penalty parameter, > 0, one for all samples or one for each.
    quartic : float
        1/(4 eta).
    psd : bool
        Whether the Gram is positive semi-definite.
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
