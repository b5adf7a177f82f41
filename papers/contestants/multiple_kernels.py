"""Multiple kernel learning, which the papers compare with: pliant's, and a closed form that fails.

All have C and, if there are any, other parameters by cross-validation; a table whose peers have
defaults misleads.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from papers.contestants.tkl import Setting, Tuned
from papers.sample import Labels, Sample
from pliant import BEMKLClassifier, BEMKLRegressor, MKLClassifier, MKLRegressor
from pliant.core.typing import Array
from pliant.kernels import Gaussian, Kernel, Polynomial
from pliant.methods.mkl.alignment import alignments
from pliant.methods.mkl.candidates import DEGREES, WIDTHS, normalized_kernels
from pliant.methods.mkl.grams import Grams

CS = tuple(10.0**p for p in range(-1, 4))
"""Penalty parameters to choose from."""

SIGMAS = tuple(2.0**p for p in range(-5, 6))
"""Widths of MKL-uniform, of features in [0, 1] (Liu et al. 2020, section 6.1.1)."""

CACHE_MB = 4000.0
"""Memory for Gram matrices."""

C_FREE = ("uniform", "easy", "align", "alignf")
"""Rules whose weights do not depend on C."""


def gaussians(sigmas: tuple[float, ...]) -> list[Kernel]:
    """Return exp(-|x - x'|^2 / (2 sigma^2)) for each sigma."""
    return [Gaussian(0.5 / sigma**2) for sigma in sigmas]


def standard_kernels() -> list[Kernel]:
    """Return ten Gaussians and three polynomials, of all features, which are standardised."""
    return [*gaussians(WIDTHS), *(Polynomial(degree=degree) for degree in DEGREES)]


@dataclass(frozen=True)
class WeightedKernels(Tuned):
    """pliant's MKLClassifier or MKLRegressor with one rule for the weights, C by cross-validation.

    EasyMKL's problem and the formulas of Tanabe et al. (2008) are unverified: see the library.
    """

    rule: str = "simple"
    """The library's parameter ``weights``."""
    kernels: str = "all features"
    """"all features" are `standard_kernels`, "each feature" the library's default, which has the
    same of each feature as well, and "widths" Gaussians of `SIGMAS`, features as they come."""
    Cs: tuple[float, ...] = CS
    epsilon: float = 0.1
    """Errors left free, in standard deviations of the training target."""
    tol: float = 1e-2
    """Relative gap; that of SimpleMKL's authors."""
    max_iter: int = 100
    rows: int | None = 600
    fit_rows: int | None = None
    """The last fit is to this many random training rows at most; None for all."""
    name: str = "mkl"
    title: str = "MKL"

    @property
    def kind(self) -> str:
        unverified = self.rule in ("easy", "performance")
        return f"WeightedKernels, {'unverified' if unverified else self.kernels}"

    def settings(self) -> list[Setting]:
        """Return the penalty parameters, the least first."""
        return [{"C": C} for C in self.Cs]

    def model(self, task: str, setting: Setting, seed: int, *, final: bool = True) -> Any:
        """Return the estimator, behind a scaler unless it scales itself."""
        options: dict[str, Any] = {
            "C": setting["C"], "weights": self.rule, "tol": self.tol, "max_iter": self.max_iter,
            "cache_mb": CACHE_MB, "random_state": seed,
        }  # fmt: skip
        if self.kernels == "each feature":
            kernels: Any = "auto"
        else:
            kernels = standard_kernels() if self.kernels == "all features" else gaussians(SIGMAS)
        if task == "classification":
            model: Any = MKLClassifier(kernels, **options)
        else:
            model = MKLRegressor(kernels, **options, epsilon=self.epsilon)
        if self.kernels == "all features":
            model = make_pipeline(StandardScaler(), model)
        return OnSome(model, self.fit_rows, seed) if final and self.fit_rows else model

    def attempts(self, sample: Sample, X_new: Array, seed: int) -> Iterator[npt.NDArray[Any]]:
        """Predict with each C; weights that do not depend on it are learned once."""
        if self.rule not in C_FREE or sample.task == "regression":
            yield from super().attempts(sample, X_new, seed)
            return
        first = self.model(sample.task, self.settings()[0], seed, final=False)
        first.fit(sample.X, sample.y)
        X, new, model = sample.X, X_new, first
        if self.kernels == "all features":
            X, new, model = first[:-1].transform(X), first[:-1].transform(new), first[-1]
        gram, cross = model.kernel_(X), model.kernel_(new, X)
        for C in self.Cs:
            yield np.asarray(SVC(C=C, kernel="precomputed").fit(gram, sample.y).predict(cross))


class OnSome(BaseEstimator):
    """An estimator that is fitted to some random rows at most."""

    def __init__(self, model: Any, most: int, seed: int) -> None:
        self.model, self.most, self.seed = model, most, seed

    def fit(self, X: Array, y: Labels) -> OnSome:
        """Fit to `most` random rows at most."""
        kept = np.random.default_rng(self.seed).permutation(len(y))[: self.most]
        self.model.fit(X[np.sort(kept)], y[np.sort(kept)])
        return self

    def predict(self, X: Array) -> npt.NDArray[Any]:
        """Return the predictions of the fitted one."""
        return np.asarray(self.model.predict(X))


@dataclass(frozen=True)
class Bayesian(Tuned):
    """pliant's BEMKLClassifier or BEMKLRegressor on `standard_kernels`.

    The prior of the kernel weights is chosen by cross-validation: it has no penalty parameter.
    """

    scales: tuple[float, ...] = (1.0, 1e10)
    """Scales of the Gamma prior of the weights' precisions, with shapes 1/scale: flat, sparse."""
    max_iter: int = 200
    rows: int | None = 600
    fit_rows: int | None = 1000
    """The last fit is to this many random training rows at most: an iteration is cubic in them."""
    name: str = "bemkl"
    title: str = "BEMKL"

    def settings(self) -> list[Setting]:
        """Return the scales of the prior."""
        return [{"scale": scale} for scale in self.scales]

    def model(self, task: str, setting: Setting, seed: int, *, final: bool = True) -> Any:
        """Return the estimator behind a scaler."""
        kind = BEMKLClassifier if task == "classification" else BEMKLRegressor
        prior = (1.0 / setting["scale"], setting["scale"])
        model = kind(standard_kernels(), weights_prior=prior, max_iter=self.max_iter)
        scaled = make_pipeline(StandardScaler(), model)
        return OnSome(scaled, self.fit_rows, seed) if final and self.fit_rows else scaled


def closed_form(products: Array, targets: Array) -> Array:
    """Return d = M^{-1} a / |M^{-1} a|: alignf without its constraint d >= 0. Unverified.

    M_mk = <K_m, K_k> and a_m = <K_m, yy'> of centred matrices (Cortes et al. 2010, in closed form,
    as the toolbox MKLpy is recalled to have it). M of many Gaussians has condition numbers up to
    1e15, and weights of both signs that have nothing to do with the optimum.
    """
    try:
        d = np.linalg.inv(products) @ targets
    except np.linalg.LinAlgError:
        d = np.linalg.pinv(products) @ targets
    return np.asarray(d / np.linalg.norm(d))


class ClosedFormAlignment(BaseEstimator):
    """A support vector machine on sum_m d_m K_m with the d of `closed_form`, for two classes."""

    def __init__(self, C: float = 1.0) -> None:
        self.C = C

    def fit(self, X: Array, y: Labels) -> ClosedFormAlignment:
        """Compute the weights, and fit the SVM to a matrix that may be indefinite."""
        self.kernels_ = normalized_kernels(standard_kernels(), X, True)
        grams = Grams(self.kernels_, X, CACHE_MB)
        inner = alignments(grams, np.where(y == np.max(y), 1.0, -1.0))
        self.weights_ = closed_form(inner.products, inner.targets)
        self.X_ = X
        self.svc_ = SVC(C=self.C, kernel="precomputed", max_iter=200_000)
        self.svc_.fit(grams.combined(self.weights_), y)
        return self

    def cross(self, X: Array) -> Array:
        """Return the sum of the kernels between X and the training points."""
        weighed = zip(self.weights_, self.kernels_, strict=True)
        return np.asarray(sum(d * kernel(X, self.X_) for d, kernel in weighed))

    def predict(self, X: Array) -> npt.NDArray[Any]:
        """Return the labels of the SVM."""
        return np.asarray(self.svc_.predict(self.cross(X)))


@dataclass(frozen=True)
class BrokenAlignment(Tuned):
    """The closed form of centred alignment without w >= 0: it is broken, and kept for a table."""

    Cs: tuple[float, ...] = CS
    rows: int | None = 600
    name: str = "broken-cka"
    title: str = "CKA without w >= 0 (broken)"

    def settings(self) -> list[Setting]:
        """Return the penalty parameters, the least first."""
        return [{"C": C} for C in self.Cs]

    def model(self, task: str, setting: Setting, seed: int, *, final: bool = True) -> Any:
        """Return the estimator behind a scaler."""
        return make_pipeline(StandardScaler(), ClosedFormAlignment(setting["C"]))


def pairs(**values: tuple[float, ...]) -> list[Setting]:
    """Return all combinations of some parameters, the last one varying first."""
    return [dict(zip(values, each, strict=True)) for each in product(*values.values())]
