"""The Gaussian support vector machine that LAB-RBF's classifier is measured beside."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from papers.contestants.fitted import Fitted, Setting
from papers.sample import Labels, Sample
from pliant.core.typing import Array


class PlainAndCalibrated:
    """A support vector machine that decides, and a calibrated one for its probabilities.

    Both have C and gamma on standardised features; `folds` are those of Platt's sigmoid.
    """

    def __init__(self, C: float, gamma: float, folds: int) -> None:
        self.plain = gaussian_svc(C, gamma)
        self.calibrated = CalibratedClassifierCV(gaussian_svc(C, gamma), method="sigmoid", cv=folds)

    def fit(self, X: Array, y: Labels) -> PlainAndCalibrated:
        """Fit both."""
        self.plain.fit(X, y)
        self.calibrated.fit(X, y)
        self.classes_ = self.calibrated.classes_
        return self

    def predict(self, X: Array) -> Labels:
        """Return the labels of the plain one."""
        return np.asarray(self.plain.predict(X))

    def predict_proba(self, X: Array) -> Array:
        """Return the probabilities of the calibrated one."""
        return np.asarray(self.calibrated.predict_proba(X))


def gaussian_svc(C: float, gamma: float) -> Any:
    """Return scaling and support vector machine in one."""
    return make_pipeline(StandardScaler(), SVC(C=C, gamma=gamma, cache_size=500))


@dataclass(frozen=True)
class GaussianSVC(Fitted):
    """A support vector machine with a Gaussian kernel, C and gamma by cross-validation."""

    Cs: tuple[float, ...] = tuple(10.0**p for p in range(-1, 4))
    powers: tuple[int, ...] = (-6, -4, -2, 0, 2, 4)
    """gamma runs over 2**p / d for d standardised features."""
    folds: int = 3
    tuning_rows: int = 2000
    """At most."""
    name: str = "svc"
    title: str = "Gaussian SVC"

    def choose(self, sample: Sample, seed: int) -> Setting:
        """Return the pair of the best accuracy; of equal ones the least C, the widest kernel."""
        some = np.random.default_rng(seed).permutation(len(sample.y))[: self.tuning_rows]
        X, y = sample.X[some], sample.y[some]
        folds = StratifiedKFold(self.folds, shuffle=True, random_state=seed)
        unit = 1.0 / X.shape[1]
        settings = [{"C": C, "gamma": unit * 2.0**p} for C, p in product(self.Cs, self.powers)]
        accuracies = [
            cross_val_score(gaussian_svc(**each), X, y, cv=folds).mean() for each in settings
        ]
        return settings[int(np.argmax(accuracies))]

    def model(self, sample: Sample, setting: Setting, seed: int) -> Any:
        """Return the support vector machine with its calibrated twin."""
        return PlainAndCalibrated(**setting, folds=self.folds)
