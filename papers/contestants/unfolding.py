"""Coloured maximum variance unfolding (Song, Smola, Borgwardt and Gretton, NIPS 2007).

It looks for the kernel matrix that depends most on the labels, by the Hilbert-Schmidt independence
criterion, among those that keep the distances between neighbours:

    max_K  tr(K H L H) / n^2 - (nu / |E|) sum_{(i, j) in E} (K_ii + K_jj - 2 K_ij - d_ij^2)^2

over positive semi-definite K, with L_ij = 1 for points of the same class and else 0, H = I - 11'/n,
and d_ij^2 in units of their mean. Equal distances are asked for by the penalty, as in the authors'
own solver. Their restriction K = V A V' to r smooth functions V on the graph of neighbours leaves a
semidefinite program in the (r, r) matrix A. With A = B B', B square, every local minimum over B is
a solution, so that L-BFGS solves it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import scipy.optimize
import scipy.sparse
from scipy.sparse.csgraph import minimum_spanning_tree
from sklearn.metrics.pairwise import euclidean_distances

from papers.contestants.embeddings import Embedding, Mapped, Settings, spectrum
from pliant.core.typing import Array, Indices


@dataclass(frozen=True)
class ColouredUnfolding(Embedding):
    """CMVU on the smoothest functions of a graph; new points by Nystroem's extension of these."""

    neighbours: tuple[int, ...] = (5, 10)
    penalties: tuple[float, ...] = (1.0, 10.0, 100.0)
    n_functions: int = 20
    name: str = "cmvu"
    title: str = "Coloured MVU"

    def settings(self) -> list[dict[str, Any]]:
        return [
            {"neighbours": k, "penalty": penalty}
            for k, penalty in product(self.neighbours, self.penalties)
        ]

    def coordinates(
        self, X: Array, y: Indices, new: Array, settings: Settings, dimension: int
    ) -> Iterator[Mapped]:
        """Map by the principal components of the kernel matrix."""
        own, cross = euclidean_distances(X), euclidean_distances(new, X)
        for setting in settings:
            graph = linked(own, setting["neighbours"])
            V, V_new = smooth_functions(graph, cross, setting["neighbours"], self.n_functions)
            B = unfold(V, y, *edges_of(graph, own), setting["penalty"])
            mean = V.mean(axis=0)
            axes = np.linalg.svd((V - mean) @ B, full_matrices=False)[2][:dimension].T
            yield (V - mean) @ B @ axes, (V_new - mean) @ B @ axes


def linked(distances: Array, neighbours: int) -> Array:
    """Return the 0/1 graph of nearest neighbours, connected by a minimum spanning tree."""
    n = len(distances)
    near = np.argpartition(distances + np.diag(np.full(n, np.inf)), neighbours - 1, axis=1)
    graph = np.zeros((n, n))
    graph[np.repeat(np.arange(n), neighbours), near[:, :neighbours].ravel()] = 1.0
    tree = minimum_spanning_tree(scipy.sparse.csr_array(distances + 1e-12 * distances.max()))
    graph[tree.nonzero()] = 1.0
    return np.maximum(graph, graph.T)


def edges_of(graph: Array, distances: Array) -> tuple[Indices, Array]:
    """Return the edges i < j, shape (m, 2), and their squared lengths in units of the mean."""
    edges = np.argwhere(np.triu(graph, 1) > 0.0)
    squares = distances[tuple(edges.T)] ** 2
    return edges, squares / squares.mean()


def smooth_functions(
    graph: Array, cross: Array, neighbours: int, count: int
) -> tuple[Array, Array]:
    """Return the smoothest functions on a graph but the constant one, at its points and at others.

    They are eigenfunctions of the random walk, of mean square 1. At a new point each is its mean
    over the nearest neighbours, divided by the eigenvalue. `cross` has the distances of new points
    to those of the graph.
    """
    root = np.sqrt(graph.sum(axis=1))
    values, vectors = spectrum(graph / np.outer(root, root), min(count + 1, len(graph)))
    functions = vectors[:, 1:] / root[:, None]
    functions /= np.sqrt((functions**2).mean(axis=0))
    near = np.argpartition(cross, neighbours - 1, axis=1)[:, :neighbours]
    return functions, functions[near].mean(axis=1) / values[1:]


def unfold(V: Array, y: Indices, edges: Indices, squares: Array, penalty: float) -> Array:
    """Return B, shape (r, r), for the optimal K = V B B' V'."""
    n, r = V.shape
    members = np.equal.outer(np.unique(y), y).astype(float)
    sums = members @ (V - V.mean(axis=0)) / n
    colour = sums.T @ sums  # V' H L H V / n^2, as L is the sum of the classes' 1_c 1_c'
    steps = V[edges[:, 0]] - V[edges[:, 1]]

    def loss(flat: Array) -> tuple[float, Array]:
        B = flat.reshape(r, r)
        moved = steps @ B
        excess = (moved**2).sum(axis=1) - squares
        value = penalty * np.mean(excess**2) - np.vdot(B, colour @ B)
        slope = 4.0 * penalty / len(edges) * (steps.T @ (excess[:, None] * moved))
        return float(value), (slope - 2.0 * colour @ B).ravel()

    start = np.eye(r) * np.sqrt(squares.mean() / (steps**2).sum(axis=1).mean())
    optimum = scipy.optimize.minimize(
        loss, start.ravel(), jac=True, method="L-BFGS-B",
        options={"maxiter": 5000, "maxfun": 10_000, "ftol": 1e-13, "gtol": 1e-9, "maxcor": 30},
    )  # fmt: skip
    return np.asarray(optimum.x.reshape(r, r))
