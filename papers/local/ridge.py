"""Ridge regression with one Gaussian width: on all pairs of rows, and by Nystroem's method."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import eigh
from sklearn.compose import TransformedTargetRegressor
from sklearn.kernel_approximation import Nystroem
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Ridge
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from papers.local.contestant import Contestant, Setting
from papers.local.protocol import LocalSample, parts
from pliant.core.typing import Array, Indices

__all__ = ["GaussianRidge", "NystroemRidge", "typical_gamma"]


def typical_gamma(X: Array, seed: int) -> float:
    """Return one over the median squared distance of some rows."""
    some = X[np.random.default_rng(seed).permutation(len(X))[:500]]
    distances = euclidean_distances(some, squared=True)
    return float(1.0 / np.median(distances[np.triu_indices(len(some), 1)]))


@dataclass(frozen=True)
class GaussianRidge(Contestant):
    """Kernel ridge regression on the centred target, gamma and alpha by held-out rows.

    Attributes
    ----------
    powers : tuple of int
        gamma runs over 2**p / m, m the median squared distance; then the neighbours of the best.
    alphas : tuple of float
    tuning_rows : int
        At most, on either side of the hold-out.
    """

    powers: tuple[int, ...] = (-11, -9, -7, -5, -3, -1, 1, 3, 5)
    alphas: tuple[float, ...] = tuple(10.0**p for p in range(-9, 2))
    folds: int = 5
    tuning_rows: int = 1500
    most_rows: int | None = 8000
    name: str = "krr"
    title: str = "Kernel ridge"

    def choose(self, sample: LocalSample, seed: int) -> Setting:
        """Search the grid of gamma, refine it around the best, and take the best pair."""
        most = (self.tuning_rows, self.tuning_rows)
        pairs = parts(len(sample.y), seed, folds=self.folds, most=most)
        unit = typical_gamma(sample.X, seed)
        errors = {p: self._errors(sample, pairs, unit * 2.0**p) for p in self.powers}
        best = min(errors, key=lambda p: errors[p].min())
        for p in (best - 1, best + 1):
            errors[p] = self._errors(sample, pairs, unit * 2.0**p)
        best = min(errors, key=lambda p: errors[p].min())
        alpha = self.alphas[int(errors[best].argmin())]
        return {"gamma": unit * 2.0**best, "alpha": alpha, "power": best}

    def _errors(
        self, sample: LocalSample, pairs: Sequence[tuple[Indices, Indices]], gamma: float
    ) -> Array:
        """Return the squared error of each alpha over all pairs of parts."""
        total: Array = np.zeros(len(self.alphas))
        for learn, judge in pairs:
            centre = sample.y[learn].mean()
            attempts = ridge_path(
                sample.X[learn], sample.y[learn] - centre, sample.X[judge], gamma, self.alphas
            )
            total += [np.sum((f + centre - sample.y[judge]) ** 2) for f in attempts]
        return total

    def machine(self, sample: LocalSample, setting: Setting, seed: int) -> Any:
        """Return scikit-learn's machine behind a centred target."""
        ridge = KernelRidge(kernel="rbf", gamma=setting["gamma"], alpha=setting["alpha"])
        return TransformedTargetRegressor(ridge, transformer=StandardScaler(with_std=False))

    def words(self) -> str:
        """Say how it is tuned and fitted."""
        return f"scikit-learn's KernelRidge, fitted to {self.most_rows} rows at most; {self._grid}"

    @property
    def _grid(self) -> str:
        return (
            f"gamma from 2^{min(self.powers)} to 2^{max(self.powers)} over the median squared "
            f"distance and alpha from {min(self.alphas):g} to {max(self.alphas):g}, chosen by "
            f"{self.folds}-fold cross-validation up to 2000 rows and by a hold-out beyond "
            f"({self.tuning_rows} rows on either side at most), one eigendecomposition a gamma"
        )


def ridge_path(
    X: Array, y: Array, X_new: Array, gamma: float, alphas: Sequence[float]
) -> Iterator[Array]:
    """Predict X_new by kernel ridge regression with each alpha, from one eigendecomposition."""
    values, vectors = eigh(np.exp(-gamma * euclidean_distances(X, squared=True)), driver="evd")
    cross = np.exp(-gamma * euclidean_distances(X_new, X, squared=True)) @ vectors
    turned = vectors.T @ y
    for alpha in alphas:
        yield cross @ (turned / (np.maximum(values, 0.0) + alpha))


@dataclass(frozen=True)
class NystroemRidge(GaussianRidge):
    """The same model on random centres, fitted to all rows, its gamma and alpha chosen alike.

    Attributes
    ----------
    centres : int
        At most; never more than the training rows.
    """

    tuning_rows: int = 1000
    most_rows: int | None = None
    centres: int = 1500
    name: str = "nystroem"
    title: str = "Nystroem ridge"

    def machine(self, sample: LocalSample, setting: Setting, seed: int) -> Any:
        """Return scikit-learn's features and ridge regression."""
        centres = min(self.centres, len(sample.y))
        features = Nystroem(gamma=setting["gamma"], n_components=centres, random_state=seed)
        return make_pipeline(features, Ridge(alpha=setting["alpha"]))

    def words(self) -> str:
        """Say how it is tuned and fitted."""
        return (
            f"scikit-learn's Nystroem with {self.centres} random centres at most and Ridge, "
            "fitted to all rows; gamma and alpha as kernel ridge chooses them, on "
            f"{self.tuning_rows} rows on either side at most"
        )
