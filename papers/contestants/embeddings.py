"""Embeddings of held-out points in a few dimensions, judged by their nearest neighbours."""

from __future__ import annotations

import time
import warnings
from itertools import product
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import scipy.linalg
import scipy.optimize
import scipy.sparse
from scipy.sparse.csgraph import minimum_spanning_tree
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import euclidean_distances, rbf_kernel
from sklearn.neighbors import KNeighborsClassifier, NearestNeighbors, NeighborhoodComponentsAnalysis

from papers.contestants.tuned import Setting
from papers.sample import Protocol, Sample, typical_gamma
from papers.study import Contestant, Needed, Record, Variants
from pliant import KernelEmbedding, SCGLogDetLearner
from pliant.core.typing import Array, Indices

DIMENSIONS = (2, 9)

NEIGHBOURS = 5

Mapped: TypeAlias = tuple[Array, Array]
"""The coordinates of the training points, and of new points."""


class Half(NamedTuple):
    """Points to learn from, with their classes, and new points."""

    X: Array
    y: Indices
    new: Array


def variant(dimension: int) -> str:
    """Return the name of what is measured in this number of dimensions."""
    return f"{dimension}-D"


def neighbour_accuracy(mapped: Mapped, y: Indices, y_new: Indices) -> float:
    """Return the share of new points that their 5 nearest neighbours classify correctly."""
    model = KNeighborsClassifier(NEIGHBOURS).fit(mapped[0], y)
    return float(np.mean(model.predict(mapped[1]) == y_new))


class Embedding(Contestant):
    """An embedding that chooses its own parameters by cross-validation on the training half."""

    folds: int = 3

    def coordinates(self, half: Half, setting: Setting, dimension: int) -> Mapped:
        """Map both kinds of points to at most this number of dimensions."""
        raise NotImplementedError

    def measure(self, sample: Sample, protocol: Protocol, repeat: int, needed: Needed) -> Variants:
        """Judge the chosen setting on the test half, in each number of dimensions."""
        seed = protocol.first_seed + repeat
        return {variant(d): self._in_dimensions(sample, d, seed) for d in DIMENSIONS}

    def _in_dimensions(self, sample: Sample, dimension: int, seed: int) -> Record:
        X, y = sample.X, sample.y
        settings = [dict(zip(self.grid, v, strict=True)) for v in product(*self.grid.values())]
        scores = np.zeros(len(settings))
        for rows, held in sample.labelled_folds(self.folds, seed):
            for k, setting in enumerate(settings):
                half = Half(X[rows], y[rows], X[held])
                mapped = self.coordinates(half, setting, dimension)
                scores[k] += neighbour_accuracy(mapped, y[rows], y[held])
        setting = settings[int(np.argmax(scores.round(12)))]
        began = time.process_time()
        mapped = self.coordinates(Half(X, y, sample.X_test), setting, dimension)
        seconds = time.process_time() - began
        test = neighbour_accuracy(mapped, y, sample.y_test)
        return {**setting, "test": test, "kernel_seconds": seconds}


class Embedded(Contestant):
    """Centred kernel PCA of SCG-LDK; it chooses strength and beta itself."""

    kernel: str | None = None
    """What SCG-LDK adapts; None leaves that to the choice as well."""

    def measure(self, sample: Sample, protocol: Protocol, repeat: int, needed: Needed) -> Variants:
        """Judge it on the test half, in each number of dimensions."""
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


class AllFeatures(Embedding):
    """No embedding: what neighbours in all features know."""

    def coordinates(self, half: Half, setting: Setting, dimension: int) -> Mapped:
        return half.X, half.new


class PrincipalComponents(Embedding):
    """PCA, its coordinates brought to the same variance or not."""

    def coordinates(self, half: Half, setting: Setting, dimension: int) -> Mapped:
        embedding = PCA(dimension, svd_solver="full", **setting).fit(half.X)
        return embedding.transform(half.X), embedding.transform(half.new)


class Discriminants(Embedding):
    """Linear discriminant analysis with a shrunk within-class covariance."""

    def coordinates(self, half: Half, setting: Setting, dimension: int) -> Mapped:
        embedding = LinearDiscriminantAnalysis("eigen", **setting, n_components=dimension)
        embedding.fit(half.X, half.y)
        return embedding.transform(half.X), embedding.transform(half.new)


class NeighbourhoodComponents(Embedding):
    """Neighbourhood components analysis, after PCA has cut the features to some components."""

    components: int

    def coordinates(self, half: Half, setting: Setting, dimension: int) -> Mapped:
        first = PCA(min(self.components, half.X.shape[1]), svd_solver="full").fit(half.X)
        Z = first.transform(half.X)
        embedding = NeighborhoodComponentsAnalysis(dimension, **setting, random_state=0)
        with warnings.catch_warnings():  # a few rounds are one of the settings
            warnings.simplefilter("ignore", ConvergenceWarning)
            embedding.fit(Z, half.y)
        return embedding.transform(Z), embedding.transform(first.transform(half.new))


def centred(X: Array, new: Array, gamma: float) -> Mapped:
    """Return the Gaussian Gram matrices of X, and of new points against X, centred by X."""
    gram, cross = rbf_kernel(X, gamma=gamma), rbf_kernel(new, X, gamma=gamma)
    means = gram.mean(axis=0)
    shift = means - means.mean()
    return gram - means[:, None] - shift, cross - cross.mean(axis=1, keepdims=True) - shift


def spectrum(gram: Array, most: int | None = None) -> tuple[Array, Array]:
    """Return the leading eigenvalues, falling, and eigenvectors; those near zero are left out."""
    n = len(gram)
    part = None if most is None else (n - most, n - 1)
    values, vectors = scipy.linalg.eigh(gram, subset_by_index=part)
    kept = values > 1e-10 * values[-1]
    return values[kept][::-1], vectors[:, kept][:, ::-1]


class KernelPrincipalComponents(Embedding):
    """Kernel PCA; gamma is 2**power / m, m the median squared distance."""

    def coordinates(self, half: Half, setting: Setting, dimension: int) -> Mapped:
        gamma = typical_gamma(half.X, most=1000) * 2.0 ** setting["power"]
        gram, cross = centred(half.X, half.new, gamma)
        values, vectors = spectrum(gram, dimension)
        directions = vectors / np.sqrt(values)
        return gram @ directions, cross @ directions


class KernelFisher(Embedding):
    """Kernel Fisher discriminants with a Gaussian kernel; gamma likewise."""

    def coordinates(self, half: Half, setting: Setting, dimension: int) -> Mapped:
        """Map by the leading discriminants.

        The directions w maximise w'BB'w / w'(F'F - BB' + n ridge I)w for centred features F. B
        holds the class sums over the roots of the class sizes, so that F'F - BB' is the scatter
        within classes, and F'F = diag(values): the problem has the size of the number of classes.
        The coordinates have unit variance within classes, and the ridge counts as variance.
        """
        gamma = typical_gamma(half.X, most=1000) * 2.0 ** setting["power"]
        gram, cross = centred(half.X, half.new, gamma)
        values, vectors = spectrum(gram)
        F, F_new = vectors * np.sqrt(values), cross @ (vectors / np.sqrt(values))
        n, classes = len(half.y), np.eye(half.y.max() + 1)[half.y]
        B = F.T @ (classes / np.sqrt(np.maximum(classes.sum(axis=0), 1.0)))
        scaled = B / (values + n * setting["ridge"])[:, None]
        shares, mixing = np.linalg.eigh(B.T @ scaled)
        shares, mixing = shares[::-1][:dimension], mixing[:, ::-1][:, :dimension]
        kept = shares > 1e-10
        spread = np.sqrt(shares * np.maximum(1.0 - shares, 1e-12) / n)
        W = scaled @ (mixing[:, kept] / spread[kept])
        return F @ W, F_new @ W


class Eigenmaps(Embedding):
    """Laplacian eigenmaps on the graph of nearest neighbours, with Nystroem's extension."""

    def coordinates(self, half: Half, setting: Setting, dimension: int) -> Mapped:
        """Map by the leading eigenfunctions of the random walk but the constant one."""
        A = (
            NearestNeighbors()
            .fit(half.X)
            .kneighbors_graph(n_neighbors=setting["neighbours"])
            .toarray()
        )
        distances = euclidean_distances(half.new, half.X)
        return smooth_functions(np.maximum(A, A.T), distances, setting["neighbours"], dimension)


def smooth_functions(graph: Array, cross: Array, neighbours: int, count: int) -> Mapped:
    """Return the smoothest functions on a graph but the constant one, at its points and at others.

    They are eigenfunctions of the random walk. At a new point each is its mean over the nearest
    neighbours, divided by the eigenvalue; `cross` has the distances of new points to those of the
    graph.
    """
    root = np.sqrt(graph.sum(axis=1))
    values, vectors = spectrum(graph / np.outer(root, root), min(count + 1, len(graph)))
    functions = vectors[:, 1:] / root[:, None]
    near = np.argpartition(cross, neighbours - 1, axis=1)[:, :neighbours]
    return functions, functions[near].mean(axis=1) / values[1:]


class ColouredUnfolding(Embedding):
    """Coloured maximum variance unfolding (Song, Smola, Borgwardt and Gretton, NIPS 2007).

    It looks for the kernel matrix that depends most on the labels, by the Hilbert-Schmidt
    independence criterion, among those that keep the distances between neighbours:

        max_K  tr(K H L H) / n^2 - (nu / |E|) sum_{(i, j) in E} (K_ii + K_jj - 2 K_ij - d_ij^2)^2

    over positive semi-definite K, with L_ij = 1 for points of the same class and else 0,
    H = I - 11'/n, and d_ij^2 in units of their mean. The authors' restriction K = V A V' to r
    smooth functions V on the graph of neighbours leaves a semidefinite program in the (r, r)
    matrix A. With A = B B', B square, every local minimum over B is a solution, so that L-BFGS
    solves it.
    """

    n_functions: int

    def coordinates(self, half: Half, setting: Setting, dimension: int) -> Mapped:
        """Map by the principal components of the kernel matrix."""
        own, k = euclidean_distances(half.X), setting["neighbours"]
        graph = linked(own, k)
        V, V_new = smooth_functions(
            graph, euclidean_distances(half.new, half.X), k, self.n_functions
        )
        scale, mean = np.sqrt((V**2).mean(axis=0)), V.mean(axis=0)
        V, V_new = (V - mean) / scale, (V_new - mean) / scale
        B = unfold(V, half.y, *edges_of(graph, own), setting["penalty"])
        axes = np.linalg.svd(V @ B, full_matrices=False)[2][:dimension].T
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
    """Return the edges i < j, shape (m, 2), and their squared lengths in units of the mean."""
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


def unfolded(X: Array, y: Indices, new: Array, **setting: Any) -> Mapped:
    """Return points and new points in two dimensions of coloured unfolding."""
    who = ColouredUnfolding("cmvu", n_functions=20)
    return who.coordinates(Half(X, y, new), setting, 2)
