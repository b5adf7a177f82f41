"""A base kernel that follows the shape of the data: smooth functions on a neighbour graph."""

from __future__ import annotations

from typing import Self

import numpy as np
import numpy.typing as npt

from pliant.core.kernels.extension import CoordinateNeighbors
from pliant.core.typing import Array
from pliant.core.validation import check_integer, check_points, check_real
from pliant.methods.side_information.information.neighbors import NeighborGraph, links
from pliant.methods.side_information.spectral_kernel import SpectralKernel

__all__ = ["NeighborGraphKernel"]


class NeighborGraphKernel(SpectralKernel):
    r"""The regularised Laplacian kernel of the random walk on a graph of nearest neighbours.

    .. math::

        k(x, y) = c \sum_i \frac{u_i(x) \, u_i(y)}{\epsilon + \lambda_i},

    where :math:`(I - D^{-1} A) u_i = \lambda_i u_i` for the 0/1 weights A of the graph, and c
    brings the mean of k(x, x) over the points to 1. Points are near in its feature space if many
    short paths lead from one to the other. Made by `from_points`.

    At a new point each function is the mean over the points that it would be linked to, divided
    by 1 - lambda_i (the Nystroem extension; zero from 1 - lambda_i < 0.1 on).

    Parameters
    ----------
    points, vectors, eigenvalues, spectrum, n_neighbors, radii, degrees
        As in `SpectralKernel`, with the u_i as vectors.

    Examples
    --------
    >>> import numpy as np
    >>> from pliant.kernels import NeighborGraphKernel
    >>> X = np.random.default_rng(0).normal(size=(50, 2))
    >>> kernel = NeighborGraphKernel.from_points(X)
    >>> round(float(kernel.diag(X).mean()), 6)
    1.0
    """

    @classmethod
    def from_points(
        cls,
        X: npt.ArrayLike,
        n_neighbors: int = 5,
        n_components: int = 100,
        epsilon: float = 0.01,
    ) -> Self:
        """Return the kernel of the graph of some points. O(n^2 d), and O(n^3) for small n.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Equal points count once.
        n_neighbors : int, default=5
            Points are linked if one is among so many nearest of the other.
        n_components : int, default=100
            At most so many functions, the smoothest ones.
        epsilon : float, default=0.01
            > 0: eigenvalues much smaller than it count alike.

        Raises
        ------
        ValueError
            If there are not more than `n_neighbors` distinct points.
        """
        points = check_points(X)
        k = check_integer("n_neighbors", n_neighbors, least=1)
        count = check_integer("n_components", n_components, least=1)
        points = points[np.unique(CoordinateNeighbors(points).twins(points))]
        if len(points) <= k:
            raise ValueError(
                f"expected more than n_neighbors = {k} distinct points, got {len(points)}"
            )
        graph = NeighborGraph(points, k)
        # one component: its null vector is the constant function, which tells nothing
        found = graph.smoothest(count, drop_null=graph.n_components == 1)
        vectors = found.vectors / np.sqrt(graph.degrees)[:, None]
        spectrum = 1.0 / (check_real("epsilon", epsilon, above=0) + found.values)
        spectrum *= len(points) / float((vectors * vectors).sum(axis=0) @ spectrum)
        return cls(points, vectors, found.values, spectrum, k, graph.radii, graph.degrees)

    def _extended(self, X: Array) -> Array:
        """Return u_i at new points."""
        points = check_points(self.points, "points")
        linked = links(X, points, np.asarray(self.radii), self.n_neighbors)
        means = (linked @ np.asarray(self.vectors)) / linked.sum(axis=1)[:, None]
        return np.asarray(means * self._gains())
