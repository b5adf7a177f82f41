"""The supervised complete graph: every pair of points is an edge, weighted by what is known of it.

    W = exp(beta T) entry by entry,  D = diag(W 1),  S = I - D^{-1/2} W D^{-1/2}

(Pan, Chen, Chen, Xu, section 3; beta = 1 there). S is positive semi-definite, and
S D^{1/2} 1 = 0. No (n, n) array is formed unless asked for: with labels W is constant on pairs of
classes, with pairs it is 11' plus a sparse matrix.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property

import numpy as np
import scipy.linalg
import scipy.sparse

from pliant.core.typing import Array, Indices
from pliant.core.validation import check_real

__all__ = ["LabelGraph", "PairGraph", "SupervisedGraph", "check_beta"]

LARGEST_BETA = 100.0
"""Beyond it exp(beta) swallows every other weight."""


def check_beta(beta: float) -> float:
    """Return the exponent of the weights if it is in (0, 100]."""
    value = check_real("beta", beta, above=0)
    if value > LARGEST_BETA:
        raise ValueError(f"expected beta <= {LARGEST_BETA:g}, as weights are exp(beta), got {beta}")
    return value


class SupervisedGraph(ABC):
    """The graph over some of the points, its members.

    Attributes
    ----------
    members : array of shape (a,)
        Their row numbers.
    degrees : array of shape (a,)
        D_ii = sum_j W_ij.
    """

    members: Indices
    degrees: Array

    def __len__(self) -> int:
        """Return the number of members."""
        return len(self.members)

    @abstractmethod
    def weights(self, B: Array) -> Array:
        """Return W B for B of shape (a,) or (a, m)."""

    def laplacian(self, B: Array) -> Array:
        """Return S B for B of shape (a,) or (a, m)."""
        return B - _rows(self._scale, self.weights(_rows(self._scale, B)))

    @property
    def _scale(self) -> Array:
        return 1.0 / np.sqrt(self.degrees)

    @property
    def null_vector(self) -> Array:
        """The unit vector that S maps to zero, D^{1/2} 1 / |D^{1/2} 1|."""
        root = np.sqrt(self.degrees)
        return np.asarray(root / np.linalg.norm(root))

    def toarray(self) -> Array:
        """Return S, shape (a, a)."""
        S = self.laplacian(np.eye(len(self)))
        return 0.5 * (S + S.T)

    def trace_with(self, gram: Array) -> float:
        """Return tr(K S) = <K, S> for the (a, a) kernel values of the members, O(a^2)."""
        return float(np.trace(self.laplacian(gram)))

    @property
    @abstractmethod
    def reduced(self) -> Array:
        """S between q coordinates, outside which it is the identity, shape (q, q)."""

    @abstractmethod
    def coordinates(self, B: Array) -> Array:
        """Return the q coordinates of B, shape (q, m), for B of shape (a, m)."""

    @abstractmethod
    def quadratic(self, F: Array) -> Array:
        """Return F'S F, shape (m, m), for F of shape (a, m), in O(a m^2)."""


class LabelGraph(SupervisedGraph):
    """The graph of labels: S = I - U H U', of rank q from the identity.

    The q groups are the classes and, if there are any, the points without a label. U has an
    orthonormal column for each, constant on its points; H_gh = W_gh sqrt(n_g n_h / (D_g D_h)).

    Parameters
    ----------
    members : array of shape (a,)
    labels : array of shape (a,)
        The class of each, -1 where it is unknown.
    beta : float

    Attributes
    ----------
    groups, sizes : arrays of shape (a,) and (q,)
        The group of each point, and how many points each group has.
    modes, damping : arrays of shape (q, q) and (q,)
        Eigenvectors of H, and 1 less its eigenvalues, rising; the first of these is 0: the null
        vector of S.
    """

    def __init__(self, members: Indices, labels: Indices, beta: float = 1.0) -> None:
        self.members = members
        kinds, groups = np.unique(labels, return_inverse=True)
        self.groups: Indices = groups.reshape(-1)
        self.sizes: Array = np.bincount(self.groups).astype(np.float64)
        self._between = _group_weights(kinds, check_beta(beta))
        self._group_degrees = self._between @ self.sizes
        self.degrees = self._group_degrees[self.groups]
        self.damping, self.modes = self._spectrum()

    def _spectrum(self) -> tuple[Array, Array]:
        """Return 1 - the eigenvalues of H, rising from 0, and its eigenvectors."""
        scale = np.sqrt(self.sizes / self._group_degrees)
        values, modes = np.linalg.eigh(scale[:, None] * self._between * scale)
        damping = np.maximum(1.0 - values[::-1], 0.0)
        damping[0] = 0.0
        return damping, modes[:, ::-1]

    @property
    def reduced(self) -> Array:
        """S in the eigenvectors of H, shape (q, q): diagonal, with `damping`."""
        return np.diag(self.damping)

    def sums(self, B: Array) -> Array:
        """Return the sum of the rows of B over each group, shape (q, ...)."""
        if B.ndim == 1:
            return np.asarray(np.bincount(self.groups, weights=B), dtype=np.float64)
        return np.asarray(self._indicator @ B)

    @cached_property
    def _indicator(self) -> scipy.sparse.csr_array:
        a = len(self)
        places = (self.groups, np.arange(a))
        return scipy.sparse.csr_array((np.ones(a), places), shape=(len(self.sizes), a))

    def weights(self, B: Array) -> Array:
        """Return W B for B of shape (a,) or (a, m), in O((a + q^2) m)."""
        return np.asarray((self._between @ self.sums(B))[self.groups])

    def coordinates(self, B: Array) -> Array:
        """Return V'U'B, the coordinates of B in the eigenvectors of H, shape (q, m)."""
        return np.asarray(self.modes.T @ _rows(1.0 / np.sqrt(self.sizes), self.sums(B)))

    def expand(self, A: Array) -> Array:
        """Return U V A, shape (a, m), for A of shape (q, m)."""
        return np.asarray(_rows(1.0 / np.sqrt(self.sizes), self.modes @ A)[self.groups])

    def root(self, B: Array) -> Array:
        """Return S^{1/2} B for B of shape (a, m), in O((a + q^2) m)."""
        return B - self.expand(_rows(1.0 - np.sqrt(self.damping), self.coordinates(B)))

    def quadratic(self, F: Array) -> Array:
        """Return F'S F, shape (m, m), for F of shape (a, m), in O(a m^2)."""
        half = self.root(F)
        return np.asarray(half.T @ half)


class PairGraph(SupervisedGraph):
    """The graph of pairs: W = 11' plus a sparse matrix.

    Parameters
    ----------
    members : array of shape (a,)
    pairs : array of shape (m, 2)
        Places within the members, i < j, each once.
    signs : array of shape (m,)
        +1.0 or -1.0.
    beta : float
    """

    def __init__(self, members: Indices, pairs: Indices, signs: Array, beta: float = 1.0) -> None:
        self.members = members
        i, j = pairs.T
        extra = np.expm1(check_beta(beta) * signs)
        places = (np.concatenate([i, j]), np.concatenate([j, i]))
        a = len(members)
        self._extra = scipy.sparse.csr_array((np.tile(extra, 2), places), shape=(a, a))
        self.degrees = np.asarray(a + self._extra.sum(axis=1), dtype=np.float64)

    def weights(self, B: Array) -> Array:
        """Return W B for B of shape (a,) or (a, m), in O((a + number of pairs) m)."""
        return np.asarray(self._extra @ B) + B.sum(axis=0)

    @cached_property
    def reduced(self) -> Array:
        """S, shape (a, a)."""
        return self.toarray()

    def coordinates(self, B: Array) -> Array:
        """Return B: the coordinates are the points themselves."""
        return B

    def quadratic(self, F: Array) -> Array:
        """Return F'S F, shape (m, m), for F of shape (a, m), in O(a m^2 + number of pairs m)."""
        product = F.T @ self.laplacian(F)
        return np.asarray(0.5 * (product + product.T))


def _group_weights(kinds: Indices, beta: float) -> Array:
    """Return W between groups; the group -1 is that of the points without a label."""
    same = np.eye(len(kinds))
    T = 2.0 * same - 1.0
    T[kinds < 0] = 0.0
    T[:, kinds < 0] = 0.0
    return np.exp(beta * T)


def _rows(factors: Array, B: Array) -> Array:
    """Return each row of a matrix, or each entry of a vector, times its factor."""
    return np.asarray((B.T * factors).T)
