r"""Kernels learned from labels that SCG's paper compares with. All formulas here are unverified.

Fisher score kernel (Li et al. 2014; the criterion of Xiong, Swamy and Ahmad 2005):

    k(x, x') = q(x) q(x') k0(x, x'),   q(x) = b_0 + sum_j b_j exp(-delta |x - a_j|^2),

where b maximises the ratio of the scatter between classes to that within them, in the feature space
of k on the labelled points. With K_c the block of a class of m_c points,

    J(b) = q'B q / q'W q,   B = blocks(K_c/m_c) - K0/m,   W = diag(k0(x_i, x_i)) - blocks(K_c/m_c).

SimpleNPK (Zhuang, Tsang and Hoi 2011), for a graph Laplacian L and T = 1 for pairs of one class, -1
for pairs of different classes, and 0 where a label is unknown:

    min over K psd with tr K^p <= B of  tr(L K) - C <K, T>
    K = B^{1/p} A^{1/(p-1)} / (tr A^{p/(p-1)})^{1/p},   A = (C T - L)_+.

p is 2 here. As L is positive semi-definite, A has no more positive eigenvalues than T, so that the
rank of K is at most the number of classes, and Lanczos' method finds it.

Ideal regularisation of a kernel (Pan, Lai and Shen 2014), T as above: the minimiser of
D(K, K0) - gamma tr(K T) is

    K = exp(log K0 + gamma T)          with von Neumann's divergence,
    K = (K0^{-1} - gamma T)^{-1}       with the LogDet divergence, for gamma below the pole.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg
from scipy.sparse import csr_array, diags_array, identity
from scipy.sparse.linalg import LinearOperator, eigsh
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.neighbors import kneighbors_graph

from pliant.core.typing import Array, Indices
from pliant.kernels import Kernel

FLOOR = 1e-12
"""Eigenvalues below this share of the largest are raised to it before a logarithm."""


def indicators(classes: Indices) -> Array:
    """Return a column for each class, 1 for its points; a negative class is an unknown one."""
    kinds = np.unique(classes[classes >= 0])
    return np.asarray((classes[:, None] == kinds) * 1.0)


def signs(count: int) -> Array:
    """Return S of T = Z S Z', Z the indicators: 1 within a class and -1 between two."""
    return 2.0 * np.eye(count) - 1.0


def scatters(gram: Array, classes: Indices) -> tuple[Array, Array]:
    """Return B and W of the Fisher score for the Gram matrix of labelled points."""
    Z = indicators(classes)
    blocks = gram * (Z / Z.sum(axis=0) @ Z.T)
    return blocks - gram / len(gram), np.diag(gram.diagonal()) - blocks


@dataclass(frozen=True, eq=False)
class FisherKernel:
    """q(x) q(x') k0(x, x'); use `learned`."""

    base: Kernel
    centres: Array
    delta: float
    b: Array
    """Coefficients of q, that of the constant first."""

    @classmethod
    def learned(
        cls, base: Kernel, X: Array, classes: Indices, centres: Array, delta: float, ridge: float
    ) -> FisherKernel:
        """Maximise J; `ridge` times its mean diagonal is added to the matrix of the denominator."""
        E = bumps(X, centres, delta)
        B, W = scatters(base(X), classes)
        within = E.T @ W @ E
        within += ridge * np.trace(within) / len(within) * np.eye(len(within))
        b = scipy.linalg.eigh(E.T @ B @ E, within)[1][:, -1]
        return cls(base, centres, delta, b / np.sqrt(np.mean((E @ b) ** 2)))

    def factor(self, X: Array) -> Array:
        """Return q(x), shape (n,)."""
        return np.asarray(bumps(X, self.centres, self.delta) @ self.b)

    def __call__(self, X: Array, Y: Array | None = None) -> Array:
        """Return the kernel between X and Y, or X and itself."""
        Y = X if Y is None else Y
        return self.factor(X)[:, None] * self.base(X, Y) * self.factor(Y)


def bumps(X: Array, centres: Array, delta: float) -> Array:
    """Return 1 and exp(-delta |x - a|^2) for each centre, (n, 1 + centres)."""
    squared = euclidean_distances(X, centres, squared=True)
    return np.column_stack([np.ones(len(X)), np.exp(-delta * squared)])


def laplacian(X: Array, n_neighbors: int) -> csr_array:
    """Return the normalised Laplacian of the symmetric 0/1 graph of nearest neighbours."""
    A = csr_array(kneighbors_graph(X, n_neighbors))
    A = A.maximum(A.T)
    root = diags_array(1.0 / np.sqrt(A.sum(axis=1)))
    return csr_array(identity(len(X)) - root @ A @ root)


def simple_npk(L: csr_array, classes: Indices, C: float) -> Array:
    """Return F with K = FF' of SimpleNPK, for p = 2 and B = n^2, shape (n, rank).

    The mean square of the entries of K is one. If C T - L has no positive eigenvalue, K is zero.
    """
    Z, n = indicators(classes), len(classes)
    S = signs(Z.shape[1])

    def product(v: Array) -> Array:
        return np.asarray(C * Z @ (S @ (Z.T @ v)) - L @ v)

    if n <= 3 * Z.shape[1]:
        values, vectors = scipy.linalg.eigh(product(np.eye(n)))
    else:
        A = LinearOperator((n, n), matvec=product, dtype=np.float64)
        values, vectors = eigsh(A, Z.shape[1], which="LA", v0=np.ones(n))
    values = np.maximum(values, 0.0)
    size = float(np.linalg.norm(values))
    return np.asarray(vectors * np.sqrt(n * values / size)) if size > 0.0 else vectors * 0.0


def ideal_neumann(gram: Array, classes: Indices, gamma: float) -> Array:
    """Return F with K = FF' proportional to exp(log K0 + gamma T), of trace n, shape (n, n)."""
    values, vectors = scipy.linalg.eigh(gram)
    Z = indicators(classes)
    exponent = (vectors * np.log(np.maximum(values, FLOOR * values[-1]))) @ vectors.T
    exponent += gamma * Z @ signs(Z.shape[1]) @ Z.T
    powers, directions = scipy.linalg.eigh(exponent)
    K = np.exp(powers - powers[-1])
    return np.asarray(directions * np.sqrt(len(gram) * K / K.sum()))


@dataclass(frozen=True, eq=False)
class IdealLogDet:
    """k0(x, x') + k0(x, X) Z M Z'k0(X, x'): ideal regularisation in the LogDet divergence.

    M = gamma S (I - gamma Z'K0 Z S)^{-1}; unlabelled points do not count. Use `learned`.
    """

    base: Kernel
    points: Array
    Z: Array
    M: Array

    @classmethod
    def learned(cls, base: Kernel, X: Array, classes: Indices, share: float) -> IdealLogDet:
        """Learn from labelled points; `share` < 1 is gamma over the pole 1/lam_max(K0 T)."""
        Z = indicators(classes)
        S, G = signs(Z.shape[1]), Z.T @ base(X) @ Z
        root = scipy.linalg.sqrtm(G).real
        gamma = share / float(scipy.linalg.eigvalsh(root @ S @ root)[-1])
        M = gamma * S @ np.linalg.inv(np.eye(len(S)) - gamma * G @ S)
        return cls(base, X, Z, 0.5 * (M + M.T))

    def __call__(self, X: Array, Y: Array | None = None) -> Array:
        """Return the kernel between X and Y, or X and itself."""
        Y = X if Y is None else Y
        left, right = (self.base(each, self.points) @ self.Z for each in (X, Y))
        return np.asarray(self.base(X, Y) + left @ self.M @ right.T)
