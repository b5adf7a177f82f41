"""Identify points that cannot be support vectors of the whole problem, before it is solved.

The problem has no intercept (Liu et al. 2020, problem (18), tau = 0):

    h(beta) = gain(beta) - phi(beta),   phi = 1/2 |w|^2 + (c/4) |W|^2,   c = 1/(4 eta),
    w = sum_i beta_i x_i,  W = sum_i beta_i^2 x_i x_i',

with x_i the points in the feature space of K, so u_i = (K beta)_i = <x_i, w> and
v_i = ((K o K) beta^2)_i = <x_i x_i', W>. For a feasible beta with the gap G of its certificate, and
the optimum beta*,

    G >= |w - w*|^2 + (c/2) |W - W*|^2.                                                     (i)

Proof. Let D(a, b) = phi(a) - phi(b) - grad phi(b)'(a - b). The quadratic part of phi gives
1/2 |w_a - w_b|^2 of it, the quartic part (c/4) |W_a - W_b|^2 + (c/2) sum_i v_i(b) (a_i - b_i)^2,
and v >= 0. G is the largest of gain(x) - gain(beta) - grad phi(beta)'(x - beta) over the box;
x = beta* shows that G - (h(beta*) - h(beta)) >= D(beta*, beta). As beta* is optimal and gain
concave, h(beta*) - h(beta) >= D(beta, beta*). Add the two. (Any other bound on h(beta*) - h(beta)
gives half as much: then replace G by twice that bound.)

Therefore |u_i - u*_i| <= sqrt(G K_ii), and `safe_zeros` follows from the optimality conditions:
alpha_i* > 0 needs y_i u*_i + c alpha_i* v*_i <= 1.
"""

from __future__ import annotations

import numpy as np

from pliant.core.typing import Array, Mask


def safe_zeros(u: Array, signs: Array, gap: float, diagonal: Array) -> Mask:
    """Return True for each alpha_i that must be zero at the optimum: y_i u_i - sqrt(G K_ii) > 1.

    All arrays have shape (n,): `u` is K beta for a feasible beta, `signs` y, and `diagonal` K_ii;
    `gap` is G of the certificate of beta (b = 0), at least its rounding error.
    """
    return np.asarray(signs * u - np.sqrt(gap * diagonal) > 1.0)


def theorem_seven_threshold(
    sums: Array, C: float, F_low: float, F_high: float, kappa: float
) -> Array:
    """Return the right side of (21), -(B + B2) C (|K_i|_1 + kappa), shape (n,).

    B = B2 - B1. Figure 5c of the paper drops the minus sign. `F_low` and `F_high` are B1 and B2,
    the smallest and the largest max(F*_ij, F-bar_ij), and `kappa` is the largest |k(x, x')|. The
    `sums` are sums of |k(x_i, x_j)| over the part of x_i (the first reading), or over all points
    (the second; the proof needs it, as (21) bounds the terms of the other parts).
    """
    return -(2.0 * F_high - F_low) * C * (sums + kappa)


def theorem_seven(alpha: Array, gradient: Array, threshold: Array) -> Mask:
    """Return True for points that Theorem 7 screens: alpha_i = 0, gradient_i <= threshold_i.

    There are none. If alpha_i = 0, row i of F-bar is 1 and the gradient of the block problem
    is 1 - y_i sum_j k(x_i, x_j) beta_j >= 1 - C |K-bar_i|_1, over the part of x_i. As F-bar_ii = 1,
    B2 >= 1, and the threshold is at most -C (|K-bar_i|_1 + kappa), which is smaller. The sign of
    Figure 5c would screen every such point. `alpha` combines the solutions of the parts,
    and `gradient` is the gradient of problem (20) there.
    """
    return np.asarray((alpha == 0.0) & (gradient <= threshold))
