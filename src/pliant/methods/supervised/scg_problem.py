r"""The LogDet problem with the loss of the supervised complete graph, and its closed forms.

    min_K  D_ld(K, K0) + gamma tr(K S),     D_ld(K, K0) = tr(K K0^{-1}) - log det(K K0^{-1}) - n

(Pan, Chen, Chen, Xu, Eq. 27) has the solution K = (K0^{-1} + gamma S)^{-1}, and K extends to new
points with Q = K0^{-1} (K - K0) K0^{-1}. K0 is singular or nearly singular for smooth kernels.
Without its inverse, R = (I + gamma K0)^{-1} and M = K0 R give

    K = M + gamma M G M,   Q = -gamma (R - R G R),   G = (S + (I - S) R)^{-1} (I - S).

The optimal value is log det(I + gamma S K0) = log det(I + gamma K0) + log det(S + (I - S) R). With
labels, the rank q of I - S = U H U' is the number of classes, plus one if there are unlabelled
points. All steps except computing R need only products of rank q.

With a bound tr(K S) <= tau instead of the penalty (Eq. 30), K has the same form, with the bound's
multiplier as gamma (Theorem 2); tr(K S) strictly decreases with gamma.
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
from pliant.core.parameters import check_flag, check_real
from pliant.core.threads import blas_limited
from pliant.core.typing import Array, Indices, Mask
from pliant.core.validation import check_gram, check_points
from pliant.methods.supervised.information import (
    GraphKind,
    PairGraph,
    SideInformation,
    SupervisedGraph,
    check_information,
)

MAX_STABLE_STRENGTH = 1e5
"""Largest gamma |K0| for which the formulas above apply to a singular K0, despite cancellation."""


@dataclass(frozen=True, eq=False)
class SCGLogDet:
    """The problem for PSD K0, shape (a, a), the matrix S of `graph`, and gamma > 0."""

    gram: Array
    graph: SupervisedGraph
    strength: float

    def solve(self) -> SCGSolution:
        """Compute the optimum from one Cholesky factorisation, in O(a^3)."""
        try:
            resolvent = Resolvent.of(self.gram, self.strength)
        except np.linalg.LinAlgError:  # K0 is not PSD: set its negative eigenvalues to zero
            resolvent = SCGSpectrum.of(self.gram).resolvent(self.strength)
        return _solve_from_resolvent(self.graph, resolvent, self.strength)

    def matrix_within_range(self) -> Array | None:
        """Return Q restricted to the range of a singular K0 if gamma is large, otherwise None.

        The result is also None if the numerical rank r of K0 is not well defined. With K0 = B B'
        and the singular value decomposition S^{1/2} B = U s V', the result is
        -(B^+)' V diag(gamma s^2 / (1 + gamma s^2)) V' B^+. If k0 is PSD, k0(x, P) lies in the range
        of K0. Outside this range, Q is of size gamma and only amplifies rounding errors.
        """
        if self.strength * float(np.abs(self.gram).max()) * len(self.gram) <= MAX_STABLE_STRENGTH:
            return None
        spectrum = SCGSpectrum.of(self.gram)
        kept = spectrum.in_range
        values, vectors = spectrum.values[kept], spectrum.vectors[:, kept]
        # the rank is well defined if no eigenvalue in the range is below 1e-8 of the largest
        if len(values) == len(self.gram) or values.min() <= 1e-8 * values.max():
            return None
        scale = np.sqrt(values)
        _, singular, right = np.linalg.svd(self.graph.root(vectors * scale), full_matrices=True)
        weights = np.zeros(len(scale))
        weights[: len(singular)] = self.strength * singular**2
        inverse = (vectors / scale) @ right.T  # (B^+)' V
        return _symmetrize((inverse * (-weights / (1.0 + weights))) @ inverse.T)


@dataclass(frozen=True, eq=False)
class SCGSolution:
    """The optimum on the members of the graph: Q, shape (a, a), and the objective."""

    matrix: Array
    value: float
    graph: SupervisedGraph
    strength: float
    resolvent: Resolvent
    coupling: GraphCoupling

    @cached_property
    def gram(self) -> Array:
        """K, shape (a, a), computed on first access."""
        M = self.resolvent.shrunk()
        # K = M + gamma M G M, from products of rank q
        sides = self.graph.coordinates(M) * math.sqrt(self.strength)
        K = sides.T @ self.coupling.between @ sides
        K += M
        return _symmetrize(K)


class Resolvent(NamedTuple):
    """R = (I + gamma K0)^{-1}, log det(I + gamma K0), and a function that computes M = K0 R."""

    inverse: Array
    log_det: float
    shrunk: Callable[[], Array]

    @classmethod
    def of(cls, gram: Array, strength: float) -> Resolvent:
        """Compute the resolvent by one Cholesky factorisation, in O(a^3)."""
        shifted: Array = strength * gram
        shifted[np.diag_indices_from(shifted)] += 1.0
        inverse, log_det = spd_inverse(shifted)

        def shrunk() -> Array:
            # M = (I - R)/gamma takes O(a^2), but loses more than four digits if gamma |K0| < 1e-4
            if strength * float(np.abs(gram).max()) < 1e-4:
                return _symmetrize(gram @ inverse)
            M = inverse * (-1.0 / strength)
            M[np.diag_indices_from(M)] += 1.0 / strength
            return np.asarray(M)

        return cls(inverse, log_det, shrunk)


class SCGSpectrum(NamedTuple):
    """Eigenvalues of a PSD K0, shape (r,), and eigenvectors, shape (a, r).

    If fewer than half of the eigenvalues exceed rounding error, the others are omitted.
    """

    values: Array
    vectors: Array

    @classmethod
    def of(cls, gram: Array) -> SCGSpectrum:
        """Compute the spectrum by one eigendecomposition, in O(a^3)."""
        values, vectors = scipy.linalg.eigh(gram, driver="evd", check_finite=False)
        kept = values > 4.0 * np.finfo(np.float64).eps * max(float(values[-1]), 0.0)
        if 2 * kept.sum() < len(values):
            return cls(values[kept], np.ascontiguousarray(vectors[:, kept]))
        return cls(np.maximum(values, 0.0), vectors)

    @property
    def in_range(self) -> Mask:
        """Mask of the eigenvalues above the rounding error of the matrix."""
        size = len(self.vectors)
        largest = float(self.values.max(initial=0.0))
        return self.values > size * np.finfo(np.float64).eps * largest

    def resolvent(self, strength: float) -> Resolvent:
        """Compute the resolvent for one gamma by matrix products, in O(a^2 r)."""
        # R = V diag(1 / (1 + gamma lambda)) V',  M = V diag(lambda / (1 + gamma lambda)) V'
        damped = 1.0 + strength * self.values
        shrunk = (self.vectors * (self.values / damped)) @ self.vectors.T
        if len(self.values) == len(shrunk):
            inverse = (self.vectors / damped) @ self.vectors.T
        else:  # R = I - gamma M, as the omitted eigenvalues of K0 are zero
            inverse = -strength * shrunk
            inverse[np.diag_indices_from(inverse)] += 1.0
        return Resolvent(inverse, float(np.log(damped).sum()), lambda: shrunk)


class GraphCoupling(NamedTuple):
    """R, shape (q, a), and G, shape (q, q), in the q-dimensional coordinates of `SupervisedGraph`.

    `log_det` is log det(S + (I - S) R). If gamma K0 is large, R is small, so the null vector of S
    must be exact. With labels, S has an eigenvalue of exactly 0, which avoids cancellation.
    """

    left: Array
    between: Array
    log_det: float

    @classmethod
    def of(cls, graph: SupervisedGraph, inverse: Array) -> GraphCoupling:
        """Compute the coupling for R of shape (a, a)."""
        left = graph.coordinates(inverse)
        within = _symmetrize(graph.coordinates(left.T))
        # G = (S + (I - S) R)^{-1} (I - S) in these coordinates; outside, I - S is zero
        complement = np.eye(len(within)) - graph.reduced
        system = graph.reduced + complement @ within
        lu = scipy.linalg.lu_factor(system, overwrite_a=True, check_finite=False)
        between = scipy.linalg.lu_solve(lu, complement, overwrite_b=True, check_finite=False)
        log_det = float(np.log(np.abs(lu[0].diagonal())).sum())
        return cls(left, _symmetrize(between), log_det)


def _solve_from_resolvent(
    graph: SupervisedGraph, resolvent: Resolvent, strength: float
) -> SCGSolution:
    """Compute the optimum from R and M, with (q, q) systems and products of rank q."""
    coupling = GraphCoupling.of(graph, resolvent.inverse)
    # Q = -gamma (R - R G R) = gamma (left' between left - R)
    matrix = coupling.left.T @ coupling.between @ coupling.left
    matrix -= resolvent.inverse
    matrix *= strength
    value = resolvent.log_det + coupling.log_det
    return SCGSolution(
        matrix=_symmetrize(matrix),
        value=value,
        graph=graph,
        strength=strength,
        resolvent=resolvent,
        coupling=coupling,
    )


def _symmetrize(matrix: Array) -> Array:
    """Return the mean of a matrix and its transpose."""
    return 0.5 * (matrix + matrix.T)


def graph_size(diagonal: Array) -> float:
    """Return the divisor of a scaled strength, the sum of k0(x, x) over the points in the graph.

    The sum bounds the eigenvalues of K0, so the norm of gamma K0 is at most the strength. If the
    sum is 0, the divisor is the number of points.
    """
    total = float(diagonal.sum())
    return total if total > 0 else float(len(diagonal))


class SCGLogDetPath:
    r"""SCG-LDK kernel matrices that share one eigendecomposition.

    Each call solves

    .. math:: \min_K D_{ld}(K, K_0) + \gamma \, \mathrm{tr}(K S)

    (see `SCGLogDetLearner`) with the same K0, for different :math:`\gamma`, weights and labels;
    :math:`\gamma` is the strength, divided as `scale_strength` states. The eigendecomposition of K0
    is computed once. Each new strength takes two matrix products, and each labelling O(n^2 q)
    operations for q classes. A graph that omits h points, as for a held-out fold, takes
    O(h^3 + n h^2) more. For pairs, q is the number of points in the graph.

    Parameters
    ----------
    gram : array-like of shape (n_samples, n_samples)
        The PSD kernel matrix K0 of the base kernel.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from pliant import SCGLogDetPath, SideInformation
    >>> from pliant.metrics import scg_loss
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
        """Return the learned kernel matrix, or some columns.

        Parameters
        ----------
        information : SideInformation
            Side information on the same points. If the graph is "labeled", points without side
            information, such as those of a held-out fold, are treated as new points.
        strength : float
            Weight of the side information, > 0.
        beta : float, default=1.0
            Exponent of the weights exp(beta T), in (0, 100].
        graph : {"labeled", "complete"}, default="labeled"
            The points of the graph: those with side information, or all points.
        scale_strength : bool, default=True
            If True, the strength is divided by the sum of the Gram matrix diagonal over the points
            in the graph.
        columns : array of indices or mask, optional
            The columns to return, by default all.

        Returns
        -------
        array of shape (n_samples, n_columns)
        """
        check_information(information, len(self._gram))
        check_flag("scale_strength", scale_strength)
        edges = information.graph(graph, beta)
        gamma = check_real("strength", strength, above=0)
        if scale_strength:
            gamma /= graph_size(self._gram.diagonal()[edges.members])
        rows = np.arange(len(self._gram))
        return self._compute_columns(edges, gamma, rows if columns is None else rows[columns])

    def _compute_columns(self, edges: SupervisedGraph, gamma: float, j: Indices) -> Array:
        """Compute the columns j of the learned kernel matrix."""
        n = len(self._gram)
        if gamma * float(np.abs(self._gram).max()) * n > MAX_STABLE_STRENGTH:
            kept = self._spectrum.in_range
            # the null vector of S is exact with labels, but has rounding errors with pairs
            if kept.sum() < n or isinstance(edges, PairGraph):
                return self._columns_within_range(kept, edges, gamma, j)
        excluded = np.setdiff1d(np.arange(n), edges.members, assume_unique=True)
        if not len(excluded):
            solution = _solve_from_resolvent(edges, self._resolvent_for(gamma), gamma)
            return solution.gram.take(j, axis=1)
        if len(excluded) <= len(edges):  # otherwise a problem on the members is cheaper
            with suppress(np.linalg.LinAlgError):  # rounding may make R singular on these points
                return self._columns_without(excluded, edges, gamma, j)
        # K = K0 + K0(:, A) Q K0(A, j) for the members A, as the other points count as new
        problem = SCGLogDet(self._gram[np.ix_(edges.members, edges.members)], edges, gamma)
        left, right = self._gram.take(edges.members, axis=1), self._gram[np.ix_(edges.members, j)]
        return self._gram.take(j, axis=1) + (left @ problem.solve().matrix) @ right

    @cached_property
    def _spectrum(self) -> SCGSpectrum:
        return SCGSpectrum.of(self._gram)

    def _resolvent_for(self, gamma: float) -> Resolvent:
        """Return the resolvent on all points for one gamma; the last one is cached."""
        if self._resolvent is None or self._resolvent[0] != gamma:
            self._resolvent = gamma, self._spectrum.resolvent(gamma)
        return self._resolvent[1]

    def _columns_within_range(
        self, kept: Mask, edges: SupervisedGraph, gamma: float, j: Indices
    ) -> Array:
        """Compute the columns j of K for a singular K0 from a product, which avoids cancellation.

        With K0 = B B', B of shape (n, r), and its rows B_A in the graph,
        K = B (I + gamma B_A'S B_A)^{-1} B'. The singular values s of S^{1/2} B_A have rounding
        errors of eps |B|, so the relative error of 1 + gamma s^2 is at most sqrt(gamma) |B| eps:
        1e-10 for gamma |K0| = 1e12.
        """
        spectrum = self._spectrum
        B = spectrum.vectors[:, kept] * np.sqrt(spectrum.values[kept])
        # S^{1/2} B_A = U s V', so K = F F' with F = B V / sqrt(1 + gamma s^2)
        _, singular, right = np.linalg.svd(edges.root(B[edges.members]), full_matrices=True)
        damped = np.ones(B.shape[1])
        damped[: len(singular)] += gamma * singular**2
        features = (B @ right.T) / np.sqrt(damped)
        return np.asarray(features @ features[j].T)

    def _columns_without(
        self, excluded: Indices, edges: SupervisedGraph, gamma: float, j: Indices
    ) -> Array:
        """Compute the columns j of K if the points `excluded` are not in the graph.

        R and M are the matrices on all points. For B = excluded, the resolvent of the members A is
        R_A = R_AA - R_AB R_BB^{-1} R_BA. K without its G term is M + gamma M_:B R_BB^{-1} M_B:.
        """
        resolvent, members = self._resolvent_for(gamma), edges.members
        M = resolvent.shrunk()
        R_BB_inverse, _ = spd_inverse(resolvent.inverse[np.ix_(excluded, excluded)])
        R_AB = resolvent.inverse[np.ix_(members, excluded)]
        R_A = resolvent.inverse[np.ix_(members, members)] - R_AB @ R_BB_inverse @ R_AB.T
        coupling = GraphCoupling.of(edges, _symmetrize(R_A))
        root = math.sqrt(gamma)
        left = root * self._gram.take(members, axis=1) @ coupling.left.T
        right = root * self._gram[np.ix_(j, members)] @ coupling.left.T
        update = (root * M.take(excluded, axis=1)) @ R_BB_inverse @ (root * M[np.ix_(excluded, j)])
        return M.take(j, axis=1) + update + left @ coupling.between @ right.T
