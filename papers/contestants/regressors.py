"""LAB-RBF, and the regressors and classifiers that are used in its place."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, ClassVar

import numpy as np
from scipy.linalg import eigh
from sklearn import ensemble
from sklearn.compose import TransformedTargetRegressor
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.kernel_approximation import Nystroem
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Ridge
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVR

from papers.contestants.fitted import Fitted, Setting, parts
from papers.data import paper_sets
from papers.sample import Sample, drawn_gamma
from pliant.core.typing import Array, Indices

OWN_UNITS = (
    "it gets the rows in their own units, since it scales them itself and may take logarithms of "
    "skewed positive features and targets"
)


@dataclass(frozen=True)
class DefaultLAB(Fitted):
    """LABRBFRegressor with its default settings; it scales features and target itself."""

    scaled: ClassVar[bool] = False
    own_units: ClassVar[str] = OWN_UNITS
    name: str = "lab"
    title: str = "LAB-RBF"

    def model(self, sample: Sample, setting: Setting, seed: int) -> Any:
        from pliant import LABRBFRegressor

        return LABRBFRegressor(random_state=seed)

    def details(self, model: Any) -> dict[str, float]:
        """Return the number of support points, over all members."""
        return {"support": float(len(model.support_))}


@dataclass(frozen=True)
class PaperLAB(DefaultLAB):
    """The paper's model: one member, the paper's number of support points, no linear part."""

    name: str = "paper-lab"
    title: str = "LAB-RBF, one member"
    draws: int = 3
    """Draws of the support points, of which the held-out rows choose one."""

    def model(self, sample: Sample, setting: Setting, seed: int) -> Any:
        from pliant import LABRBFRegressor

        return LABRBFRegressor(
            n_support=paper_sets("lab")[sample.name].support,
            n_members=1,
            n_draws=self.draws,
            linear=False,
            transforms=None,
            random_state=seed,
        )


@dataclass(frozen=True)
class LABClassifier(DefaultLAB):
    """LABRBFClassifier with its default settings."""

    name: str = "lab-classifier"
    title: str = "LAB-RBF"

    def model(self, sample: Sample, setting: Setting, seed: int) -> Any:
        from pliant import LABRBFClassifier

        return LABRBFClassifier(random_state=seed)


@dataclass(frozen=True)
class Boosting(Fitted):
    """Histogram gradient boosting with scikit-learn's defaults."""

    name: str = "boosting"
    title: str = "Gradient boosting"

    def model(self, sample: Sample, setting: Setting, seed: int) -> Any:
        return ensemble.HistGradientBoostingRegressor(random_state=seed)


SHAPES = (
    (0.1, 31, 20, 0.0, 1.0),
    (0.1, 8, 5, 0.0, 1.0),
    (0.1, 63, 10, 1.0, 0.5),
    (0.05, 15, 5, 0.0, 1.0),
    (0.05, 31, 5, 1.0, 1.0),
    (0.05, 31, 10, 1.0, 0.5),
    (0.05, 15, 5, 0.0, 0.5),
    (0.05, 127, 20, 1.0, 0.5),
)
"""Learning rate, leaves, rows in a leaf, l2, share of the features tried at a split."""

SHAPE_NAMES = (
    "learning_rate", "max_leaf_nodes", "min_samples_leaf", "l2_regularization", "max_features",
)  # fmt: skip


@dataclass(frozen=True)
class TunedBoosting(Fitted):
    """One of several shapes, with as many rounds as the held-out rows ask for."""

    shapes: tuple[tuple[float, int, int, float, float], ...] = SHAPES
    """See `SHAPES`."""
    max_iter: int = 2000
    patience: int = 30
    """Rounds at most, and rounds without improvement on the held-out rows before it stops."""
    folds: int = 3
    """Of cross-validation, on small sets."""
    held_out: int = 4000
    """Rows of the hold-out at most, on the others."""
    name: str = "tuned-boosting"
    title: str = "Tuned boosting"

    def choose(self, sample: Sample, seed: int) -> Setting:
        """Return the shape of the least held-out error, and its best number of rounds."""
        most = (len(sample.y), self.held_out)
        pairs = parts(len(sample.y), seed, folds=self.folds, most=most)
        shapes = [dict(zip(SHAPE_NAMES, shape, strict=True)) for shape in self.shapes]
        results = [self._rounds(sample, pairs, shape, seed) for shape in shapes]
        best = int(np.argmin([error for error, _ in results]))
        return {**shapes[best], "max_iter": results[best][1]}

    def _rounds(
        self, sample: Sample, pairs: Sequence[tuple[Indices, Indices]], shape: Setting, seed: int
    ) -> tuple[float, int]:
        """Return the error at the best number of rounds, and that number, over all parts."""
        errors, rounds = [], []
        for learn, judge in pairs:
            model = ensemble.HistGradientBoostingRegressor(
                **shape, max_iter=self.max_iter, early_stopping=True, tol=0.0,
                n_iter_no_change=self.patience, random_state=seed,
            )  # fmt: skip
            X, y = sample.X, sample.y
            model.fit(X[learn], y[learn], X_val=X[judge], y_val=y[judge])
            errors.append(-2.0 * model.validation_score_.max() * len(judge))
            rounds.append(int(model.validation_score_.argmax()))
        return float(np.sum(errors)), max(1, round(float(np.mean(rounds))))

    def model(self, sample: Sample, setting: Setting, seed: int) -> Any:
        """Return the booster, which makes all its rounds."""
        return ensemble.HistGradientBoostingRegressor(
            **setting, early_stopping=False, random_state=seed
        )


@dataclass(frozen=True)
class GaussianRidge(Fitted):
    """Kernel ridge regression on the centred target, gamma and alpha by held-out rows."""

    powers: tuple[int, ...] = (-11, -9, -7, -5, -3, -1, 1, 3, 5)
    """gamma runs over 2**p / m, m the median squared distance; then the neighbours of the best."""
    alphas: tuple[float, ...] = tuple(10.0**p for p in range(-9, 2))
    folds: int = 5
    tuning_rows: int = 1500
    """At most, on either side of the hold-out."""
    most_rows: int | None = 8000
    name: str = "krr"
    title: str = "Kernel ridge"

    def choose(self, sample: Sample, seed: int) -> Setting:
        """Search the grid of gamma, refine it around the best, and take the best pair."""
        most = (self.tuning_rows, self.tuning_rows)
        pairs = parts(len(sample.y), seed, folds=self.folds, most=most)
        unit = drawn_gamma(sample.X, seed)
        errors = {p: self._errors(sample, pairs, unit * 2.0**p) for p in self.powers}
        best = min(errors, key=lambda p: errors[p].min())
        for p in (best - 1, best + 1):
            errors[p] = self._errors(sample, pairs, unit * 2.0**p)
        best = min(errors, key=lambda p: errors[p].min())
        alpha = self.alphas[int(errors[best].argmin())]
        return {"gamma": unit * 2.0**best, "alpha": alpha, "power": best}

    def _errors(
        self, sample: Sample, pairs: Sequence[tuple[Indices, Indices]], gamma: float
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

    def model(self, sample: Sample, setting: Setting, seed: int) -> Any:
        """Return scikit-learn's kernel ridge regression behind a centred target."""
        ridge = KernelRidge(kernel="rbf", gamma=setting["gamma"], alpha=setting["alpha"])
        return TransformedTargetRegressor(ridge, transformer=StandardScaler(with_std=False))


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
    """The same model on random centres, fitted to all rows, its gamma and alpha chosen alike."""

    tuning_rows: int = 1000
    most_rows: int | None = None
    centres: int = 1500
    """At most; never more than the training rows."""
    name: str = "nystroem"
    title: str = "Nystroem ridge"

    def model(self, sample: Sample, setting: Setting, seed: int) -> Any:
        """Return scikit-learn's features and ridge regression."""
        centres = min(self.centres, len(sample.y))
        features = Nystroem(gamma=setting["gamma"], n_components=centres, random_state=seed)
        return make_pipeline(features, Ridge(alpha=setting["alpha"]))


@dataclass(frozen=True)
class GaussianSVR(Fitted):
    """Epsilon-SVR with a Gaussian kernel, its parameters by cross-validation on some rows."""

    Cs: tuple[float, ...] = (1.0, 10.0, 100.0, 1000.0)
    epsilons: tuple[float, ...] = (0.003, 0.03)
    powers: tuple[int, ...] = (-6, -4, -2, 0, 2)
    """gamma runs over 2**p / m, m the median squared distance."""
    tuning_rows: int = 1000
    """At most."""
    folds: int = 3
    most_rows: int | None = 8000
    max_iter: int = 1_000_000
    """The limit of libsvm's steps."""
    name: str = "svr"
    title: str = "SVR"

    def choose(self, sample: Sample, seed: int) -> Setting:
        """Return the setting of the least squared error; of equal ones the first."""
        some = np.random.default_rng(seed).permutation(len(sample.y))[: self.tuning_rows]
        X, y = sample.X[some], sample.y[some]
        pairs = parts(len(y), seed, folds=self.folds, most=(len(y), len(y)))
        unit = drawn_gamma(X, seed)
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

    def model(self, sample: Sample, setting: Setting, seed: int) -> Any:
        return SVR(**setting, cache_size=1000, max_iter=self.max_iter)

    def details(self, model: Any) -> dict[str, float]:
        """Return the number of support vectors."""
        return {"support": float(len(model.support_))}


@dataclass(frozen=True)
class GaussianProcess(Fitted):
    """A Gaussian process with one length a feature, by its marginal likelihood."""

    name: str = "gp"
    title: str = "Gaussian process"

    def model(self, sample: Sample, setting: Setting, seed: int) -> Any:
        lengths = np.full(sample.X.shape[1], np.sqrt(sample.X.shape[1]))
        kernel = ConstantKernel(1.0, (1e-3, 1e5)) * RBF(lengths, (1e-2, 1e4))
        noise = WhiteKernel(1e-2, (1e-8, 1e1))
        return GaussianProcessRegressor(kernel + noise, normalize_y=True, random_state=seed)


@dataclass(frozen=True)
class Forest(Fitted):
    """A random forest."""

    trees: int = 100
    name: str = "forest"
    title: str = "Random forest"

    def model(self, sample: Sample, setting: Setting, seed: int) -> Any:
        return ensemble.RandomForestRegressor(self.trees, random_state=seed)


@dataclass(frozen=True)
class ExtraTrees(Fitted):
    """Extremely randomised trees."""

    trees: int = 200
    name: str = "extra-trees"
    title: str = "Extra trees"

    def model(self, sample: Sample, setting: Setting, seed: int) -> Any:
        return ensemble.ExtraTreesRegressor(self.trees, random_state=seed)


@dataclass(frozen=True)
class BoostingClassifier(Fitted):
    """Histogram gradient boosting with scikit-learn's defaults."""

    name: str = "boosting-classifier"
    title: str = "Gradient boosting"

    def model(self, sample: Sample, setting: Setting, seed: int) -> Any:
        return ensemble.HistGradientBoostingClassifier(random_state=seed)


@dataclass(frozen=True)
class ForestClassifier(Fitted):
    """A random forest."""

    trees: int = 300
    name: str = "forest-classifier"
    title: str = "Random forest"

    def model(self, sample: Sample, setting: Setting, seed: int) -> Any:
        return ensemble.RandomForestClassifier(self.trees, random_state=seed)
