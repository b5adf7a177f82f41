"""Other methods that DANK compares with: LogDet, learned random features, a local metric."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import brentq
from scipy.spatial.distance import cdist
from sklearn.base import BaseEstimator
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC, LinearSVC

from papers.contestants.tuned import Setting, Tuned
from papers.sample import Labels, Sample, typical_gamma
from pliant import LogDetLearner
from pliant.core.typing import Array

RIDGE = 1e-3
"""Added to the covariance of the local metric, in units of its mean variance."""


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


class AlignedFeatures(BaseEstimator):
    """Random Fourier features of a Gaussian, weighted by alignment (Sinha and Duchi 2016).

    Of N candidates the weights q maximise sum_i q_i s_i over N |q - 1/N|^2 <= rho, with s_i the
    squared mean of the target times the feature; rho is `share` N.
    """

    def __init__(self, gamma: float, candidates: int, share: float, seed: int = 0) -> None:
        self.gamma, self.candidates, self.share, self.seed = gamma, candidates, share, seed

    def fit(self, X: Array, y: Labels) -> AlignedFeatures:
        """Draw candidates, and weigh them."""
        draw = np.random.RandomState(self.seed)
        self.centre_ = X.mean(axis=0)
        frequencies = draw.standard_normal((X.shape[1], self.candidates))
        self.frequencies_ = np.sqrt(2.0 * self.gamma) * frequencies
        self.offsets_ = draw.uniform(0.0, 2.0 * np.pi, self.candidates)
        self.weights_ = np.full(self.candidates, 0.5)
        labels = np.unique(y)
        columns = 1.0 * (np.asarray(y)[:, None] == (labels[1:] if len(labels) == 2 else labels))
        scores = (((columns - columns.mean(axis=0)).T @ self.transform(X) / len(y)) ** 2).sum(
            axis=0
        )
        self.weights_ = weights_in_ball(scores, self.share * self.candidates)
        return self

    def transform(self, X: Array) -> Array:
        """Return the weighted features of positive weight, shape (n, n_kept)."""
        kept = self.weights_ > 0.0
        inside = (X - self.centre_) @ self.frequencies_[:, kept] + self.offsets_[kept]
        return np.asarray(np.cos(inside) * np.sqrt(2.0 * self.weights_[kept]))


def weights_in_ball(scores: Array, rho: float) -> Array:
    """Return the q >= 0, sum q = 1, N |q - 1/N|^2 <= rho of the largest q's: (s - t)_+ scaled."""

    def weights(t: float) -> Array:
        raw = np.maximum(scores - t, 0.0)
        return np.asarray(raw / raw.sum())

    def excess(t: float) -> float:
        q = weights(t)
        return float(len(q) * (q @ q) - 1.0 - rho)

    top, width = scores.max(), float(np.ptp(scores)) or 1.0
    last = float(top - 1e-9 * width)
    return weights(last if excess(last) <= 0.0 else brentq(excess, top - 1e9 * width, last))


class RandomFeatures(Tuned):
    """Learned random features and a linear SVM: width and C by cross-validation."""

    candidates: int
    share: float
    """rho / N, the authors' as recalled: unverified."""

    def model(self, sample: Sample, setting: Setting, seed: int, *, final: bool = True) -> Any:
        gamma = typical_gamma(sample.X, seed) * 2.0 ** setting["power"]
        features = AlignedFeatures(gamma, self.candidates, self.share, seed)
        return make_pipeline(features, LinearSVC(C=setting["C"], dual=False))


class LocalMetric(BaseEstimator):
    r"""Nadaraya-Watson regression with a metric of its own at each point (after Noh et al. 2017).

    Derived here, not checked against the paper: unverified. With a kernel of |A^{1/2} (x - x')| / h
    the bias of the estimate at x is, to second order in h, proportional to tr(A^{-1} B) with
    B = (g u' + u g')/2 + H/2, g = grad log p(x), u = grad y(x), H = hess y(x). If x and y are
    jointly normal, g = -S^{-1} (x - mu), u = S^{-1} s_xy and H = 0: B has the eigenvalues
    lam = (g'u +- |g| |u|)/2 along g/|g| +- u/|u|. A ~ sum |lam| v v' on their plane makes the trace
    zero. With a strength c it is mixed with the identity, and scaled to determinant one:

        A = (I + c sum |lam| v v' / (|g| |u|)) / det^{1/d}.

    The kernel is exp(-gamma (x - x')'A(x - x')) of standardised features, gamma 2**power over their
    median squared distance.
    """

    def __init__(self, strength: float = 1.0, power: float = 0.0) -> None:
        self.strength, self.power = strength, power

    def fit(self, X: Array, y: Array) -> LocalMetric:
        """Keep the rows, standardised, and the normal model of features and target."""
        self.mean_, spread = X.mean(axis=0), X.std(axis=0)
        self.scale_ = np.where(spread > 0.0, spread, 1.0)
        self.Z_ = (X - self.mean_) / self.scale_
        self.y_ = np.asarray(y, dtype=np.float64)
        d = X.shape[1]
        S = self.Z_.T @ self.Z_ / len(y)
        S += RIDGE * np.trace(S) / d * np.eye(d)
        self.precision_ = np.linalg.inv(S)
        self.slope_ = self.precision_ @ (self.Z_.T @ (self.y_ - self.y_.mean())) / len(y)
        self.gamma_ = typical_gamma(self.Z_) * 2.0**self.power
        return self

    def predict(self, X: Array) -> Array:
        """Return the weighted means; far from all rows that of the nearest ones."""
        parts = np.array_split(np.arange(len(X)), 1 + len(X) // 500)
        return np.concatenate([self._predict((X[p] - self.mean_) / self.scale_) for p in parts])

    def _predict(self, Z: Array) -> Array:
        squares = cdist(Z, self.Z_, "sqeuclidean")
        if self.strength:
            g = -Z @ self.precision_
            values, vectors = directions(g, self.slope_)
            sizes = np.linalg.norm(g, axis=1) * np.linalg.norm(self.slope_)
            weights = self.strength * np.abs(values) / np.maximum(sizes, 1e-300)[:, None]
            for k in range(2):  # (v'(x - x'))^2 for each pair
                along = (Z * vectors[:, k]).sum(axis=1)[:, None] - vectors[:, k] @ self.Z_.T
                squares += weights[:, k, None] * along**2
            squares /= (np.prod(1.0 + weights, axis=1) ** (1.0 / Z.shape[1]))[:, None]
        exponents: Any = -self.gamma_ * squares
        kernel = np.exp(exponents - exponents.max(axis=1, keepdims=True))
        return np.asarray(kernel @ self.y_ / kernel.sum(axis=1))


def directions(g: Array, u: Array) -> tuple[Array, Array]:
    """Return both eigenvalues of (g u' + u g')/2, (m, 2), and unit eigenvectors, (m, 2, d).

    `g` has shape (m, d), `u` (d,). Where one of both is zero, so are the eigenvalues.
    """
    lengths = np.linalg.norm(g, axis=1)
    inner, sizes = g @ u, lengths * np.linalg.norm(u)
    values = 0.5 * np.stack([inner + sizes, inner - sizes], axis=1)
    a = g / np.maximum(lengths, 1e-300)[:, None]
    b = u / max(float(np.linalg.norm(u)), 1e-300)
    vectors = np.stack([a + b, a - b], axis=1)
    return values, vectors / np.maximum(np.linalg.norm(vectors, axis=2, keepdims=True), 1e-300)


class LocalMetricRegression(Tuned):
    """`LocalMetric`, its bandwidth and strength by cross-validation."""

    def model(self, sample: Sample, setting: Setting, seed: int, *, final: bool = True) -> Any:
        return LocalMetric(**setting)
