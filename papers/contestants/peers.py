"""Other methods that DANK and TKL compare with: LogDet, random features, a local metric, nets."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.compose import TransformedTargetRegressor
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

from papers.contestants.multiple_kernels import CS, OnSome, pairs
from papers.contestants.tkl import Setting, Tuned
from papers.sample import Labels, Sample, drawn_gamma
from papers.theory.local_metric import LocalMetric
from pliant import AlignedRandomFeatures, LogDetLearner
from pliant.core.typing import Array

POWERS = (-3, -1, 0, 1, 3)
"""gamma runs over 2**p / m, m the median squared distance."""

AUTHORS_SHARE = 0.005
"""rho / N of Sinha and Duchi (2016), as recalled: unverified."""


class LogDetMachine(BaseEstimator):
    """A support vector machine on the kernel of pliant's LogDetLearner."""

    def __init__(
        self,
        power: float,
        slack: float,
        C: float,
        max_pairs: int = 5000,
        seed: int = 0,
        gamma: float | None = None,
    ) -> None:
        self.power, self.slack, self.C = power, slack, C
        self.max_pairs, self.seed, self.gamma = max_pairs, seed, gamma

    def fit(self, X: Array, y: Labels) -> LogDetMachine:
        """Learn the kernel from all labels, and fit the SVM to it."""
        self.X_, gamma = X, self.gamma
        if gamma is None:
            gamma = drawn_gamma(X, self.seed) * 2.0**self.power
        learner = LogDetLearner(
            gamma=gamma, slack=self.slack, max_pairs=self.max_pairs, unlabeled=-1,
            random_state=self.seed,
        )  # fmt: skip
        self.kernel_ = learner.fit(X, np.unique(y, return_inverse=True)[1].ravel()).kernel_
        self.svc_ = SVC(C=self.C, kernel="precomputed", cache_size=500).fit(self.kernel_(X), y)
        return self

    def predict(self, X: Array) -> npt.NDArray[Any]:
        """Return the labels of the SVM."""
        return np.asarray(self.svc_.predict(self.kernel_(X, self.X_)))


@dataclass(frozen=True)
class NearestLogDet(Tuned):
    """LogDet, of a Gaussian kernel: width, slack and C by cross-validation together."""

    powers: tuple[float, ...] = POWERS
    slacks: tuple[float, ...] = (0.1, 1.0)
    Cs: tuple[float, ...] = CS
    max_pairs: int = 5000
    """Drawn at random from those of the training points."""
    rows: int | None = 600
    fit_rows: int | None = 3000
    """The last fit is to this many random training rows at most."""
    name: str = "logdet"
    title: str = "LogDet"

    def settings(self) -> list[Setting]:
        """Return all combinations, the widest kernel first."""
        return pairs(power=self.powers, slack=self.slacks, C=self.Cs)

    def model(self, task: str, setting: Setting, seed: int, *, final: bool = True) -> Any:
        """Return kernel and SVM in one."""
        model = LogDetMachine(**setting, max_pairs=self.max_pairs, seed=seed)
        return OnSome(model, self.fit_rows, seed) if final and self.fit_rows else model

    def attempts(self, sample: Sample, X_new: Array, seed: int) -> Iterator[npt.NDArray[Any]]:
        """Learn each kernel once for all C."""
        for setting in pairs(power=self.powers, slack=self.slacks):
            start = {**setting, "C": self.Cs[0]}
            first = self.model(sample.task, start, seed, final=False).fit(sample.X, sample.y)
            gram, cross = first.kernel_(sample.X), first.kernel_(X_new, sample.X)
            for C in self.Cs:
                yield np.asarray(SVC(C=C, kernel="precomputed").fit(gram, sample.y).predict(cross))


@dataclass(frozen=True)
class RandomFeatures(Tuned):
    """Learned random features and a linear SVM: width and C by cross-validation.

    rho is the authors' .005 N, which leaves less than 200 features of effective weight; recalled,
    unverified.
    """

    powers: tuple[float, ...] = (-5, -3, -1, 0, 1, 3)
    Cs: tuple[float, ...] = (0.1, 1.0, 10.0, 100.0, 1000.0)
    candidates: int = 2000
    """N."""
    share: float = AUTHORS_SHARE
    """rho / N."""
    rows: int | None = 600
    name: str = "random-features"
    title: str = "Learned random features"

    def settings(self) -> list[Setting]:
        """Return all combinations, the widest kernel first."""
        return pairs(power=self.powers, C=self.Cs)

    def features(self, X: Array, power: float, seed: int) -> AlignedRandomFeatures:
        """Return the transformer, for some training points."""
        return AlignedRandomFeatures(
            self.candidates, n_candidates=self.candidates, rho=self.share * self.candidates,
            gamma=drawn_gamma(X, seed) * 2.0**power, target="classes", random_state=seed,
        )  # fmt: skip

    def model(self, task: str, setting: Setting, seed: int, *, final: bool = True) -> Any:
        """Return features and SVM in one."""
        return FeatureMachine(self, setting["power"], setting["C"], seed)

    def attempts(self, sample: Sample, X_new: Array, seed: int) -> Iterator[npt.NDArray[Any]]:
        """Choose the features of each width once for all C."""
        for power in self.powers:
            features = self.features(sample.X, power, seed).fit(sample.X, sample.y)
            Z, new = features.transform(sample.X), features.transform(X_new)
            for C in self.Cs:
                yield np.asarray(linear(C).fit(Z, sample.y).predict(new))


def linear(C: float) -> LinearSVC:
    """Return a linear SVM with a squared hinge loss, which Newton's method solves."""
    return LinearSVC(C=C, dual=False)


class FeatureMachine(BaseEstimator):
    """Random features with a linear SVM."""

    def __init__(self, peer: RandomFeatures, power: float, C: float, seed: int) -> None:
        self.peer, self.power, self.C, self.seed = peer, power, C, seed

    def fit(self, X: Array, y: Labels) -> FeatureMachine:
        """Fit both to the same rows."""
        features = self.peer.features(X, self.power, self.seed)
        self.model_ = make_pipeline(features, linear(self.C)).fit(X, y)
        return self

    def predict(self, X: Array) -> npt.NDArray[Any]:
        """Return the labels of the SVM."""
        return np.asarray(self.model_.predict(X))


@dataclass(frozen=True)
class LocalMetricRegression(Tuned):
    """Nadaraya-Watson regression with a generative local metric: see `papers.theory.local_metric`.

    Bandwidth and strength of the metric by cross-validation. Derived, unverified.
    """

    powers: tuple[float, ...] = (-2, -1, 0, 1, 2, 3, 4, 5, 6, 7, 8)
    """gamma runs over 2**p / m, m the median squared distance; the widest kernel first."""
    strengths: tuple[float, ...] = (0.0, 1.0, 10.0)
    """Of the metric; 0 is the Euclidean one."""
    rows: int | None = 600
    name: str = "local-metric"
    title: str = "NW, local metric"

    def settings(self) -> list[Setting]:
        """Return all combinations, the plain metric first."""
        return pairs(strength=self.strengths, power=self.powers)

    def model(self, task: str, setting: Setting, seed: int, *, final: bool = True) -> Any:
        """Return the estimator."""
        return LocalMetric(**setting)


@dataclass(frozen=True)
class Network(Tuned):
    """scikit-learn's multilayer perceptron, in the place of MATLAB's nets of the same shape.

    It stops when the held-out tenth of its rows has not improved for `patience` rounds.
    """

    hidden: tuple[int, ...] = (50, 50, 50)
    """Units of each hidden layer."""
    rates: tuple[float, ...] = (1e-3, 1e-2)
    decays: tuple[float, ...] = (1e-4, 1e-1)
    """Learning rates, and factors of the squared weights."""
    patience: int = 50
    max_iter: int = 500
    rows: int | None = None
    name: str = "mlp"
    title: str = "Small neural network"

    def settings(self) -> list[Setting]:
        """Return all combinations."""
        return pairs(rate=self.rates, decay=self.decays)

    def model(self, task: str, setting: Setting, seed: int, *, final: bool = True) -> Any:
        """Return the network behind scalers of features and target."""
        options: dict[str, Any] = {
            "hidden_layer_sizes": self.hidden, "learning_rate_init": setting["rate"],
            "alpha": setting["decay"], "n_iter_no_change": self.patience, "early_stopping": True,
            "max_iter": self.max_iter, "random_state": seed,
        }  # fmt: skip
        if task == "classification":
            return make_pipeline(StandardScaler(), MLPClassifier(**options))
        model = make_pipeline(StandardScaler(), MLPRegressor(**options))
        return TransformedTargetRegressor(model, transformer=StandardScaler())
