"""OSK and SCG-OSK: kernels on the eigenvectors of a neighbour graph of all points."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from papers.side_information.learned import KernelMachine
from papers.side_information.machine import Fold, Learned
from papers.side_information.protocol import SideProtocol, SideSample
from pliant import OrderSpectralLearner, SideInformation
from pliant.core.typing import Array, Indices
from pliant.kernels import Kernel
from pliant.methods.side_information.osk_problem import (
    OrderCone,
    SpectralAlignment,
    best_vertex,
    graph_losses,
)

__all__ = ["OrderSpectralMachine"]


@dataclass(frozen=True)
class OrderSpectralMachine(KernelMachine):
    """OSK or SCG-OSK; the eigenvectors depend on no label, and all folds share them.

    Attributes
    ----------
    loss : {"alignment", "scg"}
    drop_null : bool
        Whether the constant eigenvectors are left out; the paper keeps them.
    n_neighbors : int
    """

    loss: str = "alignment"
    drop_null: bool = False
    n_neighbors: int = 5
    name: str = "osk"
    title: str = "OSK"

    def candidates(
        self, sample: SideSample, folds: list[Fold], protocol: SideProtocol, seed: int
    ) -> Iterator[tuple[dict[str, Any], Learned]]:
        """Yield the only kernel that is tried."""
        vectors = self._learner(sample).eigenvectors_
        labelled = vectors[sample.labelled]

        def learned(rows: Indices) -> Array:
            weights = self._weights(vectors, sample.partial(rows))
            return np.asarray(len(vectors) * (labelled * weights) @ labelled.T)

        yield {}, learned

    def _weights(self, vectors: Array, partial: Indices) -> Array:
        """Return the weights of the eigenvectors, as the learner chooses them."""
        known = SideInformation.from_labels(partial, unlabeled=-1)
        cone = OrderCone(vectors.shape[1])
        if self.loss == "alignment":
            return SpectralAlignment.of(vectors, known).best(cone)
        return best_vertex(graph_losses(vectors, known.graph("complete")), cone)

    def learn(self, sample: SideSample, setting: dict[str, Any], seed: int) -> Kernel:
        """Return the learned kernel."""
        return self._learner(sample).kernel_

    def _learner(self, sample: SideSample) -> OrderSpectralLearner:
        learner = OrderSpectralLearner(
            self.loss, n_neighbors=self.n_neighbors, drop_null=self.drop_null, unlabeled=-1
        )
        return learner.fit(sample.X, sample.partial(sample.labelled))

    def words(self) -> str:
        """Say what is fixed."""
        null = "without" if self.drop_null else "with"
        return (
            f"OrderSpectralLearner(loss={self.loss!r}) on the 0/1 graph of {self.n_neighbors} "
            f"nearest neighbours of all points, 100 eigenvectors {null} the constant ones of the "
            "graph's components"
        )
