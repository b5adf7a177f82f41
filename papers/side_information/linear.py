"""Linear embeddings of scikit-learn: PCA, linear discriminants, neighbourhood components."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.exceptions import ConvergenceWarning
from sklearn.neighbors import NeighborhoodComponentsAnalysis

from papers.side_information.contestant import Contestant, Variants
from papers.side_information.peer import (
    DIMENSIONS,
    Mapped,
    Peer,
    neighbour_accuracy,
    variant,
)
from papers.side_information.protocol import SideProtocol, SideSample
from pliant.core.typing import Array, Indices

__all__ = ["AllFeatures", "Discriminants", "NeighbourhoodComponents", "PrincipalComponents"]


@dataclass(frozen=True)
class AllFeatures(Contestant):
    """No embedding: what neighbours in all features know."""

    name: str = "features"
    title: str = "All features"

    def measure(self, sample: SideSample, protocol: SideProtocol, seed: int) -> Variants:
        """Judge the features themselves, whatever the number of dimensions."""
        test = neighbour_accuracy((sample.X, sample.X_test), sample.y, sample.y_test)
        return {variant(d): {"test": test, "kernel_seconds": 0.0} for d in DIMENSIONS}

    def words(self) -> str:
        """Say that it is no embedding."""
        return "no embedding, for comparison: neighbours in the features themselves, not ranked"


@dataclass(frozen=True)
class PrincipalComponents(Peer):
    """PCA."""

    name: str = "pca"
    title: str = "PCA"

    def settings(self) -> list[dict[str, Any]]:
        """Return whether the coordinates are brought to the same variance."""
        return [{"whiten": False}, {"whiten": True}]

    def coordinates(
        self, X: Array, y: Indices, new: Array, settings: Sequence[dict[str, Any]], dimension: int
    ) -> Iterator[Mapped]:
        """Map by the leading directions."""
        for setting in settings:
            found = PCA(dimension, svd_solver="full", **setting).fit(X)
            yield found.transform(X), found.transform(new)

    def words(self) -> str:
        """Say what is chosen."""
        return "scikit-learn's PCA, whitened or not"


@dataclass(frozen=True)
class Discriminants(Peer):
    """Linear discriminant analysis with a shrunk within-class covariance.

    Attributes
    ----------
    shrinkages : tuple of float
    """

    shrinkages: tuple[float, ...] = (1e-4, 1e-3, 1e-2, 0.03, 0.1, 0.3, 0.6, 0.8, 0.9)
    name: str = "lda"
    title: str = "LDA"

    def settings(self) -> list[dict[str, Any]]:
        """Return the shrinkages."""
        return [{"shrinkage": value} for value in self.shrinkages]

    def coordinates(
        self, X: Array, y: Indices, new: Array, settings: Sequence[dict[str, Any]], dimension: int
    ) -> Iterator[Mapped]:
        """Map by the leading discriminants; there is one less than there are classes."""
        for setting in settings:
            found = LinearDiscriminantAnalysis("eigen", **setting, n_components=dimension)
            found.fit(X, y)
            yield found.transform(X), found.transform(new)

    def words(self) -> str:
        """Say what is chosen."""
        return (
            "scikit-learn's LinearDiscriminantAnalysis, "
            f"{len(self.shrinkages)} shrinkages from {min(self.shrinkages):g} to "
            f"{max(self.shrinkages):g}"
        )


@dataclass(frozen=True)
class NeighbourhoodComponents(Peer):
    """Neighbourhood components analysis, learned anew for each number of dimensions.

    Attributes
    ----------
    starts : tuple of str
        Of the search.
    components : int
        Of PCA, in front of it.
    max_iter : int
        Of L-BFGS.
    """

    nested: ClassVar[bool] = False
    starts: tuple[str, ...] = ("pca", "lda")
    rounds: tuple[int, ...] = (20, 60)
    components: int = 50
    name: str = "nca"
    title: str = "NCA"

    def settings(self) -> list[dict[str, Any]]:
        """Return the starts and how long the search goes on."""
        return [
            {"init": start, "max_iter": rounds} for start in self.starts for rounds in self.rounds
        ]

    def coordinates(
        self, X: Array, y: Indices, new: Array, settings: Sequence[dict[str, Any]], dimension: int
    ) -> Iterator[Mapped]:
        """Map by the learned directions, after PCA has cut the features to some components."""
        first = PCA(min(self.components, X.shape[1]), svd_solver="full").fit(X)
        Z = first.transform(X)
        for setting in settings:
            found = NeighborhoodComponentsAnalysis(dimension, **setting, random_state=0)
            with warnings.catch_warnings():  # a few rounds are one of the settings
                warnings.simplefilter("ignore", ConvergenceWarning)
                found.fit(Z, y)
            yield found.transform(Z), found.transform(first.transform(new))

    def words(self) -> str:
        """Say what is chosen."""
        return (
            f"scikit-learn's NeighborhoodComponentsAnalysis after PCA to {self.components} "
            f"components at most; started from {' or '.join(self.starts)}, "
            f"{' or '.join(map(str, self.rounds))} rounds at most"
        )
