r"""The LogDet problem with the loss of the supervised complete graph, and its closed forms.

    min_K  D_ld(K, K0) + gamma tr(K S),     D_ld(K, K0) = tr(K K0^{-1}) - log det(K K0^{-1}) - n

(Pan, Chen, Chen, Xu, Eq. 27) has the solution K = (K0^{-1} + gamma S)^{-1}, and K extends to new
points by Q = K0^{-1} (K - K0) K0^{-1}. Neither is computed so: K0 may be singular, and nearly is
for any smooth kernel. With R = (I + gamma K0)^{-1} and M = K0 R,

    K = M + gamma M G M,   Q = -gamma (R - R G R),   G = (S + (I - S) R)^{-1} (I - S),

and the optimal value is log det(I + gamma S K0) = log det(I + gamma K0) + log det(S + (I - S) R).
With labels I - S = U H U' has the rank q of the number of classes (one more if some points are
unlabelled), and all but R takes products of rank q.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import scipy.linalg

from pliant.core.linalg import spd_inverse
from pliant.core.typing import Array
from pliant.methods.side_information.information import SupervisedGraph

__all__ = [
    "Coupling",
    "Resolvent",
    "SCGLogDet",
    "Solution",
    "Spectrum",
    "graph_size",
    "learned_map",
    "solution",
]

TINY = 1e-4
"""Below this gamma |K0|, M = (I - R)/gamma loses more than four digits, and K0 R is formed."""


ROUNDING = 4.0 * np.finfo(np.float64).eps
"""Eigenvalues below this share of the largest are taken to be zero."""


@dataclass(frozen=True, eq=False)
class Solution:
    """The optimum on the members of the graph: Q, shape (a, a), and the optimal value.

    `make_gram` returns K, shape (a, a), kept as `gram` once it is asked for.
    """

    matrix: Array
    value: float
    make_gram: Callable[[], Array]

    @cached_property
    def gram(self) -> Array:
        """K."""
        return self.make_gram()


@dataclass(frozen=True, eq=False)
class Resolvent:
    """R = (I + gamma K0)^{-1}, shape (a, a), and log det(I + gamma K0).

    `make_shrunk` returns M = K0 R, shape (a, a), kept as `shrunk` once it is asked for.
    """

    inverse: Array
    log_det: float
    make_shrunk: Callable[[], Array]

    @cached_property
    def shrunk(self) -> Array:
        """M."""
        return self.make_shrunk()

    @classmethod
    def of(cls, gram: Array, strength: float) -> Resolvent:
        """Return it by one Cholesky factorisation, O(a^3)."""
        shifted: Array = strength * gram
        shifted[np.diag_indices_from(shifted)] += 1.0
        inverse, log_det = spd_inverse(shifted)

        def shrunk() -> Array:
            if strength * float(np.abs(gram).max()) < TINY:
                return _symmetric(gram @ inverse)
            M = inverse * (-1.0 / strength)
            M[np.diag_indices_from(M)] += 1.0 / strength
            return np.asarray(M)

        return cls(inverse, log_det, shrunk)


class Spectrum(NamedTuple):
    """Eigenvalues of K0, at least 0, shape (r,), and their eigenvectors, (a, r).

    All of them; or those clearly above zero, where they are less than half.
    """

    values: Array
    vectors: Array

    @classmethod
    def of(cls, gram: Array) -> Spectrum:
        """Return it by one eigendecomposition, O(a^3)."""
        values, vectors = scipy.linalg.eigh(gram, driver="evd", check_finite=False)
        kept = values > ROUNDING * max(float(values[-1]), 0.0)
        if 2 * kept.sum() < len(values):
            return cls(values[kept], np.ascontiguousarray(vectors[:, kept]))
        return cls(np.maximum(values, 0.0), vectors)

    def resolvent(self, strength: float) -> Resolvent:
        """Return the resolvent for one gamma by matrix products, O(a^2 r)."""
        damped = 1.0 + strength * self.values
        shrunk = (self.vectors * (self.values / damped)) @ self.vectors.T
        if len(self.values) == len(shrunk):
            inverse = (self.vectors / damped) @ self.vectors.T
        else:
            inverse = -strength * shrunk
            inverse[np.diag_indices_from(inverse)] += 1.0
        return Resolvent(inverse, float(np.log(damped).sum()), lambda: shrunk)


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
        return solution(self.graph, _resolvent(self.gram, self.strength, solver), self.strength)


def _resolvent(gram: Array, strength: float, solver: str) -> Resolvent:
    if solver == "cholesky":
        try:
            return Resolvent.of(gram, strength)
        except np.linalg.LinAlgError:  # K0 is not PSD: its negative eigenvalues count as zero
            pass
    return Spectrum.of(gram).resolvent(strength)


def graph_size(diagonal: Array) -> float:
    """Return what a strength is divided by: the sum of k0(x, x) over the graph, if it is > 0.

    No eigenvalue of K0 is larger, so gamma K0 is at most the strength.
    """
    total = float(diagonal.sum())
    return total if total > 0 else float(len(diagonal))


def solution(graph: SupervisedGraph, resolvent: Resolvent, strength: float) -> Solution:
    """Return the optimum from R and M: (q, q) systems and products of rank q."""
    coupling = Coupling.of(graph, resolvent.inverse)
    matrix = coupling.left.T @ coupling.between @ coupling.left
    matrix -= resolvent.inverse
    matrix *= strength

    def gram() -> Array:
        sides = graph.coordinates(resolvent.shrunk)
        K = strength * (sides.T @ coupling.between @ sides)
        K += resolvent.shrunk
        return _symmetric(K)

    return Solution(_symmetric(matrix), resolvent.log_det + coupling.log_det, gram)


def _symmetric(matrix: Array) -> Array:
    return 0.5 * (matrix + matrix.T)


class Coupling(NamedTuple):
    """What the graph adds to R: the coordinates of R, shape (q, a), and G between them, (q, q).

    Where gamma K0 is large, R is small and S must have its null vector exactly: with labels it
    has an eigenvalue of exactly 0, so nothing cancels. `log_det` is that of S + (I - S) R.
    """

    left: Array
    between: Array
    log_det: float

    @classmethod
    def of(cls, graph: SupervisedGraph, inverse: Array) -> Coupling:
        """Return it for R of shape (a, a)."""
        left = graph.coordinates(inverse)
        within = _symmetric(graph.coordinates(left.T))
        rest = np.eye(len(within)) - graph.reduced
        system = graph.reduced + rest @ within
        lu = scipy.linalg.lu_factor(system, overwrite_a=True, check_finite=False)
        between = scipy.linalg.lu_solve(lu, rest, overwrite_b=True, check_finite=False)
        log_det = float(np.log(np.abs(lu[0].diagonal())).sum())
        return cls(left, _symmetric(between), log_det)


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

    Raises
    ------
    ValueError
        If gamma is so large that rounding of F'S F exceeds the identity.
    """
    A = strength * graph.quadratic(features)
    A[np.diag_indices_from(A)] += 1.0
    try:
        lower = scipy.linalg.cholesky(A, lower=True, check_finite=False)
    except np.linalg.LinAlgError:
        raise ValueError(f"expected a smaller strength, got gamma = {strength:g}") from None
    map_ = scipy.linalg.solve_triangular(lower, np.eye(len(A)), lower=True, check_finite=False)
    return np.asarray(map_.T), 2.0 * float(np.log(lower.diagonal()).sum())
