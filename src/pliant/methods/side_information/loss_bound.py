r"""SCG-LDK with a bound on the loss in place of a penalty.

    min_K  D_ld(K, K0)   subject to   tr(K S) <= tau

(Pan, Chen, Chen, Xu, Eq. 30) has the solution K = (K0^{-1} + gamma S)^{-1} of the penalty form
(Eq. 27), where gamma >= 0 is the multiplier of the bound (Theorem 2). With K0 = F F' and the
eigenvalues e_i >= 0 of F'S F,

    tr(K S)     = sum_i e_i / (1 + gamma e_i) = p(gamma),
    D_ld(K, K0) = sum_i [log(1 + gamma e_i) - gamma e_i / (1 + gamma e_i)].

p decreases strictly from tr(K0 S) towards 0, so that gamma is unique: 0 where K0 satisfies the
bound, else the root of p(gamma) = tau. 1/p is a harmonic mean of the functions 1/e_i + gamma, up to
a factor, and therefore concave and increasing: from gamma = 0 Newton's method for
1/p(gamma) = 1/tau approaches the root from below and never passes it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.linalg

from pliant.core.typing import Array
from pliant.methods.side_information.information import SupervisedGraph
from pliant.methods.side_information.scg_problem import Spectrum

ROUNDING = 64.0 * np.finfo(np.float64).eps
"""tr(K S) is uncertain by this multiple of the sum over all e_i of the largest of them."""

MAX_STEPS = 100
"""Newton's method takes about ten steps; the limit only guards against a cycle of roundings."""


class Multiplier(NamedTuple):
    """The gamma of a bound, the loss tr(K S), and the divergence D_ld(K, K0) of the optimum."""

    gamma: float
    loss: float
    divergence: float


def factor(gram: Array) -> Array:
    """Return F with K0 = F F', shape (a, r), by an eigendecomposition; O(a^3)."""
    spectrum = Spectrum.of(gram)
    return np.asarray(spectrum.vectors * np.sqrt(spectrum.values))


def loss_multiplier(factors: Array, graph: SupervisedGraph, bound: float) -> Multiplier:
    """Return the multiplier of a bound on tr(K S), in O(a r^2).

    Parameters
    ----------
    factors : array of shape (a, r)
        F with K0 = F F', for the members of the graph.
    graph : SupervisedGraph
        The graph of S.
    bound : float
        tau > 0.

    Raises
    ------
    ValueError
        If the bound is so small that rounding errors hide tr(K S).
    """
    eigenvalues = scipy.linalg.eigvalsh(graph.quadratic(factors), check_finite=False)
    largest = float(eigenvalues[-1])
    if not largest > 0.0:
        return Multiplier(0.0, 0.0, 0.0)
    e = np.maximum(eigenvalues / largest, 0.0)  # units in which the largest eigenvalue is 1
    tau = bound / largest
    if tau >= e.sum():
        return Multiplier(0.0, float(e.sum()) * largest, 0.0)
    least = ROUNDING * len(e)
    gamma = _root(e, tau) if tau > least else np.inf
    if not np.isfinite(gamma / largest):
        raise ValueError(
            f"expected a bound on tr(K S) above {least * largest:.3g}, as smaller values are "
            f"rounding errors, got {bound:g}"
        )
    shrunk = gamma * e / (1.0 + gamma * e)
    divergence = float((np.log1p(gamma * e) - shrunk).sum())
    return Multiplier(gamma / largest, float((e / (1.0 + gamma * e)).sum()) * largest, divergence)


def _root(e: Array, tau: float) -> float:
    """Return gamma with p(gamma) = tau < p(0), by Newton's method for 1/p(gamma) = 1/tau."""
    gamma = 0.0
    for _ in range(MAX_STEPS):
        terms = e / (1.0 + gamma * e)
        p = float(terms.sum())
        # the slope of 1/p is q/p^2, q = sum_i terms_i^2, so that the step is p (p - tau)/(tau q)
        step = p * (p - tau) / (tau * float(terms @ terms))
        if gamma + step <= gamma:
            break
        gamma += step
    return gamma
