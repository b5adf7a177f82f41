"""Rules for kernel weights, implemented from their definitions."""

import numpy as np

from pliant.kernels import Precomputed
from pliant.methods.mkl.newton import Grams
from tests.reference.mkl_conic import GAMMAS


def grams_of(matrices):
    """Return the library's collection of given Gram matrices."""
    return Grams(list(map(Precomputed, matrices)), np.arange(len(matrices[0]))[:, None], 100.0)


def gaussians(X, gammas=GAMMAS):
    distances = np.square(X[:, None] - X[None]).sum(axis=-1)
    return [np.exp(-gamma * distances) for gamma in gammas]


def centred(K, weights=None):
    """Return H K H' with H = I - 1 s'/(sum s)."""
    n = len(K)
    s = np.ones(n) if weights is None else np.asarray(weights, dtype=float)
    H = np.eye(n) - np.outer(np.ones(n), s) / s.sum()
    return H @ K @ H.T


def inner(A, B, weights=None):
    s = np.ones(len(A)) if weights is None else np.asarray(weights, dtype=float)
    return sum(s[i] * s[j] * A[i, j] * B[i, j] for i in range(len(A)) for j in range(len(A)))


def alignment(A, B, weights=None, center=True):
    if center:
        A, B = centred(A, weights), centred(B, weights)
    sizes = inner(A, A, weights) * inner(B, B, weights)
    return inner(A, B, weights) / np.sqrt(sizes)


def align(kernels, Y, weights=None, center=True):
    cosines = np.array([max(0.0, alignment(K, Y, weights, center)) for K in kernels])
    return cosines / cosines.sum()


def one_hot(labels):
    return (labels[:, None] == np.unique(labels)).astype(float)


def hull_products(kernels, y, g):
    """Return g'Y K_m Y g of each kernel."""
    return np.array([(y * g) @ K @ (y * g) for K in kernels])


def root_of(K):
    """Return a factor L with L'L = K."""
    values, vectors = np.linalg.eigh(K)
    kept = values > 1e-13 * values[-1]
    return (vectors[:, kept] * np.sqrt(values[kept])).T
