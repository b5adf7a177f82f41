"""The factors of the variational posterior of Bayesian multiple kernel learning."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from scipy.special import digamma, gammaln, log_ndtr

from pliant.core.typing import Array

LOG_2PI = float(np.log(2.0 * np.pi))


class Gamma(NamedTuple):
    """Gamma distributions, of density proportional to t^(shape - 1) exp(-rate t)."""

    shape: float
    rate: Any

    @property
    def mean(self) -> Any:
        """Return E[t]."""
        return self.shape / self.rate

    @property
    def mean_log(self) -> Any:
        """Return E[log t]."""
        return digamma(self.shape) - np.log(self.rate)

    def updated(self, count: int, squares: Any) -> Gamma:
        """Return the posterior of a precision, given `count` normal deviations of such squares."""
        return Gamma(self.shape + 0.5 * count, self.rate + 0.5 * squares)

    def divergence(self, prior: Gamma) -> float:
        """Return KL(self | prior), summed over all."""
        ratio = np.asarray(prior.rate / self.rate)
        each = (
            (self.shape - prior.shape) * digamma(self.shape)
            - gammaln(self.shape)
            + gammaln(prior.shape)
            - prior.shape * np.log(ratio)
            + self.shape * (ratio - 1.0)
        )
        return float(np.sum(each))


@dataclass
class Posterior:
    """The factors of q, for n points, M kernels and L outputs."""

    coef_precision: Gamma
    """q(lambda), of L x n precisions."""
    coef: Array
    """Means of q(a), shape (L, n)."""
    coef_cov: Array
    """Covariances of q(a), shape (L, n, n)."""
    images: Array
    """K_m coef_l, shape (L, M, n)."""
    coef_log_det: Array
    """log det of coef_cov, shape (L,)."""
    latent: Array
    """Means of q(G), shape (L, M, n)."""
    latent_cov: Array
    """Covariance of q(G), the same for all points and outputs, shape (M, M)."""
    bias_precision: Gamma
    """q(gamma), of L precisions."""
    weight_precision: Gamma
    """q(omega), of M precisions."""
    line: Array
    """Mean of q(b, e): L biases, then M weights."""
    line_cov: Array
    """Covariance of q(b, e), shape (L + M, L + M)."""
    latent_noise: Gamma
    """q(upsilon)."""
    noise: Gamma
    """q(epsilon)."""
    centre: Array
    """The truncated normals of q(f) have this mean before they are truncated, shape (L, n)."""

    def ahead(self, before: Posterior, share: float) -> Posterior:
        """Return the posterior a share of the last change further on, in what `Model.sweep` reads.

        Means move along a line, and rates of precisions along one of their logarithms.
        """

        def moved(now: Array, then: Array) -> Array:
            return np.asarray(now + share * (now - then))

        def scaled(now: Gamma, then: Gamma) -> Gamma:
            return Gamma(now.shape, now.rate * (now.rate / then.rate) ** share)

        return replace(
            self,
            latent=moved(self.latent, before.latent),
            line=moved(self.line, before.line),
            centre=moved(self.centre, before.centre),
            coef_precision=scaled(self.coef_precision, before.coef_precision),
            weight_precision=scaled(self.weight_precision, before.weight_precision),
        )

    @property
    def bias(self) -> Array:
        """Return the means of b, shape (L,)."""
        return self.line[: len(self.coef)]

    @property
    def weights(self) -> Array:
        """Return the means of e, shape (M,)."""
        return self.line[len(self.coef) :]

    @property
    def weight_products(self) -> Array:
        """Return E[e e'], shape (M, M)."""
        outputs = len(self.coef)
        return np.outer(self.weights, self.weights) + self.line_cov[outputs:, outputs:]

    @property
    def weights_and_bias(self) -> Array:
        """Return E[b_l e], shape (L, M)."""
        outputs = len(self.coef)
        return np.outer(self.bias, self.weights) + self.line_cov[:outputs, outputs:]

    @property
    def fitted(self) -> Array:
        """Return E[e'g_li + b_l], shape (L, n)."""
        return np.einsum("m,lmi->li", self.weights, self.latent) + self.bias[:, None]


class Truncated(NamedTuple):
    """Normal distributions of variance 1 around `centre`, given sign * f > margin."""

    mean: Array
    variance: Array
    log_mass: Array
    """Logarithm of the probability of the side that is kept."""

    @classmethod
    def of(cls, centre: Array, signs: Array, margin: float) -> Truncated:
        """Return moments that are right far in the tails as well."""
        short = margin - signs * centre
        log_mass = log_ndtr(-short)
        hazard = np.exp(-0.5 * short**2 - 0.5 * LOG_2PI - log_mass)
        variance = np.clip(1.0 - hazard * (hazard - short), 0.0, 1.0)
        return cls(centre + signs * hazard, variance, log_mass)
