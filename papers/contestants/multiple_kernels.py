"""Multiple kernel learning of pliant, as a contestant of the papers' methods."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from papers.contestants.tuned import Setting, Tuned
from papers.sample import Sample
from pliant import MKLClassifier, MKLRegressor
from pliant.kernels import Gaussian, Kernel, Polynomial

WIDTHS = (0.5, 1.0, 2.0, 5.0, 7.0, 10.0, 12.0, 15.0, 17.0, 20.0)
"""Standard deviations of the Gaussians of standardised features in Rakotomamonjy et al. (2008), who
add polynomials of degrees 1 to 3."""

SIGMAS = tuple(2.0**p for p in range(-5, 6))
"""Widths of MKL-uniform for features in [0, 1] (Liu et al. 2020, section 6.1.1)."""


def gaussians(sigmas: Sequence[float]) -> list[Kernel]:
    """Return exp(-|x - x'|^2 / (2 sigma^2)) for each sigma."""
    return [Gaussian(0.5 / sigma**2) for sigma in sigmas]


def standard_kernels() -> list[Kernel]:
    """Return ten Gaussians and three polynomials of all standardised features."""
    return [*gaussians(WIDTHS), *(Polynomial(degree=degree) for degree in (1, 2, 3))]


class WeightedKernels(Tuned):
    """MKLClassifier or MKLRegressor with one rule for the weights and a tuned C."""

    rule: str
    kernels: str
    """"all features" are `standard_kernels`, "each feature" the library's default, which adds the
    same kernels of each feature, and "widths" Gaussians of `SIGMAS` on unscaled features."""
    tol: float = 1e-2
    """Relative gap of SimpleMKL's authors."""

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
