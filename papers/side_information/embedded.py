"""KernelEmbedding, as it comes and on a Gaussian kernel."""

from __future__ import annotations

import time
from dataclasses import dataclass

from papers.side_information.contestant import Contestant, Variants
from papers.side_information.peer import DIMENSIONS, neighbour_accuracy, variant
from papers.side_information.protocol import SideProtocol, SideSample
from pliant import KernelEmbedding, SCGLogDetLearner

__all__ = ["Embedded"]


@dataclass(frozen=True)
class Embedded(Contestant):
    """Centred kernel PCA of SCG-LDK; it chooses strength and beta itself.

    Attributes
    ----------
    kernel : str or None
        What SCG-LDK adapts; None leaves that to the choice as well.
    """

    kernel: str | None = None
    name: str = "scg-ldk"
    title: str = "KernelEmbedding"

    def measure(self, sample: SideSample, protocol: SideProtocol, seed: int) -> Variants:
        """Judge it on the test half, in each number of dimensions."""
        return {variant(d): self._in_dimensions(sample, d, seed) for d in DIMENSIONS}

    def _in_dimensions(
        self, sample: SideSample, dimension: int, seed: int
    ) -> dict[str, float | str]:
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

    def words(self) -> str:
        """Say what is chosen."""
        if self.kernel is None:
            return (
                "KernelEmbedding with its defaults: inside fit it chooses whether SCG-LDK adapts a "
                "Gaussian kernel (of its default width) or that of a neighbour graph, its strength "
                "and beta"
            )
        return (
            f"the same of SCGLogDetLearner(kernel={self.kernel!r}), which chooses strength and "
            "beta alone"
        )
