"""Kernel embeddings, written plainly: kernel PCA, kernel Fisher discriminants, eigenmaps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import scipy.linalg
from sklearn.metrics.pairwise import euclidean_distances, rbf_kernel
from sklearn.neighbors import NearestNeighbors

from papers.side_information.peer import Mapped, Peer
from papers.side_information.protocol import typical_gamma
from pliant.core.typing import Array, Indices

__all__ = ["Eigenmaps", "KernelFisher", "KernelPrincipalComponents", "fisher"]


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
class KernelPrincipalComponents(Peer):
    """Kernel PCA with a Gaussian kernel.

    Attributes
    ----------
    powers : tuple of int
        gamma runs over 2**p / m, m the median squared distance.
    """

    powers: tuple[int, ...] = (-6, -4, -2, 0, 2, 4)
    name: str = "kernel-pca"
    title: str = "Kernel PCA"

    def settings(self) -> list[dict[str, Any]]:
        """Return the widths."""
        return [{"power": p} for p in self.powers]

    def coordinates(
        self, X: Array, y: Indices, new: Array, settings: Sequence[dict[str, Any]], dimension: int
    ) -> Iterator[Mapped]:
        """Map by the leading eigenvectors of the centred Gram matrix."""
        for setting in settings:
            gram, cross = centred(X, new, typical_gamma(X) * 2.0 ** setting["power"])
            values, vectors = spectrum(gram, dimension)
            directions = vectors / np.sqrt(values)
            yield gram @ directions, cross @ directions

    def words(self) -> str:
        """Say what is chosen."""
        return f"a Gaussian kernel of {len(self.powers)} widths"


@dataclass(frozen=True)
class KernelFisher(Peer):
    """Kernel Fisher discriminants with a Gaussian kernel and a ridge.

    Attributes
    ----------
    powers : tuple of int
        gamma runs over 2**p / m, m the median squared distance.
    ridges : tuple of float
        Added to the within-class covariance.
    """

    powers: tuple[int, ...] = (-4, -3, -2, -1, 0, 1, 2, 3, 4)
    ridges: tuple[float, ...] = (1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1)
    name: str = "kernel-fisher"
    title: str = "Kernel Fisher"

    def settings(self) -> list[dict[str, Any]]:
        """Return widths and ridges; those of the same width follow each other."""
        return [{"power": p, "ridge": r} for p, r in product(self.powers, self.ridges)]

    def coordinates(
        self, X: Array, y: Indices, new: Array, settings: Sequence[dict[str, Any]], dimension: int
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

    def words(self) -> str:
        """Say what is chosen."""
        return (
            f"Gaussian kernel of {len(self.powers)} widths, {len(self.ridges)} ridges from "
            f"{min(self.ridges):g} to {max(self.ridges):g} on the within-class covariance; it has "
            "no more coordinates than classes less one"
        )


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
class Eigenmaps(Peer):
    """Laplacian eigenmaps on the graph of nearest neighbours, with Nystroem's extension.

    Attributes
    ----------
    neighbours : tuple of int
    """

    neighbours: tuple[int, ...] = (3, 4, 5, 7, 10, 15, 20, 30, 50)
    name: str = "eigenmaps"
    title: str = "Laplacian eigenmaps"

    def settings(self) -> list[dict[str, Any]]:
        """Return the numbers of neighbours."""
        return [{"neighbours": k} for k in self.neighbours]

    def coordinates(
        self, X: Array, y: Indices, new: Array, settings: Sequence[dict[str, Any]], dimension: int
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

    def words(self) -> str:
        """Say what is chosen."""
        return (
            f"0/1 graph of {min(self.neighbours)} to {max(self.neighbours)} nearest neighbours, "
            "normalised; Nystroem's extension"
        )
