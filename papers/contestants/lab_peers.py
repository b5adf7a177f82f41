"""Regressors that LAB-RBF's paper compares with: TL1 ridge, SVR on sums, nets, Falkon."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import scipy.linalg
from scipy.spatial.distance import cdist
from sklearn.base import BaseEstimator
from sklearn.neural_network import MLPRegressor
from sklearn.svm import SVR

from papers.contestants.fitted import Fitted, Setting, parts
from papers.contestants.regressors import NystroemRidge
from papers.sample import Sample
from pliant.core.typing import Array, Indices
from pliant.kernels import Gaussian, Kernel, Laplacian, Polynomial
from pliant.methods.mkl.candidates import normalized_kernels

WIDTHS = (100.0, 50.0, 10.0, 1.0, 0.1, 0.01, 0.001)
FEW_WIDTHS = (100.0, 1.0, 0.1, 0.001)
DEGREES = (1, 2, 4, 10)
"""The dictionaries of the paper's Table 4; widths are taken for gamma, as in MKLpy, which it used:
unverified."""


def tl1(X: Array, Y: Array, rho: float, metric: str) -> Array:
    """Return max(rho - |x - x'|, 0) for the distance of a metric of SciPy."""
    return np.maximum(rho - cdist(X, Y, metric), 0.0)


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


class TL1Regressor(BaseEstimator):
    """Kernel ridge regression with the truncated kernel, on the centred target."""

    def __init__(self, rho: float, alpha: float, metric: str) -> None:
        self.rho, self.alpha, self.metric = rho, alpha, metric

    def fit(self, X: Array, y: Array) -> TL1Regressor:
        """Solve (K + alpha I) c = y."""
        self.X_, self.centre_ = X, float(y.mean())
        gram = tl1(X, X, self.rho, self.metric)
        gram[np.diag_indices(len(y))] += self.alpha
        self.dual_coef_ = scipy.linalg.solve(gram, y - self.centre_, assume_a="sym")
        return self

    def predict(self, X: Array) -> Array:
        """Return the predictions."""
        cross = tl1(X, self.X_, self.rho, self.metric)
        return np.asarray(self.centre_ + cross @ self.dual_coef_)


@dataclass(frozen=True)
class TL1Ridge(Fitted):
    """The truncated kernel, rho and alpha by held-out rows.

    The paper's formula has the L1 norm; its printed numbers are those of the Euclidean one.
    """

    metric: str = "cityblock"
    """Of SciPy: "cityblock" is L1."""
    powers: tuple[float, ...] = (-2, -1.5, -1, -0.5, 0, 0.5, 1, 2)
    """rho runs over 2**p times the median distance."""
    alphas: tuple[float, ...] = tuple(10.0**p for p in range(-5, 2))
    folds: int = 5
    tuning_rows: int = 1500
    """At most, on either side of the hold-out."""
    most_rows: int | None = 8000
    name: str = "tl1"
    title: str = "TL1 ridge"

    def choose(self, sample: Sample, seed: int) -> Setting:
        """Return the pair of the least squared error."""
        most = (self.tuning_rows, self.tuning_rows)
        pairs = parts(len(sample.y), seed, folds=self.folds, most=most)
        some = sample.X[np.random.default_rng(seed).permutation(len(sample.y))[:500]]
        unit = float(np.median(cdist(some, some, self.metric)[np.triu_indices(len(some), 1)]))
        errors = np.array([self._errors(sample, pairs, unit * 2.0**p) for p in self.powers])
        k, a = np.unravel_index(errors.argmin(), errors.shape)
        return {"rho": unit * 2.0 ** self.powers[k], "alpha": self.alphas[a]}

    def _errors(
        self, sample: Sample, pairs: Sequence[tuple[Indices, Indices]], rho: float
    ) -> Array:
        """Return the squared error of each alpha over all pairs of parts."""
        total: Array = np.zeros(len(self.alphas))
        for learn, judge in pairs:
            X, y = sample.X[learn], sample.y[learn]
            grams = (tl1(each, X, rho, self.metric) for each in (X, sample.X[judge]))
            attempts = indefinite_path(*grams, y - y.mean(), self.alphas)
            total += [np.sum((f + y.mean() - sample.y[judge]) ** 2) for f in attempts]
        return total

    def model(self, sample: Sample, setting: Setting, seed: int) -> Any:
        return TL1Regressor(**setting, metric=self.metric)


class ReweighedSVR(BaseEstimator):
    """SVR on a sum of kernels, whose weights are learned from a first fit with equal ones.

    d_m = w'K_m w / sum_k w'K_k w with the coefficients w of the first fit, as the paper is
    understood to adapt EasyMKL: unverified.
    """

    def __init__(self, kernels: Sequence[Kernel], C: float, epsilon: float, max_iter: int) -> None:
        self.kernels, self.C, self.epsilon, self.max_iter = kernels, C, epsilon, max_iter

    def fit(self, X: Array, y: Array) -> ReweighedSVR:
        """Fit with equal weights, learn the weights, fit again."""
        self.kernels_, self.X_ = normalized_kernels(self.kernels, X, True), X
        equal = np.full(len(self.kernels_), 1.0 / len(self.kernels_))
        first = self._svr().fit(self._sum(X, equal), y)
        support, w = first.support_, first.dual_coef_[0]
        sizes = [max(0.0, float(w @ kernel(X[support]) @ w)) for kernel in self.kernels_]
        total = sum(sizes)
        self.weights_ = np.array(sizes) / total if total > 0.0 else equal
        self.svr_ = self._svr().fit(self._sum(X, self.weights_), y)
        self.support_ = self.svr_.support_
        return self

    def _svr(self) -> SVR:
        return SVR(
            kernel="precomputed", C=self.C, epsilon=self.epsilon, cache_size=1000,
            max_iter=self.max_iter,
        )  # fmt: skip

    def _sum(self, X: Array, weights: Array) -> Array:
        """Return the sum of the kernels between X and the training points, one at a time."""
        total: Array = np.zeros((len(X), len(self.X_)))
        for d, kernel in zip(weights, self.kernels_, strict=True):
            if d > 0.0:
                total += d * kernel(X, self.X_)
        return total

    def predict(self, X: Array) -> Array:
        """Return the predictions of the second fit."""
        parts = np.array_split(np.arange(len(X)), 1 + len(X) // 2000)
        return np.concatenate([self.svr_.predict(self._sum(X[p], self.weights_)) for p in parts])


@dataclass(frozen=True)
class SumSVR(Fitted):
    """SVR-MKL: Gaussians, Laplacians and polynomials; or R-SVR-MKL: Gaussians alone."""

    only_gaussians: bool = False
    Cs: tuple[float, ...] = (1.0, 10.0, 100.0, 1000.0)
    epsilons: tuple[float, ...] = (0.001, 0.01)
    """The values in the paper's Table 4."""
    tuning_rows: int = 600
    """At most."""
    folds: int = 5
    most_rows: int | None = 8000
    max_iter: int = 1_000_000
    """The limit of libsvm's steps."""
    name: str = "svr-mkl"
    title: str = "SVR-MKL"

    @property
    def kind(self) -> str:
        return f"SumSVR, {self.only_gaussians}"

    def kernels(self) -> list[Kernel]:
        """Return the paper's dictionary."""
        if self.only_gaussians:
            return [Gaussian(gamma) for gamma in WIDTHS]
        local = [kind(gamma) for kind in (Gaussian, Laplacian) for gamma in FEW_WIDTHS]
        return [*local, *(Polynomial(degree=degree) for degree in DEGREES)]

    def choose(self, sample: Sample, seed: int) -> Setting:
        """Return the setting of the least squared error; of equal ones the first."""
        some = np.random.default_rng(seed).permutation(len(sample.y))[: self.tuning_rows]
        X, y = sample.X[some], sample.y[some]
        pairs = parts(len(y), seed, folds=self.folds, most=(len(y), len(y)))
        settings = [{"C": C, "epsilon": each} for C, each in product(self.Cs, self.epsilons)]
        errors = []
        for setting in settings:
            model = ReweighedSVR(self.kernels(), **setting, max_iter=50_000)
            errors.append(sum(
                np.sum((model.fit(X[a], y[a]).predict(X[b]) - y[b]) ** 2) for a, b in pairs
            ))  # fmt: skip
        return settings[int(np.argmin(errors))]

    def model(self, sample: Sample, setting: Setting, seed: int) -> Any:
        return ReweighedSVR(self.kernels(), **setting, max_iter=self.max_iter)

    def details(self, model: Any) -> dict[str, float]:
        """Return the number of support vectors."""
        return {"support": float(len(model.support_))}


@dataclass(frozen=True)
class NetworkRegressor(Fitted):
    """scikit-learn's multilayer perceptron, its learning rate by a hold-out.

    A tenth of the rows stops the training; the epoch with the best score on them is kept.
    """

    hidden: tuple[int, ...] = (500,)
    """Units of each hidden layer."""
    rates: tuple[float, ...] = (1e-3, 1e-2)
    max_iter: int = 500
    patience: int = 30
    tuning_rows: int = 4000
    """At most, on either side of the hold-out."""
    name: str = "mlp-wide"
    title: str = "Small neural network, one hidden layer"

    def choose(self, sample: Sample, seed: int) -> Setting:
        """Return the learning rate of the least error on a hold-out of a fifth."""
        most = (self.tuning_rows, self.tuning_rows)
        ((learn, judge),) = parts(len(sample.y), seed, folds=1, most=most, small=0)
        errors = []
        for rate in self.rates:
            model = self.model(sample, {"rate": rate}, seed).fit(sample.X[learn], sample.y[learn])
            errors.append(np.sum((model.predict(sample.X[judge]) - sample.y[judge]) ** 2))
        return {"rate": self.rates[int(np.argmin(errors))]}

    def model(self, sample: Sample, setting: Setting, seed: int) -> Any:
        return MLPRegressor(
            hidden_layer_sizes=self.hidden, learning_rate_init=setting["rate"], early_stopping=True,
            n_iter_no_change=self.patience, max_iter=self.max_iter,
            tol=0.0, random_state=seed,
        )  # fmt: skip


class NystroemRegressor(BaseEstimator):
    """Falkon's estimator, solved directly: min |K_nm c - y|^2 + alpha c'K_mm c, target centred."""

    def __init__(self, gamma: float, alpha: float, centres: int, seed: int) -> None:
        self.gamma, self.alpha, self.centres, self.seed = gamma, alpha, centres, seed

    def fit(self, X: Array, y: Array) -> NystroemRegressor:
        """Solve by Cholesky's factors of K_mm and of the features' normal equations."""
        chosen = np.random.default_rng(self.seed).permutation(len(y))[: self.centres]
        self.points_, self.centre_ = X[np.sort(chosen)], float(y.mean())
        kernel, m = Gaussian(self.gamma), len(chosen)
        gram = kernel(self.points_)
        gram[np.diag_indices(m)] += 1e-10 * m
        L = scipy.linalg.cholesky(gram, lower=True, overwrite_a=True)
        normal, right = np.zeros((m, m)), np.zeros(m)
        for part in np.array_split(np.arange(len(y)), 1 + len(y) // 2000):
            F = scipy.linalg.solve_triangular(L, kernel(self.points_, X[part]), lower=True)
            normal += F @ F.T
            right += F @ (y[part] - self.centre_)
        normal[np.diag_indices(m)] += self.alpha
        c = scipy.linalg.solve(normal, right, assume_a="pos")
        self.dual_coef_ = scipy.linalg.solve_triangular(L, c, lower=True, trans="T")
        return self

    def predict(self, X: Array) -> Array:
        """Return the predictions."""
        parts = np.array_split(np.arange(len(X)), 1 + len(X) // 2000)
        kernel, c = Gaussian(self.gamma), self.dual_coef_
        return self.centre_ + np.concatenate([kernel(X[p], self.points_) @ c for p in parts])


@dataclass(frozen=True)
class DirectNystroem(NystroemRidge):
    """Nystroem ridge with the paper's number of centres, which may be more than 1500."""

    name: str = "nystroem-paper"
    title: str = "Nystroem ridge, the paper's centres"

    def model(self, sample: Sample, setting: Setting, seed: int) -> Any:
        """Return the direct solution."""
        centres = min(self.centres, len(sample.y))
        return NystroemRegressor(setting["gamma"], setting["alpha"], centres, seed)
