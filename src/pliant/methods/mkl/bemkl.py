"""The model of Bayesian efficient multiple kernel learning, and its variational posterior.

M Gram matrices K_m of n points, and L outputs y_l: one for a regression and for two classes, one
for each class (against the others) for more. With shapes and scales as priors,

    lambda_li ~ Gamma     a_li ~ N(0, 1/lambda_li)                     coefficients
    upsilon ~ Gamma       g_lmi ~ N((K_m a_l)_i, 1/upsilon)            latent features
    gamma_l ~ Gamma       b_l ~ N(0, 1/gamma_l)                        bias
    omega_m ~ Gamma       e_m ~ N(0, 1/omega_m)                        kernel weights
    epsilon ~ Gamma       f_li ~ N(e'g_li + b_l, 1/epsilon)            outputs

A regression sees f = y. A classification sees that y_li f_li > margin, with upsilon = 1/sigma_g^2
and epsilon = 1 fixed. The kernel weights e are shared by all outputs.

The posterior is approximated by independent factors q(lambda) q(a) q(G) q(gamma) q(omega) q(b, e)
q(upsilon) q(epsilon) q(f): Gamma, Gaussian and truncated Gaussian distributions. Each update
maximises the lower bound of the evidence in one factor, the others fixed.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize_scalar

from pliant.core.linalg import spd_inverse
from pliant.core.typing import Array
from pliant.methods.mkl.bemkl_factors import LOG_2PI, Gamma, Posterior, Truncated
from pliant.methods.mkl.grams import Grams

JOINT_STEPS = 2
"""Steps of conjugate gradients in the means of q(a) and q(G) together, in each iteration."""


class Priors(NamedTuple):
    """Of the precisions; None where a classification fixes them."""

    coef: Gamma
    bias: Gamma
    weights: Gamma
    latent_noise: Gamma | None = None
    noise: Gamma | None = None


class Model:
    """The joint distribution of data and unknowns.

    Parameters
    ----------
    grams : Grams
        M symmetric matrices.
    target : array of shape (L, n)
        Real targets, or signs.
    priors : Priors
    sigma_g, margin : float
        Of a classification, whose priors of the two noises are None.
    joint_steps : int
        See `JOINT_STEPS`; 0 for the updates of the single factors only.
    """

    def __init__(
        self,
        grams: Grams,
        target: Array,
        priors: Priors,
        *,
        sigma_g: float = 0.1,
        margin: float = 1.0,
        joint_steps: int = JOINT_STEPS,
    ) -> None:
        self.grams, self.target, self.priors = grams, target, priors
        self.latent_precision, self.margin = sigma_g**-2, margin
        self.joint_steps = joint_steps
        self.signs = priors.noise is None
        self.squares = _sum_of_squares(grams)
        # A ridge of the size of the rounding errors keeps the sum definite. It lowers the bound by
        # upsilon ridge E|a|^2 / 2, so that it remains one.
        spread = grams.n * float(np.finfo(np.float64).eps)
        self.ridge = 10.0 * spread * float(self.squares.diagonal().max())
        self.squares[np.diag_indices(grams.n)] += self.ridge

    def start(self) -> Posterior:
        """Return equal weights and latent features that reproduce the targets."""
        outputs, n, count = len(self.target), self.grams.n, len(self.grams)
        target = (self.margin + 0.5) * self.target if self.signs else self.target
        share = 1.0 / np.sqrt(count)
        return Posterior(
            coef_precision=Gamma(1.0, np.ones((outputs, n))),
            coef=np.zeros((outputs, n)),
            coef_cov=np.repeat(np.eye(n)[None], outputs, axis=0),
            images=np.zeros((outputs, count, n)),
            coef_log_det=np.zeros(outputs),
            latent=np.repeat(share * target[:, None, :], count, axis=1),
            latent_cov=np.eye(count),
            bias_precision=Gamma(1.0, np.ones(outputs)),
            weight_precision=Gamma(1.0, np.ones(count)),
            line=np.concatenate([np.zeros(outputs), np.full(count, share)]),
            line_cov=np.eye(outputs + count) / count,
            latent_noise=Gamma(self.latent_precision, 1.0) if self.signs else Gamma(1.0, 1.0),
            noise=Gamma(1.0, 1.0),
            centre=np.zeros((outputs, n)) if self.signs else target,
        )

    def sweep(self, q: Posterior) -> None:
        """Update each factor once, by new arrays."""
        self.update_coef(q)
        self.update_latent(q)
        if self.joint_steps:
            self.update_means(q)
        self.update_line(q)
        self.update_outputs(q)
        self.update_precisions(q)
        if self.joint_steps and self.priors.latent_noise is not None:
            self.update_scale(q, self.priors.latent_noise)

    def update_coef(self, q: Posterior) -> None:
        """Update q(a): covariance (diag E[lambda_l] + E[upsilon] sum_m K_m^2)^{-1}. O(n^3)."""
        upsilon = q.latent_noise.mean
        pull = upsilon * self._gathered(q.latent)
        covariances, log_dets = [], []
        for precision in q.coef_precision.mean:
            root = 1.0 / np.sqrt(precision)  # 1 + a positive matrix is inverted, whatever its scale
            matrix = upsilon * self.squares
            matrix *= root[:, None]
            matrix *= root
            matrix[np.diag_indices(self.grams.n)] += 1.0
            covariance, log_det = spd_inverse(matrix)
            covariance *= root[:, None]
            covariance *= root
            covariances.append(covariance)
            log_dets.append(2.0 * np.log(root).sum() - log_det)
        q.coef_cov, q.coef_log_det = np.array(covariances), np.array(log_dets)
        q.coef = np.einsum("lij,lj->li", q.coef_cov, pull)
        q.images = self._images(q.coef)

    def update_latent(self, q: Posterior) -> None:
        """Update q(G): covariance (E[upsilon] I + E[epsilon] E[e e'])^{-1}. O(M^3 + L n M^2)."""
        upsilon, epsilon = q.latent_noise.mean, q.noise.mean
        precision = epsilon * q.weight_products
        precision[np.diag_indices(len(precision))] += upsilon
        q.latent_cov = spd_inverse(precision)[0]
        q.latent = q.latent_cov @ (upsilon * q.images + self._drive(q))

    def _drive(self, q: Posterior) -> Array:
        """Return E[epsilon] E[e (f_li - b_l)], shape (L, M, n)."""
        outputs = self.outputs(q)[0]
        drive = q.weights[:, None] * outputs[:, None, :] - q.weights_and_bias[:, :, None]
        return np.asarray(q.noise.mean * drive)

    def update_means(self, q: Posterior) -> None:
        """Raise the bound in the means of q(a) and q(G) together, right after `update_latent`.

        Updated in turn, they follow each other slowly, since G is K a up to a small noise. With the
        best mean of G for each a, the bound is a quadratic function of a, which a few steps of
        conjugate gradients maximise. Each takes O(L M n^2).
        """
        upsilon, drive = q.latent_noise.mean, self._drive(q)
        precision = q.coef_precision.mean + upsilon * self.ridge
        pull = upsilon * q.noise.mean * (q.latent_cov @ q.weight_products)
        pull = 0.5 * (pull + pull.T)
        residual = self._gathered(upsilon * (q.latent_cov @ drive) - pull @ q.images)
        residual -= precision * q.coef
        step = residual / precision
        slope = np.sum(residual * step, axis=1)
        for _ in range(self.joint_steps):
            moved = self._images(step)
            change = precision * step + self._gathered(pull @ moved)
            curvature = np.sum(step * change, axis=1)
            length = np.divide(slope, curvature, out=np.zeros_like(slope), where=curvature > 0)
            q.coef = q.coef + length[:, None] * step
            q.images = q.images + length[:, None, None] * moved
            residual -= length[:, None] * change
            scaled, before = residual / precision, slope
            slope = np.sum(residual * scaled, axis=1)
            ratio = np.divide(slope, before, out=np.zeros_like(slope), where=before > 0)
            step = scaled + ratio[:, None] * step
        q.latent = q.latent_cov @ (upsilon * q.images + drive)

    def update_line(self, q: Posterior) -> None:
        """Update q(b, e), the biases and the kernel weights. O((L + M)^3 + L n M^2)."""
        outputs, n = self.target.shape
        epsilon, f = q.noise.mean, self.outputs(q)[0]
        precision = np.empty_like(q.line_cov)
        precision[:outputs, :outputs] = np.diag(q.bias_precision.mean + epsilon * n)
        precision[:outputs, outputs:] = epsilon * q.latent.sum(axis=2)
        precision[outputs:, :outputs] = precision[:outputs, outputs:].T
        products = sum(each @ each.T for each in q.latent) + outputs * n * q.latent_cov
        precision[outputs:, outputs:] = epsilon * products + np.diag(q.weight_precision.mean)
        pull = np.concatenate([f.sum(axis=1), np.einsum("lmi,li->m", q.latent, f)])
        q.line_cov = spd_inverse(precision)[0]
        q.line = q.line_cov @ (epsilon * pull)

    def update_outputs(self, q: Posterior) -> None:
        """Update q(f); the outputs of a regression are known."""
        if self.signs:
            q.centre = q.fitted

    def update_precisions(self, q: Posterior) -> None:
        """Update q(lambda), q(gamma), q(omega), and for a regression q(upsilon), q(epsilon)."""
        priors, (outputs, n) = self.priors, self.target.shape
        q.coef_precision = priors.coef.updated(1, self._coef_squares(q))
        squares = q.line**2 + q.line_cov.diagonal()
        q.bias_precision = priors.bias.updated(1, squares[:outputs])
        q.weight_precision = priors.weights.updated(1, squares[outputs:])
        if priors.latent_noise is not None and priors.noise is not None:
            count = outputs * n
            q.latent_noise = priors.latent_noise.updated(
                count * len(self.grams), self.latent_squares(q)
            )
            q.noise = priors.noise.updated(count, self.output_squares(q))

    def update_scale(self, q: Posterior, prior: Gamma) -> None:
        """Multiply q(a) and q(G) by the best c > 0, and divide q(e) and sqrt(upsilon) by it.

        The likelihoods do not change, so that the single updates find this scale slowly. The bound
        changes by the priors only: by the function below of t = log c, with q(lambda) and q(omega)
        at their best.
        """
        priors, outputs = self.priors, len(q.coef)
        coef = self._coef_squares(q)
        weights = q.weights**2 + q.line_cov.diagonal()[outputs:]
        noise = float(q.latent_noise.shape * prior.rate / q.latent_noise.rate)
        drift = coef.size - weights.size - 2.0 * prior.shape

        def lost(t: float) -> float:
            square = np.exp(2.0 * t)
            total = noise / square - drift * t
            total += _log_rates(priors.coef, coef * square)
            return float(total + _log_rates(priors.weights, weights / square))

        t = float(minimize_scalar(lost, bounds=(-5.0, 5.0), method="bounded").x)
        if lost(t) >= lost(0.0):
            return
        c = float(np.exp(t))
        q.coef, q.images, q.latent = c * q.coef, c * q.images, c * q.latent
        q.coef_cov, q.latent_cov = c**2 * q.coef_cov, c**2 * q.latent_cov
        q.coef_log_det = q.coef_log_det + 2.0 * self.grams.n * t
        factors = np.where(np.arange(q.line.size) < outputs, 1.0, 1.0 / c)
        q.line = factors * q.line
        q.line_cov = factors[:, None] * q.line_cov * factors
        q.latent_noise = Gamma(q.latent_noise.shape, c**2 * q.latent_noise.rate)
        q.coef_precision = priors.coef.updated(1, c**2 * coef)
        q.weight_precision = priors.weights.updated(1, weights / c**2)

    def outputs(self, q: Posterior) -> tuple[Array, float, float]:
        """Return the mean of f, the sum of its variances, and the entropy of q(f)."""
        if not self.signs:
            return self.target, 0.0, 0.0
        f = Truncated.of(q.centre, self.target, self.margin)
        deviations = f.variance + (f.mean - q.centre) ** 2
        entropy = float(np.sum(0.5 * LOG_2PI + f.log_mass + 0.5 * deviations))
        return f.mean, float(f.variance.sum()), entropy

    @staticmethod
    def _coef_squares(q: Posterior) -> Array:
        """Return E[a_li^2], shape (L, n)."""
        return q.coef**2 + np.diagonal(q.coef_cov, axis1=1, axis2=2)

    def latent_squares(self, q: Posterior) -> float:
        """Return sum_lm E|g_lm - K_m a_l|^2, and the ridge's part."""
        outputs, n = self.target.shape
        spread = outputs * n * float(q.latent_cov.trace())
        spread += float(sum(np.vdot(self.squares, each) for each in q.coef_cov))
        spread += self.ridge * float(np.sum(q.coef**2))
        return float(np.sum((q.latent - q.images) ** 2)) + spread

    def output_squares(self, q: Posterior) -> float:
        """Return sum_li E(f_li - e'g_li - b_l)^2."""
        f, variance, _ = self.outputs(q)
        outputs, n = f.shape
        total = float(np.sum((f - q.fitted) ** 2)) + variance
        total += outputs * n * float(np.vdot(q.latent_cov, q.weight_products))
        for each, latent in enumerate(q.latent):
            total += n * float(q.line_cov[each, each])
            total += 2.0 * float(q.line_cov[each, outputs:] @ latent.sum(axis=1))
            total += float(np.vdot(q.line_cov[outputs:, outputs:], latent @ latent.T))
        return total

    def bound(self, q: Posterior) -> float:
        """Return the lower bound of the log evidence, E_q[log p] - E_q[log q]. O(L n^2)."""
        priors, (outputs, n) = self.priors, self.target.shape
        count, line = len(self.grams), q.line**2 + q.line_cov.diagonal()
        total = _normal_part(q.coef_precision, priors.coef, self._coef_squares(q))
        total += _normal_part(q.bias_precision, priors.bias, line[:outputs])
        total += _normal_part(q.weight_precision, priors.weights, line[outputs:])
        total += 0.5 * (outputs * n + float(q.coef_log_det.sum()))
        total += 0.5 * (outputs + count + _log_det(q.line_cov))
        total += 0.5 * outputs * n * (count * (1.0 + LOG_2PI) + _log_det(q.latent_cov))
        _, _, entropy = self.outputs(q)
        return total + entropy + self._noise_part(q)

    def _noise_part(self, q: Posterior) -> float:
        """Return E[log p(G | a)] + E[log p(f | b, e, G)], and the parts of their precisions."""
        priors, rows = self.priors, self.target.size
        latent_log, noise_log, divergence = float(np.log(self.latent_precision)), 0.0, 0.0
        if priors.latent_noise is not None and priors.noise is not None:
            latent_log, noise_log = float(q.latent_noise.mean_log), float(q.noise.mean_log)
            divergence += q.latent_noise.divergence(priors.latent_noise)
            divergence += q.noise.divergence(priors.noise)
        latent = rows * len(self.grams) * (latent_log - LOG_2PI)
        latent -= float(q.latent_noise.mean) * self.latent_squares(q)
        output = rows * (noise_log - LOG_2PI) - float(q.noise.mean) * self.output_squares(q)
        return 0.5 * (latent + output) - divergence

    def _images(self, coef: Array) -> Array:
        """Return K_m coef_l, shape (L, M, n)."""
        images = np.empty((len(coef), len(self.grams), self.grams.n))
        for m in range(len(self.grams)):
            images[:, m] = coef @ self.grams[m]
        return images

    def _gathered(self, latent: Array) -> Array:
        """Return sum_m K_m latent_lm, shape (L, n)."""
        total = np.zeros((len(latent), self.grams.n))
        for m in range(len(self.grams)):
            total += latent[:, m] @ self.grams[m]
        return total


def _sum_of_squares(grams: Grams) -> Array:
    """Return sum_m K_m^2, shape (n, n)."""
    total = np.zeros((grams.n, grams.n))
    with np.errstate(over="ignore", invalid="ignore"):
        for m in range(len(grams)):
            gram = np.asarray(grams[m], dtype=np.float64)
            total += gram @ gram.T
        finite = np.isfinite(total.sum())
    if not finite:
        raise ValueError(
            "expected kernel values whose squares are finite, got larger ones; set normalize=True"
        )
    return total


def _log_det(matrix: Array) -> float:
    return float(np.linalg.slogdet(matrix)[1])


def _log_rates(prior: Gamma, squares: Array) -> float:
    """Return what the best precisions cost: shape times log rate of their posteriors."""
    best = prior.updated(1, squares)
    return float(best.shape * np.sum(np.log(best.rate)))


def _normal_part(precision: Gamma, prior: Gamma, squares: Array) -> float:
    """Return E[log p(x | precision)] + log(2 pi)/2 each, minus the divergence from the prior."""
    log_density = 0.5 * np.sum(precision.mean_log - precision.mean * squares)
    return float(log_density) - precision.divergence(prior)
