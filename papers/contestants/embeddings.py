"""Embeddings of held-out points in a few dimensions, scored by nearest neighbours."""

from __future__ import annotations

import time

from sklearn.neighbors import KNeighborsClassifier

from papers.sample import Protocol, Sample
from papers.study import Contestant, Needed, Variants
from pliant import KernelEmbedding, SCGLogDetLearner

DIMENSIONS = (2, 9)

NEIGHBOURS = 5
"""Number of training points that classify a new point."""


def variant(dimension: int) -> str:
    """Return the name of the variant with this number of dimensions."""
    return f"{dimension}-D"


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
            model = KNeighborsClassifier(NEIGHBOURS).fit(embedding.transform(sample.X), sample.y)
            found[variant(d)] = {
                "kernel": str(embedding.learner_.kernel),
                "strength": float(embedding.strength_),
                "test": float(model.score(embedding.transform(sample.X_test), sample.y_test)),
                "kernel_seconds": seconds,
            }
        return found
