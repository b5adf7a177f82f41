"""Order spectral kernels: the weights of a graph's eigenvectors, under order constraints.

    K = sum_i mu_i v_i v_i',   mu >= 0,  sum_i mu_i = 1,   and

    strict      mu_1 >= mu_2 >= ... >= mu_r: smoother vectors count more
    improved    the same, but for the null vectors of the Laplacian, whose weights are free
    none        no further constraint

Each set is the convex hull of a few extreme points: with "strict" of (1/k, ..., 1/k, 0, ..., 0)
for k = 1 to r, with "none" of the unit vectors. `OrderCone.rays` are multiples of them.

Alignment (OSK, problem (2) of Pan et al.): maximise <K, T>/(|K| |T|) on the known points. The
quotient does not depend on the length of mu, and the point of a cone with the largest cosine with
T is the one nearest to T, if that is not zero. With mu = E t for the rays E,

    min_{t >= 0} |sum_k t_k K_k - T|^2 = t'H t - 2 c't + const.,
    H = E'G E,  G = (V'V) o (V'V),   c = E'b,  b_i = v_i'T v_i,

is non-negative least squares. Its solution is zero only if c <= 0; then no mu has an alignment
> 0, and the best one is an extreme ray: -<K, T> is linear and >= 0 on the cone, so on the slice
-<K, T> = 1 the alignment grows with |K|, a convex function; and if <K, T> = 0 for some K, then
for a ray.

The loss of the supervised graph (SCG-OSK, problem (26)): minimise <K, S> = sum_i s_i mu_i,
s_i = v_i'S v_i. A linear function has its minimum at an extreme point.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import solve_triangular
from scipy.linalg.lapack import dpstrf
from scipy.optimize import nnls

from pliant.core.typing import Array
from pliant.core.validation import check_choice
from pliant.methods.side_information.information import SideInformation, SupervisedGraph

ORDERS = ("improved", "none", "strict")
"""Constraints on the weights besides mu >= 0."""

TIE = 1e-12
"""Means of losses that differ by less than this multiple of the largest loss are equal."""

UNSEEN = 1e-14
"""Vectors with |v_i|^2 below this multiple of the largest on the known points are zero there."""


@dataclass(frozen=True)
class OrderCone:
    """The cone of the weights mu >= 0 that an order allows.

    Attributes
    ----------
    size : int
        r >= 1.
    order : {"strict", "improved", "none"}
    n_null : int
        Number of null vectors; they come first.
    """

    size: int
    order: str = "strict"
    n_null: int = 0

    @property
    def rays(self) -> Array:
        """The extreme rays, one per column, with entries 0 and 1, shape (r, r)."""
        check_choice("order", self.order, ORDERS)
        if self.order == "none":
            return np.eye(self.size)
        rays = np.triu(np.ones((self.size, self.size)))
        if self.order == "improved":
            free = min(self.n_null, self.size)
            rays[:free] = np.eye(free, self.size)
        return rays


@dataclass(frozen=True, eq=False)
class SpectralAlignment:
    """The alignment of sum_i mu_i v_i v_i' with T on the known points, as a function of mu.

    Attributes
    ----------
    products : array of shape (r, r)
        G, the inner products of the v_i v_i'.
    agreement : array of shape (r,)
        b, the inner products of the v_i v_i' with T.
    size : float
        |T|.
    """

    products: Array
    agreement: Array
    size: float

    @classmethod
    def of(cls, vectors: Array, information: SideInformation) -> SpectralAlignment:
        """Return the problem for eigenvectors, (n, r). O(a r^2) for a known points."""
        known = vectors[information.known]
        if information.labels is not None:
            labels = information.labels[information.known]
            # b_i = v_i'T v_i = 2 sum_c (1_c'v_i)^2 - (1'v_i)^2, as T = 2 sum_c 1_c 1_c' - 11'
            sums = np.stack([known[labels == c].sum(axis=0) for c in range(labels.max() + 1)])
            agreement = 2.0 * (sums**2).sum(axis=0) - sums.sum(axis=0) ** 2
            return cls((known.T @ known) ** 2, agreement, float(len(known)))
        i, j = information.pairs.T
        agreement = 2.0 * np.einsum("p,pi,pi->i", information.signs, vectors[i], vectors[j])
        return cls((known.T @ known) ** 2, agreement, float(np.sqrt(2.0 * len(i))))

    def alignment(self, mu: Array) -> float:
        """Return the cosine between the kernel matrix and T; 0 where the matrix is zero."""
        square = float(np.vdot(mu, self.products @ mu))
        return float(mu @ self.agreement) / (square**0.5 * self.size) if square > 0.0 else 0.0

    def best(self, cone: OrderCone) -> Array:
        """Return the mu of the cone with the largest alignment, of sum 1. O(r^3).

        Rays whose last vector is zero on the known points are left out: on these points they equal
        the ray before them.
        """
        lengths = np.sqrt(np.diagonal(self.products))
        seen = lengths > UNSEEN * lengths.max()
        if not seen.any():
            return _unit_sum(cone.rays[:, 0])
        rays = cone.rays[:, seen]
        H, c = rays.T @ self.products @ rays, rays.T @ self.agreement
        norms = np.sqrt(np.diagonal(H))  # rays of equal length: a better-conditioned problem
        t = _nearest_of_cone(H / np.outer(norms, norms), c / norms)
        return _unit_sum(rays @ (t / norms) if t.any() else rays[:, int(np.argmax(c / norms))])


def _nearest_of_cone(H: Array, c: Array) -> Array:
    """Return the t >= 0 with the smallest t'H t - 2 c't, for H with unit diagonal; O(r^3).

    It is |A t - g|^2 up to a constant, with A'A = H and A'g = c, for a pivoted Cholesky factor A
    of H, which may be singular.
    """
    factor, pivots, rank, _ = dpstrf(H)
    order = pivots - 1
    A = np.empty((rank, len(c)))
    A[:, order] = np.triu(factor)[:rank]
    g = solve_triangular(factor[:rank, :rank], c[order[:rank]], trans=1)
    return np.asarray(nnls(A, g, maxiter=100 * len(c))[0])


def graph_losses(vectors: Array, graph: SupervisedGraph) -> Array:
    """Return s_i = v_i'S v_i >= 0 for vectors of shape (n, r), in O(n r) for labels."""
    members = vectors[graph.members]
    losses = np.einsum("ij,ij->j", members, graph.laplacian(members))
    return np.asarray(np.maximum(losses, 0.0))


def best_vertex(losses: Array, cone: OrderCone) -> Array:
    """Return the mu of sum 1 in the cone with the smallest sum_i s_i mu_i.

    For "strict" its first k weights are 1/k, for the smallest k that minimises the mean of
    s_1, ..., s_k.
    """
    rays = cone.rays
    means = (losses @ rays) / rays.sum(axis=0)
    limit = means.min() + TIE * np.abs(losses).max()
    return _unit_sum(rays[:, int(np.argmax(means <= limit))])


def _unit_sum(mu: Array) -> Array:
    return np.asarray(mu / mu.sum())
