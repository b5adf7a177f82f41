"""Kernel weights by alignment with the target (Cortes, Mohri and Rostamizadeh 2012).

The alignment of two Gram matrices is their cosine after centring,

    A(K, Y) = <K_c, Y_c> / (|K_c| |Y_c|),

with the Frobenius inner product <A, B>, the norm |A|^2 = <A, A>, K_c = H K H and H = I - 1 1'/n.
Y = T T' is the Gram matrix of the target. Its factor T holds the signs of two classes, one
indicator column per class for three or more, or the centred regression target.

With sample weights s, sample i counts s_i times: <A, B> = sum_ij s_i s_j A_ij B_ij, and
H = I - 1 s'/(sum s). With S = diag(sqrt(s)) and the unit vector u along sqrt(s), <K_c, Y_c> equals

    <G_K, G_Y>,    G_K = P S K S P,    P = I - u u',

so sample weights add no cost.

The abstract (Journal of Machine Learning Research 13, 795-828) gives the definition and the
quadratic program for the weights; the section numbers below are unverified.
"""

from __future__ import annotations

import math
import warnings
from typing import NamedTuple

import numpy as np

from pliant.core.exceptions import UniformWeightsWarning
from pliant.core.linalg import solve_nonnegative
from pliant.core.typing import Array
from pliant.core.validation import stack_level
from pliant.methods.mkl.problem import Grams

SLAB_ENTRIES = 8_000_000
"""Maximum number of kernel values in a slab over all kernels; 64 MB."""

NEGLIGIBLE = 100.0
"""Relative norm, in machine epsilons, up to which a centred matrix counts as zero."""


class Weighting(NamedTuple):
    """Weights of M kernels.

    Attributes
    ----------
    weights : array of shape (M,)
        Non-negative weights with sum 1.
    value : float
        Objective of the rule, such as the alignment.
    gap : float
        Bound on the distance between the value and the optimum; 0 for a closed form.
    """

    weights: Array
    value: float
    gap: float


class Alignments(NamedTuple):
    """Inner products of centred Gram matrices.

    Attributes
    ----------
    products : array of shape (M, M)
        <G_m, G_k>; zero in the rows and columns of kernels that are constant up to rounding.
    targets : array of shape (M,)
        <G_m, G_Y>; zero for constant kernels as well.
    target_norm : float
        |G_Y|.
    """

    products: Array
    targets: Array
    target_norm: float

    def alignment(self, weights: Array) -> float:
        """Compute the alignment of sum_m weights_m K_m with the target, or 0 for a zero norm."""
        norm = math.sqrt(max(0.0, float(weights @ self.products @ weights))) * self.target_norm
        return float(weights @ self.targets) / norm if norm > 0.0 else 0.0


def normalize_weights(raw: Array, reason: str = "no kernel is aligned with the target") -> Array:
    """Divide non-negative weights by their sum; if all are zero, warn and make them uniform."""
    largest = raw.max()
    if largest > 0.0:
        scaled = raw / largest  # sums of subnormal numbers are inaccurate
        return np.asarray(scaled / scaled.sum())
    warnings.warn(
        f"{reason}: all kernels get the same weight",
        UniformWeightsWarning,
        stacklevel=stack_level(),
    )
    return np.full(len(raw), 1.0 / len(raw))


def align(grams: Grams, target: Array, sample_weight: Array | None = None) -> Weighting:
    """Compute weights proportional to each kernel's alignment: d_m ~ max(0, <G_m, G_Y>)/|G_m|.

    This is the rule "align" of Cortes et al. (2012, section 4.1), for a target T of shape (n,) or
    (n, q). The value is the alignment of the *best single* kernel. Constant kernels get weight
    zero. If no kernel is aligned, all weights are equal, with a UniformWeightsWarning.
    """
    roots, factor = _center_target(grams, target, sample_weight)
    cosines = np.zeros(len(grams))
    target_norm = _norm(factor.T @ factor)
    for m in range(len(grams)):
        gram = grams[m]
        centred = roots[:, None] * np.asarray(gram, dtype=np.float64) * roots
        threshold = NEGLIGIBLE * float(np.finfo(gram.dtype).eps) * _norm(centred)
        _center_gram(centred, roots)
        norm = _norm(centred)
        if norm > threshold:
            # <G_m, F F'> = tr F' G_m F
            cosines[m] = max(0.0, float((factor * (centred @ factor)).sum()) / norm)
    best = cosines.max() / target_norm if target_norm > 0.0 else 0.0
    return Weighting(normalize_weights(cosines), float(best), 0.0)


def alignf(grams: Grams, target: Array, sample_weight: Array | None = None) -> Weighting:
    """Maximise the alignment of sum_m d_m K_m with the target over weights d >= 0.

    The weights are proportional to the minimiser of v'Mv - 2 v'a over v >= 0, with
    M_mk = <G_m, G_k> and a_m = <G_m, G_Y> (Cortes et al. 2012, rule "alignf", Proposition 9). The
    value is the alignment, and the gap is its distance from `_upper_bound`.
    """
    inner = alignments(grams, target, sample_weight)
    sizes = np.sqrt(inner.products.diagonal())
    # a kernel with <G_m, G_Y> <= 0 never increases the alignment, as <G_m, G_k> >= 0
    used = np.flatnonzero((sizes > 0.0) & (inner.targets > 0.0))
    raw = np.zeros(len(sizes))
    if used.size:
        # the substitution u_m = |G_m| v_m gives the matrix a unit diagonal
        scale = sizes[used]
        M = inner.products[np.ix_(used, used)] / np.outer(scale, scale)
        raw[used] = solve_nonnegative(M, inner.targets[used] / scale) / scale
    weights = normalize_weights(raw)
    value = inner.alignment(weights)
    return Weighting(weights, value, max(0.0, _upper_bound(inner, weights) - value))


def alignments(grams: Grams, target: Array, sample_weight: Array | None = None) -> Alignments:
    """Compute the inner products of all centred Gram matrices with each other and with the target.

    Each kernel is read twice, for its row means and for its values; the cost is M^2 n^2 / 2.
    """
    roots, factor = _center_target(grams, target, sample_weight)
    count, n = len(grams), grams.n
    unit = _unit_vector(roots)
    # the vectors v of `_center_gram` for all kernels, shape (M, n)
    shifts = roots * grams.products(roots * unit)
    shifts -= 0.5 * (shifts @ unit)[:, None] * unit
    products, targets, sizes = np.zeros((count, count)), np.zeros(count), np.zeros(count)
    low = 0
    while low < n:
        high = min(n, low + max(1, SLAB_ENTRIES // (count * (n - low))))
        # rows of S K_m S from the diagonal on; columns after the diagonal block count twice
        slab = grams.slab(low, high)
        slab *= roots[low:high, None] * roots[low:]
        inside, outside = slab[:, :, : high - low], slab[:, :, high - low :]
        doubled = 2.0 * np.einsum("mij,mij->m", outside, outside)
        sizes += np.einsum("mij,mij->m", inside, inside) + doubled
        # the centred matrix is A - u v' - v u'
        slab -= unit[low:high, None] * shifts[:, None, low:]
        slab -= shifts[:, low:high, None] * unit[low:]
        outside *= np.sqrt(2.0)
        pair = factor[low:high] @ factor[low:].T
        pair[:, high - low :] *= np.sqrt(2.0)
        flat = slab.reshape(count, -1)
        products += flat @ flat.T
        targets += flat @ pair.ravel()
        low = high
    threshold = NEGLIGIBLE * float(np.finfo(grams.dtype).eps)
    constant = products.diagonal() <= threshold**2 * sizes
    products[constant], products[:, constant], targets[constant] = 0.0, 0.0, 0.0
    return Alignments(products, targets, _norm(factor.T @ factor))


def _center_target(grams: Grams, target: Array, sample_weight: Array | None) -> tuple[Array, Array]:
    """Compute sqrt(s), shape (n,), and the factor P S T of G_Y, shape (n, q)."""
    roots = np.ones(grams.n) if sample_weight is None else np.sqrt(sample_weight)
    factor = roots[:, None] * np.asarray(target, dtype=np.float64).reshape(grams.n, -1)
    unit = _unit_vector(roots)
    factor -= np.outer(unit, unit @ factor)
    return roots, factor


def _unit_vector(roots: Array) -> Array:
    """Return the unit vector u along sqrt(s)."""
    return np.asarray(roots / np.linalg.norm(roots))


def _center_gram(scaled: Array, roots: Array) -> None:
    """Replace A by P A P = A - u v' - v u', where v = A u - (u'A u / 2) u."""
    unit = _unit_vector(roots)
    shift = scaled @ unit
    shift -= 0.5 * (unit @ shift) * unit
    scaled -= np.outer(unit, shift)
    scaled -= np.outer(shift, unit)


def _norm(matrix: Array) -> float:
    """Return the Frobenius norm."""
    return float(np.linalg.norm(matrix))


def _upper_bound(inner: Alignments, weights: Array) -> float:
    """Compute an upper bound on the alignment over all non-negative weights.

    M >= 0 entrywise, as the kernels are positive semi-definite. If t M v >= a, the Cauchy-Schwarz
    inequality gives a'w <= t v'Mw <= t sqrt(v'Mv) sqrt(w'Mw) for every w >= 0: no alignment
    exceeds t sqrt(v'Mv)/|G_Y|.
    """
    aligned = inner.targets > 0.0
    if not aligned.any():
        return 0.0
    slopes = inner.products @ weights
    if (slopes[aligned] <= 0.0).any():
        return 1.0
    t = float((inner.targets[aligned] / slopes[aligned]).max())
    return min(1.0, t * float(np.sqrt(weights @ slopes)) / inner.target_norm)
