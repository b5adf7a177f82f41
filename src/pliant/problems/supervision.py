r"""The LogDet problem with the loss of the supervised complete graph, and its closed forms.

    min_K  D_ld(K, K0) + gamma tr(K S),     D_ld(K, K0) = tr(K K0^{-1}) - log det(K K0^{-1}) - n

(Pan, Chen, Chen, Xu, Eq. 27) has the solution K = (K0^{-1} + gamma S)^{-1}, and K extends to new
points by Q = K0^{-1} (K - K0) K0^{-1}. Neither is computed so: K0 may be singular, and nearly is
for any smooth kernel. With R = (I + gamma K0)^{-1}, M = K0 R, and S = I - U H U' of labels,

    K = M + gamma M U G U'M,   Q = -gamma (R - R U G U'R),   G = (I - H + H U'R U)^{-1} H,

and for any S, with its null vector z, S + z z' = L L', w = L'z, R = (I + gamma L'K0 L)^{-1},
P = (I - R)/gamma,

    K = L^{-T} (P + gamma P w w'P/(w'R w)) L^{-1},   Q = -gamma L (R - R w w'R/(w'R w)) L'.

The optimal value is log det(I + gamma S K0).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy.linalg

from pliant._typing import Array
from pliant.linalg import spd_inverse
from pliant.side_information import LabelGraph, PairGraph, SupervisedGraph

__all__ = [
    "Coupling",
    "Resolvent",
    "SCGLogDet",
    "Solution",
    "Spectrum",
    "label_solution",
    "learned_map",
    "pair_solution",
]

TINY = 1e-3
"""Below this gamma |K0|, M = (I - R)/gamma would lose digits, and K0 R is formed."""


class Solution(NamedTuple):
    """The optimum: K and Q on the members of the graph, shape (a, a), and the optimal value."""

    gram: Array
    matrix: Array
    value: float


class Resolvent(NamedTuple):
    """R = (I + gamma K0)^{-1} and M = K0 R, shape (a, a), and log det(I + gamma K0)."""

    inverse: Array
    shrunk: Array
    log_det: float

    @classmethod
    def of(cls, gram: Array, strength: float) -> Resolvent:
        """Return it by one Cholesky factorisation, O(a^3)."""
        shifted: Array = strength * gram
        shifted[np.diag_indices_from(shifted)] += 1.0
        inverse, log_det = spd_inverse(shifted)
        if strength * float(np.abs(gram).max()) < TINY:
            product = gram @ inverse
            return cls(inverse, 0.5 * (product + product.T), log_det)
        shrunk = inverse * (-1.0 / strength)
        shrunk[np.diag_indices_from(shrunk)] += 1.0 / strength
        return cls(inverse, shrunk, log_det)


class Spectrum(NamedTuple):
    """All eigenvalues of K0 (those below zero as zero), shape (a,), and eigenvectors, (a, a)."""

    values: Array
    vectors: Array

    @classmethod
    def of(cls, gram: Array) -> Spectrum:
        """Return it by one eigendecomposition, O(a^3)."""
        values, vectors = scipy.linalg.eigh(gram, driver="evd", check_finite=False)
        return cls(np.maximum(values, 0.0), vectors)

    def resolvent(self, strength: float) -> Resolvent:
        """Return the resolvent for one gamma by two matrix products, O(a^3)."""
        damped = 1.0 + strength * self.values
        inverse = (self.vectors / damped) @ self.vectors.T
        shrunk = (self.vectors * (self.values / damped)) @ self.vectors.T
        return Resolvent(inverse, shrunk, float(np.log(damped).sum()))


@dataclass(frozen=True, eq=False)
class SCGLogDet:
    """One such problem.

    Parameters
    ----------
    gram : array of shape (a, a)
        K0 on the members of the graph, PSD.
    graph : SupervisedGraph
        Which has S.
    strength : float
        gamma > 0.
    """

    gram: Array
    graph: SupervisedGraph
    strength: float

    def objective(self, K: Array) -> float:
        """Return D_ld(K, K0) + gamma tr(K S); K0 and K must be far from singular."""
        ratio = scipy.linalg.solve(self.gram, K, assume_a="pos")
        log_det = np.linalg.slogdet(ratio)[1]
        divergence = np.trace(ratio) - log_det - len(K)
        return float(divergence + self.strength * self.graph.trace_with(K))

    def solve(self, solver: str = "cholesky") -> Solution:
        """Return the optimum.

        Parameters
        ----------
        solver : {"cholesky", "eigh"}
            By a Cholesky factorisation; or by an eigendecomposition, about ten times slower,
            which serves other strengths too.
        """
        if isinstance(self.graph, LabelGraph):
            found = _resolvent(self.gram, self.strength, solver)
            return label_solution(self.graph, found, self.strength)
        assert isinstance(self.graph, PairGraph)
        return pair_solution(self, self.graph, _resolvent(self.inner(), self.strength, solver))

    def inner(self) -> Array:
        """Return L'K0 L, for pairs."""
        assert isinstance(self.graph, PairGraph)
        factor = self.graph.completed_root.factor
        product = factor.T @ self.gram @ factor
        return 0.5 * (product + product.T)


def pair_solution(problem: SCGLogDet, graph: PairGraph, resolvent: Resolvent) -> Solution:
    """Return the optimum for pairs from R and P, those of L'K0 L in place of K0."""
    factor, w, triangular = graph.completed_root
    gamma, K0 = problem.strength, problem.gram
    r = resolvent.inverse @ w
    freed = float(w @ r)
    matrix = -gamma * (factor @ (resolvent.inverse - np.outer(r, r / freed)) @ factor.T)
    matrix = 0.5 * (matrix + matrix.T)
    if triangular:
        p = resolvent.shrunk @ w
        inner = resolvent.shrunk + np.outer(p, (gamma / freed) * p)
        half = _divided(factor, inner)
        gram = _divided(factor, half.T)
    else:  # weights so far apart that L has no inverse to rely on
        gram = K0 + K0 @ matrix @ K0
    return Solution(0.5 * (gram + gram.T), matrix, resolvent.log_det + float(np.log(freed)))


def _divided(lower: Array, B: Array) -> Array:
    """Return L^{-T} B."""
    return np.asarray(scipy.linalg.solve_triangular(lower, B, trans="T", lower=True))


def _resolvent(gram: Array, strength: float, solver: str) -> Resolvent:
    if solver == "cholesky":
        try:
            return Resolvent.of(gram, strength)
        except np.linalg.LinAlgError:  # K0 is not PSD: its negative eigenvalues count as zero
            pass
    return Spectrum.of(gram).resolvent(strength)


def label_solution(graph: LabelGraph, resolvent: Resolvent, strength: float) -> Solution:
    """Return the optimum for labels from R and M: q x q systems and products of rank q."""
    factor = Coupling.of(graph, resolvent.inverse)
    sides = graph.coordinates(resolvent.shrunk)
    gram = resolvent.shrunk + strength * (sides.T @ factor.between @ sides)
    matrix = factor.left.T @ factor.between @ factor.left - resolvent.inverse
    matrix *= strength
    return Solution(gram, matrix, resolvent.log_det + factor.log_det)


class Coupling(NamedTuple):
    """What the classes add to R: V'U'R, shape (q, a), and V'G V, (q, q), for H = V theta V'.

    G = (I - H + H U'R U)^{-1} H; the null vector of S has I - H = 0 exactly, so nothing cancels
    where gamma K0 is large. `log_det` is that of I - H + H U'R U.
    """

    left: Array
    between: Array
    log_det: float

    @classmethod
    def of(cls, graph: LabelGraph, inverse: Array) -> Coupling:
        """Return it for R of shape (a, a)."""
        left = graph.coordinates(inverse)
        within = graph.coordinates(left.T)
        theta = 1.0 - graph.damping
        system = theta[:, None] * (0.5 * (within + within.T))
        system[np.diag_indices_from(system)] += graph.damping
        between = np.linalg.solve(system, np.diag(theta))
        return cls(left, 0.5 * (between + between.T), float(np.linalg.slogdet(system)[1]))


def learned_map(features: Array, graph: SupervisedGraph, strength: float) -> tuple[Array, float]:
    """Return the map of features that the problem learns where K0 = F F', in O(a m^2).

    K = F A^{-1} F' with A = I + gamma F'S F = L L': the new features are f -> L^{-1} f.

    Parameters
    ----------
    features : array of shape (a, m)
        F on the members of the graph.
    graph : SupervisedGraph
    strength : float
        gamma.

    Returns
    -------
    array of shape (m, m)
        L^{-T}: the learned features are F @ L^{-T}.
    float
        The optimal value, log det A.
    """
    A = strength * graph.quadratic(features)
    A[np.diag_indices_from(A)] += 1.0
    lower = scipy.linalg.cholesky(A, lower=True, check_finite=False)
    map_ = scipy.linalg.solve_triangular(lower, np.eye(len(A)), lower=True, check_finite=False)
    return np.asarray(map_.T), 2.0 * float(np.log(lower.diagonal()).sum())
