"""LAB-RBF, and alternative regressors and classifiers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import scipy.linalg
from sklearn.base import BaseEstimator
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import (  # noqa: F401
    ExtraTreesRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.kernel_approximation import Nystroem
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Ridge
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from papers.contestants.tuned import Plain, Setting, Tuned
from papers.sample import Labels, Protocol, Sample, losses, typical_gamma
from papers.study import Record
from pliant import LABRBFAlgorithm, LABRBFClassifier, LABRBFRegressor  # noqa: F401
from pliant.core.typing import Array, Indices
from pliant.kernels import Gaussian


class LAB(Plain):
    """LAB-RBF with its default settings, which scale features and target."""

    scaled = False

    def details(self, model: Any) -> Record:
        return {"support": float(len(model.support_))}


class OneMember(LAB):
    """One member of pliant's LAB-RBF, no linear part, the paper's number of support points."""

    draws: int
    """Number of draws of the support points."""

    def model(self, sample: Sample, setting: Setting, seed: int, *, final: bool = True) -> Any:
        algorithm = LABRBFAlgorithm(linear=False)
        given = {"n_support": sample.chosen.support, "transforms": None, **self.options}
        return BestDraw(
            [
                LABRBFRegressor(**given, algorithm=algorithm, random_state=seed + k)
                for k in range(self.draws)
            ]
        )


class BestDraw(BaseEstimator):
    """The best of several models by their held-out rows."""

    def __init__(self, models: Sequence[Any]) -> None:
        self.models = models

    def fit(self, X: Array, y: Labels) -> BestDraw:
        fitted = [model.fit(X, y) for model in self.models]
        self.best_ = max(fitted, key=lambda model: float(model.validation_score_[0]))
        self.support_ = self.best_.support_
        return self

    def predict(self, X: Array) -> Array:
        return np.asarray(self.best_.predict(X))


class Split(Tuned):
    """Tuned by cross-validation up to `small` rows, and by one hold-out of a fifth with more."""

    small: int = 2000
    most: Sequence[int] = (10**9, 10**9)
    """Maximum training and validation rows for tuning."""

    def pairs(self, sample: Sample, protocol: Protocol, seed: int) -> list[tuple[Indices, Indices]]:
        n = len(sample.y)
        if n <= self.small:
            pairs = list(KFold(self.folds, shuffle=True, random_state=seed).split(np.arange(n)))
        else:
            order = np.random.default_rng(seed).permutation(n)
            pairs = [(order[n // 5 :], order[: n // 5])]
        return [(learn[: self.most[0]], judge[: self.most[1]]) for learn, judge in pairs]


class TunedBoosting(Split):
    """Boosting with one of several shapes, and early stopping on held-out rows."""

    shapes: Sequence[Sequence[float]]
    names: Sequence[str]
    max_iter: int
    patience: int
    """Maximum rounds, and rounds without improvement on the held-out rows before stopping."""

    def choose(self, sample: Sample, protocol: Protocol, seed: int) -> Setting:
        """Return the shape with the smallest held-out error, and its best number of rounds."""
        pairs, found = self.pairs(sample, protocol, seed), []
        for shape in (dict(zip(self.names, each, strict=True)) for each in self.shapes):
            errors, rounds = [], []
            for learn, judge in pairs:
                model = HistGradientBoostingRegressor(
                    **shape, max_iter=self.max_iter, early_stopping=True, tol=0.0,
                    n_iter_no_change=self.patience, random_state=seed,
                )  # fmt: skip
                X, y = sample.X, sample.y
                model.fit(X[learn], y[learn], X_val=X[judge], y_val=y[judge])
                errors.append(-2.0 * model.validation_score_.max() * len(judge))
                rounds.append(int(model.validation_score_.argmax()))
            best = max(1, round(float(np.mean(rounds))))
            found.append((float(np.sum(errors)), {**shape, "max_iter": best}))
        return min(found, key=lambda each: each[0])[1]

    def model(self, sample: Sample, setting: Setting, seed: int, *, final: bool = True) -> Any:
        """Return the booster without early stopping."""
        return HistGradientBoostingRegressor(**setting, early_stopping=False, random_state=seed)


def centred(model: BaseEstimator) -> TransformedTargetRegressor:
    """Return the regressor on a centred target."""
    return TransformedTargetRegressor(model, transformer=StandardScaler(with_std=False))


class GaussianRidge(Split):
    """Kernel ridge regression on the centred target; gamma is 2**power / m, then refined."""

    def choose(self, sample: Sample, protocol: Protocol, seed: int) -> Setting:
        """Search the grid of powers, then the neighbours of the best, and return the best pair."""
        pairs, unit = self.pairs(sample, protocol, seed), typical_gamma(sample.X, seed)
        errors: dict[int, Array] = {}

        def best(powers: Sequence[int]) -> int:
            for p in powers:
                errors[p] = self._errors(sample, pairs, unit * 2.0**p)
            return min(errors, key=lambda p: errors[p].min())

        first = best(self.grid["power"])
        power = best([first - 1, first + 1])
        alpha = self.grid["alpha"][int(errors[power].argmin())]
        return {"gamma": unit * 2.0**power, "alpha": alpha, "power": power}

    def _errors(
        self, sample: Sample, pairs: Sequence[tuple[Indices, Indices]], gamma: float
    ) -> Array:
        """Return the squared error of each alpha over all pairs of parts."""
        total = np.zeros(len(self.grid["alpha"]))
        for learn, judge in pairs:
            part, new, kernel = sample.some(learn), sample.X[judge], Gaussian(gamma)
            centre, grams = part.y.mean(), (kernel(part.X), kernel(new, part.X))
            path = indefinite_path(*grams, part.y - centre, self.grid["alpha"])
            total += [losses("regression", sample.y[judge], f + centre).sum() for f in path]
        return total

    def model(self, sample: Sample, setting: Setting, seed: int, *, final: bool = True) -> Any:
        given = {key: setting[key] for key in ("gamma", "alpha")}
        return centred(KernelRidge(kernel="rbf", **given))


def indefinite_path(
    gram: Array, cross: Array, y: Array, alphas: Sequence[float]
) -> Iterator[Array]:
    """Predict by cross (K + alpha I)^{-1} y for each alpha; K may be indefinite."""
    values, vectors = scipy.linalg.eigh(gram, driver="evd")
    left, right = cross @ vectors, vectors.T @ y
    for alpha in alphas:
        shifted = values + alpha
        tiny = 1e-12 * max(float(np.abs(values).max()), alpha)
        yield left @ (right / np.where(np.abs(shifted) > tiny, shifted, np.inf))


class NystroemRidge(GaussianRidge):
    """The same model on random centres, fitted to all rows, with the same tuning."""

    centres: int
    """Maximum number of centres, limited by the training rows."""

    def model(self, sample: Sample, setting: Setting, seed: int, *, final: bool = True) -> Any:
        centres = min(self.centres, len(sample.y))
        features = Nystroem(gamma=setting["gamma"], n_components=centres, random_state=seed)
        return make_pipeline(features, Ridge(alpha=setting["alpha"]))


class GaussianProcess(Tuned):
    """A Gaussian process with one length scale per feature, tuned by marginal likelihood."""

    def model(self, sample: Sample, setting: Setting, seed: int, *, final: bool = True) -> Any:
        lengths = np.full(sample.X.shape[1], np.sqrt(sample.X.shape[1]))
        kernel = ConstantKernel(1.0, (1e-3, 1e5)) * RBF(lengths, (1e-2, 1e4))
        noise = WhiteKernel(1e-2, (1e-8, 1e1))
        return GaussianProcessRegressor(kernel + noise, normalize_y=True, random_state=seed)


class PlainAndCalibrated(BaseEstimator):
    """A support vector machine for labels, and a calibrated one for probabilities."""

    def __init__(self, C: float, gamma: float, folds: int) -> None:
        self.C, self.gamma, self.folds = C, gamma, folds

    def fit(self, X: Array, y: Labels) -> PlainAndCalibrated:
        machine = SVC(C=self.C, gamma=self.gamma, cache_size=500)
        self.plain_ = make_pipeline(StandardScaler(), machine).fit(X, y)
        twin = CalibratedClassifierCV(make_pipeline(StandardScaler(), machine), cv=self.folds)
        self.calibrated_ = twin.fit(X, y)
        self.classes_ = twin.classes_
        return self

    def predict(self, X: Array) -> Labels:
        return np.asarray(self.plain_.predict(X))

    def predict_proba(self, X: Array) -> Array:
        return np.asarray(self.calibrated_.predict_proba(X))


class GaussianSVC(Tuned):
    """A support vector machine with a Gaussian kernel, tuned by cross-validation."""

    def model(self, sample: Sample, setting: Setting, seed: int, *, final: bool = True) -> Any:
        C, gamma = setting["C"], 2.0 ** setting["power"] / sample.X.shape[1]
        if final:
            return PlainAndCalibrated(C, gamma, self.folds or 3)
        return make_pipeline(StandardScaler(), SVC(C=C, gamma=gamma, cache_size=500))
