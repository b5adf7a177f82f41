"""TKL, a Gaussian support vector machine, a random forest and gradient boosting."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn import ensemble
from sklearn.compose import TransformedTargetRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.svm import SVC, SVR

from papers.contestants.tuned import Setting, Tuned
from papers.sample import Protocol, Sample
from papers.study import MEASURED, Contestant, Needed, Record, Variants
from papers.theory import tkl_solvers
from pliant import TKLClassifier, TKLRegressor
from pliant.core.typing import Array

EPSILON = 0.1
"""Epsilon, in standard deviations of the training target."""


class TKL(Tuned):
    """TKL of degree 1, tuned by cross-validation; it scales features and target."""

    tuning_tol: float
    tol: float
    tuning_max_iter: int
    max_iter: int
    """Relative gaps, and maximum numbers of SVMs, of the tuning and the final fits."""
    options: Setting

    def model(self, sample: Sample, setting: Setting, seed: int, *, final: bool = True) -> Any:
        options = {
            **setting, **self.options, "random_state": seed,
            "tol": self.tol if final else self.tuning_tol,
            "max_iter": self.max_iter if final else self.tuning_max_iter,
        }  # fmt: skip
        if sample.task == "classification":
            return TKLClassifier(**options)
        return TKLRegressor(**options, epsilon=EPSILON)

    def details(self, model: Any) -> Record:
        """Return the certified relative gap and the rank of P."""
        return {"gap": float(model.dual_gap_ / model.objective_), "rank": float(model.rank_)}


class RescaledTKL(TKL):
    """TKL with its selected box, and C scaled by the ratio of all training rows to the tuning rows.

    More rows support a less smooth function.
    """

    def measure(self, sample: Sample, protocol: Protocol, repeat: int, needed: Needed) -> Variants:
        """Use the selected parameters, rescale C, fit to all training rows, and score."""
        assert needed is not None
        chosen = needed["variants"][MEASURED]["setting"]
        rows = min(len(sample.y), self.rows or len(sample.y))
        setting = {**chosen, "C": chosen["C"] * len(sample.y) / rows}
        seed, now = protocol.first_seed + repeat, time.process_time()
        return {MEASURED: self._judged(sample, protocol, seed, setting, now)}


class Solver(Contestant):
    """A solver of the problem of TKL on all rows, for C = 1, without predictions."""

    solver: str

    def measure(self, sample: Sample, protocol: Protocol, repeat: int, needed: Needed) -> Variants:
        """Measure the process seconds of a solve, after one that compiles the loops."""
        solve = tkl_solvers.SOLVERS[self.solver]
        signs = np.where(sample.y == sample.y.max(), 1.0, -1.0)
        problem = tkl_solvers.learning(sample.X, signs, C=1.0)
        solve(problem, tol=1e-3, max_iter=2)
        began = time.process_time()
        solve(problem, tol=1e-3, max_iter=2000)
        return {MEASURED: {"fit_seconds": time.process_time() - began}}


class GaussianSVM(Tuned):
    """SVC or epsilon-SVR on features scaled to [0, 1], tuned by cross-validation."""

    tuning_max_iter: int
    max_iter: int
    """Maximum numbers of libsvm's steps in the tuning and the final fits."""

    def model(self, sample: Sample, setting: Setting, seed: int, *, final: bool = True) -> Any:
        max_iter = self.max_iter if final else self.tuning_max_iter
        options = {**setting, "cache_size": 1000, "max_iter": max_iter}
        if sample.task == "classification":
            return make_pipeline(MinMaxScaler(), SVC(**options))
        model = make_pipeline(MinMaxScaler(), SVR(**options, epsilon=EPSILON))
        return TransformedTargetRegressor(model, transformer=StandardScaler())


class Forest(Tuned):
    """A random forest with scikit-learn's defaults, with a tuned number of trees."""

    def model(self, sample: Sample, setting: Setting, seed: int, *, final: bool = True) -> Any:
        kind = "Classifier" if sample.task == "classification" else "Regressor"
        forest = getattr(ensemble, f"RandomForest{kind}")
        return forest(n_estimators=setting["trees"], random_state=seed)

    def attempts(self, sample: Sample, X_new: Array, seed: int) -> Iterator[npt.NDArray[Any]]:
        """Grow the largest forest; its first k trees are the forest of k trees with one seed."""
        forest = self.model(sample, self.settings()[-1], seed).fit(sample.X, sample.y)
        classes, total = getattr(forest, "classes_", None), 0.0
        for k, tree in enumerate(forest.estimators_, start=1):
            total = total + (tree.predict(X_new) if classes is None else tree.predict_proba(X_new))
            if k in self.grid["trees"]:
                yield total / k if classes is None else classes[np.argmax(total, axis=1)]


class Boosting(Tuned):
    """Histogram gradient boosting with scikit-learn's defaults, with a tuned number of rounds."""

    def model(self, sample: Sample, setting: Setting, seed: int, *, final: bool = True) -> Any:
        kind = "Classifier" if sample.task == "classification" else "Regressor"
        boosting = getattr(ensemble, f"HistGradientBoosting{kind}")
        return boosting(max_iter=setting["rounds"], early_stopping=False, random_state=seed)

    def attempts(self, sample: Sample, X_new: Array, seed: int) -> Iterator[npt.NDArray[Any]]:
        """Fit the maximum number of rounds; predict at each stage."""
        model = self.model(sample, self.settings()[-1], seed).fit(sample.X, sample.y)
        for k, predicted in enumerate(model.staged_predict(X_new), start=1):
            if k in self.grid["rounds"]:
                yield predicted
