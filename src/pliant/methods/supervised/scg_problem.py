r"""The LogDet problem with the loss of the supervised complete graph, and its closed forms.

    min_K  D_ld(K, K0) + gamma tr(K S),     D_ld(K, K0) = tr(K K0^{-1}) - log det(K K0^{-1}) - n

(Pan, Chen, Chen, Xu, Eq. 27) has the solution K = (K0^{-1} + gamma S)^{-1}, and K extends to new
points by Q = K0^{-1} (K - K0) K0^{-1}. These formulas would invert K0, which is singular or nearly
singular for any smooth kernel. With R = (I + gamma K0)^{-1} and M = K0 R,

    K = M + gamma M G M,   Q = -gamma (R - R G R),   G = (S + (I - S) R)^{-1} (I - S),

and the optimal value is log det(I + gamma S K0) = log det(I + gamma K0) + log det(S + (I - S) R).
With labels I - S = U H U' has the number of classes as its rank q (one more if some points are
unlabelled): all steps but R take products of rank q.

With a bound tr(K S) <= tau in place of the penalty (Eq. 30), the solution is the same K for the
gamma that is the multiplier of the bound (Theorem 2): tr(K S) decreases strictly as gamma grows.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.linalg

from pliant.core.linalg import spd_inverse
from pliant.core.threads import blas_limited
from pliant.core.typing import Array, Indices, Mask
from pliant.core.validation import check_flag, check_gram, check_points, check_real
from pliant.methods.supervised.information import (
    GraphKind,
    PairGraph,
    SideInformation,
    SupervisedGraph,
    check_information,
)

STRONG = 1e5
"""Above this gamma |K0| a singular K0 is taken as a product: differences lose half the digits."""


@dataclass(frozen=True, eq=False)
class SCGLogDet:
    """The problem on the members of a graph: K0, PSD, shape (a, a), S, and gamma > 0."""

    gram: Array
    graph: SupervisedGraph
    strength: float

    def solve(self) -> SCGSolution:
        """Compute the optimum by one Cholesky factorisation, O(a^3)."""
        try:
            resolvent = Resolvent.of(self.gram, self.strength)
        except np.linalg.LinAlgError:  # K0 is not PSD: its negative eigenvalues count as zero
            resolvent = SCGSpectrum.of(self.gram).resolvent(self.strength)
        return _solve_from_resolvent(self.graph, resolvent, self.strength)

    def matrix_within_range(self) -> Array | None:
        """Return Q within the range of K0 if the strength leaves no digit outside it, else None.

        K0 = B B' has a clear rank. With the singular value decomposition U s V' of S^{1/2} B this
        is -(B^+)' V diag(gamma s^2 / (1 + gamma s^2)) V' B^+. Outside of the range Q is of size
        gamma and multiplies rounding only: the exact k0(x, P) of a PSD k0 are in the range.
        """
        if self.strength * float(np.abs(self.gram).max()) * len(self.gram) <= STRONG:
            return None
        spectrum = SCGSpectrum.of(self.gram)
        kept = spectrum.in_range
        values, vectors = spectrum.values[kept], spectrum.vectors[:, kept]
        # clear rank: the other eigenvalues are rounding, these above 1e-8 of the largest
        if len(values) == len(self.gram) or values.min() <= 1e-8 * values.max():
            return None
        scale = np.sqrt(values)
        _, singular, right = np.linalg.svd(self.graph.root(vectors * scale), full_matrices=True)
        weights = np.zeros(len(scale))
        weights[: len(singular)] = self.strength * singular**2
        inverse = (vectors / scale) @ right.T  # (B^+)' V
        return _symmetric((inverse * (-weights / (1.0 + weights))) @ inverse.T)


@dataclass(frozen=True, eq=False)
class SCGSolution:
    """The optimum on the members of the graph: Q, shape (a, a), and the optimal value."""

    matrix: Array
    value: float
    graph: SupervisedGraph
    strength: float
    resolvent: Resolvent
    coupling: GraphCoupling

    @cached_property
    def gram(self) -> Array:
        """K, shape (a, a), computed on the first access."""
        M = self.resolvent.shrunk()
        # K = M + gamma M G M, with products of rank q
        sides = self.graph.coordinates(M) * math.sqrt(self.strength)
        K = sides.T @ self.coupling.between @ sides
        K += M
        return _symmetric(K)


class Resolvent(NamedTuple):
    """R = (I + gamma K0)^{-1}, log det(I + gamma K0), and a function that computes M = K0 R."""

    inverse: Array
    log_det: float
    shrunk: Callable[[], Array]

    @classmethod
    def of(cls, gram: Array, strength: float) -> Resolvent:
        """Return the resolvent by one Cholesky factorisation, O(a^3)."""
        shifted: Array = strength * gram
        shifted[np.diag_indices_from(shifted)] += 1.0
        inverse, log_det = spd_inverse(shifted)

        def shrunk() -> Array:
            # M = (I - R)/gamma, in O(a^2), loses more than four digits where gamma |K0| < 1e-4
            if strength * float(np.abs(gram).max()) < 1e-4:
                return _symmetric(gram @ inverse)
            M = inverse * (-1.0 / strength)
            M[np.diag_indices_from(M)] += 1.0 / strength
            return np.asarray(M)

        return cls(inverse, log_det, shrunk)


class SCGSpectrum(NamedTuple):
    """Eigenvalues of K0, at least 0, shape (r,), and their eigenvectors, (a, r).

    Those clearly above zero if these are less than half of all, otherwise all eigenvalues.
    """

    values: Array
    vectors: Array

    @classmethod
    def of(cls, gram: Array) -> SCGSpectrum:
        """Return the spectrum by one eigendecomposition, O(a^3)."""
        values, vectors = scipy.linalg.eigh(gram, driver="evd", check_finite=False)
        kept = values > 4.0 * np.finfo(np.float64).eps * max(float(values[-1]), 0.0)
        if 2 * kept.sum() < len(values):
            return cls(values[kept], np.ascontiguousarray(vectors[:, kept]))
        return cls(np.maximum(values, 0.0), vectors)

    @property
    def in_range(self) -> Mask:
        """Mask of the eigenvalues above the rounding of a matrix of this size."""
        size = len(self.vectors)
        largest = float(self.values.max(initial=0.0))
        return self.values > size * np.finfo(np.float64).eps * largest

    def resolvent(self, strength: float) -> Resolvent:
        """Return the resolvent for one gamma by matrix products, O(a^2 r)."""
        # R = V diag(1 / (1 + gamma lambda)) V',  M = V diag(lambda / (1 + gamma lambda)) V'
        damped = 1.0 + strength * self.values
        shrunk = (self.vectors * (self.values / damped)) @ self.vectors.T
        if len(self.values) == len(shrunk):
            inverse = (self.vectors / damped) @ self.vectors.T
        else:  # R = I - gamma M, as the other eigenvalues of K0 are zero
            inverse = -strength * shrunk
            inverse[np.diag_indices_from(inverse)] += 1.0
        return Resolvent(inverse, float(np.log(damped).sum()), lambda: shrunk)


class GraphCoupling(NamedTuple):
    """The effect of the graph: R in its coordinates, shape (q, a), and G between these, (q, q).

    Where gamma K0 is large, R is small and the null vector of S must be exact: with labels S has
    an eigenvalue of exactly 0, and nothing cancels. `log_det` is log det(S + (I - S) R).
    """

    left: Array
    between: Array
    log_det: float

    @classmethod
    def of(cls, graph: SupervisedGraph, inverse: Array) -> GraphCoupling:
        """Return the coupling for R of shape (a, a)."""
        left = graph.coordinates(inverse)
        within = _symmetric(graph.coordinates(left.T))
        # G = (S + (I - S) R)^{-1} (I - S) in the q coordinates: outside of them I - S is zero
        rest = np.eye(len(within)) - graph.reduced
        system = graph.reduced + rest @ within
        lu = scipy.linalg.lu_factor(system, overwrite_a=True, check_finite=False)
        between = scipy.linalg.lu_solve(lu, rest, overwrite_b=True, check_finite=False)
        log_det = float(np.log(np.abs(lu[0].diagonal())).sum())
        return cls(left, _symmetric(between), log_det)


def _solve_from_resolvent(
    graph: SupervisedGraph, resolvent: Resolvent, strength: float
) -> SCGSolution:
    """Return the optimum from R and M, by (q, q) systems and products of rank q."""
    coupling = GraphCoupling.of(graph, resolvent.inverse)
    # Q = -gamma (R - R G R) = gamma (left' between left - R)
    matrix = coupling.left.T @ coupling.between @ coupling.left
    matrix -= resolvent.inverse
    matrix *= strength
    value = resolvent.log_det + coupling.log_det
    return SCGSolution(_symmetric(matrix), value, graph, strength, resolvent, coupling)


def _symmetric(matrix: Array) -> Array:
    """Return the mean of a matrix and its transpose."""
    return 0.5 * (matrix + matrix.T)


def graph_size(diagonal: Array) -> float:
    """Return the divisor of a scaled strength: the sum of k0(x, x) over the graph, if it is > 0.

    No eigenvalue of K0 is larger, so the norm of gamma K0 is at most the strength.
    """
    total = float(diagonal.sum())
    return total if total > 0 else float(len(diagonal))


class SCGLogDetPath:
    r"""SCG-LDK kernel matrices that share one eigendecomposition.

    Each call solves

    .. math:: \min_K D_{ld}(K, K_0) + \gamma \, \mathrm{tr}(K S)

    (see `SCGLogDetLearner`) for its own :math:`\gamma`, weights and labels, on the same K0. The
    eigendecomposition of K0 is computed once. Each new strength costs two matrix products, and
    each labelling O(n^2 q) for q classes. A graph without h of the points, such as a held-out
    fold, costs O(h^3 + n h^2) more. With pairs q is the number of points in the graph.

    Parameters
    ----------
    gram : array-like of shape (n_samples, n_samples)
        K0: kernel values of the base kernel, PSD.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from pliant import SCGLogDetPath, SideInformation, scg_loss
    >>> from pliant.kernels import Gaussian
    >>> X, y = load_iris(return_X_y=True)
    >>> path = SCGLogDetPath(Gaussian(0.5)(X))
    >>> known = SideInformation.from_labels(y)
    >>> [round(scg_loss(path.gram(known, s), known), 2) for s in (1, 100, 10000)]
    [66.5, 18.12, 0.75]
    """

    def __init__(self, gram: npt.ArrayLike) -> None:
        self._gram = check_gram(check_points(gram, "gram"))
        self._resolvent: tuple[float, Resolvent] | None = None

    @blas_limited
    def gram(
        self,
        information: SideInformation,
        strength: float,
        *,
        beta: float = 1.0,
        graph: GraphKind = "labeled",
        scale_strength: bool = True,
        columns: Indices | Mask | None = None,
    ) -> Array:
        """Return learned kernel values between all points and some, or all.

        Parameters
        ----------
        information : SideInformation
            On the same points. If the graph is "labeled", points without side information count
            as new points, such as a held-out fold.
        strength : float
            > 0.
        beta : float, default=1.0
            The weights of the graph are exp(beta T).
        graph : {"labeled", "complete"}, default="labeled"
        scale_strength : bool, default=True
            If True, the strength is divided by the sum of the Gram's diagonal over the points
            in the graph.
        columns : array of indices or mask, optional
            By default all points.

        Returns
        -------
        array of shape (n_samples, n_columns)
        """
        check_information(information)
        check_flag("scale_strength", scale_strength)
        if information.n_samples != len(self._gram):
            raise ValueError(
                f"expected side information on {len(self._gram)} points, as the Gram matrix has, "
                f"got {information.n_samples}"
            )
        edges = information.graph(graph, beta)
        gamma = check_real("strength", strength, above=0)
        if scale_strength:
            gamma /= graph_size(self._gram.diagonal()[edges.members])
        every = np.arange(len(self._gram))
        return self._compute_columns(edges, gamma, every if columns is None else every[columns])

    def _compute_columns(self, edges: SupervisedGraph, gamma: float, j: Indices) -> Array:
        """Return learned kernel values between all points and points j."""
        n = len(self._gram)
        if gamma * float(np.abs(self._gram).max()) * n > STRONG:
            kept = self._spectrum.in_range
            # with pairs the null vector of S is known to rounding only, with labels it is exact
            if kept.sum() < n or isinstance(edges, PairGraph):
                return self._columns_within_range(kept, edges, gamma, j)
        left_out = np.setdiff1d(np.arange(n), edges.members, assume_unique=True)
        if not len(left_out):
            solution = _solve_from_resolvent(edges, self._resolvent_for(gamma), gamma)
            return solution.gram.take(j, axis=1)
        if len(left_out) <= len(edges):  # else a problem on the few members is cheaper
            with suppress(np.linalg.LinAlgError):  # rounding may make R on these points singular
                return self._columns_without(left_out, edges, gamma, j)
        # K = K0 + K0(all, A) Q K0(A, j) for the members A: the other points are new points
        problem = SCGLogDet(self._gram[np.ix_(edges.members, edges.members)], edges, gamma)
        left, right = self._gram.take(edges.members, axis=1), self._gram[np.ix_(edges.members, j)]
        return self._gram.take(j, axis=1) + (left @ problem.solve().matrix) @ right

    @cached_property
    def _spectrum(self) -> SCGSpectrum:
        return SCGSpectrum.of(self._gram)

    def _resolvent_for(self, gamma: float) -> Resolvent:
        """Return R and M on all points for one gamma; the last pair is cached."""
        if self._resolvent is None or self._resolvent[0] != gamma:
            self._resolvent = gamma, self._spectrum.resolvent(gamma)
        return self._resolvent[1]

    def _columns_within_range(
        self, kept: Mask, edges: SupervisedGraph, gamma: float, j: Indices
    ) -> Array:
        """Return K between all points and j from the range of a singular K0, without differences.

        With K0 = B B', B of shape (n, r), and B_A its rows in the graph,
        K = B (I + gamma B_A'S B_A)^{-1} B'. Rounding changes the singular values s of S^{1/2} B_A
        by eps |B|, and 1 + gamma s^2 by a share of at most sqrt(gamma) |B| eps: by 1e-10 where
        gamma |K0| is 1e12.
        """
        spectrum = self._spectrum
        B = spectrum.vectors[:, kept] * np.sqrt(spectrum.values[kept])
        # S^{1/2} B_A = U s V': K = F F' for F = B V / sqrt(1 + gamma s^2)
        _, singular, right = np.linalg.svd(edges.root(B[edges.members]), full_matrices=True)
        damped = np.ones(B.shape[1])
        damped[: len(singular)] += gamma * singular**2
        features = (B @ right.T) / np.sqrt(damped)
        return np.asarray(features @ features[j].T)

    def _columns_without(
        self, out: Indices, edges: SupervisedGraph, gamma: float, j: Indices
    ) -> Array:
        """Return K between all points and j if the points `out` are not in the graph.

        R and M are of all points. With B = out, the resolvent of the graph's members A is
        R_A = R_AA - R_AB R_BB^{-1} R_BA, and K without the graph's G would be
        M + gamma M_:B R_BB^{-1} M_B:.
        """
        whole, members = self._resolvent_for(gamma), edges.members
        M = whole.shrunk()
        among, _ = spd_inverse(whole.inverse[np.ix_(out, out)])  # R_BB^{-1}
        towards = whole.inverse[np.ix_(members, out)]  # R_AB
        inverse = whole.inverse[np.ix_(members, members)] - towards @ among @ towards.T
        coupling = GraphCoupling.of(edges, _symmetric(inverse))
        root = math.sqrt(gamma)
        left = root * self._gram.take(members, axis=1) @ coupling.left.T
        right = root * self._gram[np.ix_(j, members)] @ coupling.left.T
        freed = (root * M.take(out, axis=1)) @ among @ (root * M[np.ix_(out, j)])
        return M.take(j, axis=1) + freed + left @ coupling.between @ right.T
