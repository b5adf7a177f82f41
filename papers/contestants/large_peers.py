"""Large sets: the methods that Table 4 of DANK compares with, on all rows and part by part."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.cluster import KMeans
from sklearn.dummy import DummyClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks.scale_sets import ScaleSet
from papers.contestants.large import LargeModel
from papers.contestants.multiple_kernels import standard_kernels
from papers.contestants.peers import AUTHORS_SHARE, LogDetMachine, linear
from papers.sample import Labels, Sample
from pliant import AlignedRandomFeatures, BEMKLClassifier
from pliant.core.typing import Array


class ByParts(BaseEstimator):
    """An estimator for each part of the rows, by k-means; a new point is predicted by its own."""

    def __init__(self, make: Callable[[], Any], n_parts: int) -> None:
        self.make, self.n_parts = make, n_parts

    def fit(self, X: Array, y: Labels) -> ByParts:
        """Fit each part; a part of one class predicts it."""
        self.parts_ = KMeans(self.n_parts, n_init=1, random_state=0).fit(X)
        self.estimators_ = []
        for k in range(self.n_parts):
            rows = self.parts_.labels_ == k
            one = len(np.unique(y[rows])) == 1
            model = DummyClassifier() if one else self.make()
            self.estimators_.append(model.fit(X[rows], y[rows]))
        return self

    def predict(self, X: Array) -> npt.NDArray[Any]:
        """Return the labels."""
        owner = self.parts_.predict(X)
        labels: npt.NDArray[Any] = np.empty(len(X), dtype=np.int64)
        for k in np.unique(owner):
            labels[owner == k] = self.estimators_[k].predict(X[owner == k])
        return labels

    def score(self, X: Array, y: Labels) -> float:
        """Return the accuracy."""
        return float(np.mean(self.predict(X) == y))


class LargePeer(LargeModel):
    """A peer on all rows, or part by part with the parts of DANK's decomposition."""

    by_parts: bool

    def whole(self, given: ScaleSet) -> Any:
        """Return the estimator for all rows, not fitted."""
        raise NotImplementedError

    def model(self, given: ScaleSet, n_parts: int, tol: float) -> Any:
        return ByParts(lambda: self.whole(given), n_parts if self.by_parts else 1)

    def details(self, fitted: Any, sample: Sample) -> dict[str, Any]:
        """Return the accuracy."""
        return {"test": 100.0 * float(fitted.score(sample.X_test, sample.y_test))}


@dataclass(frozen=True)
class LargeLogDet(LargePeer):
    """LogDetLearner with the paper's width and C."""

    max_pairs: int = 2000
    by_parts: bool = False
    name: str = "logdet"
    title: str = "LogDet"

    @property
    def kind(self) -> str:
        return f"LargeLogDet, {self.by_parts}"

    def whole(self, given: ScaleSet) -> LogDetMachine:
        return LogDetMachine(0.0, 1.0, given.C, self.max_pairs, gamma=given.gamma)


@dataclass(frozen=True)
class LargeBayesian(LargePeer):
    """BEMKLClassifier on the standard kernels."""

    max_iter: int = 50
    cache_mb: float = 12_000.0
    by_parts: bool = False
    name: str = "bemkl"
    title: str = "BEMKL"

    @property
    def kind(self) -> str:
        return f"LargeBayesian, {self.by_parts}"

    def whole(self, given: ScaleSet) -> Any:
        model = BEMKLClassifier(standard_kernels(), max_iter=self.max_iter, cache_mb=self.cache_mb)
        return make_pipeline(StandardScaler(), model)


@dataclass(frozen=True)
class LargeFeatures(LargePeer):
    """Learned random features of the paper's width, with a linear SVM of the paper's C."""

    candidates: int = 2000
    share: float = AUTHORS_SHARE
    by_parts: bool = False
    name: str = "random-features"
    title: str = "Learned random features"

    def whole(self, given: ScaleSet) -> Any:
        features = AlignedRandomFeatures(
            self.candidates, n_candidates=self.candidates, rho=self.share * self.candidates,
            gamma=given.gamma, target="classes", random_state=0,
        )  # fmt: skip
        return make_pipeline(features, linear(given.C))
