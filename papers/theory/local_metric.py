r"""Nadaraya-Watson regression with a metric of its own at each point (after Noh et al. 2017).

Derived here, not checked against the paper: unverified. With a kernel of |A^{1/2} (x - x')| / h the
bias of the estimate at x is, to second order in h, proportional to

    tr(A^{-1} B),   B = (g u' + u g')/2 + H/2,   g = grad log p(x), u = grad y(x), H = hess y(x).

For a generative model in which x and y are jointly normal, g = -S^{-1} (x - mu), u = S^{-1} s_xy
and H = 0: B has one positive and one negative eigenvalue,

    lam = (g'u +- |g| |u|)/2,   along   g/|g| +- u/|u|.

As in the metric of Noh, Zhang and Lee (2010) for neighbours, A ~ sum |lam| v v' on their plane
makes the trace zero. With a strength c it is mixed with the identity, which rules elsewhere, and
scaled to determinant one, so that the variance stays:

    A = (I + c sum |lam| v v' / (|g| |u|)) / det^{1/d}.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.base import BaseEstimator

from papers.sample import drawn_gamma
from pliant.core.typing import Array

RIDGE = 1e-3
"""Added to the covariance, in units of its mean variance."""


def directions(g: Array, u: Array) -> tuple[Array, Array]:
    """Return both eigenvalues of (g u' + u g')/2, (m, 2), and unit eigenvectors, (m, 2, d).

    `g` has shape (m, d), `u` (d,). Where one of both is zero, so are the eigenvalues.
    """
    sizes = np.linalg.norm(g, axis=1) * np.linalg.norm(u)
    inner = g @ u
    values = 0.5 * np.stack([inner + sizes, inner - sizes], axis=1)
    a = g / np.maximum(np.linalg.norm(g, axis=1, keepdims=True), 1e-300)
    b = u / max(float(np.linalg.norm(u)), 1e-300)
    vectors = np.stack([a + b, a - b], axis=1)
    lengths = np.linalg.norm(vectors, axis=2, keepdims=True)
    return values, vectors / np.maximum(lengths, 1e-300)


class LocalMetric(BaseEstimator):
    """The estimator; its kernel is exp(-gamma (x - x')'A(x - x')).

    Parameters
    ----------
    strength : float
        c of the module's first lines, >= 0.
    power : float
        gamma is 2**power over the median squared distance of standardised features.
    """

    def __init__(self, strength: float = 1.0, power: float = 0.0) -> None:
        self.strength, self.power = strength, power

    def fit(self, X: Array, y: Array) -> LocalMetric:
        """Keep the rows, standardised, and the normal model of features and target."""
        self.mean_, spread = X.mean(axis=0), X.std(axis=0)
        self.scale_ = np.where(spread > 0.0, spread, 1.0)
        self.Z_ = (X - self.mean_) / self.scale_
        self.y_ = np.asarray(y, dtype=np.float64)
        d = X.shape[1]
        S = self.Z_.T @ self.Z_ / len(y)
        S += RIDGE * np.trace(S) / d * np.eye(d)
        self.precision_ = np.linalg.inv(S)
        self.slope_ = self.precision_ @ (self.Z_.T @ (self.y_ - self.y_.mean())) / len(y)
        self.gamma_ = drawn_gamma(self.Z_, 0) * 2.0**self.power
        return self

    def metrics(self, Z: Array) -> tuple[Array, Array, Array]:
        """Return the weight of both directions, (m, 2), these, (m, 2, d), and det^{1/d}, (m,)."""
        g = -Z @ self.precision_
        values, vectors = directions(g, self.slope_)
        sizes = np.linalg.norm(g, axis=1) * np.linalg.norm(self.slope_)
        weights = self.strength * np.abs(values) / np.maximum(sizes, 1e-300)[:, None]
        return weights, vectors, np.prod(1.0 + weights, axis=1) ** (1.0 / Z.shape[1])

    def predict(self, X: Array) -> Array:
        """Return the weighted means; far from all rows that of the nearest ones."""
        parts = np.array_split(np.arange(len(X)), 1 + len(X) // 500)
        return np.concatenate([self._predict(X[part]) for part in parts])

    def _predict(self, X: Array) -> Array:
        Z = (X - self.mean_) / self.scale_
        squares = cdist(Z, self.Z_, "sqeuclidean")
        if self.strength:
            weights, vectors, volume = self.metrics(Z)
            for k in range(2):  # (v'(x - x'))^2 for each pair
                along = (Z * vectors[:, k]).sum(axis=1)[:, None] - vectors[:, k] @ self.Z_.T
                squares += weights[:, k, None] * along**2
            squares /= volume[:, None]
        exponents: Any = -self.gamma_ * squares
        kernel = np.exp(exponents - exponents.max(axis=1, keepdims=True))
        return np.asarray(kernel @ self.y_ / kernel.sum(axis=1))
