"""Embeddings: each peer maps held-out points to a few coordinates, and neighbours judge it."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, TypeAlias

import numpy as np
from sklearn.neighbors import KNeighborsClassifier

from papers.side_information.contestant import Contestant, Variants
from papers.side_information.machine import best
from papers.side_information.protocol import SideProtocol, SideSample
from pliant.core.typing import Array, Indices

__all__ = ["DIMENSIONS", "NEIGHBOURS", "Mapped", "Peer", "neighbour_accuracy", "variant"]

DIMENSIONS = (2, 9)

NEIGHBOURS = 5

Mapped: TypeAlias = tuple[Array, Array]
"""The coordinates of the points learned from, and of new points."""


def variant(dimension: int) -> str:
    """Return the name of what is measured in so many dimensions."""
    return f"{dimension}-D"


def neighbour_accuracy(mapped: Mapped, y: Indices, y_new: Indices) -> float:
    """Return the share of new points that their 5 nearest neighbours classify rightly."""
    machine = KNeighborsClassifier(NEIGHBOURS).fit(mapped[0], y)
    return float(np.mean(machine.predict(mapped[1]) == y_new))


class Peer(Contestant):
    """An embedding that chooses its own parameters by cross-validation on the training half.

    Attributes
    ----------
    nested : bool
        Whether fewer coordinates are the first of more; else each number is learned anew.
    folds : int
    """

    nested: ClassVar[bool] = True
    folds: int = 3

    @abstractmethod
    def settings(self) -> list[dict[str, Any]]:
        """Return the parameters that are tried."""

    @abstractmethod
    def coordinates(
        self, X: Array, y: Indices, new: Array, settings: Sequence[dict[str, Any]], dimension: int
    ) -> Iterator[Mapped]:
        """Learn from X and y, with each of the settings in turn; map X and new points."""

    def measure(self, sample: SideSample, protocol: SideProtocol, seed: int) -> Variants:
        """Judge the chosen setting on the test half, in each number of dimensions."""
        scores = self._validate(sample, seed)
        found = {}
        for dimension in DIMENSIONS:
            chosen = best(self.settings(), list(scores[dimension]))
            setting = {key: value for key, value in chosen.items() if key != "validation"}
            began = time.process_time()
            (mapped,) = self.coordinates(sample.X, sample.y, sample.X_test, [setting], dimension)
            seconds = time.process_time() - began
            test = neighbour_accuracy(_cut(mapped, dimension), sample.y, sample.y_test)
            found[variant(dimension)] = {**chosen, "test": test, "kernel_seconds": seconds}
        return found

    def _validate(self, sample: SideSample, seed: int) -> dict[int, Array]:
        """Return the accuracy of each setting, in each number of dimensions."""
        scores = {dimension: np.zeros(len(self.settings())) for dimension in DIMENSIONS}
        for rows, held in sample.folds(self.folds, seed):
            for dimension, k, mapped in self._embeddings(sample, rows, held):
                accuracy = neighbour_accuracy(mapped, sample.y[rows], sample.y[held])
                scores[dimension][k] += accuracy / self.folds
        return scores

    def _embeddings(
        self, sample: SideSample, rows: Indices, held: Indices
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
