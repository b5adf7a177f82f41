"""Embeddings of held-out points in a few dimensions, judged by their nearest neighbours."""

from __future__ import annotations

import time
import warnings
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, ClassVar, TypeAlias

import numpy as np
import scipy.linalg
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import euclidean_distances, rbf_kernel
from sklearn.neighbors import KNeighborsClassifier, NearestNeighbors, NeighborhoodComponentsAnalysis

from papers.contestants.learned_kernels import POWERS, Divided, best
from papers.sample import Sample, typical_gamma
from papers.study import Contestant, Variants
from pliant import KernelEmbedding, SCGLogDetLearner
from pliant.core.typing import Array, Indices

DIMENSIONS = (2, 9)

NEIGHBOURS = 5

Mapped: TypeAlias = tuple[Array, Array]
"""The coordinates of the training points, and of new points."""

Settings: TypeAlias = Sequence[dict[str, Any]]


def variant(dimension: int) -> str:
    """Return the name of what is measured in this number of dimensions."""
    return f"{dimension}-D"


def neighbour_accuracy(mapped: Mapped, y: Indices, y_new: Indices) -> float:
    """Return the share of new points that their 5 nearest neighbours classify correctly."""
    model = KNeighborsClassifier(NEIGHBOURS).fit(mapped[0], y)
    return float(np.mean(model.predict(mapped[1]) == y_new))


class Embedding(Contestant):
    """An embedding that chooses its own parameters by cross-validation on the training half."""

    nested: ClassVar[bool] = True
    """Whether fewer coordinates are the first of more; else each number is learned again."""
    folds: int = 3

    @abstractmethod
    def settings(self) -> list[dict[str, Any]]:
        """Return the parameters that are tried."""

    @abstractmethod
    def coordinates(
        self, X: Array, y: Indices, new: Array, settings: Settings, dimension: int
    ) -> Iterator[Mapped]:
        """Learn from X and y, with each of the settings in turn; map X and new points."""

    def measure(self, sample: Sample, protocol: Divided, repeat: int, needed: Any) -> Variants:
        """Judge the chosen setting on the test half, in each number of dimensions."""
        scores = self._validate(sample, protocol.first_seed + repeat)
        variants = {}
        for dimension in DIMENSIONS:
            chosen = best(self.settings(), list(scores[dimension]))
            setting = {key: value for key, value in chosen.items() if key != "validation"}
            began = time.process_time()
            (mapped,) = self.coordinates(sample.X, sample.y, sample.X_test, [setting], dimension)
            seconds = time.process_time() - began
            test = neighbour_accuracy(_cut(mapped, dimension), sample.y, sample.y_test)
            variants[variant(dimension)] = {**chosen, "test": test, "kernel_seconds": seconds}
        return variants

    def _validate(self, sample: Sample, seed: int) -> dict[int, Array]:
        """Return the accuracy of each setting, in each number of dimensions."""
        scores = {dimension: np.zeros(len(self.settings())) for dimension in DIMENSIONS}
        for rows, held in sample.labelled_folds(self.folds, seed):
            for dimension, k, mapped in self._embeddings(sample, rows, held):
                right = neighbour_accuracy(mapped, sample.y[rows], sample.y[held])
                scores[dimension][k] += right / self.folds
        return scores

    def _embeddings(
        self, sample: Sample, rows: Indices, held: Indices
    ) -> Iterator[tuple[int, int, Mapped]]:
        """Yield (dimension, number of the setting, coordinates) of one fold."""
        learnt = (sample.X[rows], sample.y[rows], sample.X[held], self.settings())
        groups = [DIMENSIONS] if self.nested else [(dimension,) for dimension in DIMENSIONS]
        for group in groups:
            for k, mapped in enumerate(self.coordinates(*learnt, max(group))):
                for dimension in group:
                    yield dimension, k, _cut(mapped, dimension)


def _cut(mapped: Mapped, dimension: int) -> Mapped:
    return mapped[0][:, :dimension], mapped[1][:, :dimension]


@dataclass(frozen=True)
class Embedded(Contestant):
    """Centred kernel PCA of SCG-LDK; it chooses strength and beta itself."""

    kernel: str | None = None
    """What SCG-LDK adapts; None leaves that to the choice as well."""
    name: str = "scg-ldk"
    title: str = "KernelEmbedding"

    @property
    def kind(self) -> str:
        return f"Embedded, {self.kernel}"

    def measure(self, sample: Sample, protocol: Divided, repeat: int, needed: Any) -> Variants:
        """Judge it on the test half, in each number of dimensions."""
        seed = protocol.first_seed + repeat
        return {variant(d): self._in_dimensions(sample, d, seed) for d in DIMENSIONS}

    def _in_dimensions(self, sample: Sample, dimension: int, seed: int) -> dict[str, float | str]:
        learner = None if self.kernel is None else SCGLogDetLearner(self.kernel)
        embedding = KernelEmbedding(learner, n_components=dimension, random_state=seed)
        began = time.process_time()
        embedding.fit(sample.X, sample.y)
        seconds = time.process_time() - began
        mapped = embedding.transform(sample.X), embedding.transform(sample.X_test)
        return {
            "kernel": str(embedding.learner_.kernel),
            "strength": float(embedding.strength_),
            "beta": float(embedding.beta_),
            "validation": float(max(embedding.choice_scores_.values())),
            "test": neighbour_accuracy(mapped, sample.y, sample.y_test),
            "kernel_seconds": seconds,
        }


@dataclass(frozen=True)
class AllFeatures(Contestant):
    """No embedding: what neighbours in all features know."""

    name: str = "features"
    title: str = "All features"

    def measure(self, sample: Sample, protocol: Divided, repeat: int, needed: Any) -> Variants:
        """Judge the features themselves, whatever the number of dimensions."""
        test = neighbour_accuracy((sample.X, sample.X_test), sample.y, sample.y_test)
        return {variant(d): {"test": test, "kernel_seconds": 0.0} for d in DIMENSIONS}


@dataclass(frozen=True)
class PrincipalComponents(Embedding):
    """PCA, its coordinates brought to the same variance or not."""

    name: str = "pca"
    title: str = "PCA"

    def settings(self) -> list[dict[str, Any]]:
        return [{"whiten": False}, {"whiten": True}]

    def coordinates(
        self, X: Array, y: Indices, new: Array, settings: Settings, dimension: int
    ) -> Iterator[Mapped]:
        """Map by the leading directions."""
        for setting in settings:
            embedding = PCA(dimension, svd_solver="full", **setting).fit(X)
            yield embedding.transform(X), embedding.transform(new)


@dataclass(frozen=True)
class Discriminants(Embedding):
    """Linear discriminant analysis with a shrunk within-class covariance."""

    shrinkages: tuple[float, ...] = (1e-4, 1e-3, 1e-2, 0.03, 0.1, 0.3, 0.6, 0.8, 0.9)
    name: str = "lda"
    title: str = "LDA"

    def settings(self) -> list[dict[str, Any]]:
        return [{"shrinkage": value} for value in self.shrinkages]

    def coordinates(
        self, X: Array, y: Indices, new: Array, settings: Settings, dimension: int
    ) -> Iterator[Mapped]:
        """Map by the leading discriminants; there is one less than there are classes."""
        for setting in settings:
            embedding = LinearDiscriminantAnalysis("eigen", **setting, n_components=dimension)
            embedding.fit(X, y)
            yield embedding.transform(X), embedding.transform(new)


@dataclass(frozen=True)
class NeighbourhoodComponents(Embedding):
    """Neighbourhood components analysis, learned again for each number of dimensions."""

    nested: ClassVar[bool] = False
    starts: tuple[str, ...] = ("pca", "lda")
    """Of the search."""
    rounds: tuple[int, ...] = (20, 60)
    """Limits of L-BFGS."""
    components: int = 50
    """Of PCA, in front of it."""
    name: str = "nca"
    title: str = "NCA"

    def settings(self) -> list[dict[str, Any]]:
        return [{"init": s, "max_iter": k} for s, k in product(self.starts, self.rounds)]

    def coordinates(
        self, X: Array, y: Indices, new: Array, settings: Settings, dimension: int
    ) -> Iterator[Mapped]:
        """Map by the learned directions, after PCA has cut the features to some components."""
        first = PCA(min(self.components, X.shape[1]), svd_solver="full").fit(X)
        Z = first.transform(X)
        for setting in settings:
            embedding = NeighborhoodComponentsAnalysis(dimension, **setting, random_state=0)
            with warnings.catch_warnings():  # a few rounds are one of the settings
                warnings.simplefilter("ignore", ConvergenceWarning)
                embedding.fit(Z, y)
            yield embedding.transform(Z), embedding.transform(first.transform(new))


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


@dataclass(frozen=True)
class KernelPrincipalComponents(Embedding):
    """Kernel PCA; gamma runs over 2**p / m, m the median squared distance."""

    powers: tuple[int, ...] = POWERS
    name: str = "kernel-pca"
    title: str = "Kernel PCA"

    def settings(self) -> list[dict[str, Any]]:
        return [{"power": p} for p in self.powers]

    def coordinates(
        self, X: Array, y: Indices, new: Array, settings: Settings, dimension: int
    ) -> Iterator[Mapped]:
        """Map by the leading eigenvectors of the centred Gram matrix."""
        for setting in settings:
            gram, cross = centred(X, new, typical_gamma(X) * 2.0 ** setting["power"])
            values, vectors = spectrum(gram, dimension)
            directions = vectors / np.sqrt(values)
            yield gram @ directions, cross @ directions


@dataclass(frozen=True)
class KernelFisher(Embedding):
    """Kernel Fisher discriminants with a Gaussian kernel."""

    powers: tuple[int, ...] = (-4, -3, -2, -1, 0, 1, 2, 3, 4)
    """gamma runs over 2**p / m, m the median squared distance."""
    ridges: tuple[float, ...] = (1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1)
    """Added to the within-class covariance."""
    name: str = "kernel-fisher"
    title: str = "Kernel Fisher"

    def settings(self) -> list[dict[str, Any]]:
        """Return widths and ridges; those of the same width follow each other."""
        return [{"power": p, "ridge": r} for p, r in product(self.powers, self.ridges)]

    def coordinates(
        self, X: Array, y: Indices, new: Array, settings: Settings, dimension: int
    ) -> Iterator[Mapped]:
        """Map by the leading discriminants; one eigendecomposition a width."""
        power = None
        for setting in settings:
            if setting["power"] != power:
                power = setting["power"]
                gram, cross = centred(X, new, typical_gamma(X) * 2.0**power)
                values, vectors = spectrum(gram)
                F = vectors * np.sqrt(values)
                F_new = cross @ (vectors / np.sqrt(values))
            W = fisher(F, values, y, setting["ridge"], dimension)
            yield F @ W, F_new @ W


def fisher(F: Array, values: Array, y: Indices, ridge: float, dimension: int) -> Array:
    """Return the directions of max w'BB'w / w'(F'F - BB' + n ridge I)w for centred features F.

    B holds the class sums over the roots of the class sizes, so that F'F - BB' is the scatter
    within classes, and F'F = diag(values). In that basis the problem has the size of the number of
    classes. The coordinates have unit variance within classes, and the ridge counts as variance.
    """
    n = len(y)
    classes = np.eye(y.max() + 1)[y]
    B = F.T @ (classes / np.sqrt(np.maximum(classes.sum(axis=0), 1.0)))
    scaled = B / (values + n * ridge)[:, None]
    shares, mixing = np.linalg.eigh(B.T @ scaled)
    shares, mixing = shares[::-1][:dimension], mixing[:, ::-1][:, :dimension]
    kept = shares > 1e-10
    spread = np.sqrt(shares * np.maximum(1.0 - shares, 1e-12) / n)
    return scaled @ (mixing[:, kept] / spread[kept])


@dataclass(frozen=True)
class Eigenmaps(Embedding):
    """Laplacian eigenmaps on the graph of nearest neighbours, with Nystroem's extension."""

    neighbours: tuple[int, ...] = (3, 4, 5, 7, 10, 15, 20, 30, 50)
    name: str = "eigenmaps"
    title: str = "Laplacian eigenmaps"

    def settings(self) -> list[dict[str, Any]]:
        return [{"neighbours": k} for k in self.neighbours]

    def coordinates(
        self, X: Array, y: Indices, new: Array, settings: Settings, dimension: int
    ) -> Iterator[Mapped]:
        """Map by the leading eigenfunctions of the random walk but the constant one.

        A new point gets the mean over its neighbours, divided by the eigenvalue.
        """
        search = NearestNeighbors().fit(X)
        distances = euclidean_distances(new, X)
        for setting in settings:
            k = setting["neighbours"]
            A = search.kneighbors_graph(n_neighbors=k).toarray()
            A = np.maximum(A, A.T)
            root = np.sqrt(A.sum(axis=1))
            values, vectors = spectrum(A / np.outer(root, root), dimension + 1)
            f = vectors[:, 1:] / root[:, None]
            near = np.argpartition(distances, k - 1, axis=1)[:, :k]
            yield f, f[near].mean(axis=1) / values[1:]
