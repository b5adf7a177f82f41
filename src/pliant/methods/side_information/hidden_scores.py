"""How good a learned kernel is, by labels or pairs that were hidden while it was learned."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from sklearn.metrics import roc_auc_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC

from pliant.core.typing import Array, Indices
from pliant.methods.side_information.components import Components

__all__ = ["ComponentScore", "KernelScore", "LabelTrial", "PairTrial", "Score", "unit_scale"]

ROUNDING = 1e-10
"""A variance below this share of the mean of k(x, x) is that of equal points."""


class LabelTrial(NamedTuple):
    """What a score of labels sees of one fold.

    Attributes
    ----------
    gram : array of shape (a, a)
        Learned kernel values of the labelled points that are left.
    cross_gram : array of shape (h, a)
        Those of the held-out points against them.
    labels, held_out : arrays of shape (a,) and (h,)
        Their classes.
    """

    gram: Array
    cross_gram: Array
    labels: Indices
    held_out: Indices


class PairTrial(NamedTuple):
    """What a score of pairs sees of one fold.

    Attributes
    ----------
    gram : array of shape (n, n)
        Learned kernel values.
    members : array of shape (a,)
        The points in the pairs that are left.
    pairs, signs : arrays of shape (h, 2) and (h,)
        The held-out pairs, of both signs.
    """

    gram: Array
    members: Indices
    pairs: Indices
    signs: Array


class Score(Protocol):
    """Larger is better; nan where nothing can be said."""

    def of_labels(self, trial: LabelTrial) -> float:
        """Return the share of held-out points whose class is found."""

    def of_pairs(self, trial: PairTrial) -> float:
        """Return how well distances tell held-out similar from dissimilar pairs, as area (ROC)."""


class KernelScore:
    """By the learned kernel itself: with a support vector machine of C = 1; by its distances."""

    def of_labels(self, trial: LabelTrial) -> float:
        """Return the accuracy of the machine on the kernel with unit variance."""
        scale = unit_scale(trial.gram)
        try:
            with warnings.catch_warnings():  # of many classes with few points
                warnings.simplefilter("ignore", UserWarning)
                machine = SVC(kernel="precomputed").fit(scale * trial.gram, trial.labels)
        except ValueError:  # values beyond what it can take
            return math.nan
        return float(machine.score(scale * trial.cross_gram, trial.held_out))

    def of_pairs(self, trial: PairTrial) -> float:
        """Return the area under the curve of the distances in the kernel's feature space."""
        gram, (i, j) = trial.gram, trial.pairs.T
        return float(roc_auc_score(trial.signs, 2.0 * gram[i, j] - gram[i, i] - gram[j, j]))


@dataclass(frozen=True)
class ComponentScore:
    """By some components of the learned kernel: with nearest neighbours; by distances."""

    n_components: int
    n_neighbors: int = 5

    def of_labels(self, trial: LabelTrial) -> float:
        """Return the accuracy of the neighbours."""
        components = self._components(trial.gram)
        if components is None:
            return math.nan
        machine = KNeighborsClassifier(min(self.n_neighbors, len(trial.labels)))
        machine.fit(components(trial.gram), trial.labels)
        return float(machine.score(components(trial.cross_gram), trial.held_out))

    def of_pairs(self, trial: PairTrial) -> float:
        """Return the area under the curve of the distances between components."""
        columns = trial.gram[:, trial.members]
        components = self._components(columns[trial.members])
        if components is None:
            return math.nan
        coordinates, (i, j) = components(columns), trial.pairs.T
        squares = ((coordinates[i] - coordinates[j]) ** 2).sum(axis=1)
        return float(roc_auc_score(trial.signs, -squares))

    def _components(self, gram: Array) -> Components | None:
        """Return the components, or None if the kernel does not have so many."""
        try:
            return Components.of_gram(gram, self.n_components)
        except ValueError:
            return None


def unit_scale(gram: Array) -> float:
    """Return the factor that gives the points of a Gram matrix the variance 1.

    Of points that are all equal it is what brings k(x, x) to 1: a machine may never end on huge
    values that are all the same.
    """
    size = float(gram.diagonal().mean())
    variance = size - float(gram.mean())
    spread = variance if variance > ROUNDING * size else size
    return 1.0 / spread if spread > np.finfo(np.float64).tiny else 1.0
