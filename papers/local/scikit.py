"""Other regressors of scikit-learn: support vectors, a Gaussian process, forests."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from sklearn.ensemble import ExtraTreesRegressor, RandomForestRegressor
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.svm import SVR

from papers.local.contestant import Contestant, Setting
from papers.local.protocol import LocalSample, parts
from papers.local.ridge import typical_gamma

__all__ = ["ExtraTrees", "Forest", "GaussianProcess", "GaussianSVR"]


@dataclass(frozen=True)
class GaussianSVR(Contestant):
    """Epsilon-SVR with a Gaussian kernel, its parameters by cross-validation on some rows.

    Attributes
    ----------
    Cs, epsilons : tuple of float
    powers : tuple of int
        gamma runs over 2**p / m, m the median squared distance.
    tuning_rows : int
        At most.
    max_iter : int
        The limit of libsvm's steps.
    """

    Cs: tuple[float, ...] = (1.0, 10.0, 100.0, 1000.0)
    epsilons: tuple[float, ...] = (0.003, 0.03)
    powers: tuple[int, ...] = (-6, -4, -2, 0, 2)
    tuning_rows: int = 1000
    folds: int = 3
    most_rows: int | None = 8000
    max_iter: int = 1_000_000
    name: str = "svr"
    title: str = "SVR"

    def choose(self, sample: LocalSample, seed: int) -> Setting:
        """Return the setting of the least squared error; of equal ones the first."""
        some = np.random.default_rng(seed).permutation(len(sample.y))[: self.tuning_rows]
        X, y = sample.X[some], sample.y[some]
        pairs = parts(len(y), seed, folds=self.folds, most=(len(y), len(y)))
        unit = typical_gamma(X, seed)
        settings = [
            {"C": C, "epsilon": epsilon, "gamma": unit * 2.0**p}
            for C, epsilon, p in product(self.Cs, self.epsilons, self.powers)
        ]
        errors = [
            sum(
                np.sum((SVR(**each, max_iter=50_000).fit(X[a], y[a]).predict(X[b]) - y[b]) ** 2)
                for a, b in pairs
            )
            for each in settings
        ]
        return settings[int(np.argmin(errors))]

    def machine(self, sample: LocalSample, setting: Setting, seed: int) -> Any:
        """Return the machine."""
        return SVR(**setting, cache_size=1000, max_iter=self.max_iter)

    def details(self, machine: Any) -> dict[str, float]:
        """Return the number of support vectors."""
        return {"support": float(len(machine.support_))}

    def words(self) -> str:
        """Say how it is tuned and fitted."""
        return (
            f"scikit-learn's SVR with a Gaussian kernel, fitted to {self.most_rows} rows at most; "
            f"{len(self.Cs)} values of C from {min(self.Cs):g} to {max(self.Cs):g}, epsilon "
            f"{min(self.epsilons):g} or {max(self.epsilons):g} and {len(self.powers)} widths, by "
            f"{self.folds}-fold cross-validation on {self.tuning_rows} rows at most"
        )


@dataclass(frozen=True)
class GaussianProcess(Contestant):
    """A Gaussian process with one length a feature, by its marginal likelihood."""

    name: str = "gp"
    title: str = "Gaussian process"

    def machine(self, sample: LocalSample, setting: Setting, seed: int) -> Any:
        """Return the process."""
        lengths = np.full(sample.X.shape[1], np.sqrt(sample.X.shape[1]))
        kernel = ConstantKernel(1.0, (1e-3, 1e5)) * RBF(lengths, (1e-2, 1e4))
        noise = WhiteKernel(1e-2, (1e-8, 1e1))
        return GaussianProcessRegressor(kernel + noise, normalize_y=True, random_state=seed)

    def words(self) -> str:
        """Say how it is fitted."""
        return (
            "scikit-learn's GaussianProcessRegressor, Gaussian covariance with one length a "
            "feature and noise, by the marginal likelihood from one start; sets of at most 600 "
            "rows only"
        )


@dataclass(frozen=True)
class Forest(Contestant):
    """A random forest."""

    trees: int = 100
    name: str = "forest"
    title: str = "Random forest"

    def machine(self, sample: LocalSample, setting: Setting, seed: int) -> Any:
        """Return the forest."""
        return RandomForestRegressor(self.trees, random_state=seed)

    def words(self) -> str:
        """Say how many trees it has."""
        return f"scikit-learn's RandomForestRegressor, {self.trees} trees"


@dataclass(frozen=True)
class ExtraTrees(Contestant):
    """Extremely randomised trees."""

    trees: int = 200
    name: str = "extra-trees"
    title: str = "Extra trees"

    def machine(self, sample: LocalSample, setting: Setting, seed: int) -> Any:
        """Return the trees."""
        return ExtraTreesRegressor(self.trees, random_state=seed)

    def words(self) -> str:
        """Say how many trees there are."""
        return f"scikit-learn's ExtraTreesRegressor, {self.trees} trees"
