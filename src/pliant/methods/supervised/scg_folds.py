r"""Components of SCG-LDK kernels on the labels of one fold, for any strength and beta.

The training points A of a fold are the members of the graph. With one eigendecomposition
K0_AA = V diag(l) V', the learned kernel is diagonal up to the rank q of I - S = U H U':

    K_AA = V (diag(d) + gamma Z G Z') V',   d = l / (1 + gamma l),   W = V'U,   Z = diag(d) W,
    G = (S + (I - S) W' diag(1 / (1 + gamma l)) W)^{-1} (I - S),

with S in the q coordinates of `LabelGraph`. W' diag(...) W is a sum of positive terms, so a
large gamma causes no cancellation. A Lanczos iteration for the leading eigenpairs takes O(a q),
not O(a^2). Held-out points B count as new points, with K_BA = K0_BA (I + gamma S K0_AA)^{-1}:

    K_BA = K0_BA V diag(1 / (1 + gamma l)) (I + gamma W G Z') V'.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.linalg

from pliant.core.eigen import DiagonalPlusLowRank
from pliant.core.typing import Array, Indices
from pliant.methods.supervised.components import count_positive
from pliant.methods.supervised.information import LabelGraph
from pliant.methods.supervised.scg_problem import SCGSpectrum


class FoldSpectrum(NamedTuple):
    """The base kernel of a fold in the eigenbasis of K0_AA, for a training points.

    `values`, shape (r,), are the eigenvalues l: those above rounding error, and one 0 if others
    count as 0. `vectors`, shape (a, r), are the columns of V, which span the constant vector, so
    that centring does not leave them. `outside`, shape (a, a - r), are the other columns of V, and
    `cross`, shape (b, r), is K0_BA V for b held-out points.
    """

    values: Array
    vectors: Array
    outside: Array
    cross: Array

    @classmethod
    def of(cls, gram: Array, train: Indices, test: Indices) -> FoldSpectrum:
        """Compute the spectrum from the base kernel matrix of all points, in O(a^3)."""
        among = gram[np.ix_(train, train)]
        values, vectors = scipy.linalg.eigh(among, driver="evd", check_finite=False)
        n_zeros = len(values) - int(SCGSpectrum(values, vectors).in_range.sum())
        if n_zeros:
            # a Householder reflection of the null space, whose last vector becomes its projection
            # of the constant vector
            null = vectors[:, :n_zeros]
            mean = null.mean(axis=0)
            mean[-1] += np.copysign(np.linalg.norm(mean), mean[-1])
            if mean.any():
                null -= np.outer(null @ mean, 2.0 * mean / (mean @ mean))
            n_zeros -= 1
            values[n_zeros] = 0.0
        outside, vectors = np.hsplit(vectors, [n_zeros])
        cross = gram[np.ix_(test, train)] @ vectors
        return cls(values[n_zeros:], vectors, outside, cross)

    def on_graph(self, graph: LabelGraph) -> FoldKernels:
        """Return the kernels learned from the labels of a graph on the training points."""
        outside = graph.coordinates(self.outside)
        return FoldKernels(
            self, graph.reduced, graph.coordinates(self.vectors).T, outside @ outside.T
        )


class FoldKernels(NamedTuple):
    """The kernels learned from one graph, for any strength.

    `reduced` is S, shape (q, q), `coordinates` is W for the r columns of V in `spectrum`, shape
    (r, q), and `outside` is W'W for the others, shape (q, q).
    """

    spectrum: FoldSpectrum
    reduced: Array
    coordinates: Array
    outside: Array

    def embed(self, gamma: float, n_components: int, *, center: bool) -> tuple[Array, Array]:
        """Return the components of the training points and of the held-out points.

        Raise ValueError if the learned kernel varies in fewer than `n_components` directions.
        """
        (values, vectors, _, cross), W = self.spectrum, self.coordinates
        damping = 1.0 + gamma * values
        within = W.T @ (W / damping[:, None]) + self.outside
        complement = np.eye(len(within)) - self.reduced
        G = np.linalg.solve(self.reduced + complement @ within, gamma * complement)
        G = 0.5 * (G + G.T)
        d = values / damping
        Z = d[:, None] * W
        kernel = centred = DiagonalPlusLowRank(d, Z, G)
        mean = vectors.mean(axis=0)  # V'1 / a
        if center and mean.any():
            centred = kernel.projected(mean / np.linalg.norm(mean))
        variances, axes = centred.top_eigenpairs(min(n_components, len(d)))
        size = float(d.max()) + float(np.abs(G @ (Z.T @ Z)).sum())  # bounds the eigenvalues of K
        positive = count_positive(variances, float(np.finfo(np.float64).eps) * size)
        if positive < n_components:
            raise ValueError(f"expected n_components <= {positive}, got {n_components}")
        # f(x) = (k(x, A) - m') V c for c = axes / sqrt(variances) and m = K 1 / a
        c = axes / np.sqrt(variances)
        rows = (c + W @ (G @ (Z.T @ c))) / damping[:, None]
        shift = mean @ kernel.times(c) if center else 0.0
        return vectors @ (axes * np.sqrt(variances)), cross @ rows - shift
