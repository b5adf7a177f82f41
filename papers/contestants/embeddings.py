"""Embeddings of held-out points in a few dimensions, scored by nearest neighbours."""

from __future__ import annotations

import time
from typing import TypeAlias

import numpy as np
import scipy.linalg
import scipy.optimize
import scipy.sparse
from scipy.sparse.csgraph import minimum_spanning_tree
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.neighbors import KNeighborsClassifier, NearestNeighbors

from papers.sample import Protocol, Sample
from papers.study import Contestant, Needed, Variants
from pliant import KernelEmbedding, SCGLogDetLearner
from pliant.core.typing import Array, Indices

DIMENSIONS = (2, 9)

NEIGHBOURS = 5

Mapped: TypeAlias = tuple[Array, Array]
"""Coordinates of the training points, and of new points."""


def variant(dimension: int) -> str:
    """Return the name of the variant with this number of dimensions."""
    return f"{dimension}-D"


def neighbour_accuracy(mapped: Mapped, y: Indices, y_new: Indices) -> float:
    """Return the accuracy of the 5 nearest neighbours on new points."""
    model = KNeighborsClassifier(NEIGHBOURS).fit(mapped[0], y)
    return float(np.mean(model.predict(mapped[1]) == y_new))


class Embedded(Contestant):
    """Centred kernel PCA of SCG-LDK, which selects strength and beta."""

    kernel: str | None = None
    """Base kernel of SCG-LDK; None to select it too."""

    def measure(self, sample: Sample, protocol: Protocol, repeat: int, needed: Needed) -> Variants:
        """Score it on the test half, in each number of dimensions."""
        found = {}
        for d in DIMENSIONS:
            learner = None if self.kernel is None else SCGLogDetLearner(self.kernel)
            seed = protocol.first_seed + repeat
            embedding = KernelEmbedding(learner, n_components=d, random_state=seed)
            began = time.process_time()
            embedding.fit(sample.X, sample.y)
            seconds = time.process_time() - began
            mapped = embedding.transform(sample.X), embedding.transform(sample.X_test)
            found[variant(d)] = {
                "kernel": str(embedding.learner_.kernel),
                "strength": float(embedding.strength_),
                "test": neighbour_accuracy(mapped, sample.y, sample.y_test),
                "kernel_seconds": seconds,
            }
        return found


def spectrum(gram: Array, most: int | None = None) -> tuple[Array, Array]:
    """Return the leading eigenvalues in descending order, without zeros, and eigenvectors."""
    n = len(gram)
    part = None if most is None else (n - most, n - 1)
    values, vectors = scipy.linalg.eigh(gram, subset_by_index=part)
    kept = values > 1e-10 * values[-1]
    return values[kept][::-1], vectors[:, kept][:, ::-1]


def eigenmaps(X: Array, new: Array, neighbours: int) -> Mapped:
    """Map by two Laplacian eigenmaps of the neighbour graph, with Nystroem's extension."""
    A = NearestNeighbors().fit(X).kneighbors_graph(n_neighbors=neighbours).toarray()
    return smooth_functions(np.maximum(A, A.T), euclidean_distances(new, X), neighbours, 2)


def smooth_functions(graph: Array, cross: Array, neighbours: int, count: int) -> Mapped:
    """Return the smoothest non-constant functions on a graph, at its points and at others.

    They are eigenfunctions of the random walk. At a new point each is its mean over the nearest
    neighbours, divided by the eigenvalue; `cross` has the distances of new points to the points of
    the graph.
    """
    root = np.sqrt(graph.sum(axis=1))
    values, vectors = spectrum(graph / np.outer(root, root), min(count + 1, len(graph)))
    functions = vectors[:, 1:] / root[:, None]
    near = np.argpartition(cross, neighbours - 1, axis=1)[:, :neighbours]
    return functions, functions[near].mean(axis=1) / values[1:]


def unfolded(
    X: Array, y: Indices, new: Array, neighbours: int, penalty: float, n_functions: int = 20
) -> Mapped:
    """Map to two dimensions by coloured unfolding (Song, Smola, Borgwardt and Gretton, NIPS 2007).

    It finds the kernel matrix with the largest dependence on the labels, by the Hilbert-Schmidt
    independence criterion, among those that keep the distances between neighbours:

        max_K  tr(K H L H) / n^2 - (nu / |E|) sum_{(i, j) in E} (K_ii + K_jj - 2 K_ij - d_ij^2)^2

    over positive semi-definite K, with L_ij = 1 for points of the same class and else 0,
    H = I - 11'/n, and d_ij^2 in units of their mean. The authors' restriction K = V A V' to r
    smooth functions V on the graph of neighbours leaves a semidefinite program in the (r, r)
    matrix A. With A = B B', B square, every local minimum over B is a solution, so L-BFGS
    solves it.
    """
    own = euclidean_distances(X)
    graph = linked(own, neighbours)
    V, V_new = smooth_functions(graph, euclidean_distances(new, X), neighbours, n_functions)
    scale, mean = np.sqrt((V**2).mean(axis=0)), V.mean(axis=0)
    V, V_new = (V - mean) / scale, (V_new - mean) / scale
    B = unfold(V, y, *edges_of(graph, own), penalty)
    axes = np.linalg.svd(V @ B, full_matrices=False)[2][:2].T
    return V @ B @ axes, V_new @ B @ axes


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
    """Return the edges i < j, shape (m, 2), and their squared lengths in units of their mean."""
    edges = np.argwhere(np.triu(graph, 1) > 0.0)
    squares = distances[tuple(edges.T)] ** 2
    return edges, squares / squares.mean()


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
