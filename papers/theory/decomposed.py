"""Bounds on the loss when parts of the training set are solved separately.

Without an intercept (Liu et al. 2020, problems (18) to (20)) the quartic rule maximises

    h(beta) = gain(beta) - 1/2 beta'K beta - (c/4) (beta^2)'(K o K)(beta^2),   c = 1/(4 eta),

over a box. Let E hold the entries of K between different parts, zeros elsewhere. The combined
solutions of the parts, a, are the optimum of h with K - E instead of K (Lemma 5), because box
and sums are separable. As the optimum a* of h is feasible there, with
e(beta) = 1/2 beta'E beta + (c/4) (beta^2)'(E o E)(beta^2),

    0 <= h(a*) - h(a) <= e(a) - e(a*)
                       = 1/2 sum_ij (a_i a_j - a*_i a*_j) E_ij (F_ij(a) + F_ij(a*))/2,

F(beta) = 11' + c D K D with D = diag(beta). In classification a_i a_j and a*_i a*_j have the same
sign and are at most C^2; in regression they differ by at most 2 C^2 in absolute value. The quartic
part of e is between 0 and (c/4) C^4 sum E_ij^2. Therefore

    h(a*) - h(a) <= k C^2/2 sum |E_ij| + C^4/(16 eta) sum E_ij^2,  k = 1 (classes) or 2 (targets),

which corrects Theorem 6; parts solved to gaps G_c add sum G_c. Printed Theorem 6 has B = B2 - B1
instead of k and no second term. Its proof uses F-bar as the minimiser of H(a, F), which holds with
K - E only, and the factor must be the magnitude of F, not its range. For large eta F is nearly 1
and B nearly 0, but the loss is not. All of this needs a zero intercept in the parts and the whole.

No smaller factor holds: m equal points with K_ij = 1/C, one class, and one part per point, come
within m/(m - 1) of the bound; the targets (1, t^2) with K = [[1, t], [t, t^2]] and C = 1 within
t/(t - 1). For these m points with K_ij = 2 (eta/C^3)^(1/2) and a large C, the loss exceeds 1 - 3/m
of the second term. On data the bound is loose: it counts all pairs as if at the bound C.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pliant.core.typing import Indices
from pliant.methods.svm.rows import Rows


class BetweenParts(NamedTuple):
    """Sums over the ordered pairs (i, j) of points in different parts."""

    total: float
    """Q(pi), the sum of |k(x_i, x_j)| (Liu et al. 2020, Theorem 6)."""
    squares: float
    """The sum of k(x_i, x_j)^2."""


def between_parts(rows: Rows, labels: Indices) -> BetweenParts:
    """Return Q(pi) and its sum of squares; `labels`, shape (n,), has the part of each point."""
    everything = np.arange(len(labels))
    K = rows.part(everything, everything).astype(np.float64, copy=False)
    apart = labels[:, None] != labels
    return BetweenParts(float(np.abs(K).sum(where=apart)), float(np.square(K).sum(where=apart)))


def bound_on_loss(
    between: BetweenParts, C: float, eta: float, *, regression: bool = False
) -> float:
    """Return a bound on h(a*) - h(a), with a the solutions of the parts: the corrected Theorem 6.

    It holds for kernels of any sign. With a penalty per sample, C is the largest; eta
    is inf for the plain model.
    """
    sides = 1.0 if regression else 0.5
    return sides * C**2 * between.total + C**4 / (16.0 * eta) * between.squares


def printed_bound(between: BetweenParts, C: float, F_low: float, F_high: float) -> float:
    """Return the bound of Theorem 6 as printed, (B2 - B1) C^2/2 Q(pi). It is false.

    `F_low` and `F_high` are B1 and B2, the smallest and the largest max(F*_ij, F-bar_ij).
    """
    return 0.5 * (F_high - F_low) * C**2 * between.total
