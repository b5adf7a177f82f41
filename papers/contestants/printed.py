"""The algorithms of the LAB-RBF, KNPL and DANK papers as printed, tuned on the training rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import pairwise_distances_argmin
from sklearn.multiclass import OneVsOneClassifier
from sklearn.svm import SVC

from papers.batch import batch_reciprocal_neighbors
from papers.contestants.hadamard import BATCH, FIXED, Searched, gamma_of
from papers.contestants.regressors import LAB, Split
from papers.contestants.tuned import Setting, predicted_labels
from papers.sample import Labels, Protocol, Sample
from papers.study import Needed, Variants
from pliant.core.typing import Array
from pliant.kernels import Gaussian
from tests.reference import dank_algorithm1, knpl_admm, lab_algorithm1, naive_hadamard


class PrintedLAB(Split, LAB):
    """Algorithm 1 of LAB-RBF with the rate, the batch and the bandwidth of the paper's Table 4."""

    scaled = True
    small = 0
    steps: int
    """Steps of Adam before each growth, and of stochastic gradient descent at the end."""
    tol: float

    def model(self, sample: Sample, setting: Setting, seed: int, *, final: bool = True) -> Any:
        assert sample.chosen is not None
        assert sample.chosen.support is not None
        rate, batch, sigma = sample.chosen.descent
        theta = sigma / sample.X.shape[1] if setting["start"] == "sigma_0 / d" else sigma
        return lab_algorithm1.LocalInterpolant(
            sample.chosen.support, alpha=setting["alpha"], theta=theta**0.5, rate=rate,
            batch=int(batch), steps=self.steps, tol=self.tol, seed=seed,
        )  # fmt: skip


class PrintedMachine(BaseEstimator, ClassifierMixin):
    """KNPL's Algorithm 2 or DANK's Algorithm 1 for two classes, each with its rule for new points.

    A `closed` KNPL computes G in closed form, which Algorithm 1 approaches.
    """

    rounds = 10
    tau = 0.01

    def __init__(
        self, paper: str, C: float, gamma: float, eta_scale: float = 1.0, closed: bool = False
    ) -> None:
        self.paper, self.C, self.gamma = paper, C, gamma
        self.eta_scale, self.closed = eta_scale, closed

    def fit(self, X: Array, y: Labels) -> PrintedMachine:
        self.classes_, codes = np.unique(y, return_inverse=True)
        self.points_, K, signs = X, Gaussian(self.gamma)(X), 2.0 * codes - 1.0
        beta, b = self._svm(K, signs)
        eta = self.eta_scale * float(beta @ beta)
        if self.paper == "KNPL":
            for _ in range(self.rounds):
                Gamma = np.outer(beta, beta) * K / (4.0 * eta)
                closed = 1.0 + naive_hadamard.centred(Gamma) if self.closed else None
                self.adaptation_ = knpl_admm.admm(Gamma)[0] if closed is None else closed
                beta, b = self._svm(self.adaptation_ * K, signs)
        else:
            run = dank_algorithm1.nesterov(K, signs, self.C, eta, self.tau, monotone=True)
            self.adaptation_, beta = run.adaptation, signs * run.alpha
            problem = naive_hadamard.classification(K, signs, self.C, eta)
            b = problem.intercept((self.adaptation_ * K) @ beta)
        self.dual_coef_, self.intercept_ = beta, b
        return self

    def _svm(self, gram: Array, signs: Array) -> tuple[Array, float]:
        """Return beta = y o alpha and the intercept of a support vector machine."""
        model, beta = SVC(kernel="precomputed", C=self.C).fit(gram, signs), np.zeros(len(gram))
        beta[model.support_] = model.dual_coef_[0]
        return beta, float(model.intercept_[0])

    def decision_function(self, X: Array) -> Array:
        rule = pairwise_distances_argmin if self.paper == "KNPL" else batch_reciprocal_neighbors
        columns = self.adaptation_[:, rule(X, self.points_)].T
        values = (columns * Gaussian(self.gamma)(X, self.points_)) @ self.dual_coef_
        return np.asarray(values + self.intercept_)

    def predict(self, X: Array) -> Labels:
        return predicted_labels(self.decision_function(X), self.classes_)


class PrintedKNPL(Searched):
    """KNPL's Algorithm 2; the tuning fits have G in closed form."""

    rules = ("nearest",)

    def path(self, sample: Sample, sigma: float, Cs: Sequence[float], **held: Any) -> list[Any]:
        given = {"gamma": gamma_of(sigma), "eta_scale": held["eta_scale"]}
        given |= {"closed": held["tol"] > Protocol.tol}
        models = [OneVsOneClassifier(PrintedMachine("KNPL", C, **given)) for C in Cs]
        return [model.fit(sample.X, sample.y) for model in models]


class PrintedDANK(Searched):
    """DANK's Algorithm 1 with the sigma and C that another contestant selects."""

    def measure(self, sample: Sample, protocol: Protocol, repeat: int, needed: Needed) -> Variants:
        assert needed is not None
        choice = needed["variants"][name := f"{FIXED}/{BATCH}"]
        machine = PrintedMachine("DANK", choice["C"], gamma_of(choice["sigma"]))
        model = OneVsOneClassifier(machine).fit(sample.X, sample.y)
        return {name: self.judged(model, sample, protocol, choice)}
