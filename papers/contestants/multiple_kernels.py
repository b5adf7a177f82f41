"""Multiple kernel learning, which the papers compare with: pliant's, and rules that it has not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.special import log_ndtr
from sklearn.base import BaseEstimator
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR

from papers.contestants.tuned import Setting, Tuned, predicted_labels
from papers.sample import Labels, Sample
from pliant import MKLClassifier, MKLRegressor
from pliant.core.typing import Array
from pliant.kernels import Gaussian, Kernel, Polynomial

WIDTHS = (0.5, 1.0, 2.0, 5.0, 7.0, 10.0, 12.0, 15.0, 17.0, 20.0)
"""Standard deviations of Gaussians of standardised features, of Rakotomamonjy et al. (2008), who
have polynomials of degrees 1 to 3 beside them."""

SIGMAS = tuple(2.0**p for p in range(-5, 6))
"""Widths of MKL-uniform, of features in [0, 1] (Liu et al. 2020, section 6.1.1)."""

MOST_STEPS = 200_000
"""The limit of libsvm's steps on an indefinite matrix."""


def gaussians(sigmas: Sequence[float]) -> list[Kernel]:
    """Return exp(-|x - x'|^2 / (2 sigma^2)) for each sigma."""
    return [Gaussian(0.5 / sigma**2) for sigma in sigmas]


def standard_kernels() -> list[Kernel]:
    """Return ten Gaussians and three polynomials, of all features, which are standardised."""
    return [*gaussians(WIDTHS), *(Polynomial(degree=degree) for degree in (1, 2, 3))]


def normalised(kernel: Kernel, X: Array, Y: Array) -> Array:
    """Return the kernel between X and Y, scaled to k(x, x) = 1."""
    return np.asarray(kernel(X, Y) / np.sqrt(np.outer(kernel.diag(X), kernel.diag(Y))))


class WeightedKernels(Tuned):
    """MKLClassifier or MKLRegressor with one rule for the weights, C by cross-validation."""

    rule: str
    kernels: str
    """"all features" are `standard_kernels`, "each feature" the library's default, which has the
    same of each feature as well, and "widths" Gaussians of `SIGMAS`, features as they come."""
    tol: float = 1e-2
    """Relative gap; that of SimpleMKL's authors."""

    def model(self, sample: Sample, setting: Setting, seed: int, *, final: bool = True) -> Any:
        kernels: Any = "auto"
        if self.kernels != "each feature":
            kernels = standard_kernels() if self.kernels == "all features" else gaussians(SIGMAS)
        options = {"weights": self.rule, "tol": self.tol, "max_iter": 100}
        if sample.task == "classification":
            model: Any = MKLClassifier(kernels, **setting, **options)
        else:
            model = MKLRegressor(kernels, **setting, **options, epsilon=0.1)
        return make_pipeline(StandardScaler(), model) if self.kernels == "all features" else model


class SumMachine(BaseEstimator):
    """A support vector machine on sum_m d_m K_m of normalised kernels, d by `weigh`."""

    def __init__(self, kernels: Sequence[Kernel], C: float) -> None:
        self.kernels, self.C = kernels, C

    def machine(self) -> Any:
        """Return the support vector machine."""
        return SVC(C=self.C, kernel="precomputed", cache_size=500, max_iter=MOST_STEPS)

    def weigh(self, grams: Array, y: Labels) -> Array:
        """Return the weights d."""
        raise NotImplementedError

    def fit(self, X: Array, y: Labels) -> SumMachine:
        """Compute the weights, and fit the machine to the sum, which may be indefinite."""
        self.X_ = X
        grams = np.stack([normalised(kernel, X, X) for kernel in self.kernels])
        self.weights_ = self.weigh(grams, y)
        self.svm_ = self.machine().fit(np.tensordot(self.weights_, grams, 1), y)
        self.support_ = self.svm_.support_
        return self

    def cross(self, X: Array) -> Array:
        """Return the sum of the kernels between X and the training points."""
        total = np.zeros((len(X), len(self.X_)))
        for d, kernel in zip(self.weights_, self.kernels, strict=True):
            total += d * normalised(kernel, X, self.X_) if d else 0.0
        return total

    def predict(self, X: Array) -> Labels:
        """Return the predictions of the machine, some rows at a time."""
        parts = np.array_split(np.arange(len(X)), 1 + len(X) // 2000)
        return np.concatenate([self.svm_.predict(self.cross(X[part])) for part in parts])


class ClosedFormAlignment(SumMachine):
    """d = M^{-1} a / |M^{-1} a|: alignf without its constraint d >= 0. Unverified.

    M_mk = <K_m, K_k> and a_m = <K_m, yy'> of centred matrices (Cortes et al. 2010, in closed form,
    as the toolbox MKLpy is recalled to have it). M of many Gaussians has condition numbers up to
    1e15, and weights of both signs that have nothing to do with the optimum.
    """

    def weigh(self, grams: Array, y: Labels) -> Array:
        centred = grams - grams.mean(axis=1, keepdims=True)
        centred -= centred.mean(axis=2, keepdims=True)
        signs = np.where(y == np.max(y), 1.0, -1.0)
        products = np.einsum("mij,kij->mk", centred, centred)
        targets = np.einsum("mij,i,j->m", centred, signs, signs)
        try:
            d = np.linalg.inv(products) @ targets
        except np.linalg.LinAlgError:
            d = np.linalg.pinv(products) @ targets
        return np.asarray(d / np.linalg.norm(d))


class Performance(SumMachine):
    """d_m ~ max(0, the accuracy of kernel m alone in cross-validation less the largest class).

    The idea is from Tanabe et al. (2008), with a threshold of our own; unverified.
    """

    def weigh(self, grams: Array, y: Labels) -> Array:
        scores = [cross_val_score(self.machine(), gram, y, cv=5).mean() for gram in grams]
        chance = np.unique(y, return_counts=True)[1].max() / len(y)
        raw = np.maximum(np.array(scores) - chance, 0.0)
        return raw / raw.sum() if raw.any() else np.full(len(raw), 1.0 / len(raw))


class ReweighedSVR(SumMachine):
    """SVR on a sum of kernels, whose weights are learned from a first fit with equal ones.

    d_m = w'K_m w / sum_k w'K_k w with the coefficients w of the first fit, as LAB-RBF's paper is
    understood to adapt EasyMKL: unverified.
    """

    def __init__(self, kernels: Sequence[Kernel], C: float, epsilon: float, max_iter: int) -> None:
        super().__init__(kernels, C)
        self.epsilon, self.max_iter = epsilon, max_iter

    def machine(self) -> SVR:
        given = {"C": self.C, "epsilon": self.epsilon, "max_iter": self.max_iter}
        return SVR(kernel="precomputed", **given, cache_size=1000)

    def weigh(self, grams: Array, y: Labels) -> Array:
        first = self.machine().fit(grams.mean(axis=0), y)
        rows, w = first.support_, first.dual_coef_[0]
        sizes = np.maximum([w @ gram[np.ix_(rows, rows)] @ w for gram in grams], 0.0)
        return sizes / sizes.sum() if sizes.any() else np.full(len(grams), 1.0 / len(grams))


class SumKernels(Tuned):
    """`ClosedFormAlignment` or `Performance` on `standard_kernels`, C by cross-validation."""

    rule: str

    def model(self, sample: Sample, setting: Setting, seed: int, *, final: bool = True) -> Any:
        kind = {"closed": ClosedFormAlignment, "performance": Performance}[self.rule]
        return make_pipeline(StandardScaler(), kind(standard_kernels(), setting["C"]))


class BEMKL(BaseEstimator):
    """Bayesian efficient multiple kernel learning (Gönen 2012) by variational inference.

    M Gram matrices K_m, and outputs y_l: one for a regression and for two classes, one for each
    class against the others for more. With Gamma priors of all precisions,

        a_li ~ N(0, 1/lambda_li)    g_lmi ~ N((K_m a_l)_i, 1/upsilon)    b_l ~ N(0, 1/gamma_l)
        e_m ~ N(0, 1/omega_m)       f_li ~ N(e'g_li + b_l, 1/epsilon)

    A regression sees f = y. A classification sees that y_li f_li > 1, with upsilon = 100 and
    epsilon = 1 fixed. The factors q(a) q(G) q(b, e) q(f) and those of the precisions are updated in
    turn, each to its best with the others fixed. `weights_prior` has shape and scale of omega.
    """

    def __init__(
        self,
        kernels: Sequence[Kernel],
        classes: bool,
        weights_prior: tuple[float, float] = (1.0, 1.0),
        max_iter: int = 200,
    ) -> None:
        self.kernels, self.classes, self.weights_prior = kernels, classes, weights_prior
        self.max_iter = max_iter

    def fit(self, X: Array, y: Labels) -> BEMKL:
        """Update all factors `max_iter` times, from equal weights and g that give the targets."""
        self.X_, self.centre_, self.scale_ = X, 0.0, 1.0
        if self.classes:
            self.classes_ = np.unique(y)
            kinds = self.classes_[1:] if len(self.classes_) == 2 else self.classes_
            self.target_ = np.where(y == kinds[:, None], 1.0, -1.0)
        else:
            self.centre_, self.scale_ = float(np.mean(y)), float(np.std(y)) or 1.0
            self.target_ = (np.asarray(y, dtype=float)[None] - self.centre_) / self.scale_
        self.grams_ = np.stack([normalised(kernel, X, X) for kernel in self.kernels])
        self.squares_ = np.einsum("mij,mjk->ik", self.grams_, self.grams_, optimize=True)
        self.start()
        for _ in range(self.max_iter):
            self.sweep()
        del self.grams_, self.squares_
        return self

    def start(self) -> None:
        """Set the factors that a sweep reads."""
        (L, n), M = self.target_.shape, len(self.grams_)
        share = 1.0 / np.sqrt(M)
        self.f_ = (1.5 if self.classes else 1.0) * self.target_
        self.latent_ = np.repeat(share * self.f_[:, None], M, axis=1)
        self.lam_, self.gam_, self.om_ = np.ones((L, n)), np.ones(L), np.ones(M)
        self.upsilon_, self.epsilon_ = 100.0 if self.classes else 1.0, 1.0
        self.line_ = np.concatenate([np.zeros(L), np.full(M, share)])
        self.line_cov_ = np.eye(L + M) / M
        self.f_ = self._outputs(np.zeros((L, n)))

    def sweep(self) -> None:
        """Update each factor once."""
        (L, n), M = self.target_.shape, len(self.grams_)
        upsilon, epsilon, e = self.upsilon_, self.epsilon_, self.line_[L:]
        pull = upsilon * np.einsum("mij,lmj->li", self.grams_, self.latent_, optimize=True)
        covariances = [np.linalg.inv(np.diag(lam) + upsilon * self.squares_) for lam in self.lam_]
        self.coef_ = np.stack([S @ row for S, row in zip(covariances, pull, strict=True)])
        images = np.einsum("mij,lj->lmi", self.grams_, self.coef_, optimize=True)
        products = np.outer(e, e) + self.line_cov_[L:, L:]
        latent_cov = np.linalg.inv(upsilon * np.eye(M) + epsilon * products)
        with_bias = np.outer(self.line_[:L], e) + self.line_cov_[:L, L:]
        drive = epsilon * (e[:, None] * self.f_[:, None] - with_bias[:, :, None])
        self.latent_ = latent_cov @ (upsilon * images + drive)
        Z = np.zeros((L, L + M, n))  # the features of b and e
        Z[np.arange(L), np.arange(L)] = 1.0
        Z[:, L:] = self.latent_
        second = np.einsum("lai,lbi->ab", Z, Z)
        second[L:, L:] += L * n * latent_cov
        prior = np.diag(np.concatenate([self.gam_, self.om_]))
        self.line_cov_ = np.linalg.inv(prior + epsilon * second)
        self.line_ = self.line_cov_ @ (epsilon * np.einsum("lai,li->a", Z, self.f_))
        fitted = np.einsum("a,lai->li", self.line_, Z)
        self.f_ = self._outputs(fitted)
        variances = np.stack([S.diagonal() for S in covariances])
        line = self.line_**2 + self.line_cov_.diagonal()
        self.lam_ = 1.5 / (1.0 + 0.5 * (self.coef_**2 + variances))
        self.gam_ = 1.5 / (1.0 + 0.5 * line[:L])
        shape, scale = self.weights_prior
        self.om_ = (shape + 0.5) / (1.0 / scale + 0.5 * line[L:])
        if not self.classes:
            missed = ((self.latent_ - images) ** 2).sum() + L * n * latent_cov.trace()
            missed += sum(np.vdot(self.squares_, S) for S in covariances)
            left = ((self.f_ - fitted) ** 2).sum() + np.vdot(self.line_cov_, second)
            left += L * n * np.vdot(latent_cov, np.outer(self.line_[L:], self.line_[L:]))
            self.upsilon_ = (1.0 + 0.5 * L * M * n) / (1.0 + 0.5 * missed)
            self.epsilon_ = (1.0 + 0.5 * L * n) / (1.0 + 0.5 * left)

    def _outputs(self, centre: Array) -> Array:
        """Return the mean of f: the target, or that of a normal truncated at the margin of 1."""
        if not self.classes:
            return self.target_
        short = 1.0 - self.target_ * centre
        hazard = np.exp(-0.5 * short**2 - 0.5 * np.log(2.0 * np.pi) - log_ndtr(-short))
        return np.asarray(centre + self.target_ * hazard)

    def predict(self, X: Array) -> Labels:
        """Return the label of the largest mean of f, or that mean."""
        bias, weights = np.split(self.line_, [len(self.target_)])
        cross = [d * normalised(k, X, self.X_) for d, k in zip(weights, self.kernels, strict=True)]
        values = np.sum(cross, axis=0) @ self.coef_.T + bias
        if not self.classes:
            return self.centre_ + self.scale_ * values[:, 0]
        return predicted_labels(values[:, 0] if len(bias) == 1 else values, self.classes_)


class Bayesian(Tuned):
    """BEMKL on `standard_kernels`; the prior of the weights by cross-validation, it has no C."""

    max_iter: int

    def model(self, sample: Sample, setting: Setting, seed: int, *, final: bool = True) -> Any:
        prior, classes = (1.0 / setting["scale"], setting["scale"]), sample.task == "classification"
        model = BEMKL(standard_kernels(), classes, prior, self.max_iter)
        return make_pipeline(StandardScaler(), model)
