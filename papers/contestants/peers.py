"""Other methods that DANK compares with: LogDet, learned random features, a local metric."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.svm import SVC

from papers.contestants.tuned import Setting, Tuned
from papers.sample import Labels, Sample, typical_gamma
from pliant import LogDetLearner
from pliant.core.typing import Array


class LogDetMachine(BaseEstimator):
    """A support vector machine on the kernel of pliant's LogDetLearner."""

    def __init__(self, gamma: float, slack: float, C: float, max_pairs: int, seed: int = 0) -> None:
        self.gamma, self.slack, self.C = gamma, slack, C
        self.max_pairs, self.seed = max_pairs, seed

    def fit(self, X: Array, y: Labels) -> LogDetMachine:
        """Learn the kernel from all labels, and fit the SVM to it."""
        learner = LogDetLearner(
            gamma=self.gamma, slack=self.slack, max_pairs=self.max_pairs, unlabeled=-1,
            random_state=self.seed,
        )  # fmt: skip
        self.X_ = X
        self.kernel_ = learner.fit(X, np.unique(y, return_inverse=True)[1].ravel()).kernel_
        self.svc_ = SVC(C=self.C, kernel="precomputed", cache_size=500).fit(self.kernel_(X), y)
        return self

    def predict(self, X: Array) -> Labels:
        """Return the labels of the SVM."""
        return np.asarray(self.svc_.predict(self.kernel_(X, self.X_)))


class NearestLogDet(Tuned):
    """LogDet, of a Gaussian kernel: width, slack and C by cross-validation together."""

    max_pairs: int
    """Drawn at random from those of the training points."""

    def model(self, sample: Sample, setting: Setting, seed: int, *, final: bool = True) -> Any:
        gamma = typical_gamma(sample.X, seed) * 2.0 ** setting["power"]
        return LogDetMachine(gamma, setting["slack"], setting["C"], self.max_pairs, seed)

    def attempts(self, sample: Sample, X_new: Array, seed: int) -> Iterator[npt.NDArray[Any]]:
        """Learn each kernel once for all C, which vary first."""
        for setting in self.settings():
            if setting["C"] == self.grid["C"][0]:
                first = self.model(sample, setting, seed, final=False).fit(sample.X, sample.y)
                gram, cross = first.kernel_(sample.X), first.kernel_(X_new, sample.X)
            machine = SVC(C=setting["C"], kernel="precomputed").fit(gram, sample.y)
            yield np.asarray(machine.predict(cross))
