"""Who competes: the plain support vector machine, and the machines with a learned kernel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from sklearn.svm import SVC, SVR

from papers.fold import Fold
from papers.protocol import Sample
from papers.rules import RULES, by_rules, set_rule
from pliant import C_path, DANKClassifier, DANKRegressor, KNPLClassifier, KNPLRegressor

__all__ = ["CONTESTANTS", "EPSILON", "Contestant", "Hadamard", "PlainSVM", "Setting", "dank"]

EPSILON = 0.1
"""Errors that regression leaves free, in standard deviations of the training target."""

Predictions = npt.NDArray[Any]


@dataclass(frozen=True)
class Setting:
    """What a machine is fitted with."""

    gamma: float
    C: float
    eta_scale: float
    tol: float
    max_iter: int


@dataclass(frozen=True)
class PlainSVM:
    """The Gaussian SVM or epsilon-SVR of scikit-learn."""

    title: str = "SVM-CV"
    rules: tuple[str, ...] = ("none",)
    has_eta: bool = False

    def path(self, fold: Fold, Cs: Sequence[float], setting: Setting) -> Predictions:
        """Predict the fold's new rows for each C, (n_Cs, 1, m)."""
        gram, cross_gram = fold.gram(setting.gamma), fold.cross_gram(setting.gamma)
        fits = [_plain(fold.task, fold.y, gram, [cross_gram], C, setting) for C in Cs]
        return np.stack(fits)

    def final(
        self, sample: Sample, rules: Sequence[str], setting: Setting
    ) -> dict[str, tuple[Predictions, Predictions]]:
        """Fit once; return the predictions of training and test rows."""
        fold = Fold(sample.task, sample.X, sample.y, sample.X_test)
        gram, cross_gram = fold.gram(setting.gamma), fold.cross_gram(setting.gamma)
        train, test = _plain(sample.task, sample.y, gram, [gram, cross_gram], setting.C, setting)
        return dict.fromkeys(rules, (train, test))


def _plain(
    task: str, y: Predictions, gram: Any, grams: Sequence[Any], C: float, setting: Setting
) -> list[Predictions]:
    """Fit to a Gram matrix; predict the rows of others."""
    options = {"kernel": "precomputed", "C": C, "max_iter": setting.max_iter}
    if task == "classification":
        machine = SVC(**options).fit(gram, y)
        return [machine.predict(rows) for rows in grams]
    centre, scale = y.mean(), y.std()
    machine = SVR(**options, epsilon=EPSILON).fit(gram, (y - centre) / scale)
    return [centre + scale * machine.predict(rows) for rows in grams]


@dataclass(frozen=True)
class Hadamard:
    """A base kernel times an adaptive matrix: DANK at some tau, or KNPL.

    Attributes
    ----------
    title : str
    classifier, regressor : class
        The estimators.
    parameters : tuple of (str, value)
        What both are given beyond the `Setting`.
    """

    title: str
    classifier: type
    regressor: type
    parameters: tuple[tuple[str, Any], ...] = ()
    rules: tuple[str, ...] = RULES
    has_eta: bool = True

    def machine(self, task: str, setting: Setting) -> Any:
        """Return the estimator, not fitted; it predicts by the smooth rule."""
        options = {**vars(setting), **dict(self.parameters), "extension": "smooth"}
        if task == "classification":
            return self.classifier(**options)
        return self.regressor(**options, epsilon=EPSILON)

    def path(self, fold: Fold, Cs: Sequence[float], setting: Setting) -> Predictions:
        """Predict the fold's new rows for each C and rule, (n_Cs, n_rules, m)."""
        cross_gram = fold.cross_gram(setting.gamma)
        machines = C_path(self.machine(fold.task, setting), fold.X, fold.y, Cs)
        return np.stack([by_rules(machine, fold, cross_gram) for machine in machines])

    def final(
        self, sample: Sample, rules: Sequence[str], setting: Setting
    ) -> dict[str, tuple[Predictions, Predictions]]:
        """Fit once; return for each rule the predictions of training and test rows."""
        return predictions(self.fit(sample, setting), sample, rules)

    def fit(self, sample: Sample, setting: Setting) -> Any:
        """Return a machine fitted to the training rows."""
        return self.machine(sample.task, setting).fit(sample.X, sample.y)


def predictions(
    machine: Any, sample: Sample, rules: Sequence[str]
) -> dict[str, tuple[Predictions, Predictions]]:
    """Return for each rule what a fitted machine predicts for training and test rows."""
    found = {}
    for rule in rules:
        set_rule(machine, rule)
        found[rule] = machine.predict(sample.X), machine.predict(sample.X_test)
    return found


def dank(tau: float) -> Hadamard:
    """Return DANK at one tau."""
    return Hadamard(f"DANK, tau = {tau:g}", DANKClassifier, DANKRegressor, (("tau", tau),))


Contestant: TypeAlias = PlainSVM | Hadamard
"""A method: `path` predicts for cross-validation, `final` fits what was chosen."""

CONTESTANTS: dict[str, Contestant] = {
    "svm": PlainSVM(),
    "dank-0": dank(0.0),
    "dank-0.01": dank(0.01),
    "dank-0.1": dank(0.1),
    "knpl": Hadamard("KNPL", KNPLClassifier, KNPLRegressor),
}
"""The contestants by name."""
